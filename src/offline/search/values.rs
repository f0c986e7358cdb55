//! Answering "what is the default, how many at most": the lines that state a value.
//!
//! Owns telling such questions, and the order of lines. Leaves definitions to `definitions`. Invariant: a line is quoted
//! as a tool showed it.

use super::symbols::{self, SymbolEntry};
use crate::offline::evidence::{Evidence, Hit, PlannedCall};
use crate::offline::report::CitedPlace;
use crate::offline::text::contains_any;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::Terms;

const ASKING: &str = "default|limit|maximum|at most|how long|how many|how much|how large|how big|how deep|biggest|largest|\
    the value of|which port|environment variable|timeout";
const HITS: usize = 200;

#[derive(Debug)]
pub(crate) struct Values {
    pub(crate) terms: Terms,
}

impl Values {
    pub(crate) fn wanted(question: &str) -> bool {
        contains_any(&question.to_lowercase(), ASKING)
    }

    fn constants(&self) -> PlannedCall {
        symbols::definitions(&self.terms.query(), Some("constant"), 12)
    }

    fn lines(&self) -> Option<PlannedCall> {
        let telling = self.terms.telling();
        let pattern = telling.pairs_pattern().or_else(|| self.terms.pairs_pattern())?;
        Some(PlannedCall::grep(&pattern, HITS))
    }

    pub(crate) fn searches(&self) -> Vec<PlannedCall> {
        std::iter::once(self.constants()).chain(self.lines()).collect()
    }

    /// Returns the lines that state a value for most of the terms, and whether the first has all of them.
    pub(crate) fn places(&self, evidence: &Evidence) -> (Vec<CitedPlace>, bool) {
        let telling = self.terms.telling();
        let constants = symbols::entries(&self.constants(), evidence);
        let of = |entry: &SymbolEntry| Hit { path: entry.path.clone(), line: entry.line, text: entry.text.clone() };
        let mut hits: Vec<Hit> = constants.iter().map(of).collect();
        let lines = self.lines().map(|call| evidence.hits(&call)).unwrap_or_default();
        hits.extend(lines.into_iter().filter(|hit| states(&hit.text)));
        hits.retain(|hit| matches!(paths::area(&hit.path), Area::Source | Area::Setting));
        let told = |hit: &Hit| {
            let name = hit.path.rsplit('/').next().unwrap_or(&hit.path);
            let both = telling.told(&format!("{name} {}", hit.text));
            (both, telling.told(&hit.text), self.terms.told(&hit.text))
        };
        hits.sort_by_key(|hit| (std::cmp::Reverse(told(hit)), paths::area(&hit.path), hit.path.clone(), hit.line));
        hits.dedup_by(|a, b| a.path == b.path && a.line == b.line);
        let Some(best) = hits.first().map(told).filter(|best| best.0 * 3 >= telling.count() * 2 && best.1 > 0) else {
            return (Vec::new(), false);
        };
        let states_number =
            hits.first().is_some_and(|hit| hit.text.contains(|c: char| c.is_ascii_digit()) || says(&hit.text));
        let is_certain = best.0 >= telling.count() && states_number;
        hits.retain(|hit| told(hit).0 >= best.0);
        let places = hits.into_iter().take(3).map(|hit| {
            let constant = constants.iter().find(|entry| entry.path == hit.path && entry.line == hit.line);
            constant.map_or_else(|| setting(hit), SymbolEntry::place)
        });
        (places.collect(), is_certain)
    }
}

fn setting(hit: Hit) -> CitedPlace {
    let text = hit.text.trim().to_owned();
    CitedPlace { path: hit.path, line: hit.line, label: "setting".to_owned(), text }
}

/// Returns `true` if a line of code gives something a value that is written out.
fn states(line: &str) -> bool {
    let line = line.trim();
    if says(line) {
        return true;
    }
    let Some(at) = line.find(['=', ':', ',']) else { return line.starts_with("#define") };
    line[at + 1..].contains(|c: char| c.is_ascii_digit() || "\"'".contains(c))
}

/// Returns `true` if a comment says what a default is.
fn says(line: &str) -> bool {
    contains_any(&line.to_lowercase(), "default is|defaults to|by default|default value is")
}
