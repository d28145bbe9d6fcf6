//! The engine: one actor per open session, which knows no terminal.
//!
//! `Commands` in, `Event`s out. `turn` is a pure machine; `driver` is the only loop that awaits.

mod batch;
mod command;
mod compaction;
mod driver;
mod error;
mod event;
mod failure;
mod handle;
mod owner;
mod partial;
mod queue;
mod recovery;
mod setup;
mod shelf;
mod snapshot;
mod turn;

pub use command::{
    Command, CompactionDraft, ContextPart, ContextReport, ExportFormat, ForkPoint, Reply, Summary,
};
pub use driver::{spawn, spawn_after};
pub use error::{ErrorCode, HarnessError};
pub use event::{
    CallKey, CompactionReason, Event, Failure, HeldCall, Phase, QueueKind, Queued, TurnStatus,
    Waiting,
};
pub use handle::{Handle, Open, Subscription, Update, Which};
pub use queue::QueueMode;
pub use setup::{Compaction, CompactionSettings, Model, Models, Names, Secrets, Setup};
pub use shelf::{Scope, Shelf};
pub use snapshot::{RunningCall, Snapshot};

// What a shelf gives; front ends know it from here.
pub use crate::session::{Hit, Listed, Progress, Query, Quote, Searched, Tier};
