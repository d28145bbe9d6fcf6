//! The panes beside the composer.

pub(super) mod compare;
pub(super) mod conversation;
pub(super) mod tools;
pub(super) mod tree;
pub(super) mod tree_ask;
