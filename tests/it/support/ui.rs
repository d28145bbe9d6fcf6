//! Drives the screen without a terminal: keys and events in, text of the screen and effects out.
//! The clock is a number, so nothing here waits.

use std::path::Path;
use std::sync::Arc;

use harness_tui::harness::{
    CallKey, Command, Event, HarnessError, HeldCall, Phase, Queued, Reply, Snapshot,
};
use harness_tui::message::{Delta, Display, Message, SessionId, ThinkingLevel, TurnId};
use harness_tui::policy::Profile;
use harness_tui::ports::FixedClock;
use harness_tui::session::Session;
use harness_tui::ui::action::{Action, Asked, Effect};
use harness_tui::ui::chord::{Chord, Key};
use harness_tui::ui::layout::measure;
use harness_tui::ui::state::{Look, State};
use harness_tui::ui::theme::Theme;
use harness_tui::ui::update::update;
use harness_tui::ui::view::view;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

/// Between two keys of a person.
const HUMAN_MS: i64 = 80;

pub(crate) struct Ui {
    pub(crate) state: State,
    terminal: Terminal<TestBackend>,
    effects: Vec<Effect>,
}

impl Ui {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let look = Look {
            theme: Theme::named("dark"),
            ascii: false,
            motion: true,
            project: "~/proj".into(),
            welcome: true,
        };
        let mut ui = Self {
            state: State::new(look),
            terminal: Terminal::new(TestBackend::new(columns, rows)).unwrap(),
            effects: Vec::new(),
        };
        ui.act(Action::Clock(1_000_000));
        ui.act(Action::Resize(columns, rows));
        ui.act(Action::Joined(Box::new(snapshot())));
        ui.draw();
        ui
    }

    pub(crate) fn act(&mut self, action: Action) -> &mut Self {
        self.effects.extend(update(&mut self.state, action));
        self
    }

    /// Types `hi<enter>` at the speed of a person; `<lt>` is a `<`.
    pub(crate) fn keys(&mut self, keys: &str) -> &mut Self {
        for chord in chords(keys) {
            self.wait(HUMAN_MS).act(Action::Key(chord));
            self.draw();
        }
        self
    }

    /// All at once, as a paste without marks arrives.
    pub(crate) fn burst(&mut self, keys: &str) -> &mut Self {
        for chord in chords(keys) {
            self.act(Action::Key(chord));
        }
        self
    }

    pub(crate) fn paste(&mut self, text: &str) -> &mut Self {
        self.act(Action::Paste(text.into()))
    }

    pub(crate) fn event(&mut self, event: Event) -> &mut Self {
        self.act(Action::Engine(Arc::new(event)))
    }

    pub(crate) fn answer(
        &mut self,
        asked: Asked,
        answer: Result<Reply, HarnessError>,
    ) -> &mut Self {
        self.act(Action::Answered(asked, answer))
    }

    pub(crate) fn wait(&mut self, ms: i64) -> &mut Self {
        let now = self.state.now + ms;
        self.act(Action::Clock(now))
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) -> &mut Self {
        self.terminal.backend_mut().resize(columns, rows);
        self.act(Action::Resize(columns, rows));
        self.draw();
        self
    }

    /// A turn begins.
    pub(crate) fn turn(&mut self) -> &mut Self {
        self.event(Event::TurnStarted { session: session(), turn: "t1".into() })
            .event(Event::TurnStart { step: 1, max: 200 })
    }

    /// A piece of the answer.
    pub(crate) fn text(&mut self, delta: &str) -> &mut Self {
        let delta = Delta::TextDelta { index: 0, delta: delta.into() };
        self.event(Event::MessageUpdate { assistant_message_event: delta })
    }

    /// The answer begins.
    pub(crate) fn answering(&mut self) -> &mut Self {
        let message = Arc::new(Message::Assistant(Default::default()));
        self.event(Event::MessageStart { message })
            .event(Event::MessageUpdate { assistant_message_event: Delta::TextStart { index: 0 } })
    }

    pub(crate) fn user(&mut self, text: &str) -> &mut Self {
        let message = Arc::new(Message::user(text, 0));
        self.event(Event::MessageStart { message: Arc::clone(&message) })
            .event(Event::MessageEnd { message, entry: "u1".into() })
    }

    pub(crate) fn runs(
        &mut self,
        ordinal: u32,
        tool: &str,
        summary: &str,
        args: Value,
    ) -> &mut Self {
        self.event(Event::ToolExecutionStart {
            key: key(ordinal),
            tool_call_id: format!("c{ordinal}"),
            tool_name: tool.into(),
            args,
            summary: summary.into(),
        })
    }

    /// Paints and gives the rows, blanks at their ends cut off.
    pub(crate) fn screen(&mut self) -> String {
        self.draw();
        let buffer = self.terminal.backend().buffer();
        let mut out = String::new();
        for y in 0..buffer.area.height {
            let mut row = String::new();
            let mut skip = 0;
            for x in 0..buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                row.push_str(symbol);
                skip = harness_tui::text::width::swidth(symbol).saturating_sub(1);
            }
            out.push_str(row.trim_end());
            out.push('\n');
        }
        out
    }

    pub(crate) fn draw(&mut self) {
        measure(&mut self.state);
        let state = &self.state;
        self.terminal.draw(|frame| view(state, frame)).unwrap();
    }

    /// What was asked for since the last look, drafts and history apart.
    pub(crate) fn effects(&mut self) -> Vec<Effect> {
        let quiet =
            |effect: &Effect| matches!(effect, Effect::SaveDraft { .. } | Effect::Remember(_));
        std::mem::take(&mut self.effects).into_iter().filter(|effect| !quiet(effect)).collect()
    }

    /// Everything that was asked for since the last look.
    pub(crate) fn all_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The commands among them.
    pub(crate) fn commands(&mut self) -> Vec<Command> {
        self.effects()
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Send(command, _) => Some(command),
                _ => None,
            })
            .collect()
    }

    /// The draft as it would be sent.
    pub(crate) fn draft(&self) -> String {
        self.state.composer.text()
    }
}

/// `a<enter><ctrl+x>`
pub(crate) fn chords(keys: &str) -> Vec<Chord> {
    let mut out = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let name = rest.strip_prefix('<').and_then(|tail| tail.split_once('>'));
        let chord = match name {
            Some(("lt", tail)) => {
                rest = tail;
                Chord::parse("<")
            }
            Some((name, tail)) => {
                rest = tail;
                Chord::parse(name)
            }
            None => {
                rest = &rest[c.len_utf8()..];
                Some(Chord::plain(Key::Char(c)))
            }
        };
        assert!(chord.is_some(), "{keys} holds a key that is none");
        out.extend(chord);
    }
    out
}

pub(crate) fn session() -> SessionId {
    "0192-session".into()
}

pub(crate) fn key(ordinal: u32) -> CallKey {
    CallKey { turn: TurnId::from("t1"), step: 1, ordinal }
}

pub(crate) fn queued(id: &str, kind: harness_tui::harness::QueueKind, text: &str) -> Queued {
    Queued { id: id.into(), kind, text: text.into() }
}

pub(crate) fn held(ordinal: u32, tool: &str, summary: &str, preview: Display) -> Arc<HeldCall> {
    Arc::new(HeldCall {
        key: key(ordinal),
        tool: tool.into(),
        arguments: json!({}),
        summary: summary.into(),
        reason: "runs a command".into(),
        hash: format!("hash{ordinal}"),
        preview: Some(preview),
        session_rule: String::new(),
        since: 0,
    })
}

pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        session: session(),
        path: None,
        name: Some("refactor-auth".into()),
        cwd: "/proj".into(),
        read_only: None,
        branch: Vec::new(),
        older: None,
        tree: Session::in_memory(Arc::new(FixedClock(0)), Path::new("/proj")).tree(),
        phase: Phase::Idle,
        turn: None,
        step: 0,
        max_turns: 200,
        model: "demo/demo".into(),
        model_known: true,
        context_window: 200_000,
        context_tokens: 84_000,
        context_estimated: false,
        input: 0,
        output: 0,
        cache_read: 0,
        cost: 0.12,
        thinking: ThinkingLevel::High,
        profile: Profile::Confirm,
        queue: Vec::new(),
        held: Vec::new(),
        partial: Vec::new(),
        running: Vec::new(),
        notices: Vec::new(),
    }
}
