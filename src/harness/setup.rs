//! What an engine is made of, named by the one who opens it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::message::ThinkingLevel;
use crate::policy::Profile;
use crate::ports::Clock;
use crate::prompt::Sources;
use crate::providers::{ModelSpec, Provider, RetryPolicy, Timeouts};
use crate::session::Session;
use crate::tools::Tool;

pub use super::compaction::room::Compaction;
use super::{HarnessError, QueueMode};

/// A model that can be asked.
#[derive(Debug, Clone)]
pub struct Model {
    pub provider: Arc<dyn Provider>,
    pub spec: ModelSpec,
}

/// Finds a model by `provider/id` or by an id alone.
pub type Models = Arc<dyn Fn(&str) -> Result<Model, HarnessError> + Send + Sync>;

/// Names that may change while the engine runs, asked for each time they count.
pub type Names = Arc<dyn Fn() -> Arc<[String]> + Send + Sync>;

/// The keys that nobody may find in an export, asked for each time one is written. May read files.
pub type Secrets = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

/// How compaction is set for a model (`provider/id`), asked for each time it counts.
pub type CompactionSettings = Arc<dyn Fn(&str) -> Compaction + Send + Sync>;

/// Everything an engine needs. Nothing in it is read again from disk.
pub struct Setup {
    pub session: Session,
    pub models: Models,
    /// `provider/id`: asked for by name. `None` takes the session's own model.
    pub model: Option<String>,
    /// Used when neither is usable; said aloud.
    pub default_model: String,
    pub thinking: Option<ThinkingLevel>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub profile: Profile,
    /// Nobody can answer: what would wait for a person is denied, and the model is told.
    pub unattended: bool,
    pub prompt: Sources,
    /// What goes into the record of each turn beside model and limits: agent, preset, its hash.
    pub labels: serde_json::Map<String, serde_json::Value>,
    pub cwd: PathBuf,
    pub clock: Arc<dyn Clock>,
    /// Private folder for outputs that are too long to send, and for the answer under way.
    pub state_dir: PathBuf,
    /// Environment variables that no command may see.
    pub hidden_env: Names,
    pub secrets: Secrets,
    pub timeouts: Timeouts,
    pub retry: RetryPolicy,
    pub compaction: CompactionSettings,
    /// Steps a turn; 0 for no cap.
    pub max_turns: u32,
    pub steering: QueueMode,
    pub follow_up: QueueMode,
    /// Notices of the one who opened it, shown first.
    pub notices: Vec<String>,
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("model", &self.model)
            .field("profile", &self.profile)
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}
