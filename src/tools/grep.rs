//! `grep`: searches the content of files by regular expression.

use std::ops::ControlFlow;
use std::path::Path;

use futures_util::future::BoxFuture;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::glob::Glob;
use super::hits::{Hits, InFile};
use super::ls::listing;
use super::offload::offload;
use super::walk::{Ended, walk};
use super::{Tool, ToolContext, content, paths, schema};
use crate::message::{Access, ToolOutcome, ToolSpec};
use crate::text::truncate::{self, MAX_LINE_CHARS};

/// Matches shown when no limit is given.
const DEFAULT_LIMIT: i64 = 100;
/// Lines of context around a match at most.
const MAX_CONTEXT: i64 = 50;
/// Bytes of one line that are held for the search; a longer one makes its file unsearchable.
const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of a pattern; longer ones take long to parse and were not meant.
const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// Bytes of the complaint about a pattern, which quotes the pattern.
const MAX_ERROR_BYTES: usize = 2000;
/// Bytes of a compiled expression.
const MAX_REGEX_BYTES: usize = 10 * 1024 * 1024;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Regular expression (Rust syntax), matched line by line.
    pattern: String,
    /// File or directory to search; the working folder when absent.
    path: Option<String>,
    /// Search only files of this glob, for instance `*.ts` or `src/**/*.rs`; `!*.md` leaves out.
    glob: Option<String>,
    /// Ignore case.
    ignore_case: Option<bool>,
    /// Take the pattern as plain text.
    literal: Option<bool>,
    /// Lines to show before and after each match.
    context: Option<i64>,
    /// Matches to show, 100 when absent.
    limit: Option<i64>,
}

impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".to_owned(),
            description: "Search file contents. Gives path:line: text. Hidden files are searched, \
                          binary files and files that .gitignore excludes are not. Long lines are \
                          cut to 500 characters."
                .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn summary(&self, arguments: &Value) -> String {
        paths::search_summary(arguments)
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        offload(context.cancel.clone(), move |cancel| {
            let arguments: Arguments = match schema::parse("grep", arguments) {
                Ok(arguments) => arguments,
                Err(outcome) => return Ok(outcome),
            };
            let path = arguments.path.as_deref().unwrap_or(".");
            grep(&paths::resolve_existing(path, &context.cwd), &arguments, cancel)
        })
    }
}

struct Search {
    matcher: RegexMatcher,
    searcher: Searcher,
    hits: Hits,
    unreadable: usize,
}

impl Search {
    fn new(arguments: &Arguments) -> Result<Self, String> {
        if arguments.pattern.len() > MAX_PATTERN_BYTES {
            return Err(format!("the pattern has more than {MAX_PATTERN_BYTES} bytes"));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(arguments.ignore_case.unwrap_or(false))
            .fixed_strings(arguments.literal.unwrap_or(false))
            .line_terminator(Some(b'\n'))
            .size_limit(MAX_REGEX_BYTES)
            .dfa_size_limit(MAX_REGEX_BYTES)
            .build(&arguments.pattern)
            .map_err(|error| {
                let error = error.to_string();
                let error = truncate::excerpt(&error, MAX_ERROR_BYTES);
                format!("invalid pattern: {error}. Use literal=true for plain text.")
            })?;
        let around = arguments.context.unwrap_or(0).clamp(0, MAX_CONTEXT);
        let around = usize::try_from(around).unwrap_or(0);
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .line_number(true)
            .before_context(around)
            .after_context(around)
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        let limit = usize::try_from(arguments.limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(1).max(1);
        Ok(Self { matcher, searcher, hits: Hits::new(limit, around), unreadable: 0 })
    }

    /// Searches one file; breaks when nothing more can be shown.
    fn file(&mut self, path: &Path, name: &str, cancel: &CancellationToken) -> ControlFlow<()> {
        let Ok((file, _)) = content::open(path) else {
            self.unreadable += 1;
            return ControlFlow::Continue(());
        };
        let sink = InFile::new(&mut self.hits, name, cancel);
        if self.searcher.search_file(&self.matcher, &file, sink).is_err() {
            self.unreadable += 1;
        }
        if self.hits.is_full() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn grep(
    root: &Path,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let mut search = Search::new(arguments)?;
    let facts = root
        .metadata()
        .map_err(|error| format!("could not search {}: {error}", paths::shown(root)))?;
    let (mut ended, mut ignored) = (Ended::Complete, 0);
    if facts.is_dir() {
        let glob = arguments.glob.as_deref().map(Glob::new).transpose()?;
        ended = walk(root, cancel, |entry| {
            ignored += usize::from(entry.is_ignored);
            let is_wanted = glob.as_ref().is_none_or(|glob| glob.matches(&entry.relative));
            if !entry.is_file || entry.is_ignored || !is_wanted {
                return ControlFlow::Continue(());
            }
            search.file(&entry.path, &paths::shown(&entry.relative), cancel)
        });
    } else {
        // Named exactly: what cannot be searched is said, not skipped.
        content::open(root)?;
        let name = paths::shown(Path::new(root.file_name().unwrap_or_default()));
        let _ = search.file(root, &name, cancel);
    }
    Ok(answer(&search, ended, ignored))
}

fn answer(search: &Search, ended: Ended, ignored: usize) -> ToolOutcome {
    let hits = &search.hits;
    let mut notices = Vec::new();
    if hits.has_more() {
        let limit = hits.limit();
        notices.push(format!(
            "{limit} matches limit reached; use limit={} or a narrower pattern",
            limit.saturating_mul(2)
        ));
    }
    if hits.has_cut_lines() {
        notices
            .push(format!("some lines cut to {MAX_LINE_CHARS} characters; use read to see them"));
    }
    if ended == Ended::TooMany {
        notices.push("the tree is too large and was not searched to its end".to_owned());
    }
    if search.unreadable > 0 {
        notices.push(format!("{} files could not be searched", search.unreadable));
    }
    if hits.is_empty() {
        if ignored > 0 {
            notices.push(format!(
                "{ignored} ignored files and directories were not searched; name one as path to \
                 search it"
            ));
        }
        let mut text = "No matches found".to_owned();
        if !notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", notices.join(". ")));
        }
        return ToolOutcome::text(text).with_details(json!({ "listing": true }));
    }
    let notice = (!notices.is_empty()).then(|| notices.join(". "));
    listing(hits.text(), |_| notice)
}
