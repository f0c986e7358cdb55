//! Answering "what is the default, how many at most": the lines that state a value.
//!
//! Owns telling such questions, and when a line is certain. Leaves finding and ranking to the tool. Invariant: a line is
//! quoted as the tool showed it.

use super::symbols::{self, SymbolEntry};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::CitedPlace;
use crate::offline::text::contains_any;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::Terms;

const ASKING: &str = "default|limit|maximum|at most|how long|how many|how much|how large|how big|how deep|biggest|largest|\
    the value of|which port|environment variable|timeout";
const MOST: usize = 12;
const SHOWN: usize = 3;

#[derive(Debug)]
pub(crate) struct Values {
    question: String,
    terms: Terms,
}

impl Values {
    pub(crate) fn wanted(question: &str) -> Option<Self> {
        let asks = contains_any(&question.to_lowercase(), ASKING);
        asks.then(|| Self { question: question.to_owned(), terms: Terms::of(question).telling() })
    }

    pub(crate) fn search(&self) -> PlannedCall {
        symbols::values(&self.question, MOST)
    }

    /// Returns the lines that state a value, the best first, and whether that has all of the terms.
    pub(crate) fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let mut entries = symbols::entries(&self.search(), evidence);
        entries.retain(|entry| matches!(paths::area(&entry.path), Area::Source | Area::Setting));
        let told = |entry: &SymbolEntry| {
            let file = entry.path.rsplit('/').next().unwrap_or(&entry.path);
            self.terms.told(&format!("{file} {} {}", entry.name, entry.text))
        };
        let Some(best) = entries.first() else { return (Vec::new(), false) };
        // One word alone is certain only on a line that is about a default or a limit itself.
        let is_sure = self.terms.count() > 1 || contains_any(&best.text.to_lowercase(), "default|max|min|limit|most");
        let is_certain = is_sure && told(best) >= self.terms.count();
        // The first is told as what it is; of the others the line is what counts.
        let place = |(at, entry): (usize, SymbolEntry)| {
            if at == 0 && !entry.kind.starts_with("value") && entry.text.contains(['=', ':']) {
                return entry.place();
            }
            let text = entry.text.trim().to_owned();
            CitedPlace { path: entry.path, line: entry.line, label: "setting".to_owned(), text }
        };
        (entries.into_iter().take(SHOWN).enumerate().map(place).collect(), is_certain)
    }
}
