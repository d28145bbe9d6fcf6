//! Forks, clones, whole copies and imports: what comes along, what does not, and that it still means the same.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::{
    AssistantMessage, EntryId, Message, Part, StopReason, ToolCall, ToolResultMessage,
};
use harness_tui::ports::{FileSystem, MemoryFs};
use harness_tui::session::journal::{QueueKind, Record, TurnStatus};
use harness_tui::session::{
    Body, Context, Copied, CopyPoint, Flush, Index, Kind, Session, SessionError, build_context,
    find_by_prefix, import, request_view, view,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{NOW, answer, assert_sound, model, open, place, stored, text_of, told, user};

fn session() -> (MemoryFs, Session) {
    let files = MemoryFs::new();
    let session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    (files, session)
}

pub(super) fn calls(ids: &[&str]) -> Body {
    let call = |id: &&str| {
        Part::ToolCall(ToolCall {
            id: (*id).to_owned(),
            name: "read".into(),
            arguments: json!({"path": "a"}),
            ..ToolCall::default()
        })
    };
    let message = AssistantMessage {
        content: ids.iter().map(call).collect(),
        provider: "p".into(),
        model: "m".into(),
        stop_reason: StopReason::ToolUse,
        timestamp: NOW,
        ..AssistantMessage::default()
    };
    Body::Message { message: Message::Assistant(message), harness: None }
}

pub(super) fn result(id: &str) -> Body {
    let message = ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content: vec![Part::text("content")],
        details: None,
        is_error: false,
        duration_ms: None,
        timestamp: NOW,
    };
    Body::Message { message: Message::ToolResult(message), harness: None }
}

fn started(session: &Session, turn: &str) -> Body {
    Record::Started {
        turn: turn.into(),
        session: session.id().clone(),
        idempotency_key: None,
        parent: None,
        depth: 0,
        options: serde_json::Map::new(),
    }
    .body()
}

fn finished(turn: &str) -> Body {
    Record::Finished {
        turn: turn.into(),
        status: TurnStatus::Completed,
        result: None,
        error: None,
        reason: None,
        usage: Default::default(),
    }
    .body()
}

fn queued(session: &Session) -> Body {
    Record::Queued {
        id: "q".into(),
        session: session.id().clone(),
        kind: QueueKind::FollowUp,
        message: Message::user("later", NOW),
    }
    .body()
}

pub(super) fn compaction(kept: Option<EntryId>) -> Body {
    Body::Compaction {
        summary: "so far".into(),
        first_kept_entry_id: kept,
        tokens_before: 9,
        details: None,
        usage: None,
        from_hook: None,
        retained_tail: None,
    }
}

fn copy(files: &MemoryFs, session: &Session, what: &CopyPoint) -> Result<Copied, SessionError> {
    session.snapshot().copy(&place(Arc::new(files.clone())), what, Path::new("/work"))
}

fn ids(session: &Session) -> Vec<EntryId> {
    session.index().iter().map(|node| node.id.clone()).collect()
}

fn records(session: &Session) -> Vec<Record> {
    session.branch().unwrap().iter().filter_map(|entry| Record::of(entry)).collect()
}

fn at(session: &Session, id: &EntryId) -> Context {
    build_context(&session.branch_to(id).unwrap())
}

/// The same for a model: only a level that nobody chose may have become the one that means so.
fn assert_same(copy: &Context, source: &Context) {
    assert_eq!(copy.messages, source.messages);
    assert_eq!((&copy.model, &copy.active_tools), (&source.model, &source.active_tools));
    assert_eq!(copy.thinking_level.unwrap_or_default(), source.thinking_level.unwrap_or_default());
    view::check(&request_view(copy)).unwrap();
}

/// Four turns, the second with a tool call.
fn four_turns() -> (MemoryFs, Session) {
    let (files, mut session) = session();
    let level = Body::ThinkingLevelChange { thinking_level: "high".into() };
    session.append(vec![model("m"), level], Flush::Lazy).unwrap();
    for turn in 1..=4 {
        let name = format!("t{turn}");
        let begin = vec![user(&format!("question {turn}")), started(&session, &name)];
        session.append(begin, Flush::Sync).unwrap();
        if turn == 2 {
            session.append(vec![calls(&["c1", "c2"])], Flush::Sync).unwrap();
            session.append(vec![result("c1"), result("c2")], Flush::Sync).unwrap();
        }
        let end = vec![answer(&format!("answer {turn}")), finished(&name)];
        session.append(end, Flush::Sync).unwrap();
    }
    (files, session)
}

fn find(session: &Session, preview: &str) -> EntryId {
    session.index().iter().find(|node| &*node.preview == preview).unwrap().id.clone()
}

#[test]
fn a_fork_before_a_message_stops_at_its_parent_and_gives_its_text_back() {
    let (files, session) = four_turns();
    let before = text_of(&files, session.path().unwrap());
    let copied = copy(&files, &session, &CopyPoint::Before(find(&session, "question 2"))).unwrap();
    assert_eq!(copied.editor_text.as_deref(), Some("question 2"));
    let fork = open(&files, &copied.path);
    assert_eq!(told(&fork), ["question 1", "answer 1"]);
    assert_eq!(ids(&fork), ids(&session)[..6], "ids stay");
    assert_eq!(fork.header().parent_session.as_deref(), session.path().unwrap().to_str());
    assert_eq!((fork.header().cwd.as_str(), fork.id() == session.id()), ("/work", false));
    assert_eq!(text_of(&files, session.path().unwrap()), before);
    assert_sound(&text_of(&files, &copied.path));
}

#[test]
fn a_fork_at_an_answer_a_result_and_the_end_holds_exactly_the_path() {
    let (files, session) = four_turns();
    let result = session.index().iter().nth(9).unwrap().clone();
    assert_eq!(result.role, Some(harness_tui::session::Role::ToolResult));
    let last = find(&session, "answer 4");
    for (id, count) in [(find(&session, "answer 2"), 7), (result.id, 5), (last, 11)] {
        let copied = copy(&files, &session, &CopyPoint::At(id.clone())).unwrap();
        let mut fork = open(&files, &copied.path);
        let context = fork.context().unwrap();
        assert_same(&context, &at(&session, &id));
        assert_eq!(context.messages.len(), count);
        assert_eq!(copied.editor_text, None);
    }
}

#[test]
fn a_fork_inside_a_tool_pair_sends_the_pair_whole() {
    let (files, session) = four_turns();
    let first = session.index().iter().nth(9).unwrap().id.clone();
    let copied = copy(&files, &session, &CopyPoint::At(first)).unwrap();
    let mut fork = open(&files, &copied.path);
    let request = request_view(&fork.context().unwrap());
    view::check(&request).unwrap();
    let Message::ToolResult(made) = &**request.last().unwrap() else { panic!() };
    assert_eq!((made.tool_call_id.as_str(), made.is_error), ("c2", true));
}

#[test]
fn a_fork_at_a_users_message_takes_it_along() {
    let (files, session) = four_turns();
    let copied = copy(&files, &session, &CopyPoint::At(find(&session, "question 3"))).unwrap();
    assert_eq!(told(&open(&files, &copied.path)).last().unwrap(), "question 3");
}

#[test]
fn a_fork_before_the_first_message_is_empty_but_for_the_settings() {
    let (files, session) = four_turns();
    let copied = copy(&files, &session, &CopyPoint::Before(find(&session, "question 1"))).unwrap();
    let mut fork = open(&files, &copied.path);
    assert_eq!(told(&fork), Vec::<String>::new());
    assert_eq!(fork.index().len(), 2);
    fork.append(vec![user("other")], Flush::Sync).unwrap();
    let text = text_of(&files, &copied.path);
    assert_sound(&text);
    assert_eq!(text.matches("\"type\":\"session\"").count(), 1);
}

#[test]
fn only_a_users_message_has_a_before_and_unknown_entries_are_refused() {
    let (files, session) = four_turns();
    let answer = CopyPoint::Before(find(&session, "answer 1"));
    assert!(matches!(copy(&files, &session, &answer), Err(SessionError::NotAUserMessage { .. })));
    for what in [CopyPoint::At("gone".into()), CopyPoint::Before("gone".into())] {
        assert!(matches!(copy(&files, &session, &what), Err(SessionError::UnknownEntry { .. })));
    }
    assert_eq!(files.paths().len(), 2, "the session and its lock");
}

#[test]
fn what_has_no_message_yet_cannot_be_copied() {
    let (files, mut session) = session();
    session.append(vec![model("m")], Flush::Lazy).unwrap();
    for what in [CopyPoint::Leaf, CopyPoint::Tree, CopyPoint::At(ids(&session)[0].clone())] {
        assert!(matches!(copy(&files, &session, &what), Err(SessionError::NothingToCopy)));
    }
    assert_eq!(files.paths(), Vec::<PathBuf>::new());
}

#[test]
fn labels_on_the_path_are_set_again_at_the_end_with_their_times() {
    let (files, path) = stored(3);
    let mut session = open(&files, &path);
    let first = ids(&session);
    session.set_label(&first[0], Some("one")).unwrap();
    session.append(vec![user("after the label")], Flush::Sync).unwrap();
    session.set_label(&first[1], Some("gone")).unwrap();
    session.set_label(&first[1], None).unwrap();
    let kept = session.leaf().unwrap().clone();
    session.append(vec![compaction(Some(ids(&session)[3].clone()))], Flush::Sync).unwrap();
    session.append(vec![user("end")], Flush::Sync).unwrap();
    let end = session.leaf().unwrap().clone();
    session.move_leaf(Some(&first[0]), None).unwrap();
    session.append(vec![user("elsewhere")], Flush::Sync).unwrap();
    let elsewhere = session.leaf().unwrap().clone();
    session.set_label(&elsewhere, Some("off the path")).unwrap();

    let copied = copy(&files, &session, &CopyPoint::At(end.clone())).unwrap();
    let text = text_of(&files, &copied.path);
    assert_sound(&text);
    let fork = open(&files, &copied.path);
    let labels: Vec<(String, String)> =
        fork.labels().iter().map(|(id, label)| (id.to_string(), label.to_string())).collect();
    assert_eq!(labels, [(first[0].to_string(), "one".to_owned())]);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["timestamp"]),
        (&json!("label"), &json!("2026-11-30T16:51:02.123Z"))
    );
    assert_eq!(last["parentId"], end.as_str(), "behind everything that was said");
    // The compaction kept from a label, which is gone: now from the next entry.
    let compaction = fork.branch().unwrap().into_iter().find_map(|entry| match &entry.body {
        Body::Compaction { first_kept_entry_id, .. } => first_kept_entry_id.clone(),
        _ => None,
    });
    let next = session.index().iter().nth(4).unwrap().id.clone();
    assert_eq!(compaction, Some(next));
    assert_same(&at(&fork, &end), &at(&session, &end));
    assert_ne!(kept, end);
}

#[test]
fn a_clone_of_a_compacted_session_has_the_same_context_and_resolves_all_links() {
    let (files, mut session) = four_turns();
    let kept = find(&session, "question 3");
    session.append(vec![compaction(Some(kept)), user("go on")], Flush::Sync).unwrap();
    let copied = copy(&files, &session, &CopyPoint::Leaf).unwrap();
    let mut clone = open(&files, &copied.path);
    assert_same(&clone.context().unwrap(), &session.context().unwrap());
    for line in text_of(&files, &copied.path).lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        for key in ["parentId", "firstKeptEntryId"] {
            if let Some(id) = value[key].as_str() {
                assert!(clone.index().position(&id.into()).is_some(), "{key} {id} is there");
            }
        }
    }
}

#[test]
fn a_compaction_that_keeps_from_nowhere_keeps_nothing_in_the_copy_too() {
    let (files, mut session) = four_turns();
    session.append(vec![compaction(Some("gone".into()))], Flush::Sync).unwrap();
    let copied = copy(&files, &session, &CopyPoint::Leaf).unwrap();
    let mut clone = open(&files, &copied.path);
    assert_same(&clone.context().unwrap(), &session.context().unwrap());
    let last = clone.branch().unwrap().pop().unwrap();
    let Body::Compaction { first_kept_entry_id, .. } = &last.body else { panic!() };
    assert_eq!(first_kept_entry_id.as_ref(), Some(&last.id));
}

#[test]
fn an_open_turn_ends_as_cancelled_in_a_copy_and_waiting_messages_stay_behind() {
    for what in [CopyPoint::Leaf, CopyPoint::Tree] {
        let (files, mut session) = four_turns();
        let bodies = vec![user("run"), started(&session, "t5"), queued(&session)];
        session.append(bodies, Flush::Sync).unwrap();
        session.append(vec![calls(&["c9"]), queued(&session)], Flush::Sync).unwrap();
        let copied = copy(&files, &session, &what).unwrap();
        let mut copy = open(&files, &copied.path);
        assert_same(&copy.context().unwrap(), &session.context().unwrap());
        let records = records(&copy);
        assert!(!records.iter().any(|record| matches!(record, Record::Queued { .. })));
        let Some(Record::Finished { turn, status, .. }) = records.last() else { panic!() };
        assert_eq!((turn.as_str(), *status), ("t5", TurnStatus::Cancelled));
        assert_sound(&text_of(&files, &copied.path));
    }
}

#[test]
fn a_copy_that_ends_with_a_whole_answer_ends_its_turn_as_completed() {
    let (files, session) = four_turns();
    let copied = copy(&files, &session, &CopyPoint::At(find(&session, "answer 2"))).unwrap();
    let records = records(&open(&files, &copied.path));
    let Some(Record::Finished { turn, status, .. }) = records.last() else { panic!() };
    assert_eq!((turn.as_str(), *status), ("t2", TurnStatus::Completed));
}

#[test]
fn the_whole_tree_goes_to_another_folder_line_by_line_and_the_leaf_with_it() {
    let (files, mut session) = four_turns();
    // The end of the first turn.
    let back = ids(&session)[5].clone();
    session.set_name("named").unwrap();
    session.set_label(&back, Some("here")).unwrap();
    session.append_under(Some(&back), vec![user("other branch")], Flush::Sync).unwrap();
    session.move_leaf(Some(&back), None).unwrap();
    let snapshot = session.snapshot();
    let place = place(Arc::new(files.clone()));
    let copied = snapshot.copy(&place, &CopyPoint::Tree, Path::new("/else")).unwrap();
    let source = text_of(&files, session.path().unwrap());
    let text = text_of(&files, &copied.path);
    assert_eq!(
        text.lines().skip(1).collect::<Vec<_>>(),
        source.lines().skip(1).collect::<Vec<_>>()
    );
    let copy = open(&files, &copied.path);
    assert_eq!((copy.leaf(), copy.name()), (Some(&back), Some("named")));
    assert_eq!(copy.header().cwd, "/else");
    assert!(copied.path.starts_with("/sessions/--else--"), "{copied:?}");
}

#[test]
fn foreign_fields_and_spellings_survive_and_only_the_changed_link_differs() {
    let lines = concat!(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\",\"metadata\":{\"k\":1}}\n",
        "{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"x\":1.50,\"message\":{\"role\":\"user\",\"content\":\"one\"}}\n",
        "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"a\",\"targetId\":\"a\",\"label\":\"L\"}\n",
        "{ \"type\" : \"novel\", \"id\":\"b\", \"parentId\":\"l\", \"deep\":{\"parentId\":\"l\"} }\n",
        "{\"type\":\"message\",\"id\":\"c\",\"parentId\":\"b\",\"message\":{\"role\":\"user\",\"content\":\"two\\ud83d\"}}\n",
    );
    let files = MemoryFs::new();
    let path = Path::new("/x.jsonl");
    files.put(path, lines);
    let session = open(&files, path);
    let copied = copy(&files, &session, &CopyPoint::Leaf).unwrap();
    let text = text_of(&files, &copied.path);
    let copied_lines: Vec<&str> = text.lines().collect();
    let source: Vec<&str> = lines.lines().collect();
    assert_eq!(copied_lines[1], source[1]);
    assert_eq!(copied_lines[2], source[3].replacen("\"l\"", "\"a\"", 1));
    assert_eq!(copied_lines[3], source[4]);
    assert_eq!(open(&files, &copied.path).header().metadata, Some(json!({"k": 1})));
}

#[test]
fn old_files_are_copied_migrated() {
    let v1 = concat!(
        "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"cwd\":\"/w\"}\n",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n",
        "{\"type\":\"message\",\"message\":{\"role\":\"hookMessage\",\"customType\":\"h\",\"content\":\"b\"}}\n",
    );
    for what in [CopyPoint::Tree, CopyPoint::Leaf] {
        let files = MemoryFs::new();
        let path = Path::new("/x.jsonl");
        files.put(path, v1);
        let session = open(&files, path);
        let copied = copy(&files, &session, &what).unwrap();
        let text = text_of(&files, &copied.path);
        assert_sound(&text);
        assert!(text.contains("\"version\":3") && !text.contains("hookMessage"), "{text}");
        assert_eq!(told(&open(&files, &copied.path)), ["a", "b"]);
        assert_eq!(text_of(&files, path), v1);
    }
}

#[test]
fn a_path_without_settings_gets_them_in_front_from_its_first_answer() {
    let (files, mut session) = session();
    session.append(vec![user("a"), answer("b")], Flush::Sync).unwrap();
    let copied = copy(&files, &session, &CopyPoint::Leaf).unwrap();
    let mut clone = open(&files, &copied.path);
    let kinds: Vec<Kind> = clone.index().iter().map(|node| node.kind).collect();
    let want = [Kind::ModelChange, Kind::ThinkingLevelChange, Kind::Message, Kind::Message];
    assert_eq!(kinds, want);
    assert_same(&clone.context().unwrap(), &session.context().unwrap());
    assert_sound(&text_of(&files, &copied.path));
}

#[test]
fn an_import_keeps_bytes_id_and_folder_and_leaves_a_torn_line_out() {
    let (files, session) = four_turns();
    let source = text_of(&files, session.path().unwrap());
    let other = MemoryFs::new();
    other.put(Path::new("/in/x.jsonl"), format!("{source}{{\"type\":\"mess"));
    let place = place(Arc::new(other.clone()));
    let imported = import(&place, Path::new("/in/x.jsonl"), Path::new("/here")).unwrap();
    assert_eq!((&imported.id, imported.cwd.as_str()), (session.id(), "/work"));
    assert_eq!((imported.taken_by, imported.notices.len()), (None, 1));
    assert_eq!(text_of(&other, &imported.path), source);
    assert_eq!(
        find_by_prefix(&other, Path::new("/sessions"), session.id().as_str()).unwrap(),
        imported.path
    );
}

#[test]
fn a_second_import_of_one_session_gets_an_id_of_its_own() {
    let (files, session) = four_turns();
    let source = text_of(&files, session.path().unwrap());
    files.put(Path::new("/in/x.jsonl"), source.trim_end());
    let place = place(Arc::new(files.clone()));
    let imported = import(&place, Path::new("/in/x.jsonl"), Path::new("/here")).unwrap();
    assert_eq!(imported.taken_by.as_deref(), session.path());
    assert_ne!(&imported.id, session.id());
    let text = text_of(&files, &imported.path);
    assert_eq!(text, source.replacen(session.id().as_str(), imported.id.as_str(), 1));
    assert_eq!(text_of(&files, session.path().unwrap()), source);
}

#[test]
fn a_taken_name_gets_a_number_and_what_is_no_session_is_refused() {
    let files = MemoryFs::new();
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"abc\",\"timestamp\":\"2026-11-30T16:51:02.123Z\",\"cwd\":\"/w\"}\n";
    files.put(Path::new("/in.jsonl"), header);
    let taken = "/sessions/--w--/2026-11-30T16-51-02-123Z_abc.jsonl";
    files.put(Path::new(taken), "not a session\n");
    let place = place(Arc::new(files.clone()));
    let imported = import(&place, Path::new("/in.jsonl"), Path::new("/here")).unwrap();
    assert_eq!(imported.path, Path::new("/sessions/--w--/2026-11-30T16-51-02-123Z_abc-1.jsonl"));
    assert_eq!(text_of(&files, Path::new(taken)), "not a session\n");
    let before = files.paths();
    let refused = import(&place, Path::new(taken), Path::new("/here"));
    assert!(matches!(refused, Err(SessionError::NotASession { .. })));
    assert_eq!(files.paths(), before);
}

#[test]
fn an_id_that_names_another_folder_is_not_followed_and_a_missing_folder_is_filled_in() {
    let files = MemoryFs::new();
    files.put(
        Path::new("/in.jsonl"),
        "\n{\"type\":\"session\",\"version\":3,\"id\":\"../../evil\"}\n",
    );
    let place = place(Arc::new(files.clone()));
    let imported = import(&place, Path::new("/in.jsonl"), Path::new("/here")).unwrap();
    assert!(imported.path.starts_with("/sessions/--here--/"), "{imported:?}");
    let session = open(&files, &imported.path);
    assert_eq!((session.id(), session.header().cwd.as_str()), (&imported.id, "/here"));
}

mod any_session {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Step {
        Turn,
        Tool(usize),
        OpenTurn,
        Queue,
        Label(usize, bool),
        Name,
        Compact(usize),
        Edit(usize),
        Move(usize),
        ForeignLeaf(usize),
        Reopen,
        /// Go on in a copy of the path.
        Clone,
        /// Go on in a copy of the tree.
        Tree,
        Fork(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let n = 0_usize..24;
        prop_oneof![
            Just(Step::Turn),
            (0_usize..3).prop_map(Step::Tool),
            Just(Step::OpenTurn),
            Just(Step::Queue),
            (n.clone(), any::<bool>()).prop_map(|(n, set)| Step::Label(n, set)),
            Just(Step::Name),
            n.clone().prop_map(Step::Compact),
            n.clone().prop_map(Step::Edit),
            n.clone().prop_map(Step::Move),
            n.clone().prop_map(Step::ForeignLeaf),
            Just(Step::Reopen),
            Just(Step::Clone),
            Just(Step::Tree),
            n.prop_map(Step::Fork),
        ]
    }

    fn id_at(index: &Index, at: usize) -> Option<EntryId> {
        let at = u32::try_from(at % index.len().max(1)).ok()?;
        index.node(at).map(|node| node.id.clone())
    }

    /// Runs a step; copies replace the session.
    fn run(session: &mut Session, files: &MemoryFs, number: usize, step: &Step) {
        let index = session.index();
        let append = |session: &mut Session, bodies| {
            session.append(bodies, Flush::Sync).unwrap();
        };
        let target = |at: &usize| id_at(&index, *at);
        match step {
            Step::Turn => append(session, vec![user("u"), answer("a")]),
            Step::Tool(missing) => {
                let mut bodies = vec![user("u"), calls(&["x", "y"])];
                bodies.extend([result("x"), result("y")].into_iter().take(*missing));
                append(session, bodies);
            }
            Step::OpenTurn => {
                let bodies = vec![user("u"), started(session, &format!("t{number}"))];
                append(session, bodies);
            }
            Step::Queue => append(session, vec![queued(session)]),
            Step::Label(at, set) => {
                if let Some(id) = target(at) {
                    session.set_label(&id, set.then_some("l")).unwrap();
                }
            }
            Step::Name => drop(session.set_name(&format!("n{number}")).unwrap()),
            Step::Compact(at) => append(session, vec![compaction(target(at))]),
            Step::Edit(at) => {
                if let Some(target_id) = target(at) {
                    let body = Body::ContextEdit { target_id, replacement: None };
                    append(session, vec![body]);
                }
            }
            Step::Move(at) => session.move_leaf(target(at).as_ref(), None).unwrap(),
            Step::ForeignLeaf(at) => {
                let path = session.path().unwrap().to_owned();
                if let (Some(id), true) = (target(at), files.facts(&path).is_ok()) {
                    let leaf = session.leaf().map(|leaf| json!(leaf)).unwrap_or_default();
                    let line = format!(
                        "{{\"type\":\"leaf\",\"id\":\"f{number}\",\"parentId\":{leaf},\"targetId\":\"{id}\"}}\n"
                    );
                    files.push(&path, line.as_bytes());
                    session.refresh().unwrap();
                }
            }
            Step::Reopen => again(session, files, None),
            Step::Clone => again(session, files, Some(CopyPoint::Leaf)),
            Step::Tree => again(session, files, Some(CopyPoint::Tree)),
            Step::Fork(at) => again(session, files, target(at).map(CopyPoint::At)),
        }
    }

    /// Opens the file, or a copy of it, in place of the session.
    fn again(session: &mut Session, files: &MemoryFs, what: Option<CopyPoint>) {
        let mut path = session.path().unwrap().to_owned();
        if files.facts(&path).is_err() {
            return;
        }
        if let Some(what) = what {
            match copy(files, session, &what) {
                Ok(copied) => path = copied.path,
                Err(SessionError::NothingToCopy) => return,
                Err(error) => panic!("{what:?}: {error}"),
            }
        }
        let leaf = session.leaf().cloned();
        let is_same = path == session.path().unwrap();
        // The lock of the old one goes first.
        *session =
            Session::in_memory(Arc::new(harness_tui::ports::FixedClock(NOW)), Path::new("/"));
        *session = open(files, &path);
        if is_same {
            assert_eq!(session.leaf().cloned(), leaf);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]
        #[test]
        fn every_copy_of_any_session_says_the_same_and_revives_nothing(
            steps in prop::collection::vec(step(), 1..24)
        ) {
            let (files, mut session) = session();
            for (number, step) in steps.iter().enumerate() {
                run(&mut session, &files, number, step);
            }
            let path = session.path().unwrap().to_owned();
            // A fork at a record that does not travel is an empty session.
            if files.facts(&path).is_err() || session.index().is_empty() {
                return Ok(());
            }
            let before = text_of(&files, &path);
            for id in ids(&session) {
                let copied = copy(&files, &session, &CopyPoint::At(id.clone())).unwrap();
                assert_sound(&text_of(&files, &copied.path));
                let mut fork = open(&files, &copied.path);
                assert_same(&fork.context().unwrap(), &at(&session, &id));
                check_dead(&fork);
                assert_eq!(fork.name(), session.name());
            }
            let copied = copy(&files, &session, &CopyPoint::Tree).unwrap();
            assert_sound(&text_of(&files, &copied.path));
            let tree = open(&files, &copied.path);
            check_dead(&tree);
            assert_eq!((tree.name(), tree.labels()), (session.name(), session.labels()));
            for id in ids(&tree) {
                if session.index().position(&id).is_some() {
                    assert_same(&at(&tree, &id), &at(&session, &id));
                }
            }
            let mut tree = tree;
            assert_same(&tree.context().unwrap(), &session.context().unwrap());
            assert_eq!(text_of(&files, &path), before);
        }
    }

    /// No record of the copy claims to be of the copy, so nothing in it is acted on.
    fn check_dead(copy: &Session) {
        for record in records(copy) {
            match record {
                Record::Started { session, .. } | Record::Queued { session, .. } => {
                    assert_ne!(&session, copy.id());
                }
                _ => {}
            }
        }
    }
}
