//! Answering "who calls it, where is it used": every line that has the name and does not define it.
//!
//! Owns telling uses from definitions, imports and comments. Leaves other questions to `content`. Invariant: uses are
//! found by name alone, and the answer counts only lines that a tool showed.

use super::{inline_tests, window};
use crate::offline::evidence::{Evidence, Hit, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source;
use crate::offline::text::terms::{Terms, last_segment};
use crate::offline::text::{escape, lists};

#[derive(Debug)]
pub(crate) struct Uses {
    /// As the request writes it.
    pub(crate) name: String,
}

/// Words that ask for uses, in whatever order they come.
const ASKING: &str = "import imports imported call calls called caller callers calling use uses used user users usage usages referenced references \
    invoked invokes";

/// Most lines of hits, of places read, of places shown.
const HITS: usize = 400;
const OPENED: usize = 8;
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
        Some(Self { name })
    }

    fn last(&self) -> &str {
        last_segment(self.name.trim_end_matches("()"))
    }

    fn search(&self) -> PlannedCall {
        PlannedCall::grep(&format!("\\b{}\\b", escape(self.last())), HITS)
    }

    /// Returns the hits in the case of the request, or in any where there is none.
    fn hits(&self, evidence: &Evidence) -> Vec<Hit> {
        let mut hits = evidence.hits(&self.search());
        hits.retain(|hit| paths::area(&hit.path) != Area::Foreign && !paths::is_declaration(&hit.path));
        if hits.iter().any(|hit| hit.text.contains(self.last())) {
            hits.retain(|hit| hit.text.contains(self.last()));
        }
        hits
    }

    fn is_definition(&self, hit: &Hit) -> bool {
        let found = source::definition(&hit.text);
        found.is_some_and(|found| found.symbol.eq_ignore_ascii_case(self.last()) && found.keyword != "let")
    }

    /// Returns the uses in code: those outside tests, those in tests.
    fn uses(&self, evidence: &Evidence) -> (Vec<Hit>, Vec<Hit>) {
        let tests = evidence.hits(&inline_tests());
        let is_code = |hit: &Hit| {
            let text = hit.text.trim();
            let is_export = ["export {", "module.exports"].iter().any(|start| text.starts_with(start));
            // Backquotes around a name stand in the text of a docstring.
            let is_prose = paths::extension(&hit.path) == "py" && text.contains('`');
            paths::language(&hit.path).is_some()
                && !is_prose
                && !source::is_comment(text)
                && !source::is_import(text)
                && !is_export
                && !self.is_definition(hit)
        };
        let is_test = |hit: &Hit| {
            let inside = source::enclosing(&evidence.lines_of(&hit.path), hit.line);
            let by_name = inside.is_some_and(|name| name.starts_with("test_"));
            let inline = tests.iter().any(|test| test.path == hit.path && test.line < hit.line);
            inline || by_name || matches!(paths::area(&hit.path), Area::Test | Area::Example)
        };
        let mut all: Vec<Hit> = self.hits(evidence).into_iter().filter(is_code).collect();
        let called = format!("{}(", self.last());
        all.sort_by_key(|hit| (!hit.text.contains(&called), hit.path.clone(), hit.line));
        all.into_iter().partition(|hit| !is_test(hit))
    }

    fn definition(&self, evidence: &Evidence) -> Option<CitedPlace> {
        let mut found: Vec<Hit> = self.hits(evidence).into_iter().filter(|hit| self.is_definition(hit)).collect();
        found.sort_by_key(|hit| (paths::area(&hit.path), source::is_import(&hit.text), hit.path.clone(), hit.line));
        let hit = found.into_iter().next()?;
        let label = source::definition(&hit.text)?.noun().to_owned();
        Some(CitedPlace { path: hit.path, line: hit.line, label, text: hit.text.trim().to_owned() })
    }
}

fn place(hit: &Hit, evidence: &Evidence) -> CitedPlace {
    let inside = source::enclosing(&evidence.lines_of(&hit.path), hit.line);
    let label = inside.map_or_else(|| "use".to_owned(), |name| format!("use in `{name}`"));
    CitedPlace { path: hit.path.clone(), line: hit.line, label, text: hit.text.trim().to_owned() }
}

impl AnswerPart for Uses {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![self.search(), inline_tests()]),
            1 => {
                let (uses, in_tests) = self.uses(evidence);
                let most = uses.iter().chain(&in_tests).take(OPENED);
                Some(most.map(|hit| window(&place(hit, evidence))).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let (uses, in_tests) = self.uses(evidence);
        let definition = self.definition(evidence);
        let places: Vec<CitedPlace> =
            uses.iter().chain(&in_tests).take(SHOWN).map(|hit| place(hit, evidence)).collect();
        let name = format!("`{}`", self.last());
        let subject = match &definition {
            Some(found) => format!("The {} {name} (`{}:{}`)", found.label, found.path, found.line),
            None => name.clone(),
        };
        let is_cut = self.hits(evidence).len() >= HITS;
        let least = if is_cut { "at least " } else { "" };
        let count =
            |hits: &[Hit]| if hits.len() == 1 { "1 place".to_owned() } else { format!("{} places", hits.len()) };
        let answer = match (uses.is_empty(), in_tests.is_empty()) {
            (true, true) if definition.is_some() => format!("{subject} is used nowhere else by that name."),
            (true, true) if self.hits(evidence).is_empty() => format!("Nothing in the files is called {name}."),
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
        let mut findings: Vec<String> = places.iter().map(CitedPlace::bullet).collect();
        let left = uses.len() + in_tests.len() - places.len();
        if left > 0 {
            findings.push(format!("- and {left} more"));
        }
        Report { summary: answer.clone(), findings, answer }
    }
}
