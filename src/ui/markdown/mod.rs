//! Markdown as lines, block by block, so that a growing text re-lays only what still changes.
//!
//! The source is parsed again on each update (0.8 ms for 32 KB); lines are kept for every top-level
//! block by its text, the width, the theme and the definitions it may refer to. A long text is not
//! even parsed again before its last blocks.

mod layout;
mod parse;
mod table;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pulldown_cmark::{Event, Parser};
use ratatui::text::Line;

use crate::text::sanitize::sanitize;
use crate::ui::highlight::{CodeLookup, HighlightJob};
use crate::ui::runs::{Break, Run, wrap_runs};
use crate::ui::theme::Theme;

use layout::Layout;
use parse::{Builder, options};

/// Lines that are shared between the cache and whoever paints them.
pub type Lines = Arc<[Line<'static>]>;

/// Bytes of one text that are shown; more than any model writes, and a bound on one layout.
const MAX_SOURCE: usize = 512 * 1024;
/// Texts longer than this are parsed from their last stable block on: half a millisecond of parsing.
const RESTART_AFTER: usize = 16 * 1024;
/// Blocks at the end that may still change: the start of the last block can go back by one while a
/// table row arrives.
const OPEN_BLOCKS: usize = 2;

/// The text as lines of at most `width` cells (0 counts as 1), one empty line between blocks and
/// none at the end.
pub fn render(
    source: &str,
    width: usize,
    theme: &Theme,
    code: &dyn CodeLookup,
) -> Vec<Line<'static>> {
    let mut document = Document::default();
    document.update(source, width, theme, code, false);
    document.lines().flat_map(|lines| lines.iter().cloned()).collect()
}

/// A text that may grow, and its laid-out blocks.
#[derive(Debug, Default)]
pub struct Document {
    blocks: Vec<Laid>,
    /// Width and theme of all of `blocks`.
    frame: (usize, u64),
    jobs: Vec<HighlightJob>,
    /// Bytes from the start that hold no definition.
    plain_to: usize,
}

#[derive(Debug)]
struct Laid {
    range: Range<usize>,
    key: u64,
    lines: Lines,
    /// Highlighting that was not there when it was laid out.
    waits: Vec<u64>,
    /// Ends in a line of code that was cut off by the end of the text.
    cut: bool,
}

impl Document {
    /// Lays out `source`; while it is `open` more text may follow. Costs what changed since the
    /// last call plus a bounded parse, when `source` is the old text with more at its end.
    pub fn update(
        &mut self,
        source: &str,
        width: usize,
        theme: &Theme,
        code: &dyn CodeLookup,
        open: bool,
    ) {
        let width = width.max(1);
        let shown = &source[..source.floor_char_boundary(MAX_SOURCE)];
        let frame = (width, theme.key());
        if self.frame != frame {
            self.blocks.clear();
            self.frame = frame;
        }
        let defines = self.has_definitions(shown, open);
        let mut pass = Pass { source: shown, width, theme, code, open, defines, jobs: Vec::new() };
        let old = std::mem::take(&mut self.blocks);
        let result = catch_unwind(AssertUnwindSafe(|| pass.run(old)));
        self.jobs.append(&mut pass.jobs);
        self.blocks = result.unwrap_or_else(|_| {
            let runs = [Run::new(sanitize(shown), theme.text)];
            let lines = wrap_runs(&runs, width, Break::Words).into();
            vec![Laid { range: 0..shown.len(), key: 0, lines, waits: Vec::new(), cut: false }]
        });
        if shown.len() < source.len() {
            let note = format!(
                "{} {} more bytes are not shown",
                theme.marks().ellipsis,
                source.len() - shown.len()
            );
            let lines = wrap_runs(&[Run::new(note, theme.muted)], width, Break::Words).into();
            let range = shown.len()..shown.len();
            self.blocks.push(Laid { range, key: 0, lines, waits: Vec::new(), cut: false });
        }
    }

    /// Whether the text may define links or footnotes. Looks only at what is new while it grows.
    fn has_definitions(&mut self, shown: &str, open: bool) -> bool {
        const MARK: &[u8] = b"]:";
        let from = if open { self.plain_to.min(shown.len()) } else { 0 };
        let found = memchr::memmem::find(&shown.as_bytes()[from..], MARK).is_some();
        if !found {
            self.plain_to = shown.len().saturating_sub(MARK.len() - 1);
        }
        found
    }

    /// The lines, in pieces that stay the same object while their block does not change.
    pub fn lines(&self) -> impl Iterator<Item = &Lines> {
        self.blocks.iter().map(|block| &block.lines)
    }

    /// The highlighting that would colour what was laid out since the last call.
    pub fn take_jobs(&mut self) -> Vec<HighlightJob> {
        std::mem::take(&mut self.jobs)
    }
}

/// One update.
struct Pass<'a> {
    source: &'a str,
    width: usize,
    theme: &'a Theme,
    code: &'a dyn CodeLookup,
    open: bool,
    /// Blocks may refer to definitions elsewhere in the text.
    defines: bool,
    jobs: Vec<HighlightJob>,
}

/// A top-level block of the source, with its events where it has to be laid out.
struct Found<'s> {
    range: Range<usize>,
    key: u64,
    events: Vec<Event<'s>>,
}

impl<'a> Pass<'a> {
    fn run(&mut self, mut laid: Vec<Laid>) -> Vec<Laid> {
        let (kept, from) = self.stable(&laid);
        let old = laid.split_off(kept);
        let found = self.parse(from, &old);
        let total = found.len();
        let mut old = old.into_iter();
        for (index, block) in found.into_iter().enumerate() {
            let growing = self.open && index + OPEN_BLOCKS >= total;
            match old.next() {
                // No events were kept because the old lines still hold.
                Some(old) if block.events.is_empty() => {
                    laid.push(Laid { range: block.range, ..old });
                }
                _ => laid.push(self.lay(block, laid.is_empty(), growing)),
            }
        }
        laid
    }

    /// How many blocks need not even be parsed again, and where parsing starts. Definitions reach
    /// everywhere, so a text that has any is always parsed whole, and so is every finished text.
    fn stable(&self, old: &[Laid]) -> (usize, usize) {
        if !self.open || self.source.len() < RESTART_AFTER || self.defines {
            return (0, 0);
        }
        let kept = old.len().saturating_sub(OPEN_BLOCKS);
        match old.get(kept) {
            Some(next)
                if self.source.is_char_boundary(next.range.start)
                    && old[..kept].iter().all(|block| self.holds(block)) =>
            {
                (kept, next.range.start)
            }
            _ => (0, 0),
        }
    }

    /// Whether lines could not look better by now.
    fn holds(&self, block: &Laid) -> bool {
        !block.cut && !block.waits.iter().any(|key| self.code.knows(*key))
    }

    fn parse(&self, from: usize, old: &[Laid]) -> Vec<Found<'a>> {
        let source: &'a str = self.source;
        let text = &source[from..];
        let mut events = Parser::new_ext(text, options()).into_offset_iter();
        let definitions = self.definitions(&events);
        let mut found: Vec<Found<'a>> = Vec::new();
        let mut depth = 0usize;
        let mut wanted = true;
        for (event, range) in events.by_ref() {
            if depth == 0 {
                let first = from == 0 && found.is_empty();
                let range = from + line_start(text, range.start)..from + range.end;
                let key = self.key(&range, definitions, first);
                let known = old.get(found.len());
                wanted = known.is_none_or(|known| known.key != key || !self.holds(known));
                found.push(Found { range, key, events: Vec::new() });
            }
            match &event {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            if wanted && let Some(block) = found.last_mut() {
                block.events.push(event);
            }
        }
        found
    }

    fn key(&self, range: &Range<usize>, definitions: u64, first: bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.source[range.clone()], definitions, first).hash(&mut hasher);
        hasher.finish()
    }

    /// A hash of everything that blocks can refer to: links and footnotes defined anywhere.
    fn definitions(&self, parser: &pulldown_cmark::OffsetIter<'_>) -> u64 {
        if !self.defines {
            return 0;
        }
        let links = parser.reference_definitions().iter().fold(0u64, |sum, (label, link)| {
            let mut hasher = DefaultHasher::new();
            (label, link.dest.as_ref()).hash(&mut hasher);
            // The order of the definitions is not defined; a sum does not depend on it.
            sum.wrapping_add(hasher.finish())
        });
        links.wrapping_add(self.source.matches("]:").count() as u64)
    }

    fn lay(&mut self, block: Found<'_>, first: bool, growing: bool) -> Laid {
        let mut builder = Builder::new(self.theme);
        for event in block.events {
            builder.event(event);
        }
        let mut layout = Layout::new(self.theme, self.code, growing);
        let mut lines = layout.blocks(&builder.finish(), self.width);
        if !first && !lines.is_empty() {
            lines.insert(0, Line::default());
        }
        let waits = layout.jobs.iter().map(|job| job.key).collect();
        self.jobs.append(&mut layout.jobs);
        Laid { range: block.range, key: block.key, lines: lines.into(), waits, cut: layout.cut }
    }
}

/// The start of the line around `at`: an indented block's range begins after its indent, which it
/// needs to be read the same way again.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}
