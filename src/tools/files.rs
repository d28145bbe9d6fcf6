//! What the session knows of files: the state in which each was last seen, and who writes now.
//!
//! States are compared by content hash, not by time, because formatters and checkouts touch files
//! without changing them. A small store of the texts themselves lets a refusal show what changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use sha2::{Digest, Sha256};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// Texts kept to show changes; a few hundred source files.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;
/// The largest text kept; beyond it a refusal only says that the file changed.
const MAX_KEPT_FILE: usize = 512 * 1024;
/// Files remembered; when there are more the oldest are forgotten and may be overwritten.
const MAX_FILES: usize = 20_000;
/// Locks held in the table before those that nobody uses are swept.
const MAX_IDLE_LOCKS: usize = 256;

/// Sha256 of a content.
pub(crate) type Hash = [u8; 32];

/// The hash of a content.
pub(crate) fn hash(content: &[u8]) -> Hash {
    Sha256::digest(content).into()
}

/// The hash in the stored spelling: 64 lower-case hex digits.
pub(crate) fn hex(hash: &Hash) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::with_capacity(64), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Remembers the state in which files were read, and serialises writes to one real path.
#[derive(Debug, Default)]
pub struct FileTracker {
    seen: Mutex<Seen>,
    locks: Mutex<HashMap<PathBuf, Weak<AsyncMutex<()>>>>,
}

#[derive(Debug, Default)]
struct Seen {
    stamps: HashMap<PathBuf, Stamp>,
    clock: u64,
    kept_bytes: usize,
}

#[derive(Debug)]
struct Stamp {
    hash: Hash,
    text: Option<Arc<str>>,
    at: u64,
}

/// How a file on disk compares with what the session last saw of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Never seen by this session.
    Unknown,
    Fresh,
    /// Changed since. With the text that was seen, when it is still kept.
    Stale(Option<Arc<str>>),
}

impl FileTracker {
    /// Notes the content that was read or written. `path` is real. `text` may be left out.
    pub(crate) fn saw(&self, path: &Path, hash: Hash, text: Option<&str>) {
        let mut guard = recover(self.seen.lock());
        let seen = &mut *guard;
        seen.clock += 1;
        let text = text.filter(|text| text.len() <= MAX_KEPT_FILE).map(Arc::from);
        seen.kept_bytes += text.as_ref().map_or(0, |text: &Arc<str>| text.len());
        let stamp = Stamp { hash, text, at: seen.clock };
        if let Some(old) = seen.stamps.insert(path.to_owned(), stamp) {
            seen.kept_bytes -= old.text.map_or(0, |text| text.len());
        }
        seen.shrink();
    }

    /// Compares the content on disk now (`None`: there is no file) with what was seen.
    pub(crate) fn compare(&self, path: &Path, now: Option<&Hash>) -> Freshness {
        let seen = recover(self.seen.lock());
        match seen.stamps.get(path) {
            None => Freshness::Unknown,
            Some(stamp) if Some(&stamp.hash) == now => Freshness::Fresh,
            Some(stamp) => Freshness::Stale(stamp.text.clone()),
        }
    }

    /// Waits until nobody else writes to this real path. Hold the guard from reading to writing.
    pub(crate) async fn lock(&self, path: &Path) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = recover(self.locks.lock());
            if locks.len() > MAX_IDLE_LOCKS {
                locks.retain(|_, lock| lock.strong_count() > 0);
            }
            let known = locks.get(path).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let new = Arc::new(AsyncMutex::new(()));
                locks.insert(path.to_owned(), Arc::downgrade(&new));
                new
            })
        };
        lock.lock_owned().await
    }
}

impl Seen {
    /// Forgets the oldest half of what is too much, so that the cost per call stays small.
    fn shrink(&mut self) {
        if self.stamps.len() > MAX_FILES {
            let mut ages: Vec<u64> = self.stamps.values().map(|stamp| stamp.at).collect();
            ages.sort_unstable();
            let middle = ages[ages.len() / 2];
            self.stamps.retain(|_, stamp| stamp.at >= middle);
        } else if self.kept_bytes <= MAX_KEPT_BYTES {
            return;
        }
        let mut texts: Vec<&mut Stamp> =
            self.stamps.values_mut().filter(|stamp| stamp.text.is_some()).collect();
        texts.sort_unstable_by_key(|stamp| std::cmp::Reverse(stamp.at));
        self.kept_bytes = 0;
        for stamp in texts {
            let bytes = stamp.text.as_ref().map_or(0, |text| text.len());
            if self.kept_bytes + bytes > MAX_KEPT_BYTES / 2 {
                stamp.text = None;
            } else {
                self.kept_bytes += bytes;
            }
        }
    }
}

/// The data behind these locks is whole after every statement, so a panic elsewhere spoils nothing.
fn recover<'a, T>(
    lock: Result<MutexGuard<'a, T>, PoisonError<MutexGuard<'a, T>>>,
) -> MutexGuard<'a, T> {
    lock.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_compared_by_content() {
        let files = FileTracker::default();
        let path = Path::new("/f");
        assert_eq!(files.compare(path, Some(&hash(b"a"))), Freshness::Unknown);
        files.saw(path, hash(b"a"), Some("a"));
        assert_eq!(files.compare(path, Some(&hash(b"a"))), Freshness::Fresh);
        assert_eq!(files.compare(path, Some(&hash(b"b"))), Freshness::Stale(Some("a".into())));
        assert_eq!(files.compare(path, None), Freshness::Stale(Some("a".into())));
    }

    #[test]
    fn memory_stays_bounded_and_the_newest_text_is_kept() {
        let files = FileTracker::default();
        let text = "x".repeat(MAX_KEPT_FILE);
        for number in 0..64 {
            files.saw(Path::new(&format!("/{number}")), hash(b""), Some(&text));
        }
        assert!(recover(files.seen.lock()).kept_bytes <= MAX_KEPT_BYTES);
        let newest = files.compare(Path::new("/63"), None);
        assert!(matches!(newest, Freshness::Stale(Some(_))));
        assert_eq!(files.compare(Path::new("/0"), None), Freshness::Stale(None));
    }

    #[tokio::test]
    async fn one_path_has_one_writer_and_another_path_does_not_wait() {
        let files = FileTracker::default();
        let held = files.lock(Path::new("/a")).await;
        let _other = files.lock(Path::new("/b")).await;
        let mut waiting = Box::pin(files.lock(Path::new("/a")));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(held);
        waiting.await;
    }
}
