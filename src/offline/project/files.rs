//! Reading every file of one kind and saying what each one does.
//!
//! Owns batching and the one-line summaries. Leaves what a file says of itself and defines to the tool. Invariant: a file
//! that was not read is counted as left out, never described.

use std::fmt::Write as _;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, safe, shorten};
use crate::offline::search::Definitions;
use crate::offline::search::symbols::{self, SymbolEntry};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::sentence;

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
        let (empty, full): (Vec<&String>, Vec<&String>) =
            read.iter().copied().partition(|path| evidence.lines_of(path).is_empty());
        if let ([_], [path]) = (files.as_slice(), full.as_slice()) {
            let mut findings: Vec<String> = outer(path, evidence).iter().map(|entry| entry.place().bullet()).collect();
            shorten(&mut findings, LISTED);
            return Report { summary: format!("{}.", describe(path, evidence)), findings };
        }
        let mut summary = match files.len() {
            0 => format!("No file matches `{}`.", self.glob),
            count => format!("Read {} of the {count} files that match `{}`.", read.len(), self.glob),
        };
        for (what, count) in [("Empty", empty.len()), ("Not read", unread.len())] {
            if count > 0 {
                let _ = write!(summary, " {what}: {count}.");
            }
        }
        Report { summary, findings: full.iter().map(|path| format!("- {}", describe(path, evidence))).collect() }
    }
}

/// Returns what a file defines that belongs to nothing else in it, and not to its tests.
fn outer(path: &str, evidence: &Evidence) -> Vec<SymbolEntry> {
    let mut entries = symbols::entries(&symbols::outline(path), evidence);
    entries.retain(|entry| !entry.name.contains('.') && entry.name != "tests" && entry.kind != "file");
    entries
}

/// Says in one line what a file does: its own words, and the names that it defines.
fn describe(path: &str, evidence: &Evidence) -> String {
    let entries = outer(path, evidence);
    let mut names: Vec<String> = entries.iter().map(|entry| format!("{} `{}`", entry.kind, entry.name)).collect();
    names.dedup();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    names.truncate(NAMED);
    let names = names.join(", ") + &more;
    let line = |line: usize| format!("`{path}:{line}`");
    match (symbols::about(path, evidence), entries.first()) {
        (Some(about), None) => format!("{}: {}", line(about.line), safe(&sentence(&about.doc, 140))),
        (Some(about), Some(_)) => format!("{}: {} ({names})", line(about.line), safe(&sentence(&about.doc, 140))),
        (None, Some(first)) => format!("{}: {names}", line(first.line)),
        (None, None) => {
            format!("`{path}`: no definitions at the top level ({} lines)", evidence.lines_of(path).len())
        }
    }
}
