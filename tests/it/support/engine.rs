//! Drives a real engine with a provider that plays steps and tools that wait for a word.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use harness_tui::harness::{
    Command, Compaction, Event, Handle, HarnessError, Model, QueueMode, Reply, Setup, Subscription,
    Update, spawn,
};
use harness_tui::message::{
    Access, AssistantMessage, Delta, Message, Part, StopReason, ToolCall, ToolOutcome, ToolSpec,
    Usage,
};
use harness_tui::policy::Profile;
use harness_tui::ports::{Clock, FileSystem, FixedClock, MemoryFs};
use harness_tui::prompt::Sources;
use harness_tui::providers::{
    ModelSpec, Provider, ProviderError, Request, RetryPolicy, StreamEvent, Timeouts,
};
use harness_tui::session::{Durability, Place, Session, view};
use harness_tui::tools::{Tool, ToolContext};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;

/// One answer of the model.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Say(&'static str),
    /// Tool name and arguments.
    Call(Vec<(&'static str, Value)>),
    Fail(ProviderError),
    /// Says this and reports that many tokens in the context.
    Count(&'static str, u64),
    /// Calls `look` with this argument and reports that many tokens.
    CountCall(&'static str, u64),
    /// Says this and is cut off at the output limit.
    Cut(&'static str),
    /// Streams this much and then nothing, until it is cancelled.
    Hang(&'static str),
    /// Streams this much and ends without saying how.
    Stop(&'static str),
    /// Says this once the player is told to go on.
    Slow(&'static str),
    /// Panics in mid-stream.
    Panic,
    /// Panics before there is a stream.
    Crash,
    /// Ends at the output limit without having said anything.
    Nothing,
}

/// Plays its steps, then says "done". Every request is checked and kept.
#[derive(Debug, Default)]
pub(crate) struct Player {
    pub(crate) steps: Mutex<VecDeque<Step>>,
    pub(crate) requests: Mutex<Vec<Request>>,
    pub(crate) go_on: Arc<Notify>,
}

impl Player {
    fn events(step: Step) -> Vec<StreamEvent> {
        let started = |text: &str| {
            vec![
                StreamEvent::Delta(Delta::TextStart { index: 0 }),
                StreamEvent::Delta(Delta::TextDelta { index: 0, delta: text.into() }),
            ]
        };
        let said = |text: &str, reason, total| {
            let mut events = started(text);
            events.push(end(vec![Part::text(text)], reason, total));
            events
        };
        match step {
            Step::Say(text) | Step::Slow(text) => said(text, StopReason::Stop, 0),
            Step::Cut(text) => said(text, StopReason::Length, 0),
            Step::Count(text, total) => said(text, StopReason::Stop, total),
            Step::Hang(text) | Step::Stop(text) => started(text),
            Step::Panic | Step::Crash => Vec::new(),
            Step::Nothing => vec![end(Vec::new(), StopReason::Length, 0)],
            Step::Fail(error) => vec![StreamEvent::Failed(error)],
            Step::CountCall(argument, total) => {
                let call = ("look", json!({"path": argument}));
                vec![end(calls(vec![call]), StopReason::ToolUse, total)]
            }
            Step::Call(wanted) => vec![end(calls(wanted), StopReason::ToolUse, 0)],
        }
    }
}

/// A finished answer after which so many tokens are in the context; 0 when nobody counted.
fn end(content: Vec<Part>, stop_reason: StopReason, total: u64) -> StreamEvent {
    StreamEvent::Finished(Box::new(AssistantMessage {
        content,
        api: "test".into(),
        provider: "test".into(),
        model: "m".into(),
        usage: Usage { input: total, total_tokens: total, ..Usage::default() },
        stop_reason,
        ..AssistantMessage::default()
    }))
}

fn calls(wanted: Vec<(&'static str, Value)>) -> Vec<Part> {
    let call = |(at, (name, arguments)): (usize, (&str, Value))| {
        Part::ToolCall(ToolCall {
            id: format!("c{at}"),
            name: name.into(),
            arguments,
            ..ToolCall::default()
        })
    };
    wanted.into_iter().enumerate().map(call).collect()
}

impl Provider for Player {
    fn api(&self) -> &'static str {
        "test"
    }

    fn stream(&self, request: Request, _: CancellationToken) -> BoxStream<'static, StreamEvent> {
        view::check(&request.messages).expect("every request is well formed");
        self.requests.lock().unwrap().push(request);
        let step = self.steps.lock().unwrap().pop_front().unwrap_or(Step::Say("done"));
        assert!(!matches!(step, Step::Crash), "boom");
        if matches!(step, Step::Slow(_)) {
            let go_on = Arc::clone(&self.go_on);
            let waits = futures_util::stream::once(async move { go_on.notified().await });
            let events = futures_util::stream::iter(Self::events(step));
            return waits.filter_map(|()| async { None }).chain(events).boxed();
        }
        let hangs = matches!(step, Step::Hang(_));
        if matches!(step, Step::Panic) {
            return futures_util::stream::poll_fn(|_| panic!("boom")).boxed();
        }
        let events = futures_util::stream::iter(Self::events(step));
        if hangs { events.chain(futures_util::stream::pending()).boxed() } else { events.boxed() }
    }
}

/// A tool for tests: `echo` answers, `gate` waits for a permit, `bomb` panics, `fail` fails.
#[derive(Debug)]
pub(crate) struct Toy {
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) started: Arc<Notify>,
}

impl Toy {
    pub(crate) fn new(name: &'static str, access: Access) -> Self {
        Self { name, access, gate: Arc::new(Semaphore::new(0)), started: Arc::new(Notify::new()) }
    }
}

impl Tool for Toy {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name.into(),
            description: "a toy".into(),
            parameters: json!({"type": "object"}),
        }
    }

    fn access(&self) -> Access {
        self.access
    }

    fn summary(&self, arguments: &Value) -> String {
        arguments.to_string()
    }

    fn target(&self, arguments: &Value, _: &Path) -> Option<PathBuf> {
        arguments.get("path")?.as_str().map(PathBuf::from)
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (name, gate) = (self.name, Arc::clone(&self.gate));
        let started = Arc::clone(&self.started);
        Box::pin(async move {
            started.notify_one();
            match name {
                "bomb" => panic!("boom"),
                "late" => {
                    let updates = context.updates.clone();
                    tokio::spawn(async move {
                        gate.acquire().await.unwrap().forget();
                        let output = "too late".into();
                        let _ = updates.send(harness_tui::tools::ToolUpdate { output }).await;
                    });
                    ToolOutcome::text("done already")
                }
                "fail" => ToolOutcome::error("it failed"),
                "gate" => tokio::select! {
                    permit = gate.acquire() => {
                        permit.unwrap().forget();
                        ToolOutcome::text("opened")
                    }
                    () = context.cancel.cancelled() => ToolOutcome::error("cancelled"),
                },
                _ => ToolOutcome::text(format!("{name}: {arguments}")),
            }
        })
    }
}

/// How the next engine is made.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) player: Arc<Player>,
    pub(crate) tools: Vec<Arc<Toy>>,
    pub(crate) files: Arc<dyn FileSystem>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) profile: Profile,
    pub(crate) unattended: bool,
    pub(crate) max_turns: u32,
    pub(crate) state: tempfile::TempDir,
    /// Tokens of every model; `small` has a tenth.
    pub(crate) window: u64,
    pub(crate) compaction: Compaction,
    pub(crate) retry: RetryPolicy,
}

impl Bench {
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        Self {
            player: Arc::new(Player { steps: Mutex::new(steps.into()), ..Player::default() }),
            tools: vec![
                Arc::new(Toy::new("look", Access::Read)),
                Arc::new(Toy::new("gate", Access::Read)),
                Arc::new(Toy::new("act", Access::Execute)),
                Arc::new(Toy::new("fail", Access::Read)),
                Arc::new(Toy::new("bomb", Access::Read)),
                Arc::new(Toy::new("late", Access::Read)),
            ],
            files: Arc::new(MemoryFs::new()),
            clock: Arc::new(FixedClock(1_796_057_462_123)),
            profile: Profile::Confirm,
            unattended: false,
            max_turns: 0,
            state: tempfile::tempdir().unwrap(),
            window: 100_000,
            compaction: Compaction::default(),
            retry: RetryPolicy::default(),
        }
    }

    pub(crate) fn place(&self) -> Place {
        Place {
            files: Arc::clone(&self.files),
            clock: Arc::clone(&self.clock),
            root: "/sessions".into(),
            durability: Durability::Commit,
        }
    }

    pub(crate) fn toy(&self, name: &str) -> &Toy {
        self.tools.iter().find(|toy| toy.name == name).unwrap()
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine_of(Session::create(self.place(), Path::new("/work")))
    }

    pub(crate) fn reopened(&self, path: &Path) -> Engine {
        self.engine_of(Session::open(self.place(), path).unwrap())
    }

    pub(crate) fn engine_of(&self, session: Session) -> Engine {
        let player = Arc::clone(&self.player);
        let (window, compaction) = (self.window, self.compaction);
        let setup = Setup {
            session,
            models: Arc::new(move |reference: &str| {
                let (provider, id) = reference.split_once('/').unwrap_or(("test", reference));
                Ok(Model {
                    provider: Arc::clone(&player) as Arc<dyn Provider>,
                    spec: spec(provider, id, window),
                })
            }),
            model: None,
            default_model: "test/m".into(),
            thinking: None,
            tools: self.tools.iter().map(|toy| Arc::clone(toy) as Arc<dyn Tool>).collect(),
            profile: self.profile,
            unattended: self.unattended,
            prompt: Sources::default(),
            labels: serde_json::Map::new(),
            cwd: "/work".into(),
            clock: Arc::clone(&self.clock),
            state_dir: self.state.path().to_owned(),
            hidden_env: Arc::new(|| Arc::from([])),
            secrets: Arc::new(|| vec!["a-stored-key-of-the-person".to_owned()]),
            timeouts: Timeouts::default(),
            retry: self.retry,
            compaction: Arc::new(move |_| compaction),
            max_turns: self.max_turns,
            steering: QueueMode::OneAtATime,
            follow_up: QueueMode::OneAtATime,
            notices: Vec::new(),
        };
        let handle = spawn(setup).unwrap();
        let events = handle.subscribe();
        Engine { handle, events, seen: Vec::new() }
    }
}

fn spec(provider: &str, id: &str, window: u64) -> ModelSpec {
    ModelSpec {
        provider: provider.into(),
        id: id.into(),
        context_window: if id == "small" { window / 10 } else { window },
        max_output: 1000,
        reasoning: false,
        images: false,
        price: [0.0; 4],
        known: true,
    }
}

/// A running engine and what it has said.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) handle: Handle,
    events: Subscription,
    pub(crate) seen: Vec<Arc<Event>>,
}

impl Engine {
    pub(crate) async fn send(&self, command: Command) -> Result<Reply, HarnessError> {
        self.handle.send(command).await
    }

    pub(crate) async fn prompt(&self, text: &str) -> Result<Reply, HarnessError> {
        self.send(Command::Prompt { content: vec![Part::text(text)] }).await
    }

    /// Reads events up to and with the first that fits, and gives that one.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Event) -> bool) -> Arc<Event> {
        loop {
            let Some(Update::Event(event)) = self.events.next().await else {
                panic!("the engine went silent after {:#?}", self.seen);
            };
            self.seen.push(Arc::clone(&event));
            if fits(&event) {
                return event;
            }
        }
    }

    pub(crate) async fn settled(&mut self) {
        self.until(|event| matches!(event, Event::Settled)).await;
    }

    /// Sends a prompt and waits for the end; the names of what happened in between.
    pub(crate) async fn turn(&mut self, text: &str) -> Vec<String> {
        let from = self.seen.len();
        self.prompt(text).await.unwrap();
        self.settled().await;
        self.seen[from..].iter().map(|event| name(event)).collect()
    }

    /// The messages of the branch, one word each.
    pub(crate) async fn told(&self) -> Vec<String> {
        let snapshot = self.handle.snapshot().await.unwrap();
        snapshot
            .branch
            .iter()
            .filter_map(|entry| match &entry.body {
                harness_tui::session::Body::Message { message, .. } => Some(word(message)),
                _ => None,
            })
            .collect()
    }
}

/// The event's type, as JSON readers see it.
pub(crate) fn name(event: &Event) -> String {
    serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned()
}

pub(crate) fn word(message: &Message) -> String {
    match message {
        Message::User(_) => format!("user {}", message.text()),
        Message::Assistant(answer) => {
            let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
            let reason = serde_json::to_value(answer.stop_reason).unwrap();
            format!("{} {}{}", reason.as_str().unwrap(), message.text(), calls.join("+"))
        }
        Message::ToolResult(result) => {
            format!("{} {}", if result.is_error { "error" } else { "result" }, message.text())
        }
        other => format!("{other:?}"),
    }
}
