//! Answering "who calls it, where is it used": the uses that the tool finds by name.
//!
//! Owns telling such questions, and tests from other code. Leaves finding uses to the tool. Invariant: uses are
//! found by name alone, and the answer counts only lines that a tool showed.

use super::symbols::{self, SymbolEntry};
use super::window;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, shorten};
use crate::offline::text::lists;
use crate::offline::text::paths::{self, Area};
use crate::offline::text::terms::{Terms, last_segment};

#[derive(Debug)]
pub(crate) struct Uses {
    /// As the request writes it.
    pub(crate) name: String,
    /// Whether imports count.
    pub(crate) imports: bool,
}

/// Words that ask for uses, in whatever order they come.
const ASKING: &str = "import imports imported call calls called caller callers calling use uses used user users usage usages referenced references \
    invoked invokes";

/// Most places read, and shown.
const OPENED: usize = 3;
const SHOWN: usize = 12;

impl Uses {
    /// Reads the name whose uses a request asks for.
    pub(crate) fn wanted(request: &str) -> Option<Self> {
        let lower = request.to_lowercase();
        let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let asks = words.iter().any(|word| lists(ASKING, word));
        let starts =
            ["who", "what", "where", "which", "find", "show", "list", "callers", "usages", "uses", "references"]
                .iter()
                .any(|start| words.first() == Some(start));
        if !asks
            || !starts
            || ["used for", "used to", "is used by", "what is ", "what does "].iter().any(|not| lower.contains(not))
        {
            return None;
        }
        let terms = Terms::of(request);
        let mut words = terms.words.iter().filter(|word| !lists(ASKING, &word.raw));
        let name = match (terms.exact.as_slice(), terms.paths.as_slice(), words.next(), words.next()) {
            ([name], [], ..) => name.clone(),
            ([], [], Some(word), None) => {
                terms.cased.iter().find(|name| name.to_lowercase() == word.raw).unwrap_or(&word.raw).clone()
            }
            _ => return None,
        };
        Some(Self { name, imports: lower.contains("import") })
    }

    fn last(&self) -> &str {
        last_segment(self.name.trim_end_matches("()"))
    }

    fn search(&self) -> PlannedCall {
        symbols::references(self.last(), self.imports)
    }

    /// Returns the uses in code: those outside tests, those in tests.
    fn uses(&self, evidence: &Evidence) -> (Vec<SymbolEntry>, Vec<SymbolEntry>) {
        let mut all = symbols::entries(&self.search(), evidence);
        all.retain(|entry| !entry.kind.starts_with("definition"));
        all.retain(|entry| paths::area(&entry.path) != Area::Foreign && !paths::is_declaration(&entry.path));
        let called = format!("{}(", self.last());
        all.sort_by_key(|entry| (!entry.text.contains(&called), entry.path.clone(), entry.line));
        let is_test = |entry: &SymbolEntry| {
            let inline = ["tests.", "test.", "test_"].iter().any(|start| entry.name.starts_with(start));
            inline || matches!(paths::area(&entry.path), Area::Test | Area::Example)
        };
        all.into_iter().partition(|entry| !is_test(entry))
    }

    fn definition(&self, evidence: &Evidence) -> Option<SymbolEntry> {
        let entries = symbols::entries(&self.search(), evidence);
        let mut found: Vec<SymbolEntry> =
            entries.into_iter().filter(|entry| entry.kind.starts_with("definition")).collect();
        found.sort_by_key(|entry| (paths::area(&entry.path), entry.path.clone(), entry.line));
        found.into_iter().next()
    }
}

fn place(entry: &SymbolEntry) -> CitedPlace {
    let label = if entry.name.is_empty() {
        entry.kind.clone()
    } else {
        format!("{} `{}`", entry.kind, last_segment(&entry.name))
    };
    CitedPlace { path: entry.path.clone(), line: entry.line, label, text: entry.text.trim().to_owned() }
}

impl AnswerPart for Uses {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![self.search()]),
            1 => {
                let (uses, in_tests) = self.uses(evidence);
                Some(uses.iter().chain(&in_tests).take(OPENED).map(|entry| window(&place(entry))).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let (uses, in_tests) = self.uses(evidence);
        let definition = self.definition(evidence);
        let name = format!("`{}`", self.last());
        let subject = match &definition {
            Some(found) => {
                let kind = found.kind.trim_start_matches("definition").trim();
                format!("The {kind} {name} (`{}:{}`)", found.path, found.line)
            }
            None => name.clone(),
        };
        let listed = evidence.output(&self.search()).unwrap_or_default();
        let least = if listed.contains(" more; narrow") { "at least " } else { "" };
        let count = |entries: &[SymbolEntry]| match entries.len() {
            1 => "1 place".to_owned(),
            many => format!("{many} places"),
        };
        let answer = match (uses.is_empty(), in_tests.is_empty()) {
            (true, true) if definition.is_some() => format!("{subject} is used nowhere else by that name."),
            (true, true) if listed.starts_with("Nothing") || listed.is_empty() => {
                format!("Nothing in the files is called {name}.")
            }
            (true, true) => format!("No code uses {name}; only comments, imports or texts mention it."),
            (true, false) => format!("{subject} is used only in tests and examples, at {least}{}.", count(&in_tests)),
            (false, true) => format!("{subject} is used at {least}{}.", count(&uses)),
            (false, false) => {
                format!(
                    "{subject} is used at {least}{}, and at {} in tests and examples.",
                    count(&uses),
                    in_tests.len()
                )
            }
        };
        let mut findings: Vec<String> = uses.iter().chain(&in_tests).map(|entry| place(entry).bullet()).collect();
        shorten(&mut findings, SHOWN);
        Report { summary: answer.clone(), findings, answer }
    }
}
