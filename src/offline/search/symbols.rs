//! What the tool `Symbols` is asked, and what it answers.
//!
//! Owns the calls and the form of the answer. Leaves judging the places to the searches. Invariant: a place is one that the
//! tool showed; a form that is not understood yields none.

use serde_json::json;

use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::text::paths::is_source;

/// Looks for definitions by a name or by words; of one kind, unless it is empty.
pub(crate) fn definitions(query: &str, kind: &str, limit: usize) -> PlannedCall {
    let all = json!({ "query": query, "limit": limit });
    let of_kind = json!({ "query": query, "limit": limit, "kind": kind });
    PlannedCall::new("Symbols", if kind.is_empty() { all } else { of_kind })
}

/// Looks for lines that state a value.
pub(crate) fn values(query: &str, limit: usize) -> PlannedCall {
    PlannedCall::new("Symbols", json!({ "query": query, "mode": "values", "limit": limit }))
}

pub(crate) fn references(name: &str, imports: bool) -> PlannedCall {
    let input = json!({ "query": name, "mode": "references", "limit": 200, "imports": imports });
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
pub(crate) fn about(path: &str, evidence: &Evidence) -> Option<CitedPlace> {
    places(&outline(path), evidence).into_iter().next().filter(|place| place.kind == "file")
}

/// Returns the place that tells of a file that a request names.
pub(crate) fn file_place(path: &str, evidence: &Evidence) -> Option<CitedPlace> {
    about(path, evidence).or_else(|| {
        let line = evidence.lines_of(path).into_keys().next()?;
        Some(CitedPlace { path: path.to_owned(), line, kind: "file".to_owned(), ..CitedPlace::default() })
    })
}

/// Returns `true` if a call found what has the name, or all the words, that it asked for.
pub(crate) fn is_exact(call: &PlannedCall, evidence: &Evidence) -> bool {
    let lead = evidence.output(call).and_then(|text| text.lines().next()).unwrap_or_default();
    !lead.is_empty() && !lead.starts_with("No definition")
}

/// Returns what a call found, in its order.
pub(crate) fn places(call: &PlannedCall, evidence: &Evidence) -> Vec<CitedPlace> {
    let mut found: Vec<CitedPlace> = Vec::new();
    let mut is_spare = false;
    for line in evidence.output(call).unwrap_or_default().lines() {
        if line == "[less likely:]" {
            is_spare = true;
        } else if let Some(doc) = line.strip_prefix("    ") {
            if let Some(last) = found.last_mut() {
                doc.trim().clone_into(&mut last.doc);
            }
        } else if let Some(place) = place(line, evidence) {
            found.push(CitedPlace { is_spare, ..place });
        }
    }
    found
}

/// Reads `path:line  kind name: text`.
fn place(line: &str, evidence: &Evidence) -> Option<CitedPlace> {
    let (place, rest) = line.split_once("  ")?;
    let (path, number) = place.rsplit_once(':')?;
    let (head, text) = rest.split_once(": ").unwrap_or((rest, ""));
    let (kind, name) = head.trim_end_matches(':').rsplit_once(' ').unwrap_or((head, ""));
    let (path, line) = (evidence.relative(path), number.parse().ok()?);
    let (kind, name, text) = (kind.trim().to_owned(), name.to_owned(), text.to_owned());
    Some(CitedPlace { path, line, kind, name, text, ..CitedPlace::default() })
}
