//! Earlier prompts of the project: walking through them keeps the draft that was left.

use std::collections::VecDeque;

/// Prompts kept per project.
pub const HISTORY_MAX: usize = 100;

/// Oldest first.
#[derive(Debug, Default)]
pub struct History {
    entries: VecDeque<String>,
    /// Where the walk stands, and the draft it left.
    walk: Option<(usize, String)>,
}

impl History {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes over what earlier runs stored, oldest first.
    pub fn load(&mut self, entries: Vec<String>) {
        self.walk = None;
        self.entries.clear();
        for entry in entries {
            self.push(&entry);
        }
    }

    /// Adds a prompt; blank ones and repetitions of the last one are left out.
    pub fn push(&mut self, text: &str) {
        self.walk = None;
        if text.trim().is_empty() || self.entries.back().is_some_and(|last| last == text) {
            return;
        }
        self.entries.push_back(text.to_owned());
        if self.entries.len() > HISTORY_MAX {
            self.entries.pop_front();
        }
    }

    /// Ends the walk: what is in the composer is a draft of its own now.
    pub fn leave(&mut self) {
        self.walk = None;
    }

    pub(super) fn earlier(&mut self, draft: &str) -> Option<String> {
        let at = match &self.walk {
            None => self.entries.len().checked_sub(1)?,
            Some((at, _)) => at.checked_sub(1)?,
        };
        match &mut self.walk {
            Some((place, _)) => *place = at,
            None => self.walk = Some((at, draft.to_owned())),
        }
        self.entries.get(at).cloned()
    }

    pub(super) fn later(&mut self) -> Option<String> {
        let (at, draft) = self.walk.take()?;
        match self.entries.get(at + 1) {
            Some(text) => {
                self.walk = Some((at + 1, draft));
                Some(text.clone())
            }
            None => Some(draft),
        }
    }

    /// The newest prompts that contain the query, without regard to case; at most `max`.
    pub fn search(&self, query: &str, max: usize) -> Vec<&str> {
        let query = query.to_lowercase();
        let mut found: Vec<&str> = Vec::new();
        for entry in self.entries.iter().rev() {
            if found.len() < max
                && entry.to_lowercase().contains(&query)
                && !found.contains(&entry.as_str())
            {
                found.push(entry);
            }
        }
        found
    }
}
