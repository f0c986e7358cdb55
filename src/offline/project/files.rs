//! Reading every file of one kind and saying what each one does.
//!
//! Owns batching and the one-line summaries. Leaves doc comments to `source`, definitions to the tool. Invariant: a file that was not
//! read is counted as left out, never described.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, safe, shorten};
use crate::offline::search::definitions::Definitions;
use crate::offline::search::symbols::{self, SymbolEntry};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::sentence;
use crate::offline::text::source;

/// Files read at most, and in one message.
const MOST: usize = 40;
const BATCH: usize = 8;

#[derive(Debug)]
pub(crate) struct Files {
    /// Such as `**/*.py`.
    glob: String,
    /// What is searched for where no file matches: `res.json` may also be a method.
    otherwise: Option<Definitions>,
}

impl Files {
    pub(crate) fn new(glob: &str) -> Self {
        let name =
            glob.strip_prefix("**/").filter(|name| name.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c)));
        Self { glob: glob.to_owned(), otherwise: name.map(Definitions::named) }
    }

    fn listing(&self, evidence: &Evidence) -> Vec<String> {
        let mut paths = evidence.paths(&PlannedCall::glob(&self.glob));
        paths.retain(|path| paths::area(path) != Area::Foreign);
        paths.sort_by_key(|path| (paths::area(path), path.matches('/').count(), path.clone()));
        paths.dedup();
        paths
    }

    /// Returns the line in which the listing says that it is not complete.
    fn more(&self, evidence: &Evidence) -> Option<String> {
        let output = evidence.output(&PlannedCall::glob(&self.glob))?;
        let last = output.lines().last()?.trim();
        let lower = last.to_lowercase();
        ["more", "truncated", "limit"].iter().any(|word| lower.contains(word)).then(|| last.to_owned())
    }
}

impl AnswerPart for Files {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        if n == 0 {
            return Some(vec![PlannedCall::glob(&self.glob)]);
        }
        let files = self.listing(evidence);
        if let (true, Some(otherwise)) = (files.is_empty(), &self.otherwise) {
            return otherwise.stage(n - 1, evidence);
        }
        let batch = files.iter().take(MOST).skip((n - 1) * BATCH).take(BATCH);
        let batch: Vec<PlannedCall> = batch.flat_map(|path| looks(path)).collect();
        (!batch.is_empty()).then_some(batch)
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let files = self.listing(evidence);
        let read: Vec<(&String, BTreeMap<usize, String>)> =
            files.iter().map(|path| (path, evidence.lines_of(path))).filter(|(_, lines)| !lines.is_empty()).collect();
        if let (true, Some(otherwise)) = (files.is_empty(), &self.otherwise) {
            return otherwise.report(evidence);
        }
        if files.is_empty() {
            return Report { summary: format!("No file matches `{}`.", self.glob), ..Report::default() };
        }
        if let ([path], [(_, lines)]) = (files.as_slice(), read.as_slice()) {
            return single(path, lines, evidence);
        }
        let empty = files.iter().take(MOST).filter(|path| evidence.output(&PlannedCall::read(path)).is_some()).count()
            - read.len().min(files.len().min(MOST));
        let mut summary =
            format!("Read {} of the {} files that match `{}`.", read.len() + empty, files.len(), self.glob);
        if empty > 0 {
            let _ = write!(summary, " Empty: {empty}.");
        }
        let left = files.len().saturating_sub(read.len() + empty);
        if left > 0 {
            let _ = write!(summary, " {left} were not read.");
        }
        if let Some(more) = self.more(evidence) {
            let _ = write!(summary, " The listing itself is not complete: {more}");
        }
        let findings = read.iter().map(|(path, lines)| format!("- {}", describe(path, lines, evidence))).collect();
        Report { summary, findings, answer: String::new() }
    }
}

/// Returns the calls that tell of one file: its text, and what it defines.
fn looks(path: &str) -> impl Iterator<Item = PlannedCall> {
    let outline = paths::language(path).map(|_| symbols::outline(path));
    std::iter::once(PlannedCall::read(path)).chain(outline)
}

/// Definitions listed of a file that is alone.
const LISTED: usize = 10;

/// Reports on one file: what it does, and its definitions in order.
fn single(path: &str, lines: &BTreeMap<usize, String>, evidence: &Evidence) -> Report {
    let entries = symbols::entries(&symbols::outline(path), evidence);
    let defined = entries.iter().filter(|entry| !is_inner(entry));
    let mut findings: Vec<String> = defined.map(|entry| entry.place().bullet()).collect();
    shorten(&mut findings, LISTED);
    Report { summary: format!("{}.", describe(path, lines, evidence)), findings, answer: String::new() }
}

/// Returns `true` if a definition belongs to another one, or to tests in the file.
fn is_inner(entry: &SymbolEntry) -> bool {
    entry.name.contains('.') || entry.name == "tests"
}

/// Says in one line what a file does: its own words, else its definitions.
fn describe(path: &str, lines: &BTreeMap<usize, String>, evidence: &Evidence) -> String {
    let names = definitions(path, lines, evidence);
    match (source::purpose(path, lines), names.is_empty()) {
        (Some((line, text)), true) => format!("`{path}:{line}`: {}", safe(&sentence(&text, 140))),
        (Some((line, text)), false) => {
            format!("`{path}:{line}`: {} ({names})", safe(&sentence(&text, 140)))
        }
        (None, false) => format!("`{path}`: {names}"),
        (None, true) => {
            let mut code = lines.values().filter(|line| !line.trim().is_empty() && !source::is_comment(line.trim()));
            let what = if code.all(|line| is_reexport(line)) {
                "only imports and re-exports"
            } else {
                "no definitions at the top level"
            };
            format!("`{path}`: {what} ({} lines)", lines.len())
        }
    }
}

fn is_reexport(line: &str) -> bool {
    ["from ", "import ", "pub use ", "use ", "mod ", "pub mod ", "export ", "module.exports"]
        .iter()
        .any(|w| line.starts_with(w))
}

/// Lists the top-level definitions by kind, the first few of each, with the line of the first.
fn definitions(path: &str, lines: &BTreeMap<usize, String>, evidence: &Evidence) -> String {
    let mut groups: [(&str, &str, Vec<String>); 3] =
        [("class", "classes", Vec::new()), ("type", "types", Vec::new()), ("function", "functions", Vec::new())];
    let mut first = None;
    for entry in symbols::entries(&symbols::outline(path), evidence).into_iter().filter(|entry| !is_inner(entry)) {
        let group = match entry.kind.as_str() {
            "class" => 0,
            "function" | "method" | "macro" => 2,
            "module" | "constant" | "variable" | "property" => continue,
            _ => 1,
        };
        first.get_or_insert(entry.line);
        if !groups[group].2.contains(&entry.name) {
            groups[group].2.push(entry.name);
        }
    }
    let has_doc = source::purpose(path, lines).is_some();
    let listed: Vec<String> = groups
        .iter()
        .filter(|(_, _, names)| !names.is_empty())
        .map(|(one, many, names)| {
            let more = if names.len() > 4 { format!(" and {} more", names.len() - 4) } else { String::new() };
            let shown: Vec<String> = names.iter().take(4).map(|name| format!("`{name}`")).collect();
            format!("{} {}{more}", if names.len() == 1 { one } else { many }, shown.join(", "))
        })
        .collect();
    let from = first.filter(|_| !has_doc).map(|line| format!(", from line {line}")).unwrap_or_default();
    if listed.is_empty() { String::new() } else { format!("{}{from}", listed.join("; ")) }
}
