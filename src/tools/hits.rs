//! Collects what a search finds, as the lines that are shown, and stops when there is enough.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use tokio_util::sync::CancellationToken;

use crate::text::truncate::{self, MAX_BYTES, MAX_LINE_CHARS};

/// The shown lines of all files.
#[derive(Debug)]
pub(crate) struct Hits {
    text: String,
    count: usize,
    limit: usize,
    around: usize,
    has_more: bool,
    has_cut_lines: bool,
}

impl Hits {
    /// `around` is the number of context lines after a match.
    pub(crate) fn new(limit: usize, around: usize) -> Self {
        Self { text: String::new(), count: 0, limit, around, has_more: false, has_cut_lines: false }
    }

    pub(crate) fn text(&self) -> &str {
        self.text.trim_end_matches('\n')
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// There are matches beyond the limit; exactly as many as the limit are not more.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    pub(crate) fn has_cut_lines(&self) -> bool {
        self.has_cut_lines
    }

    /// Nothing further would be shown.
    pub(crate) fn is_full(&self) -> bool {
        self.has_more || self.text.len() > MAX_BYTES
    }

    fn line(&mut self, name: &str, number: Option<u64>, mark: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = truncate::line(text.trim_end_matches(['\n', '\r']), MAX_LINE_CHARS);
        self.has_cut_lines |= matches!(text, std::borrow::Cow::Owned(_));
        let number = number.unwrap_or_default();
        self.text.push_str(&format!("{name}{mark}{number}{mark} {text}\n"));
    }
}

/// The sink for one file.
#[derive(Debug)]
pub(crate) struct InFile<'a> {
    hits: &'a mut Hits,
    name: &'a str,
    cancel: &'a CancellationToken,
    last_match: Option<u64>,
    is_first: bool,
}

impl<'a> InFile<'a> {
    pub(crate) fn new(hits: &'a mut Hits, name: &'a str, cancel: &'a CancellationToken) -> Self {
        Self { hits, name, cancel, last_match: None, is_first: true }
    }

    fn goes_on(&self) -> bool {
        !self.hits.is_full() && !self.cancel.is_cancelled()
    }

    /// With context, groups of different files are set apart as well.
    fn separate(&mut self) {
        if std::mem::take(&mut self.is_first) && self.hits.around > 0 && !self.hits.text.is_empty()
        {
            self.hits.text.push_str("--\n");
        }
    }
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let number = found.line_number();
        if self.hits.count == self.hits.limit {
            self.hits.has_more = true;
            // It still belongs to the context of the last match that is shown.
            let distance = number.zip(self.last_match).map(|(number, last)| number - last);
            if distance.is_some_and(|distance| distance <= self.hits.around as u64) {
                self.hits.line(self.name, number, '-', found.bytes());
            }
            return Ok(false);
        }
        self.separate();
        self.hits.count += 1;
        self.last_match = number;
        self.hits.line(self.name, number, ':', found.bytes());
        Ok(self.goes_on())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, io::Error> {
        // What comes before a match that will not be shown is not shown either.
        let is_before = *line.kind() == SinkContextKind::Before;
        if !(is_before && self.hits.count == self.hits.limit) {
            self.separate();
            self.hits.line(self.name, line.line_number(), '-', line.bytes());
        }
        Ok(self.goes_on())
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.hits.count < self.hits.limit && !self.is_first {
            self.hits.text.push_str("--\n");
        }
        Ok(self.goes_on())
    }
}
