//! What the tool `Symbols` is asked, and what it answers.
//!
//! Owns the calls and the form of the answer. Leaves judging the entries to the searches. Invariant: an entry is a place
//! that the tool showed; a form that is not understood yields none.

use serde_json::json;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::CitedPlace;
use crate::offline::text::paths::is_source;

/// One definition, or one use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SymbolEntry {
    pub(crate) path: String,
    pub(crate) line: usize,
    /// Such as `function` or `use in`.
    pub(crate) kind: String,
    /// With that of what it belongs to, as in `Cart.total`.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) doc: String,
    /// Whether it fits much less than the best.
    pub(crate) is_spare: bool,
}

impl SymbolEntry {
    pub(crate) fn place(&self) -> CitedPlace {
        let label = if self.kind == "file" { self.kind.clone() } else { format!("{} `{}`", self.kind, self.name) };
        CitedPlace { path: self.path.clone(), line: self.line, label, text: self.doc.clone() }
    }
}

/// Looks for definitions by a name or by words.
pub(crate) fn definitions(query: &str, kind: Option<&str>, limit: usize) -> PlannedCall {
    let mut input = json!({ "query": query, "limit": limit });
    if let Some(kind) = kind {
        input["kind"] = json!(kind);
    }
    PlannedCall::new("Symbols", input)
}

/// Looks for lines that state a value.
pub(crate) fn values(query: &str, limit: usize) -> PlannedCall {
    PlannedCall::new("Symbols", json!({ "query": query, "mode": "values", "limit": limit }))
}

pub(crate) fn references(name: &str, imports: bool) -> PlannedCall {
    let mut input = json!({ "query": name, "mode": "references", "limit": 200 });
    if imports {
        input["imports"] = json!(true);
    }
    PlannedCall::new("Symbols", input)
}

/// Returns the calls that tell of one file: its text, and what it says of itself and defines.
pub(crate) fn looks(path: &str) -> impl Iterator<Item = PlannedCall> {
    let outline = is_source(path).then(|| outline(path));
    std::iter::once(PlannedCall::read(path)).chain(outline)
}

/// Lists what one file defines.
pub(crate) fn outline(path: &str) -> PlannedCall {
    PlannedCall::new("Symbols", json!({ "path": path, "mode": "outline" }))
}

/// Returns what a file says of itself, from its outline.
pub(crate) fn about(path: &str, evidence: &Evidence) -> Option<SymbolEntry> {
    entries(&outline(path), evidence).into_iter().next().filter(|entry| entry.kind == "file")
}

/// Returns the place that tells of a file that a request names.
pub(crate) fn file_place(path: &str, evidence: &Evidence) -> Option<CitedPlace> {
    let about = about(path, evidence).map(|entry| (entry.line, entry.doc));
    let (line, text) = about.or_else(|| Some((evidence.lines_of(path).into_keys().next()?, String::new())))?;
    Some(CitedPlace { path: path.to_owned(), line, label: "file".to_owned(), text })
}

/// Returns `true` if a call found what has the name, or all the words, that it asked for.
pub(crate) fn is_exact(call: &PlannedCall, evidence: &Evidence) -> bool {
    let lead = evidence.output(call).and_then(|text| text.lines().next()).unwrap_or_default();
    !lead.is_empty() && !lead.starts_with("No definition")
}

pub(crate) fn entries(call: &PlannedCall, evidence: &Evidence) -> Vec<SymbolEntry> {
    let mut found: Vec<SymbolEntry> = Vec::new();
    let mut is_spare = false;
    for line in evidence.output(call).unwrap_or_default().lines() {
        if line == "[less likely:]" {
            is_spare = true;
        } else if let Some(doc) = line.strip_prefix("    ") {
            if let Some(last) = found.last_mut() {
                doc.trim().clone_into(&mut last.doc);
            }
        } else if let Some(entry) = entry(line, evidence) {
            found.push(SymbolEntry { is_spare, ..entry });
        }
    }
    found
}

/// Reads `path:line  kind name: text`.
fn entry(line: &str, evidence: &Evidence) -> Option<SymbolEntry> {
    let (place, rest) = line.split_once("  ")?;
    let (path, number) = place.rsplit_once(':')?;
    let (head, text) = rest.split_once(": ").unwrap_or((rest, ""));
    let (kind, name) = head.trim_end_matches(':').rsplit_once(' ').unwrap_or((head, ""));
    Some(SymbolEntry {
        path: evidence.relative(path),
        line: number.parse().ok()?,
        kind: kind.trim().to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        doc: String::new(),
        is_spare: false,
    })
}
