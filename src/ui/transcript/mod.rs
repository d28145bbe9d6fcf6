//! The conversation as rows: blocks come in from entries and events, and only those near the screen
//! are laid out.
//!
//! The window hangs on an anchor (a block and a row in it, or the end), so a frame costs what the
//! screen shows, whatever the session holds. Measure in update ([`Transcript::layout`]), paint in
//! view ([`Transcript::visible`]).

mod block;
mod calls;
mod cards;
mod ingest;
mod live;
mod pages;
mod rows;
mod view;

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::text::Line;

use crate::message::EntryId;
use crate::session::Entry;
use crate::ui::highlight::{HighlightJob, Highlighted, Highlights};

use block::{Block, Kind};
use ingest::Intake;
use live::Live;
use pages::Parts;
pub use pages::{Older, PageJob, Paged};
use view::View;

/// How much of a tool call is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ToolFold {
    /// One line.
    Collapsed,
    /// One line, and a bounded preview where it tells something: changes, failures, running output.
    #[default]
    Preview,
    /// Everything, up to a bound.
    Full,
}

/// What is folded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Folds {
    tools: ToolFold,
    thinking: bool,
}

/// The conversation pane's content.
#[derive(Debug, Default)]
pub struct Transcript {
    blocks: Vec<Block>,
    /// What the blocks before the loaded end are.
    parts: Parts,
    /// First and last entry and number of the entries that were loaded.
    loaded: Option<(EntryId, EntryId, usize)>,
    intake: Intake,
    live: Option<Live>,
    folds: Folds,
    view: View,
    highlights: Highlights,
    /// Which blocks a highlighting job will recolour.
    waiting: HashMap<u64, Vec<usize>>,
}

impl Transcript {
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows this branch, root first, from its end; folds stay as they are. Copies no text.
    pub fn load(&mut self, branch: &[Arc<Entry>]) {
        self.load_end(branch, Older::Nothing);
    }

    /// Shows the end of a branch; what is older is loaded in pages when a reader comes near it.
    pub fn load_end(&mut self, branch: &[Arc<Entry>], older: Older) {
        let folds = self.folds;
        let view = std::mem::take(&mut self.view);
        let parts = self.parts.anew();
        *self = Self { folds, parts, view: View::at_end(&view), ..Self::default() };
        self.blocks.reserve(branch.len());
        self.loaded = ends(branch);
        self.begins_after(older);
        self.intake.loading = true;
        for entry in branch {
            self.entry(entry);
        }
        self.intake.loading = false;
        self.give_up_calls();
    }

    /// Goes on with the same entries, now that it is known what is older, and leaves the window where
    /// it is. `false`, and nothing done, when other entries are shown.
    pub fn go_on(&mut self, branch: &[Arc<Entry>], older: Older) -> bool {
        let is_same = self.loaded.is_some() && self.loaded == ends(branch);
        if is_same {
            self.know_older(older);
        }
        is_same
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Collapsed, preview, full, in a circle that starts at the preview.
    pub fn toggle_tools(&mut self) {
        self.folds.tools = match self.folds.tools {
            ToolFold::Preview => ToolFold::Full,
            ToolFold::Full => ToolFold::Collapsed,
            ToolFold::Collapsed => ToolFold::Preview,
        };
        self.view.version += 1;
    }

    pub fn toggle_thinking(&mut self) {
        self.folds.thinking = !self.folds.thinking;
        self.view.version += 1;
    }

    /// Highlighting asked for by the last layouts; run each on a blocking thread and bring the
    /// result to [`Transcript::highlighted`].
    pub fn take_jobs(&mut self) -> Vec<HighlightJob> {
        self.highlights.take_jobs()
    }

    /// Takes in the result of a job; the next layout shows it.
    pub fn highlighted(&mut self, result: Highlighted) {
        for block in self.waiting.remove(&result.key).unwrap_or_default() {
            if let Some(block) = self.blocks.get_mut(block) {
                block.touch();
            }
        }
        self.highlights.insert(result);
        self.view.version += 1;
    }

    /// The Markdown source of the newest answer that has text.
    pub fn last_answer(&self) -> Option<String> {
        // What stands above a gap is not what was said last.
        let gap = self.blocks.iter().rposition(|block| matches!(block.kind, Kind::Gap(_)));
        let blocks = self.blocks.get(gap.map_or(0, |gap| gap + 1)..).unwrap_or_default();
        let spoken = |block: &Block| match &block.kind {
            Kind::Text { text, message } if !block.is_blank() => {
                Some((text.as_str().to_owned(), *message))
            }
            _ => None,
        };
        let (_, newest) = blocks.iter().rev().find_map(spoken)?;
        let mut texts: Vec<String> = blocks
            .iter()
            .rev()
            .filter_map(spoken)
            .take_while(|(_, message)| *message == newest)
            .map(|(text, _)| text)
            .collect();
        texts.reverse();
        Some(texts.join("\n\n"))
    }

    /// The lines to paint, as of the last layout.
    pub fn visible(&self) -> &[Line<'static>] {
        &self.view.lines
    }

    /// Whether the end stays in sight as text arrives.
    pub fn following(&self) -> bool {
        self.view.follows()
    }

    /// Whether something came in below while the reader was further up.
    pub fn new_below(&self) -> bool {
        self.view.new_below
    }

    fn changed(&mut self) {
        self.view.version += 1;
        self.view.new_below |= !self.view.follows();
    }
}

fn ends(branch: &[Arc<Entry>]) -> Option<(EntryId, EntryId, usize)> {
    Some((branch.first()?.id.clone(), branch.last()?.id.clone(), branch.len()))
}
