//! What the engine says: the transcript takes every event, and here the rest of the screen does.

use std::sync::Arc;

use crate::harness::{Event, HarnessError, Phase, Snapshot, TurnStatus};
use crate::message::SessionId;
use crate::session::{Tail, TreeView};
use crate::ui::action::Effect;
use crate::ui::state::{Focus, SessionFacts, State, Tokens, Work};
use crate::ui::transcript::{Older, Transcript};
use crate::ui::update::{submit, tree_ask};

/// Shows the end of a session while it is being opened.
pub(super) fn opening(state: &mut State, tail: Tail) -> Vec<Effect> {
    let older = if tail.is_whole { Older::Nothing } else { Older::Unknown };
    state.transcript.load_end(&tail.entries, older);
    tree_ask::joined(state, TreeView::default(), true);
    state.tree = None;
    state.returned.clear();
    state.queue.clear();
    state.approvals.set(Vec::new());
    state.tools.clear();
    state.draft.saved = state.composer.revision();
    state.session = SessionFacts {
        id: tail.header.id.as_str().to_owned(),
        path: Some(tail.path),
        opening: true,
        stored: true,
        ..SessionFacts::default()
    };
    state.work = Work::default();
    Vec::new()
}

/// A session has been opened, or not; one that is not waited for any more does not count.
pub(super) fn opened(
    state: &mut State,
    id: &SessionId,
    result: Result<(), HarnessError>,
) -> Vec<Effect> {
    if !state.session.opening || state.session.id != id.as_str() {
        return Vec::new();
    }
    match result {
        Ok(()) => vec![Effect::Rejoin],
        Err(error) => vec![Effect::GoBack(error)],
    }
}

/// Takes over the state of an engine.
pub(super) fn join(state: &mut State, snapshot: Snapshot) -> Vec<Effect> {
    let other = state.session.id != snapshot.session.as_str();
    if other {
        state.returned.clear();
        state.draft.saved = state.composer.revision();
    }
    let was_opening = state.session.opening && !other;
    show(&mut state.transcript, &snapshot, was_opening);
    state.tools.join(&snapshot.running);
    for held in &snapshot.held {
        state.tools.held(&held.key, &held.tool, &held.arguments, &held.summary, held.since);
    }
    state.session = facts_of(&snapshot, state.transcript.is_empty());
    state.approvals.set(snapshot.held);
    state.queue = snapshot.queue;
    put_carried(state);
    tree_ask::joined(state, snapshot.tree, other || was_opening);
    for text in snapshot.notices {
        state.transcript.apply(&Event::Notice { text });
    }
    state.work = Work {
        phase: snapshot.phase,
        turn: snapshot.turn,
        step: snapshot.step,
        max: snapshot.max_turns,
        since: state.now,
        ..Work::default()
    };
    if state.surface.focus == Focus::Approval {
        state.surface.focus = Focus::Composer;
    }
    Vec::new()
}

/// What a snapshot says about the session. `untouched`: nothing is shown of it.
fn facts_of(snapshot: &Snapshot, untouched: bool) -> SessionFacts {
    SessionFacts {
        id: snapshot.session.as_str().to_owned(),
        path: snapshot.path.clone(),
        name: snapshot.name.clone(),
        read_only: snapshot.read_only.clone(),
        model: snapshot.model.clone(),
        model_known: snapshot.model_known,
        thinking: snapshot.thinking,
        profile: snapshot.profile,
        tokens: Tokens {
            window: snapshot.context_window,
            context: snapshot.context_tokens,
            estimated: snapshot.context_estimated,
            input: snapshot.input,
            output: snapshot.output,
            cache_read: snapshot.cache_read,
            cost: snapshot.cost,
        },
        opening: false,
        stored: snapshot.tree.leaf.is_some() || !snapshot.branch.is_empty(),
        untouched,
    }
}

/// Shows the end of the branch and what is under way. What stands there since it was opened stays
/// where it is.
fn show(transcript: &mut Transcript, snapshot: &Snapshot, was_opening: bool) {
    let older = Older::from(snapshot.older);
    if !was_opening || !transcript.go_on(&snapshot.branch, older) {
        transcript.load_end(&snapshot.branch, older);
    }
    transcript.resume_partial(&snapshot.partial);
    transcript.resume_running(&snapshot.running);
    transcript.resume_held(&snapshot.held);
}

/// What a fork stopped in front of, or a prompt that had to wait, once its session is open.
fn put_carried(state: &mut State) {
    let path = state.session.path.clone();
    if let Some((_, text)) = state.surface.carried.take_if(|(to, _)| path.as_ref() == Some(to)) {
        state.composer.put_before(&text);
    }
}

/// The tree has grown.
pub(super) fn tree(state: &mut State, tree: TreeView) {
    state.dirty |= state.surface.tree.open;
    tree_ask::joined(state, tree, false);
}

/// An event. Marks the state dirty only when something visible changed.
pub(super) fn event(state: &mut State, event: &Arc<Event>) -> Vec<Effect> {
    let shown = state.transcript.apply(event);
    let changed = turn(state, event) || call(state, event) || facts(state, event);
    state.dirty |= shown || changed;
    state.session.untouched &= !shown;
    let calls_back =
        matches!(**event, Event::TurnCompleted { .. } | Event::ApprovalRequested { .. });
    let mut effects = Vec::new();
    if matches!(**event, Event::SessionTree { .. }) {
        effects.push(Effect::Rejoin);
    }
    if matches!(**event, Event::Settled) {
        effects.extend(tree_ask::settled(state));
    }
    if calls_back && !state.terminal_focused {
        effects.push(Effect::Bell);
    }
    if matches!(**event, Event::EntryAppended { .. }) && !state.session.stored {
        // From now on the draft belongs to the session.
        effects.push(Effect::SaveDraft { session: state.draft_key(), text: String::new() });
        state.session.stored = true;
        state.draft.saved = u64::MAX;
    }
    effects
}

fn turn(state: &mut State, event: &Event) -> bool {
    let now = state.now;
    let work = &mut state.work;
    match event {
        Event::TurnStarted { turn, .. } => {
            *work = Work {
                phase: Phase::Turn,
                turn: Some(turn.clone()),
                since: now,
                ..Work::default()
            };
            state.tools.clear();
        }
        Event::TurnCompleted { status, error, .. } => {
            work.failed =
                *status == TurnStatus::Failed && error.as_ref().is_none_or(|error| error.retryable);
            (work.phase, work.waiting, work.retry) = (Phase::Idle, None, None);
            state.tools.settle(now);
            state.approvals.set(Vec::new());
        }
        Event::Settled => (work.phase, work.waiting, work.retry) = (Phase::Idle, None, None),
        Event::TurnStart { step, max } => {
            (work.step, work.max, work.since, work.heard) = (*step, *max, now, 0);
        }
        Event::RequestWaiting { waiting, model } => {
            if work.waiting.is_none() {
                work.since = now;
            }
            work.waiting = Some((*waiting, model.clone()));
        }
        Event::MessageUpdate { .. } => {
            work.heard = now;
            return work.waiting.take().is_some();
        }
        Event::MessageStart { .. } | Event::MessageEnd { .. } => return false,
        Event::RetryScheduled { attempt, max_attempts, delay_ms, .. } => {
            let delay = i64::try_from(*delay_ms).unwrap_or(i64::MAX);
            work.phase = Phase::Retry;
            work.waiting = None;
            work.retry = Some((*attempt, *max_attempts, now.saturating_add(delay)));
        }
        Event::RetryAttemptStart { .. } | Event::RetryFinished => {
            work.tries_again();
            (work.retry, work.since) = (None, now);
        }
        Event::CompactionStart { .. } => work.summarises(Phase::Compaction, now),
        Event::BranchSummaryStart { .. } => work.summarises(Phase::BranchSummary, now),
        Event::SummaryProgress { part, parts } => {
            if let Some(summary) = &mut work.summary {
                summary.part = Some((*part, *parts));
            }
        }
        Event::CompactionEnd { .. } | Event::BranchSummaryEnd { .. } => work.summarised(now),
        Event::Abort { cleared } => submit::bring_back(state, cleared),
        _ => return false,
    }
    true
}

fn call(state: &mut State, event: &Event) -> bool {
    let now = state.now;
    match event {
        Event::ToolExecutionStart { key, tool_name, args, summary, .. } => {
            (state.work.since, state.work.waiting) = (now, None);
            state.tools.started(key, tool_name, args, summary, now);
        }
        Event::ToolExecutionUpdate { key, partial_result } => {
            state.tools.updated(key, partial_result);
            return state.areas.tools.width > 0;
        }
        Event::ToolExecutionEnd { key, result, is_error, .. } => {
            state.tools.ended(key, result, *is_error, now);
        }
        Event::ApprovalRequested { held } => {
            state.work.since = now;
            state.tools.held(&held.key, &held.tool, &held.arguments, &held.summary, now);
            state.approvals.add(Arc::clone(held));
        }
        Event::ApprovalResolved { key, allowed } => {
            state.tools.answered(key, *allowed, now);
            state.approvals.remove(key);
        }
        _ => return false,
    }
    true
}

fn facts(state: &mut State, event: &Event) -> bool {
    let session = &mut state.session;
    match event {
        Event::QueueUpdate { queue } => state.queue.clone_from(queue),
        Event::ModelUpdate { model, context_window, known } => {
            session.model.clone_from(model);
            session.tokens.window = *context_window;
            session.model_known = *known;
        }
        Event::ThinkingLevelUpdate { level } => session.thinking = *level,
        Event::ApprovalProfileUpdate { profile } => session.profile = *profile,
        Event::UsageUpdate { context_tokens, estimated, input, output, cache_read, cost } => {
            session.tokens = Tokens {
                window: session.tokens.window,
                context: *context_tokens,
                estimated: *estimated,
                input: *input,
                output: *output,
                cache_read: *cache_read,
                cost: *cost,
            };
        }
        Event::EntryAppended { entry } => {
            let crate::session::Body::SessionInfo { name } = &entry.body else { return false };
            session.name.clone_from(name);
        }
        _ => return false,
    }
    true
}
