//! Whether the next request fits, and what is done when it does not: fold once, go on, or say why
//! not.
//!
//! Every way of running in a circle is closed here: compactions that win nothing, summaries that
//! fail, a provider that finds the request too large again and again.

use super::{Effect, Machine, Stage};
use crate::harness::{CompactionReason, Event, Failure};
use crate::message::{AssistantMessage, Message, Partial, StopReason};
use crate::providers::{ErrorKind, ProviderError};
use crate::session::{Body, Flush};

/// Failing compactions in a row after which none begins by itself until a person acts.
const MAX_FAILURES: u32 = 2;
/// A compaction has to win at least this share of the limit, or it is not worth its request.
const USEFUL_SHARE: u64 = 10;
/// An answer of nothing counts as "no room" when the request filled this much of the window.
const FULL_PERCENT: u64 = 99;

/// The size of a request that is about to go out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::harness) struct Size {
    pub(in crate::harness) tokens: u64,
    /// No provider has counted any of it.
    pub(in crate::harness) estimated: bool,
    /// What no folding makes smaller.
    pub(in crate::harness) fixed: u64,
    /// Of the model; 0 when nobody knows.
    pub(in crate::harness) window: u64,
    /// The window is a guess.
    pub(in crate::harness) guessed: bool,
    /// Above this it is time; `None` when nobody knows.
    pub(in crate::harness) limit: Option<u64>,
    /// Tokens that folding would replace by a summary; looked at only above the limit.
    pub(in crate::harness) gain: u64,
    pub(in crate::harness) enabled: bool,
    /// A person wants to see summaries first.
    pub(in crate::harness) preview: bool,
}

/// A compaction that is ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) struct Folded {
    pub(in crate::harness) body: Body,
    pub(in crate::harness) tokens_before: u64,
    pub(in crate::harness) tokens_after: u64,
}

/// What is remembered of compactions that came to nothing.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Guard {
    /// In a row.
    failures: u32,
    /// The size after the last one, when it won too little.
    useless: Option<u64>,
}

/// A compaction inside a turn.
#[derive(Debug, Clone)]
pub(super) struct Folding {
    pub(super) job: u64,
    pub(super) reason: CompactionReason,
    size: Size,
    /// The attempt that the provider found too large; told only when nothing helps.
    refused: Option<(Box<AssistantMessage>, Failure)>,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Send,
    /// It is over the limit and fits all the same; worth a word.
    SendWith(String),
    Fold,
    /// A person decides.
    Pause(String),
    Refuse(String),
}

impl Guard {
    /// A person has acted: what failed may be tried once more.
    pub(super) fn relent(&mut self) {
        self.failures = self.failures.min(MAX_FAILURES - 1);
    }

    fn verdict(self, size: &Size) -> Verdict {
        let Some(limit) = size.limit.filter(|limit| size.enabled && size.tokens > *limit) else {
            return Verdict::Send;
        };
        let worth = (limit / USEFUL_SHARE).max(1);
        // One that won too little is followed by another only when the conversation has grown, and
        // never when it is not the conversation that fills the window.
        let again = |after: u64| size.fixed <= limit && size.tokens >= after.saturating_add(worth);
        let useful = size.gain >= worth && self.useless.is_none_or(again);
        // A guess may be wrong, and only the provider knows better.
        let fits = size.tokens <= size.window || (size.guessed && size.estimated);
        let (tokens, window) = (size.tokens, size.window);
        if useful && !size.preview && self.failures < MAX_FAILURES {
            return Verdict::Fold;
        }
        if useful && size.preview {
            let text = format!(
                "the context is at {tokens} of {window} tokens: /compact folds the older part"
            );
            return if fits { Verdict::SendWith(text) } else { Verdict::Pause(text) };
        }
        let fixed = size.fixed;
        let stays = tokens.saturating_sub(fixed).saturating_sub(size.gain);
        let text = format!(
            "the context is at {tokens} of {window} tokens and folding would not help: fixed \
             overhead (system prompt and tools) is {fixed} of {window} tokens, the newest messages \
             are {stays}"
        );
        if fits { Verdict::SendWith(text) } else { Verdict::Refuse(text) }
    }

    fn folded(&mut self, folded: &Folded, limit: Option<u64>) {
        self.failures = 0;
        let won = folded.tokens_before.saturating_sub(folded.tokens_after);
        let worth = limit.map_or(1, |limit| limit / USEFUL_SHARE);
        let too_little = won < worth || limit.is_some_and(|limit| folded.tokens_after > limit);
        self.useless = too_little.then_some(folded.tokens_after);
    }
}

impl Machine {
    /// The request that is about to go out has been measured.
    pub(super) fn measured(&mut self, request: u64, size: Size, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        if !matches!(&turn.stage, Stage::Requesting { request: current, .. } if *current == request)
        {
            return;
        }
        turn.size = size;
        match self.guard.verdict(&size) {
            Verdict::Send => effects.push(Effect::Send { request }),
            Verdict::SendWith(text) => {
                if !std::mem::replace(&mut turn.warned, true) {
                    effects.push(Effect::Emit(Event::Notice { text }));
                }
                effects.push(Effect::Send { request });
            }
            Verdict::Fold => self.fold(CompactionReason::Threshold, None, effects),
            Verdict::Pause(text) => {
                let text = format!("{text}; then /retry goes on");
                self.pause("compaction", &text, effects);
            }
            Verdict::Refuse(text) => self.fail(Failure::of_overflow(text), effects),
        }
    }

    fn fold(
        &mut self,
        reason: CompactionReason,
        refused: Option<(Box<AssistantMessage>, Failure)>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        self.jobs += 1;
        let job = self.jobs;
        turn.stage = Stage::Folding(Folding { job, reason, size: turn.size, refused });
        effects.push(Effect::Emit(Event::CompactionStart { reason }));
        effects.push(Effect::Fold { job, reason });
    }

    /// The provider finds the request too large: once a user message, the conversation is folded
    /// and the request made again; the failed attempt is dropped. `false` when that was done before
    /// or is switched off.
    pub(super) fn overflowed(
        &mut self,
        error: &ProviderError,
        now: i64,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let Some(turn) = &mut self.turn else { return false };
        if error.kind != ErrorKind::Overflow || turn.overflowed || !turn.size.enabled {
            return false;
        }
        let Stage::Requesting { partial, .. } = &turn.stage else { return false };
        let partial = partial.clone();
        turn.overflowed = true;
        if !partial.is_empty() {
            effects.push(Effect::Emit(Event::MessageDiscarded));
        }
        let failure = Failure::of_provider(error);
        let attempt = self.unfinished(&partial, StopReason::Error, &failure.message, now);
        self.fold(CompactionReason::Overflow, Some((Box::new(attempt), failure)), effects);
        true
    }

    /// An answer of nothing at the very end of the window is an overflow that says nothing; where the
    /// window is not known, any such answer is.
    pub(super) fn silent_overflow(&self, message: &AssistantMessage) -> Option<ProviderError> {
        let Size { window, guessed, .. } = self.turn.as_ref()?.size;
        let usage = &message.usage;
        let sent = usage.input + usage.cache_read + usage.cache_write;
        let is_unknown = window == 0 || guessed;
        let is_full = is_unknown || sent.saturating_mul(100) >= window.saturating_mul(FULL_PERCENT);
        let says_nothing = message.content.is_empty() && usage.output == 0;
        (message.stop_reason == StopReason::Length && says_nothing && is_full).then(|| {
            ProviderError {
                kind: ErrorKind::Overflow,
                message: if is_unknown {
                    "the answer was cut off before its first word: the request seems to fill the window".to_owned()
                } else {
                    format!("the request filled the window ({sent} of {window} tokens) and left no room for an answer")
                },
                status: None,
                retry_after: None,
            }
        })
    }

    /// The compaction of the turn has an end. Late ones are looked past.
    pub(super) fn compacted(
        &mut self,
        job: u64,
        outcome: Result<Box<Folded>, Failure>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(turn) = &mut self.turn else { return };
        let folding = match &turn.stage {
            Stage::Folding(folding) if folding.job == job => folding.clone(),
            _ => return,
        };
        match outcome {
            Ok(folded) => {
                self.guard.folded(&folded, folding.size.limit);
                let Folded { body, tokens_before, tokens_after } = *folded;
                effects.push(Effect::Append { bodies: vec![body], flush: Flush::Sync });
                effects.push(Effect::EndFold {
                    reason: folding.reason,
                    tokens_before,
                    tokens_after,
                    error: None,
                    aborted: false,
                });
                self.request_again(effects);
            }
            Err(failure) => self.not_compacted(folding, failure, effects),
        }
    }

    fn not_compacted(&mut self, folding: Folding, failure: Failure, effects: &mut Vec<Effect>) {
        self.guard.failures += 1;
        let record = crate::session::journal::notice("compaction", &failure.message);
        effects.push(Effect::Append { bodies: vec![record], flush: Flush::Lazy });
        effects.push(end_of(&folding, Some(failure.clone()), false));
        if let Some((attempt, overflow)) = folding.refused {
            let body = self.message_body(Message::Assistant(*attempt), None);
            effects.push(Effect::Append { bodies: vec![body], flush: Flush::Lazy });
            effects.push(Effect::EndStep);
            self.fail(overflow, effects);
        } else if folding.size.tokens <= folding.size.window {
            // It still fits: a failed courtesy stops nobody.
            effects.push(Effect::Emit(Event::Notice {
                text: format!("the older part could not be folded: {}", failure.message),
            }));
            self.requests += 1;
            let request = self.requests;
            if let Some(turn) = &mut self.turn {
                turn.stage = Stage::Requesting { request, attempt: 0, partial: Partial::default() };
            }
            effects.push(Effect::Send { request });
        } else {
            self.fail(failure, effects);
        }
    }

    /// Stops the compaction of the turn; what it would have said comes too late.
    pub(super) fn cancel_fold(&mut self, folding: Folding, effects: &mut Vec<Effect>) {
        effects.push(Effect::CancelJob);
        effects.push(end_of(&folding, None, true));
        if let Some((attempt, _)) = folding.refused {
            let body = self.message_body(Message::Assistant(*attempt), None);
            effects.push(Effect::Append { bodies: vec![body], flush: Flush::Lazy });
            effects.push(Effect::EndStep);
        }
        self.finish_stopped(effects);
    }

    fn request_again(&mut self, effects: &mut Vec<Effect>) {
        self.requests += 1;
        let request = self.requests;
        let Some(turn) = &mut self.turn else { return };
        turn.stage = Stage::Requesting { request, attempt: 0, partial: Partial::default() };
        effects.push(Effect::Request { request });
    }

    /// A person had the conversation folded: what came to nothing before counts no more.
    pub(in crate::harness) fn forgive(&mut self) {
        self.guard = Guard::default();
    }
}

pub(super) fn end_of(folding: &Folding, error: Option<Failure>, aborted: bool) -> Effect {
    Effect::EndFold {
        reason: folding.reason,
        tokens_before: folding.size.tokens,
        tokens_after: folding.size.tokens,
        error,
        aborted,
    }
}
