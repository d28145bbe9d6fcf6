//! The calls that wait for a person, and when a key may answer one.
//!
//! A card takes no key until it is given the focus, and a letter answers only what was wholly seen
//! and has stood still for a moment: nobody may allow by accident what they did not read.

use std::sync::Arc;

use ratatui::text::Line;

use crate::harness::{CallKey, HeldCall};
use crate::message::Display;
use crate::text::sanitize::sanitize;
use crate::text::width::wrap;
use crate::ui::line_input::LineInput;
use crate::ui::theme::Theme;

/// Letters answer only this long after the card was wholly seen: a key already on its way when it
/// appeared must not count. The time people need to see a change is about a quarter second.
pub const ARM_MS: i64 = 350;
/// Lines of a card's body that are laid out; a longer one cannot be read here anyway and says so.
const BODY_LINES: usize = 4_000;

/// A diff with a longer line is shown as plain text.
const LINE_BYTES: usize = 4_000;

/// The queue of cards.
#[derive(Debug, Default)]
pub struct Approvals {
    pub calls: Vec<Arc<HeldCall>>,
    /// The message being written to a "no, because".
    pub message: Option<LineInput>,
    card: Card,
    /// Calls whose answer is on its way: a second key must not answer twice.
    sent: Vec<CallKey>,
}

/// How the first call stands on the screen.
#[derive(Debug, Default)]
struct Card {
    /// What `lines` were made for: the call, what it would do, the width.
    made_for: Option<(CallKey, String, u16)>,
    lines: Vec<Line<'static>>,
    cut: bool,
    top: usize,
    rows: usize,
    /// Lines from the first that were on the screen without a gap.
    seen: usize,
    /// Since when everything has been seen, Unix milliseconds.
    since: Option<i64>,
}

impl Approvals {
    pub fn current(&self) -> Option<&Arc<HeldCall>> {
        self.calls.iter().find(|call| !self.sent.contains(&call.key))
    }

    /// How many still need an answer.
    pub fn open(&self) -> usize {
        self.calls.iter().filter(|call| !self.sent.contains(&call.key)).count()
    }

    pub fn set(&mut self, calls: Vec<Arc<HeldCall>>) {
        *self = Self { calls, ..Self::default() };
    }

    pub fn add(&mut self, call: Arc<HeldCall>) {
        self.sent.retain(|key| *key != call.key);
        self.calls.retain(|held| held.key != call.key);
        self.calls.push(call);
    }

    pub fn remove(&mut self, key: &CallKey) {
        if self.current().is_some_and(|call| call.key == *key) {
            self.message = None;
        }
        self.calls.retain(|call| call.key != *key);
        self.sent.retain(|sent| sent != key);
    }

    /// An answer to the current call is on its way.
    pub fn mark_sent(&mut self, key: &CallKey) {
        self.sent.push(key.clone());
        self.message = None;
    }

    /// The engine refused the answer; the call waits again.
    pub fn mark_unsent(&mut self, key: &CallKey) {
        self.sent.retain(|sent| sent != key);
    }

    /// Whether a letter answers now.
    pub fn armed(&self, now: i64) -> bool {
        self.current().is_some() && self.armed_at().is_some_and(|at| now >= at)
    }

    /// When letters begin to answer, once everything was seen.
    pub fn armed_at(&self) -> Option<i64> {
        self.card.since.map(|since| since.saturating_add(ARM_MS))
    }

    /// Lays the body of the current call out and gives its number of lines.
    pub fn lay(&mut self, width: u16, theme: &Theme) -> usize {
        let Some(call) = self.current().cloned() else {
            self.card = Card::default();
            return 0;
        };
        let made_for = Some((call.key.clone(), call.hash.clone(), width));
        if self.card.made_for != made_for {
            let (lines, cut) = body(&call, width, theme);
            self.card = Card { made_for, lines, cut, ..Card::default() };
        }
        self.card.lines.len()
    }

    /// The body stands on the screen with this many rows, or is covered (0 rows).
    pub fn shown(&mut self, rows: usize, now: i64) {
        let card = &mut self.card;
        card.rows = rows;
        card.top = card.top.min(card.lines.len().saturating_sub(rows.max(1)));
        if rows == 0 {
            card.since = None;
            return;
        }
        if card.top <= card.seen {
            card.seen = card.seen.max(card.top + rows);
        }
        let all = card.seen >= card.lines.len() && !card.cut;
        card.since = if all { card.since.or(Some(now)) } else { None };
    }

    /// The lines on the screen.
    pub fn visible(&self) -> &[Line<'static>] {
        let end = (self.card.top + self.card.rows).min(self.card.lines.len());
        self.card.lines.get(self.card.top..end).unwrap_or_default()
    }

    /// How many lines are below the screen.
    pub fn below(&self) -> usize {
        self.card.lines.len().saturating_sub(self.card.top + self.card.rows)
    }

    /// Whether the call is too long to be read and therefore to be allowed here.
    pub fn too_long(&self) -> bool {
        self.card.cut
    }

    /// Whether some lines were never on the screen.
    pub fn unseen(&self) -> bool {
        self.card.cut || self.card.seen < self.card.lines.len()
    }

    pub fn scroll(&mut self, rows: i64) {
        let top = i64::try_from(self.card.top).unwrap_or(0).saturating_add(rows).max(0);
        let last = self.card.lines.len().saturating_sub(self.card.rows.max(1));
        self.card.top = usize::try_from(top).unwrap_or(0).min(last);
    }

    /// The next page; after the last one the first.
    pub fn page(&mut self) {
        if self.below() == 0 {
            self.card.top = 0;
        } else {
            self.scroll(i64::try_from(self.card.rows.max(1)).unwrap_or(1));
        }
    }
}

/// What the call would do, every line of it, controls shown.
fn body(call: &HeldCall, width: u16, theme: &Theme) -> (Vec<Line<'static>>, bool) {
    let mut lines = Vec::new();
    let mut text = |text: &str| {
        for line in sanitize(text).split('\n') {
            for row in wrap(line, usize::from(width.max(1))) {
                if lines.len() <= BODY_LINES {
                    lines.push(Line::from(line[row].to_owned()).style(theme.text));
                }
            }
        }
    };
    match &call.preview {
        // The diff view cuts very long lines; here all of it must be seen.
        Some(Display::Diff { diff, .. }) if diff.lines().any(|line| line.len() > LINE_BYTES) => {
            text(diff);
        }
        Some(Display::Diff { diff, .. }) if !diff.trim().is_empty() => {
            lines = crate::ui::diff::lines(diff, width, theme);
        }
        Some(
            Display::Terminal { output: body, .. } | Display::Text(body) | Display::Listing(body),
        ) if !body.trim().is_empty() => text(body),
        // Without a preview the arguments themselves are what must be read.
        _ => match call.arguments.get("command").and_then(serde_json::Value::as_str) {
            Some(command) => text(command),
            None => text(&serde_json::to_string_pretty(&call.arguments).unwrap_or_default()),
        },
    }
    if !call.session_rule.is_empty() {
        let rule = format!("s allows until the session ends: {}", call.session_rule);
        let rule = sanitize(&rule);
        for line in rule.split('\n') {
            for row in wrap(line, usize::from(width.max(1))) {
                lines.push(Line::styled(line[row].to_owned(), theme.muted));
            }
        }
    }
    let cut = lines.len() > BODY_LINES;
    lines.truncate(BODY_LINES);
    (lines, cut)
}
