//! What the project is and how its files are arranged.
//!
//! Owns counting by language and naming directories. Leaves manifests to `build`. Invariant: a count that rests on a cut
//! listing says "at least".

use std::collections::BTreeMap;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report, safe};
use crate::offline::text::paths::{self, Area};
use crate::offline::text::source;
use crate::offline::text::{lists, sentence};

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

    fn is_cut(evidence: &Evidence) -> bool {
        let text = evidence.output(&lines_per_file()).unwrap_or_default().to_lowercase();
        ["truncated", "left out", "omitted", "more lines", "go on with"].iter().any(|word| text.contains(word))
    }
}

impl AnswerPart for LayoutPart {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(vec![PlannedCall::ls("."), PlannedCall::glob(READMES), lines_per_file()]),
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
        let is_cut = Self::is_cut(evidence);
        let mut findings = languages(&files, is_cut);
        if is_cut {
            let listing = evidence.output(&PlannedCall::ls(".")).unwrap_or_default();
            findings.extend(top_level(listing));
        } else {
            findings.extend(directories(&files));
        }
        for path in Self::heads(evidence).iter().take(6) {
            if let Some((line, text)) = source::purpose(path, &evidence.lines_of(path)) {
                findings.push(format!("- `{path}:{line}`: {}", safe(&sentence(&text, 160))));
            }
        }
        findings.extend(largest(&files).filter(|_| !is_cut));
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

/// Names the largest source files.
fn largest(files: &[(String, usize)]) -> Option<String> {
    let mut sources: Vec<&(String, usize)> =
        files.iter().filter(|(path, _)| paths::area(path) == Area::Source && !paths::is_declaration(path)).collect();
    sources.sort_by_key(|(path, lines)| (std::cmp::Reverse(*lines), path.clone()));
    let shown: Vec<String> = sources.iter().take(5).map(|(path, lines)| format!("`{path}` ({lines} lines)")).collect();
    (sources.len() > 2).then(|| format!("- Largest source files: {}", shown.join(", ")))
}

/// Names the directories of a listing, for a folder too large to count.
fn top_level(listing: &str) -> Option<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let below: Vec<&str> = listing.lines().skip(1).filter(|line| !line.trim().is_empty()).collect();
    let top = below.first().map_or(0, |line| depth(line));
    let entries = below.into_iter().filter(|line| depth(line) == top);
    let names: Vec<&str> = entries
        .filter_map(|line| line.trim().trim_start_matches("- ").strip_suffix('/'))
        .filter(|name| !name.is_empty())
        .collect();
    let shown: Vec<String> = names.iter().take(12).map(|name| format!("`{}/`", safe(name))).collect();
    let more = if names.len() > 12 { format!(" and {} more", names.len() - 12) } else { String::new() };
    (!shown.is_empty())
        .then(|| format!("- Directories: {}{more}; there are too many files to count by directory", shown.join(", ")))
}

fn languages(files: &[(String, usize)], is_cut: bool) -> Vec<String> {
    let mut tally: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (path, lines) in files {
        if let Some(language) = paths::language(path) {
            let entry = tally.entry(language).or_default();
            *entry = (entry.0 + 1, entry.1 + lines);
        }
    }
    let mut rows: Vec<(&str, (usize, usize))> = tally.into_iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1.1));
    let shown: Vec<String> = rows
        .iter()
        .take(5)
        .map(|(name, (count, lines))| {
            format!("{name} ({count} file{}, {lines} lines)", if *count == 1 { "" } else { "s" })
        })
        .collect();
    let least = if is_cut { "at least " } else { "" };
    if shown.is_empty() { Vec::new() } else { vec![format!("- Languages: {least}{}", shown.join(", "))] }
}

fn directories(files: &[(String, usize)]) -> Vec<String> {
    let top_of = |path: &str| path.split_once('/').map(|(top, _)| top.to_owned());
    let most = |top: &str| {
        files.iter().filter(|(path, _)| top_of(path).as_deref() == Some(top)).count() * 10 >= files.len() * 7
    };
    let mut tally: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (path, lines) in files {
        let Some(top) = top_of(path) else { continue };
        // A directory that holds nearly everything says little; the ones inside it say more.
        let inner =
            path[top.len() + 1..].split_once('/').filter(|_| most(&top)).map(|(inner, _)| format!("{top}/{inner}"));
        for dir in std::iter::once(top).chain(inner) {
            let entry = tally.entry(dir).or_default();
            *entry = (entry.0 + 1, entry.1 + lines);
        }
    }
    let mut rows: Vec<(String, (usize, usize))> = tally.into_iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.1.1));
    let shown: Vec<String> = rows
        .iter()
        .take(8)
        .map(|(name, (count, _))| format!("`{name}/` ({count} file{})", if *count == 1 { "" } else { "s" }))
        .collect();
    if shown.is_empty() { Vec::new() } else { vec![format!("- Directories: {}", shown.join(", "))] }
}
