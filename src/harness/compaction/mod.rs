//! Folding a conversation into words: what to fold, how it is put to a model, what comes of it.
//!
//! Everything but the asking is pure. Compaction, branch summaries and merges share the asking, so
//! that one set of bounds and one set of refusals holds for all of them.

pub(super) mod branch;
mod chunks;
pub(super) mod files;
pub(super) mod prepare;
#[cfg(test)]
mod prepare_tests;
pub(super) mod prompt;
pub(super) mod report;
pub(super) mod room;
mod serialize;
pub(super) mod size;
pub(super) mod summarise;
