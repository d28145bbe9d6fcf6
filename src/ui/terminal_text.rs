//! What a command printed, as it would stand on a terminal: `\r`, cursor moves and colours resolved.
//!
//! A terminal emulator reads the bytes, and only characters, colours and weights leave it; nothing a
//! command prints can reach our own terminal as an order.

use std::num::NonZeroU16;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;

use crate::text::sanitize::sanitize;
use crate::ui::runs::{Break, Run, wrap_runs};

/// The emulated width. Rows it had to break are joined again and wrapped at the pane's width.
const COLUMNS: NonZeroU16 = NonZeroU16::MIN.saturating_add(239);
/// The emulated height: how far up a program can go back to repaint its progress.
const ROWS: NonZeroU16 = NonZeroU16::MIN.saturating_add(49);
/// Bytes of output that are read, from the end: at 35 MB/s a few milliseconds.
const MAX_BYTES: usize = 256 * 1024;
/// Bytes that are enough for each row asked for, so that a preview does not read everything.
const BYTES_PER_ROW: usize = 1024;

/// The last `max_rows` lines of the output, each at most `width` cells wide. Trailing empty lines go.
pub fn lines(output: &str, width: u16, max_rows: usize) -> Vec<Line<'static>> {
    let bound = max_rows.saturating_add(2).saturating_mul(BYTES_PER_ROW).min(MAX_BYTES);
    let start = output.ceil_char_boundary(output.len().saturating_sub(bound));
    let tail = &output[start..];
    let rows = if tail.bytes().any(|byte| byte < b' ' && byte != b'\n' && byte != b'\t')
        || tail.contains('\u{9b}')
    {
        emulated(tail)
    } else {
        plain(tail)
    };
    let rows = trimmed(rows);
    let mut out = Vec::new();
    for row in &rows[rows.len().saturating_sub(max_rows)..] {
        out.append(&mut wrap_runs(row, usize::from(width), Break::Cells));
    }
    out.drain(..out.len().saturating_sub(max_rows));
    out
}

type Row = Vec<Run>;

fn plain(text: &str) -> Vec<Row> {
    sanitize(text).split('\n').map(|row| vec![Run::new(row.trim_end(), Style::new())]).collect()
}

fn trimmed(mut rows: Vec<Row>) -> Vec<Row> {
    while rows.last().is_some_and(|row| row.iter().all(|run| run.text.trim().is_empty())) {
        rows.pop();
    }
    rows
}

fn emulated(text: &str) -> Vec<Row> {
    let capacity = text.bytes().filter(|byte| *byte == b'\n').count()
        + text.len() / usize::from(COLUMNS.get())
        + 1;
    let mut terminal = vt100::Parser::new(ROWS, COLUMNS, capacity);
    // A program writes `\n` to a pipe; a terminal's line discipline would have added the return.
    terminal.process(text.replace("\r\n", "\n").replace('\n', "\r\n").as_bytes());
    let above = terminal.screen().scrollback_len();
    let mut rows = Joined::default();
    let mut left = above;
    while left > 0 {
        terminal.screen_mut().set_scrollback(left);
        let page = left.min(usize::from(ROWS.get()));
        rows.read(terminal.screen(), page);
        left -= page;
    }
    terminal.screen_mut().set_scrollback(0);
    rows.read(terminal.screen(), usize::from(ROWS.get()));
    rows.rows
}

/// Rows that the emulator broke, put together again.
#[derive(Default)]
struct Joined {
    rows: Vec<Row>,
    /// The last row goes on in the next.
    open: bool,
}

impl Joined {
    fn read(&mut self, screen: &vt100::Screen, count: usize) {
        for y in 0..u16::try_from(count).unwrap_or(u16::MAX) {
            let wraps = screen.row_wrapped(y);
            let row = cells(screen, y, wraps);
            match self.rows.last_mut() {
                Some(last) if self.open => last.extend(row),
                _ => self.rows.push(row),
            }
            self.open = wraps;
        }
    }
}

fn cells(screen: &vt100::Screen, y: u16, keep_end: bool) -> Row {
    let mut runs: Row = Vec::new();
    for x in 0..COLUMNS.get() {
        let Some(cell) = screen.cell(y, x) else { break };
        if cell.is_wide_continuation() {
            continue;
        }
        let style = style(cell);
        let text = if cell.has_contents() { cell.contents() } else { " " };
        match runs.last_mut() {
            Some(run) if run.style == style => run.text.push_str(text),
            _ => runs.push(Run::new(text, style)),
        }
    }
    while !keep_end && runs.last().is_some_and(|run| run.text.trim().is_empty()) {
        runs.pop();
    }
    if let Some(last) = runs.last_mut()
        && !keep_end
    {
        last.text.truncate(last.text.trim_end().len());
    }
    for run in &mut runs {
        if let std::borrow::Cow::Owned(clean) = sanitize(&run.text) {
            run.text = clean;
        }
    }
    runs
}

fn style(cell: &vt100::Cell) -> Style {
    let mut modifier = Modifier::empty();
    for (on, bit) in [
        (cell.bold(), Modifier::BOLD),
        (cell.dim(), Modifier::DIM),
        (cell.italic(), Modifier::ITALIC),
        (cell.underline(), Modifier::UNDERLINED),
        (cell.inverse(), Modifier::REVERSED),
    ] {
        modifier.set(bit, on);
    }
    let mut style = Style::new().add_modifier(modifier);
    style.fg = color(cell.fgcolor());
    style.bg = color(cell.bgcolor());
    style
}

fn color(color: vt100::Color) -> Option<Color> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => Some(Color::Indexed(index)),
        vt100::Color::Rgb(r, g, b) => Some(Color::Rgb(r, g, b)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(output: &str, width: u16, rows: usize) -> Vec<String> {
        lines(output, width, rows).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn progress_overwrites_itself_and_colours_are_kept() {
        assert_eq!(text("10%\r50%\r100%\ndone\n", 20, 9), ["100%", "done"]);
        let red = &lines("\x1b[31mred\x1b[0m plain", 20, 9)[0];
        assert_eq!(red.spans[0].style.fg, Some(Color::Indexed(1)));
        assert_eq!(red.to_string(), "red plain");
    }

    #[test]
    fn nothing_but_text_comes_out() {
        let hostile = "\x1b]52;c;aGk=\x07\x1b]0;T\x07\x1b[6n\x1b[?1049lx\u{9b}31m\x1b]8;;http://x";
        for line in text(hostile, 30, 9) {
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn long_output_keeps_its_end_and_long_lines_wrap() {
        let many: String = (0..5000).map(|n| format!("\x1b[1mline {n}\n")).collect();
        assert_eq!(text(&many, 20, 2), ["line 4998", "line 4999"]);
        let long = format!("\x1b[1m{}", "x".repeat(500));
        assert_eq!(text(&long, 100, 99).iter().map(String::len).collect::<Vec<_>>(), [100; 5]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn any_output_fits(
            output in "(\\PC|[\x1b\r\n\t\x08\\[;0-9mHJKA日]){0,80}", width in 1u16..60,
        ) {
            for line in lines(&output, width, 50) {
                prop_assert!(crate::ui::runs::line_width(&line) <= usize::from(width));
                prop_assert!(!line.to_string().chars().any(char::is_control));
            }
        }
    }
}
