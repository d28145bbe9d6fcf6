//! The terminal front end: state, update and view apart, so that every screen is a test.

pub mod diff;
pub mod highlight;
pub mod markdown;
pub mod runs;
pub mod terminal_text;
pub mod theme;
pub mod transcript;
