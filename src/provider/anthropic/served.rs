//! Reads the steps that the service takes itself: its calls of `web_search`, what they find, and citations.
//!
//! Owns which fields of a block say what was found. Invariant: the block itself is kept as it came, because the API wants
//! it back unchanged.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::{SearchHit, ServedKind, ServedStep};
use crate::provider::lenient::{Lenient, List, Text};

/// Most characters of a reason.
const REASON_CHARS: usize = 100;

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct FoundBlock<'a> {
    content: Lenient<List<WireHit<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct FailedBlock<'a> {
    content: Lenient<WireError<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireError<'a> {
    error_code: Text<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireHit<'a> {
    url: Text<'a>,
    title: Text<'a>,
    page_age: Text<'a>,
    cited_text: Text<'a>,
}

impl WireHit<'_> {
    fn hit(&self) -> SearchHit {
        let some = |text: &Text<'_>| Some(text.to_string()).filter(|text| !text.is_empty());
        SearchHit {
            url: self.url.to_string(),
            title: self.title.to_string(),
            age: some(&self.page_age),
            excerpt: some(&self.cited_text),
        }
    }
}

/// Returns a call of the service's own tool. What came of its input piece by piece takes the place of that in the block.
pub(super) fn called(block: &str, input: &str) -> ServedStep {
    let mut wire: Value = serde_json::from_str(block).unwrap_or_default();
    if let (Some(fields), Ok(input)) = (wire.as_object_mut(), serde_json::from_str::<Value>(input)) {
        fields.insert("input".to_owned(), input);
    }
    ServedStep { kind: ServedKind::Called, wire }
}

/// Returns what a call of the service's own tool has led to.
pub(super) fn found(block: &RawValue) -> ServedStep {
    let wire = serde_json::from_str(block.get()).unwrap_or_default();
    let failed = serde_json::from_str::<FailedBlock<'_>>(block.get()).unwrap_or_default().content.0;
    let why = failed.map(|error| error.error_code.chars().take(REASON_CHARS).collect::<String>());
    let kind = if let Some(why) = why.filter(|why| !why.is_empty()) {
        ServedKind::Failed { why }
    } else {
        let found = serde_json::from_str::<FoundBlock<'_>>(block.get()).unwrap_or_default();
        let hits = found.content.0.unwrap_or_default().into_elements();
        ServedKind::Found { hits: hits.map(|hit| hit.hit()).filter(|hit| !hit.url.is_empty()).collect() }
    };
    ServedStep { kind, wire }
}

/// Returns what a text rests on.
pub(super) fn cited(citation: &RawValue) -> ServedStep {
    let hit = serde_json::from_str::<WireHit<'_>>(citation.get()).unwrap_or_default().hit();
    let hits = Some(hit).filter(|hit| !hit.url.is_empty()).into_iter().collect();
    ServedStep { kind: ServedKind::Cited { hits }, wire: serde_json::from_str(citation.get()).unwrap_or_default() }
}
