//! The whole tree as one page that needs nothing else: data as JSON, a fixed script and style.
//!
//! Foreign text enters the page as JSON in which no `<` is left, so it can end neither the script
//! nor the page; the script puts it in as text only. The policy in the head allows this very script
//! and style, by their hashes, and no connection at all.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::failed;
use super::pieces::{Piece, Told, told};
use crate::session::redact::Redactor;
use crate::session::snapshot::SessionView;
use crate::session::{Body, Entry, Kind, Position, SessionError, parse};
use crate::text::sanitize::one_line;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Widest title and label.
const TITLE: usize = 120;

pub(super) fn write(
    view: &SessionView,
    redactor: &Redactor,
    out: &mut dyn Write,
) -> Result<(), SessionError> {
    let name = view.name.as_deref().unwrap_or(view.header.id.as_str());
    let title = one_line(&redactor.text(name), TITLE);
    write_head(&title, out).map_err(failed)?;
    let mut page = Page { view, redactor, out, numbers: Vec::new(), count: 0 };
    view.each_line(&view.all(), &mut |position, _, line| page.entry(position, line))?;
    let leaf = page.number(view.tree.leaf);
    let about = json!({
        "title": title,
        "id": one_line(view.header.id.as_str(), TITLE),
        "cwd": one_line(&redactor.text(&view.header.cwd), TITLE),
        "started": one_line(&view.header.timestamp, TITLE),
        "leaf": leaf,
    });
    let about = inert(&about);
    write!(page.out, "\n]</script>\n<script type=\"application/json\" id=\"about\">{about}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
        .map_err(failed)
}

fn write_head(title: &str, out: &mut dyn Write) -> std::io::Result<()> {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    let title = title.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n\
         <noscript>This page shows a session with a script of its own. Allow it, or export Markdown instead.</noscript>\n\
         <header><h1></h1><p id=\"facts\"></p></header>\n\
         <nav><input id=\"find\" type=\"search\" placeholder=\"find\" aria-label=\"find\"><div id=\"tree\"><div id=\"rows\"></div></div></nav>\n\
         <main><button id=\"earlier\" hidden>show earlier</button><div id=\"path\"></div></main>\n\
         <script type=\"application/json\" id=\"data\">["
    )
}

/// JSON that can stand in a page: nothing in it ends or begins a tag, and no line separator either.
fn inert(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// The data of the page while it is written.
struct Page<'a> {
    view: &'a SessionView,
    redactor: &'a Redactor,
    out: &'a mut dyn Write,
    /// For each position the number of its entry on the page, or of what it hangs from.
    numbers: Vec<Option<u32>>,
    count: u32,
}

impl Page<'_> {
    /// Entries that say nothing are left out; what hangs from them hangs from what is above.
    fn entry(&mut self, position: Position, line: &[u8]) -> Result<(), SessionError> {
        let node = self.view.tree.index().node(position);
        let parent = self.number(node.and_then(|node| node.parent));
        let read = parse::entry(line);
        let data = read.as_ref().and_then(|entry| {
            told(entry, self.redactor).map(|told| self.data(entry, &told, parent))
        });
        let number = match data {
            None => parent,
            Some(data) => {
                let comma = if self.count == 0 { "\n" } else { ",\n" };
                write!(self.out, "{comma}{}", inert(&data)).map_err(failed)?;
                self.count += 1;
                Some(self.count - 1)
            }
        };
        // A reading that jumps over bad lines still gives rising positions.
        self.numbers.resize(position as usize, None);
        self.numbers.push(number);
        Ok(())
    }

    fn number(&self, position: Option<Position>) -> Option<u32> {
        self.numbers.get(position? as usize).copied().flatten()
    }

    fn data(&self, entry: &Entry, told: &Told, parent: Option<u32>) -> Value {
        let index = self.view.tree.index();
        let node = index.position(&entry.id).and_then(|position| index.node(position));
        let pieces: Vec<Value> = told.pieces.iter().map(piece).collect();
        let mut data = Map::new();
        data.insert("p".to_owned(), json!(parent));
        data.insert("v".to_owned(), told.voice.name().into());
        data.insert("t".to_owned(), told.title.as_str().into());
        data.insert("b".to_owned(), pieces.into());
        if let Some(node) = node {
            data.insert("x".to_owned(), told.words(TITLE).into());
            data.insert("at".to_owned(), node.time_ms.into());
            let quiet = matches!(node.kind, Kind::ModelChange | Kind::ThinkingLevelChange);
            if quiet {
                data.insert("q".to_owned(), true.into());
            }
        }
        if told.is_error {
            data.insert("e".to_owned(), true.into());
        }
        if let Body::Compaction { tokens_before, .. } = &entry.body {
            data.insert("n".to_owned(), (*tokens_before).into());
        }
        if let Some(label) = self.view.tree.labels.get(&entry.id) {
            data.insert("l".to_owned(), one_line(&self.redactor.text(label), TITLE).into());
        }
        Value::Object(data)
    }
}

fn piece(piece: &Piece) -> Value {
    match piece {
        Piece::Text(text) => json!(["text", text]),
        Piece::Thinking(text) => json!(["thinking", text]),
        Piece::Call { name, arguments } => json!(["call", arguments, name]),
        Piece::Output(text) => json!(["output", text]),
        Piece::Diff(text) => json!(["diff", text]),
        Piece::Image { mime, data } => json!(["image", data, mime]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_end_the_script_it_stands_in() {
        let hostile =
            json!(["</script><script>alert(1)</script>", "<!--<script>", "a\u{2028}&lt;"]);
        let text = inert(&hostile);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), hostile);
    }
}
