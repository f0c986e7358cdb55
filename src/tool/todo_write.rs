//! `TodoWrite`: the agent's list of things to do, kept in the conversation and shown to the user.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{Concurrency, Plan, Tool, ToolContext, ToolOutput, ToolView};
use crate::message::loose_name;
use crate::permission::ToolKind;

const MAX_ENTRIES: usize = 100;

pub(super) struct TodoWrite;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TodoInput {
    /// The whole list; it replaces the one before.
    #[serde(deserialize_with = "without_dropped")]
    todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    type Input = TodoInput;
    type Prepared = Vec<Todo>;

    const NAME: &'static str = "TodoWrite";
    const DESCRIPTION: &'static str = include_str!("../../assets/tools/TodoWrite.md");
    const KIND: ToolKind = ToolKind::Other;

    /// Each list replaces the one before.
    fn concurrency(&self, _input: &TodoInput) -> Concurrency {
        Concurrency::InOrder
    }

    fn title(&self, input: &TodoInput, _context: &ToolContext) -> String {
        entries(input.todos.len())
    }

    async fn prepare(&self, input: TodoInput, _context: &ToolContext) -> Result<(Plan, Vec<Todo>), ToolOutput> {
        Ok((Plan::free(), checked(input.todos)?))
    }

    async fn run(&self, todos: Vec<Todo>, _context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        Ok(noted(todos))
    }
}

fn checked(todos: Vec<Todo>) -> Result<Vec<Todo>, ToolOutput> {
    if todos.len() > MAX_ENTRIES {
        return Err(ToolOutput::error(format!("The list may have at most {MAX_ENTRIES} entries. Merge some.")));
    }
    if todos.iter().any(|todo| todo.content.trim().is_empty()) {
        return Err(ToolOutput::error("An entry has no content. Say what to do."));
    }
    Ok(todos)
}

fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

fn noted(items: Vec<Todo>) -> ToolOutput {
    let done = items.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let summary = format!("{done} of {} done", items.len());
    let running = items.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
    let advice = match running {
        0 | 1 => "",
        _ => " Keep one entry in_progress at a time.",
    };
    let text = format!("Noted: {}, {summary}.{advice}", entries(items.len()));
    ToolOutput { view: Some(ToolView::Todos { items }), ..ToolOutput::text(text, summary) }
}

/// One entry of a to-do list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// What to do, in the imperative.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// What to show while it is in progress, such as "Running tests".
    #[serde(default)]
    pub active_form: String,
}

impl Todo {
    pub fn is_done(&self) -> bool {
        self.status == TodoStatus::Completed
    }

    pub fn is_active(&self) -> bool {
        self.status == TodoStatus::InProgress
    }

    pub fn words(&self) -> &str {
        if self.is_active() && !self.active_form.is_empty() { &self.active_form } else { &self.content }
    }
}

/// How far an entry of a to-do list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Being done.
    InProgress,
    /// Done.
    Completed,
}

impl<'de> Deserialize<'de> for TodoStatus {
    /// Reads the word for a status, as other programs have it, too.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match loose_name(&word).as_str() {
            "pending" | "todo" | "open" | "notstarted" | "queued" => Ok(Self::Pending),
            "inprogress" | "active" | "doing" | "started" | "current" => Ok(Self::InProgress),
            "completed" | "complete" | "done" | "finished" => Ok(Self::Completed),
            _ => Err(D::Error::unknown_variant(&word, &["pending", "in_progress", "completed"])),
        }
    }
}

/// Words for entries that are no longer to be done.
const DROPPED: [&str; 5] = ["cancelled", "canceled", "dropped", "skipped", "deleted"];

/// Reads the entries of a list but those that are no longer to be done.
fn without_dropped<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Todo>, D::Error> {
    let is_dropped = |entry: &Value| {
        let word = entry["status"].as_str().map(loose_name).unwrap_or_default();
        DROPPED.contains(&word.as_str())
    };
    let entries = Vec::<Value>::deserialize(deserializer)?.into_iter().filter(|entry| !is_dropped(entry));
    entries.map(|entry| serde_json::from_value(entry).map_err(D::Error::custom)).collect()
}
