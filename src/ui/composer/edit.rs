//! The edits: moves and deletions by unit, cuts and what was cut, undo.

use unicode_segmentation::UnicodeSegmentation;

use tui_textarea::CursorMove;

use super::{Composer, KILLS, LastEdit, Place};
use crate::ui::keymap::ActionId;

impl Composer {
    /// Types one character; Enter is not one.
    pub fn type_char(&mut self, c: char) {
        if c.is_control() || c == super::marker::SEAL {
            return;
        }
        self.history.leave();
        self.last = LastEdit::Other;
        self.area.insert_char(c);
        self.revision += 1;
    }

    pub fn newline(&mut self) {
        self.history.leave();
        self.last = LastEdit::Other;
        self.area.insert_newline();
        self.revision += 1;
    }

    /// A backslash right before the cursor turns Enter into a new line; it is taken away.
    pub fn backslash_newline(&mut self) -> bool {
        let (row, column) = self.cursor();
        let line = &self.area.lines()[row];
        if column == 0 || line.chars().nth(column - 1) != Some('\\') {
            return false;
        }
        self.remove((row, column - 1), (row, column));
        self.newline();
        true
    }

    /// Does one editing action. `false` when it had nothing to do.
    pub fn edit(&mut self, id: ActionId) -> bool {
        let here = self.cursor();
        let before = (self.revision, here);
        let last = std::mem::replace(&mut self.last, LastEdit::Other);
        match id {
            ActionId::Left => self.jump(self.unit_before(here)),
            ActionId::Right => self.jump(self.unit_after(here)),
            ActionId::WordLeft => self.jump(self.word_before(here)),
            ActionId::WordRight => self.jump(self.word_after(here)),
            ActionId::LineStart => self.jump((here.0, 0)),
            ActionId::LineEnd => self.jump((here.0, self.columns(here.0))),
            ActionId::Up => self.vertical(CursorMove::Up),
            ActionId::Down => self.vertical(CursorMove::Down),
            ActionId::DeleteBack => self.delete(self.unit_before(here), here),
            ActionId::DeleteForward => self.delete(here, self.unit_after(here)),
            ActionId::DeleteWordBack => self.kill(self.word_before(here), here, &last),
            ActionId::DeleteWordForward => self.kill(here, self.word_after(here), &last),
            ActionId::KillToStart => {
                let from = if here.1 == 0 { self.unit_before(here) } else { (here.0, 0) };
                self.kill(from, here, &last);
            }
            ActionId::KillToEnd => {
                let end = (here.0, self.columns(here.0));
                let to = if here == end { self.unit_after(here) } else { end };
                self.kill(here, to, &last);
            }
            ActionId::Yank => self.yank(),
            ActionId::YankPop => self.yank_pop(&last),
            ActionId::Undo => self.revision += u64::from(self.area.undo()),
            ActionId::Redo => self.revision += u64::from(self.area.redo()),
            _ => return false,
        }
        before != (self.revision, self.cursor())
    }

    fn vertical(&mut self, direction: CursorMove) {
        self.area.move_cursor(direction);
        self.leave_marker(false);
        self.leave_cluster();
    }

    fn delete(&mut self, from: Place, to: Place) {
        if self.remove(from, to) {
            self.history.leave();
        }
    }

    /// Removes a span as one edit. `false` when it is empty.
    pub(super) fn remove(&mut self, from: Place, to: Place) -> bool {
        let chars = self.span(from, to).chars().count();
        if chars == 0 {
            return false;
        }
        self.jump(from);
        self.area.delete_str(chars);
        self.revision += 1;
        true
    }

    /// Inserts without looking at it, as one edit.
    pub(super) fn raw_insert(&mut self, text: &str) {
        if !text.is_empty() {
            self.area.insert_str(text);
            self.revision += 1;
        }
    }

    fn span(&self, from: Place, to: Place) -> String {
        let mut out = String::new();
        for row in from.0..=to.0 {
            let Some(line) = self.area.lines().get(row) else { break };
            let start = if row == from.0 { from.1 } else { 0 };
            let end = if row == to.0 { to.1 } else { usize::MAX };
            if row > from.0 {
                out.push('\n');
            }
            out.extend(line.chars().skip(start).take(end.saturating_sub(start)));
        }
        out
    }

    fn kill(&mut self, from: Place, to: Place, last: &LastEdit) {
        let text = self.span(from, to);
        let backward = to == self.cursor() && from != to;
        if !self.remove(from, to) {
            self.last = last.clone();
            return;
        }
        self.history.leave();
        match self.kills.last_mut() {
            Some(top) if *last == LastEdit::Kill && backward => top.insert_str(0, &text),
            Some(top) if *last == LastEdit::Kill => top.push_str(&text),
            _ => self.kills.push(text),
        }
        if self.kills.len() > KILLS {
            self.kills.remove(0);
        }
        self.last = LastEdit::Kill;
    }

    fn yank(&mut self) {
        let Some(text) = self.kills.last().cloned() else { return };
        let start = self.cursor();
        self.history.leave();
        self.raw_insert(&text);
        self.last = LastEdit::Yank(start, self.kills.len() - 1);
    }

    /// Replaces what was just put back by the cut before it, round and round.
    fn yank_pop(&mut self, last: &LastEdit) {
        let LastEdit::Yank(start, index) = *last else { return };
        let index = index.checked_sub(1).unwrap_or(self.kills.len() - 1);
        let Some(text) = self.kills.get(index).cloned() else { return };
        self.remove(start, self.cursor());
        self.raw_insert(&text);
        self.last = LastEdit::Yank(start, index);
    }

    fn columns(&self, row: usize) -> usize {
        self.area.lines().get(row).map_or(0, |line| line.chars().count())
    }

    /// The boundaries of the units of a row, as character columns, first 0, last its length.
    fn boundaries(&self, row: usize) -> Vec<usize> {
        let Some(line) = self.area.lines().get(row) else { return vec![0] };
        let labels = self.markers.columns(line);
        let mut all = vec![0];
        let mut column = 0;
        for cluster in line.graphemes(true) {
            column += cluster.chars().count();
            if !labels.iter().any(|label| label.start < column && column < label.end) {
                all.push(column);
            }
        }
        all
    }

    fn unit_before(&self, (row, column): Place) -> Place {
        match self.boundaries(row).into_iter().rev().find(|at| *at < column) {
            Some(at) => (row, at),
            None if row > 0 => (row - 1, self.columns(row - 1)),
            None => (0, 0),
        }
    }

    fn unit_after(&self, (row, column): Place) -> Place {
        match self.boundaries(row).into_iter().find(|at| *at > column) {
            Some(at) => (row, at),
            None if row + 1 < self.area.lines().len() => (row + 1, 0),
            None => (row, column),
        }
    }

    fn word_before(&self, (row, column): Place) -> Place {
        if column == 0 {
            return self.unit_before((row, column));
        }
        let mut bounds = self.boundaries(row);
        bounds.retain(|at| *at <= column);
        let mut at = bounds.len() - 1;
        while at > 0 && !self.is_word(row, bounds[at - 1], bounds[at]) {
            at -= 1;
        }
        let label = at > 0 && self.is_label(row, bounds[at - 1]);
        while at > 0 && self.is_word(row, bounds[at - 1], bounds[at]) {
            at -= 1;
            if label {
                break;
            }
        }
        (row, bounds[at])
    }

    fn word_after(&self, (row, column): Place) -> Place {
        if column >= self.columns(row) {
            return self.unit_after((row, column));
        }
        let mut bounds = self.boundaries(row);
        bounds.retain(|at| *at >= column);
        let mut at = 0;
        while at + 1 < bounds.len() && !self.is_word(row, bounds[at], bounds[at + 1]) {
            at += 1;
        }
        let label = self.is_label(row, bounds[at]);
        while at + 1 < bounds.len() && self.is_word(row, bounds[at], bounds[at + 1]) {
            at += 1;
            if label {
                break;
            }
        }
        (row, bounds[at])
    }

    fn is_label(&self, row: usize, column: usize) -> bool {
        let line = self.area.lines().get(row).map_or("", String::as_str);
        self.markers.columns(line).iter().any(|label| label.start == column)
    }

    fn is_word(&self, row: usize, from: usize, to: usize) -> bool {
        to > from + 1 && self.is_label(row, from)
            || self.span((row, from), (row, to)).chars().any(|c| c.is_alphanumeric() || c == '_')
    }

    /// A cursor inside a label moves out of it.
    pub(super) fn leave_marker(&mut self, forward: bool) {
        let (row, column) = self.cursor();
        let line = self.area.lines().get(row).map_or("", String::as_str);
        let labels = self.markers.columns(line);
        if let Some(label) = labels.iter().find(|label| label.start < column && column < label.end)
        {
            let to = if forward { label.end } else { label.start };
            self.jump((row, to));
        }
    }

    fn leave_cluster(&mut self) {
        let (row, column) = self.cursor();
        let bounds = self.boundaries(row);
        if let Some(at) = bounds.into_iter().rev().find(|at| *at <= column)
            && at != column
        {
            self.jump((row, at));
        }
    }
}
