//! What `Symbols` answers: one line for each entry, and what is left out.
//!
//! Owns the form that models and the offline stand-in read: `path:line  kind name: signature`, a first sentence indented
//! below it, notes in brackets. Invariant: a line that begins with a path is an entry, and no other line does.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use super::doc::{SourceLines, bounded, first_sentence};
use super::index::{IndexedFile, IndexedFiles, text_of};
use super::language::{Languages, SymbolKind};
use super::outline::outline;
use super::rank::{QueryFit, RankedSymbols, SymbolHit, SymbolQuery, WantedSymbols, owner_of};
use super::uses::{NameUse, UseKind, uses};
use super::values::StatedValue;
use crate::tool::ToolOutput;
use crate::tool::file::path::relative;
use crate::tool::limit::counted;
use crate::tool::search::walk::{LATE, Watch};

/// Characters of one result.
const MAX_TEXT: usize = 40_000;
/// Kinds of files that are named as not looked into.
const MAX_KINDS: usize = 6;
/// Characters of a query that is repeated.
const MAX_QUERY: usize = 80;

pub(super) struct SymbolListing<'l> {
    pub(super) indexed: &'l IndexedFiles,
    pub(super) cwd: &'l Path,
    pub(super) limit: usize,
    pub(super) watch: &'l Watch,
}

/// Signatures and sentences of one file, by definition; the last is the line and the sentence about the file itself.
type Described = Vec<(String, String)>;

impl SymbolListing<'_> {
    pub(super) fn definitions(&self, query: &SymbolQuery<'_>, ranked: &RankedSymbols) -> ToolOutput {
        let count = ranked.hits.len();
        let name = bounded(&query.shown(), MAX_QUERY);
        let lead = match (count, ranked.fit) {
            (0, _) => format!("No definition matches{}.", self.among()),
            (1, QueryFit::Named) => format!("`{name}` is defined once."),
            (_, QueryFit::Named) => format!("`{name}` is defined {count} times."),
            (_, QueryFit::AllWords) => format!("{}, best match first.", counted(count, "definition")),
            (_, QueryFit::Nearest) if query.is_one_name() => format!("No definition is named `{name}`. The nearest:"),
            (_, QueryFit::Nearest) => "No definition matches all words. The nearest:".to_owned(),
        };
        let summary = match ranked.fit {
            QueryFit::Named | QueryFit::AllWords => counted(count, "definition"),
            QueryFit::Nearest if count == 0 => "no definition".to_owned(),
            QueryFit::Nearest => "nothing exact".to_owned(),
        };
        let mut page = Page::new(lead, self.limit);
        let mut described: HashMap<usize, Described> = HashMap::new();
        let mut were_likely = true;
        for hit in &ranked.hits {
            let SymbolHit { file, symbol, .. } = hit;
            if page.is_full() || self.watch.is_over() {
                break;
            }
            if were_likely && !ranked.hits.first().is_some_and(|best| hit.is_likely(best)) {
                were_likely = false;
                page.entries.push_str("[less likely:]\n");
            }
            let texts = described.entry(*file).or_insert_with(|| self.describe(*file, true));
            let (signature, sentence) = texts.get(*symbol).cloned().unwrap_or_default();
            page.push(&self.entry(*file, *symbol, &signature), &sentence);
        }
        if ranked.fit != QueryFit::Named {
            self.note_choice(&mut page);
        }
        self.finish(page, count, summary)
    }

    /// Says which files are in languages that are not known.
    fn note_unknown(&self, page: &mut Page) {
        let unknown = &self.indexed.unknown;
        let kinds: Vec<String> =
            unknown.iter().take(MAX_KINDS).map(|(kind, count)| format!("{count} {kind}")).collect();
        let more = if unknown.len() > MAX_KINDS { " and more" } else { "" };
        if !kinds.is_empty() {
            let kinds = kinds.join(", ");
            page.notes.push(format!(
                "[not looked into, as Symbols does not know their language: {kinds}{more}; use Grep for them]"
            ));
        }
    }

    /// Says in what nothing was found, if that is not all of the code.
    fn among(&self) -> &'static str {
        if self.indexed.unknown.is_empty() { "" } else { " in the languages that Symbols reads" }
    }

    /// Says that not all files were looked into.
    fn note_choice(&self, page: &mut Page) {
        let (most, left_out) = (self.files(), self.indexed.choice.left_out);
        if left_out > 0 {
            page.notes.push(format!(
                "[looked into the {most} with most of the words, not into {}; narrow with path]",
                counted(left_out, "other")
            ));
        }
    }

    pub(super) fn outline(&self, wanted: WantedSymbols, is_file: bool) -> ToolOutput {
        let mut page = Page::new(String::new(), self.limit);
        let mut count = 0;
        for (at, (_, file)) in self.indexed.files.iter().enumerate() {
            let mut texts = is_file.then(|| self.describe(at, false));
            if let Some((line, sentence)) = texts.iter().flatten().last().filter(|(_, sentence)| !sentence.is_empty()) {
                page.write(&self.entry(at, file.symbols.len(), line), sentence);
            }
            for (number, symbol) in file.symbols.iter().enumerate() {
                let is_top = symbol.parent().and_then(|parent| file.symbols.get(parent)).is_none_or(is_module);
                if !wanted.has(symbol, true) || !is_file && (!is_top || symbol.owner.is_some()) {
                    continue;
                }
                count += 1;
                if !page.is_full() && !self.watch.is_over() {
                    let texts = texts.get_or_insert_with(|| self.describe(at, false));
                    let (signature, _) = texts.get(number).cloned().unwrap_or_default();
                    page.push(&self.entry(at, number, &signature), "");
                }
            }
        }
        page.lead = match (count, is_file) {
            (0, _) => "No definitions.".to_owned(),
            (_, true) => format!("{}.", counted(count, "definition")),
            (_, false) => format!("{} at the top level of {}.", counted(count, "definition"), self.files()),
        };
        self.finish(page, count, counted(count, "definition"))
    }

    pub(super) fn references(&self, query: &SymbolQuery<'_>, with_imports: bool) -> ToolOutput {
        let name = query.name();
        let found = uses(self.indexed, name, self.watch);
        let of = |kind: UseKind| found.iter().filter(move |found| found.kind == kind);
        let (count, imports) = (of(UseKind::Use).count(), of(UseKind::Import).count());
        let mut files: Vec<usize> = of(UseKind::Use).map(|found| found.file).collect();
        files.dedup();
        let summary = format!("{} in {}", counted(count, "use"), counted(files.len(), "file"));
        let shown = bounded(name, MAX_QUERY);
        let lead = match (count, of(UseKind::Definition).count()) {
            (0, 0) if imports == 0 => {
                format!("Nothing is named `{shown}` outside comments and strings{}.", self.among())
            }
            (0, 0) => format!("`{shown}` is neither used nor defined here{}.", self.among()),
            (0, _) => format!("No uses of `{shown}` were found{}.", self.among()),
            (_, 0) => format!(
                "`{shown}` is used on {} in {}; it is not defined here.",
                lines(count),
                counted(files.len(), "file")
            ),
            (_, _) => format!("`{shown}` is used on {} in {}.", lines(count), counted(files.len(), "file")),
        };
        let mut page = Page::new(lead, self.limit);
        let entries = found.iter().filter(|found| found.kind != UseKind::Import || with_imports);
        // Where it is defined comes first: who asks for uses seldom knows.
        let (definitions, others): (Vec<&NameUse>, Vec<&NameUse>) =
            entries.partition(|found| found.kind == UseKind::Definition);
        let total = definitions.len() + others.len();
        for found in definitions.into_iter().chain(others) {
            if page.is_full() {
                break;
            }
            page.push(&self.line_of(found), "");
        }
        if total > 0 {
            self.note_unknown(&mut page);
        }
        if imports > 0 && !with_imports {
            page.notes.push(format!("[{} not shown; set imports to see them]", counted(imports, "import")));
        }
        self.finish(page, total, summary)
    }

    pub(super) fn values(&self, found: &[StatedValue]) -> ToolOutput {
        let lead = match found.len() {
            0 => format!("No line states a value for this{}.", self.among()),
            count => format!("{}, best first.", counted(count, "stated value")),
        };
        let mut page = Page::new(lead, self.limit);
        for value in found {
            if page.is_full() {
                break;
            }
            let (path, file) = &self.indexed.files[value.file];
            let place = format!("{}:{}", relative(path, self.cwd), value.line);
            let what = match value.symbol {
                Some(symbol) if file.symbols[symbol].line == value.line => {
                    format!("{} {}", file.symbols[symbol].kind.word(), qualified(file, symbol))
                }
                Some(symbol) => format!("value in {}", qualified(file, symbol)),
                None => "value".to_owned(),
            };
            page.push(&format!("{place}  {what}: {}", value.text), "");
        }
        self.note_choice(&mut page);
        self.finish(page, found.len(), counted(found.len(), "value"))
    }

    fn line_of(&self, found: &NameUse) -> String {
        let (path, file) = &self.indexed.files[found.file];
        let place = format!("{}:{}", relative(path, self.cwd), found.line);
        let around = found.symbol.map(|symbol| qualified(file, symbol));
        match (found.kind, around) {
            (UseKind::Definition, Some(name)) => {
                let kind = found.symbol.map_or("", |symbol| file.symbols[symbol].kind.word());
                format!("{place}  definition {kind} {name}: {}", found.text)
            }
            (UseKind::Import, _) => format!("{place}  import: {}", found.text),
            (_, Some(name)) => format!("{place}  use in {name}: {}", found.text),
            (_, None) => format!("{place}  use: {}", found.text),
        }
    }

    fn entry(&self, file: usize, symbol: usize, signature: &str) -> String {
        let (path, file) = &self.indexed.files[file];
        let Some(found) = file.symbols.get(symbol) else {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            return format!("{}:{}  file {name}", relative(path, self.cwd), signature.parse().unwrap_or(1));
        };
        let name = qualified(file, symbol);
        let mut entry = format!("{}:{}  {} {name}", relative(path, self.cwd), found.line, found.kind.word());
        if !signature.is_empty() {
            let _ = write!(entry, ": {signature}");
        }
        entry
    }

    /// Reads signatures, and first sentences, of a file's definitions.
    fn describe(&self, file: usize, with_docs: bool) -> Described {
        let (path, indexed) = &self.indexed.files[file];
        let Some(language) = Languages::known().of(path) else { return Vec::new() };
        let Some((text, _)) = text_of(path) else { return Vec::new() };
        let (masked, symbols) = outline(&text, language);
        // The file may have been changed just now.
        if *symbols != *indexed.symbols {
            return Vec::new();
        }
        let lines = SourceLines::new(&text, &masked);
        let sentence = |symbol| if with_docs { first_sentence(&lines.doc(symbol)) } else { String::new() };
        let mut described: Described =
            symbols.iter().map(|symbol| (lines.signature(symbol), sentence(symbol))).collect();
        let (line, doc) = lines.file_doc(symbols.first());
        described.push((line.to_string(), first_sentence(&doc)));
        described
    }

    fn files(&self) -> String {
        counted(self.indexed.files.len(), "file")
    }

    fn finish(&self, mut page: Page, count: usize, summary: String) -> ToolOutput {
        if count > page.shown {
            let more = count - page.shown;
            page.notes.push(format!("[{more} more; narrow with kind or path, or raise limit]"));
        }
        let left_out = [
            (self.indexed.too_large, "file", "over 1 MB"),
            (self.indexed.unread, "place", "that could not be read"),
            (self.indexed.no_room, "file", "for which the index had no room; narrow with path"),
        ];
        for (count, noun, why) in left_out.into_iter().filter(|(count, ..)| *count > 0) {
            page.notes.push(format!("[skipped {} {why}]", counted(count, noun)));
        }
        if count == 0 {
            self.note_unknown(&mut page);
        }
        if self.watch.is_late() {
            page.notes.push(LATE.to_owned());
        }
        ToolOutput::text(page.text(), summary)
    }
}

fn is_module(symbol: &super::outline::Symbol) -> bool {
    symbol.kind == SymbolKind::Module
}

fn lines(count: usize) -> String {
    counted(count, "line")
}

/// Returns the name of a definition with that of what it belongs to.
fn qualified(file: &IndexedFile, symbol: usize) -> String {
    let name = &file.symbols[symbol].name;
    match owner_of(file, symbol) {
        Some(owner) => format!("{owner}.{name}"),
        None => name.to_string(),
    }
}

/// The part that is shown.
struct Page {
    lead: String,
    entries: String,
    notes: Vec<String>,
    shown: usize,
    limit: usize,
}

impl Page {
    fn new(lead: String, limit: usize) -> Self {
        Self { lead, entries: String::new(), notes: Vec::new(), shown: 0, limit }
    }

    fn is_full(&self) -> bool {
        self.shown >= self.limit || self.entries.len() > MAX_TEXT
    }

    fn push(&mut self, entry: &str, sentence: &str) {
        self.write(entry, sentence);
        self.shown += 1;
    }

    /// Adds an entry that does not count, such as what is said of the whole file.
    fn write(&mut self, entry: &str, sentence: &str) {
        self.entries.push_str(entry);
        self.entries.push('\n');
        if !sentence.is_empty() {
            let _ = writeln!(self.entries, "    {sentence}");
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n{}", self.lead, self.entries);
        for note in &self.notes {
            text.push_str(note);
            text.push('\n');
        }
        text.trim_end().to_owned()
    }
}
