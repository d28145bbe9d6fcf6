//! `harness-tui sessions list | rename | rm | restore | purge`: what lies on the shelf and in the trash.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use harness_tui::harness::{Listed, Query, Shelf, Tier};
use harness_tui::session::{Place, Trashed, list};
use harness_tui::text::age::age;
use harness_tui::text::sanitize::one_line;
use serde_json::{Map, Value, json};

use super::{Desk, Stop};
use crate::launch::session;

/// Characters of an id that are shown: enough to tell sessions of one second apart.
const ID_CHARS: usize = 18;
/// Columns of a title.
const TITLE_COLUMNS: usize = 60;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// One line of a list.
struct Found {
    listed: Listed,
    tier: Option<Tier>,
    snippet: Option<String>,
    trashed: Option<Trashed>,
}

/// Prints sessions, newest first; what a search finds nearest first.
pub(super) fn print_list(
    desk: &Desk<'_>,
    (all, trash): (bool, bool),
    search: Option<&str>,
) -> Result<u8, Stop> {
    let shelf = desk.shelf();
    let mut found: Vec<Found> = if trash {
        let plain = |trashed: Trashed| Found {
            listed: trashed.listed.clone(),
            tier: None,
            snippet: None,
            trashed: Some(trashed),
        };
        shelf.trash().list().into_iter().map(plain).collect()
    } else {
        let cwd = (!all).then_some(desk.cwd.as_path());
        let plain = |listed| Found { listed, tier: None, snippet: None, trashed: None };
        list(desk.place.files.as_ref(), &desk.place.root, cwd).into_iter().map(plain).collect()
    };
    if let Some(text) = search {
        let query = Query::parse(text);
        if let Some(problem) = query.problem() {
            return Err(Stop::usage(format!("--search {text}: {problem}")));
        }
        keep_matches(&shelf, &query, &mut found);
    }
    let now = desk.place.clock.now_ms();
    let text = if desk.json {
        let rows: Vec<Value> = found.iter().map(json_row).collect();
        format!("{}\n", Value::Array(rows))
    } else {
        found.iter().map(|each| text_row(each, now, all || trash)).collect()
    };
    if found.is_empty() && !desk.json {
        let none = match (trash, search) {
            (_, Some(_)) => "no session matches".to_owned(),
            (true, _) => "the trash is empty".to_owned(),
            _ if all => "no session yet".to_owned(),
            _ => format!(
                "no session of {} yet; --all lists those of every folder",
                desk.cwd.display()
            ),
        };
        say(&none);
    }
    print(&text)
}

fn keep_matches(shelf: &Shelf, query: &Query, found: &mut Vec<Found>) {
    let mut inside = Vec::new();
    for each in found.iter_mut() {
        each.tier = query.tier(&each.listed);
        if each.tier.is_none() {
            inside.push(Arc::new(each.listed.clone()));
        }
    }
    let mut hits = std::collections::HashMap::new();
    shelf.search(&inside, query, &AtomicBool::new(false), &mut |searched| {
        hits.extend(searched.hits.into_iter().map(|hit| (hit.path, hit.snippet)));
    });
    for each in found.iter_mut() {
        if let Some(snippet) = hits.remove(&each.listed.path) {
            (each.tier, each.snippet) = (Some(Tier::Content), Some(snippet));
        }
    }
    found.retain(|each| each.tier.is_some());
    found.sort_by_key(|each| each.tier);
}

fn title(listed: &Listed) -> &str {
    listed.name.as_deref().or(listed.first_message.as_deref()).unwrap_or("(no messages)")
}

/// Id, age, messages, title; then the folder and where it matches.
fn text_row(each: &Found, now: i64, with_folder: bool) -> String {
    let listed = &each.listed;
    // Cut without a mark, so that it can be copied.
    let id: String = one_line(listed.id.as_str(), usize::MAX).chars().take(ID_CHARS).collect();
    let age = age(now, listed.last_activity_ms);
    let title = one_line(title(listed), TITLE_COLUMNS);
    let mut line = format!("{id:<ID_CHARS$}  {age:>4}  {:>4}  {title}", listed.message_count);
    if with_folder {
        line.push_str("  ");
        line.push_str(&one_line(&listed.cwd, usize::MAX));
    }
    if let Some(snippet) = &each.snippet {
        line.push_str("  … ");
        line.push_str(&one_line(snippet, usize::MAX));
    }
    line.push('\n');
    line
}

fn json_row(each: &Found) -> Value {
    let listed = &each.listed;
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| drop(row.insert(key.to_owned(), value));
    put("id", json!(listed.id));
    put("path", json!(listed.path.to_string_lossy()));
    put("cwd", json!(listed.cwd));
    put("name", json!(listed.name));
    put("parentSession", json!(listed.parent_session));
    put("created", json!(listed.created_ms));
    put("modified", json!(listed.last_activity_ms));
    put("messageCount", json!(listed.message_count));
    put("firstMessage", json!(listed.first_message));
    if let Some(trashed) = &each.trashed {
        put("from", json!(trashed.from.as_ref().map(|from| from.to_string_lossy())));
        put("trashed", json!(trashed.at_ms));
    }
    match each.tier {
        None => {}
        Some(Tier::Name) => put("match", json!("name")),
        Some(Tier::About) => put("match", json!("about")),
        Some(Tier::Content) => put("match", json!("content")),
    }
    if let Some(snippet) = &each.snippet {
        put("snippet", json!(snippet));
    }
    Value::Object(row)
}

/// Names a session that nobody has open.
pub(super) fn rename(desk: &Desk<'_>, session: &str, name: &str) -> Result<u8, Stop> {
    let path = desk.find(session)?;
    desk.shelf().rename(&path, name).map_err(|error| Stop::failed(error.message))?;
    Ok(0)
}

/// Moves sessions to the trash; one that cannot go stops none of the others.
pub(super) fn remove(desk: &Desk<'_>, sessions: &[String]) -> Result<u8, Stop> {
    let shelf = desk.shelf();
    // All are found before the first goes: a prefix must not come to mean another one.
    let paths: Result<Vec<PathBuf>, Stop> =
        sessions.iter().map(|wanted| desk.find(wanted)).collect();
    let (mut moved, mut code) = (Vec::new(), 0);
    for path in paths? {
        match shelf.remove(&path) {
            Ok(to) => {
                say(&format!("{} is in the trash", path.display()));
                moved.push(json!({"path": path.to_string_lossy(), "trash": to.to_string_lossy()}));
            }
            Err(error) => {
                say(&error.message);
                code = 1;
            }
        }
    }
    if desk.json {
        print(&format!("{}\n", Value::Array(moved)))?;
    }
    Ok(code)
}

/// Brings a session back from the trash.
pub(super) fn restore(desk: &Desk<'_>, wanted: &str) -> Result<u8, Stop> {
    let trash = Place { root: desk.paths.trash(), ..desk.place.clone() };
    let path = session::find(&trash, &desk.cwd, wanted)?;
    let to = desk.shelf().restore(&path).map_err(|error| Stop::failed(error.message))?;
    if desk.json {
        return print(&format!("{}\n", json!({"path": to.to_string_lossy()})));
    }
    say(&format!("restored to {}", to.display()));
    Ok(0)
}

/// Deletes what lies in the trash for good.
pub(super) fn purge(desk: &Desk<'_>, days: u32, yes: bool) -> Result<u8, Stop> {
    let shelf = desk.shelf();
    let before = desk.place.clock.now_ms().saturating_sub(i64::from(days) * DAY_MS);
    let count = shelf.trash().list().iter().filter(|each| each.at_ms < before).count();
    if count > 0 && !yes && !agreed(count)? {
        say("nothing was deleted");
        return Ok(1);
    }
    let gone = shelf.trash().purge(before).map_err(|error| Stop::failed(error.to_string()))?;
    if desk.json {
        return print(&format!("{}\n", json!({"deleted": gone})));
    }
    say(&format!("{gone} sessions deleted"));
    Ok(0)
}

fn agreed(count: usize) -> Result<bool, Stop> {
    if !io::stdin().is_terminal() {
        return Err(Stop::usage(format!(
            "purge would delete {count} sessions for good; say --yes where nobody can be asked"
        )));
    }
    let _ = write!(io::stderr(), "delete {count} sessions for good? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|error| Stop::failed(format!("cannot read the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Where nobody reads any more, nothing is left to say.
fn print(text: &str) -> Result<u8, Stop> {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Stop::failed(format!("cannot write the output: {error}")))
        }
        _ => Ok(0),
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", harness_tui::text::sanitize::sanitize(text));
}
