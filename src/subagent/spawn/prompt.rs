//! System prompts: what an agent reads about itself and where it works.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use crate::definition::AgentDefinition;
use crate::message::{reminder, sanitize_line};
use crate::subagent::spawn::capabilities::Delegation;

const MAIN: &str = include_str!("../../../assets/prompts/main.md");
const SAFETY: &str = include_str!("../../../assets/prompts/safety.md");
const DELEGATION: &str = include_str!("../../../assets/prompts/delegation.md");
const SURROUNDINGS: &str = include_str!("../../../assets/prompts/surroundings.md");
const SUBAGENT: &str = include_str!("../../../assets/prompts/subagent.md");
const SUBAGENT_PLACE: &str = include_str!("../../../assets/prompts/subagent_place.md");

/// What the command line says to the main agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenPrompts {
    /// In the place of the program's own words on tone and work.
    pub instead: Option<String>,
    /// At the end, whatever else is said.
    pub appended: Option<String>,
}

impl GivenPrompts {
    /// Adds a section at the end.
    pub fn append(&mut self, section: &str) {
        let before = self.appended.take();
        self.appended = Some(before.map_or_else(|| section.to_owned(), |before| format!("{before}\n\n{section}")));
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptEnvironment {
    pub cwd: PathBuf,
    pub project: PathBuf,
    /// Operating system and architecture.
    pub platform: String,
    /// Today, as `2026-11-21`.
    pub date: String,
    /// The checked-out branch, where there is one.
    pub branch: Option<String>,
    /// What the conversation began with, if that was in an earlier run of the program: date and branch.
    pub begun: Option<(String, Option<String>)>,
    pub given: GivenPrompts,
}

impl PromptEnvironment {
    /// Returns the environment that the main agent's prompt describes: the one that its conversation began in, so that the
    /// prompt stays as it was and the service finds the conversation in its cache.
    fn of_main(&self) -> Cow<'_, Self> {
        match &self.begun {
            None => Cow::Borrowed(self),
            Some((date, branch)) => Cow::Owned(Self { date: date.clone(), branch: branch.clone(), ..self.clone() }),
        }
    }

    /// Returns what the main agent has to know of today that its prompt says otherwise; `None` if nothing has changed.
    pub fn changes(&self) -> Option<String> {
        let main = self.of_main();
        let date = (main.date != self.date).then(|| format!("Today's date: {}.", self.date));
        let name = |branch: &Option<String>| branch.as_deref().map_or_else(|| "none".to_owned(), quoted);
        let branch = (main.branch != self.branch).then(|| format!("Branch: {}.", name(&self.branch)));
        let changes: Vec<String> = date.into_iter().chain(branch).collect();
        let heading = "This conversation goes on later than it began. What has changed of what you were told at first:";
        (!changes.is_empty()).then(|| reminder(&format!("{heading}\n{}", changes.join("\n"))))
    }

    fn fill(&self, template: &str) -> String {
        template
            .replace("{{cwd}}", &quoted(&self.cwd.to_string_lossy()))
            .replace("{{project}}", &quoted(&self.project.to_string_lossy()))
            .replace("{{platform}}", &self.platform)
            .replace("{{date}}", &self.date)
            .replace("{{branch}}", &self.branch.as_deref().map_or_else(|| "none".to_owned(), quoted))
    }

    /// Returns the main agent's system prompt. What is said of delegation is for one that can delegate.
    pub fn main_prompt(&self, memory_files: &str, delegation: Delegation) -> Arc<str> {
        let main = self.given.instead.as_deref().unwrap_or(MAIN);
        let delegation = if delegation == Delegation::Open { DELEGATION } else { "" };
        joined([main, SAFETY, delegation, &self.of_main().fill(SURROUNDINGS), memory_files, self.appended()])
    }

    fn appended(&self) -> &str {
        self.given.appended.as_deref().unwrap_or_default()
    }

    /// Returns the system prompt of a main agent that works as a definition: the definition's takes the place of the
    /// program's own words on tone and work. What is said of delegation is for one that can delegate.
    pub fn lead_prompt(
        &self,
        definition: &AgentDefinition,
        (notes, memory_files): (Option<&str>, &str),
        delegation: Delegation,
    ) -> Arc<str> {
        let delegation = if delegation == Delegation::Open { DELEGATION } else { "" };
        let environment = self.of_main().fill(SURROUNDINGS);
        let (prompt, notes) = (definition.prompt.as_str(), notes.unwrap_or_default());
        joined([prompt, notes, SAFETY, delegation, &environment, memory_files, self.appended()])
    }

    /// Returns a subagent's system prompt: its definition's, then what holds for every subagent.
    pub fn child_prompt(&self, definition: &AgentDefinition, notes: Option<&str>, report_chars: usize) -> Arc<str> {
        let place = self.fill(SUBAGENT_PLACE);
        joined([&definition.prompt, notes.unwrap_or_default(), &reporting(report_chars), &place])
    }

    /// Returns what holds for every subagent, for one that works somewhere else: what it is, and where, it is told there.
    pub fn remote_prompt(report_chars: usize) -> Arc<str> {
        reporting(report_chars).into()
    }
}

fn reporting(report_chars: usize) -> String {
    SUBAGENT.trim().replace("{{report_chars}}", &report_chars.to_string())
}

/// Returns a name that someone else may have chosen as data: on one line, between backticks that it holds none of.
fn quoted(name: &str) -> String {
    let line: String = sanitize_line(name).chars().filter(|c| !c.is_control() && *c != '`').collect();
    format!("`{line}`")
}

/// Joins what there is of the sections by blank lines.
pub(in crate::subagent) fn joined<const N: usize>(sections: [&str; N]) -> Arc<str> {
    let sections: Vec<&str> = sections.iter().map(|section| section.trim()).filter(|text| !text.is_empty()).collect();
    sections.join("\n\n").into()
}

/// Returns the user message a child starts from.
pub(in crate::subagent) fn task(prompt: &str, context: Option<&str>) -> String {
    match context.map(str::trim).filter(|context| !context.is_empty()) {
        Some(context) => format!("{}\n\n<context>\n{context}\n</context>", prompt.trim()),
        None => prompt.trim().to_owned(),
    }
}
