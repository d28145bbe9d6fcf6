//! One integration binary, so that everything links once. One file per area.

mod sanitize;
mod support;
#[cfg(feature = "tui")]
mod transcript;
