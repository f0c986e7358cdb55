//! Markdown of an agent as HTML.
//!
//! Invariants: every text is escaped, HTML in it included; the only attributes come from this file and from links to the
//! web; nesting is bounded, whatever the text nests.

use std::fmt::Write as _;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Levels of quotations and lists; what is deeper stands at this level.
const MAX_DEPTH: usize = 12;
/// Most bytes of the address of a link.
const MAX_ADDRESS: usize = 2_000;

/// Escapes a text for an element or for an attribute in double quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    escape_into(text, &mut out);
    out
}

fn escape_into(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // A line separator ends a line in scripts, and is seen nowhere.
            '\u{2028}' | '\u{2029}' => out.push(' '),
            _ => out.push(c),
        }
    }
}

/// Returns a text in Markdown, which is clean, as HTML.
pub fn prose(text: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = ProseWriter { out: String::with_capacity(text.len() * 5 / 4), open: Vec::new(), depth: 0 };
    for event in Parser::new_ext(text, options) {
        writer.event(&event);
    }
    while let Some(end) = writer.open.pop() {
        writer.out.push_str(end);
    }
    writer.out
}

struct ProseWriter {
    out: String,
    /// What closes each tag that is open; empty for one that was left out.
    open: Vec<&'static str>,
    depth: usize,
}

impl ProseWriter {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(*end),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => escape_into(text, &mut self.out),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.out.push_str("<code>");
                escape_into(text, &mut self.out);
                self.out.push_str("</code>");
            }
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>"),
            Event::Rule => self.out.push_str("<hr>"),
            Event::TaskListMarker(is_done) => self.out.push_str(if *is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(name) => escape_into(name, &mut self.out),
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        self.depth += 1;
        let (start, end) = if self.depth > MAX_DEPTH { ("", "") } else { pair(tag) };
        match tag {
            Tag::Link { dest_url, .. } if is_web(dest_url) => {
                self.out.push_str("<a rel=\"noopener noreferrer\" target=\"_blank\" href=\"");
                escape_into(dest_url, &mut self.out);
                self.out.push_str("\" title=\"");
                escape_into(dest_url, &mut self.out);
                self.out.push_str("\">");
                return self.open.push("</a>");
            }
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) if language.starts_with("diff") => {
                self.out.push_str("<pre class=\"code diff\">");
                return self.open.push("</pre>");
            }
            Tag::List(Some(first)) if !start.is_empty() => {
                let _ = write!(self.out, "<ol start=\"{first}\">");
            }
            _ => self.out.push_str(start),
        }
        self.open.push(end);
    }

    fn end(&mut self, end: TagEnd) {
        self.depth = self.depth.saturating_sub(1);
        if let Some(close) = self.open.pop() {
            self.out.push_str(close);
        }
        if matches!(end, TagEnd::TableHead | TagEnd::TableRow) {
            self.out.push('\n');
        }
    }
}

/// Returns what opens and what closes an element; nothing for one that is not shown as such.
fn pair(tag: &Tag<'_>) -> (&'static str, &'static str) {
    match tag {
        Tag::Paragraph => ("<p>", "</p>\n"),
        // The page has headings of its own.
        Tag::Heading { .. } => ("<p class=\"heading\">", "</p>\n"),
        Tag::BlockQuote(_) => ("<blockquote>", "</blockquote>\n"),
        Tag::CodeBlock(_) => ("<pre class=\"code\">", "</pre>\n"),
        Tag::List(Some(_)) => ("<ol>", "</ol>\n"),
        Tag::List(None) => ("<ul>", "</ul>\n"),
        Tag::Item => ("<li>", "</li>\n"),
        Tag::Table(_) => ("<table>", "</table>\n"),
        Tag::TableHead | Tag::TableRow => ("<tr>", "</tr>"),
        Tag::TableCell => ("<td>", "</td>"),
        Tag::Emphasis => ("<em>", "</em>"),
        Tag::Strong => ("<strong>", "</strong>"),
        Tag::Strikethrough => ("<s>", "</s>"),
        _ => ("", ""),
    }
}

/// Returns `true` if an address leads to the web. One of another kind could run a script or open a file.
fn is_web(address: &str) -> bool {
    let is_kind = |kind: &str| address.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind));
    address.len() <= MAX_ADDRESS && (is_kind("https://") || is_kind("http://"))
}
