//! What the main agent says: answers put together from reports, help, and what rules cannot do.
//!
//! Owns headings, order, length and wording. Leaves finding and reading to the plans. Invariant: short, the best place
//! first, and nothing in it that no report and no tool result holds.

use std::fmt::Write as _;

use crate::offline::evidence::Evidence;
use crate::offline::report::{CitedPlace, Received, Report, shorten};
use crate::offline::search::definitions::UNCERTAIN;
use crate::offline::text::terms::Terms;
use crate::provider::table::{ProviderTable, any_of};

/// Places listed below the excerpt.
const MORE: usize = 3;
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
        let mut shown = got.report.clone();
        shorten(&mut shown.findings, most);
        out.push_str(&own_words(&shown));
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
///
/// The first report leads; of the others no more is told than a place and a commit.
pub(crate) fn answer(terms: &Terms, received: &[(String, Received)], evidence: &Evidence) -> String {
    let lead = places(received).unwrap_or_default();
    let Some(best) = lead.first() else {
        return format!("Nothing found for {}. Try the exact name used in the code.", terms.names());
    };
    let lines = evidence.lines_of(&best.path);
    let is_certain = !received.iter().any(|(_, got)| {
        let first = got.report.findings.first().and_then(|line| CitedPlace::parse(line));
        first.as_ref() == Some(best) && got.report.summary.starts_with(UNCERTAIN)
    });
    let mut out = String::new();
    if !is_certain {
        let _ = write!(out, "{UNCERTAIN} for {}; this is the nearest. ", terms.names());
    }
    out.push_str(&best.statement(&lines));
    if let Some(excerpt) = best.excerpt(&lines, 22) {
        let _ = write!(out, "\n\n`{}:{}` ({})\n{excerpt}", best.path, best.line, best.label.replace('`', ""));
    }
    let rest: Vec<String> = lead.iter().skip(1).take(MORE).map(CitedPlace::bullet).collect();
    if !rest.is_empty() {
        let _ = write!(out, "\n\nMore places:\n{}", rest.join("\n"));
    }
    if is_certain {
        for (title, got) in received.iter().filter(|(_, got)| !got.report.summary.starts_with(UNCERTAIN)) {
            let first = got.report.findings.first().filter(|line| {
                let place = CitedPlace::parse(line);
                place.is_none_or(|place| !lead.contains(&place))
            });
            if let Some(line) = first {
                let _ = write!(out, "\n\n{title}:\n{line}");
            }
        }
    }
    out
}

/// Returns the places of the first report that has any.
pub(crate) fn places(received: &[(String, Received)]) -> Option<Vec<CitedPlace>> {
    let of = |got: &Received| -> Vec<CitedPlace> {
        got.report.findings.iter().filter_map(|line| CitedPlace::parse(line)).collect()
    };
    received.iter().map(|(_, got)| of(got)).find(|places| !places.is_empty())
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
