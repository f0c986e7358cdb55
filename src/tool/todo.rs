//! `TodoWrite`: the agent's list of things to do, kept in the conversation and shown to the user.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input::spec_of;
use super::limit::counted;
use super::{Args, Concurrency, Plan, Todo, TodoStatus, Tool, ToolContext, ToolOutput, ToolView, parse_input};
use crate::message::ToolSpec;
use crate::permission::AccessKind;

const NAME: &str = "TodoWrite";
/// Entries of one list.
const MAX_ENTRIES: usize = 100;

/// Notes what is to be done.
pub(super) struct TodoWrite;

/// The input.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The whole list; it replaces the one before.
    todos: Vec<Todo>,
}

impl Tool for TodoWrite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        spec_of::<Input>(NAME, include_str!("../../assets/tools/TodoWrite.md"))
    }

    fn concurrency(&self, _args: &Args) -> Concurrency {
        Concurrency::InOrder
    }

    fn title(&self, args: &Args, _context: &ToolContext) -> String {
        let entries = args.get("todos").and_then(|todos| todos.as_array()).map_or(0, Vec::len);
        match entries {
            1 => "1 entry".to_owned(),
            _ => format!("{entries} entries"),
        }
    }

    fn plan<'a>(&'a self, args: &'a Args, _context: &'a ToolContext) -> BoxFuture<'a, Result<Plan, ToolOutput>> {
        async move { checked(args).map(|_| Plan::new(AccessKind::Nothing)) }.boxed()
    }

    fn run<'a>(&'a self, args: &'a Args, _context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        async move { checked(args).map_or_else(|failed| failed, noted) }.boxed()
    }
}

fn checked(args: &Args) -> Result<Vec<Todo>, ToolOutput> {
    let Input { todos } = parse_input(NAME, args)?;
    if todos.len() > MAX_ENTRIES {
        return Err(ToolOutput::error(format!("The list may have up to {MAX_ENTRIES} entries. Merge some.")));
    }
    if todos.iter().any(|todo| todo.content.trim().is_empty()) {
        return Err(ToolOutput::error("An entry has no content. Say what is to be done."));
    }
    Ok(todos)
}

fn noted(items: Vec<Todo>) -> ToolOutput {
    let done = items.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let summary = format!("{done} of {} done", items.len());
    let running = items.iter().filter(|todo| todo.status == TodoStatus::InProgress).count();
    let advice = match running {
        0 | 1 => "",
        _ => " Keep one entry in_progress at a time.",
    };
    let text = format!("Noted: {}, {summary}.{advice}", counted(items.len(), "thing"));
    ToolOutput { view: Some(ToolView::Todos { items }), ..ToolOutput::text(text, summary) }
}
