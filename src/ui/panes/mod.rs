//! The panes beside the composer.

pub mod conversation;
pub mod tools;
