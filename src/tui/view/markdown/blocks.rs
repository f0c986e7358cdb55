//! Parsed Markdown blocks into rows.
//!
//! Owns what each kind of block looks like. Leaves where a text is cut to `split`, and tables to `table`. Invariant:
//! between two blocks stands exactly one empty row, within a tight list none.

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::links::{says, target_of};
use super::super::theme::Theme;
use super::super::wrap::{indents, mark_parted, width, wrap_indented};
use super::code::CodeBlock;
use super::phrase::{Label, Phrase};
use super::references::{LookedUp, name_of};
use super::table::Table;
use crate::message::{sanitize, sanitize_line};

/// Deeper nesting of lists and quotes is not indented any further.
const MAX_NESTING: usize = 16;

pub(super) struct BlockRows {
    pub(super) lines: Vec<Line<'static>>,
    pub(super) codes: Vec<CodeBlock>,
    pub(super) labels: Vec<Label>,
    /// The addresses that are named in them.
    pub(super) defined: Vec<(String, String)>,
    /// The names in them whose address stands elsewhere, if anywhere.
    pub(super) looked_up: Vec<LookedUp>,
}

/// How blocks are laid out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockStyle {
    /// Whether empty rows between blocks are left out.
    pub(super) is_tight: bool,
    /// Whether lines that an author's editor has wrapped are one.
    pub(super) is_flowing: bool,
}

/// Columns from which on a line was ended by where editors wrap, and not by what it says.
const WRAPPED_FROM: usize = 60;

/// Returns `true` if the last line of a text is as long as those that an editor wraps.
fn is_wrapped(text: &str) -> bool {
    width(text.rsplit('\n').next().unwrap_or_default()) >= WRAPPED_FROM
}

/// Lays out clean text. `find` returns the address that the text around it gives a name.
pub(super) fn write_blocks<'a>(
    text: &str,
    find: impl Fn(&str) -> Option<&'a str>,
    (width, style): (u16, BlockStyle),
    theme: &Theme,
) -> BlockRows {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::new(width, style.is_tight, theme);
    let mut looked_up = Vec::new();
    let elsewhere = |link: BrokenLink<'_>| {
        let name = name_of(&link.reference);
        let found = find(&name).map(str::to_owned);
        looked_up.push((name, found.clone()));
        found.map(|address| (CowStr::from(address), CowStr::from("")))
    };
    let parser = Parser::new_with_broken_link_callback(text, options, Some(elsewhere));
    let named = parser.reference_definitions().iter();
    let defined = named.map(|(label, definition)| (name_of(label), definition.dest.to_string())).collect();
    for (event, place) in parser.into_offset_iter() {
        if event == Event::SoftBreak && style.is_flowing && is_wrapped(&text[..place.start]) {
            writer.text(" ", writer.style());
        } else {
            writer.event(event);
        }
    }
    writer.end_block();
    BlockRows { lines: writer.lines, codes: writer.codes, labels: writer.labels, defined, looked_up }
}

/// What stands before the rows of a quote or a list item.
struct Indent {
    /// Before the first row; taken when that row is written.
    first: Option<Span<'static>>,
    rest: Span<'static>,
}

struct OpenLink {
    target: String,
    label: String,
    /// The line of the paragraph in which its text begins, and the span.
    line: usize,
    span: usize,
}

struct Writer<'a> {
    theme: &'a Theme,
    width: u16,
    /// Whether empty rows between blocks are left out.
    is_tight: bool,
    lines: Vec<Line<'static>>,
    codes: Vec<CodeBlock>,
    labels: Vec<Label>,
    indents: Vec<Indent>,
    /// Number of the next item of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    styles: Vec<Style>,
    /// The paragraph being read: one line for each hard break.
    inline: Vec<Phrase>,
    /// An empty row belongs before the next block, with as many of the indents before it.
    gap: Option<usize>,
    /// What the block of code being read is called, and its text.
    code: Option<(String, String)>,
    table: Option<Table>,
    links: Vec<OpenLink>,
}

impl<'a> Writer<'a> {
    fn new(width: u16, is_tight: bool, theme: &'a Theme) -> Self {
        Self {
            theme,
            width,
            is_tight,
            lines: Vec::new(),
            codes: Vec::new(),
            labels: Vec::new(),
            indents: Vec::new(),
            lists: Vec::new(),
            styles: vec![theme.text],
            inline: Vec::new(),
            gap: None,
            code: None,
            table: None,
            links: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>) {
        if let (Event::Text(text), Some((_, code))) = (&event, &mut self.code) {
            code.push_str(text);
            return;
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => self.text(&text, self.style()),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, self.style().patch(self.theme.code));
            }
            Event::SoftBreak | Event::HardBreak => self.line_break(),
            Event::Rule => self.rule(),
            Event::TaskListMarker(done) => {
                let glyphs = &self.theme.glyphs;
                let (mark, style) =
                    if done { (glyphs.done_box, self.theme.success) } else { (glyphs.open_box, self.theme.muted) };
                self.text(&format!("{mark} "), style);
            }
            Event::FootnoteReference(name) => self.text(&format!("[^{name}]"), self.style()),
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(self.theme.text)
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.end_block();
                self.styles.push(self.heading_style(level));
            }
            Tag::BlockQuote(_) => {
                self.end_block();
                let bar = Span::styled(format!("{} ", self.theme.glyphs.quote), self.theme.faint);
                self.indent(None, bar);
                self.styles.push(self.style().patch(self.theme.quote));
            }
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::List(first) => {
                self.end_inline();
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Emphasis => self.emphasis(Modifier::ITALIC),
            Tag::Strong => self.emphasis(Modifier::BOLD),
            Tag::Strikethrough => self.emphasis(Modifier::CROSSED_OUT),
            Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. } => {
                let scheme = if link_type == LinkType::Email { "mailto:" } else { "" };
                self.start_link(format!("{scheme}{dest_url}"));
                self.styles.push(self.style().patch(self.theme.link));
            }
            Tag::Table(alignments) => {
                self.end_block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead => self.styles.push(self.style().add_modifier(Modifier::BOLD)),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.end_block();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.pop_indent();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.end_inline();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.leave_gap();
                }
            }
            TagEnd::Item => self.end_item(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => self.end_link(),
            TagEnd::TableCell => {
                let mut cell = Phrase::default();
                self.inline.drain(..).for_each(|line| cell.extend(line));
                if let Some(table) = &mut self.table {
                    table.push_cell(cell.with_addresses());
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
                self.end_table_row();
            }
            TagEnd::TableRow => self.end_table_row(),
            TagEnd::Table => self.end_table(),
            _ => {}
        }
    }

    fn heading_style(&self, level: HeadingLevel) -> Style {
        match level {
            HeadingLevel::H1 | HeadingLevel::H2 | HeadingLevel::H3 => self.theme.heading,
            _ => self.theme.heading.add_modifier(Modifier::ITALIC),
        }
    }

    fn emphasis(&mut self, modifier: Modifier) {
        self.styles.push(self.style().add_modifier(modifier));
    }

    /// Adds text to the paragraph; its line ends are breaks.
    fn text(&mut self, text: &str, style: Style) {
        // What was spelled as an entity is known only now.
        let text = &sanitize(text);
        if let Some(link) = self.links.last_mut() {
            link.label.push_str(text);
        }
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.line_break();
            }
            if self.inline.is_empty() {
                self.inline.push(Phrase::default());
            }
            if let Some(line) = self.inline.last_mut().filter(|_| !part.is_empty()) {
                line.push(Span::styled(part.to_owned(), style));
            }
        }
    }

    fn line_break(&mut self) {
        if self.table.is_some() {
            self.text(" ", self.style());
        } else {
            self.inline.push(Phrase::default());
        }
    }

    fn start_link(&mut self, target: String) {
        let span = self.inline.last().map_or(0, Phrase::len);
        self.links.push(OpenLink { target, label: String::new(), line: self.inline.len().saturating_sub(1), span });
    }

    /// Makes the paragraph lead to a target from one of its places on.
    fn lead(&mut self, line: usize, span: usize, target: &str, label: &str) {
        let Some(target) = target_of(target, label) else { return };
        for (at, phrase) in self.inline.iter_mut().enumerate().skip(line) {
            phrase.lead(if at == line { span } else { 0 }, &target);
        }
    }

    /// Shows where a link leads, unless its text says so.
    fn end_link(&mut self) {
        self.styles.pop();
        let Some(OpenLink { target, label, line, span }) = self.links.pop() else { return };
        self.lead(line, span, &target, &label);
        if target.is_empty() || says(&label, &target) {
            return;
        }
        self.text(" (", self.theme.muted);
        let (line, span) = (self.inline.len().saturating_sub(1), self.inline.last().map_or(0, Phrase::len));
        self.text(&sanitize_line(&target), self.theme.muted);
        self.lead(line, span, &target, &target);
        self.text(")", self.theme.muted);
    }

    fn start_item(&mut self) {
        self.end_inline();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => format!("{} ", self.theme.glyphs.bullet),
        };
        let rest = Span::raw(" ".repeat(width(&mark)));
        self.indent(Some(Span::styled(mark, self.theme.accent)), rest);
    }

    fn end_item(&mut self) {
        self.end_inline();
        // An empty item still has its mark.
        if self.indents.last().is_some_and(|indent| indent.first.is_some()) {
            self.begin_block();
            self.write(&Line::default());
        }
        self.pop_indent();
    }

    fn pop_indent(&mut self) {
        self.indents.pop();
        self.gap = self.gap.map(|depth| depth.min(self.indents.len()));
    }

    /// Asks for an empty row before the next block, unless nothing stands above it.
    fn leave_gap(&mut self) {
        if !self.lines.is_empty() {
            self.gap = Some(self.gap.map_or(self.indents.len(), |depth| depth.min(self.indents.len())));
        }
    }

    fn indent(&mut self, first: Option<Span<'static>>, rest: Span<'static>) {
        let deep = self.indents.len() >= MAX_NESTING;
        let (first, rest) = if deep { (None, Span::raw("")) } else { (first, rest) };
        self.indents.push(Indent { first, rest });
    }

    /// Returns what stands before the next row, and before the rows after it.
    fn prefixes(&mut self) -> (Line<'static>, Line<'static>) {
        let first = self.indents.iter_mut().map(|indent| indent.first.take().unwrap_or_else(|| indent.rest.clone()));
        let first: Line<'static> = first.collect();
        (first, self.indents.iter().map(|indent| indent.rest.clone()).collect())
    }

    /// Writes the empty row that belongs before a block, or marks that it is left out.
    fn begin_block(&mut self) {
        let Some(depth) = self.gap.take() else { return };
        match self.lines.last_mut().filter(|_| self.is_tight) {
            Some(last) => mark_parted(last),
            None => self.lines.push(self.indents.iter().take(depth).map(|indent| indent.rest.clone()).collect()),
        }
    }

    fn write(&mut self, line: &Line<'static>) {
        let (first, rest) = self.prefixes();
        self.lines.extend(wrap_indented(line, self.width, &first, &rest));
    }

    fn write_phrase(&mut self, phrase: Phrase) {
        let (first, rest) = self.prefixes();
        let wrapped = phrase.with_addresses().wrap(self.width, &first, &rest);
        let start = self.lines.len();
        self.labels.extend(wrapped.labels.into_iter().map(|label| label.moved(start, 0)));
        self.lines.extend(wrapped.lines);
    }

    /// Writes the paragraph that was being read, if any.
    fn end_inline(&mut self) {
        let mut lines = std::mem::take(&mut self.inline);
        lines.retain(|line| !line.is_blank());
        if lines.is_empty() {
            return;
        }
        self.begin_block();
        for line in lines {
            self.write_phrase(line);
        }
    }

    /// Writes the paragraph and leaves an empty row after it.
    fn end_block(&mut self) {
        let before = self.lines.len();
        self.end_inline();
        if self.lines.len() > before {
            self.leave_gap();
        }
    }

    fn rule(&mut self) {
        self.end_block();
        self.begin_block();
        let used: usize = self.indents.iter().map(|indent| indent.rest.width()).sum();
        let room = usize::from(self.width).saturating_sub(used).clamp(1, 80);
        self.write(&Line::styled(self.theme.glyphs.rule.repeat(room), self.theme.faint));
        self.leave_gap();
    }

    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.end_block();
        let info = match kind {
            CodeBlockKind::Fenced(info) => info.as_ref(),
            CodeBlockKind::Indented => "",
        };
        self.code = Some((info.to_owned(), String::new()));
    }

    fn end_code(&mut self) {
        let Some((info, text)) = self.code.take().filter(|(_, text)| !text.is_empty()) else { return };
        self.begin_block();
        let (mut first, mut rest) = self.prefixes();
        first.push_span(super::CODE_INDENT);
        rest.push_span(super::CODE_INDENT);
        let mut code = CodeBlock::new(&info, first, rest);
        for line in text.lines() {
            code.push(line, self.width, self.theme, &mut self.lines);
        }
        code.close();
        self.codes.push(code);
        self.leave_gap();
    }

    fn end_table_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.end_row();
        }
    }

    fn end_table(&mut self) {
        let Some(table) = self.table.take() else { return };
        self.begin_block();
        let used: usize = self.indents.iter().map(|indent| indent.rest.width()).sum();
        let room = usize::from(self.width).saturating_sub(used);
        let rows = table.rows(room, self.theme);
        let mut labels = rows.labels.into_iter().peekable();
        for (at, row) in rows.lines.iter().enumerate() {
            let (first, rest) = self.prefixes();
            let indent = u16::try_from(indents(self.width, &first, &rest).0.width()).unwrap_or(u16::MAX);
            let start = self.lines.len();
            self.lines.extend(wrap_indented(row, self.width, &first, &rest));
            // A row that had to be broken has its labels elsewhere.
            let whole = self.lines.len() == start + 1;
            while let Some(label) = labels.next_if(|label| label.row == at) {
                self.labels.extend(whole.then(|| Label { row: start, ..label.moved(0, indent) }));
            }
        }
        self.leave_gap();
    }
}
