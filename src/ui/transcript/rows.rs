//! A block as lines: the bar of a prompt, Markdown, folded thinking, notices, failures, summaries.
//!
//! Rows are kept with the block until its content, the width, the theme or the folds change; nobody
//! can read rows of another width.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::harness::Failure;
use crate::message::{Part, plain_text};
use crate::session::Body;
use crate::text::sanitize::{one_line, sanitize};
use crate::text::width::swidth;
use crate::ui::highlight::{CodeLookup, HighlightJob, Plain};
use crate::ui::markdown::{Document, Lines, render};
use crate::ui::runs::{Break, Run, ends, prefix, truncated, wrap_runs};
use crate::ui::theme::Theme;

use super::block::{Block, Gap, Kind, Source};
use super::{Folds, ToolFold, cards};

/// Lines of a prompt that are shown: a pasted file must not bury the conversation.
const MAX_PROMPT: usize = 200;
/// Bytes of a prompt that are laid out.
const MAX_PROMPT_BYTES: usize = 64 * 1024;
/// Bytes of a failure's text that are shown.
const MAX_FAILURE: usize = 4096;
/// Below this width the margins go.
const MIN_WIDTH: usize = 6;

/// For what the rows hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fit {
    width: usize,
    theme: u64,
    folds: Folds,
    revision: u32,
    live: bool,
}

/// What a layout is made for.
pub(super) struct Frame<'a> {
    pub(super) width: usize,
    pub(super) theme: &'a Theme,
    pub(super) theme_key: u64,
    pub(super) folds: Folds,
}

/// The laid-out rows of one block.
#[derive(Debug, Default)]
pub(super) struct Rows {
    fit: Option<Fit>,
    /// Lines laid out as one piece, above those of the document.
    head: Option<Lines>,
    /// Text that may grow: Markdown, block by block.
    document: Document,
    height: usize,
}

impl Rows {
    pub(super) fn height(&self) -> usize {
        self.height
    }

    /// The lines from `skip` on.
    pub(super) fn from(&self, skip: usize) -> impl Iterator<Item = &Line<'static>> {
        let mut skip = skip;
        self.pieces().flat_map(move |piece| {
            let here = skip.min(piece.len());
            skip -= here;
            piece[here..].iter()
        })
    }

    fn pieces(&self) -> impl Iterator<Item = &Lines> {
        self.head.iter().chain(self.document.lines())
    }
}

/// Brings the rows of a block up to date; returns the highlighting they wait for.
pub(super) fn lay(
    block: &mut Block,
    frame: &Frame<'_>,
    live: bool,
    code: &dyn CodeLookup,
) -> Vec<HighlightJob> {
    let fit = Fit {
        width: frame.width,
        theme: frame.theme_key,
        folds: frame.folds,
        revision: block.revision,
        live,
    };
    let mut rows = block.rows.take().unwrap_or_default();
    if rows.fit != Some(fit) {
        let (width, theme) = (frame.width, frame.theme);
        match &block.kind {
            Kind::Text { text, .. } => {
                rows.document.update(text.as_str(), width, theme, code, live);
            }
            Kind::Thinking { text, redacted } => {
                rows.head = Some(thinking(text.as_str(), *redacted, frame).into());
                // Code in thoughts is not worth a job.
                let shown = if frame.folds.thinking { text.as_str() } else { "" };
                rows.document.update(shown, width, &thoughtful(theme), &Plain, live);
            }
            kind => rows.head = Some(lines(kind, frame).into()),
        }
        rows.height = rows.pieces().map(|piece| piece.len()).sum();
        rows.fit = Some(fit);
    }
    let jobs = rows.document.take_jobs();
    block.rows = Some(rows);
    jobs
}

fn lines(kind: &Kind, frame: &Frame<'_>) -> Vec<Line<'static>> {
    let (width, theme) = (frame.width, frame.theme);
    match kind {
        Kind::Prompt(source) => {
            let bar = Span::styled(theme.marks().user, theme.user);
            said(source.parts(), &bar, width, theme)
        }
        // Another bar than the person's: a program must not seem to speak for them.
        Kind::Custom(source) => {
            let bar = Span::styled(theme.marks().quote, theme.muted);
            said(source.parts(), &bar, width, theme)
        }
        Kind::Text { .. } | Kind::Thinking { .. } => Vec::new(),
        Kind::Tool(card) => cards::lines(card, frame),
        Kind::Shell(source) => {
            source.shell().map(|run| cards::shell(run, frame)).unwrap_or_default()
        }
        Kind::Notice(text) | Kind::Retry(text) => notice(text, width, theme),
        Kind::Gap(gap) => notice(&words_of(gap), width, theme),
        Kind::Error(failure) => error(failure, width, theme),
        Kind::Summary(source) => summary(source, frame),
    }
}

/// What was said, beside its bar.
fn said(parts: &[Part], bar: &Span<'static>, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let bar = if width < MIN_WIDTH { Span::default() } else { bar.clone() };
    let room = width - swidth(&bar.content);
    let text = plain_text(parts);
    let text = text.trim_end();
    let shown = &text[..text.floor_char_boundary(MAX_PROMPT_BYTES)];
    let mut runs = vec![Run::new(sanitize(shown), theme.text)];
    if shown.len() < text.len() {
        let more = text.len() - shown.len();
        let label = format!("\n{} {more} more bytes", theme.marks().ellipsis);
        runs.push(Run::new(label, theme.muted));
    }
    for part in parts {
        if let Part::Image { data, mime_type } = part {
            let gap = if runs[0].text.is_empty() { "" } else { "\n" };
            let label = format!("{gap}image {} {}", one_line(mime_type, 40), size(data.len()));
            runs.push(Run::new(label, theme.muted));
        }
    }
    let mut lines = wrap_runs(&runs, room, Break::Words);
    bound(&mut lines, MAX_PROMPT, room, theme);
    prefix(&mut lines, &bar, &bar);
    lines
}

/// Cuts to `max` lines and says how many are left out.
pub(super) fn bound(lines: &mut Vec<Line<'static>>, max: usize, width: usize, theme: &Theme) {
    let more = lines.len().saturating_sub(max);
    if more > 0 {
        lines.truncate(max);
        lines.push(more_lines(more, "", width, theme));
    }
}

/// `… N more lines`, and how to see them.
pub(super) fn more_lines(count: usize, how: &str, width: usize, theme: &Theme) -> Line<'static> {
    let noun = if count == 1 { "line" } else { "lines" };
    let text = format!("{} {count} more {noun}{how}", theme.marks().ellipsis);
    truncated(vec![Span::styled(text, theme.muted)], width)
}

/// Base64 characters as the size of what they encode.
pub(super) fn size(base64: usize) -> String {
    let bytes = base64 / 4 * 3;
    if bytes < 10 * 1024 { format!("{bytes} B") } else { format!("{} KB", bytes / 1024) }
}

fn fold_mark(open: bool, theme: &Theme) -> &'static str {
    if open { theme.marks().open } else { theme.marks().folded }
}

fn thinking(text: &str, redacted: bool, frame: &Frame<'_>) -> Vec<Line<'static>> {
    let (width, theme) = (frame.width, frame.theme);
    let text = text.trim();
    if text.is_empty() && !redacted {
        return Vec::new();
    }
    let count = text.lines().count();
    let open = frame.folds.thinking && count > 0;
    let dot = theme.marks().dot;
    let label = match count {
        0 => format!("thinking {dot} hidden by the provider"),
        1 => format!("thinking {dot} 1 line"),
        _ => format!("thinking {dot} {count} lines"),
    };
    let head = format!("{} {label}", fold_mark(open, theme));
    vec![truncated(vec![Span::styled(head, theme.muted)], width)]
}

/// The theme of thoughts: their text steps back behind the answer.
fn thoughtful(theme: &Theme) -> Theme {
    Theme { text: theme.muted.add_modifier(Modifier::ITALIC), ..theme.clone() }
}

/// Wrapped text, two cells in.
fn indented(text: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    let margin = if width < MIN_WIDTH { 0 } else { 2 };
    let mut lines = wrap_runs(&[Run::new(text, style)], width - margin, Break::Words);
    let blank = Span::raw(" ".repeat(margin));
    prefix(&mut lines, &blank, &blank);
    lines
}

fn words_of(gap: &Gap) -> String {
    match (&gap.why, gap.left) {
        (Some(why), _) => format!("entries that cannot be read: {why}"),
        (None, Some(1)) => "… 1 entry not loaded".into(),
        (None, Some(left)) => format!("… {left} entries not loaded"),
        (None, None) => "… earlier entries not loaded".into(),
    }
}

fn notice(text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let shown = &text[..text.floor_char_boundary(MAX_FAILURE)];
    let text = format!("{} {}", theme.marks().notice, sanitize(shown.trim()));
    wrap_runs(&[Run::new(text, theme.muted)], width, Break::Words)
}

/// What went wrong, whether asking again may help, and how.
fn error(failure: &Failure, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let shown = &failure.message[..failure.message.floor_char_boundary(MAX_FAILURE)];
    let kind = one_line(&failure.kind.replace('_', " "), MAX_KIND);
    let strong = theme.bad.add_modifier(Modifier::BOLD);
    let marks = theme.marks();
    let head = match kind.as_str() {
        "" => format!("{} error: ", marks.failed),
        _ => format!("{} error {} {kind}: ", marks.failed, marks.dot),
    };
    let runs = [Run::new(head, strong), Run::new(sanitize(shown.trim()), theme.text)];
    let mut lines = wrap_runs(&runs, width, Break::Words);
    let mut advice = sanitize(failure.advice.trim()).into_owned();
    if failure.retryable && !advice.contains("/retry") {
        let gap = if advice.is_empty() { "" } else { " " };
        advice.push_str(gap);
        advice.push_str("Asking again may help: /retry");
    }
    if !advice.is_empty() {
        lines.append(&mut indented(&advice, theme.muted, width));
    }
    lines
}

/// Cells of the kind of a failure.
const MAX_KIND: usize = 30;

fn summary(source: &Source, frame: &Frame<'_>) -> Vec<Line<'static>> {
    let (width, theme) = (frame.width, frame.theme);
    let dot = theme.marks().dot;
    let text = summary_text(source);
    let title = match source {
        Source::Entry(entry) => match &entry.body {
            Body::Compaction { tokens_before, .. } => {
                format!("compaction {dot} was {tokens_before} tokens")
            }
            _ => "summary of another branch".to_owned(),
        },
        Source::Message(_) => "summary".to_owned(),
    };
    let count = text.trim().lines().count();
    let open = frame.folds.tools == ToolFold::Full && count > 0;
    let head = vec![
        Span::styled(format!("{} ", fold_mark(open, theme)), theme.accent),
        Span::styled(title, theme.accent),
    ];
    let right = vec![Span::styled(cards::count(count, "line"), theme.muted)];
    let mut lines = vec![ends(head, right, width)];
    if open {
        let margin = if width < MIN_WIDTH { 0 } else { 2 };
        let mut inner = render(text, width - margin, theme, &Plain);
        let blank = Span::raw(" ".repeat(margin));
        prefix(&mut inner, &blank, &blank);
        lines.append(&mut inner);
    }
    lines
}

fn summary_text(source: &Source) -> &str {
    match source {
        Source::Entry(entry) => match &entry.body {
            Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => summary,
            _ => "",
        },
        Source::Message(message) => match message.as_ref() {
            crate::message::Message::BranchSummary(message)
            | crate::message::Message::CompactionSummary(message) => &message.summary,
            _ => "",
        },
    }
}
