//! Any order of prompts, moves, labels, folds, forks and reopenings keeps requests valid and the leaf.

use harness_tui::harness::{Command, ForkPoint, Reply, Summary};
use harness_tui::message::EntryId;
use harness_tui::session::{Body, Entry};
use proptest::prelude::*;

use super::{bench, compact};
use crate::support::engine::{Engine, Step};

#[derive(Debug, Clone)]
enum Act {
    Prompt(usize),
    Call,
    /// To an entry, and whether with words of its own, written by the model, or none.
    Go(usize, u8),
    Root,
    Label(usize),
    Compact,
    /// A draft that is made, edited and stored.
    Draft,
    Merge(usize),
    /// A session of its own that ends there, or just before it when it is a message of the person.
    Fork(usize, bool),
    Reopen,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (1_usize..60).prop_map(Act::Prompt),
        2 => Just(Act::Call),
        3 => (any::<usize>(), 0_u8..3).prop_map(|(at, how)| Act::Go(at, how)),
        1 => Just(Act::Root),
        1 => any::<usize>().prop_map(Act::Label),
        2 => Just(Act::Compact),
        2 => Just(Act::Draft),
        1 => any::<usize>().prop_map(Act::Merge),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(at, before)| Act::Fork(at, before)),
        1 => Just(Act::Reopen),
    ];
    prop::collection::vec(act, 1..24)
}

fn all_ids(engine: &Engine) -> Vec<EntryId> {
    let tree = engine.handle.tree();
    tree.index().iter().map(|node| node.id.clone()).collect()
}

fn pick(engine: &Engine, at: usize) -> Option<EntryId> {
    let ids = all_ids(engine);
    ids.get(at.checked_rem(ids.len())?).cloned()
}

fn leaf(engine: &Engine) -> Option<EntryId> {
    let tree = engine.handle.tree();
    Some(tree.index().node(tree.leaf?)?.id.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..Default::default() })]
    #[test]
    fn any_order_keeps_old_bytes_the_chain_the_request_and_the_leaf(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bench = bench(vec![]);
            let mut engine = bench.engine();
            let mut path = engine.handle.snapshot().await.unwrap().path.unwrap();
            let mut old: Vec<u8> = Vec::new();
            for act in acts {
                match act {
                    Act::Prompt(words) => {
                        engine.turn(&"word ".repeat(words)).await;
                    }
                    Act::Call => {
                        let step = Step::Call(vec![("look", serde_json::json!({})); 2]);
                        bench.player.steps.lock().unwrap().push_back(step);
                        engine.turn("call").await;
                    }
                    Act::Go(at, how) => {
                        let summary = match how {
                            0 => Summary::None,
                            1 => Summary::Own("own words".into()),
                            _ => Summary::Generated { instructions: None, replace: false },
                        };
                        if let Some(target) = pick(&engine, at) {
                            let label = Some("there".into());
                            let target = Some(target);
                            engine.send(Command::Navigate { target, summary, label }).await.unwrap();
                        }
                    }
                    Act::Root => {
                        let summary = Summary::None;
                        let command = Command::Navigate { target: None, summary, label: None };
                        engine.send(command).await.unwrap();
                    }
                    Act::Label(at) => {
                        if let Some(target) = pick(&engine, at) {
                            let label = Some("marked".into());
                            engine.send(Command::SetLabel { target, label }).await.unwrap();
                        }
                    }
                    // Both may have nothing to do, and say so.
                    Act::Compact => drop(engine.send(compact()).await),
                    Act::Draft => {
                        let command = Command::DraftCompaction { instructions: None, up_to: None };
                        if let Ok(Reply::Draft(mut draft)) = engine.send(command).await {
                            draft.summary.push_str(" edited");
                            engine.send(Command::StoreCompaction { draft }).await.unwrap();
                        }
                    }
                    Act::Fork(at, before) => {
                        if let Some(id) = pick(&engine, at) {
                            let at = ForkPoint::At(id.clone());
                            let at = if before { ForkPoint::Before(id) } else { at };
                            if let Ok(Reply::Written { path, .. }) = engine.send(Command::Fork { at }).await {
                                // The player checks what a fork sends, too.
                                bench.reopened(&path).turn("in the fork").await;
                            }
                        }
                    }
                    Act::Merge(at) => {
                        if let Some(from) = pick(&engine, at) {
                            let summary = Summary::Own("found there".into());
                            let _ = engine.send(Command::Merge { from, summary }).await;
                        }
                    }
                    Act::Reopen => {
                        let before = leaf(&engine);
                        engine.handle.close().await;
                        if bench.files.read(&path).is_ok() {
                            engine = bench.reopened(&path);
                            prop_assert_eq!(leaf(&engine), before);
                        } else {
                            // Nothing was said yet, so there is no file.
                            engine = bench.engine();
                            path = engine.handle.snapshot().await.unwrap().path.unwrap();
                        }
                    }
                }
                let now = bench.files.read(&path).unwrap_or_default();
                prop_assert!(now.starts_with(&old));
                old = now;
                let tree = engine.handle.tree();
                let positions: Vec<u32> = (0..).take(tree.index().len()).collect();
                let mut seen: Vec<EntryId> = Vec::new();
                for entry in tree.reader.entries(&positions).unwrap() {
                    let Entry { id, parent_id, body, .. } = &*entry;
                    prop_assert!(parent_id.as_ref().is_none_or(|parent| seen.contains(parent)));
                    if let Body::Compaction { first_kept_entry_id: Some(first), .. } = body {
                        prop_assert!(seen.contains(first));
                    }
                    seen.push(id.clone());
                }
            }
            // Whatever came before, the next request is well formed: the player checks it.
            engine.turn("the end").await;
            let end = leaf(&engine);
            engine.handle.close().await;
            prop_assert_eq!(leaf(&bench.reopened(&path)), end);
            Ok(())
        })?;
    }
}
