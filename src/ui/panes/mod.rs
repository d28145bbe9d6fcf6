//! The panes beside the composer.

pub(super) mod conversation;
pub(super) mod tools;
