//! Does the picker's work on threads of its own and brings the news to the loop.
//!
//! News come bundled by time: a frame shows no more than that anyway. The channel is short, so a
//! scan waits for a busy screen and not the other way round.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::{News, Work};
use crate::harness::{Listed, Query, Shelf};
use crate::ui::action::Action;

/// News wait here for the loop.
const WAITING: usize = 16;
/// Rows are told at most this often: three frames.
const TELL: Duration = Duration::from_millis(50);
/// A search begins when nothing was typed for so long: most letters are followed by another.
const TYPING: Duration = Duration::from_millis(150);

/// The desk.
#[derive(Debug)]
pub(in crate::ui) struct Desk {
    shelf: Option<Shelf>,
    tell: mpsc::Sender<Action>,
    told: mpsc::Receiver<Action>,
    scan: Arc<AtomicBool>,
    search: Arc<AtomicBool>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Desk {
    pub(in crate::ui) fn new(shelf: Option<Shelf>) -> Self {
        let (tell, told) = mpsc::channel(WAITING);
        Self { shelf, tell, told, scan: Arc::default(), search: Arc::default() }
    }

    /// The next news; never ready while there are none.
    pub(in crate::ui) async fn next(&mut self) -> Action {
        match self.told.recv().await {
            Some(action) => action,
            None => std::future::pending().await,
        }
    }

    fn stop(&self) {
        self.scan.store(true, Ordering::Relaxed);
        self.search.store(true, Ordering::Relaxed);
    }

    /// Begins a piece of work.
    ///
    /// # Errors
    /// When this screen has no shelf.
    pub(in crate::ui) fn begin(&mut self, work: Work) -> anyhow::Result<()> {
        let Some(shelf) = self.shelf.clone() else {
            anyhow::bail!("this screen knows no other sessions");
        };
        let tell = self.tell.clone();
        match work {
            Work::Scan { scope, ticket } => {
                self.scan.store(true, Ordering::Relaxed);
                let stop = Arc::new(AtomicBool::new(false));
                self.scan = Arc::clone(&stop);
                tokio::task::spawn_blocking(move || {
                    let mut bundle = Bundle::new(tell, ticket);
                    shelf.scan(scope, &stop, &mut |progress| {
                        bundle.add(progress.rows, progress.done, progress.total, &stop);
                    });
                    bundle.tell(true);
                });
            }
            Work::Search { query, sessions, ticket } => {
                self.search.store(true, Ordering::Relaxed);
                if sessions.is_empty() {
                    return Ok(());
                }
                let stop = Arc::new(AtomicBool::new(false));
                self.search = Arc::clone(&stop);
                tokio::spawn(async move {
                    tokio::time::sleep(TYPING).await;
                    let look = move || search(&shelf, &query, &sessions, ticket, &stop, &tell);
                    tokio::task::spawn_blocking(look);
                });
            }
            Work::Stop => self.stop(),
            other => {
                tokio::task::spawn_blocking(move || {
                    if let Some(news) = once(&shelf, other) {
                        let _ = tell.blocking_send(Action::Shelf(Box::new(news)));
                    }
                });
            }
        }
        Ok(())
    }
}

/// Rows on their way.
struct Bundle {
    tell: mpsc::Sender<Action>,
    ticket: u64,
    rows: Vec<Listed>,
    done: usize,
    total: usize,
    last: Option<Instant>,
}

impl Bundle {
    fn new(tell: mpsc::Sender<Action>, ticket: u64) -> Self {
        Self { tell, ticket, rows: Vec::new(), done: 0, total: 0, last: None }
    }

    fn add(&mut self, rows: Vec<Listed>, done: usize, total: usize, stop: &AtomicBool) {
        self.rows.extend(rows);
        (self.done, self.total) = (done, total);
        let due = self.last.is_none_or(|last| last.elapsed() >= TELL);
        if due && !self.tell(false) {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// `false` when nobody listens any more.
    fn tell(&mut self, finished: bool) -> bool {
        if !self.rows.is_empty() {
            self.last = Some(Instant::now());
        }
        let news = News::Rows {
            ticket: self.ticket,
            rows: std::mem::take(&mut self.rows),
            done: self.done,
            total: self.total,
            finished,
        };
        self.tell.blocking_send(Action::Shelf(Box::new(news))).is_ok()
    }
}

fn search(
    shelf: &Shelf,
    query: &str,
    sessions: &[Arc<Listed>],
    ticket: u64,
    stop: &AtomicBool,
    tell: &mpsc::Sender<Action>,
) {
    let mut hits = Vec::new();
    let mut last: Option<Instant> = None;
    shelf.search(sessions, &Query::parse(query), stop, &mut |searched| {
        hits.extend(searched.hits);
        let is_end = searched.done == searched.total;
        if is_end || last.is_none_or(|last| last.elapsed() >= TELL) {
            last = Some(Instant::now());
            let (done, total) = (searched.done, searched.total);
            let news = News::Found { ticket, hits: std::mem::take(&mut hits), done, total };
            if tell.blocking_send(Action::Shelf(Box::new(news))).is_err() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
}

/// What is done in one go.
fn once(shelf: &Shelf, work: Work) -> Option<News> {
    let text = |error: crate::harness::HarnessError| error.message;
    Some(match work {
        Work::Preview { path } => {
            let said = shelf.preview(&path).map_err(text);
            News::Preview { path, said }
        }
        Work::Rename { path, name } => {
            let row = shelf.rename(&path, &name).map(|()| shelf.look(&path)).map_err(text);
            News::Renamed { path, row }
        }
        Work::Remove { path } => {
            let outcome = shelf.remove(&path).map(drop).map_err(text);
            News::Removed { path, outcome }
        }
        Work::Restore { path } => {
            let outcome = shelf.restore(&path).map_err(text);
            News::Restored { path, outcome }
        }
        Work::Check { path } => {
            let missing = shelf.missing_folder(&path);
            News::Checked { path, missing }
        }
        Work::ForkHere { path } => News::Copied { outcome: shelf.fork_here(&path).map_err(text) },
        Work::Import { path } => {
            let path = shelf.cwd().join(path);
            News::Imported { outcome: shelf.import(&path).map_err(text) }
        }
        Work::Verify { path } => News::Inspected { outcome: shelf.verify(&path).map_err(text) },
        Work::Repair { path, out } => {
            News::Inspected { outcome: shelf.repair(&path, &out).map_err(text) }
        }
        Work::Scan { .. } | Work::Search { .. } | Work::Stop => return None,
    })
}
