//! Blocks as lines of a given width: indents, bullets, bars and numbers around wrapped text.
//!
//! A margin is drawn only while it leaves room for text; at any width from one cell on, no line is
//! wider than asked.

use pulldown_cmark::HeadingLevel;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::parse::{Block, Item};
use super::table;
use crate::text::width::swidth;
use crate::ui::highlight::{CodeLookup, HighlightJob, LineKinds};
use crate::ui::runs::{Break, Run, prefix, wrap_runs};
use crate::ui::theme::{Syntax, Theme};

/// Cells of text that a margin must leave.
const MIN_TEXT: usize = 4;
/// Bytes of one line of code that are shown.
const MAX_CODE_LINE: usize = 4096;
/// The indent of code.
const CODE_INDENT: usize = 2;

/// Lays out blocks and collects what their code still waits for.
pub(super) struct Layout<'a> {
    theme: &'a Theme,
    code: &'a dyn CodeLookup,
    /// Whether the last code block may still grow.
    open: bool,
    /// The jobs that would colour the code shown here.
    pub(super) jobs: Vec<HighlightJob>,
    /// Whether code ended within a line while it may grow.
    pub(super) cut: bool,
}

impl<'a> Layout<'a> {
    pub(super) fn new(theme: &'a Theme, code: &'a dyn CodeLookup, open: bool) -> Self {
        Self { theme, code, open, jobs: Vec::new(), cut: false }
    }

    /// The blocks with one empty line between them.
    pub(super) fn blocks(&mut self, blocks: &[Block], width: usize) -> Vec<Line<'static>> {
        self.stack(blocks, width, true)
    }

    fn stack(&mut self, blocks: &[Block], width: usize, apart: bool) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for block in blocks {
            let mut next = self.block(block, width);
            if next.is_empty() {
                continue;
            }
            if apart && !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.append(&mut next);
        }
        lines
    }

    fn block(&mut self, block: &Block, width: usize) -> Vec<Line<'static>> {
        match block {
            Block::Paragraph(text) => wrap_runs(text, width, Break::Words),
            Block::Heading { level, text } => self.heading(*level, text, width),
            Block::Code { lang, text } => self.code(lang, text, width),
            Block::Quote(blocks) => {
                let bar = Span::styled(format!("{} ", self.theme.marks().quote), self.theme.quote);
                let mut lines = self.inside(blocks, width, true, &bar, &bar);
                for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
                    span.style = self.theme.quote.patch(span.style);
                }
                lines
            }
            Block::List { start, loose, items } => self.list(*start, *loose, items, width),
            Block::Table { aligns, head, rows } => {
                table::lines(aligns, head, rows, width, self.theme)
            }
            Block::Footnote { label, blocks } => {
                let mark = format!("[^{label}] ");
                let blank = Span::raw(" ".repeat(swidth(&mark)));
                self.inside(blocks, width, true, &Span::styled(mark, self.theme.link), &blank)
            }
            Block::Rule => {
                let rule = self.theme.marks().rule.repeat(width);
                vec![Line::styled(rule, self.theme.muted)]
            }
        }
    }

    /// Level 1 is underlined as well, so that titles stand out without colour.
    fn heading(&self, level: HeadingLevel, text: &[Run], width: usize) -> Vec<Line<'static>> {
        let mut lines = wrap_runs(text, width, Break::Words);
        if level == HeadingLevel::H1 {
            for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
                span.style = span.style.add_modifier(Modifier::UNDERLINED);
            }
        }
        lines
    }

    fn list(
        &mut self,
        start: Option<u64>,
        loose: bool,
        items: &[Item],
        width: usize,
    ) -> Vec<Line<'static>> {
        let marks = self.theme.marks();
        let last = start.map(|first| first.saturating_add(items.len() as u64).saturating_sub(1));
        let digits = last.map_or(0, |last| last.to_string().len());
        let mut lines: Vec<Line<'static>> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let mark = match (item.checked, start) {
                (Some(true), _) => format!("{} ", marks.done),
                (Some(false), _) => format!("{} ", marks.todo),
                (None, Some(first)) => {
                    format!("{:>digits$}. ", first.saturating_add(index as u64))
                }
                (None, None) => format!("{} ", marks.bullets[0]),
            };
            let blank = Span::raw(" ".repeat(swidth(&mark)));
            let mark = Span::styled(mark, self.theme.accent);
            if loose && index > 0 {
                lines.push(Line::default());
            }
            lines.append(&mut self.inside(&item.blocks, width, loose, &mark, &blank));
        }
        lines
    }

    /// Blocks beside a margin, which goes where it would leave no room.
    fn inside(
        &mut self,
        blocks: &[Block],
        width: usize,
        apart: bool,
        first: &Span<'static>,
        rest: &Span<'static>,
    ) -> Vec<Line<'static>> {
        let margin = swidth(&first.content);
        if width < margin + MIN_TEXT {
            return self.stack(blocks, width, apart);
        }
        let mut lines = self.stack(blocks, width - margin, apart);
        if lines.is_empty() {
            lines.push(Line::default());
        }
        prefix(&mut lines, first, rest);
        lines
    }

    fn code(&mut self, lang: &str, text: &str, width: usize) -> Vec<Line<'static>> {
        let known = self.code.lookup(lang, text);
        self.jobs.extend(self.code.job(lang, text, self.open));
        self.cut |= self.open && !text.ends_with('\n');
        let indent = if width >= CODE_INDENT + MIN_TEXT { CODE_INDENT } else { 0 };
        let mut lines = Vec::new();
        if !lang.is_empty() {
            let label = [Run::new(lang, self.theme.muted)];
            lines.append(&mut wrap_runs(&label, width, Break::Cells));
        }
        let blank = Span::raw(" ".repeat(indent));
        let text = text.strip_suffix('\n').unwrap_or(text);
        for (index, line) in text.split('\n').enumerate() {
            let kinds = known.as_ref().and_then(|known| known.line(index));
            let runs = code_runs(line, kinds, self.theme);
            let mut row = wrap_runs(&runs, width - indent, Break::Cells);
            prefix(&mut row, &blank, &blank);
            lines.append(&mut row);
        }
        lines
    }
}

/// One line of code in its colours.
fn code_runs(line: &str, kinds: Option<&LineKinds>, theme: &Theme) -> Vec<Run> {
    let shown = &line[..line.floor_char_boundary(MAX_CODE_LINE)];
    let mut runs = Vec::new();
    let mut from = 0;
    for (kind, end) in kinds.into_iter().flatten() {
        if let Some(piece) = shown.get(from..*end) {
            runs.push(Run::new(piece, theme.syntax(*kind)));
            from = *end;
        }
    }
    if from < shown.len() || runs.is_empty() {
        runs.push(Run::new(&shown[from..], theme.syntax(Syntax::Plain)));
    }
    if shown.len() < line.len() {
        let more = format!("{} {} more bytes", theme.marks().ellipsis, line.len() - shown.len());
        runs.push(Run::new(more, theme.muted));
    }
    runs
}
