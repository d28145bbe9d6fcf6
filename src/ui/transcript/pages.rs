//! What is loaded of a long conversation: its end, the pages around the reader, and gaps between.
//!
//! A gap is a block like any other, so a reader sees honestly where something is missing. When it
//! comes near the window a page beside it is asked for; the lines in sight stay where they are. Pages
//! far from the reader go again, so that memory does not grow with the way that was scrolled.

use crate::session::{Page, Position, Reader, Stretch};

use super::Transcript;
use super::block::{Block, Gap, Kind};
use super::view::Place;

/// Blocks between the window and a gap at which a page is asked for: a wheel turn ahead.
const REACH: usize = 48;
/// Bytes of lines of pages that are kept. Parsed they take about twice as much.
const KEEP_BYTES: u64 = 8 << 20;
/// Pages nearer to the window than this many blocks stay whatever they take.
const NEAR: usize = 4 * REACH;
/// Distance of the message numbers of two pages; a page holds far fewer messages.
const NUMBERS: u32 = 1 << 16;

/// Where the loaded end of a conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Older {
    /// At the root: everything is loaded.
    Nothing,
    /// Behind this entry.
    From(Position),
    /// Behind something that is not known yet.
    Unknown,
}

impl From<Option<Position>> for Older {
    fn from(older: Option<Position>) -> Self {
        older.map_or(Self::Nothing, Self::From)
    }
}

/// A page that is wanted. Read it on a blocking thread and bring the result to
/// [`Transcript::paged`].
#[derive(Debug, Clone, PartialEq)]
pub struct PageJob {
    ticket: u64,
    stretch: Stretch,
    way: Way,
}

/// A page that was read, or why not.
#[derive(Debug, Clone)]
pub struct Paged {
    job: PageJob,
    page: Result<Page, String>,
    /// Entries that are left in the gap.
    left: usize,
}

/// Which side of a gap grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Beginning,
    End,
}

/// What the reader asked for that needs a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    Top,
    Previous,
    Next,
}

/// The pieces in front of the loaded end.
#[derive(Debug, Default)]
pub(super) struct Parts {
    list: Vec<Part>,
    asked: Option<PageJob>,
    tickets: u64,
    jump: Option<(Jump, Stretch)>,
}

/// A page or a gap.
#[derive(Debug)]
struct Part {
    /// `None` for a gap that is not known yet.
    stretch: Option<Stretch>,
    blocks: usize,
    /// Bytes and number of the entries of a page.
    bytes: u64,
    entries: usize,
    is_gap: bool,
    /// It could not be read and is not asked for again.
    failed: bool,
}

impl Part {
    fn gap(stretch: Option<Stretch>) -> Self {
        Self { stretch, blocks: 1, bytes: 0, entries: 0, is_gap: true, failed: false }
    }

    fn can_be_read(&self) -> Option<Stretch> {
        self.stretch.filter(|_| self.is_gap && !self.failed)
    }
}

impl PageJob {
    /// Reads the page.
    pub fn run(self, reader: &Reader) -> Paged {
        let read = match self.way {
            Way::Beginning => reader.first_page(self.stretch),
            Way::End => reader.last_page(self.stretch),
        };
        let left = read.as_ref().ok().and_then(|page| self.rest(page));
        let left = left.map_or(0, |rest| reader.count(rest));
        Paged { page: read.map_err(|error| error.to_string()), left, job: self }
    }

    /// What is left of the gap beside a page.
    fn rest(&self, page: &Page) -> Option<Stretch> {
        let Stretch { above, last } = self.stretch;
        match self.way {
            Way::Beginning => {
                (page.last != Some(last)).then_some(Stretch { above: page.last, last })
            }
            Way::End => {
                page.above.filter(|_| page.above != above).map(|last| Stretch { above, last })
            }
        }
    }
}

impl Parts {
    fn start(&self, part: usize) -> usize {
        self.list.iter().take(part).map(|part| part.blocks).sum()
    }

    /// The part of a gap that can be read, by its stretch, and its block.
    fn find(&self, stretch: Stretch) -> Option<(usize, usize)> {
        let at = self.list.iter().position(|part| part.can_be_read() == Some(stretch))?;
        Some((at, self.start(at)))
    }

    /// The gap whose block this is.
    fn at_block(&self, block: usize) -> Option<Stretch> {
        let mut start = 0;
        for part in &self.list {
            if start == block {
                return part.can_be_read();
            }
            start += part.blocks;
        }
        None
    }

    /// Those of another conversation: what is still read for this one is for nobody.
    pub(super) fn anew(&self) -> Self {
        Self { tickets: self.tickets, ..Self::default() }
    }

    /// Forgets what the reader had asked for: they went elsewhere.
    pub(super) fn stay(&mut self) {
        self.jump = None;
    }
}

impl Transcript {
    /// A page that is wanted now, as of the last layout; at most one at a time.
    pub fn take_page_job(&mut self) -> Option<PageJob> {
        if self.parts.asked.is_some() {
            return None;
        }
        let (stretch, way) = match self.parts.jump {
            Some((Jump::Previous, stretch)) => (stretch, Way::End),
            Some((Jump::Top | Jump::Next, stretch)) => (stretch, Way::Beginning),
            None => self.near_gap()?,
        };
        self.parts.tickets += 1;
        let job = PageJob { ticket: self.parts.tickets, stretch, way };
        self.parts.asked = Some(job.clone());
        Some(job)
    }

    /// The gap nearest to the window within reach, and which side of it the reader is on.
    fn near_gap(&self) -> Option<(Stretch, Way)> {
        let (top, bottom) = self.in_sight();
        let mut start = 0;
        let mut nearest: Option<(usize, Stretch, Way)> = None;
        for part in &self.parts.list {
            let block = start;
            start += part.blocks;
            let Some(stretch) = part.can_be_read() else { continue };
            let is_above = block <= top || block == 0;
            let way = if is_above { Way::End } else { Way::Beginning };
            let distance = if block <= top { top - block } else { block.saturating_sub(bottom) };
            if distance <= REACH && nearest.is_none_or(|(nearest, ..)| distance < nearest) {
                nearest = Some((distance, stretch, way));
            }
        }
        nearest.map(|(_, stretch, way)| (stretch, way))
    }

    /// Marks that the conversation goes on above what is loaded.
    pub(super) fn begins_after(&mut self, older: Older) {
        let stretch = match older {
            Older::Nothing => return,
            Older::From(last) => Some(Stretch { above: None, last }),
            Older::Unknown => None,
        };
        self.splice(0, 0, vec![Block::new(Kind::Gap(Gap::default()))]);
        self.parts.list.insert(0, Part::gap(stretch));
    }

    /// Now it is known what the first gap holds.
    pub(super) fn know_older(&mut self, older: Older) {
        let unknown = self.parts.list.first().is_some_and(|part| part.stretch.is_none());
        if unknown {
            self.splice(0, 1, Vec::new());
            self.parts.list.remove(0);
        }
        if self.parts.list.is_empty() {
            self.begins_after(older);
        }
        self.view.version += 1;
    }

    /// Goes to the top when the top is loaded; else asks for it. `false` when it has to be asked for.
    pub(super) fn can_jump_to_top(&mut self) -> bool {
        self.parts.jump =
            self.parts.list.first().and_then(Part::can_be_read).map(|gap| (Jump::Top, gap));
        self.parts.jump.is_none()
    }

    /// Asks for the page before or behind a gap when this block is one.
    pub(super) fn jumps_into_gap(&mut self, block: usize, upwards: bool) -> bool {
        let jump = if upwards { Jump::Previous } else { Jump::Next };
        self.parts.jump = self.parts.at_block(block).map(|gap| (jump, gap));
        self.parts.jump.is_some()
    }

    /// Takes in a page; one that nobody waits for any more is let go.
    pub fn paged(&mut self, paged: Paged) {
        if self.parts.asked.as_ref() != Some(&paged.job) {
            return;
        }
        self.parts.asked = None;
        self.view.version += 1;
        let Some((part, block)) = self.parts.find(paged.job.stretch) else { return };
        match paged.page {
            Ok(page) => {
                self.fill(part, block, &paged.job, &page, paged.left);
                self.drop_far_pages();
                if let Some((jump, stretch)) = self.parts.jump
                    && stretch == paged.job.stretch
                {
                    self.parts.jump = None;
                    match jump {
                        Jump::Top => self.to_top(),
                        Jump::Previous => self.previous_prompt(),
                        Jump::Next => self.next_prompt(),
                    }
                }
            }
            Err(why) => {
                self.parts.jump = None;
                self.parts.list[part].failed = true;
                self.set_gap(block, Gap { left: None, why: Some(why) });
            }
        }
    }

    fn fill(&mut self, part: usize, block: usize, job: &PageJob, page: &Page, left: usize) {
        let rest = job.rest(page);
        let mut other = Self::default();
        other.intake.loading = true;
        other.intake.message = NUMBERS.wrapping_mul(u32::try_from(job.ticket).unwrap_or(0));
        other.intake.is_middle = page.above.is_some();
        for entry in &page.entries {
            other.entry(entry);
        }
        other.give_up_calls();
        let blocks = other.blocks;
        let count = blocks.len();
        let gap_rows = self.rows_of(block);
        let keeps = usize::from(rest.is_some());
        match job.way {
            Way::End => {
                // The lines below the gap stay where they are, also when its own line was in sight.
                let below = block + keeps + count;
                let hidden = self.row_in(block).map(|row| gap_rows.saturating_sub(row));
                self.splice(block + keeps, 1 - keeps, blocks);
                if let Some(rows) = hidden {
                    self.view.stand_above(Place { block: below, row: 0 }, rows);
                }
            }
            Way::Beginning => self.splice(block, 1 - keeps, blocks),
        }
        let read = Part {
            stretch: Some(Stretch {
                above: page.above,
                last: page.last.unwrap_or(job.stretch.last),
            }),
            blocks: count,
            bytes: page.bytes,
            entries: page.entries.len(),
            is_gap: false,
            failed: false,
        };
        match (rest, job.way) {
            (None, _) => self.parts.list[part] = read,
            (Some(rest), way) => {
                self.parts.list[part].stretch = Some(rest);
                let (at, gap) = match way {
                    Way::End => (part + 1, block),
                    Way::Beginning => (part, block + count),
                };
                self.parts.list.insert(at, read);
                self.set_gap(gap, Gap { left: Some(left), why: None });
            }
        }
    }

    fn set_gap(&mut self, block: usize, gap: Gap) {
        if let Some(block) = self.blocks.get_mut(block) {
            block.kind = Kind::Gap(gap);
            block.touch();
        }
    }

    fn drop_far_pages(&mut self) {
        loop {
            let bytes: u64 = self.parts.list.iter().map(|part| part.bytes).sum();
            if bytes <= KEEP_BYTES {
                return;
            }
            let (top, bottom) = self.in_sight();
            let mut start = 0;
            let mut farthest: Option<(usize, usize, usize)> = None;
            for (at, part) in self.parts.list.iter().enumerate() {
                let end = start + part.blocks;
                let distance = top.saturating_sub(end).max(start.saturating_sub(bottom));
                if !part.is_gap && distance > farthest.map_or(NEAR, |(distance, ..)| distance) {
                    farthest = Some((distance, at, start));
                }
                start = end;
            }
            let Some((_, part, block)) = farthest else { return };
            self.drop_page(part, block);
        }
    }

    /// Makes a page a gap, one with the gaps beside it.
    fn drop_page(&mut self, mut part: usize, mut block: usize) {
        let page = &mut self.parts.list[part];
        let mut left = Some(page.entries);
        let blocks = page.blocks;
        *page = Part::gap(page.stretch);
        self.splice(block, blocks, vec![Block::new(Kind::Gap(Gap::default()))]);
        let left_of = |blocks: &[Block], block: usize| match blocks.get(block).map(|it| &it.kind) {
            Some(Kind::Gap(gap)) => gap.left,
            _ => None,
        };
        if self.parts.list.get(part + 1).is_some_and(|part| part.is_gap) {
            left = left.zip(left_of(&self.blocks, block + 1)).map(|(a, b)| a + b);
            self.merge(part, block);
        }
        if part > 0 && self.parts.list[part - 1].is_gap {
            (part, block) = (part - 1, block - 1);
            left = left.zip(left_of(&self.blocks, block)).map(|(a, b)| a + b);
            self.merge(part, block);
        }
        self.set_gap(block, Gap { left, why: None });
    }

    /// Makes one gap of this one and the next.
    fn merge(&mut self, part: usize, block: usize) {
        let next = self.parts.list.remove(part + 1);
        self.splice(block + 1, 1, Vec::new());
        let gap = &mut self.parts.list[part];
        gap.stretch = gap
            .stretch
            .zip(next.stretch)
            .map(|(first, next)| Stretch { above: first.above, last: next.last });
        gap.failed |= next.failed;
    }

    /// Puts blocks in place of others; everything that names a block goes on naming the same one.
    fn splice(&mut self, at: usize, removed: usize, blocks: Vec<Block>) {
        let inserted = blocks.len();
        self.blocks.splice(at..at + removed, blocks);
        let moved = |block: usize| match block {
            _ if block < at => Some(block),
            _ if block < at + removed => None,
            _ => Some(block - removed + inserted),
        };
        self.view.rename(at, &moved);
        for blocks in self.waiting.values_mut() {
            *blocks = blocks.iter().filter_map(|block| moved(*block)).collect();
        }
        self.intake.open.retain_mut(|call| match moved(call.block) {
            Some(block) => {
                call.block = block;
                true
            }
            None => false,
        });
        if let Some(live) = &mut self.live {
            live.rename(&moved);
        }
    }
}
