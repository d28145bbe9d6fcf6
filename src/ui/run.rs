//! The only loop of the screen: terminal input first, then the engine, then one frame.
//!
//! It sleeps until something happens; the one timer is the state's own next wake, so an idle program
//! uses no processor at all.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event as Input, EventStream};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use crate::harness::{Event, Handle, HarnessError, Open, Snapshot, Subscription, Update};
use crate::message::EntryId;
use crate::ports::{Clock, Disk, SystemClock};
use crate::ui::action::{Action, Effect};
use crate::ui::input::{Reader, bursts};
use crate::ui::keep::Keep;
use crate::ui::layout::measure;
use crate::ui::options::{Exit, Options};
use crate::ui::sessions::Desk;
use crate::ui::signals::{Signals, Told, watch_over};
use crate::ui::state::{Look, State};
use crate::ui::terminal::Screen;
use crate::ui::theme::Theme;
use crate::ui::update::update;
use crate::ui::view::view;

/// At most one frame in this time: 60 a second is as fast as screens show.
const FRAME: Duration = Duration::from_millis(16);
/// A key is shown sooner, so that typing does not wait behind a stream.
const KEY_FRAME: Duration = Duration::from_millis(2);
/// Input and engine events taken before a frame is due anyway: a flood must not stop the picture.
const BATCH: usize = 2_000;
/// Keys taken in one go: a large paste without marks is one piece, and a flood still gets a frame.
const INPUT_BATCH: usize = 50_000;
/// How long the reader may look for more input that has already arrived; nothing is waited for.
const DRAIN: Duration = Duration::from_micros(100);
/// Tries to join without an event in between.
const JOIN_TRIES: usize = 4;

/// Everything the loop holds beside the state.
pub(super) struct Loop {
    pub(super) state: State,
    pub(super) screen: Screen,
    pub(super) handle: Handle,
    /// The same, for the watch over the end.
    pub(super) guarded: tokio::sync::watch::Sender<Handle>,
    pub(super) events: Subscription,
    pub(super) open: Open,
    pub(super) keep: Keep,
    /// Work on sessions that are not open.
    pub(super) desk: Desk,
    /// `None` while the terminal is lent to another program.
    pub(super) input: Option<EventStream>,
    reader: Reader,
    /// Work under way; what comes of it becomes an action.
    pub(super) answers: FuturesUnordered<BoxFuture<'static, Option<Action>>>,
    /// The last write of a kept file; the next one waits for it, so none overtakes another.
    pub(super) writing: Option<tokio::task::JoinHandle<()>>,
    pub(super) exit: Option<i32>,
    /// The session before the one that is being opened.
    pub(super) before: Option<Handle>,
    /// Sessions that are being closed.
    pub(super) closing: Vec<tokio::task::JoinHandle<()>>,
    pub(super) failed: Option<HarnessError>,
    title: String,
}

/// Runs the screen until the person leaves, the terminal is gone, or a signal ends it.
///
/// The terminal is given back before this returns, and the session that was open last is closed.
///
/// # Errors
/// When the terminal cannot be taken or the engine is closed already.
pub async fn run(options: Options, handle: Handle, open: Open) -> anyhow::Result<Exit> {
    let mut signals = Signals::new()?;
    let (guarded, current) = tokio::sync::watch::channel(handle.clone());
    let watch = tokio::spawn(watch_over(Signals::new()?, current));
    let events = handle.subscribe();
    let screen = Screen::take(options.mouse)?;
    let mut theme = Theme::named(&options.theme).with_ascii(options.ascii);
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        theme = theme.without_color();
    }
    let look = Look {
        theme,
        ascii: options.ascii,
        motion: options.motion,
        project: options.project.clone(),
        welcome: options.welcome,
    };
    let mut looped = Loop {
        state: State::new(look),
        screen,
        handle,
        guarded,
        events,
        open,
        keep: Keep::new(Arc::new(Disk), options.state_dir.clone(), options.project.clone()),
        desk: Desk::new(options.shelf.clone()),
        input: Some(EventStream::new()),
        reader: Reader::default(),
        answers: FuturesUnordered::new(),
        writing: None,
        exit: None,
        before: None,
        closing: Vec::new(),
        failed: None,
        title: String::new(),
    };
    looped.start(&options).await?;
    looped.turn(&mut signals).await;
    watch.abort();
    Ok(looped.leave(&options, signals.code.unwrap_or(0)).await)
}

impl Loop {
    /// The loop.
    async fn turn(&mut self, signals: &mut Signals) {
        let mut last_frame = Instant::now();
        let mut typed = true;
        while self.exit.is_none() {
            let next_frame = last_frame + if typed { KEY_FRAME } else { FRAME };
            if self.state.dirty && Instant::now() >= next_frame {
                if self.frame().is_err() {
                    signals.code = Some(129);
                    return;
                }
                if typed {
                    // What came while this was painted was typed or pasted right behind it.
                    self.state.composer.burst.busy_until(SystemClock.now_ms());
                }
                (last_frame, typed) = (Instant::now(), false);
            }
            let wake = self.wake(next_frame);
            let actions = tokio::select! {
                biased;
                signal = signals.next() => match signal {
                    Told::End(code) => {
                        signals.code = Some(code);
                        return;
                    }
                    Told::Stop => {
                        self.suspend();
                        Vec::new()
                    }
                    Told::Resumed => {
                        self.resumed();
                        Vec::new()
                    }
                    Told::Resized => self.resized(),
                },
                event = next_input(&mut self.input) => match event {
                    Some(Ok(event)) => {
                        typed = true;
                        let mut actions = self.take_input(&event);
                        actions.extend(self.take_ready().await);
                        actions
                    }
                    // The terminal is gone: nobody can be asked or told anything any more.
                    Some(Err(_)) | None => {
                        signals.code = Some(129);
                        return;
                    }
                },
                event = self.events.next() => self.take_events(event).await,
                Some(answer) = self.answers.next(), if !self.answers.is_empty() => {
                    answer.into_iter().collect()
                }
                news = self.desk.next() => vec![news],
                () = tokio::time::sleep_until(wake.unwrap_or(next_frame)), if wake.is_some() => {
                    Vec::new()
                }
            };
            self.apply(actions).await;
        }
        signals.code = self.exit;
    }

    /// When to wake although nothing happens.
    fn wake(&self, next_frame: Instant) -> Option<Instant> {
        if self.state.dirty {
            return Some(next_frame);
        }
        let at = self.state.next_wake()?;
        let wait = u64::try_from(at.saturating_sub(SystemClock.now_ms())).unwrap_or(0);
        Some(Instant::now() + Duration::from_millis(wait))
    }

    /// The terminal's size, when it is not the one that was laid out for.
    fn resized(&self) -> Vec<Action> {
        match self.screen.size() {
            Ok((columns, rows)) if (columns, rows) != self.state.size => {
                vec![Action::Resize(columns, rows)]
            }
            _ => Vec::new(),
        }
    }

    fn frame(&mut self) -> std::io::Result<()> {
        measure(&mut self.state);
        self.state.dirty = false;
        for job in self.state.transcript.take_jobs() {
            let work = tokio::task::spawn_blocking(move || job.run());
            self.answers.push(async move { work.await.ok().map(Action::Highlighted) }.boxed());
        }
        if let Some(tree) = &self.state.tree
            && let Some(job) = self.state.transcript.take_page_job()
        {
            let reader = tree.reader.clone();
            let work = tokio::task::spawn_blocking(move || job.run(&reader));
            let paged = async move { work.await.ok().map(|paged| Action::Paged(Box::new(paged))) };
            self.answers.push(paged.boxed());
        }
        let title = match &self.state.session.name {
            Some(name) => format!("{name} · harness-tui"),
            None => "harness-tui".to_owned(),
        };
        if title != self.title {
            self.screen.title(&title)?;
            self.title = title;
        }
        let state = &self.state;
        self.screen.draw(|frame| view(state, frame))
    }

    /// The event and all that wait behind it, read directly: one at a time through the stream each
    /// would cost a wake of its reading thread, and a paste would come in as slowly as typing. The
    /// reader is free here, because the stream has just given an event and was not polled since.
    fn take_input(&mut self, first: &Input) -> Vec<Action> {
        let now = SystemClock.now_ms();
        let mut actions: Vec<Action> = self.reader.action(first, now).into_iter().collect();
        while actions.len() < INPUT_BATCH && crossterm::event::poll(DRAIN).is_ok_and(|ready| ready)
        {
            let Ok(event) = crossterm::event::read() else { break };
            actions.extend(self.reader.action(&event, now));
        }
        bursts(actions)
    }

    /// What the engine has ready: input that never pauses must not keep it waiting.
    async fn take_ready(&mut self) -> Vec<Action> {
        let mut actions = match self.events.try_next() {
            Some(update) => self.take_events(Some(update)).await,
            None => Vec::new(),
        };
        while let Poll::Ready(Some(answer)) = futures_util::poll!(self.answers.next()) {
            actions.extend(answer);
        }
        actions
    }

    async fn take_events(&mut self, first: Option<Update>) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut next = first;
        if next.is_none() {
            self.exit = Some(1);
        }
        while let Some(update) = next {
            match update {
                Update::Event(event) => actions.push(Action::Engine(event)),
                Update::Missed(_) => return self.rejoin().await,
            }
            if actions.len() >= BATCH {
                break;
            }
            next = self.events.try_next();
        }
        if actions.iter().any(changes_tree) {
            actions.push(Action::Tree(Box::new(self.handle.tree())));
        }
        actions
    }

    /// Joins from a snapshot. Events that arrive while it is taken may be in it or not, so it is
    /// taken again until none do; those of the last try are told apart by their entries. What an
    /// abort handed back is in no snapshot and is always passed on.
    pub(super) async fn rejoin(&mut self) -> Vec<Action> {
        let mut handed_back = Vec::new();
        self.drain(&mut handed_back);
        for attempt in 1..=JOIN_TRIES {
            let Ok(snapshot) = self.handle.snapshot().await else {
                self.exit = Some(1);
                return Vec::new();
            };
            let late = self.drain(&mut handed_back);
            if late.is_empty() || attempt == JOIN_TRIES {
                let late: Vec<_> = late.into_iter().filter(|e| !covers(&snapshot, e)).collect();
                return std::iter::once(Action::Joined(Box::new(snapshot)))
                    .chain(handed_back.into_iter().chain(late).map(Action::Engine))
                    .collect();
            }
        }
        Vec::new()
    }

    /// Takes all waiting events; those that hand text back go aside.
    fn drain(&mut self, handed_back: &mut Vec<Arc<Event>>) -> Vec<Arc<Event>> {
        let mut late = Vec::new();
        while let Some(update) = self.events.try_next() {
            match update {
                Update::Event(event) if matches!(*event, Event::Abort { .. }) => {
                    handed_back.push(event);
                }
                Update::Event(event) => late.push(event),
                Update::Missed(_) => {}
            }
        }
        late
    }

    /// Applies actions at one time and does what they ask for.
    pub(super) async fn apply(&mut self, actions: impl IntoIterator<Item = Action>) {
        let clock = Action::Clock(SystemClock.now_ms());
        for action in std::iter::once(clock).chain(actions) {
            let effects = update(&mut self.state, action);
            self.perform(effects).await;
        }
    }

    pub(super) async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Err(error) = self.effect(effect).await {
                self.state.tell(format!("{error:#}"));
            }
        }
    }
}

/// Whether the snapshot already shows what the event tells.
fn covers(snapshot: &Snapshot, event: &Event) -> bool {
    let known = |id: &EntryId| snapshot.tree.index().position(id).is_some();
    match event {
        Event::MessageEnd { entry, .. } => known(entry),
        Event::EntryAppended { entry } => known(&entry.id),
        Event::MessageUpdate { .. } | Event::MessageStart { .. } => true,
        _ => false,
    }
}

/// Whether there is something new in the tree.
fn changes_tree(action: &Action) -> bool {
    matches!(action, Action::Engine(event) if matches!(**event, Event::EntryAppended { .. }))
}

/// The next input; never ready while the terminal is lent.
async fn next_input(input: &mut Option<EventStream>) -> Option<std::io::Result<Input>> {
    match input {
        Some(input) => input.next().await,
        None => std::future::pending().await,
    }
}
