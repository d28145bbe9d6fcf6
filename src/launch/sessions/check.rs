//! `sessions verify` and `sessions repair`: what is wrong with a file, and a copy in which it is not.

use std::path::Path;

use harness_tui::session::{self, Problem};

use super::{Desk, Stop};

/// Checks a file; 1 when something is wrong.
pub(super) fn verify(desk: &Desk<'_>, wanted: &str) -> Result<u8, Stop> {
    let path = desk.find(wanted)?;
    let report = session::verify(desk.place.files.as_ref(), &path)
        .map_err(|error| Stop::of_session(&error))?;
    let mut lines: Vec<String> = report.problems.iter().map(line).collect();
    let unlisted = report.total - report.problems.len();
    if unlisted > 0 {
        lines.push(format!("and {unlisted} more"));
    }
    lines.extend(report.notes.iter().map(|note| format!("note: {note}")));
    let path = report.path.display();
    lines.push(match report.total {
        0 => format!("{path}: nothing is wrong, {} entries", report.entries),
        1 => format!("{path}: 1 problem, {} entries", report.entries),
        total => format!("{path}: {total} problems, {} entries", report.entries),
    });
    if report.problems.iter().any(|problem| problem.kind != "wide_mode") {
        lines.push("`sessions repair FILE --out NEW` writes a repaired copy".to_owned());
    }
    desk.say(&report, &lines)?;
    Ok(u8::from(!report.ok))
}

fn line(problem: &Problem) -> String {
    let place = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let entry = problem.entry.as_ref().map(|entry| format!(", entry {entry}")).unwrap_or_default();
    format!("{place}{} ({}{entry})", problem.text, problem.kind)
}

/// Writes a repaired copy.
pub(super) fn repair(desk: &Desk<'_>, wanted: &str, out: &Path) -> Result<u8, Stop> {
    let path = desk.find(wanted)?;
    let repaired = session::repair(&desk.place, &path, &desk.cwd.join(out), &desk.cwd)
        .map_err(|error| Stop::of_session(&error))?;
    let mut lines = repaired.changes.clone();
    let untold = repaired.total - repaired.changes.len();
    if untold > 0 {
        lines.push(format!("and {untold} more"));
    }
    lines.push(format!("wrote {} entries to {}", repaired.entries, repaired.path.display()));
    desk.say(&repaired, &lines)
}
