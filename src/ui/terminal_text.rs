//! Stand-in until the real terminal view is merged.

use ratatui::text::Line;

pub fn lines(output: &str, width: u16, max_rows: usize) -> Vec<Line<'static>> {
    let all: Vec<&str> = output.lines().collect();
    all[all.len().saturating_sub(max_rows)..]
        .iter()
        .map(|line| Line::from(crate::text::sanitize::one_line(line, usize::from(width))))
        .collect()
}
