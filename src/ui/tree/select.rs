//! Moving through the rows: by row, page, segment and branch.

use crate::session::Position;
use crate::ui::tree::pane::Pane;
use crate::ui::tree::rows::{Connector, Fold};

/// Columns of one level.
pub(super) const LEVEL: u32 = 3;

impl Pane {
    /// Moves by rows; from either end on to the other.
    pub fn step(&mut self, rows: i64) {
        let (Some(at), count) = (self.selected_row(), self.rows.len()) else { return };
        let at = i64::try_from(at).unwrap_or(0).saturating_add(rows);
        let count = i64::try_from(count).unwrap_or(i64::MAX).max(1);
        self.go_to_row(usize::try_from(at.rem_euclid(count)).unwrap_or(0));
    }

    /// Moves by pages and stops at the ends.
    pub fn page(&mut self, pages: i64) {
        let Some(at) = self.selected_row() else { return };
        let height = usize::from(self.parts.list.height).max(2) - 1;
        let to = if pages < 0 { at.saturating_sub(height) } else { at + height };
        self.go_to_row(to.min(self.rows.len().saturating_sub(1)));
    }

    /// Moves by rows and stops at the ends.
    pub fn wheel(&mut self, rows: i32) {
        let Some(at) = self.selected_row() else { return };
        let by = rows.unsigned_abs() as usize;
        let to = if rows < 0 { at.saturating_sub(by) } else { at + by };
        self.go_to_row(to.min(self.rows.len().saturating_sub(1)));
    }

    pub fn first(&mut self) {
        self.go_to_row(0);
    }

    pub fn last(&mut self) {
        self.go_to_row(self.rows.len().saturating_sub(1));
    }

    /// Selects a row.
    pub fn go_to_row(&mut self, row: usize) {
        if let Some(row) = self.rows.get(row) {
            self.selected = row.position;
        }
        self.settle();
    }

    /// Selects an entry.
    pub fn select(&mut self, position: Position) {
        self.selected = position;
        self.settle();
    }

    /// Folds the segment that begins here, else goes to where the segment begins.
    pub fn left(&mut self) {
        let Some(at) = self.selected_row() else { return };
        let Some(row) = self.rows.get(at).copied() else { return };
        if row.fold == Fold::Open {
            self.folded.insert(row.position);
            self.selected = row.position;
            self.refold();
            self.settle();
            return;
        }
        if self.close_run(row.position) {
            return;
        }
        self.go_to_row(self.segment_start(at));
    }

    /// The row where the segment above a row begins.
    fn segment_start(&self, at: usize) -> usize {
        let Some(row) = self.rows.get(at) else { return at };
        let mut next = self.rows.above(row.position);
        // What a row hangs from stands above it, so the walk ends at a root.
        while let Some(parent) = self.rows.row_of(next) {
            match self.rows.get(parent) {
                Some(each) if each.connector == Connector::None => {
                    next = self.rows.above(each.position);
                }
                Some(_) => return parent,
                None => break,
            }
        }
        0
    }

    /// Unfolds, else goes to the first branch below, else to the end of the chain.
    pub fn right(&mut self) {
        let Some(at) = self.selected_row() else { return };
        let Some(row) = self.rows.get(at).copied() else { return };
        if row.fold == Fold::Folded || row.steps > 1 {
            self.unfold(row.position, row.steps);
            return;
        }
        let mut to = at;
        for (index, each) in self.rows.all().iter().enumerate().skip(at + 1) {
            let before = self.rows.get(to).is_some_and(|row| row.tip || row.fold == Fold::Folded);
            if before {
                break;
            }
            to = index;
            if each.connector != Connector::None {
                break;
            }
        }
        self.go_to_row(to);
    }

    /// Folds or unfolds the segment or the run of the selected row.
    pub fn toggle_fold(&mut self) {
        let Some(at) = self.selected_row() else { return };
        let Some(row) = self.rows.get(at).copied() else { return };
        if row.fold == Fold::Folded || row.steps > 1 {
            self.unfold(row.position, row.steps);
        } else if row.fold == Fold::Open {
            self.left();
        } else if !self.close_run(row.position) {
            let start = self.segment_start(at);
            self.go_to_row(start);
            if self.rows.get(start).is_some_and(|row| row.fold == Fold::Open) {
                self.left();
            }
        }
    }

    fn unfold(&mut self, position: Position, steps: u32) {
        if !self.folded.remove(&position) && steps > 1 {
            self.opened.insert(position);
        }
        self.selected = position;
        self.refold();
        self.settle();
    }

    /// Closes the opened run that the entry is in.
    fn close_run(&mut self, position: Position) -> bool {
        let Some(head) = self.rows.head(position) else { return false };
        if !self.opened.remove(&head) {
            return false;
        }
        self.selected = head;
        self.refold();
        self.settle();
        true
    }

    /// Scrolls so that the selected row and the beginning of its words can be seen.
    pub(super) fn settle(&mut self) {
        let height = usize::from(self.parts.list.height);
        if height == 0 {
            return;
        }
        let Some(at) = self.selected_row() else {
            (self.top, self.pan) = (0, 0);
            return;
        };
        let lowest = self.rows.len().saturating_sub(height);
        self.top = self.top.clamp((at + 1).saturating_sub(height), at).min(lowest);
        let width = u32::from(self.parts.list.width);
        let indent = self.rows.get(at).map_or(0, |row| row.indent);
        // The words of the selected row begin in the left half.
        let room = (width / 2).saturating_sub(2) / LEVEL;
        let least = indent.saturating_sub(room.max(1));
        self.pan = if indent < self.pan || least == 0 { least } else { self.pan.max(least) };
    }
}
