//! A long conversation of which only the end and the pages around the reader are loaded.

use std::path::Path;
use std::sync::Arc;

use harness_tui::message::{AssistantMessage, Message, Part};
use harness_tui::ports::{FixedClock, MemoryFs};
use harness_tui::session::{Body, Durability, Flush, Page, Place, Session, Stretch, TreeView};
use harness_tui::ui::theme::Theme;
use harness_tui::ui::transcript::{Older, Transcript};
use pretty_assertions::assert_eq;

const ROWS: u16 = 12;

/// Turns of a prompt `prompt n`, an answer `answer n`, and so many more bytes.
fn turns(count: usize, bytes: usize) -> TreeView {
    let place = Place {
        files: Arc::new(MemoryFs::new()),
        clock: Arc::new(FixedClock(0)),
        root: "/sessions".into(),
        durability: Durability::Process,
    };
    let mut session = Session::create(place, Path::new("/work"));
    let body = |message| Body::Message { message, harness: None };
    let bodies = (0..count).flat_map(|n| {
        // Folded, so that it takes memory and no time.
        let thinking = Part::Thinking {
            thinking: "x".repeat(bytes),
            thinking_signature: None,
            redacted: false,
        };
        let mut content = vec![Part::text(format!("answer {n}"))];
        content.extend((bytes > 0).then_some(thinking));
        let answer = AssistantMessage { content, ..Default::default() };
        [body(Message::user(format!("prompt {n}"), 0)), body(Message::Assistant(answer))]
    });
    session.append(bodies.collect(), Flush::Lazy).unwrap();
    session.tree()
}

/// A transcript and what it reads from.
struct Reading {
    tree: TreeView,
    transcript: Transcript,
    read: usize,
}

impl Reading {
    fn new(tree: TreeView) -> Self {
        let mut transcript = Transcript::new();
        let page = end(&tree);
        transcript.load_end(&page.entries, page.above.into());
        Self { tree, transcript, read: 0 }
    }

    /// Lays out, and reads pages until none is wanted.
    fn settle(&mut self) -> String {
        self.lay();
        while let Some(job) = self.transcript.take_page_job() {
            assert_eq!(self.transcript.take_page_job(), None, "one at a time");
            self.transcript.paged(job.run(&self.tree.reader));
            self.read += 1;
            self.lay();
        }
        self.text()
    }

    fn lay(&mut self) {
        self.transcript.layout(40, ROWS, &Theme::named("dark"));
    }

    fn text(&self) -> String {
        let line = |line: &ratatui::text::Line<'_>| line.to_string().trim_end().to_owned();
        self.transcript.visible().iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

fn end(tree: &TreeView) -> Page {
    let last = tree.leaf.unwrap();
    tree.reader.last_page(Stretch { above: None, last }).unwrap()
}

#[test]
fn scrolling_to_the_top_shows_every_row_once_and_in_order() {
    let tree = turns(400, 0);
    let mut whole = Transcript::new();
    whole.load(&tree.reader.entries(&(0..800).collect::<Vec<_>>()).unwrap());
    let mut reading = Reading::new(tree);
    for step in 0..500 {
        whole.scroll(-5);
        reading.transcript.scroll(-5);
        whole.layout(40, ROWS, &Theme::named("dark"));
        let text = reading.settle();
        let expected: Vec<String> =
            whole.visible().iter().map(|line| line.to_string().trim_end().to_owned()).collect();
        assert_eq!(text, expected.join("\n"), "step {step}");
    }
    assert!(reading.text().contains("prompt 0"), "{}", reading.text());
    assert!(reading.read > 4, "{}", reading.read);
}

#[test]
fn a_page_that_comes_late_does_not_move_what_is_in_sight() {
    let mut reading = Reading::new(turns(400, 0));
    reading.lay();
    // All that is loaded is scrolled away before the first page comes.
    for _ in 0..60 {
        reading.transcript.scroll(-30);
        reading.lay();
    }
    let before = reading.text();
    assert!(before.contains("earlier entries not loaded"), "{before}");
    let job = reading.transcript.take_page_job().unwrap();
    reading.transcript.paged(job.run(&reading.tree.reader));
    reading.lay();
    let after = reading.text();
    let below = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(below(&after), below(&before));
    assert!(!after.contains("not loaded"), "{after}");
}

#[test]
fn the_first_message_comes_at_once_and_the_gap_says_what_is_missing() {
    let mut reading = Reading::new(turns(2_000, 0));
    reading.settle();
    let before = reading.read;
    reading.transcript.to_top();
    assert!(reading.settle().starts_with("▌prompt 0") || reading.text().contains("prompt 0"));
    assert!(reading.read - before <= 3, "{}", reading.read);
    // Down through the gap to the end: nothing is left out.
    let mut seen = 0;
    for _ in 0..2_000 {
        let text = reading.settle();
        while text.contains(&format!("prompt {seen}")) && seen < 2_000 {
            seen += 1;
        }
        reading.transcript.scroll(8);
    }
    assert_eq!(seen, 2_000);
    assert!(reading.transcript.following());
}

#[test]
fn a_gap_says_how_much_is_missing() {
    let mut reading = Reading::new(turns(2_000, 0));
    reading.settle();
    reading.transcript.to_top();
    reading.lay();
    let job = reading.transcript.take_page_job().unwrap();
    reading.transcript.paged(job.run(&reading.tree.reader));
    let mut found = None;
    for _ in 0..200 {
        reading.lay();
        found = found.or_else(|| {
            reading.text().lines().find(|line| line.contains("not loaded")).map(str::to_owned)
        });
        reading.transcript.scroll(8);
    }
    let found = found.unwrap();
    let number: usize = found.split(' ').find_map(|word| word.parse().ok()).unwrap();
    assert!((3_000..4_000).contains(&number), "{found}");
}

#[test]
fn jumps_from_prompt_to_prompt_go_through_gaps() {
    let mut reading = Reading::new(turns(300, 0));
    reading.settle();
    for n in (0..297).rev() {
        reading.transcript.previous_prompt();
        let text = reading.settle();
        let first = text.lines().next().unwrap();
        assert!(first.ends_with(&format!("prompt {n}")), "{n}: {text}");
    }
    reading.transcript.to_bottom();
    reading.settle();
    reading.transcript.to_top();
    reading.settle();
    for n in 1..290 {
        reading.transcript.next_prompt();
        let text = reading.settle();
        assert!(text.lines().next().unwrap().ends_with(&format!("prompt {n}")), "{n}: {text}");
    }
}

#[test]
fn pages_far_away_are_dropped_and_come_back() {
    // 24 MB, of which 8 may be kept.
    let mut reading = Reading::new(turns(600, 40_000));
    reading.settle();
    for _ in 0..600 {
        reading.transcript.previous_prompt();
        reading.settle();
    }
    assert!(reading.text().contains("prompt 0"), "{}", reading.text());
    let read = reading.read;
    for n in 1..590 {
        reading.transcript.next_prompt();
        let text = reading.settle();
        assert!(text.lines().next().unwrap().ends_with(&format!("prompt {n}")), "{n}: {text}");
    }
    assert!(reading.read > read, "what was dropped is read again");
    assert!(reading.transcript.last_answer().unwrap().starts_with("answer 599"));
}

#[test]
fn what_arrives_meanwhile_stands_at_the_end() {
    let mut reading = Reading::new(turns(400, 0));
    reading.settle();
    reading.transcript.to_top();
    reading.settle();
    let notice = harness_tui::harness::Event::Notice { text: "something new".into() };
    reading.transcript.apply(&notice);
    assert!(!reading.settle().contains("something new"));
    assert!(reading.transcript.new_below());
    reading.transcript.to_bottom();
    assert!(reading.settle().ends_with("something new"), "{}", reading.text());
}

#[test]
fn a_page_of_another_conversation_is_let_go() {
    let mut reading = Reading::new(turns(400, 0));
    reading.lay();
    reading.transcript.to_top();
    let job = reading.transcript.take_page_job().unwrap();
    let late = job.run(&reading.tree.reader);
    let other = end(&reading.tree);
    reading.transcript.load_end(&other.entries, other.above.into());
    reading.lay();
    let before = reading.text();
    reading.transcript.paged(late);
    reading.lay();
    assert_eq!(reading.text(), before);
}

#[test]
fn a_gap_that_cannot_be_read_says_why_and_is_not_asked_for_again() {
    let mut reading = Reading::new(turns(400, 0));
    reading.lay();
    reading.transcript.to_top();
    let job = reading.transcript.take_page_job().unwrap();
    let gone = TreeView::default();
    reading.transcript.paged(job.run(&gone.reader));
    reading.transcript.to_top();
    let text = reading.settle();
    assert!(text.contains("cannot be read"), "{text}");
    assert_eq!(reading.read, 0);
}

#[test]
fn what_was_shown_while_opening_stays_where_it_is() {
    let tree = turns(400, 0);
    let page = end(&tree);
    let mut transcript = Transcript::new();
    transcript.load_end(&page.entries, Older::Unknown);
    let mut reading = Reading { tree, transcript, read: 0 };
    reading.settle();
    reading.transcript.scroll(-7);
    let before = reading.settle();
    assert_eq!(reading.read, 0, "nothing can be read yet");
    assert!(reading.transcript.go_on(&page.entries, page.above.into()));
    assert_eq!(reading.settle(), before);
    reading.transcript.to_top();
    assert!(reading.settle().contains("prompt 0"));
    // Other entries are another matter.
    assert!(!reading.transcript.go_on(&page.entries[1..], Older::Nothing));
}
