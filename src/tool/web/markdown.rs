//! HTML as Markdown, for a model to read.
//!
//! Owns which parts of a page are text, and how they are written. Reads tokens and builds no tree: with a tree, a page of
//! nested tags takes quadratic time, and its formatting elements multiply (HTML Standard, section 13.2.4.3). Invariant: time
//! and room are linear in the page, whatever it holds; what a browser hides is left out.

use html5gum::emitters::default::{DefaultEmitter, StartTag, Token};
use html5gum::{HtmlString, Tokenizer};
use reqwest::Url;

use super::hidden::PageStyles;

/// Levels of lists and quotes that are shown.
const MAX_DEPTH: usize = 8;
/// Characters of an address that a link is written with.
const MAX_LINK: usize = 500;
/// Bytes of text at which a page ends: links may make it longer than it was.
const MAX_TEXT: usize = 4 << 20;
/// Characters from which the main part of a page stands for it.
const MIN_MAIN: usize = 200;

/// A page as text.
pub struct Markdown {
    pub title: Option<String>,
    pub text: String,
}

/// Writes a page as Markdown. Relative links are completed by `base`.
#[must_use]
pub fn markdown(html: &str, base: &Url) -> Markdown {
    // Signs that are none of a text's cost a token each, and say nothing.
    let html: String = html.chars().filter(|c| !c.is_control() || c.is_ascii_whitespace()).collect();
    let html = html.as_str();
    let mut emitter = DefaultEmitter::<()>::new_with_span();
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(base, PageStyles::of(html));
    for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
        if writer.out.len() > MAX_TEXT {
            break;
        }
        match token {
            Token::StartTag(tag) => writer.start(&tag),
            Token::EndTag(tag) => writer.end(&name(&tag.name)),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    writer.finish()
}

fn name(name: &HtmlString) -> String {
    String::from_utf8_lossy(name).into_owned()
}

struct Writer<'b> {
    base: &'b Url,
    styles: PageStyles,
    out: String,
    title: Option<String>,
    /// Whether text is part of the title.
    in_title: bool,
    /// The element that is left out, and how many of its name are open.
    hidden: Option<(String, usize)>,
    /// Line ends that come before the next text.
    breaks: usize,
    /// Whether a blank comes before the next text.
    blank: bool,
    /// The lists that are open; a number counts on.
    lists: Vec<Option<u64>>,
    /// Lists that are open but not shown, being too deep.
    deeper: usize,
    quotes: usize,
    /// How many `pre` are open.
    pre: usize,
    /// Where the text of the open link begins, and its address.
    link: Option<(usize, String)>,
    row: Row,
    /// Where the main part begins, and once it is closed where it ends.
    main: (Option<usize>, Option<usize>),
}

/// The row of a table that is being written.
#[derive(Default)]
struct Row {
    cells: usize,
    is_heading: bool,
    /// Whether text is part of a cell, which has one line.
    in_cell: bool,
}

impl<'b> Writer<'b> {
    fn new(base: &'b Url, styles: PageStyles) -> Self {
        Self {
            base,
            styles,
            out: String::new(),
            title: None,
            in_title: false,
            hidden: None,
            breaks: 0,
            blank: false,
            lists: Vec::new(),
            deeper: 0,
            quotes: 0,
            pre: 0,
            link: None,
            row: Row::default(),
            main: (None, None),
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = name(&tag.name);
        if self.pass_hidden(&name) {
            return;
        }
        let attribute = |wanted: &str| {
            let value = tag.attributes.iter().find(|(name, _)| name.as_slice() == wanted.as_bytes());
            value.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        };
        if is_void(&name) {
            return self.void(&name, attribute("alt").as_deref());
        }
        let [class, id, style] = ["class", "id", "style"].map(attribute);
        let is_hidden = attribute("hidden").is_some()
            || attribute("aria-hidden").as_deref() == Some("true")
            || self.styles.hide(&name, [class.as_deref(), id.as_deref(), style.as_deref()]);
        if (is_hidden && name != "html" && name != "body") || is_no_text(&name) {
            if !tag.self_closing {
                self.hidden = Some((name, 1));
            }
            return;
        }
        self.open(&name, attribute("href"));
    }

    /// Passes an element within one that is left out; returns `false` for all others. Some elements end where another of
    /// their name begins.
    fn pass_hidden(&mut self, name: &str) -> bool {
        match &mut self.hidden {
            None => false,
            Some((hidden, _)) if hidden == name && ends_its_like(name) => {
                self.hidden = None;
                false
            }
            Some((hidden, open)) => {
                *open += usize::from(hidden == name);
                true
            }
        }
    }

    fn void(&mut self, name: &str, alt: Option<&str>) {
        match name {
            "br" => self.line(),
            "hr" => {
                self.block();
                self.put("---");
                self.block();
            }
            "img" => {
                if let Some(alt) = alt.map(str::trim).filter(|alt| !alt.is_empty()) {
                    self.text(&format!("[image: {alt}]"));
                }
            }
            _ => {}
        }
    }

    fn open(&mut self, name: &str, href: Option<String>) {
        match name {
            "title" => self.in_title = self.title.is_none(),
            "main" => {
                self.block();
                if self.main.0.is_none() {
                    self.main.0 = Some(self.out.len());
                }
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block();
                let level = name[1..].parse().unwrap_or(1);
                self.put(&format!("{} ", "#".repeat(level)));
            }
            "ul" | "ol" | "menu" => {
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.line();
                }
                if self.lists.len() < MAX_DEPTH {
                    self.lists.push((name == "ol").then_some(1));
                } else {
                    self.deeper += 1;
                }
            }
            "li" => self.item(),
            "blockquote" => {
                self.block();
                self.quotes += 1;
            }
            "pre" => {
                self.block();
                if self.pre == 0 {
                    self.put("```\n");
                }
                self.pre += 1;
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.put("`"),
            "a" => {
                self.close_link();
                self.link = href.and_then(|href| self.target(&href)).map(|href| (self.out.len(), href));
            }
            "tr" | "thead" | "tbody" | "tfoot" => self.close_row(),
            "td" | "th" => {
                self.close_cell();
                self.put("| ");
                self.row.in_cell = true;
                self.row.is_heading |= name == "th";
            }
            _ if is_block(name) => self.block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((hidden, open)) = &mut self.hidden {
            *open -= usize::from(hidden == name);
            if *open == 0 {
                self.hidden = None;
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "main" => {
                self.block();
                self.main.1 = Some(self.out.len());
            }
            "ul" | "ol" | "menu" => {
                if self.deeper > 0 {
                    self.deeper -= 1;
                } else {
                    self.lists.pop();
                }
                if self.lists.is_empty() { self.block() } else { self.line() }
            }
            "blockquote" => {
                self.block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" if self.pre > 0 => {
                self.pre -= 1;
                if self.pre == 0 {
                    if !self.out.ends_with('\n') {
                        self.out.push('\n');
                    }
                    self.put("```");
                    self.block();
                }
            }
            "code" | "kbd" | "samp" if self.pre == 0 => self.put("`"),
            "a" => self.close_link(),
            "td" | "th" => self.close_cell(),
            "tr" | "thead" | "tbody" | "tfoot" => self.close_row(),
            "table" => {
                self.close_row();
                self.block();
            }
            _ if is_block(name) => self.block(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.hidden.is_some() {
            return;
        }
        if self.in_title {
            let title = self.title.get_or_insert_default();
            title.push_str(text);
            return;
        }
        if self.pre > 0 && !self.row.in_cell {
            self.settle();
            self.out.push_str(text);
            return;
        }
        if text.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.blank = true;
        }
        for word in text.split_ascii_whitespace() {
            self.settle();
            self.out.push_str(word);
            self.blank = true;
        }
        self.blank = text.ends_with(|c: char| c.is_ascii_whitespace());
    }

    /// Writes a mark, after what comes before the next text.
    fn put(&mut self, mark: &str) {
        self.settle();
        self.out.push_str(mark);
        self.blank = false;
    }

    /// Writes the line ends and the blank that come before the next text.
    fn settle(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        let blank = std::mem::take(&mut self.blank);
        if self.out.is_empty() || breaks > 0 && !self.row.in_cell {
            if !self.out.is_empty() {
                self.out.push_str(&"\n".repeat(breaks));
            }
            self.out.push_str(&"> ".repeat(self.quotes.min(MAX_DEPTH)));
        } else if (blank || breaks > 0) && !self.out.ends_with([' ', '\n']) && (blank || !self.out.ends_with('`')) {
            self.out.push(' ');
        }
    }

    fn line(&mut self) {
        self.breaks = self.breaks.max(1);
    }

    fn block(&mut self) {
        self.breaks = 2;
    }

    fn item(&mut self) {
        self.line();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "- ".to_owned(),
        };
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        self.put(&format!("{indent}{mark}"));
    }

    /// Returns the address of a link in full; `None` for one that leads to no other page.
    fn target(&self, href: &str) -> Option<String> {
        if href.starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok().filter(|url| matches!(url.scheme(), "http" | "https" | "mailto"))?;
        Some(url.to_string()).filter(|url| url.len() <= MAX_LINK && !url.contains(['(', ')', ' ']))
    }

    fn close_link(&mut self) {
        let Some((from, href)) = self.link.take() else { return };
        let text = self.out.get(from..).unwrap_or_default();
        let start = from + (text.len() - text.trim_start().len());
        if start < self.out.len() && !text.trim().contains('\n') {
            self.out.insert(start, '[');
            self.out.extend(["](", &href, ")"]);
        }
    }

    fn close_cell(&mut self) {
        if std::mem::take(&mut self.row.in_cell) {
            self.close_link();
            (self.breaks, self.blank) = (0, true);
            self.row.cells += 1;
        }
    }

    fn close_row(&mut self) {
        self.close_cell();
        if self.row.cells > 0 {
            self.put("|");
            if self.row.is_heading {
                self.line();
                self.put(&"|---".repeat(self.row.cells.min(100)));
                self.put("|");
            }
        }
        self.row = Row::default();
        self.line();
    }

    fn finish(mut self) -> Markdown {
        self.close_link();
        if self.pre > 0 {
            self.out.push_str("\n```");
        }
        let main = match self.main {
            (Some(from), Some(to)) => self.out.get(from..to).map(str::trim),
            (Some(from), None) => self.out.get(from..).map(str::trim),
            (None, _) => None,
        };
        let text = main.filter(|main| main.chars().count() >= MIN_MAIN).unwrap_or(self.out.trim());
        let title = self.title.map(|title| title.split_whitespace().collect::<Vec<_>>().join(" "));
        Markdown { title: title.filter(|title| !title.is_empty()), text: text.to_owned() }
    }
}

/// Elements that have no end.
fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements whose text is for no reader.
fn is_no_text(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "math"
            | "iframe"
            | "object"
            | "canvas"
            | "audio"
            | "video"
            | "select"
            | "textarea"
            | "button"
            | "dialog"
    )
}

/// Elements whose end may be left out: another of the name ends them.
fn ends_its_like(name: &str) -> bool {
    matches!(name, "p" | "li" | "tr" | "td" | "th" | "dt" | "dd" | "option")
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "header"
            | "footer"
            | "nav"
            | "aside"
            | "table"
            | "form"
            | "fieldset"
            | "figure"
            | "figcaption"
            | "address"
            | "details"
            | "summary"
            | "dl"
            | "dt"
            | "dd"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "caption"
            | "hgroup"
            | "search"
            | "body"
    )
}
