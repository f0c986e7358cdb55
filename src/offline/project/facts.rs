//! What one line of a project states: version, license, the version of the language, entry points, what it is.
//!
//! Owns which lines count. Leaves to `tables` what they look like, and dependencies to `dependencies`. Invariant: a line is
//! quoted as it stands; what no line states is said to be uncertain.

use std::collections::BTreeMap;

use super::manifest;
use crate::offline::evidence::{CitedPlace, Evidence, PlannedCall};
use crate::offline::report::{Report, Reported, quotable, safe};
use crate::offline::tables::{StatedLines, Topic, row};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::{lists, sentence};

/// Lines looked at, and listed.
const MOST: usize = 60;
const LISTED: usize = 6;

/// Answers a topic that lines state.
pub(crate) fn answer(topic: Topic, evidence: &Evidence) -> Reported {
    let Some(row) = row(topic) else { return Ok(Report::default()) };
    let call = |lines: &StatedLines| {
        PlannedCall::grep(&lines.pattern, &lines.files.replace("MANIFESTS", &manifest::names()), MOST)
    };
    let calls: Vec<PlannedCall> = row.lines.iter().map(call).collect();
    let readme = (topic == Topic::About).then(|| PlannedCall::glob("{README,Readme,readme}*"));
    evidence.ask(calls.iter().chain(&readme).cloned())?;
    let readme = readme.and_then(|call| evidence.paths(&call).into_iter().next());
    evidence.ask(readme.iter().map(|path| PlannedCall::read_part(path, 1, 60)))?;
    // What a project is takes a line of each kind; of all else one kind is surer than the next.
    let most = if topic == Topic::About { 1 } else { MOST };
    let mut lines: Vec<CitedPlace> =
        calls.iter().flat_map(|call| stated(call, evidence).into_iter().take(most)).collect();
    let is_source = |hit: &CitedPlace| matches!(paths::area(&hit.path), Area::Source | Area::Setting | Area::Doc);
    if lines.iter().any(is_source) {
        lines.retain(is_source);
    }
    let readme = readme.and_then(|path| {
        let (line, text) = first_paragraph(&evidence.lines_of(&path))?;
        Some(format!("The README says (`{path}:{line}`): {}.", safe(&sentence(&text, 300))))
    });
    let stated = lines.first().map(|line| format!("{} {}: `{}`.", row.lead, line.cite(), quotable(&line.text)));
    // A version or a license has one line, and others like it are of other things.
    let listed = if matches!(topic, Topic::Version | Topic::License) { 1 } else { LISTED };
    let findings = lines.iter().take(listed).map(CitedPlace::bullet).collect();
    Ok(Report::new(readme.or(stated).unwrap_or_else(|| row.nothing.clone()), findings))
}

/// Returns the lines that a call found and that count, the surest first.
fn stated(call: &PlannedCall, evidence: &Evidence) -> Vec<CitedPlace> {
    let mut hits = evidence.hits(call, "says");
    // An example begins a run too, where nothing else does.
    hits.retain(|hit| !matches!(paths::area(&hit.path), Area::Foreign | Area::Test));
    hits.retain(|hit| !hit.path.ends_with("build.rs") && !lists("doc docs", hit.path.split('/').next().unwrap_or("")));
    hits.sort_by_key(|hit| {
        let (depth, indent) = (hit.path.matches('/').count(), hit.text.len() - hit.text.trim_start().len());
        let is_example = paths::area(&hit.path) == Area::Example;
        (is_example, depth, manifest::row(&hit.path), hit.path.clone(), indent, hit.line)
    });
    hits
}

/// Returns the first paragraph of prose, and not of marks, badges and headings.
fn first_paragraph(lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    // A short line says something if it ends as a sentence does.
    let is_prose = |text: &str| {
        let least = if text.trim_end().ends_with('.') { 2 } else { 4 };
        text.starts_with(char::is_alphanumeric) && text.split(' ').count() >= least
    };
    let (first, _) = lines.iter().find(|(_, line)| is_prose(line))?;
    let paragraph = lines.range(first..).map(|(_, line)| line.trim()).take_while(|line| !line.is_empty());
    Some((*first, paragraph.collect::<Vec<_>>().join(" ")))
}
