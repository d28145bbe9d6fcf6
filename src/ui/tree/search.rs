//! Finding entries: at once in labels, roles and first words, and behind that, piece by piece, in
//! everything that was said and printed.
//!
//! The first words of all entries lie in one lower-case text, so a key of the query is one pass over
//! bytes. That text is made beside the loop when the pane opens, so that the first key costs no more
//! than the others. Bodies are read by the loop in pieces; a piece that belongs to an older query is dropped by
//! its number.

use memchr::memmem;

use crate::session::{Kind, Node, Position, Role, TreeView};
use crate::ui::line_input::LineInput;
use crate::ui::tree::entries::Entries;

/// Words of a query that count; more narrow nothing and cost a pass each.
const TOKENS_MAX: usize = 16;
/// Entries without their words in the text that are worth a job; fewer cost a key less than 1 ms.
const BEHIND: usize = 2_000;

/// The query and what it found.
#[derive(Debug, Default)]
pub struct Search {
    pub input: LineInput,
    /// The keys go into the query.
    pub typing: bool,
    words: Words,
    /// Counts sessions: a text of another one is dropped.
    era: u64,
    /// The text is on its way.
    gathering: bool,
    /// By position; empty without a query.
    matches: Vec<bool>,
    tokens: Vec<String>,
    scan: Scan,
}

/// The search in bodies.
#[derive(Debug, Default)]
struct Scan {
    /// Of the query that is searched; results of another are dropped.
    generation: u64,
    /// Where the next piece begins; `None` when all was searched.
    next: Option<Position>,
    /// A piece is being read.
    running: bool,
}

/// A piece of work for the search in bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub generation: u64,
    pub tokens: Vec<String>,
    pub from: Position,
}

/// What a piece found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub generation: u64,
    /// Rising.
    pub positions: Vec<Position>,
    /// Where to go on; `None` at the end of the tree.
    pub next: Option<Position>,
}

/// A piece of work: gather the first words from an entry on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gather {
    era: u64,
    from: Position,
}

/// The first words of the entries from one on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    gather: Gather,
    words: Words,
}

impl Gather {
    /// Linear; for 100,000 entries some 10 ms.
    pub fn run(self, view: &TreeView) -> Gathered {
        let mut words = Words::default();
        words.take(view, self.from as usize);
        Gathered { gather: self, words }
    }
}

impl Search {
    /// Where the query matches; `None` without one.
    pub fn matches(&self) -> Option<&[bool]> {
        (!self.tokens.is_empty()).then_some(&self.matches)
    }

    /// Bodies are still being searched.
    pub fn searching(&self) -> bool {
        !self.tokens.is_empty() && (self.scan.running || self.scan.next.is_some())
    }

    /// Forgets the query.
    pub fn clear(&mut self) {
        self.input = LineInput::default();
        self.typing = false;
        self.tokens.clear();
        self.matches.clear();
        self.scan.generation += 1;
        self.scan.next = None;
    }

    /// Forgets everything: the session is another one.
    pub fn reset(&mut self) {
        self.clear();
        self.words = Words::default();
        self.era += 1;
        self.gathering = false;
    }

    /// From which entry on the first words are to be gathered, when that is too much for a key.
    pub fn next_words(&mut self, entries: usize) -> Option<Gather> {
        let from = self.words.ends.len();
        if self.gathering || entries < from.saturating_add(BEHIND) {
            return None;
        }
        self.gathering = true;
        Some(Gather { era: self.era, from: Position::try_from(from).ok()? })
    }

    /// Takes gathered words, unless a key was faster or the session is another one.
    pub fn gathered(&mut self, gathered: Gathered) {
        if gathered.gather.era != self.era {
            return;
        }
        self.gathering = false;
        if gathered.gather.from as usize == self.words.ends.len() {
            self.words.add(gathered.words);
        }
    }

    /// The words of the query as they are compared.
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Takes the query as it is now. `true` when it differs from the last.
    pub fn refresh(&mut self, view: &TreeView, entries: &Entries) -> bool {
        let lower = self.input.text().to_lowercase();
        let tokens: Vec<String> =
            lower.split_whitespace().take(TOKENS_MAX).map(str::to_owned).collect();
        if tokens == self.tokens {
            return false;
        }
        self.tokens = tokens;
        self.scan.generation += 1;
        self.scan.next = (!self.tokens.is_empty()).then_some(0);
        self.matches.clear();
        self.extend(view, entries);
        true
    }

    /// Searches what came since, by its first words.
    pub fn extend(&mut self, view: &TreeView, entries: &Entries) {
        if self.tokens.is_empty() {
            return;
        }
        self.words.take(view, self.words.ends.len());
        let from = self.matches.len();
        self.matches.resize(entries.len(), false);
        self.words.find(&self.tokens, from, &mut self.matches);
        let tokens: Vec<_> = self.tokens.iter().map(memmem::Finder::new).collect();
        for (position, label) in entries.labels() {
            let Some(found) = self.matches.get_mut(*position as usize) else { continue };
            let label = label.to_lowercase();
            let words = self.words.of(*position).as_bytes();
            *found |= tokens
                .iter()
                .all(|token| token.find(label.as_bytes()).is_some() || token.find(words).is_some());
        }
        if from > 0 && !self.searching() && from < entries.len() {
            self.scan.next = Position::try_from(from).ok();
        }
    }

    /// The next piece to read, when none is on its way.
    pub fn next_piece(&mut self) -> Option<Piece> {
        if self.scan.running || self.tokens.is_empty() {
            return None;
        }
        let from = self.scan.next?;
        self.scan.running = true;
        let (generation, tokens) = (self.scan.generation, self.tokens.clone());
        Some(Piece { generation, tokens, from })
    }

    /// Takes what a piece found. `true` when it adds a match.
    pub fn found(&mut self, found: &Found) -> bool {
        self.scan.running = false;
        if found.generation != self.scan.generation {
            return false;
        }
        self.scan.next = found.next;
        let mut more = false;
        for position in &found.positions {
            if let Some(known) = self.matches.get_mut(*position as usize) {
                more |= !*known;
                *known = true;
            }
        }
        more
    }
}

/// Whether a lower-case text holds every token.
pub fn contains_all(text: &str, tokens: &[String]) -> bool {
    tokens.iter().all(|token| memmem::find(text.as_bytes(), token.as_bytes()).is_some())
}

/// Role and first words of every entry, lower case, one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Words {
    text: String,
    /// Where each line ends.
    ends: Vec<usize>,
    /// Which letters and digits each line holds, by [`letter`]: the first letter of a query is in
    /// most lines, and looking for it in each would cost more than all that follows.
    letters: Vec<u64>,
}

/// The bit of a lower-case letter or a digit; none for any other byte.
fn letter(byte: u8) -> u64 {
    match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'0'..=b'9' => 1 << (26 + byte - b'0'),
        _ => 0,
    }
}

impl Words {
    fn take(&mut self, view: &TreeView, from: usize) {
        let index = view.index();
        for position in from..index.len() {
            let node = Position::try_from(position).ok().and_then(|at| index.node(at));
            let Some(node) = node else { break };
            self.push(role_words(node), &node.preview);
        }
    }

    fn push(&mut self, role: &str, preview: &str) {
        let start = self.text.len();
        self.text.push_str(role);
        self.text.push(' ');
        if preview.is_ascii() {
            let start = self.text.len();
            self.text.push_str(preview);
            if let Some(fresh) = self.text.get_mut(start..) {
                fresh.make_ascii_lowercase();
            }
        } else {
            self.text.push_str(&preview.to_lowercase());
        }
        let line = self.text.as_bytes().get(start..).unwrap_or_default();
        self.letters.push(line.iter().fold(0, |all, byte| all | letter(*byte)));
        self.text.push('\n');
        self.ends.push(self.text.len());
    }

    /// Adds lines that belong behind these.
    fn add(&mut self, more: Self) {
        if self.ends.is_empty() {
            *self = more;
            return;
        }
        let end = self.text.len();
        self.text.push_str(&more.text);
        self.ends.extend(more.ends.iter().map(|own| end + own));
        self.letters.extend(more.letters);
    }

    fn of(&self, position: Position) -> &str {
        let position = position as usize;
        let start = position.checked_sub(1).and_then(|before| self.ends.get(before));
        let end = self.ends.get(position).copied().unwrap_or_default();
        self.text.get(start.copied().unwrap_or_default()..end).unwrap_or_default()
    }

    /// Marks the entries from `from` on that hold every token: one pass for the first, and a look
    /// at the lines it hits.
    fn find(&self, tokens: &[String], from: usize, matches: &mut [bool]) {
        let Some((first, rest)) = tokens.split_first() else { return };
        if let ([byte], []) = (first.as_bytes(), rest)
            && letter(*byte) != 0
        {
            let lines = matches.iter_mut().zip(&self.letters).skip(from);
            lines.for_each(|(found, letters)| *found = letters & letter(*byte) != 0);
            return;
        }
        // Built once: building one costs more than looking through a line.
        let rest: Vec<_> = rest.iter().map(memmem::Finder::new).collect();
        let start = from.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        let mut offset = start.unwrap_or_default();
        let mut entry = from;
        let finder = memmem::Finder::new(first);
        while let Some(hit) = self.text.as_bytes().get(offset..).and_then(|text| finder.find(text))
        {
            let hit = offset + hit;
            while self.ends.get(entry).is_some_and(|end| *end <= hit) {
                entry += 1;
            }
            let Some(end) = self.ends.get(entry) else { return };
            let words = Position::try_from(entry).map(|at| self.of(at)).unwrap_or_default();
            if let Some(found) = matches.get_mut(entry) {
                *found = rest.iter().all(|token| token.find(words.as_bytes()).is_some());
            }
            offset = *end;
        }
    }
}

/// What a person may call who speaks.
fn role_words(node: &Node) -> &'static str {
    match (node.kind, node.role) {
        (Kind::Message, Some(Role::User)) => "you user",
        (Kind::Message, Some(Role::Assistant)) => "assistant",
        (Kind::Message, Some(Role::ToolResult)) => "tool",
        (Kind::Message, Some(Role::BashExecution)) => "bash",
        (Kind::Compaction, _) => "compaction",
        (Kind::BranchSummary, _) => "branch summary",
        (Kind::ModelChange, _) => "model",
        (Kind::ThinkingLevelChange, _) => "thinking",
        (Kind::Label, _) => "label",
        (Kind::SessionInfo, _) => "name",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_letter_is_found_where_a_look_at_the_line_finds_it() {
        let lines = [("you user", "Grüße, 7 MAL"), ("tool", "ls -l"), ("", ""), ("bash", "ÄZ 09")];
        let (mut words, mut behind) = (Words::default(), Words::default());
        for (at, (role, preview)) in lines.into_iter().enumerate() {
            let words = if at < 2 { &mut words } else { &mut behind };
            words.push(role, preview);
        }
        words.add(behind);
        for token in ('a'..='z').chain('0'..='9').chain(['ü', '-', 'ä']) {
            let tokens = [token.to_string()];
            for from in [0, 2] {
                let mut matches = [false; 4];
                words.find(&tokens, from, &mut matches);
                let held = |at: usize| at >= from && words.of(at as Position).contains(token);
                assert_eq!(matches, [0, 1, 2, 3].map(held), "{token} from {from}");
            }
        }
    }
}
