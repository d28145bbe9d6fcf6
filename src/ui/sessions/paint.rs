//! Paints the picker: field, scope, rows, the last words of the selected session, keys at the foot.
//! The cost is that of the screen, however many sessions there are.

use std::path::Path;

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::picker::{Mode, Picker, Row, Shown, Sort};
use crate::harness::{Quote, Scope};
use crate::session::Role;
use crate::text::age::age;
use crate::text::sanitize::one_line;
use crate::text::width::{swidth, wrap};
use crate::ui::popups;
use crate::ui::state::State;
use crate::ui::view::{ends, row};

/// From this many columns on the preview stands beside the list.
const BESIDE: u16 = 110;
/// From this many rows on it stands below.
const BELOW: u16 = 20;
/// Levels a copy is set in at most: deeper ones stand under each other.
const DEPTH: usize = 8;

/// Where the parts of the picker stand. A part of no size is not shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) screen: Rect,
    field: Rect,
    scope: Rect,
    pub(super) list: Rect,
    preview: Rect,
    foot: Rect,
}

/// Lays the picker out on a screen of that size.
pub(super) fn parts((columns, rows): (u16, u16)) -> Parts {
    let screen = Rect::new(0, 0, columns, rows);
    let (width, height) = (columns.saturating_sub(4), rows.saturating_sub(2));
    let line = |at: u16| Rect::new(2, 1 + at, width, u16::from(at < height));
    let mut list = Rect::new(2, 3, width, height.saturating_sub(3));
    let mut preview = Rect::default();
    if columns >= BESIDE {
        let right = width / 2;
        list.width = width - right - 2;
        preview = Rect::new(list.x + list.width + 2, list.y, right, list.height);
    } else if rows >= BELOW {
        let below = list.height / 3;
        list.height -= below + 1;
        preview = Rect::new(list.x, list.y + list.height + 1, width, below);
    }
    let foot = line(height.saturating_sub(1).max(3));
    Parts { screen, field: line(0), scope: line(1), list, preview, foot }
}

/// Paints it; gives the place of the cursor.
pub(in crate::ui) fn paint(
    state: &State,
    picker: &Picker,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    let size = frame.area();
    let parts = parts((size.width, size.height));
    let theme = &state.look.theme;
    popups::open(state, frame, parts.screen, "sessions", "esc");
    let cursor = match &picker.mode {
        Mode::Browse => Some(popups::field(frame, parts.field, &picker.input)),
        Mode::Rename { input, .. } => Some(popups::field(frame, parts.field, input)),
        Mode::Remove { title, .. } => {
            let text = format!("\"{title}\" to the trash?   y yes   n no");
            ask(state, frame, parts.field, &text);
            None
        }
        Mode::Leave { .. } => {
            ask(
                state,
                frame,
                parts.field,
                "A turn runs here; opening another session stops it.   y open   n stay",
            );
            None
        }
    };
    scope_line(state, picker, frame, parts.scope);
    rows(state, picker, frame, parts.list);
    said(state, picker, frame, parts.preview);
    let (foot, style) = match &state.surface.toast {
        Some(toast) => (toast.text.as_str(), theme.warn),
        None => (keys(picker, parts.foot.width), theme.muted),
    };
    row(frame, parts.foot, 0, Line::styled(one_line(foot, usize::from(parts.foot.width)), style));
    cursor
}

fn ask(state: &State, frame: &mut Frame<'_>, area: Rect, text: &str) {
    // The end of the line is what can be answered, so the title in front gives way.
    let (title, keys) = text.split_at(text.rfind("   y").unwrap_or(text.len()));
    let room = usize::from(area.width).saturating_sub(swidth(keys));
    let line = format!("{}{keys}", one_line(title, room));
    row(frame, area, 0, Line::styled(line, state.look.theme.warn));
}

/// What the keys do now.
fn keys(picker: &Picker, width: u16) -> &'static str {
    const LONG: u16 = 96;
    match (&picker.mode, picker.scope) {
        (Mode::Rename { .. }, _) => "the new name · enter store · esc back",
        (Mode::Browse, Scope::Trash) => {
            "ctrl+r restore · tab scope · ctrl+s sort · ctrl+n named · ctrl+p path"
        }
        (Mode::Browse, _) if width >= LONG => {
            "enter open · tab scope · ctrl+s sort · ctrl+d trash · ctrl+r rename · ctrl+n named · ctrl+p path"
        }
        (Mode::Browse, _) => "enter · tab scope · ctrl+ s sort, d trash, r rename, n named, p path",
        _ => "",
    }
}

fn scope_line(state: &State, picker: &Picker, frame: &mut Frame<'_>, area: Rect) {
    let theme = &state.look.theme;
    let mut left = Vec::new();
    for (scope, name) in
        [(Scope::Folder, "This folder"), (Scope::All, "All"), (Scope::Trash, "Trash")]
    {
        left.push(if scope == picker.scope {
            Span::styled(format!("[{name}]"), theme.accent)
        } else {
            Span::styled(format!(" {name} "), theme.muted)
        });
    }
    if area.width >= 60 {
        let named = if picker.named_only { " · named only" } else { "" };
        let sort = match picker.sort {
            Sort::Threaded if !picker.query.is_empty() => Sort::Recent,
            sort => sort,
        };
        left.push(Span::styled(format!("  by {}{named}", sort.name()), theme.muted));
    }
    let (shown, count) = (picker.shown().len(), picker.count());
    let text = match (picker.query.problem(), picker.loading, picker.searching) {
        (Some(problem), ..) => problem.to_owned(),
        (_, Some((done, total)), _) => format!("Loading {done}/{total}"),
        (_, _, Some((done, total))) => format!("{shown} found · looking inside {done}/{total}"),
        _ if shown == count => format!("{count}"),
        _ => format!("{shown} of {count}"),
    };
    let right = vec![Span::styled(one_line(&text, usize::from(area.width / 2)), theme.muted)];
    row(frame, area, 0, ends(left, right, area.width));
}

fn rows(state: &State, picker: &Picker, frame: &mut Frame<'_>, area: Rect) {
    let theme = &state.look.theme;
    let top = picker.top_for(usize::from(area.height));
    if picker.shown().is_empty() && picker.loading.is_none() && picker.searching.is_none() {
        let text = match (picker.scope, picker.query.is_empty()) {
            (_, false) => "nothing matches",
            (Scope::Folder, _) => "no session of this folder yet; tab shows all",
            (Scope::All, _) => "no session yet",
            (Scope::Trash, _) => "the trash is empty",
        };
        row(frame, area, 0, Line::styled(text, theme.muted));
    }
    for (offset, (at, shown)) in (0..area.height).zip(picker.shown().iter().enumerate().skip(top)) {
        if let Some(each) = picker.row(*shown) {
            let is_selected = at == picker.selected_at();
            let line = session_line(state, picker, each, *shown, is_selected, area.width);
            row(frame, area, offset, line);
        }
    }
}

/// A mark, the title and a match; at the right the folder, messages and age.
fn session_line(
    state: &State,
    picker: &Picker,
    each: &Row,
    shown: Shown,
    is_selected: bool,
    width: u16,
) -> Line<'static> {
    const CWD_COLUMNS: usize = 30;
    let theme = &state.look.theme;
    let listed = &each.listed;
    let width = usize::from(width);
    let is_current = picker.current.as_ref() == Some(&listed.path);
    let mark = match (is_selected, is_current) {
        (true, _) => "> ",
        (false, true) => "* ",
        _ => "  ",
    };
    let mut left = format!("{mark}{}", "  ".repeat(shown.depth.min(DEPTH)));
    if shown.depth > 0 {
        left.push_str(if state.look.ascii { "`- " } else { "└ " });
    }
    let count = if listed.is_whole { listed.message_count.to_string() } else { "…".to_owned() };
    let mut right = format!("  {count:>4} {:>4}", age(state.now, listed.last_activity_ms));
    let path = if picker.show_path {
        Some(listed.path.file_name().unwrap_or_default().to_string_lossy().into_owned())
    } else {
        (picker.scope != Scope::Folder).then(|| listed.cwd.clone())
    };
    if let Some(path) = path.filter(|_| width >= 50) {
        let path = popups::tail(&one_line(&path, usize::MAX), CWD_COLUMNS.min(width / 3));
        right = format!("  {path}{right}");
    }
    let room = width.saturating_sub(swidth(&left) + swidth(&right));
    let title = one_line(each.title(), room);
    let mut rest = room.saturating_sub(swidth(&title));
    let snippet = match &each.snippet {
        Some(snippet) if rest > 8 => format!("  {}", one_line(snippet, rest - 2)),
        _ => String::new(),
    };
    rest = rest.saturating_sub(swidth(&snippet));
    let styled = |style: Style| if is_selected { theme.selection } else { style };
    let title_style = match (listed.name.is_some(), is_current) {
        (_, true) => theme.accent,
        (true, _) => theme.warn,
        _ => theme.text,
    };
    Line::from(vec![
        Span::styled(left, styled(theme.muted)),
        Span::styled(title, styled(title_style)),
        Span::styled(snippet, styled(theme.muted)),
        Span::styled(" ".repeat(rest), styled(theme.text)),
        Span::styled(right, styled(theme.muted)),
    ])
}

/// The last words of the selected session, the newest at the bottom.
fn said(state: &State, picker: &Picker, frame: &mut Frame<'_>, area: Rect) {
    let theme = &state.look.theme;
    if area.height == 0 || area.width == 0 {
        return;
    }
    let Some(selected) = picker.selected() else { return };
    if area.y > 3 {
        let rule = if state.look.ascii { "-" } else { "─" };
        let above = Rect::new(area.x, area.y - 1, area.width, 1);
        row(frame, above, 0, Line::styled(rule.repeat(usize::from(area.width)), theme.border));
    }
    let quotes = match &picker.preview {
        Some((path, Ok(quotes))) if *path == selected.listed.path => quotes,
        Some((path, Err(error))) if *path == selected.listed.path => {
            let text = one_line(error, usize::from(area.width));
            return row(frame, area, 0, Line::styled(text, theme.bad));
        }
        _ => return,
    };
    let mut lines: Vec<Line<'static>> = Vec::new();
    for quote in quotes.iter().rev() {
        if lines.len() >= usize::from(area.height) {
            break;
        }
        let mut block = quote_lines(state, quote, area);
        block.append(&mut lines);
        lines = block;
    }
    let skip = lines.len().saturating_sub(usize::from(area.height));
    for (offset, line) in (0..area.height).zip(lines.into_iter().skip(skip)) {
        row(frame, area, offset, line);
    }
}

fn quote_lines(state: &State, quote: &Quote, area: Rect) -> Vec<Line<'static>> {
    let theme = &state.look.theme;
    let (mark, style) = match quote.role {
        Role::User => (if state.look.ascii { "| " } else { "▌ " }, theme.user),
        _ => ("  ", theme.text),
    };
    let width = usize::from(area.width).saturating_sub(2).max(1);
    let mut lines = Vec::new();
    for text in quote.text.lines().map(|line| one_line(line, usize::MAX)) {
        for piece in wrap(&text, width) {
            let text = text.get(piece).unwrap_or_default().to_owned();
            lines.push(Line::from(vec![Span::styled(mark, style), Span::raw(text)]));
        }
    }
    lines.push(Line::raw(""));
    lines
}

/// Paints the question where a session without its folder works on.
pub(in crate::ui) fn paint_missing(state: &State, folder: &Path, frame: &mut Frame<'_>) {
    let area = popups::centred(frame, 66, 9);
    let inner = popups::open(state, frame, area, "its folder is gone", "esc cancel");
    let width = usize::from(inner.width);
    let shown = popups::tail(&one_line(&folder.display().to_string(), usize::MAX), width);
    let here = popups::tail(&one_line(&state.look.project, usize::MAX), width.saturating_sub(24));
    row(frame, inner, 0, Line::raw("The session worked in"));
    row(frame, inner, 1, Line::styled(shown, state.look.theme.warn));
    row(frame, inner, 3, Line::raw(format!("c continue here, in {here}")));
    row(frame, inner, 4, Line::raw("  tools run here from now on"));
    row(frame, inner, 5, Line::raw("f fork here: a copy in this folder"));
}
