//! Stand-in until the real transcript is merged.

use std::sync::Arc;

use ratatui::text::Line;

use crate::harness::Event;
use crate::message::{Delta, Message, Part, plain_text};
use crate::session::{Body, Entry};
use crate::text::sanitize::sanitize;
use crate::text::width::wrap;
use crate::ui::highlight::{HighlightJob, Highlighted};
use crate::ui::theme::Theme;

#[derive(Debug, Default)]
pub struct Transcript {
    blocks: Vec<String>,
    partial: Option<String>,
    lines: Vec<Line<'static>>,
    /// Rows above the bottom.
    up: usize,
    news: bool,
    height: usize,
}

impl Transcript {
    pub fn new() -> Self {
        Self::default()
    }
    pub fn load(&mut self, branch: &[Arc<Entry>]) {
        *self = Self::default();
        for entry in branch {
            if let Body::Message { message, .. } = &entry.body {
                self.push(message);
            }
        }
    }
    fn push(&mut self, message: &Message) {
        match message {
            Message::User(_) => self.blocks.push(format!("▌{}", message.text())),
            Message::ToolResult(result) => {
                self.blocks.push(format!("▸ {}", result.tool_name));
            }
            _ => self.blocks.push(message.text()),
        }
    }
    pub fn resume_partial(&mut self, parts: &[Part]) {
        self.partial = (!parts.is_empty()).then(|| plain_text(parts));
    }
    pub fn apply(&mut self, event: &Event) -> bool {
        match event {
            Event::MessageStart { message } if matches!(**message, Message::Assistant(_)) => {
                self.partial = Some(String::new());
            }
            Event::MessageUpdate { assistant_message_event: Delta::TextDelta { delta, .. } } => {
                self.partial.get_or_insert_default().push_str(delta);
                self.news = self.up > 0;
            }
            Event::MessageEnd { message, .. } => {
                self.partial = None;
                self.push(message);
                self.news = self.up > 0;
            }
            Event::MessageDiscarded => self.partial = None,
            Event::Notice { text } => self.blocks.push(format!("· {text}")),
            Event::Error { error } => {
                self.blocks.push(format!("✗ {}\n  {}", error.message, error.advice));
            }
            _ => return false,
        }
        true
    }
    pub fn layout(&mut self, width: u16, height: u16, _theme: &Theme) {
        let mut all = Vec::new();
        for block in self.blocks.iter().chain(self.partial.as_ref()) {
            for line in sanitize(block).split('\n') {
                for row in wrap(line, usize::from(width)) {
                    all.push(Line::from(line[row].to_owned()));
                }
            }
            all.push(Line::default());
        }
        all.pop();
        self.height = usize::from(height);
        self.up = self.up.min(all.len().saturating_sub(self.height));
        if self.up == 0 {
            self.news = false;
        }
        let end = all.len() - self.up;
        self.lines = all[end.saturating_sub(self.height)..end].to_vec();
    }
    pub fn visible(&self) -> &[Line<'static>] {
        &self.lines
    }
    pub fn scroll(&mut self, rows: i32) {
        let step = rows.unsigned_abs() as usize;
        self.up =
            if rows < 0 { self.up.saturating_add(step) } else { self.up.saturating_sub(step) };
    }
    pub fn page(&mut self, pages: i32) {
        let rows = i32::try_from(self.height).unwrap_or(1).max(2) - 1;
        self.scroll(pages.saturating_mul(rows));
    }
    pub fn to_top(&mut self) {
        self.up = usize::MAX;
    }
    pub fn to_bottom(&mut self) {
        self.up = 0;
    }
    pub fn previous_prompt(&mut self) {
        self.page(-1);
    }
    pub fn next_prompt(&mut self) {
        self.page(1);
    }
    pub fn following(&self) -> bool {
        self.up == 0
    }
    pub fn new_below(&self) -> bool {
        self.news
    }
    pub fn toggle_tools(&mut self) {}
    pub fn toggle_thinking(&mut self) {}
    pub fn take_jobs(&mut self) -> Vec<HighlightJob> {
        Vec::new()
    }
    pub fn highlighted(&mut self, _highlighted: Highlighted) {}
    pub fn last_answer(&self) -> Option<String> {
        self.blocks.iter().rev().find(|b| !b.starts_with(['▌', '▸', '·', '✗'])).cloned()
    }
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.partial.is_none()
    }
}
