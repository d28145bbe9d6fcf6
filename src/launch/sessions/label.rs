//! `sessions label`: the one command here that writes to a session, so it needs its lock.

use harness_tui::session::{Session, SessionError};
use serde_json::json;

use super::{Desk, Stop, note};

/// Labels an entry, or takes its label away.
pub(super) fn label(
    desk: &Desk<'_>,
    wanted: &str,
    entry: &str,
    label: Option<&str>,
) -> Result<u8, Stop> {
    let path = desk.find(wanted)?;
    let of_session = |error: SessionError| Stop::of_session(&error);
    let mut session = Session::open(desk.place.clone(), &path).map_err(of_session)?;
    for notice in session.take_notices() {
        note(&notice.text);
    }
    let entry = session.snapshot().find_entry(entry).map_err(of_session)?;
    session.set_label(&entry, label).map_err(of_session)?;
    let label = session.labels().get(&entry).map(ToString::to_string);
    let line = match &label {
        Some(label) => format!("{entry} [{label}]"),
        None => format!("{entry} has no label"),
    };
    desk.say(&json!({ "entry": entry, "label": label }), &[line])
}
