//! Syntax highlighting as jobs: code goes out, kinds of text come back, colours stay with the theme.
//!
//! A job is CPU work for a blocking thread. It can go on where an earlier one stopped, so code that
//! is still being written is highlighted once per finished line.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::ui::theme::Syntax;

/// Lines that are highlighted; more stay plain. At 20 to 100 µs a line, 0.2 s at most.
const MAX_LINES: usize = 2000;
/// Code larger than this stays plain.
const MAX_BYTES: usize = 256 * 1024;
/// A longer line stays plain: one pathological line can take the grammar's regexes very long.
const MAX_LINE: usize = 4096;
/// Results that are kept. Laid-out rows keep their own colours, so this only has to cover what is
/// being laid out now.
const MAX_KEPT: usize = 256;

/// Loaded when the first job runs, never before the first frame.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// One line: pieces in order, each a kind and the byte offset where it ends.
pub type LineKinds = Vec<(Syntax, usize)>;

/// Names a piece of code: its language and text.
pub fn key(lang: &str, code: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (lang, code).hash(&mut hasher);
    hasher.finish()
}

/// Code to highlight, from where `prior` stopped.
#[derive(Debug, Clone)]
pub struct HighlightJob {
    pub key: u64,
    lang: String,
    code: String,
    /// What the code begins with.
    prior: Option<Arc<Highlighted>>,
    /// More code will follow, and with it another job.
    open: bool,
}

/// Highlighted code.
#[derive(Debug, Clone)]
pub struct Highlighted {
    pub key: u64,
    lang: String,
    /// How much code it covers.
    bytes: usize,
    lines: Vec<Arc<LineKinds>>,
    replaces: Option<u64>,
    /// How much of the code this job had to parse.
    #[cfg(test)]
    parsed: usize,
}

impl Highlighted {
    /// The kinds of a line, counted from 0; `None` where the line stays plain.
    pub fn line(&self, index: usize) -> Option<&LineKinds> {
        self.lines.get(index).map(AsRef::as_ref)
    }
}

thread_local! {
    /// Where the last job of this thread stopped. The parser's state cannot leave its thread, so a
    /// job that lands on another one parses the code from its beginning.
    static LAST: RefCell<Option<(u64, State)>> = const { RefCell::new(None) };
}

#[derive(Debug)]
struct State {
    parser: ParseState,
    scopes: ScopeStack,
}

impl State {
    fn new(syntax: &SyntaxReference) -> Self {
        Self { parser: ParseState::new(syntax), scopes: ScopeStack::new() }
    }

    /// The kinds of one line (with its `\n`); plain when the grammar fails on it.
    fn line(&mut self, line: &str) -> LineKinds {
        let mut kinds = LineKinds::new();
        let text = line.trim_end_matches('\n').len();
        if line.len() > MAX_LINE {
            return kinds;
        }
        let Ok(operations) = self.parser.parse_line(line, &SYNTAXES) else { return kinds };
        for (at, operation) in operations {
            push(&mut kinds, self.kind(), at.min(text));
            if self.scopes.apply(&operation).is_err() {
                self.scopes = ScopeStack::new();
            }
        }
        push(&mut kinds, self.kind(), text);
        kinds
    }

    fn kind(&self) -> Syntax {
        self.scopes
            .as_slice()
            .iter()
            .rev()
            .find_map(|scope| {
                KINDS.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, kind)| *kind)
            })
            .unwrap_or(Syntax::Plain)
    }
}

fn push(kinds: &mut LineKinds, kind: Syntax, end: usize) {
    let start = kinds.last().map_or(0, |(_, end)| *end);
    if end <= start {
        return;
    }
    match kinds.last_mut() {
        Some((last, last_end)) if *last == kind => *last_end = end,
        _ => kinds.push((kind, end)),
    }
}

/// Scopes in the order in which they are tried; the first prefix that fits wins.
const SCOPES: [(&str, Syntax); 32] = [
    ("comment", Syntax::Comment),
    ("punctuation.definition.comment", Syntax::Comment),
    ("punctuation.definition.string", Syntax::Text),
    ("punctuation.definition.heading", Syntax::Keyword),
    ("punctuation", Syntax::Punctuation),
    ("constant.numeric", Syntax::Number),
    ("constant.character.escape", Syntax::Constant),
    ("constant", Syntax::Constant),
    ("string", Syntax::Text),
    ("keyword.operator", Syntax::Punctuation),
    ("keyword", Syntax::Keyword),
    ("storage", Syntax::Keyword),
    ("entity.name.function", Syntax::Function),
    ("entity.name.tag", Syntax::Keyword),
    ("entity.name.section", Syntax::Keyword),
    ("entity.name.type", Syntax::Type),
    ("entity.name.class", Syntax::Type),
    ("entity.name.struct", Syntax::Type),
    ("entity.name.enum", Syntax::Type),
    ("entity.name.trait", Syntax::Type),
    ("entity.name.impl", Syntax::Type),
    ("entity.name.namespace", Syntax::Type),
    ("entity.other.attribute-name", Syntax::Function),
    ("entity.other.inherited-class", Syntax::Type),
    ("support.function", Syntax::Function),
    ("support.type", Syntax::Type),
    ("support.class", Syntax::Type),
    ("support.macro", Syntax::Function),
    ("variable.function", Syntax::Function),
    ("variable.language", Syntax::Constant),
    ("markup.inserted", Syntax::Text),
    ("markup.deleted", Syntax::Number),
];

static KINDS: LazyLock<Vec<(Scope, Syntax)>> = LazyLock::new(|| {
    SCOPES.iter().filter_map(|(name, kind)| Some((Scope::new(name).ok()?, *kind))).collect()
});

impl HighlightJob {
    /// Does the work; call it on a blocking thread. An unknown language gives plain lines.
    pub fn run(self) -> Highlighted {
        let prior = self.prior.as_ref();
        let last = LAST.take().filter(|(key, _)| prior.is_some_and(|prior| prior.key == *key));
        let (mut lines, from, state) = match (last, prior) {
            (Some((_, state)), Some(prior)) => (prior.lines.clone(), prior.bytes, Some(state)),
            _ => (Vec::new(), 0, SYNTAXES.find_syntax_by_token(&self.lang).map(State::new)),
        };
        if let Some(mut state) = state {
            let room = MAX_LINES.saturating_sub(lines.len());
            for line in self.code[from..].split_inclusive('\n').take(room) {
                lines.push(Arc::new(state.line(line)));
            }
            LAST.set(Some((self.key, state)));
        }
        Highlighted {
            key: self.key,
            lang: self.lang,
            bytes: self.code.len(),
            lines,
            replaces: self.prior.map(|prior| prior.key),
            #[cfg(test)]
            parsed: self.code.len() - from,
        }
    }
}

/// What is known of code so far. Layout only reads it; jobs are asked for once.
#[derive(Debug, Default)]
pub struct Highlights {
    known: HashMap<u64, Arc<Highlighted>>,
    order: VecDeque<u64>,
    /// The newest result: code that is being written begins with it.
    newest: Option<Arc<Highlighted>>,
    asked: HashSet<u64>,
    /// The job under way for code that is being written: one at a time, so that the next can go on
    /// where it stops.
    writing: Option<u64>,
    jobs: Vec<HighlightJob>,
}

impl Highlights {
    /// Takes in a result.
    pub fn insert(&mut self, result: Highlighted) {
        self.asked.remove(&result.key);
        self.writing.take_if(|key| *key == result.key);
        let result = Arc::new(result);
        if let Some(old) = result.replaces {
            self.known.remove(&old);
        }
        self.known.insert(result.key, Arc::clone(&result));
        self.order.push_back(result.key);
        while self.order.len() > MAX_KEPT {
            if let Some(old) = self.order.pop_front() {
                self.known.remove(&old);
            }
        }
        self.newest = Some(result);
    }

    /// Asks for a job. False when its result will not come: code that is being written has a job
    /// under way already, and should be asked about again after that.
    pub fn ask(&mut self, job: HighlightJob) -> bool {
        if self.known.contains_key(&job.key) || self.asked.contains(&job.key) {
            return true;
        }
        if job.open && self.writing.is_some() {
            return false;
        }
        if job.open {
            self.writing = Some(job.key);
        }
        self.asked.insert(job.key);
        self.jobs.push(job);
        true
    }

    /// The jobs asked for since the last call.
    pub fn take_jobs(&mut self) -> Vec<HighlightJob> {
        std::mem::take(&mut self.jobs)
    }

    fn begins(&self, lang: &str, code: &str) -> Option<&Arc<Highlighted>> {
        self.newest.as_ref().filter(|newest| {
            newest.lang == lang
                && code.is_char_boundary(newest.bytes)
                && code.len() > newest.bytes
                && key(lang, &code[..newest.bytes]) == newest.key
        })
    }
}

/// Where layout finds colours.
pub trait CodeLookup {
    /// What is known of this code: all of it, or of the lines it begins with.
    fn lookup(&self, lang: &str, code: &str) -> Option<Arc<Highlighted>>;

    /// The job that would tell the rest; `None` when there is nothing to do. While code is `open`
    /// only finished lines count.
    fn job(&self, lang: &str, code: &str, open: bool) -> Option<HighlightJob>;

    /// Whether the result of that job is here.
    fn knows(&self, key: u64) -> bool;
}

impl CodeLookup for Highlights {
    fn lookup(&self, lang: &str, code: &str) -> Option<Arc<Highlighted>> {
        self.known.get(&key(lang, code)).or_else(|| self.begins(lang, code)).map(Arc::clone)
    }

    fn job(&self, lang: &str, code: &str, open: bool) -> Option<HighlightJob> {
        let code = if open { &code[..code.rfind('\n').map_or(0, |at| at + 1)] } else { code };
        if lang.is_empty() || code.is_empty() || code.len() > MAX_BYTES {
            return None;
        }
        let key = key(lang, code);
        if self.known.contains_key(&key) {
            return None;
        }
        // A line that was cut in two must be parsed again as a whole.
        let prior =
            self.begins(lang, code).filter(|prior| code[..prior.bytes].ends_with('\n')).cloned();
        Some(HighlightJob { key, lang: lang.to_owned(), code: code.to_owned(), prior, open })
    }

    fn knows(&self, key: u64) -> bool {
        self.known.contains_key(&key)
    }
}

/// No colours: for places that never highlight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

impl CodeLookup for Plain {
    fn lookup(&self, _lang: &str, _code: &str) -> Option<Arc<Highlighted>> {
        None
    }

    fn job(&self, _lang: &str, _code: &str, _open: bool) -> Option<HighlightJob> {
        None
    }

    fn knows(&self, _key: u64) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "/* a\nb */ fn main() {\n    let x = \"s\"; // 1\n}\n";

    fn all(lang: &str, code: &str) -> Highlighted {
        Highlights::default().job(lang, code, false).unwrap().run()
    }

    #[test]
    fn the_kinds_of_a_line_follow_the_grammar_over_lines() {
        let done = all("rust", CODE);
        assert_eq!(done.line(0), Some(&vec![(Syntax::Comment, 4)]));
        let second = done.line(1).unwrap();
        assert_eq!(second[0], (Syntax::Comment, 4));
        assert!(second.contains(&(Syntax::Keyword, 7)) && second.contains(&(Syntax::Function, 12)));
        assert_eq!(done.line(2).unwrap().last(), Some(&(Syntax::Comment, 21)));
    }

    #[test]
    fn code_that_grows_is_highlighted_once_per_line_with_the_same_result() {
        let mut known = Highlights::default();
        let mut worked = 0;
        for end in CODE.char_indices().map(|(at, c)| at + c.len_utf8()) {
            if let Some(job) = known.job("rust", &CODE[..end], true) {
                let done = job.run();
                worked += done.parsed;
                known.insert(done);
            }
        }
        assert_eq!(worked, CODE.len());
        assert_eq!(known.lookup("rust", CODE).unwrap().lines, all("rust", CODE).lines);
        assert!(known.job("rust", CODE, false).is_none());
    }

    #[test]
    fn jobs_and_results_may_cross_threads() {
        fn sendable<T: Send + Sync>() {}
        sendable::<HighlightJob>();
        sendable::<Highlighted>();
    }

    #[test]
    fn what_is_too_long_or_unknown_stays_plain() {
        assert_eq!(all("no-such-language", "x\n").line(0), None);
        assert_eq!(all("rust", &format!("{}\n", "x".repeat(5000))).line(0), Some(&Vec::new()));
        assert_eq!(all("rust", &"x\n".repeat(2100)).lines.len(), MAX_LINES);
        assert!(Highlights::default().job("rust", &"x".repeat(MAX_BYTES + 1), false).is_none());
        assert!(Highlights::default().job("", "x", false).is_none());
    }
}
