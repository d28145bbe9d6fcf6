//! What several areas share: drivers, a mock server, a pseudo-terminal.

#[cfg(feature = "tui")]
pub(crate) mod ui;
