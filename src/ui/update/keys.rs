//! Keys: which place they belong to, and what each action does.

use crate::harness::{Command, QueueKind, Scope, Which};
use crate::message::ThinkingLevel;
use crate::policy::Profile;
use crate::ui::action::{Asked, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::composer::{Burst, EnterMeans};
use crate::ui::keymap::{ActionId, Place};
use crate::ui::line_input::LineInput;
use crate::ui::popup::{Popup, Question};
use crate::ui::state::{Focus, QUIT_AGAIN_MS, State, Tab};
use crate::ui::update::{clock, decide, overlay, submit, tree};

/// A key was pressed.
pub(super) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    if chord.key != Key::Esc {
        state.surface.tree.armed_until = None;
    }
    let mut effects = Vec::new();
    if chord.typed().is_none() && chord.key != Key::Enter {
        if state.composer.burst.settle(None) {
            effects.extend(submit::send(state, false));
        }
        // A key that is no text ends a paste.
        state.composer.burst = Burst::default();
    }
    effects.extend(route(state, chord));
    effects
}

fn route(state: &mut State, chord: Chord) -> Vec<Effect> {
    if state.surface.leader {
        return leader(state, chord);
    }
    if state.areas.too_small && chord.key == Key::Esc {
        return perform(state, ActionId::Escape);
    }
    if state.surface.popup.is_some() {
        return overlay::key(state, chord);
    }
    if state.keymap.is_leader(chord) {
        state.surface.leader = true;
        return Vec::new();
    }
    if state.surface.focus == Focus::Approval {
        return decide::key(state, chord);
    }
    if state.surface.focus == Focus::Tree {
        return tree::key(state, chord);
    }
    if state.surface.focus == Focus::Tools {
        let found = state.keymap.find(Place::Tools, chord);
        let found = found.or_else(|| state.keymap.find(Place::Everywhere, chord));
        return found.map_or_else(Vec::new, |id| perform(state, id));
    }
    composer(state, chord)
}

/// The key after the leader.
fn leader(state: &mut State, chord: Chord) -> Vec<Effect> {
    state.surface.leader = false;
    if chord.key == Key::Esc || state.keymap.is_leader(chord) {
        return Vec::new();
    }
    match state.keymap.after_leader(chord) {
        Some(id) => {
            state.surface.popup = None;
            perform(state, id)
        }
        None => {
            state.tell(format!("ctrl+x {} does nothing", chord.name()));
            Vec::new()
        }
    }
}

fn composer(state: &mut State, chord: Chord) -> Vec<Effect> {
    if let Some(c) = chord.typed() {
        if c == '?' && state.composer.is_empty() {
            return perform(state, ActionId::Help);
        }
        if state.composer.burst.typed(state.now) {
            state.composer.newline();
        }
        state.composer.type_char(c);
        return Vec::new();
    }
    if chord == Chord::plain(Key::Enter) {
        return enter(state);
    }
    let found = state.keymap.find(Place::Composer, chord);
    let found = found.or_else(|| state.keymap.find(Place::Everywhere, chord));
    found.map_or_else(Vec::new, |id| perform(state, id))
}

fn enter(state: &mut State) -> Vec<Effect> {
    if state.composer.backslash_newline() {
        return Vec::new();
    }
    match state.composer.burst.enter(state.now) {
        EnterMeans::Send => return submit::send(state, false),
        EnterMeans::Wait => {}
        EnterMeans::Newline => state.composer.newline(),
    }
    Vec::new()
}

/// Text that came in one read is put in as a whole, where it would be typed; line ends at its end are
/// keys, because a program may type and send in one go.
pub(super) fn burst(state: &mut State, chords: &[Chord]) -> Vec<Effect> {
    let surface = &state.surface;
    let composing = surface.focus == Focus::Composer && surface.popup.is_none() && !surface.leader;
    if !composing || state.areas.too_small {
        return chords.iter().flat_map(|chord| key(state, *chord)).collect();
    }
    let end = chords.iter().rposition(|chord| chord.typed().is_some()).map_or(0, |at| at + 1);
    let (text, line_ends) = chords.split_at(end);
    let mut whole = String::with_capacity(text.len() + 1);
    if state.composer.burst.typed(state.now) {
        whole.push('\n');
    }
    whole.extend(text.iter().map(|chord| chord.typed().unwrap_or('\n')));
    state.composer.burst.pasted(text.len(), whole.matches('\n').count());
    state.composer.paste(&whole);
    line_ends.iter().flat_map(|chord| key(state, *chord)).collect()
}

/// A marked paste goes where text is being written, else into the composer.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    state.surface.leader = false;
    let mut effects =
        if state.composer.burst.settle(None) { submit::send(state, false) } else { Vec::new() };
    if state.surface.popup.is_some() {
        effects.extend(overlay::paste(state, text));
    } else if let Some(message) = &mut state.approvals.message {
        message.insert(text);
    } else if !tree::paste(state, text) {
        state.surface.focus = Focus::Composer;
        state.composer.paste(text);
    }
    effects
}

/// Does an action.
pub(super) fn perform(state: &mut State, id: ActionId) -> Vec<Effect> {
    state.dirty = true;
    match id {
        ActionId::Send => return submit::send(state, false),
        ActionId::FollowUp => return submit::send(state, true),
        ActionId::Newline => state.composer.newline(),
        ActionId::Complete => complete(state),
        ActionId::Up => {
            if !state.composer.edit(id) {
                state.composer.earlier();
            }
        }
        ActionId::Down => {
            if !state.composer.edit(id) {
                state.composer.later();
            }
        }
        ActionId::HistorySearch => overlay::open_search(state),
        ActionId::ExternalEditor => return vec![Effect::Edit(state.composer.text())],
        ActionId::Stash => {
            let Some(said) = state.composer.stash() else { return Vec::new() };
            state.tell(said);
            let stash = state.composer.stashed().map(str::to_owned);
            return vec![Effect::SaveStash(stash)];
        }
        ActionId::Escape => return escape(state),
        ActionId::Interrupt => return interrupt(state),
        ActionId::EndOfInput => {
            if state.composer.is_empty() {
                return quit(state);
            }
            state.composer.edit(ActionId::DeleteForward);
        }
        ActionId::Redraw => return vec![Effect::Redraw],
        ActionId::Suspend => return vec![Effect::Suspend],
        ActionId::Quit => return quit(state),
        ActionId::Abort | ActionId::StopTurn => return abort(state),
        ActionId::InTree(key) => return tree::perform(state, key),
        _ if state.composer.edit(id) => {}
        _ => return look(state, id),
    }
    Vec::new()
}

/// The actions that change what is looked at.
fn look(state: &mut State, id: ActionId) -> Vec<Effect> {
    match id {
        ActionId::FoldTools => state.transcript.toggle_tools(),
        ActionId::FoldThinking => state.transcript.toggle_thinking(),
        ActionId::PageUp => state.transcript.page(-1),
        ActionId::PageDown => state.transcript.page(1),
        ActionId::Top => state.transcript.to_top(),
        ActionId::Bottom => state.transcript.to_bottom(),
        ActionId::PreviousPrompt => state.transcript.previous_prompt(),
        ActionId::NextPrompt => state.transcript.next_prompt(),
        ActionId::Palette => {
            state.surface.popup = Some(Popup::Palette { query: LineInput::default(), selected: 0 });
        }
        ActionId::Help => state.surface.popup = Some(Popup::Help { top: 0 }),
        ActionId::Conversation => {
            (state.surface.tab, state.surface.focus) = (Tab::Conversation, Focus::Composer);
        }
        ActionId::Tree => tree::toggle(state),
        ActionId::Tools => toggle_tools(state),
        ActionId::NextPane => next_pane(state),
        ActionId::NeedsAnswer => focus_card(state),
        ActionId::Model => ask(state, Question::Model),
        ActionId::Rename => ask(state, Question::Name),
        _ => return change(state, id),
    }
    Vec::new()
}

/// The actions that ask the engine for something.
fn change(state: &mut State, id: ActionId) -> Vec<Effect> {
    match id {
        ActionId::ThinkingLevel => {
            let all = ThinkingLevel::ALL;
            let at = all.iter().position(|level| *level == state.session.thinking).unwrap_or(0);
            let level = all[(at + 1) % all.len()];
            vec![Effect::Send(Command::SetThinkingLevel { level }, Asked::Change("thinking level"))]
        }
        ActionId::Approval => {
            let all = Profile::ALL;
            let at = all.iter().position(|each| *each == state.session.profile).unwrap_or(0);
            let profile = all[(at + 1) % all.len()];
            vec![Effect::Send(
                Command::SetApprovalProfile { profile },
                Asked::Change("approval profile"),
            )]
        }
        ActionId::NewSession => new_session(state),
        ActionId::Resume => crate::ui::sessions::open(state, Scope::Folder),
        ActionId::Fork => {
            crate::ui::forks::open(state);
            Vec::new()
        }
        ActionId::Compact => draft_compaction(state, None),
        ActionId::Context => vec![Effect::Send(Command::ReportContext, Asked::Change("context"))],
        ActionId::Copy => copy_answer(state),
        ActionId::TakeQueue => take_queue(state),
        ActionId::Retry => vec![Effect::Send(Command::Retry, Asked::Change("retry"))],
        _ => list(state, id),
    }
}

/// The keys of the tools pane and of the card.
fn list(state: &mut State, id: ActionId) -> Vec<Effect> {
    match id {
        ActionId::ListUp => state.tools.select(-1),
        ActionId::ListDown => state.tools.select(1),
        ActionId::ListFirst => state.tools.select(i64::MIN),
        ActionId::ListLast => state.tools.select(i64::MAX),
        ActionId::ListFollow => state.tools.select(i64::MAX),
        ActionId::ListOpen => {
            if let Some(run) = state.tools.selected_run() {
                run.opened = !run.opened;
            }
        }
        ActionId::ListCopy => {
            let output = state.tools.selected_run().map(|run| run.output.to_string());
            return output.map_or_else(Vec::new, |text| vec![Effect::Copy(text)]);
        }
        ActionId::ListToComposer => {
            let command = state.tools.selected_run().and_then(|run| run.command.clone());
            match command {
                Some(command) => {
                    state.composer.put_before(&command);
                    state.surface.focus = Focus::Composer;
                }
                None => state.tell("this call has no command line"),
            }
        }
        _ => return decide::perform(state, id),
    }
    Vec::new()
}

fn complete(state: &mut State) {
    if state.composer.is_empty() && state.approvals.open() > 0 {
        focus_card(state);
    } else if let Some(text) = crate::ui::commands::complete(&state.composer.shown()) {
        state.composer.put(&text);
    }
}

fn focus_card(state: &mut State) {
    if state.approvals.open() == 0 {
        state.tell("nothing needs an answer");
    } else {
        state.surface.focus = Focus::Approval;
    }
}

fn toggle_tools(state: &mut State) {
    let narrow = state.size.0 < crate::ui::layout::MEDIUM;
    if state.surface.focus == Focus::Tools {
        state.surface.focus = Focus::Composer;
        state.surface.tab = Tab::Conversation;
        state.tools_open = Some(false);
    } else {
        state.surface.focus = Focus::Tools;
        state.surface.tab = if narrow { Tab::Tools } else { state.surface.tab };
        state.tools_open = Some(true);
    }
}

fn next_pane(state: &mut State) {
    let narrow = state.size.0 < crate::ui::layout::MEDIUM;
    match state.surface.focus {
        Focus::Composer if narrow || state.areas.tree.width > 0 => tree::show(state),
        Focus::Composer | Focus::Tree if narrow || state.areas.tools.width > 0 => {
            state.surface.focus = Focus::Tools;
            state.surface.tab = Tab::Tools;
        }
        _ => {
            state.surface.focus = Focus::Composer;
            state.surface.tab = Tab::Conversation;
        }
    }
}

fn ask(state: &mut State, what: Question) {
    let input = match what {
        Question::Model => LineInput::new(&state.session.model),
        Question::Name => LineInput::new(state.session.name.as_deref().unwrap_or_default()),
    };
    state.surface.popup = Some(Popup::Ask { what, input });
}

/// Opens a new session; a running turn must be stopped first, it would be lost from sight.
pub(super) fn new_session(state: &mut State) -> Vec<Effect> {
    if state.busy() {
        state.tell("a turn runs here; esc stops it, then open a new session");
        return Vec::new();
    }
    clock::save_draft(state).into_iter().chain([Effect::Open(Which::New)]).collect()
}

/// Asks for a summary of the older part, to be looked at before it is stored.
pub(super) fn draft_compaction(state: &mut State, instructions: Option<String>) -> Vec<Effect> {
    if state.busy() {
        state.tell("something runs here; compact when it is done, or esc stops it");
        return Vec::new();
    }
    let command = Command::DraftCompaction { instructions, up_to: None };
    vec![Effect::Send(command, Asked::Change("compaction"))]
}

/// Copies the last answer.
pub(super) fn copy_answer(state: &mut State) -> Vec<Effect> {
    match state.transcript.last_answer() {
        Some(text) => vec![Effect::Copy(text)],
        None => {
            state.tell("no answer to copy yet");
            Vec::new()
        }
    }
}

/// Takes every waiting message back into the composer.
pub(super) fn take_queue(state: &mut State) -> Vec<Effect> {
    if state.queue.is_empty() {
        state.tell("nothing is queued");
    }
    let ids =
        state.queue.iter().filter(|queued| queued.kind != QueueKind::NextTurn || !state.busy());
    // Each goes in front of what is there, so the last is asked for first.
    ids.rev()
        .map(|queued| Effect::Send(Command::Dequeue { id: queued.id.clone() }, Asked::TakeBack))
        .collect()
}

fn escape(state: &mut State) -> Vec<Effect> {
    if state.surface.popup.is_some() {
        overlay::close(state);
    } else if state.surface.focus == Focus::Tree {
        return tree::escape(state);
    } else if state.surface.focus != Focus::Composer || state.surface.tab != Tab::Conversation {
        state.surface.focus = Focus::Composer;
        state.surface.tab = Tab::Conversation;
    } else if state.busy() {
        return abort(state);
    } else if state.composer.is_empty() {
        tree::arm(state);
    }
    Vec::new()
}

/// Stops what runs.
pub(super) fn abort(state: &mut State) -> Vec<Effect> {
    if !state.busy() {
        state.tell("nothing runs");
        return Vec::new();
    }
    vec![Effect::Send(Command::Abort { by: "user".into() }, Asked::Change("stop"))]
}

fn interrupt(state: &mut State) -> Vec<Effect> {
    if state.surface.popup.is_some() {
        overlay::close(state);
        return Vec::new();
    }
    state.surface.focus = Focus::Composer;
    if !state.composer.is_empty() {
        let text = state.composer.take();
        state.tell("cleared; up brings it back");
        return vec![Effect::Remember(text)];
    }
    if state.busy() {
        return abort(state);
    }
    if state.surface.quit_until.is_some_and(|until| state.now < until) {
        return leave(state, 0);
    }
    state.surface.quit_until = Some(state.now.saturating_add(QUIT_AGAIN_MS));
    Vec::new()
}

/// Leaves, or asks first while a turn runs.
pub(super) fn quit(state: &mut State) -> Vec<Effect> {
    if state.busy() {
        state.surface.popup = Some(Popup::ConfirmQuit);
        return Vec::new();
    }
    leave(state, 0)
}

/// Keeps the draft and leaves.
pub(super) fn leave(state: &mut State, code: i32) -> Vec<Effect> {
    state.surface.leaving = true;
    clock::save_draft(state).into_iter().chain([Effect::Quit(code)]).collect()
}
