//! `sessions verify` and `sessions repair`: what is wrong with a file, and a copy in which it is not.

use std::path::Path;

use harness_tui::session;

use super::{Desk, Stop};

/// Checks a file; 1 when something is wrong.
pub(super) fn verify(desk: &Desk<'_>, wanted: &str) -> Result<u8, Stop> {
    let path = desk.find(wanted)?;
    let report = session::verify(desk.place.files.as_ref(), &path)
        .map_err(|error| Stop::of_session(&error))?;
    let mut lines = report.lines();
    if report.is_repairable() {
        lines.push("`sessions repair FILE --out NEW` writes a repaired copy".to_owned());
    }
    desk.say(&report, &lines)?;
    Ok(u8::from(!report.ok))
}

/// Writes a repaired copy.
pub(super) fn repair(desk: &Desk<'_>, wanted: &str, out: &Path) -> Result<u8, Stop> {
    let path = desk.find(wanted)?;
    let repaired = session::repair(&desk.place, &path, &desk.cwd.join(out), &desk.cwd)
        .map_err(|error| Stop::of_session(&error))?;
    desk.say(&repaired, &repaired.lines())
}
