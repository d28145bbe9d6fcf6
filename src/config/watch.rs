//! The live config: what holds now, and word of every change on disk.
//!
//! The directory is watched, not the file: editors replace files by renaming.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use notify_debouncer_full::notify::{RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use tokio::sync::watch as channel;

use super::{Config, load};

/// Editors write in several steps; one change is told after this much quiet.
const QUIET: Duration = Duration::from_millis(150);

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
    _debouncer: Option<Debouncer<RecommendedWatcher, RecommendedCache>>,
}

impl Live {
    /// A config that never changes.
    pub fn fixed(config: Config) -> Self {
        let (_, changes) = channel::channel(Change::default());
        Self { current: Arc::new(RwLock::new(Arc::new(config))), changes }
    }

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
        return (live, Watching { _debouncer: None }, None);
    };
    let path = file.to_path_buf();
    let mut seen = std::fs::read(file).ok();
    let handler = move |events: DebounceEventResult| {
        let touched = |events: &[notify_debouncer_full::DebouncedEvent]| {
            // Reading is an event too, and reloading reads.
            events
                .iter()
                .filter(|event| !event.kind.is_access())
                .any(|event| event.paths.iter().any(|changed| is_same(changed, &path)))
        };
        if events.is_ok_and(|events| touched(&events)) {
            let bytes = std::fs::read(&path).ok();
            if bytes != seen {
                seen = bytes;
                reload(&path, &current, &sender);
            }
        }
    };
    let started = new_debouncer(QUIET, None, handler).and_then(|mut debouncer| {
        debouncer.watch(dir, RecursiveMode::NonRecursive)?;
        Ok(debouncer)
    });
    match started {
        Ok(debouncer) => (live, Watching { _debouncer: Some(debouncer) }, None),
        Err(error) => {
            let text = format!(
                "cannot watch {} ({error}): changes of the config need a restart",
                dir.display()
            );
            (live, Watching { _debouncer: None }, Some(text))
        }
    }
}

fn is_same(changed: &PathBuf, file: &Path) -> bool {
    changed == file || changed.file_name() == file.file_name()
}

fn reload(path: &Path, current: &RwLock<Arc<Config>>, sender: &channel::Sender<Change>) {
    let notices = match load(path) {
        Ok(loaded) => {
            let mut slot = match current.write() {
                Ok(slot) => slot,
                Err(poisoned) => poisoned.into_inner(),
            };
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
