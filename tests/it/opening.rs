//! Large sessions in the whole program: their end is on the screen before they are open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::{AssistantMessage, Message, Part};
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Body, Durability, Flush, Session};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::pty::Place;

/// A session of about 3 MB whose newest answer says `the newest words`.
fn large(place: &Place) -> PathBuf {
    let files = harness_tui::session::Place {
        files: Arc::new(Disk),
        clock: Arc::new(SystemClock),
        root: place.home.path().join("data/sessions"),
        durability: Durability::Process,
    };
    let mut session = Session::create(files, place.work.path());
    let answer = |text: String| {
        let message = AssistantMessage {
            content: vec![Part::text(text)],
            provider: "play".into(),
            model: "m".into(),
            ..AssistantMessage::default()
        };
        Body::Message { message: Message::Assistant(message), harness: None }
    };
    let long = "many words ".repeat(100);
    let mut bodies: Vec<Body> = (0..1_200)
        .flat_map(|n| {
            let prompt = Message::user(format!("prompt {n} {long}"), 0);
            [Body::Message { message: prompt, harness: None }, answer(format!("{n} {long}"))]
        })
        .collect();
    bodies.push(answer("the newest words".into()));
    session.append(bodies, Flush::Sync).unwrap();
    session.path().unwrap().to_owned()
}

fn named(path: &Path) -> [&str; 2] {
    ["--session", path.to_str().unwrap()]
}

#[tokio::test]
async fn a_prompt_typed_while_a_session_opens_is_answered_once_it_is_open() {
    let place = Place::new();
    place.script(&json!({"turns": [{"text": "an answer to it"}]}));
    let path = large(&place);
    let mut term = place.start(&named(&path), 30, 100);
    term.sees("the newest words").await;
    term.types("go on\r").await;
    term.sees("an answer to it").await;
    let text = term.text();
    assert_eq!(text.matches("an answer to it").count(), 1, "{text}");
    assert_eq!(text.matches("go on").count(), 1, "{text}");
    assert!(!text.contains("opening"), "{text}");
    // The first message is far above what is loaded.
    term.types("\x1b[1;5H").await;
    term.sees("prompt 0 ").await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
}

#[tokio::test]
async fn what_cannot_be_opened_ends_the_screen_and_says_why() {
    let place = Place::new();
    place.script(&json!({"turns": []}));
    let path = large(&place);
    let [flag, file] = named(&path);
    let mut term = place.start(&[flag, file, "--model", "nobody/nothing"], 30, 100);
    assert_ne!(term.ends().await, 0);
    let raw = String::from_utf8_lossy(&term.raw).into_owned();
    let (_, said) = raw.rsplit_once("\x1b[?1049l").unwrap_or_default();
    assert!(said.contains("nobody"), "{raw}");
}

#[tokio::test]
async fn leaving_does_not_wait_until_a_session_is_open() {
    let place = Place::new();
    place.script(&json!({"turns": []}));
    let path = large(&place);
    let before = std::fs::read(&path).unwrap();
    let mut term = place.start(&named(&path), 30, 100);
    term.sees("the newest words").await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
    assert!(std::fs::read(&path).unwrap() == before, "nothing was written");
}

#[tokio::test]
async fn a_file_that_grows_large_without_being_a_session_is_refused_untouched() {
    let place = Place::new();
    place.script(&json!({"turns": []}));
    let path = place.work.path().join("notes.jsonl");
    let text = "{\"type\":\"other\"}\n".repeat(100_000);
    std::fs::write(&path, &text).unwrap();
    let mut term = place.start(&named(&path), 30, 100);
    assert_eq!(term.ends().await, 1);
    assert!(
        String::from_utf8_lossy(&term.raw).contains("is not a session file"),
        "{:?}",
        term.text()
    );
    assert!(std::fs::read_to_string(&path).unwrap() == text);
}
