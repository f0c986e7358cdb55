//! Writing the memory file of a project, for `/init`, as far as that takes no language model.
//!
//! Owns what goes into the file. Leaves looking to the parts, and the question before anything is written to the program.
//! Invariants: a file that is there stays as it is; what is written was found.

use std::fmt::Write as _;

use serde_json::json;

use super::AnswerPlan;
use super::answer::how_to_connect;
use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::project;
use crate::offline::report::AnswerPart;
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

pub(crate) struct WriteMemory {
    parts: [(&'static str, Box<dyn AnswerPart>); 4],
}

impl WriteMemory {
    pub(crate) fn new() -> Self {
        Self { parts: SECTIONS.map(|(heading, topic)| (heading, project::part(topic, ""))) }
    }

    /// Returns the file that is there already.
    fn present(evidence: &Evidence) -> Option<String> {
        let names = [FILE, "CLAUDE.md", ".claude/CLAUDE.md"];
        evidence.paths(&present()).into_iter().find(|path| names.contains(&path.as_str()))
    }

    fn calls(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let stages: Vec<_> = self.parts.iter().filter_map(|(_, part)| part.stage(n, evidence)).collect();
        let mut calls: Vec<PlannedCall> = Vec::new();
        for call in stages.iter().flatten() {
            if !calls.contains(call) {
                calls.push(call.clone());
            }
        }
        (!stages.is_empty()).then_some(calls)
    }

    fn write(&self, evidence: &Evidence) -> PlannedCall {
        let mut text = "# For agents\n".to_owned();
        for (heading, part) in &self.parts {
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

fn present() -> PlannedCall {
    PlannedCall::glob("{AGENTS.md,CLAUDE.md,.claude/CLAUDE.md}")
}

impl AnswerPlan for WriteMemory {
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        let Some(n) = n.checked_sub(1) else { return Some(vec![present()]) };
        if Self::present(evidence).is_some() {
            return None;
        }
        let is_past = n > 0 && self.calls(n - 1, evidence).is_none();
        match self.calls(n, evidence) {
            Some(calls) => Some(calls),
            None => (!is_past).then(|| vec![self.write(evidence)]),
        }
    }

    fn conclude(&self, evidence: &Evidence) -> String {
        if let Some(path) = Self::present(evidence) {
            let connect = how_to_connect();
            return format!(
                "`{path}` is there already, and stays as it is: to improve it takes a language model. To connect one: {connect}."
            );
        }
        match evidence.find(&self.write(evidence)) {
            None => format!("`{FILE}` was not written: the tool Write is not on offer here."),
            Some(exchange) if exchange.is_error => {
                let why = exchange.output.lines().next().unwrap_or_default();
                format!("`{FILE}` was not written. {why}")
            }
            Some(_) => format!(
                "Wrote `{FILE}` with what the project says of itself, each fact with its place. Agents read it from your next \
                 message on. Add what no file says: `/memory` opens it, and `#text` adds a line."
            ),
        }
    }
}
