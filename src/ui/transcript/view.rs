//! The window over the blocks: anchored to a block or to the end, laid out outwards from there.
//!
//! Nothing here walks all blocks but the jump between prompts, which only looks at kinds.

use std::collections::VecDeque;

use ratatui::text::Line;

use crate::ui::theme::Theme;

use super::block::Kind;
use super::rows::{Frame, lay};
use super::{Folds, Transcript};

/// Rows one layout may scroll; further jumps go to an end.
const MAX_SCROLL: i64 = 10_000;
/// Blocks whose rows are kept. Many screens full, and a bound on memory while scrolling.
const MAX_LAID: usize = 512;
/// Blank blocks looked past for the block above.
const MAX_BLANK: usize = 64;

/// A row of a block; row 0 is the empty line above it where it has one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) row: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Anchor {
    /// The end is the last line.
    #[default]
    End,
    /// This row is the first line; its block had `of` rows when it was so wide and so folded.
    /// Kept as it is over resizes, so that coming back to a size comes back to the same lines.
    Top { place: Place, of: usize, width: usize, folds: Folds },
    /// The first row of this block's own lines is the first line.
    Block(usize),
}

/// What the lines were made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Made {
    width: u16,
    height: u16,
    theme: u64,
    folds: Folds,
    version: u64,
    anchor: Anchor,
}

#[derive(Debug, Default)]
pub(super) struct View {
    anchor: Anchor,
    /// Rows to scroll at the next layout, downwards positive.
    pending: i64,
    /// The first line of the last layout.
    top: Place,
    made: Option<Made>,
    /// Grows with every change of what is shown.
    pub(super) version: u64,
    pub(super) lines: Vec<Line<'static>>,
    pub(super) new_below: bool,
    laid: VecDeque<usize>,
}

impl View {
    /// A view of other blocks, at their end; the version goes on so that nothing stale is kept.
    pub(super) fn at_end(old: &Self) -> Self {
        Self { version: old.version + 1, ..Self::default() }
    }

    pub(super) fn follows(&self) -> bool {
        self.anchor == Anchor::End && self.pending >= 0
    }

    /// The window begins this many rows above a place.
    pub(super) fn stand_above(&mut self, place: Place, rows: usize) {
        self.anchor = Anchor::Top { place, of: 0, width: 0, folds: Folds::default() };
        self.pending -= i64::try_from(rows).unwrap_or(0);
    }

    /// Follows blocks that have moved; what was at a block that is gone is at `at` now.
    pub(super) fn rename(&mut self, at: usize, moved: &dyn Fn(usize) -> Option<usize>) {
        let place = |place: Place| match moved(place.block) {
            Some(block) => Place { block, ..place },
            None => Place { block: at, row: 0 },
        };
        self.top = place(self.top);
        match &mut self.anchor {
            Anchor::End => {}
            Anchor::Block(block) => *block = moved(*block).unwrap_or(at),
            Anchor::Top { place: top, .. } => *top = place(*top),
        }
        self.laid = self.laid.iter().filter_map(|block| moved(*block)).collect();
    }

    fn go(&mut self, anchor: Anchor) {
        self.anchor = anchor;
        self.pending = 0;
        self.new_below &= anchor != Anchor::End;
    }
}

impl Transcript {
    /// Scrolls by rows, downwards positive, at the next layout; further than 10,000 rows at once is
    /// cut to that.
    pub fn scroll(&mut self, rows: i32) {
        if rows > 0 && self.view.anchor == Anchor::End && self.view.pending >= 0 {
            return;
        }
        self.parts.stay();
        let pending = self.view.pending.saturating_add(i64::from(rows));
        self.view.pending = pending.clamp(-MAX_SCROLL, MAX_SCROLL);
    }

    /// Scrolls by pages, downwards positive, keeping one line in sight.
    pub fn page(&mut self, pages: i32) {
        let height = self.view.made.map_or(1, |made| i32::from(made.height));
        self.scroll(pages.saturating_mul((height - 1).max(1)));
    }

    /// The first line of the conversation becomes the first line, as soon as it is loaded.
    pub fn to_top(&mut self) {
        if !self.can_jump_to_top() {
            return;
        }
        self.view.go(Anchor::Top {
            place: Place::default(),
            of: 0,
            width: 0,
            folds: Folds::default(),
        });
    }

    pub fn to_bottom(&mut self) {
        self.parts.stay();
        self.view.go(Anchor::End);
    }

    /// The nearest prompt above the first line becomes the first line.
    pub fn previous_prompt(&mut self) {
        let top = self.here();
        let inside = top.row > usize::from(self.gap(top.block));
        let end = (top.block + usize::from(inside)).min(self.blocks.len());
        let found = self.blocks[..end].iter().rposition(|block| is_stop(&block.kind));
        if let Some(block) = found
            && !self.jumps_into_gap(block, true)
        {
            self.view.go(Anchor::Block(block));
        }
    }

    /// The nearest prompt below the first line becomes the first line; after the last one the end.
    pub fn next_prompt(&mut self) {
        let start = (self.here().block + 1).min(self.blocks.len());
        let found = self.blocks[start..].iter().position(|block| is_stop(&block.kind));
        let found = found.map(|after| start + after);
        if !found.is_some_and(|block| self.jumps_into_gap(block, false)) {
            self.view.go(found.map_or(Anchor::End, Anchor::Block));
        }
    }

    /// The first block in sight, and one behind the last.
    pub(super) fn in_sight(&self) -> (usize, usize) {
        let top = match self.view.anchor {
            Anchor::End => self.view.top.block,
            _ => self.here().block,
        };
        (top, top + self.view.made.map_or(0, |made| usize::from(made.height)))
    }

    /// The rows of a block as it is laid out now, with the empty line above it.
    pub(super) fn rows_of(&self, block: usize) -> usize {
        match self.height(block) {
            0 => 0,
            height => height + usize::from(self.gap(block)),
        }
    }

    /// The row of this block that is the first line, when the window hangs on it.
    pub(super) fn row_in(&self, block: usize) -> Option<usize> {
        let place = self.here();
        (self.view.anchor != Anchor::End && place.block == block).then_some(place.row)
    }

    /// Where the first line will be, as far as it is known before the layout.
    fn here(&self) -> Place {
        match self.view.anchor {
            Anchor::Block(block) => Place { block, row: usize::from(self.gap(block)) },
            Anchor::Top { place, .. } => place,
            Anchor::End => self.view.top,
        }
    }

    /// Lays out what fits `height` lines of `width` cells around the anchor. Free when nothing has
    /// changed; costs what the screen shows otherwise.
    pub fn layout(&mut self, width: u16, height: u16, theme: &Theme) {
        let width = width.max(1);
        let made = Made {
            width,
            height,
            theme: theme.key(),
            folds: self.folds,
            version: self.view.version,
            anchor: self.view.anchor,
        };
        if self.view.pending == 0 && self.view.made == Some(made) {
            return;
        }
        let frame =
            Frame { width: usize::from(width), theme, theme_key: made.theme, folds: self.folds };
        let rows = usize::from(height);
        let mut top = self.resolve(rows, &frame);
        let pending = std::mem::take(&mut self.view.pending);
        if pending < 0 {
            top = self.up(top, pending.unsigned_abs(), &frame);
        } else {
            top = self.down(top, pending.unsigned_abs(), &frame);
        }
        let (mut lines, at_end) = self.collect(top, rows, &frame);
        if at_end && rows > 0 {
            let end = self.end_top(rows, &frame);
            if end != top {
                (top, (lines, _)) = (end, self.collect(end, rows, &frame));
            }
            self.view.go(Anchor::End);
        } else if pending != 0 {
            let of = self.total(top.block, &frame);
            self.view.anchor =
                Anchor::Top { place: top, of, width: frame.width, folds: frame.folds };
        }
        self.view.top = top;
        self.view.lines = lines;
        self.view.made = Some(Made { anchor: self.view.anchor, ..made });
        self.forget(top.block, rows);
    }

    /// The first line by the anchor.
    fn resolve(&mut self, rows: usize, frame: &Frame<'_>) -> Place {
        let last = self.blocks.len().saturating_sub(1);
        match self.view.anchor {
            Anchor::End => self.end_top(rows, frame),
            Anchor::Block(block) => {
                let block = block.min(last);
                Place { block, row: usize::from(self.gap(block)) }
            }
            Anchor::Top { place, .. } if place.block > last => self.end_top(rows, frame),
            Anchor::Top { place, of, width, folds } => {
                let total = self.total(place.block, frame);
                let same_rows = (width, folds) == (frame.width, frame.folds);
                let row = if same_rows || of == 0 { place.row } else { place.row * total / of };
                Place { block: place.block, row: row.min(total.saturating_sub(1)) }
            }
        }
    }

    /// The first line when the end is the last line.
    fn end_top(&mut self, rows: usize, frame: &Frame<'_>) -> Place {
        let mut left = rows;
        for block in (0..self.blocks.len()).rev() {
            let total = self.total(block, frame);
            if total >= left {
                return Place { block, row: total - left };
            }
            left -= total;
        }
        Place::default()
    }

    fn up(&mut self, from: Place, by: u64, frame: &Frame<'_>) -> Place {
        let mut by = usize::try_from(by).unwrap_or(usize::MAX);
        let mut place = from;
        loop {
            if place.row >= by {
                return Place { row: place.row - by, ..place };
            }
            if place.block == 0 {
                return Place::default();
            }
            by -= place.row;
            place = Place { block: place.block - 1, row: self.total(place.block - 1, frame) };
        }
    }

    fn down(&mut self, from: Place, by: u64, frame: &Frame<'_>) -> Place {
        let mut by = usize::try_from(by).unwrap_or(usize::MAX);
        let mut place = from;
        while by > 0 && place.block < self.blocks.len() {
            let left = self.total(place.block, frame).saturating_sub(place.row);
            if by < left {
                return Place { row: place.row + by, ..place };
            }
            if place.block + 1 == self.blocks.len() {
                return Place { row: place.row + left.saturating_sub(1), ..place };
            }
            by -= left;
            place = Place { block: place.block + 1, row: 0 };
        }
        place
    }

    /// Up to `rows` lines from a place on, and whether the end is among them.
    fn collect(
        &mut self,
        top: Place,
        rows: usize,
        frame: &Frame<'_>,
    ) -> (Vec<Line<'static>>, bool) {
        let mut lines = Vec::with_capacity(rows);
        let mut skip = top.row;
        for block in top.block..self.blocks.len() {
            let total = self.total(block, frame);
            if lines.len() == rows && total > skip {
                return (lines, false);
            }
            let gap = total.saturating_sub(self.height(block));
            if skip < gap && lines.len() < rows {
                lines.push(Line::default());
            }
            let room = rows - lines.len();
            if let Some(laid) = &self.blocks[block].rows {
                lines.extend(laid.from(skip.saturating_sub(gap)).take(room).cloned());
            }
            if total.saturating_sub(skip) > room + usize::from(skip < gap) {
                return (lines, false);
            }
            skip = 0;
        }
        (lines, true)
    }

    fn height(&self, block: usize) -> usize {
        self.blocks[block].rows.as_ref().map_or(0, |rows| rows.height())
    }

    /// The rows of a block with the empty line above it; lays it out when needed.
    fn total(&mut self, index: usize, frame: &Frame<'_>) -> usize {
        let live = self.is_live(index);
        let Some(block) = self.blocks.get_mut(index) else { return 0 };
        if block.rows.is_none() {
            self.view.laid.push_back(index);
        }
        let jobs = lay(block, frame, live, &self.highlights);
        for job in jobs {
            let key = job.key;
            if self.highlights.ask(job) {
                let waiting = self.waiting.entry(key).or_default();
                if !waiting.contains(&index) {
                    waiting.push(index);
                }
            }
        }
        match self.height(index) {
            0 => 0,
            height => height + usize::from(self.gap(index)),
        }
    }

    /// Whether an empty line stands above a block. Tool calls stand close together.
    fn gap(&self, index: usize) -> bool {
        let Some(block) = self.blocks.get(index) else { return false };
        let first = index.saturating_sub(MAX_BLANK);
        let above = self.blocks[first..index].iter().rev().find(|block| !block.is_blank());
        above.is_some_and(|above| !(above.is_tool() && block.is_tool()))
    }

    /// Drops the rows of blocks that were laid out longest ago, but not those on screen.
    fn forget(&mut self, top: usize, rows: usize) {
        while self.view.laid.len() > MAX_LAID.max(rows * 2) {
            let Some(index) = self.view.laid.pop_front() else { break };
            if (top..=top + rows).contains(&index) {
                self.view.laid.push_back(index);
                break;
            }
            if let Some(block) = self.blocks.get_mut(index) {
                block.rows = None;
            }
        }
    }
}

/// Where a jump between prompts ends: at one, or where there may be one that is not loaded.
fn is_stop(kind: &Kind) -> bool {
    matches!(kind, Kind::Prompt(_) | Kind::Gap(_))
}
