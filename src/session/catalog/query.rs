//! What a person looks for in sessions: words, "a phrase", or `re:` and a pattern.
//!
//! Each term is one regular expression over decoded text, so that all of them match alike: without
//! case, and a phrase over any white space. Where a term is plain, a second one over the raw line of
//! the file tells cheaply that there is nothing to decode.

use std::ops::Range;

use regex::{Regex, RegexBuilder, bytes};

use super::Listed;

/// Terms of a query that count: more is a paste, not a search.
const TERMS: usize = 16;
/// Memory of one compiled pattern: a typed one stays far below, and a hostile one is refused.
const PATTERN_BYTES: usize = 1 << 20;

/// A search. Every term must be found.
#[derive(Debug, Clone, Default)]
pub struct Query {
    text: String,
    terms: Vec<Term>,
    problem: Option<String>,
}

#[derive(Debug, Clone)]
struct Term {
    text: Regex,
    /// Matches every raw line that can hold the term; `None` when only decoding can tell.
    raw: Option<bytes::Regex>,
}

/// How near a match is, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// In the name.
    Name,
    /// In the name, the first prompt, the folder or the id.
    About,
    /// In what was said or read.
    Content,
}

impl Query {
    /// Never fails: a pattern that is none matches nothing, and [`Query::problem`] says why.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let mut query = Self { text: text.to_owned(), ..Self::default() };
        if let Some(pattern) = text.strip_prefix("re:") {
            match compiled(pattern) {
                _ if pattern.is_empty() => {}
                Ok(regex) => query.terms.push(Term { text: regex, raw: None }),
                Err(error) => query.problem = Some(problem(&error)),
            }
            return query;
        }
        for words in terms(text) {
            let pattern =
                words.iter().map(|word| regex::escape(word)).collect::<Vec<_>>().join(r"\s+");
            // An escaped word compiles unless it is longer than any text.
            if let Ok(regex) = compiled(&pattern) {
                query.terms.push(Term { text: regex, raw: raw(&words) });
            }
        }
        query
    }

    /// As it was written, without the blanks round it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Nothing is asked for, so everything matches.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty() && self.problem.is_none()
    }

    /// Why the pattern is none.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether the row of a session matches, without a look into the file.
    pub fn tier(&self, listed: &Listed) -> Option<Tier> {
        if self.problem.is_some() {
            return None;
        }
        let name = listed.name.as_deref().unwrap_or_default();
        if self.terms.iter().all(|term| term.text.is_match(name)) {
            return Some(Tier::Name);
        }
        self.terms.iter().all(|term| term.is_about(listed)).then_some(Tier::About)
    }

    /// Which terms the row of a session does not hold.
    pub(super) fn open(&self, listed: &Listed) -> Vec<usize> {
        (0..self.terms.len())
            .filter(|at| self.terms.get(*at).is_some_and(|term| !term.is_about(listed)))
            .collect()
    }

    /// Whether a raw line may hold one of these terms.
    pub(super) fn may_hold(&self, open: &[usize], line: &[u8]) -> bool {
        open.iter().filter_map(|at| self.terms.get(*at)).any(|term| match &term.raw {
            Some(raw) => raw.is_match(line),
            None => true,
        })
    }

    /// Takes the terms that are found in the text out of `open`; the place of the first of them.
    pub(super) fn take(&self, open: &mut Vec<usize>, text: &str) -> Option<Range<usize>> {
        let mut place: Option<Range<usize>> = None;
        open.retain(|at| {
            let found = self.terms.get(*at).and_then(|term| term.text.find(text));
            if let (Some(found), None) = (&found, &place) {
                place = Some(found.range());
            }
            found.is_none()
        });
        place
    }
}

impl Term {
    fn is_about(&self, listed: &Listed) -> bool {
        [listed.name.as_deref(), listed.first_message.as_deref()]
            .into_iter()
            .flatten()
            .chain([listed.cwd.as_str(), listed.id.as_str()])
            .any(|field| self.text.is_match(field))
    }
}

fn compiled(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_BYTES).build()
}

/// The last line of the library's own words, which is the one that says what is wrong.
fn problem(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    format!("no pattern: {}", last.strip_prefix("error: ").unwrap_or(last))
}

/// Words alone and words of a phrase together. A quote that is not closed yet reaches to the end.
fn terms(text: &str) -> Vec<Vec<&str>> {
    let mut terms: Vec<Vec<&str>> = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        let words = part.split_whitespace();
        if at % 2 == 0 {
            terms.extend(words.map(|word| vec![word]));
        } else {
            terms.push(words.collect());
        }
    }
    terms.retain(|words| !words.is_empty());
    terms.truncate(TERMS);
    terms
}

/// The longest word, as it stands in the file: only of letters that no writer escapes.
fn raw(words: &[&str]) -> Option<bytes::Regex> {
    let word = words.iter().max_by_key(|word| word.len())?;
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '/' | '<' | '>' | '&');
    if !word.chars().all(plain) {
        return None;
    }
    bytes::RegexBuilder::new(&regex::escape(word)).case_insensitive(true).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(query: &str, text: &str) -> bool {
        let query = Query::parse(query);
        let mut open: Vec<usize> = (0..query.terms.len()).collect();
        let _ = query.take(&mut open, text);
        open.is_empty() && query.problem().is_none()
    }

    #[test]
    fn words_are_found_anywhere_and_all_of_them_are_wanted() {
        assert!(finds("bug login", "fix the LOGIN bug"));
        assert!(!finds("bug logout", "fix the login bug"));
        assert!(finds("a.b", "x a.b y") && !finds("a.b", "axb"), "a word is no pattern");
        assert!(!finds("lgn", "login"), "scattered letters are no match");
    }

    #[test]
    fn a_phrase_matches_over_any_white_space_and_may_still_be_open() {
        for query in ["\"login  bug\"", "\"login bug"] {
            assert!(finds(query, "the login\n\t bug"), "{query}");
            assert!(!finds(query, "login the bug"), "{query}");
        }
        assert!(Query::parse("\"  \"").is_empty());
    }

    #[test]
    fn a_pattern_ignores_case_and_a_broken_one_matches_nothing_and_says_so() {
        assert!(finds("re:LOG.N", "Login") && finds("re:a b", "xa by"));
        let broken = Query::parse("re:(");
        assert!(broken.problem().is_some_and(|text| text.starts_with("no pattern: ")));
        assert!(!finds("re:(", "("));
        assert!(Query::parse("re:").is_empty());
        assert!(Query::parse("re:(a{1000}){1000}").problem().is_some(), "too large");
    }

    #[test]
    fn a_raw_line_is_only_passed_over_when_it_cannot_hold_the_word() {
        let query = Query::parse("caf\u{e9} path/x plain");
        assert!(query.may_hold(&[0], b"caf\\u00e9") && query.may_hold(&[1], b"path\\/x"));
        assert!(query.may_hold(&[2], b"so PLAIN") && !query.may_hold(&[2], b"other"));
    }
}
