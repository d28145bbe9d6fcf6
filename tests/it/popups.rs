//! The popups of a session: compaction preview, context, fork list, facts, and their commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::harness::{
    Command, CompactionDraft, ContextPart, ContextReport, ErrorCode, ExportFormat, ForkPoint,
    HarnessError, Reply, Snapshot, Which,
};
use harness_tui::message::{Message, Usage};
use harness_tui::ports::FixedClock;
use harness_tui::session::{Body, Flush, Session};
use harness_tui::ui::action::{Action, Asked, Effect};
use harness_tui::ui::facts;
use harness_tui::ui::forks::prompts;
use harness_tui::ui::popup::Popup;
use harness_tui::ui::sessions::{News, Work};
use pretty_assertions::assert_eq;

use crate::support::ui::{Ui, snapshot};

const SIZES: [(u16, u16); 4] = [(160, 45), (100, 30), (80, 24), (40, 10)];

fn draft() -> CompactionDraft {
    CompactionDraft {
        leaf: "leaf".into(),
        first_kept: "kept".into(),
        summary: "## Goal\nfix the login".into(),
        folded: 42,
        kept: 8,
        tokens_before: 84_000,
        tokens_after: 12_300,
        read_files: vec!["a.rs".into(), "b.rs".into()],
        modified_files: vec!["src/auth.rs".into()],
        usage: Usage::default(),
    }
}

fn asked() -> Asked {
    Asked::Change("compaction")
}

fn previewing(columns: u16, rows: u16) -> Ui {
    let mut ui = Ui::new(columns, rows);
    ui.answer(asked(), Ok(Reply::Draft(Box::new(draft()))));
    ui.draw();
    ui
}

/// A snapshot of a session with these messages on its branch; `u` asks, `a` answers.
fn session(messages: &[(char, &str)]) -> (Session, Snapshot) {
    let clock = Arc::new(FixedClock(0));
    let mut session = Session::in_memory(clock, Path::new("/w"));
    for (role, text) in messages {
        let message = match role {
            'u' => Message::user(*text, 0),
            _ => Message::Assistant(harness_tui::message::AssistantMessage {
                content: vec![harness_tui::message::Part::text(*text)],
                ..Default::default()
            }),
        };
        session.append(vec![Body::Message { message, harness: None }], Flush::Lazy).unwrap();
    }
    let tree = session.tree();
    (session, Snapshot { tree, ..snapshot() })
}

#[test]
fn a_draft_shows_what_it_folds_at_every_size() {
    for (columns, rows) in SIZES {
        let mut ui = previewing(columns, rows);
        let screen = ui.screen();
        for fact in ["folds 42 messages, keeps 8", "fix the login", "[ store ]"] {
            assert!(screen.contains(fact), "{fact} at {columns}x{rows}:\n{screen}");
        }
        insta::assert_snapshot!(format!("compaction_{columns}x{rows}"), screen);
        for (columns, rows) in [(20, 5), (1, 1), (300, 2), (2, 100)] {
            ui.resize(columns, rows);
        }
    }
}

#[test]
fn what_was_edited_is_what_is_stored() {
    for keys in ["<ctrl+s>", "<tab><enter>"] {
        let mut ui = previewing(80, 24);
        ui.keys("My <enter>");
        let summary = "My \n## Goal\nfix the login";
        let edited = CompactionDraft { summary: summary.into(), ..draft() };
        let store = Command::StoreCompaction { draft: Box::new(edited) };
        assert_eq!(ui.keys(keys).commands(), [store]);
        assert_eq!(ui.keys("<ctrl+s>").commands(), [], "once is enough");
        ui.answer(Asked::StoreCompaction, Ok(Reply::Stored { entry: "c".into() }));
        assert_eq!(ui.state.surface.popup, None);
        assert!(ui.screen().contains("folded 42 messages: 84k to 12k tokens"));
    }
}

#[test]
fn a_refused_draft_keeps_the_text() {
    let mut ui = previewing(80, 24);
    assert_eq!(ui.keys("mine <ctrl+s>").commands().len(), 1);
    let error = HarnessError::new(ErrorCode::InvalidState, "the branch has changed");
    ui.answer(Asked::StoreCompaction, Err(error));
    assert!(ui.screen().contains("not stored: the branch has changed"));
    assert!(ui.screen().contains("mine ## Goal"));
    assert_eq!(ui.keys("<ctrl+s>").commands().len(), 1, "it may be tried again");
}

#[test]
fn an_untouched_draft_goes_at_once_and_an_edited_one_after_a_question() {
    let mut ui = previewing(80, 24);
    assert_eq!(ui.keys("<esc>").commands(), []);
    assert_eq!(ui.state.surface.popup, None);
    let mut ui = previewing(80, 24);
    ui.keys("x<esc>");
    assert!(ui.screen().contains("drop the edited summary?"));
    ui.keys("n");
    assert_eq!(ui.state.surface.popup, Some(Popup::Compaction));
    ui.keys("<esc>y");
    assert_eq!((ui.state.surface.popup.clone(), ui.draft().as_str()), (None, ""));
}

#[test]
fn an_empty_summary_is_not_stored() {
    let mut ui = previewing(80, 24);
    ui.keys("<ctrl+end><ctrl+k><ctrl+k><ctrl+k><ctrl+k>");
    assert_eq!(ui.keys("<ctrl+s>").commands(), []);
    assert!(ui.screen().contains("the summary is empty"));
    ui.paste("pasted\nlines");
    assert_eq!(ui.keys("<ctrl+s>").commands().len(), 1);
}

#[test]
fn compact_asks_for_a_draft_with_the_instructions() {
    let draft = |instructions: Option<&str>| Command::DraftCompaction {
        instructions: instructions.map(str::to_owned),
        up_to: None,
    };
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("/compact<enter>").commands(), [draft(None)]);
    assert_eq!(ui.keys("/compact keep names<enter>").commands(), [draft(Some("keep names"))]);
    assert_eq!(ui.keys("<ctrl+x>k").commands(), [draft(None)]);
    let error = HarnessError::new(ErrorCode::Compaction, "nothing to fold yet");
    ui.answer(asked(), Err(error));
    assert!(ui.screen().contains("compaction: nothing to fold yet"));
    ui.turn();
    assert_eq!(ui.keys("<ctrl+x>k").commands(), []);
}

fn report() -> ContextReport {
    let part = |name: &str, tokens, count| ContextPart { name: name.into(), tokens, count };
    ContextReport {
        model: "demo/demo".into(),
        window: 200_000,
        parts: vec![
            part("system prompt", 4_000, 1),
            part("tools", 6_000, 9),
            part("your messages", 10_000, 12),
            part("tool results: \u{1b}[2Jread", 64_000, 30),
        ],
        used: 84_000,
        estimated: true,
        reserve: 16_384,
        keep_recent: 20_000,
        compacts_at: Some(183_616),
    }
}

#[test]
fn the_context_is_told_by_part_at_every_size() {
    for (columns, rows) in SIZES {
        let mut ui = Ui::new(columns, rows);
        assert_eq!(ui.keys("/context<enter>").commands(), [Command::ReportContext]);
        ui.answer(Asked::Change("context"), Ok(Reply::Context(Box::new(report()))));
        let screen = ui.screen();
        assert!(screen.contains("84k of 200k tokens (42%)"), "{screen}");
        assert!(!screen.contains('\u{1b}'));
        insta::assert_snapshot!(format!("context_{columns}x{rows}"), screen);
        ui.keys("<down><down><down><down><down><down><down>");
        assert!(ui.screen().contains("tool results") || rows == 10, "{}", ui.screen());
        ui.keys("<esc>");
        assert_eq!(ui.state.surface.popup, None);
    }
}

#[test]
fn odd_reports_make_sense_too() {
    let mut ui = Ui::new(80, 24);
    let empty = ContextReport::default();
    let over = ContextReport { used: 190_000, ..report() };
    let off = ContextReport { compacts_at: None, window: u64::MAX, used: u64::MAX, ..report() };
    let facts = ["is not known", "the next prompt is compacted first", "compaction is off"];
    for (report, fact) in [empty, over, off].into_iter().zip(facts) {
        ui.answer(Asked::Change("context"), Ok(Reply::Context(Box::new(report))));
        assert!(ui.screen().contains(fact), "{}", ui.screen());
    }
}

#[test]
fn a_fork_names_the_prompt_that_is_shown_as_selected() {
    let messages =
        [('u', "first"), ('a', "one"), ('u', "second"), ('a', "two"), ('u', "third"), ('a', "x")];
    let (session, snapshot) = session(&messages);
    let all = prompts(&session.tree());
    assert_eq!(all.len(), 3);
    let mut ui = Ui::new(80, 24);
    ui.act(Action::Joined(Box::new(snapshot)));
    ui.keys("/fork<enter>");
    assert!(ui.screen().contains("> third"), "the newest is selected: {}", ui.screen());
    ui.keys("<up>");
    assert!(ui.screen().contains("> second"));
    let fork = Command::Fork { at: ForkPoint::Before(all[1].id.clone()) };
    assert_eq!(ui.keys("<enter><enter>").commands(), [fork]);
    let written = Reply::Written { path: "/s/f.jsonl".into(), editor_text: Some("second".into()) };
    ui.answer(Asked::Fork, Ok(written));
    let opens = [Effect::Shelf(Work::Stop), Effect::Open(Which::Path("/s/f.jsonl".into()))];
    assert_eq!(ui.effects(), opens);
    let other = Snapshot {
        session: "other".into(),
        path: Some("/s/f.jsonl".into()),
        ..crate::support::ui::snapshot()
    };
    ui.act(Action::Joined(Box::new(other)));
    assert_eq!(ui.draft(), "second");
}

#[test]
fn a_fork_while_a_turn_runs_waits_to_be_opened() {
    let mut ui = Ui::new(80, 24);
    ui.turn();
    let written = Reply::Written { path: "/s/f.jsonl".into(), editor_text: None };
    ui.answer(Asked::Fork, Ok(written));
    assert_eq!(ui.effects(), []);
    assert!(ui.screen().contains("forked to /s/f.jsonl"));
}

#[test]
fn a_branch_without_prompts_has_nothing_to_fork() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("<ctrl+x>b").commands(), []);
    assert!(ui.screen().contains("no prompt on this branch"));
}

#[test]
fn exports_are_chosen_by_word_or_by_the_end_of_the_path() {
    let cases = [
        ("/export", ExportFormat::Html, None),
        ("/export md", ExportFormat::Markdown, None),
        ("/export branch", ExportFormat::JsonlBranch, None),
        ("/export out/a b.jsonl", ExportFormat::Jsonl, Some("out/a b.jsonl")),
        ("/export page", ExportFormat::Html, Some("page")),
    ];
    let mut ui = Ui::new(80, 24);
    for (line, format, to) in cases {
        let export = Command::Export { format, to: to.map(Into::into) };
        assert_eq!(ui.keys(&format!("{line}<enter>")).commands(), [export], "{line}");
    }
    let written = Reply::Written { path: "/w/x.html".into(), editor_text: None };
    ui.answer(Asked::Export, Ok(written));
    assert!(ui.screen().contains("written to /w/x.html"));
    assert_eq!(
        ui.keys("/import a.jsonl<enter>").effects(),
        [Effect::Shelf(Work::Import { path: "a.jsonl".into() })]
    );
    ui.keys("/import<enter>");
    assert!(ui.screen().contains("/import needs <path>"));
}

#[test]
fn a_check_and_a_repair_of_the_open_session_are_asked_of_the_shelf_and_told_in_lines() {
    let mut ui = Ui::new(80, 24);
    ui.keys("/verify<enter>");
    assert!(ui.screen().contains("this session has no file yet"));
    assert_eq!(ui.effects(), []);
    let path = PathBuf::from("/s/one.jsonl");
    ui.act(Action::Joined(Box::new(Snapshot { path: Some(path.clone()), ..snapshot() })));
    ui.state.session.stored = true;
    let verify = Effect::Shelf(Work::Verify { path: path.clone() });
    assert_eq!(ui.keys("/verify<enter>").effects(), [verify]);
    let repair = Effect::Shelf(Work::Repair { path, out: "new file.jsonl".into() });
    assert_eq!(ui.keys("/repair new file.jsonl<enter>").effects(), [repair]);
    let lines = vec!["line 4: it is no JSON (bad_line)".to_owned(), "1 problem".to_owned()];
    ui.act(Action::Shelf(Box::new(News::Inspected { outcome: Ok(lines) })));
    let screen = ui.screen();
    assert!(screen.contains("│ line 4: it is no JSON (bad_line) "), "{screen}");
    assert!(screen.contains("│ 1 problem "), "{screen}");
    ui.keys("<esc>");
    ui.act(Action::Shelf(Box::new(News::Inspected { outcome: Err("gone".into()) })));
    assert!(ui.screen().contains("gone"));
}

#[test]
fn the_facts_count_every_branch() {
    let messages = [('u', "one"), ('a', "two"), ('u', "three")];
    let (mut session, _) = session(&messages);
    let first = session.tree().index().node(0).unwrap().id.clone();
    session.move_leaf(Some(&first), None).unwrap();
    let message = Message::user("aside", 0);
    session.append(vec![Body::Message { message, harness: None }], Flush::Lazy).unwrap();
    let sums = facts::sums(&session.tree());
    assert_eq!((sums.prompts, sums.answers, sums.branches), (3, 1, 2));
    let mut ui = Ui::new(80, 24);
    ui.act(Action::Joined(Box::new(Snapshot { tree: session.tree(), ..snapshot() })));
    ui.keys("/session<enter>");
    assert!(ui.screen().contains("branches  2"), "{}", ui.screen());
}

#[test]
fn an_estimated_context_is_marked_in_the_status_line() {
    let mut ui = Ui::new(160, 45);
    assert!(ui.screen().contains("ctx 42%"));
    ui.act(Action::Joined(Box::new(Snapshot { context_estimated: true, ..snapshot() })));
    assert!(ui.screen().contains("ctx ~42%"));
}
