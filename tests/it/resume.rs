//! Finding sessions again with the whole program: at the start, from the picker, by the command line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::support::pty::{Place, Term};

fn program(place: &Place, folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_harness-tui"))
        .args(args)
        .current_dir(folder)
        .env("HARNESS_TUI_HOME", place.home.path())
        .output()
        .unwrap()
}

fn ok(place: &Place, folder: &Path, args: &[&str]) -> String {
    let output = program(place, folder, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(place: &Place, folder: &Path, args: &[&str]) -> (i32, String) {
    let output = program(place, folder, args);
    let code = output.status.code().unwrap();
    (code, String::from_utf8(output.stderr).unwrap())
}

fn listed(place: &Place, more: &[&str]) -> Vec<Value> {
    let mut args = vec!["sessions", "list", "--all", "--json"];
    args.extend(more);
    serde_json::from_str(&ok(place, place.work.path(), &args)).unwrap()
}

fn first_messages(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["firstMessage"].as_str().unwrap()).collect()
}

async fn ready(place: &Place, args: &[&str]) -> Term {
    place.start(args, 30, 100)
}

#[tokio::test]
async fn a_session_is_found_by_what_was_said_in_it_and_opened() {
    let place = Place::new();
    std::fs::write(place.work.path().join("notes.txt"), "the zebra crossing\n").unwrap();
    ok(&place, place.work.path(), &["-p", "read notes.txt"]);
    ok(&place, place.work.path(), &["-p", "hello"]);
    let mut term = ready(&place, &["-r"]).await;
    term.sees("read notes.txt").await;
    term.sees("> hello").await;
    term.types("zebra").await;
    term.until("only the one that read it", |screen| {
        screen.contains("> read notes.txt") && screen.contains("1 of 2")
    })
    .await;
    term.types("\r").await;
    term.until("the conversation", |screen| {
        screen.contains("? help") && screen.contains("read notes.txt")
    })
    .await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
}

#[tokio::test]
async fn a_session_goes_to_the_trash_and_comes_back_by_keys() {
    let place = Place::new();
    ok(&place, place.work.path(), &["-p", "hello"]);
    ok(&place, place.work.path(), &["-p", "read nothing.txt"]);
    let mut term = ready(&place, &[]).await;
    term.sees("? help").await;
    term.types("\x18r").await;
    term.sees("> read nothing.txt").await;
    term.types("\x1b[B\x04").await;
    term.sees("\"hello\" to the trash?").await;
    term.types("y").await;
    term.sees("in the trash").await;
    assert_eq!(first_messages(&listed(&place, &[])), ["read nothing.txt"]);
    term.types("\t\t").await;
    term.until("the trash", |screen| screen.contains("[Trash]") && screen.contains("> hello"))
        .await;
    term.types("\x12").await;
    term.sees("restored to").await;
    assert_eq!(listed(&place, &[]).len(), 2);
    assert_eq!(listed(&place, &["--trash"]), Vec::<Value>::new());
}

#[tokio::test]
async fn continue_in_a_folder_without_sessions_says_so_and_offers_the_list() {
    let place = Place::new();
    let other = tempfile::tempdir().unwrap();
    ok(&place, other.path(), &["-p", "hello from elsewhere"]);
    let (code, said) = refused(&place, place.work.path(), &["-c", "-p", "hi"]);
    assert_eq!(code, 1);
    assert!(said.contains("there is no session of"), "{said}");
    let mut term = ready(&place, &["-c"]).await;
    term.sees("there is no session of this folder yet").await;
    term.sees("> hello from elsewhere").await;
    term.types("\x1b").await;
    term.sees("? help").await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
    assert_eq!(listed(&place, &[]).len(), 1, "no silent new session");
}

#[test]
fn continue_takes_the_session_of_its_own_folder() {
    let place = Place::new();
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    ok(&place, a.path(), &["-p", "hello a"]);
    ok(&place, b.path(), &["-p", "hello b"]);
    ok(&place, a.path(), &["-c", "-p", "hello again"]);
    let rows = listed(&place, &[]);
    assert_eq!(first_messages(&rows), ["hello a", "hello b"]);
    assert_eq!(
        (rows[0]["messageCount"].as_u64(), rows[1]["messageCount"].as_u64()),
        (Some(4), Some(2))
    );
}

#[test]
fn an_unknown_id_is_refused_with_words_and_makes_nothing() {
    let place = Place::new();
    let (code, said) = refused(&place, place.work.path(), &["--session", "nope", "-p", "hi"]);
    assert_eq!(code, 1);
    assert!(said.contains("no session matches \"nope\""), "{said}");
    assert_eq!(listed(&place, &[]), Vec::<Value>::new());
    let (code, said) = refused(&place, place.work.path(), &["-r", "-p", "hi"]);
    assert_eq!((code, said.contains("needs a terminal")), (2, true));
}

/// A session whose folder was renamed; its id and the new folder.
fn moved(place: &Place) -> (String, PathBuf) {
    let (old, new) = (place.work.path().join("old"), place.work.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    ok(place, &old, &["-p", "hello old"]);
    std::fs::rename(&old, &new).unwrap();
    (listed(place, &[])[0]["id"].as_str().unwrap().to_owned(), new)
}

#[test]
fn without_a_screen_a_session_without_its_folder_takes_the_current_one_and_remembers_it() {
    let place = Place::new();
    let (id, new) = moved(&place);
    let run = ["--session", &id, "--approval", "full", "-p", "run pwd"];
    let output = program(&place, &new, &run);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is gone; from now on it works in"), "{said}");
    let elsewhere = tempfile::tempdir().unwrap();
    let output = program(&place, elsewhere.path(), &run);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("is gone"), "{said}");
    let new = new.canonicalize().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains(new.to_str().unwrap()), "{answer}");
}

#[test]
fn a_renamed_folder_that_left_a_link_behind_is_still_its_folder() {
    let place = Place::new();
    let (id, new) = moved(&place);
    std::os::unix::fs::symlink(&new, place.work.path().join("old")).unwrap();
    let run = ["--session", &id, "--approval", "full", "-p", "run pwd -P"];
    let output = program(&place, Path::new("/"), &run);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !said.contains("is gone"), "{said}");
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(answer.contains(new.canonicalize().unwrap().to_str().unwrap()), "{answer}");
    assert_eq!(listed(&place, &[]).len(), 1);
}

#[tokio::test]
async fn the_screen_asks_where_a_session_without_its_folder_works_on() {
    let place = Place::new();
    let (id, _) = moved(&place);
    let mut term = ready(&place, &["--session", &id]).await;
    term.sees("its folder is gone").await;
    assert_eq!(listed(&place, &[]).len(), 1);
    term.types("f").await;
    term.sees("hello old").await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
    let rows = listed(&place, &[]);
    assert_eq!(first_messages(&rows), ["hello old", "hello old"]);
    let here = place.work.path().canonicalize().unwrap();
    assert!(rows.iter().any(|row| row["cwd"].as_str() == here.to_str()), "{rows:?}");

    let mut term = ready(&place, &["--session", &id]).await;
    term.sees("its folder is gone").await;
    term.types("c").await;
    term.sees("from now on it works in").await;
    term.types("\x04").await;
    term.ends().await;
    let mut again = ready(&place, &["--session", &id]).await;
    again.sees("hello old").await;
    assert!(!again.text().contains("is gone"), "the answer was kept");
}

#[test]
fn sessions_are_searched_renamed_removed_restored_and_purged_by_the_command_line() {
    let place = Place::new();
    let folder = place.work.path();
    std::fs::write(folder.join("a.txt"), "quagga\n").unwrap();
    ok(&place, folder, &["-p", "read a.txt"]);
    ok(&place, folder, &["-p", "hello"]);
    let rows = listed(&place, &["--search", "quagga"]);
    assert_eq!((first_messages(&rows), &rows[0]["match"]), (vec!["read a.txt"], &"content".into()));
    let id = rows[0]["id"].as_str().unwrap().to_owned();
    ok(&place, folder, &["sessions", "rename", &id, "animals"]);
    assert_eq!(listed(&place, &["--search", "ANIM"])[0]["name"], "animals");
    assert_eq!(refused(&place, folder, &["sessions", "list", "--search", "re:("]).0, 2);
    ok(&place, folder, &["sessions", "rm", &id]);
    assert_eq!(refused(&place, folder, &["sessions", "rm", &id]).0, 1, "it is gone");
    let trash = listed(&place, &["--trash"]);
    assert_eq!(trash[0]["id"].as_str(), Some(id.as_str()));
    let (code, said) = refused(&place, folder, &["sessions", "purge"]);
    assert_eq!((code, said.contains("--yes")), (2, true), "nobody can be asked");
    ok(&place, folder, &["sessions", "purge", "--yes", "--older-than", "1"]);
    ok(&place, folder, &["sessions", "restore", &id]);
    assert_eq!(listed(&place, &[]).len(), 2);
    ok(&place, folder, &["sessions", "rm", &id]);
    ok(&place, folder, &["sessions", "purge", "--yes"]);
    assert_eq!((listed(&place, &[]).len(), listed(&place, &["--trash"]).len()), (1, 0));
    use std::os::unix::fs::PermissionsExt;
    let mode =
        std::fs::metadata(place.home.path().join("data/trash")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

/// A session of two turns that a compaction can fold.
fn told(place: &Place) {
    place.config("[compaction]\nkeep_recent_tokens = 10\n");
    std::fs::write(place.work.path().join("notes.txt"), "zebra\n".repeat(50)).unwrap();
    ok(place, place.work.path(), &["-p", "read notes.txt"]);
    ok(place, place.work.path(), &["-c", "-p", "hello"]);
}

#[tokio::test]
async fn a_summary_is_edited_before_it_is_stored() {
    let place = Place::new();
    told(&place);
    let mut term = ready(&place, &["-c"]).await;
    term.sees("no language model, but").await;
    term.types("/compact\r").await;
    term.sees("compaction, not stored yet").await;
    term.types("EDITED \x13").await;
    term.sees("folded ").await;
    let rows = listed(&place, &["--search", "EDITED"]);
    assert_eq!(rows.len(), 1, "what was edited is what is in the file");
}

#[tokio::test]
async fn the_context_and_the_facts_are_told() {
    let place = Place::new();
    told(&place);
    let mut term = ready(&place, &["-c"]).await;
    term.sees("no language model, but").await;
    term.types("/context\r").await;
    term.sees("context of demo").await;
    term.sees("system prompt").await;
    term.types("\x1b").await;
    term.until("closed", |screen| !screen.contains("context of demo")).await;
    term.types("/session\r").await;
    term.sees("2 of yours").await;
}

#[tokio::test]
async fn a_prompt_is_forked_with_its_text() {
    let place = Place::new();
    told(&place);
    let mut term = ready(&place, &["-c"]).await;
    term.sees("no language model, but").await;
    term.types("/fork\r").await;
    term.sees("fork before a prompt").await;
    term.types("\r").await;
    term.until("the text of the prompt", |screen| {
        screen.contains("> hello")
            && !screen.contains("fork before")
            && !screen.contains("run date")
    })
    .await;
    term.types("\x15\x04").await;
    assert_eq!(term.ends().await, 0);
    assert_eq!(listed(&place, &[]).len(), 2);
}
