//! Markdown as a reader sees it: the constructs models write, at usual and at hostile widths.

use harness_tui::text::width::swidth;
use harness_tui::ui::highlight::{CodeLookup, HighlightJob, Highlights, Plain};
use harness_tui::ui::markdown::{Document, render};
use harness_tui::ui::theme::Theme;
use proptest::prelude::*;
use ratatui::style::Modifier;
use ratatui::text::Line;

fn shown(source: &str, width: usize) -> Vec<String> {
    render(source, width, &Theme::default(), &Plain).iter().map(ToString::to_string).collect()
}

fn width_of(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| swidth(&span.content)).sum()
}

#[test]
fn blocks_stand_one_line_apart_and_none_at_the_end() {
    assert_eq!(
        shown("# Title\nSome *text*\nand more.\n\n---\n\n> quoted\n> > twice\n\nend\n\n\n", 24),
        [
            "Title",
            "",
            "Some text and more.",
            "",
            "────────────────────────",
            "",
            "▎ quoted",
            "▎ ",
            "▎ ▎ twice",
            "",
            "end"
        ]
    );
}

#[test]
fn lists_keep_their_numbers_and_tasks_their_boxes() {
    assert_eq!(
        shown(
            "9. nine\n10. ten\n    ```sh\n    ls\n    ```\n11. last\n\n- [x] done\n- [ ] todo\n  - deep one that wraps",
            16
        ),
        [
            " 9. nine",
            "10. ten",
            "    sh",
            "      ls",
            "11. last",
            "",
            "☑ done",
            "☐ todo",
            "  • deep one",
            "    that wraps",
        ]
    );
    assert_eq!(shown("- a\n\n- b", 9), ["• a", "", "• b"]);
}

#[test]
fn an_alert_keeps_its_kind() {
    assert_eq!(shown("> [!WARNING]\n> mind", 20), ["▎ Warning", "▎ ", "▎ mind"]);
}

#[test]
fn an_address_is_shown_once_and_a_link_with_its_target() {
    assert_eq!(shown("[docs](http://x.io/d)", 40), ["docs (http://x.io/d)"]);
    assert_eq!(shown("<http://x.io> <me@x.io>", 40), ["http://x.io me@x.io"]);
    assert_eq!(shown("[http://x.io](http://x.io)", 40), ["http://x.io"]);
    assert_eq!(shown("![pic](a.png)", 40), ["image: pic (a.png)"]);
    assert_eq!(shown("a<br>b <b>c</b>", 40), ["a<br>b <b>c</b>"]);
    assert_eq!(shown("<div>\nx\n</div>", 40), ["<div>", "x", "</div>"]);
}

#[test]
fn tables_fit_the_width_and_become_lists_where_they_cannot() {
    let table =
        "| name | what it does | n |\n|:--|:-:|--:|\n| `a` | reads the file | 1 |\n| b | x | 22 |";
    assert_eq!(
        shown(table, 40),
        [
            "name │  what it does  │  n",
            "─────┼────────────────┼───",
            "a    │ reads the file │  1",
            "b    │       x        │ 22",
        ]
    );
    // 22 cells less two gaps of 3: 4 and 2 as they are, 10 for what has to wrap.
    assert_eq!(
        shown(table, 22),
        [
            "name │  what it   │  n",
            "     │    does    │   ",
            "─────┼────────────┼───",
            "a    │ reads the  │  1",
            "     │    file    │   ",
            "b    │     x      │ 22",
        ]
    );
    assert_eq!(
        shown(table, 12),
        [
            "name: a",
            "what it",
            "does: reads",
            "the file",
            "n: 1",
            "",
            "name: b",
            "what it",
            "does: x",
            "n: 22"
        ]
    );
}

#[test]
fn unclosed_constructs_are_shown_as_far_as_they_got() {
    assert_eq!(shown("```rust\nfn main() {", 30), ["rust", "  fn main() {"]);
    assert_eq!(shown("a **bold and `co", 30), ["a **bold and `co"]);
    assert_eq!(shown("$$ x", 30), ["$$ x"]);
    assert_eq!(shown("| a | b |\n|---|", 30), ["| a | b | |---|"]);
}

#[test]
fn styles_follow_the_marks_and_cjk_does_not_hide_them() {
    let lines = render("**日本語**です。`x` ~~no~~", 40, &Theme::default(), &Plain);
    assert_eq!(lines[0].to_string(), "日本語です。x no");
    assert!(lines[0].spans[0].style.add_modifier.contains(Modifier::BOLD));
    assert!(lines[0].spans.last().unwrap().style.add_modifier.contains(Modifier::CROSSED_OUT));
}

#[test]
fn entities_cannot_smuggle_controls() {
    for line in
        shown("&#x1b;[2J &#x202e;x `a\u{9b}` [l](http://x/\u{202e}) \n\n```\n\x1b]0;t\x07\n```", 60)
    {
        assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line:?}");
    }
}

#[test]
fn hostile_nesting_and_size_cost_little() {
    let nested =
        |open: &str, close: &str| format!("{}x{}", open.repeat(4_000), close.repeat(4_000));
    for source in [
        "> ".repeat(10_000),
        "- ".repeat(5_000),
        "[".repeat(10_000),
        "*a ".repeat(10_000),
        nested("*a ", " b*"),
        nested("![", "](http://x.io)"),
        nested("<b>", "</b>"),
        format!("[a]: http://{}\n\n{}", "x".repeat(10_000), "[a] ".repeat(4_000)),
        "e\u{301}".repeat(10_000),
        "\u{301}".repeat(10_000),
        "\t".repeat(10_000),
    ] {
        for width in [1, 7, 80] {
            assert!(
                render(&source, width, &Theme::default(), &Plain)
                    .iter()
                    .all(|line| width_of(line) <= width)
            );
        }
    }
    let wide = format!("{}\n{}\n|x|", "|a".repeat(3000), "|-".repeat(3000));
    assert!(!shown(&wide, 80).is_empty());
    assert!(shown(&"x".repeat(3_000_000), 80).last().unwrap().contains("more bytes"));
}

#[test]
fn code_takes_its_colours_when_they_arrive_and_ends_the_same_as_at_once() {
    let theme = Theme::default();
    let source = "text\n\n```rust\nfn main() {}\nlet x = 1;\n```\n\nend\n\nreally\n";
    let mut known = Highlights::default();
    let mut document = Document::default();
    for end in 0..=source.len() {
        document.update(&source[..end], 30, &theme, &known, end < source.len());
        for job in document.take_jobs() {
            known.ask(job);
        }
        known.take_jobs().into_iter().map(HighlightJob::run).for_each(|done| known.insert(done));
    }
    document.update(source, 30, &theme, &known, false);
    let streamed: Vec<Line<'_>> = document.lines().flat_map(|lines| lines.to_vec()).collect();
    assert_eq!(streamed, render(source, 30, &theme, &known));
    assert!(streamed[3].spans.iter().any(|span| span.style == theme.syntax.keyword));
    assert!(known.job("rust", "fn main() {}\nlet x = 1;\n", false).is_none());
}

#[test]
fn a_delta_leaves_finished_blocks_untouched() {
    let theme = Theme::default();
    let text: String = (0..2000).map(|n| format!("paragraph {n} of the text\n\n")).collect();
    let mut document = Document::default();
    document.update(&text, 40, &theme, &Plain, true);
    let before: Vec<_> = document.lines().cloned().collect();
    document.update(&format!("{text}and more"), 40, &theme, &Plain, true);
    let after: Vec<_> = document.lines().cloned().collect();
    assert_eq!(after.len(), 2001);
    assert!(before[..1998].iter().zip(&after).all(|(old, new)| std::sync::Arc::ptr_eq(old, new)));
    document.update(&format!("{text}and more"), 41, &theme, &Plain, true);
    assert!(
        !document.lines().any(|lines| before.iter().any(|old| std::sync::Arc::ptr_eq(old, lines)))
    );
}

/// Pieces from which every construct can come about.
fn source() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "word ",
        "日本",
        "\n",
        "\n\n",
        "# ",
        "- ",
        "1. ",
        "> ",
        "```",
        "```rust\n",
        "|",
        "|---|",
        "**",
        "`",
        "[x]",
        "(http://x.io)",
        "<b>",
        "    ",
        "[^1]",
        "[^1]: note",
        "[a]: http://b",
        "---\n",
        "~~",
        "*",
        "\t",
        "👨\u{200d}👩",
        "e\u{301}",
        "\u{1b}[31m",
        "&#27;",
        "loooooooooooooooooong",
        "\r\n",
        "\\",
        "![i](u)",
        "- [ ] ",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]
    #[test]
    fn no_line_is_wider_than_asked(source in source(), width in 1usize..120) {
        for line in render(&source, width, &Theme::default(), &Plain) {
            prop_assert!(width_of(&line) <= width, "{line:?}");
            prop_assert!(!line.to_string().chars().any(char::is_control));
        }
    }

    #[test]
    fn a_text_that_came_in_pieces_ends_as_one_that_came_at_once(
        source in source(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let theme = Theme::default();
        let mut ends: Vec<usize> =
            cuts.iter().map(|cut| source.floor_char_boundary(cut.index(source.len() + 1))).collect();
        ends.sort_unstable();
        let mut document = Document::default();
        for end in ends {
            document.update(&source[..end], 30, &theme, &Plain, true);
        }
        document.update(&source, 30, &theme, &Plain, false);
        let streamed: Vec<Line<'_>> = document.lines().flat_map(|lines| lines.to_vec()).collect();
        prop_assert_eq!(streamed, render(&source, 30, &theme, &Plain));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn a_long_text_streams_as_it_ends(source in source()) {
        let theme = Theme::default();
        let text = format!("{}{source}", "A paragraph of some length.\n\n".repeat(600));
        let mut document = Document::default();
        let start = text.len() - source.len();
        for end in (start..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            document.update(&text[..end], 30, &theme, &Plain, true);
        }
        let streamed: Vec<Line<'_>> = document.lines().flat_map(|lines| lines.to_vec()).collect();
        prop_assert_eq!(streamed, render(&text, 30, &theme, &Plain));
    }
}
