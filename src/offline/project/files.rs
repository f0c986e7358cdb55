//! Reading every file of one kind and saying what each one does.
//!
//! Owns batching and the one-line summaries. Leaves what a file says of itself and defines to the tool. Invariant: a file
//! that was not read is counted as left out, never described.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, safe, shorten};
use crate::offline::search::Definitions;
use crate::offline::search::symbols::{self, SymbolEntry};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::{contains_any, sentence};

/// Files read at most, and in one message.
const MOST: usize = 40;
const BATCH: usize = 8;
/// Definitions listed of a file that is alone, and named of one among many.
const LISTED: usize = 10;
const NAMED: usize = 4;

#[derive(Debug)]
pub(crate) struct Files {
    /// Such as `**/*.py`.
    glob: String,
    /// What is searched for where no file matches: `res.json` may also be a method.
    otherwise: Option<Definitions>,
}

impl Files {
    pub(crate) fn new(glob: &str) -> Self {
        let name =
            glob.strip_prefix("**/").filter(|name| name.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c)));
        Self { glob: glob.to_owned(), otherwise: name.map(Definitions::named) }
    }

    fn listing(&self, evidence: &Evidence) -> Vec<String> {
        let mut paths = evidence.paths(&PlannedCall::glob(&self.glob));
        paths.retain(|path| paths::area(path) != Area::Foreign);
        paths.sort_by_key(|path| (paths::area(path), path.matches('/').count(), path.clone()));
        paths.dedup();
        paths
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
        let batch = files.iter().take(MOST).skip((n - 1) * BATCH).take(BATCH);
        let batch: Vec<PlannedCall> = batch.flat_map(|path| symbols::looks(path)).collect();
        (!batch.is_empty()).then_some(batch)
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let files = self.listing(evidence);
        if let (true, Some(otherwise)) = (files.is_empty(), &self.otherwise) {
            return otherwise.report(evidence);
        }
        let is_read = |path: &&String| evidence.output(&PlannedCall::read(path)).is_some();
        let (read, unread): (Vec<&String>, Vec<&String>) = files.iter().partition(is_read);
        let (mut findings, mut empty) = (Vec::new(), 0);
        for path in read.iter().copied() {
            match evidence.lines_of(path) {
                lines if lines.is_empty() => empty += 1,
                lines => findings.push(describe(path, &lines, evidence)),
            }
        }
        if let ([path], [told]) = (files.as_slice(), findings.as_slice()) {
            let mut places: Vec<String> = outer(path, evidence).iter().map(|entry| entry.place().bullet()).collect();
            shorten(&mut places, LISTED);
            return Report { summary: format!("{told}."), findings: places, answer: String::new() };
        }
        let mut summary = match files.len() {
            0 => format!("No file matches `{}`.", self.glob),
            count => format!("Read {} of the {count} files that match `{}`.", read.len(), self.glob),
        };
        if empty > 0 {
            let _ = write!(summary, " Empty: {empty}.");
        }
        if !unread.is_empty() {
            let _ = write!(summary, " {} were not read.", unread.len());
        }
        let listed = evidence.output(&PlannedCall::glob(&self.glob)).and_then(|text| text.lines().last());
        if let Some(last) = listed.filter(|last| contains_any(&last.to_lowercase(), "more|truncated|limit")) {
            let _ = write!(summary, " The listing itself is not complete: {}", last.trim());
        }
        let findings = findings.into_iter().map(|told| format!("- {told}")).collect();
        Report { summary, findings, answer: String::new() }
    }
}

/// Returns what a file defines that belongs to nothing else in it, and not to its tests.
fn outer(path: &str, evidence: &Evidence) -> Vec<SymbolEntry> {
    let mut entries = symbols::entries(&symbols::outline(path), evidence);
    entries.retain(|entry| !entry.name.contains('.') && entry.name != "tests" && entry.kind != "file");
    entries
}

/// Says in one line what a file does: its own words, and the names that it defines.
fn describe(path: &str, lines: &BTreeMap<usize, String>, evidence: &Evidence) -> String {
    let entries = outer(path, evidence);
    let mut names: Vec<String> = entries.iter().map(|entry| format!("{} `{}`", entry.kind, entry.name)).collect();
    names.dedup();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    names.truncate(NAMED);
    let names = names.join(", ") + &more;
    let about = symbols::about(path, evidence).map(|entry| (entry.line, entry.doc));
    match (about, entries.first()) {
        (Some((line, text)), None) => format!("`{path}:{line}`: {}", safe(&sentence(&text, 140))),
        (Some((line, text)), Some(_)) => format!("`{path}:{line}`: {} ({names})", safe(&sentence(&text, 140))),
        (None, Some(first)) => format!("`{path}:{}`: {names}", first.line),
        (None, None) => format!("`{path}`: no definitions at the top level ({} lines)", lines.len()),
    }
}
