//! What git, or a change log, tells.
//!
//! Owns the git commands and the form of commits. Leaves searching files to `content`. Invariant: only commands that run
//! without approval, so no shell quoting, and words only of letters and digits.

use std::fmt::Write as _;

use super::symbols;
use crate::offline::evidence::{Evidence, Exchange, PlannedCall};
use crate::offline::report::{AnswerPart, CitedPlace, Report, quotable};
use crate::offline::text::paths::{Area, area};
use crate::offline::text::terms::Terms;
use crate::offline::text::{clip, contains_any};

const FORMAT: &str = "git log --no-color --format=%h,%ad,%an,%s --date=short";
/// Stems of what commits do to anything.
const DEEDS: &str = "ad add chang introduc wrote written remov commit first last";
const LOGS: &str = "**/{CHANGELOG,CHANGES,HISTORY,NEWS,RELEASES,Changelog,Changes,History,changelog}*";

/// The recent history of the project, or the part of it that concerns some terms.
#[derive(Debug)]
pub(crate) struct GitHistory {
    pub(crate) terms: Option<Terms>,
}

impl GitHistory {
    /// Returns `true` if a request asks when something came about, or by whom.
    pub(crate) fn wanted(request: &str) -> bool {
        let lower = request.to_lowercase();
        lower.starts_with("when ")
            || ["which commit", "what commit", "who added", "who wrote", "who introduced", "who changed", "who removed"]
                .iter()
                .any(|phrase| lower.contains(phrase))
    }

    fn logs(&self) -> Vec<PlannedCall> {
        let Some(terms) = &self.terms else {
            return vec![PlannedCall::bash(&format!("{FORMAT} -n 12"), "List the latest commits")];
        };
        let plain =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        let terms = terms.clone().without(DEEDS);
        let greps = terms.exact.iter().chain(terms.words.iter().map(|word| &word.stem));
        let mut calls: Vec<PlannedCall> = terms
            .paths
            .iter()
            .filter(|path| plain(path) && !path.starts_with('/') && !path.contains(".."))
            .map(|path| PlannedCall::bash(&format!("{FORMAT} -n 6 -- {path}"), "Commits that touched the file"))
            .collect();
        for word in greps.filter(|word| plain(word)) {
            calls.push(PlannedCall::bash(&format!("{FORMAT} -n 60 -i --grep={word}"), "Commits that mention the word"));
        }
        calls.truncate(3);
        calls
    }

    fn authors() -> PlannedCall {
        PlannedCall::bash("git shortlog -sn HEAD", "Count commits by author")
    }

    fn touched() -> PlannedCall {
        PlannedCall::bash("git log --no-color --name-only --format= -n 40", "Files of the latest commits")
    }

    fn has_no_git(&self, evidence: &Evidence) -> bool {
        !self.logs().iter().any(|call| evidence.output(call).is_some_and(|text| commits(text).next().is_some()))
    }

    fn changes(&self, evidence: &Evidence) -> Vec<String> {
        let mut lines = Vec::new();
        for path in
            evidence.paths(&PlannedCall::glob(LOGS)).iter().filter(|path| !path.contains("/node_modules/")).take(1)
        {
            for (line, text) in evidence.lines_of(path).into_iter().filter(|(_, text)| is_entry(text)).take(8) {
                lines.push(CitedPlace { path: path.clone(), line, label: "change".to_owned(), text }.bullet());
            }
        }
        if let (Some(search), Some(terms)) = (self.log_search(), &self.terms) {
            let terms = terms.clone().without(DEEDS);
            let mut hits = evidence.hits(&search);
            hits.sort_by_key(|hit| std::cmp::Reverse(terms.told(&hit.text)));
            for hit in hits.into_iter().take(4) {
                let place = CitedPlace { path: hit.path, line: hit.line, label: "change".to_owned(), text: hit.text };
                lines.push(place.bullet());
            }
        }
        lines
    }

    fn log_search(&self) -> Option<PlannedCall> {
        let pattern = self.terms.clone()?.without(DEEDS).any_pattern()?;
        Some(PlannedCall::grep_in(&pattern, LOGS, 60))
    }

    fn without_git(&self, evidence: &Evidence) -> Report {
        let asked: Vec<&Exchange<'_>> = self.logs().iter().filter_map(|call| evidence.find(call)).collect();
        let says = |phrase: &str| asked.iter().any(|exchange| exchange.output.contains(phrase));
        let why = if says("not a git repository") {
            "This is not a git repository"
        } else if asked.iter().any(|exchange| !exchange.is_error) || says("does not have any commits") {
            "No commit message mentions the terms"
        } else {
            "git could not be asked"
        };
        let findings = self.changes(evidence);
        let instead = match findings.first() {
            Some(_) => "; the change log is all there is to go by",
            None => ", and no change log says more",
        };
        Report { summary: format!("{why}{instead}."), findings, answer: String::new() }
    }
}

impl AnswerPart for GitHistory {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match (n, &self.terms) {
            (0, _) => Some(self.logs()),
            (1, None) if self.has_no_git(evidence) => Some(vec![PlannedCall::glob(LOGS)]),
            (1, None) => Some(vec![Self::authors(), Self::touched()]),
            (1, Some(_)) if self.has_no_git(evidence) => Some(self.log_search().into_iter().collect()),
            (2, None) if self.has_no_git(evidence) => {
                let logs = evidence.paths(&PlannedCall::glob(LOGS));
                Some(logs.iter().take(1).map(|path| PlannedCall::read_part(path, 1, 60)).collect())
            }
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        if self.has_no_git(evidence) {
            return self.without_git(evidence);
        }
        let mut found: Vec<Commit<'_>> = Vec::new();
        let calls = self.logs();
        for call in &calls {
            for commit in commits(evidence.output(call).unwrap_or_default()) {
                if !found.iter().any(|known| known.hash == commit.hash) {
                    found.push(commit);
                }
            }
        }
        let mut findings = Vec::new();
        let mut summary = match &self.terms {
            Some(terms) => {
                let telling = terms.clone().without(DEEDS);
                let told = |commit: &Commit<'_>| telling.told(commit.subject);
                // Listed newest first; the sort keeps that order among equals.
                found.sort_by_key(|commit| std::cmp::Reverse(told(commit)));
                let most = found.first().map_or(0, told);
                found.retain(|commit| told(commit) == most || told(commit) >= 2);
                let nearest = found.first().map(Commit::sentence).unwrap_or_default();
                let first = found.iter().rev().filter(|commit| told(commit) == most).min_by_key(|commit| commit.date);
                let first = first.map(Commit::sentence).unwrap_or_default();
                let count = found.len();
                if count == 1 {
                    format!("One commit message mentions {}: {nearest}.", telling.names())
                } else {
                    let names = telling.names();
                    format!("{count} commit messages mention {names}: the earliest is {first}, the latest {nearest}.")
                }
            }
            None => format!("The latest commit is {}.", found.first().map(Commit::sentence).unwrap_or_default()),
        };
        found.truncate(12);
        findings.extend(found.iter().map(Commit::bullet));
        if self.terms.is_none() {
            if let Some(authors) = evidence.output(&Self::authors()).and_then(authors) {
                let _ = write!(summary, " {authors}");
            }
            if let Some(hot) = evidence.output(&Self::touched()).and_then(most_touched) {
                findings.insert(0, hot);
            }
        }
        Report { summary, findings, answer: String::new() }
    }
}

/// What changed in the file that a question names or means.
#[derive(Debug)]
pub(crate) struct PlaceHistory {
    terms: Terms,
}

const CHANGES: &str = "changed recently|changed lately|recently changed|changed last|changes in |changes to |changed in |\
    history of |log of |log for ";

impl PlaceHistory {
    pub(crate) fn new(question: &str) -> Self {
        let asking = "chang changes recent late lately last histor log commit touch updat";
        Self { terms: Terms::of(question).without(asking) }
    }

    /// Returns `true` if a question asks what changed in a place that it names.
    pub(crate) fn wanted(question: &str) -> bool {
        let place = Self::new(question).terms;
        let lower = question.to_lowercase();
        let is_named = !place.paths.is_empty();
        let asks = contains_any(&lower, CHANGES) || is_named && contains_any(&lower, "changed|log |history");
        // Else it is asked how the program changes something.
        let is_other = !is_named && contains_any(&lower, "how |where |does ");
        asks && !is_other && !place.is_empty()
    }

    fn globs(&self) -> Vec<PlannedCall> {
        let named = self.terms.paths.iter().map(|path| format!("**/{}", path.trim_matches('/')));
        named.take(2).map(|pattern| PlannedCall::glob(&pattern)).collect()
    }

    fn search(&self) -> Option<PlannedCall> {
        (self.terms.count() > 0).then(|| symbols::definitions(&self.terms.query(), None, 3))
    }

    /// Returns the file or folder that is meant.
    fn path(&self, evidence: &Evidence) -> Option<String> {
        let mut named: Vec<String> = self.globs().iter().flat_map(|call| evidence.paths(call)).collect();
        named.sort_by_key(|path| (path.matches('/').count(), path.clone()));
        let found = || symbols::entries(&self.search()?, evidence).into_iter().next().map(|entry| entry.path);
        let folder = || self.terms.paths.first().filter(|path| path.contains('/')).cloned();
        let path = named.into_iter().next().or_else(folder).or_else(found)?;
        let is_plain = path.chars().all(|c| c.is_ascii_alphanumeric() || "_-./+".contains(c));
        (is_plain && !path.starts_with(['/', '-']) && !path.contains("..")).then_some(path)
    }

    fn log(path: &str) -> PlannedCall {
        PlannedCall::bash(&format!("{FORMAT} -n 8 -- {path}"), "Commits that touched the place")
    }
}

impl AnswerPart for PlaceHistory {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        match n {
            0 => Some(self.globs().into_iter().chain(self.search()).collect()),
            1 => Some(self.path(evidence).iter().map(|path| Self::log(path)).collect()),
            _ => None,
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let Some(path) = self.path(evidence) else {
            let summary = format!("Nothing in the files matches {}.", self.terms.names());
            return Report { summary, ..Report::default() };
        };
        let output = evidence.output(&Self::log(&path));
        let found: Vec<Commit<'_>> = commits(output.unwrap_or_default()).collect();
        let summary = match (found.first(), output) {
            (Some(last), _) => format!("`{path}` was last changed by {}.", last.sentence()),
            (None, Some(_)) => format!("Nothing certain: git knows no commit of `{path}`."),
            (None, None) => format!("Nothing certain: git could not be asked about `{path}`."),
        };
        Report { summary, findings: found.iter().map(Commit::bullet).collect(), answer: String::new() }
    }
}

struct Commit<'t> {
    hash: &'t str,
    date: &'t str,
    author: &'t str,
    subject: &'t str,
}

impl Commit<'_> {
    fn bullet(&self) -> String {
        format!("- commit `{}` {} {}: {}", self.hash, self.date, self.author, quotable(self.subject))
    }

    fn sentence(&self) -> String {
        format!("`{}` of {} by {}, \"{}\"", self.hash, self.date, self.author, clip(self.subject, 100))
    }
}

fn commits(text: &str) -> impl Iterator<Item = Commit<'_>> {
    text.lines().filter_map(|line| {
        let mut fields = line.splitn(4, ',');
        let (hash, date, author, subject) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let is_hash = hash.len() >= 6 && hash.chars().all(|c| c.is_ascii_hexdigit());
        is_hash.then_some(Commit { hash, date, author, subject })
    })
}

fn authors(text: &str) -> Option<String> {
    let rows: Vec<(usize, &str)> = text
        .lines()
        .filter_map(|line| {
            let (count, name) = line.trim().split_once(['\t', ' '])?;
            Some((count.parse().ok()?, name.trim()))
        })
        .collect();
    let total: usize = rows.iter().map(|(count, _)| count).sum();
    let top: Vec<String> = rows.iter().take(3).map(|(count, name)| format!("{name} ({count})")).collect();
    (total > 0).then(|| format!("Commits by author, {total} in all: {}.", top.join(", ")))
}

fn most_touched(text: &str) -> Option<String> {
    let mut counts: Vec<(usize, &str)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && area(line) != Area::Foreign) {
        match counts.iter_mut().find(|(_, path)| *path == line) {
            Some(entry) => entry.0 += 1,
            None => counts.push((1, line)),
        }
    }
    counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let top: Vec<String> = counts.iter().take(4).map(|(count, path)| format!("`{path}` ({count})")).collect();
    (!top.is_empty()).then(|| format!("- Changed most often in the latest 40 commits: {}", top.join(", ")))
}

/// Returns `true` if a line of a change log says something: a version or a change.
fn is_entry(text: &str) -> bool {
    let text = text.trim();
    let is_rule = text.chars().all(|c| "=-~#*".contains(c));
    !is_rule
        && (text.starts_with(['#', '-', '*']) || text.to_lowercase().starts_with("version"))
        && !text.starts_with("<!--")
}
