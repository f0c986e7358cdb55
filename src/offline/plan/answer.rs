//! What the main agent says: answers put together from reports, help, and what rules cannot do.
//!
//! Owns headings, order, length and wording. Leaves finding and reading to the plans. Invariant: short, the best place
//! first, and nothing in it that no report and no tool result holds.

use crate::offline::report::{Received, Report, shorten};
use crate::provider::table::{ProviderTable, any_of};

/// Findings of one section among several.
const SECTION: usize = 9;

/// Writes one section for each report; those that found nothing share the last lines.
pub(crate) fn sections(received: &[(String, Received)]) -> String {
    let (mut out, mut nothing) = (Vec::new(), Vec::new());
    for (title, got) in received {
        let mut report = got.report.clone();
        if report.findings.is_empty() && (!got.is_complete() || received.len() > 1) {
            nothing.extend(got.is_complete().then_some(report.summary));
            continue;
        }
        // Shown output stands between fences; cutting it would leave one open.
        if received.len() > 1 && !report.findings.iter().any(|line| line.starts_with("```")) {
            shorten(&mut report.findings, SECTION);
        }
        let heading = if received.len() > 1 { format!("### {title}\n\n") } else { String::new() };
        out.push(heading + &own_words(&report));
    }
    out.push(nothing.join(" "));
    out.join("\n\n").trim().to_owned()
}

/// Writes a report as an answer.
pub(crate) fn own_words(report: &Report) -> String {
    let head = report.summary.trim();
    // The place that the answer itself is about need not be listed once more.
    let is_news = |line: &&String| {
        let cite = line.strip_prefix("- `").and_then(|rest| rest.split_once('`'));
        !cite.is_some_and(|(cite, _)| head.contains(&format!("`{cite}`")))
    };
    let findings: Vec<&str> = report.findings.iter().filter(is_news).map(String::as_str).collect();
    format!("{head}\n\n{}", findings.join("\n")).trim().to_owned()
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
