//! `harness-tui`: an interactive terminal coding agent, and the harness library under it.
//!
//! An engine ([`harness`]) runs one session: commands in, events out. Its turn is a pure machine, its
//! driver the only loop that awaits. A session ([`session`]) is a tree of entries in one append-only
//! file, and the only truth there is. Models are reached through [`providers`], the machine through
//! [`tools`], and what may run is said by [`policy`]. Front ends ([`headless`], `ui`) hold a
//! [`harness::Handle`] and nothing else.
//!
//! The modules stand in reading order, the lowest layer first; imports point downwards only.
//! `ARCHITECTURE.md` has the map with every room, the invariants and the tests that keep them.

// Layer 0: the shared words, the ports to the world, pure text.
pub mod message;
pub mod ports;
pub mod text;

// Layer 1: each knows layer 0 and nothing of its neighbours.
pub mod config;
pub mod policy;
pub mod preset;
pub mod prompt;
pub mod providers;
pub mod session;
pub mod tools;

// Layer 2: the engine.
pub mod harness;

// Layer 3: front ends.
pub mod headless;
#[cfg(feature = "tui")]
pub mod ui;
