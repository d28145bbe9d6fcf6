//! What fills the window of the model, part by part, and how far it is to the next compaction.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use crate::harness::{ContextPart, ContextReport};
use crate::text::sanitize::one_line;
use crate::text::width::swidth;
use crate::ui::popups;
use crate::ui::state::State;
use crate::ui::status::thousands;
use crate::ui::view::row;

/// One line of the view: plain, or a part with its share of a bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Text(String),
    /// Filled columns of the bar, the name before it, the numbers behind it.
    Part {
        name: String,
        filled: usize,
        numbers: String,
    },
}

/// The lines for a box of `width` columns whose bars take `bar`.
pub fn lines(report: &ContextReport, bar: usize) -> Vec<Told> {
    let counted = if report.estimated { "estimated" } else { "counted by the provider" };
    let used = thousands(report.used);
    let mut lines = vec![Told::Text(match report.window {
        0 => format!("{used} tokens, {counted}; the window of {} is not known", report.model),
        window => {
            let share = percent(report.used, window);
            format!("{used} of {} tokens ({share}%), {counted}", thousands(window))
        }
    })];
    lines.push(Told::Text(match (report.compacts_at, report.window) {
        (None, _) => "automatic compaction is off".to_owned(),
        (Some(at), _) if report.used >= at => {
            format!("over {}: the next prompt is compacted first", thousands(at))
        }
        (Some(at), _) => {
            let left = thousands(at - report.used);
            format!("compacts above {}: {left} left", thousands(at))
        }
    }));
    lines.push(Told::Text(format!(
        "kept free for the answer {} · a compaction keeps the last {}",
        thousands(report.reserve),
        thousands(report.keep_recent)
    )));
    lines.push(Told::Text(String::new()));
    let sum: u64 = report.parts.iter().fold(0, |sum, part| sum.saturating_add(part.tokens));
    let whole = if report.window == 0 { sum } else { report.window };
    lines.extend(report.parts.iter().map(|part| told(part, whole, bar)));
    if report.window > 0 {
        let free = report.window.saturating_sub(report.used).saturating_sub(report.reserve);
        let free = ContextPart { name: "free".to_owned(), tokens: free, count: 0 };
        let reserve = ContextPart { name: "reserve".to_owned(), tokens: report.reserve, count: 0 };
        lines.extend([told(&reserve, whole, bar), told(&free, whole, bar)]);
    }
    lines
}

fn told(part: &ContextPart, whole: u64, bar: usize) -> Told {
    let share = percent(part.tokens, whole);
    let count = if part.count > 0 { format!(" · {}", part.count) } else { String::new() };
    let columns = u64::try_from(bar).unwrap_or(0);
    let filled = part.tokens.saturating_mul(columns).div_ceil(whole.max(1)).min(columns);
    Told::Part {
        name: part.name.clone(),
        filled: usize::try_from(filled).unwrap_or(0),
        numbers: format!("{:>6} {share:>3}%{count}", thousands(part.tokens)),
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100) / whole.max(1)
}

/// Paints it from line `top` on.
pub(super) fn paint(state: &State, report: &ContextReport, top: usize, frame: &mut Frame<'_>) {
    const COLUMNS: u16 = 76;
    const NAME: usize = 24;
    const NUMBERS: usize = 20;
    let theme = &state.look.theme;
    let screen = frame.area();
    let wanted = u16::try_from(report.parts.len()).unwrap_or(u16::MAX).saturating_add(9);
    let area = popups::centred(frame, COLUMNS, wanted.min(screen.height));
    let title = format!("context of {}", one_line(&report.model, 40));
    let inner = popups::open(state, frame, area, &title, "up · down · esc");
    let width = usize::from(inner.width);
    // Where both have no room the bar goes: the numbers say the same.
    let bar = width.checked_sub(NAME + NUMBERS + 2).filter(|bar| *bar >= 8).unwrap_or(0);
    let name_columns = if bar > 0 { NAME } else { width.saturating_sub(NUMBERS - 2).max(8) };
    let (full, empty) = if state.look.ascii { ("#", ".") } else { ("█", "░") };
    let lines = lines(report, bar);
    let top = top.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (offset, line) in (0..inner.height).zip(lines.into_iter().skip(top)) {
        let line = match line {
            Told::Text(text) => Line::raw(one_line(&text, width)),
            Told::Part { name, filled, numbers } => {
                let name = one_line(&name, name_columns);
                let gap = " ".repeat((name_columns + 1).saturating_sub(swidth(&name)));
                Line::from(vec![
                    Span::raw(name + &gap),
                    Span::styled(full.repeat(filled), theme.accent),
                    Span::styled(empty.repeat(bar.saturating_sub(filled)), theme.muted),
                    Span::styled(format!(" {numbers}"), theme.muted),
                ])
            }
        };
        row(frame, inner, offset, line);
    }
}
