//! What several areas share: drivers, a mock server, a pseudo-terminal.

pub(crate) mod mock;
