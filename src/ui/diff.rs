//! Stand-in until the real diff view is merged.

use ratatui::text::Line;

use crate::ui::theme::Theme;

pub fn lines(diff: &str, width: u16, _theme: &Theme) -> Vec<Line<'static>> {
    diff.lines()
        .map(|line| Line::from(crate::text::sanitize::one_line(line, usize::from(width))))
        .collect()
}
