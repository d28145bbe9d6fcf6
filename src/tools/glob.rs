//! Glob patterns as the searches mean them: with a slash from the root, without at any depth.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// Characters of a pattern; longer ones are mistakes.
const MAX_PATTERN_CHARS: usize = 1000;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Glob {
    matcher: GlobMatcher,
    by_path: bool,
    is_negated: bool,
}

impl Glob {
    /// `*` stops at a slash, `**` does not; a pattern without capitals ignores case; a leading `!`
    /// turns the meaning.
    ///
    /// # Errors
    /// Text for the model that quotes the pattern.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        if pattern.chars().count() > MAX_PATTERN_CHARS {
            return Err(format!("the glob has more than {MAX_PATTERN_CHARS} characters"));
        }
        let (is_negated, body) = match pattern.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let body = body.trim_start_matches("./");
        let matcher = GlobBuilder::new(body.trim_start_matches('/'))
            .literal_separator(true)
            .case_insensitive(!body.contains(char::is_uppercase))
            .build()
            .map_err(|error| format!("invalid glob {pattern}: {error}"))?
            .compile_matcher();
        Ok(Self { matcher, by_path: body.contains('/'), is_negated })
    }

    /// `relative` is the path from the searched folder.
    pub(crate) fn matches(&self, relative: &Path) -> bool {
        let subject = if self.by_path {
            relative
        } else {
            Path::new(relative.file_name().unwrap_or_default())
        };
        self.matcher.is_match(subject) != self.is_negated
    }
}

/// A pattern without wildcards names one path.
pub(crate) fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['*', '?', '[', '{', '!', '\\'])
}
