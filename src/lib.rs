//! `harness-tui`: an interactive terminal coding agent, and the harness library under it.

pub mod message;
pub mod ports;
pub mod text;

pub mod config;
pub mod policy;
pub mod preset;
pub mod prompt;
pub mod providers;
pub mod session;
pub mod tools;

pub mod harness;

pub mod headless;
#[cfg(feature = "tui")]
pub mod ui;
