//! What a service does itself while it answers, such as a search of the web.
//!
//! Owns the neutral shape of such a step. Leaves reading and writing its own form to `provider`. Invariant: a step goes
//! back to the service as it came, with whatever is encrypted in it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SearchHit;

/// One step, and the form in which its service wants it back; `null` if it wants nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServedStep {
    #[serde(flatten)]
    pub kind: ServedKind,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub wire: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum ServedKind {
    /// It calls a tool of its own.
    Called,
    /// What a search has found.
    Found { hits: Vec<SearchHit> },
    /// A search failed, for a reason in the service's words.
    Failed { why: String },
    /// The text before this rests on these pages.
    Cited { hits: Vec<SearchHit> },
}

impl ServedStep {
    /// Returns how many bytes it holds.
    pub fn size(&self) -> usize {
        let hits = match &self.kind {
            ServedKind::Found { hits } | ServedKind::Cited { hits } => hits.as_slice(),
            ServedKind::Called | ServedKind::Failed { .. } => &[],
        };
        let words = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let hits = hits.iter().map(|hit| hit.url.len() + hit.title.len() + words(&hit.age) + words(&hit.excerpt));
        hits.sum::<usize>() + size_of(&self.wire)
    }
}

fn size_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of).sum(),
        Value::Object(fields) => fields.iter().map(|(key, value)| key.len() + size_of(value)).sum(),
    }
}
