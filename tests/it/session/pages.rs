//! A path in pages, and what is read of a long path at opening.

use std::path::Path;
use std::sync::Arc;

use harness_tui::message::EntryId;
use harness_tui::ports::{FixedClock, MemoryFs};
use harness_tui::session::{Body, Context, Flush, Page, Position, Reader, Role, Session, Stretch};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{NOW, answer, model, place, user};

fn session(bodies: Vec<Body>) -> Session {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files)), Path::new("/work"));
    session.append(bodies, Flush::Lazy).unwrap();
    session
}

fn ids(pages: &[Page]) -> Vec<EntryId> {
    pages.iter().flat_map(|page| &page.entries).map(|entry| entry.id.clone()).collect()
}

/// All pages of the path to the leaf from its end, root first.
fn from_the_end(reader: &Reader, leaf: Position) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut next = Some(leaf);
    while let Some(last) = next {
        let page = reader.last_page(Stretch { above: None, last }).unwrap();
        next = page.above;
        pages.push(page);
    }
    pages.reverse();
    pages
}

fn from_the_beginning(reader: &Reader, leaf: Position) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    let mut above = None;
    while above != Some(leaf) {
        let page = reader.first_page(Stretch { above, last: leaf }).unwrap();
        assert_eq!(page.above, above);
        above = page.last;
        pages.push(page);
    }
    pages
}

fn record() -> Body {
    Body::Custom { custom_type: "x".into(), data: None }
}

#[test]
fn a_page_begins_with_a_prompt_and_is_a_few_screens_long() {
    let turn = || [user("q"), record(), answer("a"), answer("b")];
    let session = session((0..500).flat_map(|_| turn()).collect());
    let tree = session.tree();
    for pages in [
        from_the_end(&tree.reader, tree.leaf.unwrap()),
        from_the_beginning(&tree.reader, tree.leaf.unwrap()),
    ] {
        assert_eq!(pages.iter().map(|page| page.entries.len()).sum::<usize>(), 1500);
        for page in &pages {
            let first = tree.index().position(&page.entries[0].id).unwrap();
            assert_eq!(tree.index().node(first).unwrap().role, Some(Role::User));
            assert!(page.entries.len() <= 150, "{}", page.entries.len());
        }
    }
}

#[test]
fn a_turn_without_end_is_cut_all_the_same() {
    let session = session((0..5_000).map(|_| answer("step")).collect());
    let tree = session.tree();
    let pages = from_the_end(&tree.reader, tree.leaf.unwrap());
    assert!(pages.iter().all(|page| page.entries.len() <= 512), "{}", pages.len());
    assert_eq!(ids(&pages).len(), 5_000);
}

#[test]
fn a_stretch_is_counted_without_what_nobody_sees() {
    let session = session(vec![user("a"), record(), user("b"), user("c")]);
    let reader = session.reader();
    assert_eq!(reader.count(Stretch { above: None, last: 3 }), 3);
    assert_eq!(reader.count(Stretch { above: Some(0), last: 2 }), 1);
    assert_eq!(reader.count(Stretch { above: Some(0), last: 1 }), 0);
}

fn bodies() -> impl Strategy<Value = Vec<Body>> {
    let body = prop_oneof![
        4 => Just(user("q")),
        8 => (0..3_000usize).prop_map(|len| answer(&"x".repeat(len * 10))),
        1 => "[a-c]".prop_map(|id| model(&id)),
        1 => Just(Body::ThinkingLevelChange { thinking_level: "high".into() }),
        1 => Just(Body::Custom {
            custom_type: "harness-tui.tools".into(),
            data: Some(serde_json::json!({"v": 1, "tools": ["ls"]})),
        }),
        2 => Just(record()),
    ];
    proptest::collection::vec(body, 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_from_either_end_are_the_path(bodies in bodies()) {
        let mut session = session(bodies);
        let tree = session.tree();
        let shown: Vec<EntryId> = session
            .branch()
            .unwrap()
            .iter()
            .filter(|entry| !matches!(entry.body, Body::Custom { .. }))
            .map(|entry| entry.id.clone())
            .collect();
        let leaf = tree.leaf.unwrap();
        prop_assert_eq!(&ids(&from_the_end(&tree.reader, leaf)), &shown);
        prop_assert_eq!(&ids(&from_the_beginning(&tree.reader, leaf)), &shown);
        let context = Context { messages: Vec::new(), ..(*session.context().unwrap()).clone() };
        prop_assert_eq!(session.settings().unwrap(), context);
    }
}

#[test]
fn an_empty_session_has_no_settings() {
    let session = Session::in_memory(Arc::new(FixedClock(NOW)), Path::new("/work"));
    assert_eq!(session.settings().unwrap(), Context::default());
    assert_eq!(session.landmarks(), []);
}
