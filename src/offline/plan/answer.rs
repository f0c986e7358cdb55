//! What the main agent says: answers put together from reports, help, and what rules cannot do.
//!
//! Owns headings, order, length and wording. Leaves finding and reading to the plans. Invariant: short, the best place
//! first, and nothing in it that no report and no tool result holds.

use std::fmt::Write as _;

use crate::offline::evidence::Evidence;
use crate::offline::report::{CitedPlace, Received, Report};
use crate::offline::search::content;
use crate::offline::search::rank::{self, Wants};
use crate::offline::text::terms::Terms;
use crate::provider::table::{ProviderTable, any_of};

/// Places listed below the excerpt.
const MORE: usize = 5;
/// Commits or change log entries listed.
const HISTORY: usize = 2;
/// Findings of one section among several.
const SECTION: usize = 9;

/// Writes one section for each report; those that found nothing share the last lines.
pub(crate) fn sections(received: &[(String, Received)]) -> String {
    let mut out = String::new();
    let mut nothing: Vec<&str> = Vec::new();
    for (title, got) in received {
        let Report { summary, findings, answer } = &got.report;
        if findings.is_empty() && (!got.is_complete() || received.len() > 1) {
            if got.is_complete() {
                nothing.push(if answer.is_empty() { summary } else { answer });
            }
            continue;
        }
        if received.len() > 1 {
            let _ = write!(out, "\n\n### {title}\n\n");
        }
        // Shown output stands between fences; cutting it would leave one open.
        let is_output = findings.iter().any(|line| line.starts_with("```"));
        let most = if received.len() > 1 && !is_output { SECTION } else { 80 };
        let shown = own_words(&Report {
            summary: summary.clone(),
            findings: findings.iter().take(most).cloned().collect(),
            answer: answer.clone(),
        });
        out.push_str(&shown);
        if findings.len() > most {
            let _ = write!(out, "\n- and {} more", findings.len() - most);
        }
    }
    if !nothing.is_empty() {
        let _ = write!(out, "\n\n{}", nothing.join(" "));
    }
    out.trim().to_owned()
}

/// Writes a report as an answer.
pub(crate) fn own_words(report: &Report) -> String {
    let head = if report.answer.is_empty() { &report.summary } else { &report.answer };
    let mut out = head.trim().to_owned();
    if !report.findings.is_empty() {
        let _ = write!(out, "\n\n{}", report.findings.join("\n").trim_end());
    }
    out
}

/// Writes the answer to a question: one sentence, the best place, some more.
pub(crate) fn answer(
    asked: &str,
    terms: &Terms,
    places: &[CitedPlace],
    received: &[(String, Received)],
    evidence: &Evidence,
) -> String {
    let Some(best) = places.first() else {
        let mut out = format!("Nothing found for {}.", terms.names());
        push_history(&mut out, terms, received);
        out.push_str(" Try the exact name used in the code.");
        return out;
    };
    let lines = evidence.lines_of(&best.path);
    let mut out = String::new();
    if content::coverage(terms, best, &lines) * 3 < rank::telling(terms) * 2 {
        let _ = write!(out, "No place matches all of {}; this is the nearest. ", terms.names());
    }
    out.push_str(&content::statement(best, &lines, Wants::of(asked)));
    let mut shown = 0;
    for (at, place) in places.iter().enumerate().take(2) {
        // What a file says of itself is followed by the first thing in it that is a place of its own.
        let is_next = at == 1 && best.label == "file" && !["text", "file"].contains(&place.label.as_str());
        let excerpt = place.excerpt(&evidence.lines_of(&place.path), if at == 0 { 22 } else { 14 });
        match excerpt.filter(|_| at == 0 || is_next) {
            Some(excerpt) => {
                let _ = write!(out, "\n\n`{}:{}` ({})\n{excerpt}", place.path, place.line, place.label);
                shown = at + 1;
            }
            None => break,
        }
    }
    let rest: Vec<String> = places.iter().skip(shown.max(1)).take(MORE).map(CitedPlace::bullet).collect();
    if !rest.is_empty() {
        let _ = write!(out, "\n\nMore places:\n{}", rest.join("\n"));
    }
    push_history(&mut out, terms, received);
    out
}

/// Adds the commits, or the entries of a change log, that concern the terms and not just one of them by chance.
fn push_history(out: &mut String, terms: &Terms, received: &[(String, Received)]) {
    let all = || received.iter().flat_map(|(_, got)| &got.report.findings);
    let concerns = |text: &str| rank::matched(terms, text).len() >= rank::telling(terms).clamp(1, 2);
    let commits: Vec<&str> = all()
        .filter(|line| line.starts_with("- commit `") && concerns(line))
        .take(HISTORY)
        .map(String::as_str)
        .collect();
    if !commits.is_empty() {
        let _ = write!(out, "\n\nCommits that mention it:\n{}", commits.join("\n"));
        return;
    }
    let entries = all().filter_map(|line| CitedPlace::parse(line)).filter(|place| place.label == "change");
    let tells_most =
        |text: &str| rank::telling(terms) > 1 && rank::matched(terms, text).len() >= (rank::telling(terms) - 1).max(2);
    let entries: Vec<String> =
        entries.filter(|place| tells_most(&place.text)).take(HISTORY).map(|place| place.bullet()).collect();
    if !entries.is_empty() {
        let _ = write!(out, "\n\nIn the change log:\n{}", entries.join("\n"));
    }
}

/// Returns how to connect a language model.
pub(crate) fn how_to_connect() -> String {
    let table = ProviderTable::default();
    let (keys, servers) = (any_of(&table.main_keys()), any_of(&table.server_names()));
    format!("set {keys}, start a local {servers} server, or pass `--model provider/name`")
}

pub(crate) fn help() -> String {
    format!(
        "I am the built-in offline model: rules, not a language model. I search and read this project, alone or with \
         subagents, and cite what I find. Try:\n\n\
         - `explain this project`\n\
         - `where is the config file parsed?`\n\
         - `who calls parse_config?`\n\
         - `use a subtask to find what testing framework this project uses`\n\
         - `read all .rs files and summarize what each one does`\n\
         - `use 3 subagents: find the entry points; find the error types; find the tests`\n\
         - ``run `git log --oneline -n 5` ``\n\n\
         To connect a language model: {}.",
        how_to_connect()
    )
}

/// Declines in one sentence what only a language model can do.
pub(crate) fn decline(what: &str) -> String {
    format!("{what} needs a language model, and none is connected: {}.", how_to_connect())
}

pub(crate) fn unclear() -> String {
    format!(
        "I found no name or topic to search for in that. I am the built-in offline model and understand requests such as \
         `explain this project` or `where is \"some name\" defined?`. To connect a language model: {}.",
        how_to_connect()
    )
}
