//! The tools by which an agent looks after its own subagents: `TaskOutput`, `TaskStop`, `SendMessage`.
//!
//! Owns their inputs and answers. Leaves the acts to the tree. Invariant: an agent reaches its own subagents only, and
//! learns nothing of one at work but its state.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::tree::Tree;
use crate::agent::{Author, InboxMessage, RunMode, StopCause};
use crate::message::format::seconds;
use crate::message::{AgentId, ToolSpec};
use crate::permission::AccessKind;
use crate::tool::{Args, Concurrency, Plan, Tool, ToolContext, ToolOutput, parse_input, schema_of};

/// Names of the tools that come with `Agent`.
pub const TASK_TOOLS: [&str; 3] = ["TaskOutput", "TaskStop", "SendMessage"];

/// How long `TaskOutput` waits unless told otherwise, and at most, in milliseconds.
const WAIT_MS: (u64, u64) = (30_000, 600_000);

/// Input of `TaskOutput`.
#[derive(Debug, Deserialize, JsonSchema)]
struct OutputInput {
    /// Name of the subagent, such as explore-1.
    task_id: String,
    /// Whether to wait for its end; true if left out.
    #[serde(default = "waits")]
    block: bool,
    /// Longest wait in milliseconds; 30000 if left out, 600000 at most.
    #[serde(default)]
    timeout_ms: Option<u64>,
}

fn waits() -> bool {
    true
}

/// Input of `TaskStop`.
#[derive(Debug, Deserialize, JsonSchema)]
struct StopInput {
    /// Name of the subagent, such as explore-1.
    task_id: String,
}

/// Input of `SendMessage`.
#[derive(Debug, Deserialize, JsonSchema)]
struct MessageInput {
    /// Name of the subagent, such as explore-1.
    to: String,
    /// What it shall know or do.
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Output,
    Stop,
    Message,
}

/// One of the tools, of one agent.
struct TaskTool {
    tree: Tree,
    /// Whose subagents it reaches.
    parent: AgentId,
    act: Act,
}

/// Returns the tools by which an agent looks after its subagents.
pub(super) fn tools(tree: &Tree, parent: AgentId) -> [Arc<dyn Tool>; 3] {
    [Act::Output, Act::Stop, Act::Message]
        .map(|act| Arc::new(TaskTool { tree: tree.clone(), parent, act }) as Arc<dyn Tool>)
}

impl Tool for TaskTool {
    fn name(&self) -> &str {
        TASK_TOOLS[self.act as usize]
    }

    fn spec(&self) -> ToolSpec {
        let (description, input_schema) = match self.act {
            Act::Output => (include_str!("../../assets/tools/TaskOutput.md"), schema_of::<OutputInput>()),
            Act::Stop => (include_str!("../../assets/tools/TaskStop.md"), schema_of::<StopInput>()),
            Act::Message => (include_str!("../../assets/tools/SendMessage.md"), schema_of::<MessageInput>()),
        };
        ToolSpec { name: self.name().to_owned(), description: description.trim_end().to_owned(), input_schema }
    }

    fn concurrency(&self, _args: &Args) -> Concurrency {
        Concurrency::Parallel
    }

    fn keeps_time(&self) -> bool {
        true
    }

    fn title(&self, args: &Args, _context: &ToolContext) -> String {
        let text = |key: &str| args.get(key).and_then(Value::as_str).unwrap_or_default();
        match self.act {
            Act::Output | Act::Stop => text("task_id").to_owned(),
            Act::Message => format!("→ {}  {}", text("to"), text("message")),
        }
    }

    fn plan<'a>(&'a self, args: &'a Args, _context: &'a ToolContext) -> BoxFuture<'a, Result<Plan, ToolOutput>> {
        let name = self.name();
        let checked = match self.act {
            Act::Output => parse_input::<OutputInput>(name, args).map(drop),
            Act::Stop => parse_input::<StopInput>(name, args).map(drop),
            Act::Message => parse_input::<MessageInput>(name, args).map(drop),
        };
        async move { checked.map(|()| Plan::new(AccessKind::Nothing)) }.boxed()
    }

    fn run<'a>(&'a self, args: &'a Args, context: &'a ToolContext) -> BoxFuture<'a, ToolOutput> {
        async move {
            let done = match self.act {
                Act::Output => self.output(args, context).await,
                Act::Stop => self.stop(args, context).await,
                Act::Message => self.message(args, context).await,
            };
            done.unwrap_or_else(|refused| refused)
        }
        .boxed()
    }
}

impl TaskTool {
    fn child(&self, wanted: &str) -> Result<AgentId, ToolOutput> {
        self.tree.child_of(self.parent, wanted).map_err(|refusal| ToolOutput::error(refusal.to_string()))
    }

    async fn output(&self, args: &Args, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let input: OutputInput = parse_input(self.name(), args)?;
        let child = self.child(&input.task_id)?;
        let wait = if input.block { input.timeout_ms.unwrap_or(WAIT_MS.0).min(WAIT_MS.1) } else { 0 };
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {}
            _ = timeout(Duration::from_millis(wait), self.tree.ended_one(child)) => {}
        }
        Ok(self.tree.account(self.parent, child))
    }

    async fn stop(&self, args: &Args, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let input: StopInput = parse_input(self.name(), args)?;
        let child = self.child(&input.task_id)?;
        self.tree.stop(child, StopCause::Parent);
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {}
            () = self.tree.ended_one(child) => {}
        }
        Ok(self.tree.account(self.parent, child))
    }

    async fn message(&self, args: &Args, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let input: MessageInput = parse_input(self.name(), args)?;
        let child = self.child(&input.to)?;
        let text = input.message.trim().to_owned();
        let told = self.tree.running(child).map(|running| running.inbox.push(InboxMessage::of_parent(text.clone())));
        if told.is_some_and(|told| told.is_ok()) {
            return Ok(ToolOutput::text("It reads this before its next step.", "told"));
        }
        // One that has said its last word but is not yet counted as ended is waited for.
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {}
            () = self.tree.ended_one(child) => {}
        }
        match self.tree.resume_run(child, RunMode::Background, (text, Author::Parent)).await {
            Ok(_) => Ok(ToolOutput::text(
                "It had ended, and goes on with this in the background. Its report will reach you as a message.",
                "resumed",
            )),
            Err(refusal) => Err(ToolOutput::error(refusal.to_string())),
        }
    }
}

impl Tree {
    /// Waits until a subagent does not live.
    pub(super) async fn ended_one(&self, agent: AgentId) {
        loop {
            let mut ended = std::pin::pin!(self.ended().notified());
            ended.as_mut().enable();
            if self.running(agent).is_none() {
                return;
            }
            ended.await;
        }
    }

    /// Says how a subagent is: its report if it has ended, which then need not reach its parent another way.
    fn account(&self, parent: AgentId, agent: AgentId) -> ToolOutput {
        let registry = self.registry();
        let Some(entry) = registry.get(&agent) else { return ToolOutput::error("It is forgotten.") };
        if let Some(running) = &entry.running {
            let since = running.since.elapsed().as_millis();
            let since = seconds(u64::try_from(since).unwrap_or(u64::MAX));
            let text = format!("status: running\nagent: {} ({})   time: {since}", entry.name, entry.agent_type);
            return ToolOutput::text(text, "running");
        }
        let Some(last) = entry.last.clone() else { return ToolOutput::error("It never began.") };
        if let Some(inbox) = self.inbox_in(&registry, parent) {
            inbox.take_report(agent);
        }
        ToolOutput {
            is_error: last.outcome.is_broken_off(),
            ..ToolOutput::text(last.report, last.outcome.status.name())
        }
    }
}
