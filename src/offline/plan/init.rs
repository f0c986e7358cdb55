//! Writing the memory file of a project, for `/init`, as far as that takes no language model.
//!
//! Owns what goes into the file. Leaves looking to the parts, and the question before anything is written to the program.
//! Invariants: a file that is there stays as it is; what is written was found.

use std::fmt::Write as _;

use serde_json::json;

use super::answer::how_to_connect;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::report::{AnswerPart, Report};
use crate::offline::request::Topic;

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

/// The parts that tell what the file says.
pub(crate) struct WriteMemory([(&'static str, Box<dyn AnswerPart>); 4]);

impl WriteMemory {
    pub(crate) fn new() -> Self {
        Self(SECTIONS.map(|(heading, topic)| (heading, project::part(topic, ""))))
    }

    fn write(&self, evidence: &Evidence) -> PlannedCall {
        let mut text = "# For agents\n".to_owned();
        for (heading, part) in &self.0 {
            let report = part.report(evidence);
            if !report.findings.is_empty() || cites(&report.summary) {
                let _ = write!(text, "\n## {heading}\n\n{}\n", report.summary.trim());
            }
        }
        PlannedCall::new("Write", json!({ "file_path": FILE, "content": text }))
    }
}

/// Returns `true` if a text names a place, as in `Cargo.toml:5`.
fn cites(text: &str) -> bool {
    let is_place = |code: &str| code.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    text.split('`').skip(1).step_by(2).any(is_place)
}

fn look() -> PlannedCall {
    PlannedCall::glob("{AGENTS.md,CLAUDE.md,.claude/CLAUDE.md}")
}

/// Returns the file that is there already.
fn present(evidence: &Evidence) -> Option<String> {
    let names = [FILE, "CLAUDE.md", ".claude/CLAUDE.md"];
    evidence.paths(&look()).into_iter().find(|path| names.contains(&path.as_str()))
}

impl AnswerPart for WriteMemory {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let Some(n) = n.checked_sub(1) else { return Some(vec![look()]) };
        let calls = |n| -> Vec<PlannedCall> {
            let stages = self.0.iter().filter_map(|(_, part)| part.stage(n, evidence));
            stages.flatten().fold(Vec::new(), |mut calls, call| {
                calls.extend((!calls.contains(&call)).then_some(call));
                calls
            })
        };
        match calls(n) {
            _ if present(evidence).is_some() => None,
            calls if !calls.is_empty() => Some(calls),
            _ => (n > 0 && !calls(n - 1).is_empty()).then(|| vec![self.write(evidence)]),
        }
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let written = self.write(evidence);
        let summary = match (present(evidence), evidence.find(&written)) {
            (Some(path), _) => format!(
                "`{path}` is there already, and stays as it is: to improve it takes a language model. To connect one: {}.",
                how_to_connect()
            ),
            (None, None) => format!("`{FILE}` was not written: the tool Write is not on offer here."),
            (None, Some(exchange)) if exchange.is_error => {
                format!("`{FILE}` was not written. {}", exchange.output.lines().next().unwrap_or_default())
            }
            (None, Some(_)) => format!(
                "Wrote `{FILE}` with what the project says of itself, each fact with its place. Agents read it from your next \
                 message on. Add what no file says: `/memory` opens it, and `#text` adds a line."
            ),
        };
        Report { summary, ..Report::default() }
    }
}
