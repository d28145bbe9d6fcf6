//! Every file operation of a move, a merge, a label and a compaction fails or is the last, in turn.
//!
//! Each ends with an answer and an idle engine, the next turn is taken, and what the file holds is
//! sound and begins with what it held before.

use std::io::ErrorKind as Io;
use std::sync::Arc;

use harness_tui::harness::{Command, Compaction, Phase, Summary};
use harness_tui::message::EntryId;
use harness_tui::ports::{Fault, FaultyFs, FileSystem, MemoryFs};
use harness_tui::session::verify;
use pretty_assertions::assert_eq;

use super::{generated, go, id_of, leaf, path};
use crate::support::engine::{Bench, Engine, Step};

const COMMANDS: usize = 7;

fn command(number: usize, one: &EntryId, two: &EntryId) -> Command {
    let own = || Summary::Own("kept".into());
    let label = Some("here".to_owned());
    match number {
        0 => go(one, Summary::None),
        1 => Command::Navigate { target: Some(one.clone()), summary: own(), label },
        2 => {
            Command::Navigate { target: Some(one.clone()), summary: generated(None, false), label }
        }
        3 => Command::SetLabel { target: two.clone(), label },
        4 => Command::Compact { instructions: None, up_to: None },
        5 => Command::Navigate { target: None, summary: Summary::None, label: None },
        _ => Command::Merge { from: two.clone(), summary: generated(None, false) },
    }
}

/// Two turns; for the merge the leaf stands after the first.
async fn ready(bench: &Bench, number: usize) -> (Engine, EntryId, EntryId) {
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    let (one, two) = (id_of(&engine, "one").await, id_of(&engine, "two").await);
    if number >= COMMANDS - 1 {
        engine.send(go(&one, Summary::None)).await.unwrap();
    }
    (engine, one, two)
}

#[tokio::test]
async fn every_failing_or_last_operation_leaves_a_session_that_goes_on() {
    for number in 0..COMMANDS {
        for is_last in [false, true] {
            let mut nth = 0;
            loop {
                nth += 1;
                let kind = Io::StorageFull;
                let fault = if is_last { Fault::Stop { nth } } else { Fault::Fail { nth, kind } };
                let memory = MemoryFs::new();
                let disk = FaultyFs::new(Arc::new(memory.clone()), fault);
                disk.arm(false);
                let compaction = Compaction { keep_recent_tokens: 8, ..Compaction::default() };
                let steps = vec![Step::Say("one"), Step::Say("two")];
                let mut bench = Bench { compaction, ..Bench::new(steps) };
                bench.files = Arc::new(disk.clone());
                let (mut engine, one, two) = ready(&bench, number).await;
                let file = path(&engine).await;
                let before = memory.read(&file).unwrap();
                let old = leaf(&engine).await;
                disk.arm(true);
                let ended = engine.send(command(number, &one, &two)).await;
                assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
                disk.arm(false);
                let place = format!("command {number}, operation {nth}, last {is_last}: {ended:?}");
                let is_done = disk.operations() < nth;
                assert!(!is_done || ended.is_ok(), "{place}");
                // A sync that failed is never tried again: the session has to be opened anew.
                let is_poisoned = engine.send(command(3, &one, &two)).await.is_err();
                if is_last || is_poisoned {
                    engine.handle.close().await;
                    engine = bench.reopened(&file);
                    let found = leaf(&engine).await;
                    // A program that is killed behind the write has moved and told nobody.
                    assert!(is_last || ended.is_ok() || found == old, "{place}");
                }
                engine.turn("third").await;
                assert_eq!(engine.told().await.last().unwrap(), "stop done", "{place}");
                let after = memory.read(&file).unwrap();
                assert!(after.starts_with(&before), "{place}");
                let report = verify(&memory, &file).unwrap();
                assert!(report.ok, "{place}: {:?}", report.problems);
                if is_done {
                    break;
                }
            }
            assert!(nth > 2, "command {number} met real operations");
        }
    }
}
