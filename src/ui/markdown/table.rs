//! Tables fitted to the width: cells wrap, and where columns would be too narrow each row becomes a
//! short list of `heading: cell`.

use pulldown_cmark::Alignment;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::parse::Inline;
use crate::text::width::swidth;
use crate::ui::runs::{Break, Run, line_width, wrap_runs};
use crate::ui::theme::Theme;

/// A column narrower than this breaks most words; rows read better as lists then.
const MIN_COLUMN: usize = 6;
/// Cells between two columns: ` │ `.
const GAP: usize = 3;

/// The table as lines of at most `width` cells.
pub(super) fn lines(
    aligns: &[Alignment],
    head: &[Inline],
    rows: &[Vec<Inline>],
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let head: Vec<Inline> = head.iter().map(bold).collect();
    let Some(widths) = fit(&head, rows, width) else { return listed(&head, rows, width, theme) };
    let mut out = row_lines(&head, &widths, aligns, theme);
    let marks = theme.marks();
    let cross = format!("{0}{1}{0}", marks.rule, marks.cross);
    let rule: Vec<String> = widths.iter().map(|width| marks.rule.repeat(*width)).collect();
    out.push(Line::styled(rule.join(&cross), theme.muted));
    for row in rows {
        out.append(&mut row_lines(row, &widths, aligns, theme));
    }
    out
}

fn bold(cell: &Inline) -> Inline {
    cell.iter()
        .map(|run| Run::new(run.text.as_str(), run.style.add_modifier(Modifier::BOLD)))
        .collect()
}

fn natural(cell: &Inline) -> usize {
    cell.iter().map(|run| swidth(&run.text)).sum()
}

/// The width of each column: its own where all fit, else the widest give way first. `None` when
/// columns would be too narrow to read.
fn fit(head: &[Inline], rows: &[Vec<Inline>], width: usize) -> Option<Vec<usize>> {
    let columns = head.len();
    let room = width.checked_sub(GAP * columns.saturating_sub(1))?;
    if columns == 0 || columns > room {
        return None;
    }
    let mut widths: Vec<usize> = head.iter().map(|cell| natural(cell).max(1)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(natural(cell));
        }
    }
    let mut order: Vec<usize> = (0..columns).collect();
    order.sort_by_key(|column| widths[*column]);
    let mut left = room;
    for (taken, column) in order.into_iter().enumerate() {
        let share = left / (columns - taken);
        if widths[column] > share {
            if share < MIN_COLUMN {
                return None;
            }
            widths[column] = share;
        }
        left -= widths[column];
    }
    Some(widths)
}

fn row_lines(
    row: &[Inline],
    widths: &[usize],
    aligns: &[Alignment],
    theme: &Theme,
) -> Vec<Line<'static>> {
    let empty = Inline::new();
    let cells: Vec<Vec<Line<'static>>> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| wrap_runs(row.get(column).unwrap_or(&empty), *width, Break::Words))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let bar = Span::styled(format!(" {} ", theme.marks().column), theme.muted);
    (0..height)
        .map(|y| {
            let mut spans = Vec::new();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    spans.push(bar.clone());
                }
                let line = cells[column].get(y).cloned().unwrap_or_default();
                let free = width.saturating_sub(line_width(&line));
                let before = match aligns.get(column) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                let after = if column + 1 < widths.len() { free - before } else { 0 };
                spans.extend((before > 0).then(|| Span::raw(" ".repeat(before))));
                spans.extend(line.spans);
                spans.extend((after > 0).then(|| Span::raw(" ".repeat(after))));
            }
            Line::from(spans)
        })
        .collect()
}

/// One line per cell, rows apart by an empty line.
fn listed(
    head: &[Inline],
    rows: &[Vec<Inline>],
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    if rows.is_empty() {
        for cell in head {
            out.append(&mut wrap_runs(cell, width, Break::Words));
        }
    }
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(Line::default());
        }
        for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
            let mut runs = head.get(column).cloned().unwrap_or_default();
            runs.push(Run::new(": ", theme.muted));
            runs.extend(cell.iter().cloned());
            out.append(&mut wrap_runs(&runs, width, Break::Words));
        }
    }
    out
}
