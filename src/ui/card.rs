//! The approval card, beside the draft and never in its way.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::text::sanitize::one_line;
use crate::text::width::swidth;
use crate::ui::state::{Focus, State};
use crate::ui::view::{ends, framed, row};

/// What stands before the message of a "no".
const BECAUSE: &str = "no, because: ";

/// Paints the first call that waits.
pub(super) fn paint(state: &State, frame: &mut Frame<'_>) {
    let Some(call) = state.approvals.current() else { return };
    let theme = &state.look.theme;
    let area = state.areas.card.intersection(frame.area());
    if area.width < 3 || area.height < 3 {
        return;
    }
    Clear.render(area, frame.buffer_mut());
    let focused = state.surface.focus == Focus::Approval;
    let style = if focused { theme.border_focused } else { theme.warn };
    let count = format!("1 of {}", state.approvals.open());
    framed(state, frame, area, ("needs you", &count), style);
    let inner = inner(area);
    let reason = one_line(&call.reason, usize::from(inner.width));
    let what = one_line(&format!("{} {}", call.tool, call.summary), usize::from(inner.width));
    let line = ends(
        vec![Span::styled(what, theme.accent)],
        vec![Span::styled(reason, theme.muted)],
        inner.width,
    );
    row(frame, inner, 0, line);
    for (offset, line) in (0..).zip(state.approvals.visible()) {
        row(frame, state.areas.card_body, offset, line.clone());
    }
    if inner.height > 1 {
        row(frame, inner, inner.height - 1, hints(state, focused, inner.width));
    }
}

/// Inside the frame, one column free on either side.
fn inner(area: Rect) -> Rect {
    Rect::new(area.x + 2, area.y + 1, area.width.saturating_sub(4), area.height.saturating_sub(2))
}

fn hints(state: &State, focused: bool, width: u16) -> Line<'static> {
    let theme = &state.look.theme;
    if let Some(message) = &state.approvals.message {
        let room = usize::from(width).saturating_sub(BECAUSE.len());
        return Line::from(vec![
            Span::styled(BECAUSE, theme.warn),
            Span::raw(crate::ui::popups::tail(message.text(), room)),
        ]);
    }
    let below = state.approvals.below();
    let more = match below {
        0 => String::new(),
        1 => "1 more line".to_owned(),
        many => format!("{many} more lines"),
    };
    if !focused {
        let focus = vec![Span::styled("ctrl+x g answer", theme.accent)];
        return ends(focus, vec![Span::styled(more, theme.muted)], width);
    }
    let keys = "y once  s session  n no  m no, because…  x stop";
    let style = if state.approvals.armed(state.now) { theme.text } else { theme.muted };
    let right = if state.approvals.too_long() {
        "too long to see here".to_owned()
    } else if below > 0 {
        format!("tab {more}")
    } else if state.approvals.unseen() {
        "tab from the top".to_owned()
    } else {
        "esc leave".to_owned()
    };
    ends(vec![Span::styled(keys, style)], vec![Span::styled(right, theme.warn)], width)
}

/// The cursor of the message field.
pub(super) fn cursor(state: &State) -> Option<Position> {
    let message = state.approvals.message.as_ref()?;
    let inner = inner(state.areas.card);
    if inner.width == 0 || inner.height == 0 {
        return None;
    }
    let column = BECAUSE.len() + swidth(message.before());
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(inner.width - 1);
    Some(Position::new(inner.x + column, inner.y + inner.height - 1))
}
