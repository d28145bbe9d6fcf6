//! The tree pane: what its rows say, what its keys do, and that the selection is always an entry.

mod acts;
mod any;
mod large;
mod pictures;
mod rows;

use harness_tui::harness::Snapshot;
use harness_tui::ui::action::{Action, Effect};

use crate::support::trees::Lines;
use crate::support::ui::{Ui, snapshot};

/// One tab of a narrow screen, so that rows have room.
const SIZE: (u16, u16) = (80, 24);

/// A question with a tool step, then three branches; the leaf is at the end of the last one.
fn forked() -> Lines {
    let mut lines = Lines::new();
    lines
        .user("u1", "", "list the source files")
        .call("c1", "u1", "bash", "src")
        .result("r1", "c1", "bash", "a.rs b.rs")
        .answer("a1", "r1", "there are two files")
        .user("u2", "a1", "refactor a.rs with a trait")
        .answer("a2", "u2", "done: a trait")
        .user("u3", "a1", "refactor a.rs with an enum")
        .answer("a3", "u3", "done: an enum")
        .user("u4", "a3", "benchmark it")
        .answer("a4", "u4", "it is faster")
        .user("u5", "a1", "write the changelog")
        .answer("a5", "u5", "wrote the entry");
    lines
}

fn joined(lines: &Lines, size: (u16, u16)) -> Ui {
    let mut ui = Ui::new(size.0, size.1);
    ui.act(Action::Joined(Box::new(Snapshot { tree: lines.tree(), ..snapshot() })));
    ui.draw();
    ui
}

/// The tree is open and has the keys.
fn opened(lines: &Lines) -> Ui {
    let mut ui = joined(lines, SIZE);
    ui.keys("<f2>");
    ui
}

/// Reads what the pane wants to read until it wants nothing; gives the other effects.
fn read(ui: &mut Ui) -> Vec<Effect> {
    let mut others = Vec::new();
    loop {
        let (jobs, rest): (Vec<_>, Vec<_>) =
            ui.effects().into_iter().partition(|effect| matches!(effect, Effect::Read(_)));
        others.extend(rest);
        if jobs.is_empty() {
            ui.draw();
            return others;
        }
        for effect in jobs {
            if let Effect::Read(job) = effect {
                let done = job.run(ui.state.tree.as_ref().unwrap());
                ui.act(Action::Read(done));
                ui.draw();
            }
        }
    }
}

/// The rows of the list as they are painted.
fn list(ui: &mut Ui) -> Vec<String> {
    let screen = ui.screen();
    let area = ui.state.surface.tree.parts.list;
    let rows = screen.lines().skip(usize::from(area.y)).take(usize::from(area.height));
    let rows = rows.map(|row| columns(row, usize::from(area.x), usize::from(area.width)));
    rows.map(|row| row.trim().to_owned()).filter(|row| !row.is_empty()).collect()
}

/// The cells of a row from one column on.
fn columns(row: &str, from: usize, width: usize) -> String {
    let mut column = 0;
    let mut cells = String::new();
    for c in row.chars() {
        if (from..from + width).contains(&column) {
            cells.push(c);
        }
        column += harness_tui::text::width::swidth(c.encode_utf8(&mut [0; 4]));
    }
    cells
}

/// The row that is marked as selected.
fn selected(ui: &mut Ui) -> String {
    let rows = list(ui);
    let row = rows.iter().find_map(|row| row.strip_prefix("› "));
    row.unwrap_or_default().trim().to_owned()
}

#[test]
fn a_fold_hides_prompts_whose_answers_are_filtered_out_and_a_search_opens_it() {
    let mut ui = opened(&forked());
    ui.keys("3g");
    while !selected(&mut ui).contains("with an enum") {
        ui.keys("j");
    }
    let before = list(&mut ui);
    ui.keys("<space>");
    let folded = list(&mut ui);
    assert_eq!(folded.len(), before.len() - 1, "{folded:?}");
    assert!(!folded.join("\n").contains("benchmark it"));
    ui.keys("/refactor");
    read(&mut ui);
    ui.keys("<esc>");
    assert_eq!(list(&mut ui).len(), before.len(), "the search has opened it");
}
