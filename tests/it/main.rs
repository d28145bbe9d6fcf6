//! One integration binary, so that everything links once. One file per area.

// Tells clippy that all of this is test code, the functions beside tests too.
#![cfg(test)]

#[cfg(feature = "tui")]
mod composer;
mod context;
mod demo;
mod headless;
#[cfg(feature = "tui")]
mod keys;
#[cfg(feature = "tui")]
mod markdown;
#[cfg(feature = "tui")]
mod opening;
mod providers;
mod sanitize;
#[cfg(feature = "tui")]
mod screens;
mod session;
mod support;
#[cfg(feature = "tui")]
mod terminal;
mod tidy;
mod tools;
#[cfg(feature = "tui")]
mod transcript;
mod turn;
