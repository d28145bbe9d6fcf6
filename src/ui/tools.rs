//! The executions of the turn as the tools pane shows them: one row each, with a bounded tail.

use std::sync::Arc;

use ratatui::text::Line;
use serde_json::Value;

use crate::harness::{CallKey, RunningCall};
use crate::message::{Display, ToolResultMessage};
use crate::ui::terminal_text;
use crate::ui::theme::Theme;

/// Executions kept; a turn with more shows the newest.
const RUNS_MAX: usize = 200;
/// Rows of output under a running call.
pub const TAIL_ROWS: usize = 6;
/// Rows of output under an opened call.
pub const OPEN_ROWS: usize = 200;
/// Bytes of output looked at for the tail: enough for [`OPEN_ROWS`] wide rows, and a bound on work.
const TAIL_BYTES: usize = 64 * 1024;

/// How an execution stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    Running,
    /// Waits for a person.
    Held,
    Done {
        is_error: bool,
        exit: Option<i64>,
    },
}

/// One execution.
#[derive(Debug, Clone)]
pub struct Run {
    pub key: CallKey,
    pub tool: String,
    pub summary: String,
    /// The command line, of a call that has one.
    pub command: Option<String>,
    pub state: RunState,
    /// Unix milliseconds.
    pub started: i64,
    pub ended: Option<i64>,
    pub output: Arc<str>,
    pub opened: bool,
    /// A diff is shown as one.
    diff: bool,
    /// The laid-out output: for which width and how many rows, and the rows.
    laid: Option<(u16, usize, Vec<Line<'static>>)>,
}

impl Run {
    fn new(key: CallKey, tool: &str, summary: &str, started: i64) -> Self {
        Self {
            key,
            tool: tool.to_owned(),
            summary: summary.to_owned(),
            command: None,
            state: RunState::Running,
            started,
            ended: None,
            output: "".into(),
            opened: false,
            diff: false,
            laid: None,
        }
    }

    /// The rows of [`Tools::measure`].
    pub fn rows(&self) -> &[Line<'static>] {
        self.laid.as_ref().map_or(&[], |(_, _, rows)| rows)
    }

    fn wanted_rows(&self) -> usize {
        match (self.opened, self.state) {
            (true, _) => OPEN_ROWS,
            (false, RunState::Running) => TAIL_ROWS,
            _ => 0,
        }
    }

    fn lay(&mut self, width: u16, theme: &Theme) {
        let wanted = self.wanted_rows();
        if self.laid.as_ref().is_some_and(|(w, rows, _)| (*w, *rows) == (width, wanted)) {
            return;
        }
        let rows = if wanted == 0 || width == 0 {
            Vec::new()
        } else if self.diff {
            let mut rows = crate::ui::diff::lines(tail(&self.output), width, theme);
            rows.truncate(wanted);
            rows
        } else {
            terminal_text::lines(tail(&self.output), width, wanted)
        };
        self.laid = Some((width, wanted, rows));
    }
}

/// The last bytes of a text, cut at a character.
fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    &text[start..]
}

/// The pane.
#[derive(Debug, Default)]
pub struct Tools {
    pub runs: Vec<Run>,
    /// The row the keys act on.
    pub selected: usize,
    /// Whether the selection stays on the newest row.
    pub follows: bool,
}

impl Tools {
    /// A new turn begins.
    pub fn clear(&mut self) {
        self.runs.clear();
        self.selected = 0;
        self.follows = true;
    }

    pub fn running(&self) -> usize {
        self.runs.iter().filter(|run| run.state == RunState::Running).count()
    }

    /// Takes over what a snapshot says runs now.
    pub fn join(&mut self, running: &[RunningCall]) {
        self.clear();
        for call in running {
            let mut run = Run::new(call.key.clone(), &call.tool, &call.summary, call.since);
            run.output = Arc::clone(&call.output);
            self.add(run);
        }
    }

    pub fn started(&mut self, key: &CallKey, tool: &str, args: &Value, summary: &str, now: i64) {
        let command = args.get("command").and_then(Value::as_str).map(str::to_owned);
        if let Some(run) = self.find(key) {
            (run.state, run.started, run.laid) = (RunState::Running, now, None);
            run.command = command;
            return;
        }
        let mut run = Run::new(key.clone(), tool, summary, now);
        run.command = command;
        self.add(run);
    }

    pub fn held(&mut self, key: &CallKey, tool: &str, args: &Value, summary: &str, now: i64) {
        self.started(key, tool, args, summary, now);
        if let Some(run) = self.find(key) {
            run.state = RunState::Held;
        }
    }

    pub fn updated(&mut self, key: &CallKey, output: &Arc<str>) {
        if let Some(run) = self.find(key) {
            run.output = Arc::clone(output);
            run.laid = None;
        }
    }

    pub fn ended(&mut self, key: &CallKey, result: &ToolResultMessage, is_error: bool, now: i64) {
        let Some(run) = self.find(key) else { return };
        let mut exit = None;
        match Display::of_result(result) {
            Display::Diff { diff, .. } => {
                run.output = diff.into();
                run.diff = true;
            }
            Display::Terminal { output, exit_code } => {
                exit = exit_code;
                run.output = output.into();
            }
            Display::Text(text) | Display::Listing(text) => run.output = text.into(),
            Display::Image { mime_type, .. } => run.output = format!("image, {mime_type}").into(),
        }
        run.state = RunState::Done { is_error, exit };
        let took = result.duration_ms.and_then(|ms| i64::try_from(ms).ok());
        run.ended = Some(took.map_or(now, |took| run.started.saturating_add(took)));
        run.laid = None;
    }

    /// The answer to a held call is known: it runs or will end; a refused one ends by its result.
    pub fn answered(&mut self, key: &CallKey, allowed: bool, now: i64) {
        if let Some(run) = self.find(key)
            && run.state == RunState::Held
        {
            run.started = now;
            run.state = if allowed {
                RunState::Running
            } else {
                run.ended = Some(now);
                RunState::Done { is_error: true, exit: None }
            };
            run.laid = None;
        }
    }

    /// The turn is over: nothing runs any more, whatever was not heard.
    pub fn settle(&mut self, now: i64) {
        for run in &mut self.runs {
            if !matches!(run.state, RunState::Done { .. }) {
                run.state = RunState::Done { is_error: true, exit: None };
                run.ended = Some(now);
                run.laid = None;
            }
        }
    }

    pub fn selected_run(&mut self) -> Option<&mut Run> {
        self.runs.get_mut(self.selected)
    }

    /// Moves the selection; it stays inside the list.
    pub fn select(&mut self, rows: i64) {
        let last = self.runs.len().saturating_sub(1);
        let at = i64::try_from(self.selected).unwrap_or(0).saturating_add(rows).max(0);
        self.selected = usize::try_from(at).unwrap_or(0).min(last);
        self.follows = self.selected == last;
    }

    /// Lays out what is shown at a width.
    pub fn measure(&mut self, width: u16, theme: &Theme) {
        for run in &mut self.runs {
            run.lay(width, theme);
        }
    }

    fn find(&mut self, key: &CallKey) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|run| run.key == *key)
    }

    fn add(&mut self, run: Run) {
        self.runs.push(run);
        if self.runs.len() > RUNS_MAX {
            self.runs.remove(0);
            self.selected = self.selected.saturating_sub(1);
        }
        if self.follows {
            self.selected = self.runs.len() - 1;
        }
    }
}
