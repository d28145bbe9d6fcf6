//! The tree pane without its picture: every branch of the session as rows that fold, filter and
//! search.
//!
//! It reads the shared index, never the engine. What a key costs depends on the screen or is one
//! pass over small columns; bodies are read beside the loop.

pub mod ask;
mod children;
pub mod compare;
pub mod entries;
pub mod pane;
pub mod read;
pub mod rows;
pub mod search;
mod select;
pub mod words;

pub use ask::Ask;
pub use entries::{Entries, Filter};
pub use pane::Pane;
pub use read::{Done, Job};
pub use rows::{Rows, Shown};

/// What a key does in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TreeKey {
    Up,
    Down,
    First,
    Last,
    PageUp,
    PageDown,
    Left,
    Right,
    Go,
    Edit,
    Summarise,
    Instruct,
    Fork,
    Label,
    Merge,
    Compare,
    Copy,
    Compact,
    Fold,
    Default,
    NoTools,
    User,
    Labelled,
    All,
    Search,
    Times,
}
