//! What the main agent says: answers put together from reports, help, and what rules cannot do.
//!
//! Owns headings, order, length and wording. Leaves finding and reading to the plans. Invariant: short, the best place
//! first, and nothing in it that no report and no tool result holds.

use std::fmt::Write as _;

use crate::offline::report::{Received, Report, shorten};
use crate::provider::table::{ProviderTable, any_of};

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
    // The place that the answer itself is about need not be listed once more.
    let is_news = |line: &&String| {
        let cite = line.strip_prefix("- `").and_then(|rest| rest.split_once('`'));
        !cite.is_some_and(|(cite, _)| report.answer.contains(&format!("`{cite}`")))
    };
    let findings: Vec<&str> = report.findings.iter().filter(is_news).map(String::as_str).collect();
    if !findings.is_empty() {
        let _ = write!(out, "\n\n{}", findings.join("\n").trim_end());
    }
    out
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
