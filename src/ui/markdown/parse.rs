//! Markdown events as a small tree of blocks with styled text, independent of any width.
//!
//! The tree is bounded in depth: what nests deeper is shown flat, so hostile nesting costs nothing.

use pulldown_cmark::{
    Alignment, BlockQuoteKind, CodeBlockKind, Event, HeadingLevel, Options, Tag, TagEnd,
};
use ratatui::style::{Modifier, Style};

use crate::text::sanitize::{one_line, sanitize};
use crate::ui::runs::Run;
use crate::ui::theme::Theme;

/// Quotes and lists inside each other; at 3 cells each, deeper ones leave no room for text.
const MAX_DEPTH: usize = 24;
/// Emphasis and links inside each other; no text looks different beyond this.
const MAX_MARKS: usize = 16;
/// Cells of an address that are shown.
const MAX_URL: usize = 1024;
/// Bytes of addresses beside link texts in one top-level block: one definition can be referred to
/// any number of times, and would be shown each time.
const MAX_URLS: usize = 64 * 1024;
/// Cells of a language label.
const MAX_LABEL: usize = 24;

/// The dialect: what models write.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
}

pub(super) type Inline = Vec<Run>;

#[derive(Debug)]
pub(super) enum Block {
    Paragraph(Inline),
    Heading { level: HeadingLevel, text: Inline },
    Code { lang: String, text: String },
    Quote(Vec<Self>),
    List { start: Option<u64>, loose: bool, items: Vec<Item> },
    Table { aligns: Vec<Alignment>, head: Vec<Inline>, rows: Vec<Vec<Inline>> },
    Footnote { label: String, blocks: Vec<Self> },
    Rule,
}

#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) checked: Option<bool>,
    pub(super) blocks: Vec<Block>,
}

/// Builds blocks from events. Feed the events of whole top-level blocks, then [`Builder::finish`].
pub(super) struct Builder<'t> {
    theme: &'t Theme,
    frames: Vec<Frame>,
    done: Vec<Block>,
    /// Containers that are open but too deep to have a frame.
    flat: usize,
    inline: Inline,
    marks: Vec<Mark>,
    /// Marks that are open but too deep to be kept.
    unmarked: usize,
    urls: usize,
    leaf: Leaf,
}

enum Frame {
    Quote(Vec<Block>),
    List { start: Option<u64>, loose: bool, items: Vec<Item> },
    Item(Item),
    Footnote { label: String, blocks: Vec<Block> },
    Table { aligns: Vec<Alignment>, head: Vec<Inline>, rows: Vec<Vec<Inline>> },
}

/// What the text being collected will be.
enum Leaf {
    Text,
    Heading(HeadingLevel),
    Code { lang: String, text: String },
    Html(String),
}

struct Mark {
    style: Style,
    /// The address of a link and where its text begins.
    link: Option<(String, usize)>,
}

impl<'t> Builder<'t> {
    pub(super) fn new(theme: &'t Theme) -> Self {
        Self {
            theme,
            frames: Vec::new(),
            done: Vec::new(),
            flat: 0,
            inline: Vec::new(),
            marks: Vec::new(),
            unmarked: 0,
            urls: 0,
            leaf: Leaf::Text,
        }
    }

    pub(super) fn finish(mut self) -> Vec<Block> {
        self.flush();
        while let Some(frame) = self.frames.pop() {
            self.close(frame);
        }
        self.done
    }

    pub(super) fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.leaf {
                Leaf::Code { text: code, .. } | Leaf::Html(code) => code.push_str(&text),
                _ => self.text(&text, Style::new()),
            },
            Event::Code(code) => self.text(&code, self.theme.code),
            Event::Html(html) => match &mut self.leaf {
                Leaf::Html(block) => block.push_str(&html),
                _ => self.text(&html, self.theme.muted),
            },
            Event::InlineHtml(html) => self.text(&html, self.theme.muted),
            Event::InlineMath(math) | Event::DisplayMath(math) => {
                self.text(&math, self.theme.code);
            }
            Event::FootnoteReference(label) => {
                self.text(&format!("[^{label}]"), self.theme.link);
            }
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.inline.push(Run::new("\n", Style::new())),
            Event::Rule => {
                self.flush();
                self.push(Block::Rule);
            }
            Event::TaskListMarker(checked) => {
                if let Some(Frame::Item(item)) = self.frames.last_mut() {
                    item.checked = Some(checked);
                }
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => {
                self.flush();
                self.loosen();
            }
            Tag::Heading { level, .. } => {
                self.flush();
                self.leaf = Leaf::Heading(level);
                self.mark(self.theme.heading, None);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let lang = match kind {
                    CodeBlockKind::Fenced(info) => language(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                self.leaf = Leaf::Code { lang, text: String::new() };
            }
            Tag::HtmlBlock => {
                self.flush();
                self.leaf = Leaf::Html(String::new());
            }
            Tag::BlockQuote(kind) => self.quote(kind),
            Tag::List(start) => {
                self.open(Frame::List { start, loose: false, items: Vec::new() });
            }
            Tag::Item => self.open(Frame::Item(Item::default())),
            Tag::FootnoteDefinition(label) => {
                let label = one_line(&label, MAX_LABEL);
                self.open(Frame::Footnote { label, blocks: Vec::new() });
            }
            Tag::Table(aligns) => {
                self.open(Frame::Table { aligns, head: Vec::new(), rows: Vec::new() });
            }
            Tag::TableRow => {
                if let Some(Frame::Table { rows, .. }) = self.frames.last_mut() {
                    rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.modify(Modifier::ITALIC),
            Tag::Strong => self.modify(Modifier::BOLD),
            Tag::Strikethrough => self.modify(Modifier::CROSSED_OUT),
            Tag::Link { dest_url, .. } => self.link(&dest_url, self.theme.link),
            Tag::Image { dest_url, .. } => {
                self.text("image: ", self.theme.muted);
                self.link(&dest_url, self.theme.link);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::CodeBlock | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.unmark();
                self.flush();
            }
            TagEnd::BlockQuote(_)
            | TagEnd::List(_)
            | TagEnd::Item
            | TagEnd::FootnoteDefinition
            | TagEnd::Table => {
                self.flush();
                if self.flat > 0 {
                    self.flat -= 1;
                } else if let Some(frame) = self.frames.pop() {
                    self.close(frame);
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                match self.frames.last_mut() {
                    Some(Frame::Table { head, rows, .. }) => match rows.last_mut() {
                        Some(row) => row.push(cell),
                        None => head.push(cell),
                    },
                    _ => self.push(Block::Paragraph(cell)),
                }
            }
            TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::Link
            | TagEnd::Image => self.unmark(),
            _ => {}
        }
    }

    /// An alert (`> [!NOTE]`) keeps its kind as a bold first line.
    fn quote(&mut self, kind: Option<BlockQuoteKind>) {
        self.open(Frame::Quote(Vec::new()));
        let title = match kind {
            None => return,
            Some(BlockQuoteKind::Note) => "Note",
            Some(BlockQuoteKind::Tip) => "Tip",
            Some(BlockQuoteKind::Important) => "Important",
            Some(BlockQuoteKind::Warning) => "Warning",
            Some(BlockQuoteKind::Caution) => "Caution",
        };
        let style = self.theme.warn.add_modifier(Modifier::BOLD);
        self.push(Block::Paragraph(vec![Run::new(title, style)]));
    }

    fn modify(&mut self, modifier: Modifier) {
        self.mark(Style::new().add_modifier(modifier), None);
    }

    fn link(&mut self, url: &str, style: Style) {
        let url = one_line(url, MAX_URL);
        self.mark(style, Some((url, self.inline.len())));
    }

    fn mark(&mut self, style: Style, link: Option<(String, usize)>) {
        if self.unmarked > 0 || self.marks.len() >= MAX_MARKS {
            self.unmarked += 1;
        } else {
            self.marks.push(Mark { style, link });
        }
    }

    fn unmark(&mut self) {
        if self.unmarked > 0 {
            self.unmarked -= 1;
        } else if let Some(Mark { link: Some((url, from)), .. }) = self.marks.pop() {
            self.end_link(&url, from);
        }
    }

    /// `text (url)`, unless the text already is the address.
    fn end_link(&mut self, url: &str, from: usize) {
        let shown: String = self.inline.iter().skip(from).map(|run| run.text.as_str()).collect();
        let bare = url.strip_prefix("mailto:").unwrap_or(url);
        let same = |address: &str| address == shown || address.trim_end_matches('/') == shown;
        self.urls += url.len();
        if self.urls > MAX_URLS {
            return;
        }
        if shown.is_empty() {
            self.text(url, self.theme.link);
        } else if !url.is_empty() && !same(url) && !same(bare) {
            self.text(&format!(" ({url})"), self.theme.muted);
        }
    }

    fn text(&mut self, text: &str, style: Style) {
        let style = self
            .marks
            .iter()
            .fold(self.theme.text, |base, mark| base.patch(mark.style))
            .patch(style);
        let clean = sanitize(text);
        match self.inline.last_mut() {
            Some(run) if run.style == style && run.text != "\n" => run.text.push_str(&clean),
            _ => self.inline.push(Run::new(clean, style)),
        }
    }

    /// A paragraph directly in an item makes its list loose.
    fn loosen(&mut self) {
        if self.flat == 0
            && let [.., Frame::List { loose, .. }, Frame::Item(_)] = self.frames.as_mut_slice()
        {
            *loose = true;
        }
    }

    fn open(&mut self, frame: Frame) {
        self.flush();
        if self.flat > 0 || self.frames.len() >= MAX_DEPTH {
            self.flat += 1;
        } else {
            self.frames.push(frame);
        }
    }

    fn close(&mut self, frame: Frame) {
        match frame {
            Frame::Quote(blocks) => self.push(Block::Quote(blocks)),
            Frame::List { start, loose, items } => self.push(Block::List { start, loose, items }),
            Frame::Item(item) => match self.frames.last_mut() {
                Some(Frame::List { items, .. }) => items.push(item),
                _ => item.blocks.into_iter().for_each(|block| self.push(block)),
            },
            Frame::Footnote { label, blocks } => self.push(Block::Footnote { label, blocks }),
            Frame::Table { aligns, head, rows } => self.push(Block::Table { aligns, head, rows }),
        }
    }

    fn push(&mut self, block: Block) {
        match self.frames.last_mut() {
            Some(Frame::Quote(blocks) | Frame::Footnote { blocks, .. }) => blocks.push(block),
            Some(Frame::Item(item)) => item.blocks.push(block),
            Some(Frame::List { items, .. }) => {
                items.push(Item { checked: None, blocks: vec![block] });
            }
            Some(Frame::Table { .. }) | None => self.done.push(block),
        }
    }

    /// Ends the leaf that is being collected.
    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        match std::mem::replace(&mut self.leaf, Leaf::Text) {
            Leaf::Text if inline.is_empty() => {}
            Leaf::Text => self.push(Block::Paragraph(inline)),
            Leaf::Heading(level) => self.push(Block::Heading { level, text: inline }),
            Leaf::Code { lang, text } => {
                let text = sanitize(&text).into_owned();
                self.push(Block::Code { lang, text });
            }
            Leaf::Html(text) => {
                let clean = sanitize(text.trim_end());
                self.push(Block::Paragraph(vec![Run::new(clean, self.theme.muted)]));
            }
        }
    }
}

/// The first word of a fence's info string.
fn language(info: &str) -> String {
    let word = info.split([' ', '\t', ',', '{']).next().unwrap_or_default();
    one_line(word, MAX_LABEL)
}
