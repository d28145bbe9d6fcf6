//! Paints the state. It changes nothing; whatever has to be measured was measured in `layout`.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Widget};

use crate::policy::Profile;
use crate::text::sanitize::one_line;
use crate::text::width::swidth;

use crate::ui::state::{Focus, State, Tab};
use crate::ui::{card, panes, popups, status};

/// The column from which a click on the tab strip means the tree, and from which the tools.
pub const TREE_TAB_COLUMN: u16 = 16;
/// See [`TREE_TAB_COLUMN`].
pub const TOOLS_TAB_COLUMN: u16 = 23;

/// Draws one frame and places the terminal's cursor.
pub fn view(state: &State, frame: &mut Frame<'_>) {
    let areas = &state.areas;
    if areas.too_small {
        let text = format!(
            "more room, please: {}x{}",
            crate::ui::layout::MIN_COLUMNS,
            crate::ui::layout::MIN_ROWS
        );
        row(frame, areas.screen, 0, Line::styled(text, state.look.theme.warn));
        return;
    }
    header(state, frame);
    tabs(state, frame);
    panes::conversation::paint(state, frame);
    panes::tree::paint(state, frame);
    panes::tools::paint(state, frame);
    card::paint(state, frame);
    queue(state, frame);
    completions(state, frame);
    composer(state, frame);
    status::paint(state, frame);
    let mut cursor = cursor(state);
    if let Some(popup) = &state.surface.popup {
        cursor = popups::paint(state, popup, frame);
    } else if state.surface.leader {
        popups::leader(state, frame);
        cursor = None;
    }
    if let Some(at) = cursor.filter(|at| frame.area().contains(*at)) {
        frame.set_cursor_position(at);
    }
}

/// Paints one line into a row of an area, clipped to it and to the frame.
pub fn row(frame: &mut Frame<'_>, area: Rect, offset: u16, line: Line<'_>) {
    if offset >= area.height {
        return;
    }
    let at = Rect::new(area.x, area.y.saturating_add(offset), area.width, 1);
    line.render(at.intersection(frame.area()), frame.buffer_mut());
}

/// A frame round an area, with a title at the left and one at the right.
pub fn framed(
    state: &State,
    frame: &mut Frame<'_>,
    area: Rect,
    titles: (&str, &str),
    style: Style,
) {
    let mut block = Block::bordered().border_style(style);
    if state.look.ascii {
        block = block.border_set(ASCII_BORDER);
    } else {
        block = block.border_type(BorderType::Plain);
    }
    if !titles.0.is_empty() {
        block = block.title(Line::from(format!(" {} ", titles.0)));
    }
    if !titles.1.is_empty() {
        block = block.title(Line::from(format!(" {} ", titles.1)).right_aligned());
    }
    block.render(area.intersection(frame.area()), frame.buffer_mut());
}

const ASCII_BORDER: ratatui::symbols::border::Set<'static> = ratatui::symbols::border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Two texts on one row, one at either end; the right one goes first where both do not fit.
pub fn ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: u16) -> Line<'static> {
    let measure = |spans: &[Span<'static>]| spans.iter().map(|s| swidth(&s.content)).sum::<usize>();
    let (a, b) = (measure(&left), measure(&right));
    let width = usize::from(width);
    if a + b + 1 > width {
        return Line::from(left);
    }
    let mut spans = left;
    spans.push(Span::raw(" ".repeat(width - a - b)));
    spans.extend(right);
    Line::from(spans)
}

fn header(state: &State, frame: &mut Frame<'_>) {
    const NAME_COLUMNS: usize = 32;
    let theme = &state.look.theme;
    let area = state.areas.header;
    let session = &state.session;
    let mut left = vec![Span::styled(" harness-tui", theme.accent)];
    if let Some(name) = &session.name {
        left.push(Span::raw(format!("  {}", one_line(name, NAME_COLUMNS))));
    }
    let project = one_line(&state.look.project, NAME_COLUMNS);
    left.push(Span::styled(format!("  {project}"), theme.muted));
    if session.read_only.is_some() {
        left.push(Span::styled("  read-only", theme.warn));
    }
    let model = one_line(&session.model, NAME_COLUMNS);
    let demo = if session.is_demo() { " (offline demo)" } else { "" };
    let unknown = if session.model_known || session.model.is_empty() { "" } else { "?" };
    let thinking = session.thinking.name();
    let mut right =
        vec![Span::styled(format!("{model}{unknown}{demo} · {thinking} · "), theme.muted)];
    // Said all the time, because nothing will ask any more.
    right.push(match session.profile {
        Profile::Full => Span::styled("full: asks nothing ", theme.banner),
        other => Span::styled(format!("{} ", other.name()), theme.muted),
    });
    // Nothing is known of a session that is being opened.
    if session.opening {
        right.clear();
    }
    row(frame, area, 0, ends(left, right, area.width));
}

fn tabs(state: &State, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let mark = |tab: Tab, text: String| {
        if state.surface.tab == tab {
            Span::styled(format!("[{text}]"), theme.accent)
        } else {
            Span::styled(format!(" {text} "), theme.muted)
        }
    };
    let mut tools = "Tools".to_owned();
    let (running, held) = (state.tools.running(), state.approvals.open());
    if running + held > 0 {
        tools = format!("Tools {}{}", running + held, if held > 0 { "!" } else { "" });
    }
    let line = Line::from(vec![
        Span::raw(" "),
        mark(Tab::Conversation, "Conversation".into()),
        Span::raw(" "),
        mark(Tab::Tree, "Tree".into()),
        Span::raw(" "),
        mark(Tab::Tools, tools),
    ]);
    row(frame, state.areas.tabs, 0, line);
}

fn queue(state: &State, frame: &mut Frame<'_>) {
    use crate::harness::QueueKind;
    const TEXT_COLUMNS: usize = 30;
    let theme = &state.look.theme;
    let area = state.areas.queue;
    let mut left = vec![Span::styled(" queued:", theme.muted)];
    for queued in &state.queue {
        let (mark, ascii, kind) = match queued.kind {
            QueueKind::Steer => ("↳", "->", "steer"),
            QueueKind::FollowUp => ("⏭", ">>", "follow-up"),
            QueueKind::NextTurn => ("+", "+", "next"),
        };
        let mark = if state.look.ascii { ascii } else { mark };
        let text = one_line(&queued.text, TEXT_COLUMNS);
        left.push(Span::styled(format!(" {mark} {kind} "), theme.accent));
        left.push(Span::raw(format!("\"{text}\" ")));
    }
    let right = vec![Span::styled("ctrl+x q take back ", theme.muted)];
    row(frame, area, 0, ends(left, right, area.width));
}

fn completions(state: &State, frame: &mut Frame<'_>) {
    let area = state.areas.completions;
    if area.height == 0 {
        return;
    }
    let theme = &state.look.theme;
    let all = crate::ui::commands::completions(&state.composer.shown());
    let hidden = all.len().saturating_sub(usize::from(area.height));
    for (offset, each) in (0..area.height).zip(&all) {
        let more = if offset + 1 == area.height && hidden > 0 {
            format!("  … {hidden} more")
        } else {
            String::new()
        };
        let line = Line::from(vec![
            Span::styled(format!("   {:<20}", each.text), theme.accent),
            Span::styled(format!("{}{more}", each.title), theme.muted),
        ]);
        row(frame, area, offset, line);
    }
}

fn composer(state: &State, frame: &mut Frame<'_>) {
    let areas = &state.areas;
    let theme = &state.look.theme;
    let focused = state.surface.focus == Focus::Composer;
    if areas.composer.height > areas.text.height {
        let style = if focused { theme.border_focused } else { theme.border };
        let stash = if state.composer.stashed().is_some() { "stash: ctrl+s" } else { "" };
        framed(state, frame, areas.composer, ("", stash), style);
    }
    let mark = Rect::new(areas.text.x.saturating_sub(2), areas.text.y, 2, areas.text.height);
    row(frame, mark, 0, Line::styled("> ", theme.accent));
    let text = areas.text.intersection(frame.area());
    if text.width > 0 && text.height > 0 {
        frame.render_widget(state.composer.widget(), text);
    }
}

fn cursor(state: &State) -> Option<Position> {
    match state.surface.focus {
        Focus::Composer => state.composer.painted_cursor(),
        Focus::Approval => card::cursor(state),
        Focus::Tree => panes::tree::cursor(state),
        Focus::Tools => None,
    }
}
