//! Any tree, any keys: rows hang from rows that show, every entry shows once, and growing by one
//! entry gives what building anew gives.

use std::collections::HashSet;

use harness_tui::session::Position;
use harness_tui::ui::action::Action;
use harness_tui::ui::tree::rows::Row;
use harness_tui::ui::tree::{Entries, Filter, Rows, Shown};
use proptest::prelude::*;

use super::joined;
use crate::support::trees::Lines;

/// For each entry: how far back its parent is (0: a root), and what it is.
fn any_tree() -> impl Strategy<Value = Lines> {
    prop::collection::vec((0_usize..6, 0_u8..9), 0..60).prop_map(|entries| {
        let mut lines = Lines::new();
        for (n, (back, kind)) in entries.into_iter().enumerate() {
            let id = format!("e{n}");
            let parent = match n.checked_sub(back) {
                Some(at) if back > 0 => format!("e{at}"),
                _ => String::new(),
            };
            match kind {
                0 | 1 => lines.user(&id, &parent, &format!("ask {n}")),
                2 => lines.answer(&id, &parent, &format!("say {n}")),
                3 | 4 => lines.result(&id, &parent, "read", &format!("seen {n}")),
                5 => lines.label(&id, &parent, &format!("e{}", n / 2), "mark"),
                6 => lines.record(&id, &parent),
                7 => lines.leaf(&id, &parent),
                _ => lines.model(&id, &parent, "m"),
            };
        }
        lines
    })
}

/// Every row stands below its nearest ancestor that shows, once, and covers what it says.
fn check(entries: &Entries, rows: &Rows) {
    let mut seen: HashSet<Position> = HashSet::new();
    let mut before: Vec<Position> = Vec::new();
    for row in rows.all() {
        assert!(seen.insert(row.position), "{row:?} stands twice");
        let above = rows.above(row.position);
        assert!(
            above == Position::MAX || rows.row_of(above).is_some_and(|at| at < before.len()),
            "{row:?} hangs from nothing above it"
        );
        before.push(row.position);
        assert_eq!(rows.row_of(row.last), Some(before.len() - 1));
        assert!(entries.parent(row.position) == Position::MAX || row.last >= row.position);
    }
}

fn facts(rows: &Rows) -> Vec<(Row, Vec<u32>)> {
    rows.all()
        .iter()
        .map(|row| (*row, rows.gutters(row, 0).collect()))
        .map(|(row, gutters)| (row.without_links(), gutters))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_hang_from_rows_and_stand_once(
        lines in any_tree(),
        filter in 0_usize..5,
        folds in prop::collection::hash_set(0_u32..60, 0..6),
        opened in prop::collection::hash_set(0_u32..60, 0..6),
        matches in prop::option::of(prop::collection::vec(any::<bool>(), 60)),
    ) {
        let mut entries = Entries::default();
        entries.sync(&lines.tree());
        let mut rows = Rows::default();
        let shown = Shown {
            filter: Filter::ALL[filter],
            matches: matches.as_deref(),
            folded: &folds,
            opened: &opened,
        };
        rows.build(&entries, &shown);
        check(&entries, &rows);
    }

    #[test]
    fn growing_gives_what_building_anew_gives(
        lines in any_tree(),
        kinds in prop::collection::vec(0_u8..5, 1..12),
        filter in 0_usize..5,
        folds in prop::collection::hash_set(0_u32..60, 0..3),
        opened in prop::collection::hash_set(0_u32..70, 0..6),
        later in prop::collection::hash_set(0_u32..70, 0..6),
    ) {
        use harness_tui::session::{Body, Flush};
        let mut session = lines.session();
        let mut entries = Entries::default();
        entries.sync(&session.tree());
        let shown = Shown {
            filter: Filter::ALL[filter], matches: None, folded: &folds, opened: &opened,
        };
        let mut rows = Rows::default();
        rows.build(&entries, &shown);
        for kind in kinds {
            let message = match kind {
                0 => harness_tui::message::Message::user("more", 0),
                1 => harness_tui::message::Message::Assistant(Default::default()),
                _ => harness_tui::message::Message::ToolResult(
                    serde_json::from_value(serde_json::json!({"toolName": "read"})).unwrap(),
                ),
            };
            session.append(vec![Body::Message { message, harness: None }], Flush::Lazy).unwrap();
            let from = Position::try_from(entries.len()).unwrap();
            if entries.sync(&session.tree())
                != harness_tui::ui::tree::entries::Change::Grown(from)
                || !rows.grow(&entries, &shown, from)
            {
                rows.build(&entries, &shown);
            }
            let mut anew = Rows::default();
            anew.build(&entries, &shown);
            prop_assert_eq!(facts(&rows), facts(&anew));
            prop_assert_eq!(rows.total(), anew.total());
            let mut fresh = Entries::default();
            fresh.sync(&session.tree());
            for position in 0..from + 1 {
                let (grown, built) = (entries.total(position), fresh.total(position));
                prop_assert_eq!(grown.tokens, built.tokens);
                prop_assert_eq!(entries.on_path(position), fresh.on_path(position));
            }
        }
        let shown = Shown { folded: &later, opened: &later, ..shown };
        rows.refold(&entries, &shown);
        let mut anew = Rows::default();
        anew.build(&entries, &shown);
        prop_assert_eq!(facts(&rows), facts(&anew));
    }

}

proptest! {
    // Every key paints a screen, so fewer cases do.
    #![proptest_config(ProptestConfig {
        cases: 48, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn no_keys_in_any_tree_panic_or_lose_the_selection(
        lines in any_tree(),
        keys in prop::collection::vec(
            prop::sample::select(vec![
                "j", "k", "g", "G", "<space>", "<left>", "<right>", "1", "2", "3", "4", "5",
                "<pgup>", "<pgdn>", "/say<enter>", "/7<enter>", "<esc>", "<f2>", "d", "T",
            ]),
            0..25,
        ),
        columns in 40_u16..170,
        rows in 10_u16..50,
    ) {
        let mut ui = joined(&lines, (columns, rows));
        ui.keys("<f2>");
        for key in keys {
            ui.keys(key);
            let pane = &ui.state.surface.tree;
            prop_assert_eq!(pane.selected_row().is_none(), pane.rows().is_empty());
            prop_assert!(pane.selected_row().is_none_or(|row| row < pane.rows().len()));
            check(pane.entries(), pane.rows());
        }
        ui.act(Action::Resize(1, 1));
        ui.draw();
    }
}
