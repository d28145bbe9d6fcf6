//! One integration binary, so that everything links once. One file per area.

// Tells clippy that all of this is test code, the functions beside tests too.
#![cfg(test)]

mod cases;
mod compaction;
#[cfg(feature = "tui")]
mod composer;
mod context;
mod demo;
mod headless;
#[cfg(feature = "tui")]
mod keys;
#[cfg(feature = "tui")]
mod markdown;
mod navigation;
#[cfg(feature = "tui")]
mod opening;
#[cfg(feature = "tui")]
mod picker;
#[cfg(feature = "tui")]
mod popups;
mod providers;
#[cfg(feature = "tui")]
mod resume;
mod sanitize;
#[cfg(feature = "tui")]
mod screens;
mod session;
mod support;
#[cfg(feature = "tui")]
mod terminal;
#[cfg(feature = "tui")]
mod terminal_cases;
#[cfg(feature = "tui")]
mod terminal_tree;
mod tidy;
mod tools;
#[cfg(feature = "tui")]
mod transcript;
#[cfg(feature = "tui")]
mod tree;
mod turn;
