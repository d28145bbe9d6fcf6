//! Any order of operations, ours and other programs': memory always says what the file says.

use std::path::Path;
use std::sync::Arc;

use harness_tui::message::EntryId;
use harness_tui::ports::{FileSystem, MemoryFs};
use harness_tui::session::{Body, Flush, Session};
use proptest::prelude::*;

use super::{answer, assert_sound, open, place, text_of, user};

#[derive(Debug, Clone)]
enum Operation {
    Append(usize),
    AppendUnder(usize),
    Move(usize),
    Label(usize),
    Name,
    Compact(usize),
    /// Another program adds a line.
    Foreign,
    /// Another program dies in the middle of a line.
    Torn,
    /// Another program leaves the last newline out.
    Unended,
    Reopen,
    /// Asks for things, so that something is remembered.
    Look,
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::{
        Append, AppendUnder, Compact, Foreign, Label, Look, Move, Name, Reopen, Torn, Unended,
    };
    prop_oneof![
        (1_usize..4).prop_map(Append),
        (0_usize..9).prop_map(AppendUnder),
        (0_usize..9).prop_map(Move),
        (0_usize..9).prop_map(Label),
        (0_usize..9).prop_map(Compact),
        Just(Name),
        Just(Foreign),
        Just(Torn),
        Just(Unended),
        Just(Reopen),
        Just(Look),
    ]
}

fn id_at(session: &Session, at: usize) -> Option<EntryId> {
    let index = session.index();
    index.node(u32::try_from(at).ok()?).map(|node| node.id.clone())
}

/// `true` when something was written, so that the file has no loose ends.
fn run(session: &mut Session, files: &MemoryFs, step: usize, operation: &Operation) -> bool {
    let path = session.path().unwrap().to_owned();
    let has_file = files.facts(&path).is_ok();
    let foreign = format!(
        "{{\"type\":\"message\",\"id\":\"f{step}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"f\"}}}}"
    );
    match operation {
        Operation::Append(count) => {
            let bodies = (0..*count).map(|n| if n % 2 == 0 { user("u") } else { answer("a") });
            session.append(bodies.collect(), Flush::Sync).unwrap();
        }
        Operation::AppendUnder(at) => {
            let parent = id_at(session, *at);
            session.append_under(parent.as_ref(), vec![answer("b")], Flush::Lazy).unwrap();
        }
        Operation::Move(at) => {
            let before = session.leaf().cloned();
            session.move_leaf(id_at(session, *at).as_ref(), Some("x")).unwrap();
            return session.leaf() != before.as_ref();
        }
        Operation::Label(at) => {
            let Some(id) = id_at(session, *at) else { return false };
            session.set_label(&id, Some("l")).unwrap();
        }
        Operation::Name => drop(session.set_name("n").unwrap()),
        Operation::Compact(at) => {
            let body = Body::Compaction {
                summary: "s".into(),
                first_kept_entry_id: id_at(session, *at),
                tokens_before: 1,
                details: None,
                usage: None,
                from_hook: None,
                retained_tail: None,
            };
            session.append(vec![body], Flush::Sync).unwrap();
        }
        Operation::Foreign | Operation::Torn | Operation::Unended if !has_file => return false,
        // A line behind a loose end begins, as other programs do it, with a newline.
        Operation::Foreign => files.push(&path, format!("\n{foreign}\n").as_bytes()),
        Operation::Unended => files.push(&path, format!("\n{foreign}").as_bytes()),
        Operation::Torn => files.push(&path, b"\n{\"type\":\"mes"),
        Operation::Reopen if has_file => {
            let other = Session::create(place(Arc::new(files.clone())), Path::new("/other"));
            drop(std::mem::replace(session, other));
            *session = open(files, &path);
        }
        Operation::Reopen => {}
        Operation::Look => {
            session.context().unwrap();
            session.branch().unwrap();
        }
    }
    matches!(
        operation,
        Operation::Append(_)
            | Operation::AppendUnder(_)
            | Operation::Label(_)
            | Operation::Name
            | Operation::Compact(_)
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn after_every_append_memory_says_what_the_file_says(operations in prop::collection::vec(operation(), 1..25)) {
        let files = MemoryFs::new();
        let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
        let path = session.path().unwrap().to_owned();
        for (step, operation) in operations.iter().enumerate() {
            let wrote = run(&mut session, &files, step, operation);
            if !wrote || files.facts(&path).is_err() {
                continue;
            }
            // Torn lines that were ended by another program stay in the file and are left out.
            let text = text_of(&files, &path);
            let is_good = |line: &&str| !line.is_empty() && serde_json::from_str::<serde_json::Value>(line).is_ok();
            assert_sound(&(text.lines().filter(is_good).collect::<Vec<_>>().join("\n") + "\n"));
            let mut again = open(&files, &path);
            prop_assert!(again.holder().is_some() || session.holder().is_none());
            let (read, known) = (again.index(), session.index());
            prop_assert_eq!(read.iter().collect::<Vec<_>>(), known.iter().collect::<Vec<_>>());
            prop_assert_eq!(again.leaf(), session.leaf());
            prop_assert_eq!(again.branch().unwrap(), session.branch().unwrap());
            prop_assert_eq!(again.context().unwrap(), session.context().unwrap());
            prop_assert_eq!((again.labels(), again.name()), (session.labels(), session.name()));
        }
    }
}
