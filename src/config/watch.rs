//! The live config: what holds now, and word of every change on disk.
//!
//! The directory is watched, not the file: editors replace files by renaming. Waiting for quiet is
//! done here by a thread that sleeps until something happens: what debounces for us would look
//! again and again, and an idle program uses no processor.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock, mpsc};
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch as channel;

use super::{Config, load};

/// Editors write in several steps; one change is told after this much quiet.
const QUIET: Duration = Duration::from_millis(150);
/// A file that is never quiet is read again at least this often.
const PATIENCE: Duration = Duration::from_secs(2);

/// The config that holds, shared. A broken edit keeps the last good values.
#[derive(Debug, Clone)]
pub struct Live {
    current: Arc<RwLock<Arc<Config>>>,
    changes: channel::Receiver<Change>,
}

/// What happened last.
#[derive(Debug, Clone, Default, PartialEq)]
struct Change {
    count: u64,
    notices: Vec<String>,
}

/// Keeps the watching alive.
#[derive(Debug)]
pub struct Watching {
    _watcher: Option<RecommendedWatcher>,
}

impl Live {
    pub fn get(&self) -> Arc<Config> {
        match self.current.read() {
            Ok(config) => Arc::clone(&config),
            Err(poisoned) => Arc::clone(&poisoned.into_inner()),
        }
    }

    /// Waits for the next change on disk and gives what is to be said about it. Never returns when
    /// nothing is watched.
    pub async fn changed(&mut self) -> Vec<String> {
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        self.changes.borrow_and_update().notices.clone()
    }
}

/// Watches the folder of `file`. Where that is impossible (no folder, no watches left) the config is
/// fixed, and the second value says so; a folder that does not exist yet needs no word.
pub fn watch(file: &Path, config: Config) -> (Live, Watching, Option<String>) {
    let current = Arc::new(RwLock::new(Arc::new(config)));
    let (sender, changes) = channel::channel(Change::default());
    let live = Live { current: Arc::clone(&current), changes };
    let Some(dir) = file.parent().filter(|dir| dir.is_dir()) else {
        return (live, Watching { _watcher: None }, None);
    };
    let path = file.to_path_buf();
    let mut seen = std::fs::read(file).ok();
    let changed = move |path: &Path| {
        let bytes = std::fs::read(path).ok();
        if bytes != seen {
            seen = bytes;
            reload(path, &current, &sender);
        }
    };
    match start(dir, path, changed) {
        Ok(watcher) => (live, Watching { _watcher: Some(watcher) }, None),
        Err(error) => {
            let text = format!(
                "cannot watch {} ({error}): changes of the config need a restart",
                dir.display()
            );
            (live, Watching { _watcher: None }, Some(text))
        }
    }
}

/// Calls `changed` after each change of `file` in `dir`, on a thread that ends with the watcher.
fn start(
    dir: &Path,
    file: PathBuf,
    mut changed: impl FnMut(&Path) + Send + 'static,
) -> notify::Result<RecommendedWatcher> {
    let (touched, touches) = mpsc::channel();
    let watched = file.clone();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| writes(event.kind) && names(&event.paths, &watched)) {
            let _ = touched.send(());
        }
    })?;
    watcher.watch(dir, RecursiveMode::NonRecursive)?;
    let wait = move || {
        while touches.recv().is_ok() {
            let since = Instant::now();
            while since.elapsed() < PATIENCE && touches.recv_timeout(QUIET).is_ok() {}
            changed(&file);
        }
    };
    std::thread::Builder::new().name("config".into()).spawn(wait).map_err(notify::Error::io)?;
    Ok(watcher)
}

/// Whether it can have changed a file. Reading one is told too, and our own reading must not count.
fn writes(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn names(changed: &[PathBuf], file: &Path) -> bool {
    changed.iter().any(|changed| changed == file || changed.file_name() == file.file_name())
}

fn reload(path: &Path, current: &RwLock<Arc<Config>>, sender: &channel::Sender<Change>) {
    let notices = match load(path) {
        Ok(loaded) => {
            let mut slot = match current.write() {
                Ok(slot) => slot,
                Err(poisoned) => poisoned.into_inner(),
            };
            if **slot == loaded.config && loaded.notices.is_empty() {
                return;
            }
            *slot = Arc::new(loaded.config);
            let mut notices = vec!["config reloaded".to_owned()];
            notices.extend(loaded.notices);
            notices
        }
        Err(error) => vec![format!("{error}; the last good values hold")],
    };
    sender.send_modify(|change| {
        change.count += 1;
        change.notices = notices;
    });
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn an_edit_is_seen_and_a_broken_one_keeps_the_last_good_values() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let (mut live, _watching, problem) = watch(&file, Config::default());
        assert_eq!(problem, None);
        std::fs::write(&file, "model = \"a/b\"").unwrap();
        assert_eq!(live.changed().await, ["config reloaded"]);
        assert_eq!(live.get().model.as_deref(), Some("a/b"));
        std::fs::write(&file, "model = ").unwrap();
        let notices = live.changed().await;
        assert!(notices[0].ends_with("the last good values hold"), "{notices:?}");
        assert_eq!(live.get().model.as_deref(), Some("a/b"));
        std::fs::write(&file, "zebra = 1").unwrap();
        assert_eq!(live.changed().await, ["config reloaded", "config: unknown key zebra"]);
        let next = dir.path().join("next");
        std::fs::write(&next, "model = \"c/d\"").unwrap();
        std::fs::rename(&next, &file).unwrap();
        assert_eq!(live.changed().await, ["config reloaded"]);
        assert_eq!(live.get().model.as_deref(), Some("c/d"));
    }
}
