//! What the project is and how its files are arranged.
//!
//! Owns counting by language and naming directories. Leaves manifests to `build`. Invariant: a count that rests on a cut
//! listing says "at least".

use std::collections::BTreeMap;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, safe};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source;
use crate::offline::text::{contains_any, lists, sentence};

#[derive(Debug)]
pub(crate) struct LayoutPart;

const READMES: &str = "{README,Readme,readme}*";

/// Names of entry files, the ones that tell what a directory is.
const ENTRIES: &str = "lib.rs main.rs mod.rs __init__.py index.js index.ts main.go doc.go main.py __main__.py";

fn lines_per_file() -> PlannedCall {
    PlannedCall::count("^", 5000)
}

impl LayoutPart {
    fn files(evidence: &Evidence) -> Vec<(String, usize)> {
        let mut counts = evidence.counts(&lines_per_file());
        counts.retain(|(path, _)| paths::area(path) != Area::Foreign);
        counts.sort();
        counts
    }

    /// Returns the files that tell most: entries first, then the largest sources.
    fn heads(evidence: &Evidence) -> Vec<String> {
        let files = Self::files(evidence);
        let sources = files.iter().filter(|(path, _)| paths::area(path) == Area::Source);
        let mut scored: Vec<(usize, &String)> = sources
            .map(|(path, lines)| {
                let name = path.rsplit('/').next().unwrap_or(path);
                let depth = path.matches('/').count();
                let entry = if lists(ENTRIES, name) && depth <= 3 { 100_000 / (depth + 1) } else { 0 };
                (entry + (*lines).min(5000), path)
            })
            .collect();
        scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored.into_iter().take(8).map(|(_, path)| path.clone()).collect()
    }

    fn readme(evidence: &Evidence) -> Option<String> {
        let mut all = evidence.paths(&PlannedCall::glob(READMES));
        all.sort_by_key(|path| (path.matches('/').count(), path.len()));
        all.into_iter().next()
    }
}

impl AnswerPart for LayoutPart {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![PlannedCall::glob(READMES), lines_per_file()]),
            1 => {
                let readme = Self::readme(evidence).map(|path| PlannedCall::read_part(&path, 1, 80));
                let heads = Self::heads(evidence);
                Some(readme.into_iter().chain(heads.iter().map(|path| PlannedCall::read_part(path, 1, 60))).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let files = Self::files(evidence);
        let listing = evidence.output(&lines_per_file()).unwrap_or_default().to_lowercase();
        let is_cut = contains_any(&listing, "truncated|left out|omitted|more lines|continue with");
        let least = if is_cut { "at least " } else { "" };
        let by_language = tally(&files, |path| paths::language(path).map(str::to_owned));
        let by_folder = tally(&files, |path| path.split_once('/').map(|(top, _)| format!("`{top}/`")));
        let mut findings: Vec<String> = [("Languages", by_language), ("Directories", by_folder)]
            .into_iter()
            .filter(|(_, rows)| !rows.is_empty())
            .map(|(title, rows)| format!("- {title}: {least}{}", rows.join(", ")))
            .collect();
        for path in Self::heads(evidence).iter().take(6) {
            if let Some((line, text)) = source::purpose(path, &evidence.lines_of(path)) {
                findings.push(format!("- `{path}:{line}`: {}", safe(&sentence(&text, 160))));
            }
        }
        let about = Self::readme(evidence).and_then(|path| {
            let (line, text) = about(&evidence.lines_of(&path))?;
            Some((format!("`{path}:{line}`"), safe(&sentence(&text, 300))))
        });
        let summary = match &about {
            Some((cite, text)) => format!("The README says ({cite}): {text}."),
            None if files.is_empty() => "There are no files with text here.".to_owned(),
            None => "No README says what the project is.".to_owned(),
        };
        Report { summary, findings, answer: String::new() }
    }
}

/// Counts files and their lines by what they have in common, those with most lines first.
fn tally(files: &[(String, usize)], common: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (path, lines) in files {
        if let Some(name) = common(path) {
            let entry = counts.entry(name).or_default();
            *entry = (entry.0 + 1, entry.1 + lines);
        }
    }
    let mut rows: Vec<(String, (usize, usize))> = counts.into_iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1.1));
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let shown = rows.into_iter().take(6);
    shown.map(|(name, (count, lines))| format!("{name} ({count} file{}, {lines} lines)", plural(count))).collect()
}

/// Returns the first paragraph of prose in a README.
pub(crate) fn about(lines: &BTreeMap<usize, String>) -> Option<(usize, String)> {
    let mut found: Option<(usize, String)> = None;
    let mut in_code = false;
    for (number, line) in lines {
        let text = line.trim();
        in_code ^= text.starts_with("```");
        let markup = ["#", "[", "!", "<", "=", "-", "..", "```", "|", "*", ":", "&", "+", "~"];
        let is_prose =
            !in_code && !text.is_empty() && !markup.iter().any(|mark| text.starts_with(mark) && !is_emphasis(text));
        let is_title = lines.get(&(number + 1)).is_some_and(|next| next.starts_with("==") || next.starts_with("--"));
        match &mut found {
            None if is_prose && !is_title && text.split(' ').count() >= 4 => found = Some((*number, plain(text))),
            Some((_, whole)) if is_prose => {
                whole.push(' ');
                whole.push_str(&plain(text));
            }
            Some(_) => break,
            None => {}
        }
    }
    found
}

fn is_emphasis(text: &str) -> bool {
    let prose = text.trim_start_matches(['*', '_', '[']);
    (text.starts_with("**") || (text.starts_with('[') && !text.starts_with("[!") && !text.contains("]: ")))
        && prose.split(' ').count() >= 6
}

/// Takes Markdown links down to their words.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("](") {
        let Some(end) = rest[at..].find(')') else { break };
        out.push_str(&rest[..at]);
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    out.replace(['[', ']', '*'], "")
}
