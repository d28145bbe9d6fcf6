//! The state of the tree pane: what is listed, what is selected, what is folded.
//!
//! The selection is an entry, not a row, so nothing that comes or goes can move it to another one;
//! where the entry itself does not show, its nearest ancestor that does stands for it.

use std::collections::{HashMap, HashSet};

use ratatui::layout::Rect;

use crate::harness::Command;
use crate::message::EntryId;
use crate::session::{Position, TreeView};
use crate::text::sanitize::sanitize;
use crate::text::width::wrap;
use crate::ui::tree::ask::Asked;
use crate::ui::tree::compare::Comparison;
use crate::ui::tree::entries::{Change, Entries, Filter, NONE};
use crate::ui::tree::read::Job;
use crate::ui::tree::rows::{Fold, Row, Rows, Shown};
use crate::ui::tree::search::{Found, Search};

/// Rows of a preview, its line included.
const PREVIEW_ROWS: u16 = 6;
/// A list shorter than this has no room for a preview.
const LIST_ROWS: u16 = 14;
/// Lines of a preview that are laid out.
const PREVIEW_LINES: usize = 12;

/// The pane.
#[derive(Debug, Default)]
pub struct Pane {
    pub open: bool,
    pub(super) entries: Entries,
    pub(super) rows: Rows,
    pub(super) filter: Filter,
    pub search: Search,
    pub(super) folded: HashSet<Position>,
    pub(super) opened: HashSet<Position>,
    /// The entry the keys act on; its row is [`Pane::selected_row`].
    pub(super) selected: Position,
    /// The entries changed while nobody looked: the rows are old.
    stale: bool,
    pub(super) top: usize,
    /// Levels that are out of sight at the left.
    pub(super) pan: u32,
    pub parts: Parts,
    /// When labels were given, while that is shown.
    pub times: Option<HashMap<Position, String>>,
    pub(super) preview: Preview,
    /// The first of two nodes to compare.
    pub mark: Option<Position>,
    pub under_way: UnderWay,
    /// Until when a second esc opens the tree, Unix milliseconds.
    pub armed_until: Option<i64>,
}

/// Where the parts of the pane stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parts {
    pub query: Rect,
    pub list: Rect,
    pub preview: Rect,
    pub hint: Rect,
}

/// The selected entry's own words.
#[derive(Debug, Default)]
pub(super) struct Preview {
    asked: Option<Position>,
    known: Option<(Position, String)>,
    /// For which entry and width, and the lines.
    laid: Option<(Position, u16, Vec<String>)>,
}

/// What was asked for and is not done.
#[derive(Debug, Default)]
pub struct UnderWay {
    /// Sent when the engine is idle.
    pub pending: Option<(Command, Asked)>,
    pub comparison: Option<Box<Comparison>>,
}

impl Pane {
    pub fn entries(&self) -> &Entries {
        &self.entries
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn filter(&self) -> Filter {
        self.filter
    }

    pub fn top(&self) -> usize {
        self.top
    }

    pub fn pan(&self) -> u32 {
        self.pan
    }

    /// The tree is another one now. While nobody looks only the columns follow, which costs what is
    /// new; so the key that opens the pane has only to list them.
    pub fn take(&mut self, view: &TreeView) {
        if self.open {
            self.sync(view);
            return;
        }
        match self.entries.sync(view) {
            Change::Same => return,
            Change::Other => self.forget_positions(),
            Change::Grown(_) | Change::Anew => {}
        }
        self.stale = true;
    }

    /// Shows the pane with the leaf selected.
    pub fn show(&mut self, view: Option<&TreeView>) {
        self.open = true;
        let Some(view) = view else { return };
        self.sync(view);
        if std::mem::take(&mut self.stale) {
            self.search.extend(view, &self.entries);
            self.build();
        }
        self.selected = self.entries.leaf().unwrap_or(NONE);
        self.top = 0;
        self.settle();
    }

    fn sync(&mut self, view: &TreeView) {
        let follows = self.on_leaf();
        let before = self.entries.leaf();
        match self.entries.sync(view) {
            Change::Same => return,
            Change::Other => {
                self.forget_positions();
                self.build();
            }
            Change::Grown(_) if self.stale => {}
            Change::Grown(from) => {
                self.search.extend(view, &self.entries);
                let shown = Shown {
                    filter: self.filter,
                    matches: self.search.matches(),
                    folded: &self.folded,
                    opened: &self.opened,
                };
                if !self.rows.grow(&self.entries, &shown, from) {
                    self.build();
                }
            }
            Change::Anew => {
                self.search.extend(view, &self.entries);
                self.build();
            }
        }
        if self.entries.leaf() != before && (follows || self.selected == NONE) {
            self.selected = self.entries.leaf().unwrap_or(NONE);
        }
        self.settle();
    }

    /// The session is another one: nothing of the old one counts.
    pub fn forget(&mut self) {
        self.entries = Entries::default();
        self.under_way = UnderWay::default();
        self.forget_positions();
        self.build();
    }

    /// Positions mean other entries now.
    fn forget_positions(&mut self) {
        self.search.reset();
        self.folded.clear();
        self.opened.clear();
        self.selected = NONE;
        self.preview = Preview::default();
        self.mark = None;
        self.times = self.times.is_some().then(HashMap::new);
    }

    fn build(&mut self) {
        let shown = Shown {
            filter: self.filter,
            matches: self.search.matches(),
            folded: &self.folded,
            opened: &self.opened,
        };
        self.rows.build(&self.entries, &shown);
    }

    /// Lists what hangs already: folds or opened runs changed and nothing else.
    pub(super) fn refold(&mut self) {
        let shown = Shown {
            filter: self.filter,
            matches: self.search.matches(),
            folded: &self.folded,
            opened: &self.opened,
        };
        self.rows.refold(&self.entries, &shown);
    }

    /// Whether the selection stands where the leaf is.
    fn on_leaf(&self) -> bool {
        let leaf = self.entries.leaf().and_then(|leaf| self.rows.row_of(leaf));
        leaf.is_some() && leaf == self.rows.row_of(self.selected)
    }

    /// The selected row; `None` when nothing shows.
    pub fn selected_row(&self) -> Option<usize> {
        if self.rows.is_empty() {
            return None;
        }
        Some(self.rows.row_of(self.selected).unwrap_or(0))
    }

    /// What the keys act on.
    pub fn selected(&self) -> Option<&Row> {
        self.rows.get(self.selected_row()?)
    }

    /// The row of the leaf, or of its nearest ancestor that shows.
    pub fn leaf_row(&self) -> Option<usize> {
        self.rows.row_of(self.entries.leaf()?)
    }

    /// Whether a row stands for the end of the active path.
    pub fn is_here(&self, row: &Row) -> bool {
        self.entries
            .here()
            .is_some_and(|here| here == row.last || here == row.position || self.covers(row, here))
    }

    /// Whether a closed run holds the entry.
    fn covers(&self, row: &Row, position: Position) -> bool {
        let own = self.rows.row_of(position).and_then(|at| self.rows.get(at));
        row.steps > 1 && row.fold != Fold::Folded && own == Some(row)
    }

    pub fn is_folded(&self, row: &Row) -> bool {
        row.fold == Fold::Folded
    }

    /// Chooses a filter; the one that is on already gives way to the default.
    pub fn choose(&mut self, filter: Filter) {
        self.filter = if self.filter == filter { Filter::Default } else { filter };
        self.unfold_all();
        self.build();
        self.settle();
    }

    fn unfold_all(&mut self) {
        self.folded.clear();
        self.opened.clear();
    }

    /// The query was edited.
    pub fn searched(&mut self, view: &TreeView) {
        if self.search.refresh(view, &self.entries) {
            self.unfold_all();
            self.build();
            self.settle();
        }
    }

    /// Ends the search.
    pub fn end_search(&mut self) {
        let had = self.search.matches().is_some();
        self.search.clear();
        if had {
            self.unfold_all();
            self.build();
            self.settle();
        }
    }

    /// A piece of the search in bodies came back.
    pub fn found(&mut self, found: &Found) {
        if self.search.found(found) {
            self.build();
            self.settle();
        }
    }

    /// What has to be read now: the selected entry's words, the next piece of a search.
    pub fn jobs(&mut self) -> Vec<Job> {
        let mut jobs = Vec::new();
        if !self.open {
            return jobs;
        }
        if let Some(last) = self.selected().map(|row| row.last) {
            let known = self.preview.known.as_ref().is_some_and(|(at, _)| *at == last);
            // Before the first frame nobody knows whether there is room.
            let room = self.parts.preview.height > 0 || self.parts.list.height == 0;
            if !known && self.preview.asked.is_none() && room {
                self.preview.asked = Some(last);
                jobs.push(Job::Preview(last));
            }
        }
        jobs.extend(self.search.next_words(self.entries.len()).map(Job::Gather));
        jobs.extend(self.search.next_piece().map(Job::Search));
        jobs
    }

    /// The words of an entry were read.
    pub fn read(&mut self, position: Position, text: &str) {
        self.preview.asked = None;
        self.preview.laid = None;
        self.preview.known = Some((position, sanitize(text).into_owned()));
    }

    /// When labels were given was read.
    pub fn timed(&mut self, view: &TreeView, times: &[(EntryId, String)]) {
        if let Some(known) = &mut self.times {
            let placed = times
                .iter()
                .filter_map(|(id, time)| Some((view.index().position(id)?, time.clone())));
            *known = placed.collect();
        }
    }

    /// Divides the inside of the pane and lays the preview out. Keeps the selection in sight.
    pub fn measure(&mut self, mut inner: Rect, focused: bool, framed: bool) {
        let mut parts = Parts::default();
        let mut cut = |rows: u16, bottom: bool| {
            let rows = rows.min(inner.height);
            let y = if bottom { inner.y + inner.height - rows } else { inner.y };
            inner.height -= rows;
            inner.y += if bottom { 0 } else { rows };
            Rect::new(inner.x, y, inner.width, rows)
        };
        if self.search.typing || self.search.matches().is_some() || !framed {
            parts.query = cut(1, false);
        }
        if focused {
            parts.hint = cut(1, true);
        }
        let rows = inner.height;
        if rows >= LIST_ROWS + PREVIEW_ROWS {
            let preview = PREVIEW_ROWS.max(rows / 4);
            inner.height -= preview;
            parts.preview = Rect::new(inner.x, inner.y + inner.height, inner.width, preview);
        }
        parts.list = inner;
        self.parts = parts;
        self.lay_preview();
        self.settle();
    }

    fn lay_preview(&mut self) {
        let width = self.parts.preview.width;
        let Some((position, text)) = &self.preview.known else { return };
        let done =
            self.preview.laid.as_ref().is_some_and(|(at, w, _)| at == position && *w == width);
        if done || width == 0 {
            return;
        }
        let mut lines = Vec::new();
        for paragraph in text.lines().take(PREVIEW_LINES * 2) {
            let ranges = wrap(paragraph, usize::from(width));
            lines.extend(ranges.into_iter().map(|range| paragraph[range].trim_end().to_owned()));
            if lines.len() >= PREVIEW_LINES {
                break;
            }
        }
        self.preview.laid = Some((*position, width, lines));
    }

    /// The laid-out words of the selected entry; none while they are read.
    pub fn preview_lines(&self) -> &[String] {
        let wanted = self.selected().map(|row| row.last);
        match &self.preview.laid {
            Some((position, _, lines)) if Some(*position) == wanted => lines,
            _ => &[],
        }
    }
}
