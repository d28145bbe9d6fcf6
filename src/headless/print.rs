//! The final text on one stream; waiting, retries and failures on the other.
//!
//! The other stream is read by people, most often in a terminal, so what servers and files say is
//! sanitised there always; the answer is, when it goes to a terminal.

use std::io::{self, Write};

use crate::harness::{Event, TurnStatus};
use crate::text::sanitize::sanitize;

pub(super) fn event(
    event: &Event,
    terminal: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    match event {
        Event::TurnCompleted { status, result, error, .. } => {
            if let (TurnStatus::Completed, Some(text)) = (status, result) {
                let text = text.trim_end();
                let text = if terminal { sanitize(text) } else { text.into() };
                writeln!(out, "{text}")?;
                out.flush()?;
            }
            if let Some(failure) = error {
                say(&format!("{}\n{}", failure.message, failure.advice), err)?;
            }
            if *status == TurnStatus::Cancelled {
                say("stopped", err)?;
            }
        }
        Event::RetryScheduled { attempt, max_attempts, delay_ms, error } => {
            let text = format!(
                "{}; trying again in {}.{} s ({attempt}/{max_attempts})",
                error.message,
                delay_ms / 1000,
                delay_ms % 1000 / 100,
            );
            say(&text, err)?;
        }
        Event::Notice { text } => say(text, err)?,
        _ => {}
    }
    Ok(())
}

/// A line for people.
pub(super) fn say(text: &str, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "harness-tui: {}", sanitize(text))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn printed(told: &Event, terminal: bool) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        event(told, terminal, &mut out, &mut err).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn no_control_byte_reaches_a_terminal_and_a_pipe_gets_the_answer_as_it_is() {
        let answer = Event::TurnCompleted {
            session: "s".into(),
            turn: "t".into(),
            status: TurnStatus::Completed,
            result: Some("a\x1b]52;c;aGk=\x07".into()),
            error: None,
            reason: None,
        };
        assert_eq!(printed(&answer, true), ("a␛]52;c;aGk=␇\n".into(), String::new()));
        assert_eq!(printed(&answer, false), ("a\x1b]52;c;aGk=\x07\n".into(), String::new()));
        let notice = Event::Notice { text: "\x1b[2J".into() };
        let expected = (String::new(), "harness-tui: ␛[2J\n".to_owned());
        assert_eq!(printed(&notice, false), expected);
    }
}
