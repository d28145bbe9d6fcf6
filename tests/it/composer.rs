//! The composer: editing by cluster, markers, cuts, history, undo.

use harness_tui::ui::action::Action;
use proptest::prelude::*;

use crate::support::ui::Ui;

const FAMILY: &str = "👨‍👩‍👧‍👦";

#[test]
fn one_backspace_takes_one_cluster() {
    for cluster in [FAMILY, "🇯🇵", "e\u{301}", "한", "日", "ü", "❤\u{fe0f}"] {
        let mut ui = Ui::new(80, 24);
        ui.paste(&format!("a{cluster}b"));
        assert_eq!(ui.keys("<left><backspace>").draft(), "ab", "{cluster}");
        ui.keys("<ctrl+c>").paste(&format!("{cluster}b"));
        assert_eq!(ui.keys("<ctrl+a><delete>").draft(), "b", "{cluster}");
        ui.keys("<ctrl+c>").paste(&format!("a{cluster}"));
        assert_eq!(ui.keys("<left>x").draft(), format!("ax{cluster}"));
    }
}

#[test]
fn backslash_enter_shift_enter_and_control_j_make_a_line() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("a\\<enter>b<shift+enter>c<ctrl+j>d").draft(), "a\nb\nc\nd");
    assert_eq!(ui.effects(), []);
}

#[test]
fn a_large_paste_is_a_marker_that_sends_what_was_pasted() {
    let mut ui = Ui::new(80, 24);
    let first = "x".repeat(2_000);
    let second = ["row"; 12].join("\r\n");
    ui.paste(&first).keys(" and ").paste(&second);
    assert!(ui.screen().contains("pasted #1 · 2000 chars"));
    assert!(ui.screen().contains("pasted #2 · 12 lines"));
    let both = format!("{first} and {}", ["row"; 12].join("\n"));
    assert_eq!(ui.draft(), both);
    // Right before the second marker, over it, and back over it.
    ui.keys("<left>x<ctrl+e><left><right>y");
    assert_eq!(ui.draft(), format!("{first} and x{}y", ["row"; 12].join("\n")));
}

#[test]
fn the_bounds_of_a_large_paste_are_exact() {
    for (text, marked) in [
        ("x".repeat(1_000), false),
        ("x".repeat(1_001), true),
        (["a"; 10].join("\n"), false),
        (["a"; 11].join("\n"), true),
    ] {
        let mut ui = Ui::new(80, 24);
        ui.paste(&text);
        assert_eq!(ui.state.composer.shown().contains("pasted #1"), marked);
        assert_eq!(ui.draft(), text);
    }
}

#[test]
fn deleting_a_marker_deletes_its_text_and_undo_brings_it_back() {
    let (one, two) = ("1".repeat(1_500), "2".repeat(1_500));
    for delete in ["<ctrl+a><delete>", "<ctrl+a><right><backspace>", "<ctrl+a><alt+d>"] {
        let mut ui = Ui::new(80, 24);
        ui.paste(&one).paste(&two);
        assert_eq!(ui.keys(delete).draft(), two, "{delete}");
        assert_eq!(ui.keys("<ctrl+x>z").draft(), format!("{one}{two}"));
    }
}

#[test]
fn a_typed_look_alike_is_text() {
    let mut ui = Ui::new(80, 24);
    ui.paste(&"1".repeat(1_500));
    ui.keys("<ctrl+c>[pasted #1 · 1500 chars]");
    assert_eq!(ui.draft(), "[pasted #1 · 1500 chars]");
    ui.paste("[\u{2060}pasted #1 · 1500 chars]");
    assert_eq!(ui.draft().len(), 2 * "[pasted #1 · 1500 chars]".len());
}

#[test]
fn cuts_in_a_row_are_one_and_come_back_in_turn() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("one two three<ctrl+w><ctrl+w>").draft(), "one ");
    assert_eq!(ui.keys("<ctrl+y>").draft(), "one two three");
    ui.keys("<ctrl+a><ctrl+k>");
    assert_eq!(ui.keys("<ctrl+y>").draft(), "one two three");
    assert_eq!(ui.keys("<alt+y>").draft(), "two three");
    assert_eq!(ui.keys("<alt+y>").draft(), "one two three");
    assert_eq!(ui.keys("x<alt+y>").draft(), "one two threex", "only right after a yank");
}

#[test]
fn words_and_lines_move_as_in_readline() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("foo bar-baz<alt+b>1<alt+b><alt+b>2<alt+f>3").draft(), "foo 2bar3-1baz");
    assert_eq!(ui.keys("<ctrl+e>!<ctrl+u>").draft(), "");
}

#[test]
fn history_walks_from_the_edges_and_gives_the_draft_back() {
    let mut ui = Ui::new(80, 24);
    ui.keys("first<enter>second<enter>second<enter>");
    ui.keys("my<ctrl+j>draft");
    assert_eq!(ui.keys("<up>").draft(), "my\ndraft", "up moves inside first");
    assert_eq!(ui.keys("<up>").draft(), "second");
    assert_eq!(ui.keys("<up>").draft(), "first", "the repetition is not there");
    assert_eq!(ui.keys("<up>").draft(), "first");
    assert_eq!(ui.keys("<down><down>").draft(), "my\ndraft");
    assert_eq!(ui.keys("<down>").draft(), "my\ndraft");
}

#[test]
fn the_stash_takes_a_text_away_and_brings_it_back() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("keep me<ctrl+s>").draft(), "");
    assert_eq!(ui.keys("other<ctrl+s>").draft(), "keep me");
    assert_eq!(ui.keys("<ctrl+c><ctrl+s>").draft(), "other");
}

#[test]
fn a_kept_draft_comes_back_in_front_of_what_was_typed_meanwhile() {
    let mut ui = Ui::new(80, 24);
    ui.keys("new");
    ui.act(Action::Kept { draft: "old".into(), stash: None, history: vec![] });
    assert_eq!(ui.draft(), "old\nnew");
}

#[test]
fn pastes_lose_control_characters_and_keep_their_lines() {
    let mut ui = Ui::new(80, 24);
    ui.paste("a\rb\r\nc\u{1b}[31m\u{7}\td\u{9b}");
    assert_eq!(ui.draft(), "a\nb\nc[31m\td");
}

#[test]
fn a_huge_paste_is_taken_whole() {
    let mut ui = Ui::new(80, 24);
    let text = "0123456789abcde\n".repeat(330_000);
    ui.paste(&text).keys("x");
    assert_eq!(ui.draft().len(), text.len() + 1);
}

#[test]
fn wide_text_wraps_inside_and_the_composer_grows_to_a_third() {
    let mut ui = Ui::new(40, 24);
    ui.paste(&"日本語".repeat(100));
    let rows = ui.screen().lines().filter(|row| row.contains('日')).count();
    assert_eq!(rows, 8);
}

fn piece() -> impl Strategy<Value = String> {
    let keys = [
        "<left>",
        "<right>",
        "<up>",
        "<down>",
        "<backspace>",
        "<delete>",
        "<ctrl+w>",
        "<alt+d>",
        "<ctrl+k>",
        "<ctrl+u>",
        "<ctrl+y>",
        "<alt+y>",
        "<ctrl+x>z",
        "<ctrl+x>Z",
        "<ctrl+a>",
        "<ctrl+e>",
        "<alt+b>",
        "<alt+f>",
        "<ctrl+j>",
        "<ctrl+s>",
        "a",
        "b c",
        "日",
        "e\u{301}",
        "\u{200d}",
        "🇯",
        "🇵",
        "👩",
        "[",
        "]",
        "\\",
    ];
    proptest::sample::select(keys.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_edits_leave_the_cursor_in_the_text_and_no_seal_in_what_is_sent(pieces in prop::collection::vec(piece(), 0..40)) {
        let mut ui = Ui::new(30, 12);
        ui.paste(&"1".repeat(1_100));
        for piece in pieces {
            ui.keys(&piece);
            let (row, column) = ui.state.composer.cursor();
            let shown = ui.state.composer.shown();
            let line = shown.split('\n').nth(row).unwrap();
            prop_assert!(column <= line.chars().count());
        }
        let sealed = ui.draft().contains('\u{2060}');
        prop_assert!(!sealed);
    }
}
