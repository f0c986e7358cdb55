//! The tools by which an agent looks after its own subagents: `TaskOutput`, `TaskStop`, `SendMessage`.
//!
//! Owns their inputs and answers. Leaves the acts to the tree. Invariant: an agent reaches its own subagents only, and
//! learns nothing of one at work but its state.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use crate::agent::{Author, InboxMessage, RunMode, StopCause};
use crate::message::AgentId;
use crate::message::format::seconds;
use crate::permission::ToolKind;
use crate::subagent::tree::Tree;
use crate::tool::{AnyTool, Plan, Tool, ToolContext, ToolOutput};

/// Names of the tools that come with `Agent`.
pub const TASK_TOOLS: [&str; 3] = ["TaskOutput", "TaskStop", "SendMessage"];

/// How long `TaskOutput` waits by default, and at most, in milliseconds.
const WAIT_MS: (u64, u64) = (30_000, 600_000);

/// The subagents of one agent, which are all that it reaches.
#[derive(Clone)]
struct Own {
    tree: Tree,
    parent: AgentId,
}

/// Returns the tools by which an agent looks after its subagents.
pub(in crate::subagent) fn tools(tree: &Tree, parent: AgentId) -> [Arc<dyn AnyTool>; 3] {
    let own = Own { tree: tree.clone(), parent };
    [Arc::new(TaskOutput(own.clone())), Arc::new(TaskStop(own.clone())), Arc::new(SendMessage(own))]
}

impl Own {
    fn child(&self, wanted: &str) -> Result<AgentId, ToolOutput> {
        self.tree.child_of(self.parent, wanted).map_err(|refusal| ToolOutput::error(refusal.to_string()))
    }

    /// Waits until a subagent has ended, or its parent is stopped.
    async fn ended(&self, child: AgentId, context: &ToolContext) {
        tokio::select! {
            biased;
            () = context.cancel.cancelled() => {}
            () = self.tree.ended_one(child) => {}
        }
    }

    fn account(&self, child: AgentId) -> ToolOutput {
        self.tree.account(self.parent, child)
    }
}

struct TaskOutput(Own);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OutputInput {
    /// Name of the subagent, such as explore-1.
    task_id: String,
    /// Whether to wait until the subagent ends; true by default.
    #[serde(default = "waits")]
    block: bool,
    /// Longest wait in milliseconds; 30000 by default, 600000 at most.
    #[serde(default)]
    timeout_ms: Option<u64>,
}

fn waits() -> bool {
    true
}

impl Tool for TaskOutput {
    type Input = OutputInput;
    type Prepared = OutputInput;

    const NAME: &'static str = "TaskOutput";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/TaskOutput.md");
    const KIND: ToolKind = ToolKind::Other;
    const KEEPS_TIME: bool = true;

    fn title(&self, input: &OutputInput, _context: &ToolContext) -> String {
        input.task_id.clone()
    }

    async fn prepare(&self, input: OutputInput, _context: &ToolContext) -> Result<(Plan, OutputInput), ToolOutput> {
        Ok((Plan::free(), input))
    }

    async fn run(&self, input: OutputInput, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let child = self.0.child(&input.task_id)?;
        let wait = if input.block { input.timeout_ms.unwrap_or(WAIT_MS.0).min(WAIT_MS.1) } else { 0 };
        let _ = timeout(Duration::from_millis(wait), self.0.ended(child, context)).await;
        Ok(self.0.account(child))
    }
}

struct TaskStop(Own);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopInput {
    /// Name of the subagent, such as explore-1.
    task_id: String,
}

impl Tool for TaskStop {
    type Input = StopInput;
    type Prepared = StopInput;

    const NAME: &'static str = "TaskStop";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/TaskStop.md");
    const KIND: ToolKind = ToolKind::Other;
    const KEEPS_TIME: bool = true;

    fn title(&self, input: &StopInput, _context: &ToolContext) -> String {
        input.task_id.clone()
    }

    async fn prepare(&self, input: StopInput, _context: &ToolContext) -> Result<(Plan, StopInput), ToolOutput> {
        Ok((Plan::free(), input))
    }

    async fn run(&self, input: StopInput, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let child = self.0.child(&input.task_id)?;
        self.0.tree.stop(child, StopCause::Parent);
        self.0.ended(child, context).await;
        Ok(self.0.account(child))
    }
}

struct SendMessage(Own);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MessageInput {
    /// Name of the subagent, such as explore-1.
    to: String,
    /// What the subagent should know or do.
    message: String,
}

impl Tool for SendMessage {
    type Input = MessageInput;
    type Prepared = MessageInput;

    const NAME: &'static str = "SendMessage";
    const DESCRIPTION: &'static str = include_str!("../../../assets/tools/SendMessage.md");
    const KIND: ToolKind = ToolKind::Other;
    const KEEPS_TIME: bool = true;

    fn title(&self, input: &MessageInput, _context: &ToolContext) -> String {
        format!("→ {}  {}", input.to, input.message)
    }

    async fn prepare(&self, input: MessageInput, _context: &ToolContext) -> Result<(Plan, MessageInput), ToolOutput> {
        Ok((Plan::free(), input))
    }

    async fn run(&self, input: MessageInput, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        let tree = &self.0.tree;
        let child = self.0.child(&input.to)?;
        let text = input.message.trim().to_owned();
        let sent = tree.running(child).map(|running| running.inbox.push(InboxMessage::of_parent(text.clone())));
        if sent.is_some_and(|sent| sent.is_ok()) {
            return Ok(ToolOutput::text("Sent. The subagent reads this before its next step.", "sent"));
        }
        // One that has said its last word but is not yet counted as ended is waited for.
        self.0.ended(child, context).await;
        match tree.resume_run(child, RunMode::Background, (text, Author::Parent, None)).await {
            Ok(_) => Ok(ToolOutput::text(
                "The subagent had ended; it resumed with your message in the background. Its report will arrive as a \
                 message.",
                "resumed",
            )),
            Err(refusal) => Err(ToolOutput::error(refusal.to_string())),
        }
    }
}

impl Tree {
    /// Waits until a subagent does not live.
    pub(in crate::subagent) async fn ended_one(&self, agent: AgentId) {
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
        let Some(entry) = registry.get(&agent) else {
            return ToolOutput::error("That subagent is no longer known. Start a new one.");
        };
        if let Some(running) = &entry.running {
            let since = running.since.elapsed().as_millis();
            let since = seconds(u64::try_from(since).unwrap_or(u64::MAX));
            let text = format!("status: running\nagent: {} ({})   time: {since}", entry.name, entry.agent_type);
            return ToolOutput::text(text, "running");
        }
        let Some(last) = entry.last.clone() else {
            return ToolOutput::error("That subagent never started. Start a new one.");
        };
        if let Some(inbox) = self.inbox_in(&registry, parent) {
            inbox.take_report(agent);
        }
        ToolOutput {
            is_error: last.outcome.is_broken_off(),
            ..ToolOutput::text(last.report, last.outcome.status.name())
        }
    }
}
