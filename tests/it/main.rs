//! One integration binary, so that everything links once. One file per area.

#[cfg(test)]
mod support;

#[cfg(feature = "tui")]
mod composer;
#[cfg(feature = "tui")]
mod keys;
#[cfg(feature = "tui")]
mod markdown;
mod sanitize;
#[cfg(feature = "tui")]
mod screens;
#[cfg(feature = "tui")]
mod transcript;
