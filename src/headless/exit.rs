//! From a turn's end to an exit code. The numbers are fixed: scripts depend on them.

use crate::harness::{Event, TurnStatus};
use crate::session::journal::Record;

/// How a headless run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The answer is complete, or the step cap ended it with a notice.
    Done,
    /// The turn failed, was cut off by the output limit, or was cancelled.
    Failed,
    /// No usable model, or the key was refused.
    NoModel,
    /// Something needed an approval that nobody could give.
    NeedsApproval,
    /// Another instance holds the session.
    Held,
    /// The reader of the output went away.
    Closed,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Done | Self::Closed => 0,
            Self::Failed => 1,
            Self::NoModel => 4,
            Self::NeedsApproval => 5,
            Self::Held => 75,
        }
    }
}

/// Collects what the code depends on.
#[derive(Debug, Default)]
pub(super) struct Watch {
    end: Option<(TurnStatus, Option<String>, bool)>,
    refused: bool,
    settled: bool,
}

impl Watch {
    pub(super) fn see(&mut self, event: &Event) {
        match event {
            Event::EntryAppended { entry } => {
                if let Some(Record::Denied { scope, .. }) = Record::of(entry) {
                    self.refused |= scope == "unattended";
                }
            }
            Event::TurnCompleted { status, reason, error, .. } => {
                let auth = error.as_ref().is_some_and(|failure| failure.kind == "auth");
                self.end = Some((*status, reason.clone(), auth));
            }
            Event::Settled => self.settled = true,
            _ => {}
        }
    }

    pub(super) fn over(&self) -> bool {
        self.settled
    }

    pub(super) fn verdict(&self) -> Exit {
        match &self.end {
            Some((TurnStatus::Completed, _, _)) if self.refused => Exit::NeedsApproval,
            Some((TurnStatus::Completed, Some(reason), _)) if reason != "max_turns" => Exit::Failed,
            Some((TurnStatus::Completed, _, _)) => Exit::Done,
            Some((_, _, true)) => Exit::NoModel,
            Some(_) | None => Exit::Failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::harness::Failure;

    fn verdict(status: TurnStatus, reason: Option<&str>, kind: Option<&'static str>) -> Exit {
        let mut watch = Watch::default();
        watch.see(&Event::TurnCompleted {
            session: "s".into(),
            turn: "t".into(),
            status,
            result: None,
            error: kind.map(|kind| Failure {
                kind,
                message: String::new(),
                retryable: false,
                advice: String::new(),
            }),
            reason: reason.map(str::to_owned),
        });
        watch.verdict()
    }

    #[test]
    fn codes_follow_the_end_of_the_turn() {
        let cases = [
            (TurnStatus::Completed, None, None, 0),
            (TurnStatus::Completed, Some("max_turns"), None, 0),
            (TurnStatus::Completed, Some("length"), None, 1),
            (TurnStatus::Cancelled, Some("aborted"), None, 1),
            (TurnStatus::Failed, Some("transient"), Some("transient"), 1),
            (TurnStatus::Failed, Some("auth"), Some("auth"), 4),
        ];
        for (status, reason, kind, code) in cases {
            assert_eq!(verdict(status, reason, kind).code(), code, "{status:?} {reason:?}");
        }
        assert_eq!(Watch::default().verdict().code(), 1, "no end at all is a failure");
    }
}
