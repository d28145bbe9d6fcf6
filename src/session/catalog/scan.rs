//! Listing bit by bit: the newest files first, several at a time, and what is found is told at once.
//!
//! First a look at the ends of every file, so that the whole list stands soon; then the long files
//! are read through for what only the whole of them can tell.

use std::cmp::Reverse;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::{Listed, is_of, look, spellings};
use crate::ports::FileSystem;
use crate::session::name;

/// Files read at the same time: disks gain nothing from more, and each may hold a long line.
const THREADS: usize = 8;
/// Results that wait for the one who tells them.
const WAITING: usize = 64;

/// What a scan has found since it last told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// New rows, or better ones for paths that were told before.
    pub rows: Vec<Listed>,
    /// Files looked at, of all there are.
    pub done: usize,
    pub total: usize,
}

/// Lists the sessions under `root`, with `cwd` only those of that folder, and tells what it finds
/// every few files. `stop` ends it early. Returns when every row is whole.
pub fn scan(
    files: &dyn FileSystem,
    root: &Path,
    cwd: Option<&Path>,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Progress),
) {
    let mut paths = session_files(files, root);
    let total = paths.len();
    if let Some(cwd) = cwd {
        // Most of a folder's sessions lie on its own shelf.
        let shelf = root.join(name::folder_name(cwd));
        paths.sort_by_key(|path| path.parent() != Some(&shelf));
    }
    let cwd = cwd.map(|cwd| spellings(files, cwd));
    let mut long = Vec::new();
    let look = |path: &PathBuf| {
        let header = look::header(files, path)?;
        is_of(&header, cwd.as_ref()).then(|| look::glance(files, path, header)).flatten()
    };
    each(Progress { rows: Vec::new(), done: 0, total });
    let mut done = 0;
    in_parallel(&paths, stop, look, &mut |found| {
        done += found.len();
        let rows: Vec<Listed> = found.into_iter().flatten().collect();
        long.extend(rows.iter().filter(|row| !row.is_whole).map(|row| row.path.clone()));
        each(Progress { rows, done, total });
    });
    let read = |path: &PathBuf| look::whole(files, path, look::header(files, path)?);
    in_parallel(&long, stop, read, &mut |found| {
        each(Progress { rows: found.into_iter().flatten().collect(), done, total });
    });
}

/// The session files right under `root` and in its folders, last written first.
pub(super) fn session_files(files: &dyn FileSystem, root: &Path) -> Vec<PathBuf> {
    let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let mut paths = Vec::new();
    for path in files.list(root).unwrap_or_default() {
        if is_session(&path) {
            paths.push(path);
        } else if files.facts(&path).is_ok_and(|facts| facts.is_dir) {
            paths.extend(files.list(&path).unwrap_or_default().into_iter().filter(is_session));
        }
    }
    // Equal times by name, which begins with the time of creation.
    paths.sort_by_cached_key(|path| {
        let written = files.modified_ms(path).unwrap_or_default();
        (Reverse(written), Reverse(path.file_name().map(ToOwned::to_owned)))
    });
    paths
}

/// Does `work` on every item with a few threads and hands results over as they come, several at a
/// time, one for each item. `stop` ends it between two items.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    stop: &AtomicBool,
    work: impl Fn(&T) -> R + Sync,
    each: &mut dyn FnMut(Vec<R>),
) {
    let next = AtomicUsize::new(0);
    let take = || {
        let item = items.get(next.fetch_add(1, Ordering::Relaxed))?;
        (!stop.load(Ordering::Relaxed)).then(|| work(item))
    };
    let wanted = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    thread::scope(|scope| {
        let (tell, told) = sync_channel(WAITING);
        for _ in 0..wanted.min(items.len()) {
            let tell = tell.clone();
            let turn = || {
                let tell = tell;
                while let Some(result) = take() {
                    if tell.send(result).is_err() {
                        break;
                    }
                }
            };
            if thread::Builder::new().spawn_scoped(scope, turn).is_err() {
                break;
            }
        }
        drop(tell);
        hand_over(&told, each);
    });
    // A system that gives no thread still gets its list.
    while let Some(result) = take() {
        each(vec![result]);
    }
}

fn hand_over<R>(told: &Receiver<R>, each: &mut dyn FnMut(Vec<R>)) {
    while let Ok(first) = told.recv() {
        let mut results = vec![first];
        results.extend(told.try_iter().take(WAITING));
        each(results);
    }
}
