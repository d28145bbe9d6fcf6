//! One integration binary, so that everything links once. One file per area.

#[cfg(feature = "tui")]
mod markdown;
mod sanitize;
mod support;
#[cfg(feature = "tui")]
mod transcript;
