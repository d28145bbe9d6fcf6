//! What the session picker knows: rows, what of them shows, and which one is selected.
//!
//! The selection is a session, not a place in the list: rows that arrive, move or go never put
//! another session under a key. Until somebody moves it stays on the first row.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Work, list};
use crate::harness::{Hit, Listed, Query, Quote, Scope, Tier};
use crate::ui::line_input::LineInput;

/// Shorter queries are not looked for inside sessions: everything holds them.
const SEARCH_CHARS: usize = 2;

/// In which order rows stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Recent,
    /// Copies under what they were copied from.
    Threaded,
    /// Names first, then prompts and folders, then contents.
    Relevance,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Self::Recent => "recent",
            Self::Threaded => "threaded",
            Self::Relevance => "relevance",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Recent => Self::Threaded,
            Self::Threaded => Self::Relevance,
            Self::Relevance => Self::Recent,
        }
    }
}

/// What the keys mean. Each that does something to a session names it by its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Browse,
    Rename {
        path: PathBuf,
        input: LineInput,
    },
    /// To the trash?
    Remove {
        path: PathBuf,
        title: String,
    },
    /// Open it although a turn runs here?
    Leave {
        path: PathBuf,
    },
}

/// One session.
#[derive(Debug, Clone)]
pub struct Row {
    pub listed: Arc<Listed>,
    /// How it matches the query; `None` when it does not.
    pub tier: Option<Tier>,
    /// Where its content matches.
    pub snippet: Option<String>,
    /// It was moved away.
    pub(super) gone: bool,
}

impl Row {
    /// Its name, else its first message.
    pub fn title(&self) -> &str {
        let listed = &self.listed;
        listed.name.as_deref().or(listed.first_message.as_deref()).unwrap_or("(no messages)")
    }
}

/// A row that shows: which one, and how deep it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub row: usize,
    pub depth: usize,
}

/// How far a piece of work is.
pub(super) type Share = Option<(usize, usize)>;

/// The picker.
#[derive(Debug, Default)]
pub struct Picker {
    pub input: LineInput,
    pub query: Query,
    pub scope: Scope,
    pub sort: Sort,
    pub named_only: bool,
    pub show_path: bool,
    pub mode: Mode,
    pub loading: Share,
    pub searching: Share,
    /// What the preview shows, and of which session.
    pub preview: Option<(PathBuf, Result<Vec<Quote>, String>)>,
    /// The session that is open now.
    pub current: Option<PathBuf>,
    /// The session whose folder is being looked for, to be opened next.
    pub(super) opening: Option<PathBuf>,
    rows: Vec<Row>,
    at: HashMap<PathBuf, usize>,
    shown: Vec<Shown>,
    selected: usize,
    moved: bool,
    top: usize,
    /// News of other listings and searches are old.
    ticket: u64,
    search_ticket: u64,
    asked_preview: Option<PathBuf>,
}

impl Picker {
    /// An empty picker; [`Picker::load`] fills it.
    pub fn new(scope: Scope, current: Option<PathBuf>) -> Self {
        Self { scope, current, ..Self::default() }
    }

    /// Begins to list the scope anew.
    #[must_use]
    pub fn load(&mut self) -> Work {
        self.ticket += 1;
        self.search_ticket += 1;
        (self.rows, self.at, self.shown) = (Vec::new(), HashMap::new(), Vec::new());
        (self.selected, self.top, self.moved) = (0, 0, false);
        (self.loading, self.searching) = (Some((0, 0)), None);
        (self.preview, self.asked_preview, self.opening) = (None, None, None);
        Work::Scan { scope: self.scope, ticket: self.ticket }
    }

    /// Takes rows of a listing; `Some` when contents are to be searched now.
    #[must_use]
    pub fn take_rows(
        &mut self,
        ticket: u64,
        rows: Vec<Listed>,
        share: (usize, usize),
        finished: bool,
    ) -> Option<Work> {
        if ticket != self.ticket {
            return None;
        }
        self.loading = (!finished).then_some(share);
        for listed in rows {
            self.put(listed);
        }
        self.refresh();
        (finished && self.looks_inside()).then(|| self.search())
    }

    /// Puts a row in, or in the place of an older one of the same file.
    pub(super) fn put(&mut self, listed: Listed) {
        let tier = self.query.tier(&listed);
        match self.at.get(&listed.path).and_then(|at| self.rows.get_mut(*at)) {
            Some(row) => {
                row.tier = tier.or(row.snippet.as_ref().map(|_| Tier::Content));
                row.listed = Arc::new(listed);
            }
            None => {
                self.at.insert(listed.path.clone(), self.rows.len());
                self.rows.push(Row { listed: Arc::new(listed), tier, snippet: None, gone: false });
            }
        }
    }

    /// Takes what a search found.
    pub fn take_hits(&mut self, ticket: u64, hits: Vec<Hit>, share: (usize, usize)) {
        if ticket != self.search_ticket {
            return;
        }
        self.searching = (share.0 < share.1).then_some(share);
        for hit in hits {
            let row = self.at.get(&hit.path).and_then(|at| self.rows.get_mut(*at));
            if let Some(row) = row {
                row.tier = row.tier.or(Some(Tier::Content));
                row.snippet = Some(hit.snippet);
            }
        }
        self.refresh();
    }

    /// The session is somewhere else now.
    pub fn remove(&mut self, path: &Path) {
        if let Some(row) = self.at.get(path).and_then(|at| self.rows.get_mut(*at)) {
            row.gone = true;
        }
        self.refresh();
    }

    /// The query was changed: names and prompts are looked at now, contents by the work.
    #[must_use]
    pub fn queried(&mut self) -> Work {
        self.query = Query::parse(self.input.text());
        for row in &mut self.rows {
            (row.tier, row.snippet) = (self.query.tier(&row.listed), None);
        }
        (self.selected, self.top, self.moved) = (0, 0, false);
        self.refresh();
        self.search()
    }

    fn looks_inside(&self) -> bool {
        !self.query.is_empty()
            && self.query.problem().is_none()
            && self.query.text().chars().count() >= SEARCH_CHARS
    }

    fn search(&mut self) -> Work {
        self.search_ticket += 1;
        let mut sessions: Vec<Arc<Listed>> = Vec::new();
        if self.looks_inside() {
            let unmatched = self.rows.iter().filter(|row| row.tier.is_none() && !row.gone);
            sessions.extend(unmatched.map(|row| Arc::clone(&row.listed)));
            sessions.sort_by_key(|listed| std::cmp::Reverse(listed.last_activity_ms));
        }
        self.searching = (!sessions.is_empty()).then_some((0, sessions.len()));
        Work::Search { query: self.query.text().to_owned(), sessions, ticket: self.search_ticket }
    }

    pub fn next_sort(&mut self) {
        self.sort = self.sort.next();
        self.refresh();
    }

    pub fn toggle_named(&mut self) {
        self.named_only = !self.named_only;
        self.refresh();
    }

    /// Lays out what shows and keeps the selected session where it is on the screen.
    pub(super) fn refresh(&mut self) {
        let kept = self.shown.get(self.selected).map(|shown| shown.row);
        let wanted = |row: &Row| {
            let named = row.listed.name.as_deref().is_some_and(|name| !name.trim().is_empty());
            !row.gone && row.tier.is_some() && (named || !self.named_only)
        };
        let sort = match self.sort {
            // Found rows are no tree.
            Sort::Threaded if !self.query.is_empty() => Sort::Recent,
            sort => sort,
        };
        self.shown = list::arrange(&self.rows, wanted, sort);
        let last = self.shown.len().saturating_sub(1);
        let before = self.selected;
        let there = kept.and_then(|row| self.shown.iter().position(|shown| shown.row == row));
        self.selected = match there {
            Some(there) if self.moved => there,
            _ if self.moved => before.min(last),
            _ => 0,
        };
        self.top = (self.top + self.selected).saturating_sub(before);
    }

    /// Moves the selection by rows.
    pub fn select(&mut self, by: i64) {
        let last = i64::try_from(self.shown.len()).unwrap_or(i64::MAX).saturating_sub(1).max(0);
        let at = i64::try_from(self.selected).unwrap_or(0).saturating_add(by).clamp(0, last);
        self.selected = usize::try_from(at).unwrap_or(0);
        self.moved = true;
    }

    /// Scrolls so that the selection is inside a list of `height` rows.
    pub fn settle(&mut self, height: usize) {
        self.top = self.top_for(height);
    }

    /// The first row of a list of `height` rows.
    pub fn top_for(&self, height: usize) -> usize {
        let height = height.max(1);
        let lowest = (self.selected + 1).saturating_sub(height);
        let most = self.shown.len().saturating_sub(height);
        self.top.min(most).clamp(lowest, self.selected)
    }

    pub fn selected(&self) -> Option<&Row> {
        self.rows.get(self.shown.get(self.selected)?.row)
    }

    /// The place of the selection among what shows.
    pub fn selected_at(&self) -> usize {
        self.selected
    }

    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    pub fn row(&self, shown: Shown) -> Option<&Row> {
        self.rows.get(shown.row)
    }

    /// All rows there are, whether they show or not.
    pub fn count(&self) -> usize {
        self.rows.iter().filter(|row| !row.gone).count()
    }

    /// The preview to ask for, once for each selected session.
    pub(super) fn wanted_preview(&mut self) -> Option<Work> {
        let path = self.selected()?.listed.path.clone();
        if self.asked_preview.as_ref() == Some(&path) {
            return None;
        }
        self.asked_preview = Some(path.clone());
        Some(Work::Preview { path })
    }
}
