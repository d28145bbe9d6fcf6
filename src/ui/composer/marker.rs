//! Large pastes as labels: the text stands aside, the label carries an invisible seal that cannot be
//! typed, so a typed look-alike stays text and undo may bring a label back at any time.

use std::ops::Range;

/// The word joiner: no width, no key types it, and [`super::clean`] keeps it out of all other text.
pub(super) const SEAL: char = '\u{2060}';
/// How far a label may reach; longer is no label.
const LABEL_CHARS: usize = 48;

/// What was pasted, by number. Never forgotten while the program runs, because undo may need it.
#[derive(Debug, Default)]
pub(super) struct Markers {
    texts: Vec<String>,
}

impl Markers {
    /// Keeps a text and gives the label that stands for it.
    pub(super) fn add(&mut self, text: String) -> String {
        self.texts.push(text);
        self.label(self.texts.len())
    }

    fn label(&self, number: usize) -> String {
        let text = self.texts.get(number.wrapping_sub(1)).map_or("", String::as_str);
        let lines = text.split('\n').count();
        let size = if lines > super::PASTE_LINES {
            format!("{lines} lines")
        } else {
            format!("{} chars", text.chars().count())
        };
        format!("[{SEAL}pasted #{number} · {size}]")
    }

    /// The labels in a line, as byte ranges with their numbers.
    pub(super) fn find(&self, line: &str) -> Vec<(Range<usize>, usize)> {
        let mut found = Vec::new();
        if self.texts.is_empty() {
            return found;
        }
        let opening = format!("[{SEAL}pasted #");
        let mut from = 0;
        while let Some(at) = line[from..].find(&opening).map(|at| at + from) {
            from = at + opening.len();
            let end = line[from..].char_indices().take(LABEL_CHARS).find(|(_, c)| *c == ']');
            let Some(end) = end.map(|(offset, _)| from + offset + 1) else { continue };
            let digits = line[from..end].split(' ').next().unwrap_or_default();
            let number = digits.parse().unwrap_or(0);
            if number > 0 && number <= self.texts.len() && line[at..end] == self.label(number) {
                found.push((at..end, number));
                from = end;
            }
        }
        found
    }

    /// The labels in a line as ranges of character columns.
    pub(super) fn columns(&self, line: &str) -> Vec<Range<usize>> {
        self.find(line)
            .into_iter()
            .map(|(bytes, _)| {
                let start = line[..bytes.start].chars().count();
                start..start + line[bytes].chars().count()
            })
            .collect()
    }

    /// Every label replaced by its text, literally.
    pub(super) fn expand(&self, shown: &str) -> String {
        let mut out = String::with_capacity(shown.len());
        let mut done = 0;
        for (bytes, number) in self.find(shown) {
            out.push_str(&shown[done..bytes.start]);
            out.push_str(&self.texts[number - 1]);
            done = bytes.end;
        }
        out.push_str(&shown[done..]);
        // An edit may have cut a label in two; its seal must not travel.
        out.retain(|c| c != SEAL);
        out
    }
}
