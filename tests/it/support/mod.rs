//! What several areas share: drivers, a mock server, a pseudo-terminal.
