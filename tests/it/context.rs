//! From a tree to the messages of a request.

mod view;

use std::path::Path;
use std::sync::Arc;

use harness_tui::message::{EntryId, Message, Part, ThinkingLevel};
use harness_tui::ports::MemoryFs;
use harness_tui::session::{Body, Context, Entry, Flush, Session, build_context};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::session::{open, user};

/// A session from lines; `(id, parent, rest)`.
fn session(lines: &[(&str, &str, Value)]) -> Session {
    let files = MemoryFs::new();
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n".to_owned();
    for (id, parent, rest) in lines {
        let mut line = rest.clone();
        line["id"] = json!(id);
        line["parentId"] = if parent.is_empty() { Value::Null } else { json!(parent) };
        text.push_str(&format!("{line}\n"));
    }
    files.put(Path::new("/x.jsonl"), text);
    open(&files, Path::new("/x.jsonl"))
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "message": {"role": role, "content": text}})
}

fn answered(text: &str, model: &str) -> Value {
    json!({"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": text}], "provider": "p", "model": model}})
}

fn compaction(summary: &str, kept: &str) -> Value {
    json!({"type": "compaction", "summary": summary, "firstKeptEntryId": kept, "tokensBefore": 1})
}

fn edit(target: &str, replacement: &Value) -> Value {
    json!({"type": "context_edit", "targetId": target, "replacement": replacement})
}

/// The entries in a chain `1`, `2`, … of the given bodies.
fn chain(bodies: &[Value]) -> Session {
    let ids: Vec<String> = (1..=bodies.len()).map(|n| n.to_string()).collect();
    let lines: Vec<(&str, &str, Value)> = bodies
        .iter()
        .enumerate()
        .map(|(n, body)| {
            (ids[n].as_str(), if n == 0 { "" } else { ids[n - 1].as_str() }, body.clone())
        })
        .collect();
    session(&lines)
}

fn texts(context: &Context) -> Vec<String> {
    context.messages.iter().map(|(_, message)| message.text()).collect()
}

fn told(session: &mut Session) -> Vec<String> {
    let context = session.context().unwrap();
    assert_eq!(*context, build_context(&session.branch().unwrap()), "reading less gives the same");
    texts(&context)
}

#[test]
fn no_entries_give_an_empty_context() {
    assert_eq!(build_context(&[]), Context::default());
}

#[test]
fn a_line_of_messages_is_told_in_order_with_the_model_of_the_last_answer() {
    let mut session =
        chain(&[said("user", "u1"), answered("a1", "x"), said("user", "u2"), answered("a2", "y")]);
    assert_eq!(told(&mut session), ["u1", "a1", "u2", "a2"]);
    let context = session.context().unwrap();
    assert_eq!(context.model, Some(("p".into(), "y".into())));
    assert_eq!(context.thinking_level, None);
    assert_eq!(context.messages[0].0, Some("1".into()));
}

#[test]
fn the_later_of_model_change_and_answer_decides_the_model() {
    let change = json!({"type": "model_change", "provider": "q", "modelId": "c"});
    let model = |bodies: &[Value]| chain(bodies).context().unwrap().model.clone().unwrap().1;
    assert_eq!(model(&[said("user", "u"), change.clone(), answered("a", "x")]), "x");
    assert_eq!(model(&[said("user", "u"), answered("a", "x"), change]), "c");
}

#[test]
fn settings_from_before_a_compaction_stay() {
    let mut session = chain(&[
        json!({"type": "thinking_level_change", "thinkingLevel": "high"}),
        json!({"type": "model_change", "provider": "p", "modelId": "m"}),
        json!({"type": "active_tools_change", "activeToolNames": ["read"]}),
        said("user", "u"),
        compaction("s", "5"),
    ]);
    assert_eq!(told(&mut session), ["s"]);
    let context = session.context().unwrap();
    assert_eq!(context.thinking_level, Some(ThinkingLevel::High));
    assert_eq!(context.model, Some(("p".into(), "m".into())));
    assert_eq!(context.active_tools, Some(vec!["read".to_owned()]));
}

#[test]
fn a_compaction_puts_its_summary_before_what_it_kept_and_what_follows() {
    let with = |kept: &str| {
        told(&mut chain(&[
            said("user", "1"),
            answered("2", "m"),
            said("user", "3"),
            answered("4", "m"),
            compaction("5", kept),
            said("user", "6"),
            answered("7", "m"),
        ]))
    };
    assert_eq!(with("3"), ["5", "3", "4", "6", "7"]);
    assert_eq!(with("1"), ["5", "1", "2", "3", "4", "6", "7"]);
    assert_eq!(with("nowhere"), ["5", "6", "7"]);
    assert_eq!(with("5"), ["5", "6", "7"], "its own id keeps nothing");
    assert_eq!(with("6"), ["5", "6", "7"], "what follows it is not kept twice");
}

#[test]
fn only_the_last_of_two_compactions_speaks() {
    let mut session = chain(&[
        said("user", "1"),
        answered("2", "m"),
        compaction("3", "1"),
        said("user", "4"),
        answered("5", "m"),
        compaction("6", "4"),
        said("user", "7"),
    ]);
    assert_eq!(told(&mut session), ["6", "4", "5", "7"]);
    let mut session =
        chain(&[said("user", "1"), compaction("2", "1"), said("user", "3"), compaction("4", "1")]);
    assert_eq!(told(&mut session), ["4", "1", "3"], "an older summary in the kept range is silent");
}

#[test]
fn a_retained_tail_stands_for_what_was_kept() {
    let mut body = compaction("c", "1");
    body["retainedTail"] = json!([{"role": "user", "content": "tail"}]);
    let mut session = chain(&[said("user", "1"), body, said("user", "after")]);
    assert_eq!(told(&mut session), ["c", "tail", "after"]);
}

#[test]
fn each_branch_is_told_alone() {
    let mut tree = session(&[
        ("1", "", said("user", "1")),
        ("2", "1", answered("2", "m")),
        ("3", "2", said("user", "3")),
        ("c", "3", compaction("c", "c")),
        ("4", "2", said("user", "4")),
    ]);
    assert_eq!(told(&mut tree), ["1", "2", "4"], "the sibling's compaction does not count");
    tree.move_leaf(Some(&"3".into()), None).unwrap();
    assert_eq!(told(&mut tree), ["1", "2", "3"]);
    tree.move_leaf(Some(&"c".into()), None).unwrap();
    assert_eq!(told(&mut tree), ["c"]);
    tree.move_leaf(None, None).unwrap();
    assert_eq!(told(&mut tree), Vec::<String>::new());
}

#[test]
fn a_branch_summary_is_told_where_it_stands_unless_it_is_empty() {
    let with = |summary: &str| {
        told(&mut chain(&[
            said("user", "1"),
            json!({"type": "branch_summary", "fromId": "4", "summary": summary}),
            said("user", "5"),
        ]))
    };
    assert_eq!(with("bs"), ["1", "bs", "5"]);
    assert_eq!(with(""), ["1", "5"]);
}

#[test]
fn records_labels_and_names_are_not_told_and_a_programs_message_is() {
    let mut session = chain(&[
        said("user", "1"),
        json!({"type": "custom", "customType": "x", "data": {"text": "no"}}),
        json!({"type": "label", "targetId": "1", "label": "no"}),
        json!({"type": "session_info", "name": "no"}),
        json!({"type": "usage", "kind": "no"}),
        json!({"type": "moon", "content": "no"}),
        json!({"type": "custom_message", "customType": "x", "content": "yes", "display": false}),
    ]);
    assert_eq!(told(&mut session), ["1", "yes"]);
}

#[test]
fn the_last_edit_of_an_entry_wins_and_going_back_before_it_undoes_it() {
    let mut session = chain(&[
        said("user", "1"),
        answered("2", "m"),
        said("user", "3"),
        edit("2", &json!({"content": "new"})),
        edit("3", &json!({"content": [{"type": "text", "text": "changed"}]})),
        edit("3", &Value::Null),
    ]);
    assert_eq!(told(&mut session), ["1", "new"]);
    session.move_leaf(Some(&"5".into()), None).unwrap();
    assert_eq!(told(&mut session), ["1", "new", "changed"]);
    session.move_leaf(Some(&"3".into()), None).unwrap();
    assert_eq!(told(&mut session), ["1", "2", "3"]);
}

#[test]
fn null_content_is_told_as_no_content() {
    let null = json!({"type": "message", "message": {"role": "user", "content": null}});
    let context = chain(&[null]).context().unwrap();
    let Message::User(message) = &*context.messages[0].1 else { panic!() };
    assert_eq!(message.content, Vec::<Part>::new());
}

#[test]
fn tools_of_our_own_record_are_settings_too() {
    let tools = json!({"type": "custom", "customType": "harness-tui.tools", "data": {"v": 1, "tools": ["bash"]}});
    let context = chain(&[said("user", "1"), tools, compaction("c", "3")]).context().unwrap();
    assert_eq!(context.active_tools, Some(vec!["bash".to_owned()]));
}

#[test]
fn a_context_that_grows_entry_by_entry_is_the_one_built_at_once() {
    let mut session = chain(&[said("user", "1"), answered("2", "m")]);
    assert_eq!(told(&mut session), ["1", "2"]);
    let held = session.context().unwrap();
    session.append(vec![user("3")], Flush::Lazy).unwrap();
    assert_eq!(told(&mut session), ["1", "2", "3"]);
    assert_eq!(texts(&held), ["1", "2"], "a context that was given out does not change");
    assert!(Arc::ptr_eq(&held.messages[0].1, &session.context().unwrap().messages[0].1));
    session
        .append(
            vec![Body::ContextEdit { target_id: "1".into(), replacement: None }, user("4")],
            Flush::Lazy,
        )
        .unwrap();
    assert_eq!(told(&mut session), ["2", "3", "4"]);
}

mod any_tree {
    use super::*;
    use proptest::prelude::*;

    fn body(n: usize) -> impl Strategy<Value = Value> {
        let id = move || (0..n + 2).prop_map(|id| format!("e{id}"));
        prop_oneof![
            3 => Just(said("user", &n.to_string())),
            3 => Just(answered(&n.to_string(), &n.to_string())),
            1 => Just(answered(&n.to_string(), "")),
            1 => Just(json!({"type": "model_change", "provider": "p", "modelId": n.to_string()})),
            1 => Just(json!({"type": "thinking_level_change", "thinkingLevel": "low"})),
            1 => Just(json!({"type": "custom", "customType": "harness-tui.tools", "data": {"tools": [n.to_string()]}})),
            1 => Just(json!({"type": "label", "targetId": "e0", "label": "x"})),
            1 => id().prop_map(|id| compaction("c", &id)),
            1 => id().prop_map(|id| edit(&id, &Value::Null)),
        ]
    }

    fn lines() -> impl Strategy<Value = Vec<(usize, Value)>> {
        (1_usize..20)
            .prop_flat_map(|count| (0..count).map(|n| (0..n.max(1), body(n))).collect::<Vec<_>>())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn what_is_read_of_a_path_gives_the_same_context_as_the_whole_path(lines in lines(), jumps in prop::collection::vec(0_usize..20, 0..6)) {
            let ids: Vec<String> = (0..lines.len()).map(|n| format!("e{n}")).collect();
            let made: Vec<(&str, &str, Value)> = lines.iter().enumerate().map(|(n, (parent, body))| {
                (ids[n].as_str(), if n == 0 { "" } else { ids[*parent].as_str() }, body.clone())
            }).collect();
            let mut session = session(&made);
            for jump in jumps {
                let path: Vec<Arc<Entry>> = session.branch().unwrap();
                prop_assert_eq!(&*session.context().unwrap(), &build_context(&path));
                if let Some(id) = ids.get(jump) {
                    session.move_leaf(Some(&EntryId::from(id.as_str())), None).unwrap();
                } else {
                    session.append(vec![user("more")], Flush::Lazy).unwrap();
                }
            }
            prop_assert_eq!(&*session.context().unwrap(), &build_context(&session.branch().unwrap()));
        }
    }
}
