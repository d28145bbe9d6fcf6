//! The text being written: a text area whose edits all go through here.
//!
//! The text area edits code points and knows no markers; everything here works in units, which are
//! grapheme clusters or whole paste markers, and hands the area the exact span to remove.

mod burst;
mod edit;
mod history;
mod marker;

pub use burst::{BURST_GAP_MS, Burst, EnterMeans};
pub use history::{HISTORY_MAX, History};

use ratatui::layout::Position;
use tui_textarea::{CursorMove, CursorRenderMode, TextArea, WrapMode};

use marker::Markers;

/// A paste of more lines than this, or more characters than [`PASTE_CHARS`], becomes a marker: more
/// would push the draft out of sight.
pub const PASTE_LINES: usize = 10;
/// See [`PASTE_LINES`].
pub const PASTE_CHARS: usize = 1_000;
/// Drafts and history entries longer than this come back as a marker: the text area slows down with
/// the length of its text.
const RECALL_CHARS: usize = 20_000;
/// How many cuts can be put back.
const KILLS: usize = 32;

/// Row and character column.
type Place = (usize, usize);

/// The composer.
#[derive(Debug)]
pub struct Composer {
    area: TextArea<'static>,
    markers: Markers,
    pub history: History,
    kills: Vec<String>,
    last: LastEdit,
    pub burst: Burst,
    stash: Option<String>,
    /// Grows with every change of the text, so that a draft is saved once a change.
    revision: u64,
    rows: u16,
}

/// What the edit before this one was: cuts in a row are one cut.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LastEdit {
    Other,
    Kill,
    /// Where the text that was put back starts, and which cut it was.
    Yank(Place, usize),
}

impl Default for Composer {
    fn default() -> Self {
        let mut area = TextArea::default();
        area.set_wrap_mode(WrapMode::WordOrGlyph);
        area.set_undo_coalescing(true);
        area.set_cursor_render_mode(CursorRenderMode::Hidden);
        area.set_cursor_line_style(ratatui::style::Style::new());
        Self {
            area,
            markers: Markers::default(),
            history: History::default(),
            kills: Vec::new(),
            last: LastEdit::Other,
            burst: Burst::default(),
            stash: None,
            revision: 0,
            rows: 1,
        }
    }
}

impl Composer {
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// The text as it stands on the screen, markers as labels.
    pub fn shown(&self) -> String {
        self.area.lines().join("\n")
    }

    /// The text as it is sent: every marker replaced by what was pasted.
    pub fn text(&self) -> String {
        self.markers.expand(&self.shown())
    }

    /// Row and character column of the cursor.
    pub fn cursor(&self) -> (usize, usize) {
        self.area.cursor()
    }

    /// A number that changes whenever the text does.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Wraps at `width` and takes at most `max` rows; at least one.
    pub fn measure(&mut self, width: u16, max: u16) {
        let wanted = self.area.measure(width.max(1)).content_rows;
        self.rows = wanted.clamp(1, max.max(1));
    }

    /// The rows of the last [`Composer::measure`].
    pub fn rows(&self) -> u16 {
        self.rows
    }

    /// The widget to paint. Its scroll position lives inside it and follows the cursor.
    pub fn widget(&self) -> &TextArea<'static> {
        &self.area
    }

    /// Where the terminal's cursor belongs after the widget was painted.
    pub fn painted_cursor(&self) -> Option<Position> {
        self.area.rendered_cursor_position()
    }

    /// Moves the cursor to a click. `false` when it was not on the text.
    pub fn click(&mut self, column: u16, row: u16) -> bool {
        let Some(place) = self.area.cursor_at_position(Position::new(column, row)) else {
            return false;
        };
        self.jump(place);
        self.leave_marker(true);
        self.last = LastEdit::Other;
        true
    }

    /// Replaces everything, as one step that undo takes back.
    pub fn put(&mut self, text: &str) {
        let whole = ((0, 0), self.end());
        self.remove(whole.0, whole.1);
        self.insert_recalled(text);
    }

    /// Moves the cursor to the beginning.
    pub fn to_start(&mut self) {
        self.jump((0, 0));
    }

    /// Puts text in front of what is there, on lines of its own.
    pub fn put_before(&mut self, text: &str) {
        let was_empty = self.is_empty();
        self.jump((0, 0));
        self.insert_recalled(text);
        if !was_empty {
            self.raw_insert("\n");
        }
        self.jump(self.end());
    }

    fn insert_recalled(&mut self, text: &str) {
        let clean = clean(text);
        if clean.chars().count() > RECALL_CHARS {
            let label = self.markers.add(clean);
            self.raw_insert(&label);
        } else {
            self.raw_insert(&clean);
        }
        self.last = LastEdit::Other;
    }

    /// A paste: line ends become `\n`, control characters go, a large one becomes a marker.
    pub fn paste(&mut self, text: &str) {
        let text = clean(text);
        if text.is_empty() {
            return;
        }
        self.history.leave();
        self.last = LastEdit::Other;
        let lines = text.split('\n').count();
        if lines > PASTE_LINES || text.chars().count() > PASTE_CHARS {
            let label = self.markers.add(text);
            self.raw_insert(&label);
        } else {
            self.raw_insert(&text);
        }
    }

    /// Takes the whole text out, keeps it in the history, and gives it as it is sent.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.history.push(&text);
        self.clear();
        text
    }

    /// Empties the composer; undo brings the text back.
    pub fn clear(&mut self) {
        self.remove((0, 0), self.end());
        self.history.leave();
        self.last = LastEdit::Other;
    }

    /// Puts the text away, or brings back what was put away. A text in both places changes places.
    pub fn stash(&mut self) -> Option<&'static str> {
        let here = self.text();
        let stashed = self.stash.take();
        if here.is_empty() && stashed.is_none() {
            return None;
        }
        self.put(stashed.as_deref().unwrap_or_default());
        if here.is_empty() {
            return Some("brought the stash back");
        }
        self.stash = Some(here);
        Some(if stashed.is_some() {
            "swapped with the stash"
        } else {
            "stashed; ctrl+s brings it back"
        })
    }

    /// What is stashed.
    pub fn stashed(&self) -> Option<&str> {
        self.stash.as_deref()
    }

    /// Restores the stash of an earlier run.
    pub fn set_stash(&mut self, text: Option<String>) {
        self.stash = text;
    }

    /// The prompt before the current one in the history. `false` when there is none.
    pub fn earlier(&mut self) -> bool {
        let draft = self.text();
        let Some(text) = self.history.earlier(&draft) else { return false };
        self.put(&text);
        true
    }

    /// The prompt after the current one, last of all the draft that was left.
    pub fn later(&mut self) -> bool {
        let Some(text) = self.history.later() else { return false };
        self.put(&text);
        true
    }

    fn jump(&mut self, (row, column): Place) {
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(small(row), small(column)));
    }

    fn end(&self) -> Place {
        let lines = self.area.lines();
        (lines.len() - 1, lines.last().map_or(0, |line| line.chars().count()))
    }
}

/// Text that may enter the composer: `\n` line ends, no control characters but tabs, and not the
/// invisible mark that paste labels carry.
fn clean(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .map(|c| if c == '\r' { '\n' } else { c })
        .filter(|c| (!c.is_control() || matches!(c, '\n' | '\t')) && *c != marker::SEAL)
        .collect()
}
