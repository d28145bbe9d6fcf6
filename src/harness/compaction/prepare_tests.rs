//! Where sessions are cut, on real sessions in memory.

use std::path::Path;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use serde_json::json;

use super::files::Files;
use super::prepare::{Cut, Nothing, Plan, Source, cut_of};
use super::prompt::Focus;
use super::size::{Counted, count};
use super::summarise::Written;
use crate::message::{
    AssistantMessage, EntryId, Message, Part, StopReason, ToolCall, ToolResultMessage, Usage,
};
use crate::ports::FixedClock;
use crate::session::{Body, Flush, Session};

fn session(bodies: Vec<Body>) -> Session {
    let mut session = Session::in_memory(Arc::new(FixedClock(0)), Path::new("/work"));
    session.append(bodies, Flush::Lazy).unwrap();
    session
}

fn message(message: Message) -> Body {
    Body::Message { message, harness: None }
}

/// A user message of `tokens` tokens.
fn u(tokens: usize) -> Body {
    message(Message::user("u".repeat(tokens * 4), 0))
}

fn answer(tokens: usize, call: Option<(&str, &str)>) -> AssistantMessage {
    let mut content = vec![Part::text("a".repeat(tokens * 4))];
    content.extend(call.map(|(name, path)| {
        Part::ToolCall(ToolCall {
            id: "c".into(),
            name: name.into(),
            arguments: json!({"path": path}),
            ..ToolCall::default()
        })
    }));
    AssistantMessage { content, ..AssistantMessage::default() }
}

fn a(tokens: usize) -> Body {
    message(Message::Assistant(answer(tokens, None)))
}

fn call(name: &str, path: &str) -> Body {
    message(Message::Assistant(answer(0, Some((name, path)))))
}

fn r(tokens: usize) -> Body {
    message(Message::ToolResult(ToolResultMessage {
        tool_call_id: "c".into(),
        tool_name: "read".into(),
        content: vec![Part::text("r".repeat(tokens * 4))],
        details: None,
        is_error: false,
        duration_ms: None,
        timestamp: 0,
    }))
}

fn compaction(first_kept: Option<&EntryId>) -> Body {
    Body::Compaction {
        summary: "before".into(),
        first_kept_entry_id: first_kept.cloned(),
        tokens_before: 1,
        details: Some(json!({"readFiles": ["old"], "modifiedFiles": []})),
        usage: None,
        from_hook: None,
        retained_tail: None,
    }
}

fn ids(session: &Session) -> Vec<EntryId> {
    session.branch().unwrap().iter().map(|entry| entry.id.clone()).collect()
}

fn cut(session: &mut Session, keep: u64) -> Result<Cut, Nothing> {
    cut_most(session, keep, u64::MAX, None)
}

fn cut_most(
    session: &mut Session,
    keep: u64,
    most: u64,
    up_to: Option<&EntryId>,
) -> Result<Cut, Nothing> {
    let (view, context) = (session.tree(), session.context().unwrap());
    let (index, leaf) = (view.index(), view.leaf);
    cut_of(&Source { context: &context, index, leaf, keep, most, up_to })
}

/// Where it is cut, how much is history and how much the beginning of a turn; places on the path.
fn shape(session: &mut Session, keep: u64) -> (usize, usize, usize) {
    let path = ids(session);
    let cut = cut(session, keep).unwrap();
    let at = path.iter().position(|id| *id == cut.first_kept).unwrap();
    (at, cut.history.len(), cut.prefix.len())
}

#[test]
fn everything_recent_stays_and_there_is_nothing_to_fold() {
    assert_eq!(cut(&mut session(vec![u(1), a(1), u(1), a(1)]), 1000), Err(Nothing::TooSmall));
    assert_eq!(cut(&mut session(vec![u(1)]), 0), Err(Nothing::TooSmall));
    assert_eq!(cut(&mut session(vec![]), 0), Err(Nothing::TooSmall));
}

#[test]
fn the_cut_is_the_first_candidate_from_where_enough_is_kept() {
    // From the newest: 10, 20, 30; the budget is reached at the third from the end.
    assert_eq!(shape(&mut session(vec![u(10), a(10), u(10), a(10), u(10)]), 25), (2, 2, 0));
    assert_eq!(shape(&mut session(vec![u(10), a(10), u(10), a(10), u(10)]), 10), (4, 4, 0));
}

#[test]
fn results_at_the_end_that_are_larger_than_all_keep_the_answer_that_asked_for_them() {
    let mut session = session(vec![u(1), a(1), u(1), call("read", "x"), r(500), r(500)]);
    let path = ids(&session);
    assert_eq!(cut(&mut session, 100).unwrap().first_kept, path[3]);
}

#[test]
fn a_turn_that_is_split_is_told_apart_from_the_history() {
    let mut session = session(vec![u(9), a(9), u(9), a(9), a(9), a(9)]);
    assert_eq!(shape(&mut session, 1), (5, 2, 3));
    let newest = Some(ids(&session)[2].clone());
    assert_eq!(cut(&mut session, 1).unwrap().newest_user, newest);
    assert_eq!(cut(&mut session, 30).unwrap().newest_user, None, "the request itself stays");
}

#[test]
fn what_is_no_message_in_front_of_the_cut_comes_along_but_not_across_a_compaction() {
    let note = || Body::SessionInfo { name: Some("n".into()) };
    let mut one = session(vec![u(9), a(9), note(), note(), u(9)]);
    assert_eq!(shape(&mut one, 1), (2, 2, 0));
    let mut two = session(vec![u(9), compaction(None), note(), u(9), a(9), u(9)]);
    let path = ids(&two);
    let cut = cut_most(&mut two, 1, u64::MAX, Some(&path[4])).unwrap();
    assert_eq!((cut.first_kept, cut.history.len(), cut.prefix.len()), (path[4].clone(), 0, 1));
}

#[test]
fn right_after_a_compaction_there_is_nothing_to_do() {
    let name = Body::SessionInfo { name: Some("n".into()) };
    let mut session = session(vec![u(9), a(9), compaction(None), name]);
    assert_eq!(cut(&mut session, 1), Err(Nothing::Already));
}

#[test]
fn the_next_compaction_begins_at_what_the_last_one_kept_and_knows_its_summary() {
    let mut session = session(vec![u(9), a(9), u(9), a(9)]);
    let kept = ids(&session)[2].clone();
    session.append(vec![compaction(Some(&kept)), u(9), a(9)], Flush::Lazy).unwrap();
    let path = ids(&session);
    let cut = cut(&mut session, 10).unwrap();
    let folded: Vec<&EntryId> = cut.history.iter().map(|said| &said.id).collect();
    assert_eq!((folded, cut.first_kept), (vec![&path[2], &path[3]], path[5].clone()));
    assert_eq!(cut.previous, Some((path[4].clone(), "before".to_owned())));
}

#[test]
fn a_programs_message_counts_and_may_be_cut_at() {
    let custom = Body::CustomMessage {
        custom_type: "x".into(),
        content: vec![Part::text("c".repeat(400))],
        display: true,
        details: None,
    };
    assert_eq!(shape(&mut session(vec![u(9), a(9), custom, a(1)]), 50), (2, 2, 0));
}

#[test]
fn a_huge_message_at_the_cut_stays_only_when_there_is_room_for_it() {
    let mut session = session(vec![u(9), a(9), u(5000), a(9), u(9)]);
    assert_eq!(shape(&mut session, 30).0, 2);
    let path = ids(&session);
    let cut = cut_most(&mut session, 30, 1000, None).unwrap();
    assert_eq!((cut.first_kept, cut.prefix.len()), (path[3].clone(), 1));
}

#[test]
fn a_wish_up_to_where_never_parts_a_call_from_its_result() {
    let mut session = session(vec![u(9), call("read", "x"), r(9), u(9)]);
    let path = ids(&session);
    let up_to = |session: &mut Session, at: usize| {
        cut_most(session, 1, u64::MAX, Some(&path[at])).map(|cut| cut.first_kept)
    };
    assert_eq!(up_to(&mut session, 2), Ok(path[1].clone()));
    assert_eq!(up_to(&mut session, 3), Ok(path[3].clone()));
    assert_eq!(up_to(&mut session, 0), Err(Nothing::TooSmall));
    let nowhere = cut_most(&mut session, 1, u64::MAX, Some(&"nope".into()));
    assert_eq!(nowhere, Err(Nothing::NotHere));
}

fn written(text: &str) -> Written {
    Written { text: text.into(), usage: Usage { output: 5, ..Usage::default() } }
}

#[test]
fn the_summary_of_a_split_turn_has_both_parts_the_request_and_the_files() {
    let mut session = session(vec![u(9), a(9), u(9), call("edit", "b"), r(1), call("read", "a")]);
    let cut = cut(&mut session, 1).unwrap();
    let files = Files::default();
    let plan = Plan::new(cut, "leaf".into(), Some("do B\nnow"), files, &Focus::default());
    let (summary, usage) = plan.summary(vec![written("history"), written("turn")]);
    assert_eq!(
        summary,
        "history\n\n---\n\n**Turn Context (split turn):**\n\nturn\n\n\
         **The user's newest request, word for word; it is being worked on:**\n\n> do B\n> now\n\n\
         <modified-files>\nb\n</modified-files>"
    );
    assert_eq!(usage.output, 10);
}

#[test]
fn without_new_history_the_summary_before_is_carried_on() {
    let mut session = session(vec![u(9)]);
    session.append(vec![compaction(None), u(9), a(9), a(9)], Flush::Lazy).unwrap();
    let cut = cut(&mut session, 1).unwrap();
    let plan = Plan::new(cut, "leaf".into(), None, Files::default(), &Focus::default());
    assert_eq!(plan.tasks().len(), 1);
    let (summary, _) = plan.summary(vec![written("turn")]);
    assert_eq!(summary, "before\n\n---\n\n**Turn Context (split turn):**\n\nturn");
}

fn counted(session: &mut Session, fixed: u64) -> Counted {
    let (view, context) = (session.tree(), session.context().unwrap());
    count(&context, view.index(), view.leaf, fixed)
}

fn with_usage(usage: Usage, stop_reason: StopReason) -> Body {
    message(Message::Assistant(AssistantMessage { usage, stop_reason, ..answer(10, None) }))
}

#[test]
fn the_last_count_is_the_anchor_and_what_is_newer_is_estimated() {
    let total = Usage { total_tokens: 1800, ..Usage::default() };
    let mut one = session(vec![u(10), with_usage(total.clone(), StopReason::Stop), u(7)]);
    let want = Counted { tokens: 1807, estimated: false, fixed: 1780, messages: 27 };
    assert_eq!(counted(&mut one, 100), want);
    let sum = Usage { input: 1000, output: 500, cache_read: 200, cache_write: 100, ..total };
    let sum = Usage { total_tokens: 0, ..sum };
    let mut two = session(vec![u(10), with_usage(sum, StopReason::Stop)]);
    assert_eq!(counted(&mut two, 100).tokens, 1800);
}

#[test]
fn a_count_of_nothing_or_of_a_failed_answer_is_no_anchor() {
    let total = Usage { total_tokens: 1800, ..Usage::default() };
    for (usage, reason) in [
        (Usage::default(), StopReason::Stop),
        (total.clone(), StopReason::Error),
        (total, StopReason::Aborted),
    ] {
        let mut session = session(vec![u(10), with_usage(usage, reason), u(7)]);
        let want = Counted { tokens: 127, estimated: true, fixed: 100, messages: 27 };
        assert_eq!(counted(&mut session, 100), want);
    }
}

#[test]
fn a_count_from_before_a_compaction_or_an_edit_is_no_anchor() {
    let total = Usage { total_tokens: 90_000, ..Usage::default() };
    let mut session = session(vec![u(10), with_usage(total, StopReason::Stop), u(7)]);
    let path = ids(&session);
    session.append(vec![compaction(Some(&path[1]))], Flush::Lazy).unwrap();
    assert_eq!(
        counted(&mut session, 0),
        Counted { tokens: 19, estimated: true, fixed: 0, messages: 19 }
    );
    let total = Usage { total_tokens: 500, ..Usage::default() };
    session.append(vec![u(1), with_usage(total, StopReason::Stop)], Flush::Lazy).unwrap();
    assert_eq!(counted(&mut session, 0).tokens, 500);
    let edit = Body::ContextEdit { target_id: path[2].clone(), replacement: None };
    session.append(vec![edit], Flush::Lazy).unwrap();
    assert!(counted(&mut session, 0).estimated);
}
