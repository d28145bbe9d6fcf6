//! The final text on one stream; waiting, retries and failures on the other.

use std::io::{self, Write};

use crate::harness::{Event, TurnStatus};

pub(super) fn event(event: &Event, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<()> {
    match event {
        Event::TurnCompleted { status, result, error, .. } => {
            if let (TurnStatus::Completed, Some(text)) = (status, result) {
                writeln!(out, "{}", text.trim_end())?;
                out.flush()?;
            }
            if let Some(failure) = error {
                writeln!(err, "harness-tui: {}\n{}", failure.message, failure.advice)?;
            }
            if *status == TurnStatus::Cancelled {
                writeln!(err, "harness-tui: stopped")?;
            }
        }
        Event::RetryScheduled { attempt, max_attempts, delay_ms, error } => {
            writeln!(
                err,
                "harness-tui: {}; trying again in {}.{} s ({attempt}/{max_attempts})",
                error.message,
                delay_ms / 1000,
                delay_ms % 1000 / 100,
            )?;
        }
        Event::Notice { text } => writeln!(err, "harness-tui: {text}")?,
        _ => {}
    }
    Ok(())
}
