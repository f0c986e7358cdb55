//! Writing the memory file of a project, for `/init`, as far as that takes no language model.
//!
//! Owns what goes into the file. Leaves looking to the parts, and the question before anything is written to the program.
//! Invariants: a file that is there stays as it is; what is written was found.

use std::fmt::Write as _;

use serde_json::json;

use super::answer::how_to_connect;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::report::{Report, Reported};
use crate::offline::tables::Topic;

/// What the user's message is, whose first line tells it.
const TASK: &str = include_str!("../../../assets/prompts/init.md");
const FILE: &str = "AGENTS.md";
/// What the file says, by headings.
const SECTIONS: [(&str, Topic); 4] = [
    ("What it is", Topic::About),
    ("Toolchain", Topic::Toolchain),
    ("Tests", Topic::TestRun),
    ("Where to start", Topic::EntryPoints),
];

/// Returns `true` if the task is to write the memory file.
pub(crate) fn is_wanted(task: &str) -> bool {
    TASK.lines().next().is_some_and(|line| task.starts_with(line))
}

/// Writes the file, unless there is one.
pub(crate) fn answer(evidence: &Evidence) -> Reported {
    let look = PlannedCall::glob("{AGENTS.md,CLAUDE.md,.claude/CLAUDE.md}");
    evidence.ask([look.clone()])?;
    let names = [FILE, "CLAUDE.md", ".claude/CLAUDE.md"];
    if let Some(path) = evidence.paths(&look).into_iter().find(|path| names.contains(&path.as_str())) {
        let why = "is there already, and stays as it is: to improve it takes a language model. To connect one:";
        return Ok(Report::say(format!("`{path}` {why} {}.", how_to_connect())));
    }
    // All are asked for before the first is waited for.
    let reports = SECTIONS.map(|(heading, topic)| (heading, project::answer(topic, "", evidence)));
    let mut text = "# For agents\n".to_owned();
    for (heading, report) in reports {
        let report = report?;
        if !report.findings.is_empty() || cites(&report.summary) {
            let _ = write!(text, "\n## {heading}\n\n{}\n", report.summary.trim());
        }
    }
    let write = PlannedCall::new("Write", json!({ "file_path": FILE, "content": text }));
    evidence.ask([write.clone()])?;
    Ok(Report::say(match evidence.find(&write) {
        None => format!("`{FILE}` was not written: the tool Write is not on offer here."),
        Some(exchange) if exchange.is_error => {
            format!("`{FILE}` was not written. {}", exchange.output.lines().next().unwrap_or_default())
        }
        Some(_) => format!(
            "Wrote `{FILE}` with what the project says of itself, each fact with its place. Agents read it from your next \
             message on. Add what no file says: `/memory` opens it, and `#text` adds a line."
        ),
    }))
}

/// Returns `true` if a text names a place, as in `Cargo.toml:5`.
fn cites(text: &str) -> bool {
    let is_place = |code: &str| code.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    text.split('`').skip(1).step_by(2).any(is_place)
}
