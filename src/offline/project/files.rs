//! Reading every file of one kind and saying what each one does.
//!
//! Owns batching and the one-line summaries. Leaves what a file says of itself and defines to the tool. Invariant: a file
//! that was not read is counted as left out, never described.

use std::fmt::Write as _;

use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::{Report, Reported, safe, shorten};
use crate::offline::search::{definitions, symbols};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::sentence;

/// Files read at most, and in one message.
const MOST: usize = 40;
const BATCH: usize = 8;
/// Definitions listed of a file that is alone, and named of one among many.
const LISTED: usize = 10;
const NAMED: usize = 4;

/// Tells what the files do that match a glob, such as `**/*.py`.
pub(crate) fn answer(glob: &str, evidence: &Evidence) -> Reported {
    let listing = PlannedCall::glob(glob);
    evidence.ask([listing.clone()])?;
    let mut files = evidence.paths(&listing);
    files.retain(|path| paths::area(path) != Area::Foreign);
    files.sort_by_key(|path| (paths::area(path), path.matches('/').count(), path.clone()));
    files.dedup();
    // What looks like a file may be a method, such as `res.json`.
    let name = glob.strip_prefix("**/").filter(|name| name.chars().all(|c| c.is_alphanumeric() || "_$.".contains(c)));
    if let (true, Some(name)) = (files.is_empty(), name) {
        return definitions::answer_name(name, evidence);
    }
    for batch in files[..files.len().min(MOST)].chunks(BATCH) {
        evidence.ask(batch.iter().flat_map(|path| symbols::looks(path)))?;
    }
    let is_read = |path: &&String| evidence.output(&PlannedCall::read(path)).is_some();
    let (read, unread): (Vec<&String>, Vec<&String>) = files.iter().partition(is_read);
    let (empty, full): (Vec<&String>, Vec<&String>) =
        read.iter().copied().partition(|path| evidence.lines_of(path).is_empty());
    if let ([_], [path]) = (files.as_slice(), full.as_slice()) {
        let mut findings: Vec<String> = outer(path, evidence).iter().map(CitedPlace::bullet).collect();
        shorten(&mut findings, LISTED);
        return Ok(Report::new(format!("{}.", describe(path, evidence)), findings));
    }
    let mut summary = match files.len() {
        0 => format!("No file matches `{glob}`."),
        count => format!("Read {} of the {count} files that match `{glob}`.", read.len()),
    };
    for (what, count) in [("Empty", empty.len()), ("Not read", unread.len())] {
        if count > 0 {
            let _ = write!(summary, " {what}: {count}.");
        }
    }
    Ok(Report::new(summary, full.iter().map(|path| format!("- {}", describe(path, evidence))).collect()))
}

/// Returns what a file defines that belongs to nothing else in it, and not to its tests.
fn outer(path: &str, evidence: &Evidence) -> Vec<CitedPlace> {
    let mut all = symbols::places(&symbols::outline(path), evidence);
    all.retain(|place| !place.name.contains('.') && place.name != "tests" && place.kind != "file");
    all
}

/// Says in one line what a file does: its own words, and the names that it defines.
fn describe(path: &str, evidence: &Evidence) -> String {
    let outer = outer(path, evidence);
    let mut names: Vec<String> = outer.iter().map(CitedPlace::label).collect();
    names.dedup();
    let more = if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
    names.truncate(NAMED);
    let names = names.join(", ") + &more;
    let about = symbols::about(path, evidence);
    let about = about.map(|about| format!("{}: {}", about.cite(), safe(&sentence(&about.doc, 140))));
    match (about, outer.first()) {
        (Some(about), None) => about,
        (Some(about), Some(_)) => format!("{about} ({names})"),
        (None, Some(first)) => format!("{}: {names}", first.cite()),
        (None, None) => {
            format!("`{path}`: no definitions at the top level ({} lines)", evidence.lines_of(path).len())
        }
    }
}
