//! The terminal front end: state, update and view apart, one loop around them.
//!
//! Terminal input and engine events become `Action`s; `update` changes the `State` and gives
//! `Effect`s; `layout::measure` lays out; `view` only paints; `run` is the only loop.

pub mod action;
pub mod approval;
mod card;
pub mod chord;
pub mod commands;
pub mod compaction;
pub mod composer;
pub mod context;
pub mod diff;
mod effects;
pub mod facts;
pub mod forks;
pub mod highlight;
pub mod input;
pub mod keep;
pub mod keymap;
pub mod layout;
pub mod line_input;
pub mod markdown;
mod options;
mod panes;
pub mod popup;
mod popups;
mod run;
pub mod runs;
pub mod sessions;
mod signals;
mod start;
pub mod state;
mod status;
mod terminal;
pub mod terminal_text;
pub mod theme;
pub mod tools;
pub mod transcript;
pub mod tree;
pub mod update;
pub mod view;

pub use options::{Exit, First, Options};
pub use run::run;
