//! What several areas share: drivers, a mock server, a pseudo-terminal.

pub(crate) mod engine;
pub(crate) mod mock;
#[cfg(feature = "tui")]
pub(crate) mod pty;
pub(crate) mod syncs;
#[cfg(feature = "tui")]
pub(crate) mod trees;
#[cfg(feature = "tui")]
pub(crate) mod ui;
