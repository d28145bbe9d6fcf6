//! The preview of a compaction: what would be folded, and the summary to be edited before it is
//! stored. Nothing is stored until a person says so, and an edited text goes only after a question.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::harness::{Command, CompactionDraft};
use crate::text::sanitize::one_line;
use crate::ui::action::{Asked, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::composer::Composer;
use crate::ui::keymap::{ActionId, Place};
use crate::ui::popup::Popup;
use crate::ui::popups;
use crate::ui::state::State;
use crate::ui::status::thousands;
use crate::ui::view::row;

/// Rows a page key moves.
const PAGE: usize = 10;

/// A draft under a person's eyes.
#[derive(Debug)]
pub struct Preview {
    draft: CompactionDraft,
    editor: Composer,
    /// The revision of the text as the model wrote it.
    unedited: u64,
    /// The button has the keys, not the text.
    on_button: bool,
    /// Really drop the edited text?
    asks: bool,
    /// It was sent and is not answered yet.
    storing: bool,
}

/// Shows a draft.
pub fn open(state: &mut State, draft: CompactionDraft) {
    let mut editor = Composer::default();
    editor.put(&draft.summary);
    editor.to_start();
    let unedited = editor.revision();
    state.surface.compaction = Some(Box::new(Preview {
        draft,
        editor,
        unedited,
        on_button: false,
        asks: false,
        storing: false,
    }));
    state.surface.popup = Some(Popup::Compaction);
    state.dirty = true;
}

/// The answer to storing it.
pub(super) fn stored(state: &mut State, outcome: Result<(), String>) {
    let Some(preview) = state.surface.compaction.as_mut() else { return };
    preview.storing = false;
    match outcome {
        Ok(()) => {
            let draft = &preview.draft;
            let (before, after) = (thousands(draft.tokens_before), thousands(draft.tokens_after));
            let text = format!("folded {} messages: {before} to {after} tokens", draft.folded);
            close(state);
            state.tell(text);
        }
        // The text stays: somebody wrote it.
        Err(error) => {
            state.surface.popup = Some(Popup::Compaction);
            state.tell(format!("not stored: {error}"));
        }
    }
}

fn close(state: &mut State) {
    state.surface.compaction = None;
    if state.surface.popup == Some(Popup::Compaction) {
        state.surface.popup = None;
    }
}

/// A paste goes into the text.
pub(super) fn paste(state: &mut State, text: &str) {
    if let Some(preview) = state.surface.compaction.as_mut().filter(|preview| !preview.asks) {
        preview.editor.paste(text);
        preview.on_button = false;
    }
}

/// A key while the preview is open.
pub(super) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    let found = state.keymap.find(Place::Composer, chord);
    let Some(preview) = state.surface.compaction.as_deref_mut() else {
        state.surface.popup = None;
        return Vec::new();
    };
    if preview.asks {
        match chord.typed() {
            Some('y') => close(state),
            Some('n') => preview.asks = false,
            _ => preview.asks &= chord.key != Key::Esc,
        }
        return Vec::new();
    }
    if chord.key == Key::Esc || (chord.ctrl && chord.key == Key::Char('c')) {
        if preview.editor.revision() == preview.unedited {
            close(state);
        } else {
            preview.asks = true;
        }
        return Vec::new();
    }
    let control_s = chord.ctrl && chord.key == Key::Char('s');
    if control_s || (preview.on_button && chord.key == Key::Enter) {
        return store(state);
    }
    match chord.key {
        Key::Tab => preview.on_button = !preview.on_button,
        _ if preview.on_button => preview.on_button = chord.key != Key::Up,
        _ => edit(preview, chord, found),
    }
    Vec::new()
}

/// The composer's own editing.
fn edit(preview: &mut Preview, chord: Chord, found: Option<ActionId>) {
    let editor = &mut preview.editor;
    if let Some(c) = chord.typed() {
        return editor.type_char(c);
    }
    match (chord.key, found) {
        (Key::Enter, _) | (_, Some(ActionId::Newline)) => editor.newline(),
        (Key::PageUp, _) => (0..PAGE).for_each(|_| {
            let _ = editor.edit(ActionId::Up);
        }),
        (Key::PageDown, _) => (0..PAGE).for_each(|_| {
            let _ = editor.edit(ActionId::Down);
        }),
        (_, Some(id)) => {
            let _ = editor.edit(id);
        }
        _ => {}
    }
}

fn store(state: &mut State) -> Vec<Effect> {
    let Some(preview) = state.surface.compaction.as_deref_mut() else { return Vec::new() };
    if preview.storing {
        return Vec::new();
    }
    let summary = preview.editor.text();
    if summary.trim().is_empty() {
        state.tell("the summary is empty: write one, or esc drops it");
        return Vec::new();
    }
    preview.storing = true;
    let draft = Box::new(CompactionDraft { summary, ..preview.draft.clone() });
    vec![Effect::Send(Command::StoreCompaction { draft }, Asked::StoreCompaction)]
}

/// Paints it; gives the place of the cursor.
pub(super) fn paint(state: &State, preview: &Preview, frame: &mut Frame<'_>) -> Option<Position> {
    const COLUMNS: u16 = 100;
    let theme = &state.look.theme;
    let screen = frame.area();
    let area = popups::centred(frame, COLUMNS, screen.height.saturating_sub(2).max(8));
    let inner = popups::open(state, frame, area, "compaction, not stored yet", "");
    let width = usize::from(inner.width);
    let draft = &preview.draft;
    let numbers = format!(
        "folds {} messages, keeps {} · about {} to {} tokens",
        draft.folded,
        draft.kept,
        thousands(draft.tokens_before),
        thousands(draft.tokens_after)
    );
    row(frame, inner, 0, Line::raw(one_line(&numbers, width)));
    let files = format!(
        "{} files read, {} changed: {}",
        draft.read_files.len(),
        draft.modified_files.len(),
        draft.modified_files.join(", ")
    );
    row(frame, inner, 1, Line::styled(one_line(&files, width), theme.muted));
    let foot = inner.height.saturating_sub(1);
    let text = Rect::new(inner.x, inner.y + 3, inner.width, foot.saturating_sub(3));
    let text = text.intersection(screen);
    if text.width > 0 && text.height > 0 {
        frame.render_widget(preview.editor.widget(), text);
    }
    let last = Rect::new(inner.x, inner.y + foot, inner.width, u16::from(inner.height > 3));
    if let Some(toast) = &state.surface.toast {
        row(frame, last, 0, Line::styled(one_line(&toast.text, width), theme.warn));
    } else if preview.asks {
        let line = Line::styled("drop the edited summary?   y drop   n go on", theme.warn);
        row(frame, last, 0, line);
    } else {
        let style = if preview.on_button { theme.selection } else { theme.accent };
        let button = if preview.storing { "[ storing… ]" } else { "[ store ]" };
        let keys = if width >= 60 {
            " ctrl+s, or tab and enter · esc drop"
        } else {
            " ctrl+s · esc drop"
        };
        let spans = vec![Span::styled(button, style), Span::styled(keys, theme.muted)];
        row(frame, last, 0, Line::from(spans));
    }
    if preview.on_button || preview.asks { None } else { preview.editor.painted_cursor() }
}
