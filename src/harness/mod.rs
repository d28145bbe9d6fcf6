//! The engine: one actor per open session, which knows no terminal.
//!
//! `Commands` in, `Event`s out. `turn` is a pure machine; `driver` is the only loop that awaits.

mod event;

pub use event::{
    CallKey, Command, Event, Failure, HeldCall, Phase, QueueKind, Queued, Reply, RunningCall,
    Snapshot, TurnStatus, Waiting,
};
