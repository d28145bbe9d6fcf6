//! Sending what was written, and what becomes of it when the engine refuses: no text is ever lost,
//! and none is sent twice.

use crate::harness::{Command, ErrorCode, HarnessError, Queued, Reply};
use crate::message::{Part, ThinkingLevel};
use crate::policy::Profile;
use crate::ui::action::{Asked, Effect};
use crate::ui::commands::{Parsed, Slash, Spec, parse};
use crate::ui::keymap::ActionId;
use crate::ui::popup::Popup;
use crate::ui::state::State;
use crate::ui::update::{keys, session};

/// Ids of returned messages that are remembered.
const RETURNED_MAX: usize = 64;

/// Sends the composer's text: a prompt when idle; while a turn runs steering, or a follow-up.
pub(super) fn send(state: &mut State, follow_up: bool) -> Vec<Effect> {
    let text = state.composer.text();
    if text.trim().is_empty() {
        return Vec::new();
    }
    match parse(&text) {
        Parsed::Known(spec, argument) => return command(state, spec, argument),
        Parsed::Unknown(name, nearest) => {
            let offer = match nearest.as_slice() {
                [] => "/help lists them".to_owned(),
                near => format!("did you mean /{}?", near.join(", /")),
            };
            state.tell(format!("no command /{name}; {offer}"));
            return Vec::new();
        }
        Parsed::Text => {}
    }
    if let Some(holder) = &state.session.read_only {
        let text = format!("read-only: {holder}; /new starts your own");
        state.tell(text);
        return Vec::new();
    }
    let text = state.composer.take();
    let message = deliver(state, &text, follow_up);
    vec![Effect::Remember(text), message]
}

/// Sends a text that is not in the composer.
pub(crate) fn send_text(state: &mut State, text: &str) -> Vec<Effect> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    if state.session.read_only.is_some() {
        state.composer.put_before(text);
        return Vec::new();
    }
    state.composer.history.push(text);
    let message = deliver(state, text, false);
    vec![Effect::Remember(text.to_owned()), message]
}

fn deliver(state: &mut State, text: &str, follow_up: bool) -> Effect {
    state.transcript.to_bottom();
    let text = text.to_owned();
    if !state.busy() {
        prompt(state, text, false)
    } else if follow_up {
        queue(Command::FollowUp { text: text.clone() }, &text)
    } else {
        steer(text, false)
    }
}

fn prompt(state: &mut State, text: String, again: bool) -> Effect {
    state.work.sent += 1;
    state.work.since = state.now;
    state.work.failed = false;
    let content = vec![Part::text(text.clone())];
    Effect::Send(Command::Prompt { content }, Asked::Prompt { text, again })
}

fn steer(text: String, again: bool) -> Effect {
    Effect::Send(Command::Steer { text: text.clone() }, Asked::Steer { text, again })
}

fn queue(command: Command, text: &str) -> Effect {
    Effect::Send(command, Asked::Queue { text: text.to_owned() })
}

/// Runs a slash command. A wrong argument leaves the text where it is.
fn command(state: &mut State, spec: &'static Spec, argument: &str) -> Vec<Effect> {
    let change = |command, what| vec![Effect::Send(command, Asked::Change(what))];
    let needs = |state: &mut State| {
        state.tell(format!("/{} needs {}", spec.name, spec.argument));
        Vec::new()
    };
    if spec.argument.starts_with('<') && argument.is_empty() {
        return match spec.slash {
            Slash::Model => accept(state, |state| keys::perform(state, ActionId::Model)),
            Slash::Name => accept(state, |state| keys::perform(state, ActionId::Rename)),
            _ => needs(state),
        };
    }
    let argument = argument.to_owned();
    match spec.slash {
        Slash::Help => accept(state, |state| keys::perform(state, ActionId::Help)),
        Slash::New => accept(state, keys::new_session),
        Slash::Name => accept(state, |_| change(Command::SetName { name: argument }, "name")),
        Slash::Model => {
            accept(state, |_| change(Command::SetModel { reference: argument }, "model"))
        }
        Slash::Thinking => match ThinkingLevel::parse(&argument) {
            Some(level) => {
                accept(state, |_| change(Command::SetThinkingLevel { level }, "thinking level"))
            }
            None => {
                let all = ThinkingLevel::ALL.map(ThinkingLevel::name).join(", ");
                state.tell(format!("no thinking level {argument}; one of {all}"));
                Vec::new()
            }
        },
        Slash::Approval => match Profile::ALL.into_iter().find(|each| each.name() == argument) {
            Some(profile) => {
                accept(state, |_| change(Command::SetApprovalProfile { profile }, "approval"))
            }
            None => {
                let all = Profile::ALL.map(Profile::name).join(", ");
                state.tell(format!("no approval profile {argument}; one of {all}"));
                Vec::new()
            }
        },
        Slash::Tools => accept(state, |state| keys::perform(state, ActionId::Tools)),
        Slash::Queue => accept(state, |state| {
            if state.busy() {
                vec![queue(Command::FollowUp { text: argument.clone() }, &argument)]
            } else {
                vec![prompt(state, argument, false)]
            }
        }),
        Slash::Next => {
            accept(state, |_| vec![queue(Command::NextTurn { text: argument.clone() }, &argument)])
        }
        Slash::Retry => accept(state, |state| keys::perform(state, ActionId::Retry)),
        Slash::Copy => accept(state, keys::copy_answer),
        Slash::Quit => accept(state, keys::quit),
        other => accept(state, |state| session::command(state, other, &argument)),
    }
}

/// Takes the command line out of the composer, then does it.
fn accept(state: &mut State, run: impl FnOnce(&mut State) -> Vec<Effect>) -> Vec<Effect> {
    let line = state.composer.take();
    let mut effects = vec![Effect::Remember(line)];
    effects.extend(run(state));
    effects
}

/// A command was answered.
pub(super) fn answered(
    state: &mut State,
    asked: Asked,
    answer: Result<Reply, HarnessError>,
) -> Vec<Effect> {
    match (asked, answer) {
        (Asked::Prompt { .. }, Ok(reply)) => {
            // The event that the turn began may still be on its way; until then it counts as sent.
            let heard = match &reply {
                Reply::Started { turn } => state.work.turn.as_ref() == Some(turn),
                _ => true,
            };
            if heard {
                state.work.sent = state.work.sent.saturating_sub(1);
            }
        }
        (Asked::Prompt { text, again }, Err(error)) => {
            state.work.sent = state.work.sent.saturating_sub(1);
            if error.code == ErrorCode::Busy && !again {
                return vec![steer(text, true)];
            }
            give_back(state, &text, &error);
        }
        (Asked::Steer { text, again }, Err(error)) => {
            if error.code == ErrorCode::InvalidState && !again {
                return vec![prompt(state, text, true)];
            }
            give_back(state, &text, &error);
        }
        (Asked::Queue { text }, Err(error)) => give_back(state, &text, &error),
        (Asked::Decision { key }, Err(error)) => {
            state.approvals.mark_unsent(&key);
            state.tell(format!("the answer was refused: {error}"));
        }
        (Asked::TakeBack, Ok(Reply::Cleared { queued })) => bring_back(state, &queued),
        (Asked::TakeBack, Err(error)) => state.tell(format!("taking it back failed: {error}")),
        (asked @ (Asked::StoreCompaction | Asked::Fork | Asked::Export), answer) => {
            return session::answered(state, &asked, answer);
        }
        (_, Ok(Reply::Draft(draft))) => crate::ui::compaction::open(state, *draft),
        (_, Ok(Reply::Context(report))) => {
            state.surface.popup = Some(Popup::Context { report, top: 0 });
        }
        (Asked::Change(what), Err(error)) => state.tell(format!("{what}: {error}")),
        (Asked::Change(_), Ok(Reply::Cleared { queued })) => bring_back(state, &queued),
        // Those of the tree are answered there.
        (Asked::Tree(_), _) | (_, Ok(_)) => {}
    }
    Vec::new()
}

fn give_back(state: &mut State, text: &str, error: &HarnessError) {
    state.composer.put_before(text);
    state.tell(format!("not sent: {error}"));
}

/// Puts messages that came out of a queue in front of the draft, each once.
pub(super) fn bring_back(state: &mut State, queued: &[Queued]) {
    let mut texts = Vec::new();
    for message in queued {
        if state.returned.contains(&message.id) {
            continue;
        }
        state.returned.push_back(message.id.clone());
        if state.returned.len() > RETURNED_MAX {
            state.returned.pop_front();
        }
        texts.push(message.text.as_str());
    }
    if !texts.is_empty() {
        state.composer.put_before(&texts.join("\n"));
    }
}
