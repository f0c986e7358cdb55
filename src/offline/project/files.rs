//! Reading every file of one kind and saying what each one does.
//!
//! Owns batching and the one-line summaries. Leaves recognising doc comments to `source`. Invariant: a file that was not
//! read is counted as left out, never described.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, safe};
use crate::offline::search::content::Content;
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
    otherwise: Option<Content>,
}

impl Files {
    pub(crate) fn new(glob: &str) -> Self {
        let name =
            glob.strip_prefix("**/").filter(|name| name.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c)));
        Self { glob: glob.to_owned(), otherwise: name.map(Content::named) }
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
        let batch: Vec<PlannedCall> =
            files.iter().take(MOST).skip((n - 1) * BATCH).take(BATCH).map(|path| PlannedCall::read(path)).collect();
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
            return single(path, lines);
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
        let findings = read.iter().map(|(path, lines)| format!("- {}", describe(path, lines))).collect();
        Report { summary, findings, answer: String::new() }
    }
}

/// Definitions listed of a file that is alone.
const LISTED: usize = 10;

/// Reports on one file: what it does, and its definitions in order.
fn single(path: &str, lines: &BTreeMap<usize, String>) -> Report {
    let mut in_tests = false;
    let defined = lines.iter().filter_map(|(line, text)| {
        in_tests |= text.trim() == "mod tests {";
        let found = source::definition(text).filter(|found| found.indent == 0 && !in_tests)?;
        let label = found.noun().to_owned();
        let is_place = !matches!(found.noun(), "value" | "module" | "implementation");
        is_place.then(|| CitedPlace { path: path.to_owned(), line: *line, label, text: text.clone() }.bullet())
    });
    let mut findings: Vec<String> = defined.collect();
    let left = findings.len().saturating_sub(LISTED);
    findings.truncate(LISTED);
    if left > 0 {
        findings.push(format!("- and {left} more definitions"));
    }
    Report { summary: format!("{}.", describe(path, lines)), findings, answer: String::new() }
}

/// Says in one line what a file does: its own words, else its definitions.
pub(crate) fn describe(path: &str, lines: &BTreeMap<usize, String>) -> String {
    let names = definitions(path, lines);
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
fn definitions(path: &str, lines: &BTreeMap<usize, String>) -> String {
    let mut groups: [(&str, &str, Vec<String>); 3] =
        [("class", "classes", Vec::new()), ("type", "types", Vec::new()), ("function", "functions", Vec::new())];
    let mut first = None;
    let mut in_tests = false;
    for (number, line) in lines {
        in_tests |= line.trim() == "mod tests {" || line.trim() == "mod test {";
        let Some(definition) = source::definition(line).filter(|found| found.indent == 0 && !in_tests) else {
            continue;
        };
        let group = match definition.noun() {
            "class" => 0,
            "struct" | "enum" | "trait" | "interface" | "type" => 1,
            "function" | "macro" => 2,
            _ => continue,
        };
        first.get_or_insert(*number);
        if !groups[group].2.contains(&definition.symbol) {
            groups[group].2.push(definition.symbol);
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
