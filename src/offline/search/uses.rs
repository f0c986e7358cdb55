//! Answering "who calls it, where is it used": the uses that the tool finds by name.
//!
//! Owns telling such questions, and tests from other code. Leaves finding uses to the tool. Invariant: uses are
//! found by name alone, and the answer counts only lines that a tool showed.

use super::symbols::{self, SymbolEntry};
use super::{Found, Search};
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::CitedPlace;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};
use crate::offline::text::{contains_any, lists};

#[derive(Debug)]
pub(crate) struct Uses {
    /// As the request writes it, without what it belongs to.
    name: String,
    /// Whether imports count.
    imports: bool,
}

/// Words that ask for uses, in whatever order they come, and words that such a request begins with.
const ASKING: &str = "import imports imported call calls called caller callers calling use uses used user users usage usages referenced references \
    invoked invokes";
const BEGINNINGS: &str = "who what where which find show list callers usages uses references";
/// What asks for something else with the same words.
const OTHER: &str = "used for|used to|is used by|what is |what does ";

/// Uses listed.
const LISTED: usize = 12;

impl Uses {
    /// Reads the name whose uses a request asks for.
    pub(crate) fn wanted(request: &str) -> Option<Self> {
        let lower = request.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
        let begins = words.clone().next().is_some_and(|first| lists(BEGINNINGS, first));
        if !begins || !words.any(|word| lists(ASKING, word)) || contains_any(&lower, OTHER) {
            return None;
        }
        let terms = Terms::of(request).without(ASKING);
        let name = match (terms.exact.as_slice(), terms.paths.as_slice(), terms.words.as_slice()) {
            ([name], [], _) => name,
            ([], [], [word]) => terms.cased.iter().find(|name| name.to_lowercase() == word.raw).unwrap_or(&word.raw),
            _ => return None,
        };
        let name = last_segment(name.trim_end_matches("()")).to_owned();
        Some(Self { name, imports: lower.contains("import") })
    }

    fn search(&self) -> PlannedCall {
        symbols::references(&self.name, self.imports)
    }

    /// Returns where it is defined, and its uses, those in code before those in tests, with how many are in code.
    fn found(&self, evidence: &Evidence) -> (Option<SymbolEntry>, Vec<SymbolEntry>, usize) {
        let all = symbols::entries(&self.search(), evidence);
        let is_definition = |entry: &SymbolEntry| entry.kind.starts_with("definition");
        let (mut definitions, mut uses): (Vec<_>, Vec<_>) = all.into_iter().partition(is_definition);
        definitions.sort_by_key(|entry| (paths::area(&entry.path), entry.path.clone(), entry.line));
        uses.retain(|entry| paths::area(&entry.path) != Area::Foreign && !paths::is_declaration(&entry.path));
        let called = format!("{}(", self.name);
        uses.sort_by_key(|entry| (is_test(entry), !entry.text.contains(&called), entry.path.clone(), entry.line));
        let in_code = uses.iter().filter(|entry| !is_test(entry)).count();
        (definitions.into_iter().next(), uses, in_code)
    }
}

fn is_test(entry: &SymbolEntry) -> bool {
    let inline = ["tests.", "test.", "test_"].iter().any(|start| entry.name.starts_with(start));
    inline || matches!(paths::area(&entry.path), Area::Test | Area::Example)
}

fn place(entry: &SymbolEntry) -> CitedPlace {
    let name = if entry.name.is_empty() { String::new() } else { format!(" `{}`", last_segment(&entry.name)) };
    let (path, text) = (entry.path.clone(), entry.text.trim().to_owned());
    CitedPlace { path, line: entry.line, label: format!("{}{name}", entry.kind), text }
}

impl Search for Uses {
    fn calls(&self) -> Vec<PlannedCall> {
        vec![self.search()]
    }

    fn names(&self) -> String {
        format!("`{}`", self.name)
    }

    fn found(&self, evidence: &Evidence) -> Option<Found> {
        let (definition, uses, in_code) = self.found(evidence);
        let name = self.names();
        let subject = definition.as_ref().map_or(name.clone(), |found| {
            let kind = found.kind.trim_start_matches("definition").trim();
            format!("The {kind} {name} ({})", found.place().cite())
        });
        let listed = evidence.output(&self.search()).unwrap_or_default();
        let least = if listed.contains(" more; narrow") { "at least " } else { "" };
        let count = |count: usize| if count == 1 { "1 place".to_owned() } else { format!("{count} places") };
        let summary = match (in_code, uses.len() - in_code) {
            (0, 0) if definition.is_some() => format!("{subject} is used nowhere else by that name."),
            (0, 0) if listed.starts_with("Nothing") || listed.is_empty() => {
                format!("Nothing in the files is called {name}.")
            }
            (0, 0) => format!("No code uses {name}; only comments, imports or texts mention it."),
            (0, tests) => format!("{subject} is used only in tests and examples, at {least}{}.", count(tests)),
            (code, 0) => format!("{subject} is used at {least}{}.", count(code)),
            (code, tests) => {
                format!("{subject} is used at {least}{}, and at {tests} in tests and examples.", count(code))
            }
        };
        Some(Found { summary, places: uses.iter().map(place).collect(), listed: LISTED, excerpt: 0 })
    }
}
