//! Copies and exports while the engine goes on: a task of its own reads the session as it is now.
//!
//! What it reads never changes under it, so a turn may run meanwhile, and a large session holds
//! nobody up. The task answers the one who asked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::oneshot;

use super::Driver;
use crate::harness::{ErrorCode, ExportFormat, ForkPoint, HarnessError, Reply};
use crate::ports::{Disk, FileSystem};
use crate::session::{CopyPoint, Export, NewFile, Place, Redactor, SessionError, SessionView};
use crate::text::truncate;

/// Where the answer to a command goes.
type Answer = oneshot::Sender<Result<Reply, HarnessError>>;
/// Bytes of a session's name in the name of a file.
const NAME_BYTES: usize = 60;
/// Names that are tried before giving up: `-1`, `-2`, …
const TRIES: usize = 1000;

impl Driver {
    /// Writes a part of the session, or all of it, to a new session of the same folder.
    pub(super) fn fork(&mut self, at: ForkPoint, answer: Answer) {
        let view = self.setup.session.snapshot();
        let place = self.setup.session.place().clone();
        let cwd = PathBuf::from(&view.header.cwd);
        in_a_task(answer, move || {
            let what = match at {
                ForkPoint::Before(id) => CopyPoint::Before(id),
                ForkPoint::At(id) => CopyPoint::At(id),
                ForkPoint::Leaf => CopyPoint::Leaf,
                ForkPoint::Tree => CopyPoint::Tree,
            };
            let copied = view.copy(&place, &what, &cwd).map_err(|error| refused(&error))?;
            Ok(Reply::Written { path: copied.path, editor_text: copied.editor_text })
        });
    }

    /// Writes the session for reading elsewhere.
    pub(super) fn export(&mut self, format: ExportFormat, to: Option<PathBuf>, answer: Answer) {
        let view = self.setup.session.snapshot();
        let place = Place { files: Arc::new(Disk), ..self.setup.session.place().clone() };
        let secrets = Arc::clone(&self.setup.secrets);
        let cwd = self.setup.cwd.clone();
        in_a_task(answer, move || {
            let what = match format {
                ExportFormat::Jsonl => Export::Whole,
                ExportFormat::JsonlBranch => Export::Branch,
                ExportFormat::Markdown => Export::Markdown,
                ExportFormat::Html => Export::Html,
            };
            let redactor = Redactor::new(secrets());
            let now = place.clock.now_ms();
            let file = match to {
                Some(path) => NewFile::create(place.files.clone(), &cwd.join(path)),
                None => free_name(&place.files, &cwd, &view, what),
            };
            let write = |mut file: NewFile| {
                view.export(what, &redactor, now, &mut file)?;
                file.finish()
            };
            let path = file.and_then(write).map_err(|error| refused(&error))?;
            Ok(Reply::Written { path, editor_text: None })
        });
    }
}

/// Works where blocking harms nobody, and answers. Whoever asked may have gone; the file is there.
fn in_a_task(answer: Answer, work: impl FnOnce() -> Result<Reply, HarnessError> + Send + 'static) {
    tokio::task::spawn_blocking(move || {
        let early = "bug: the copy ended early and nothing of it is kept; try again";
        let ended = catch_unwind(AssertUnwindSafe(work))
            .unwrap_or_else(|_panic| Err(HarnessError::new(ErrorCode::Unknown, early)));
        let _ = answer.send(ended);
    });
}

/// A file in `dir` named after the session, the first that nobody has taken.
fn free_name(
    files: &Arc<dyn FileSystem>,
    dir: &Path,
    view: &SessionView,
    what: Export,
) -> Result<NewFile, SessionError> {
    let named = view.name.as_deref().unwrap_or(view.header.id.as_str());
    let fits = |c: char| if c.is_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = truncate::prefix(named, NAME_BYTES).chars().map(fits).collect();
    let name = name.trim_matches('-');
    let name = if name.is_empty() { "session" } else { name };
    let end = what.extension();
    let mut path = dir.join(format!("{name}.{end}"));
    for number in 1..=TRIES {
        match NewFile::create(files.clone(), &path) {
            Err(SessionError::Exists { .. }) => path = dir.join(format!("{name}-{number}.{end}")),
            other => return other,
        }
    }
    Err(SessionError::Exists { path })
}

fn refused(error: &SessionError) -> HarnessError {
    let code = match error {
        SessionError::UnknownEntry { .. }
        | SessionError::NotAUserMessage { .. }
        | SessionError::Exists { .. } => ErrorCode::InvalidArgument,
        SessionError::NothingToCopy | SessionError::InMemory => ErrorCode::InvalidState,
        _ => ErrorCode::Session,
    };
    HarnessError::new(code, error.to_string())
}
