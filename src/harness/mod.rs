//! The engine: one actor per open session, which knows no terminal.
//!
//! `Commands` in, `Event`s out. `turn` is a pure machine; `driver` is the only loop that awaits.

mod batch;
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
mod turn;

pub use driver::spawn;
pub use error::{ErrorCode, HarnessError};
pub use event::{
    CallKey, Command, Event, Failure, HeldCall, Phase, QueueKind, Queued, Reply, RunningCall,
    Snapshot, TurnStatus, Waiting,
};
pub use handle::{Handle, Open, Subscription, Update, Which};
pub use queue::QueueMode;
pub use setup::{Model, Models, Names, Setup};
