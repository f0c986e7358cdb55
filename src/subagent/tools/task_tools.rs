//! The tools by which an agent looks after its own subagents, and after its commands that go on by themselves:
//! `TaskOutput`, `TaskStop`, `SendMessage`.
//!
//! Owns their inputs and answers. Leaves the acts to the tree. Invariant: an agent reaches its own subagents and commands
//! only, and learns nothing of a subagent at work but its state.

use std::sync::Arc;
use std::time::Duration;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;

use crate::agent::{Author, InboxMessage, RunMode, StopCause};
use crate::message::format::seconds;
use crate::message::{AgentId, sanitize_line};
use crate::permission::ToolKind;
use crate::subagent::tree::Tree;
use crate::tool::{AnyTool, BackgroundCommands, EndedBy, Plan, Tool, ToolContext, ToolOutput};

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

/// Returns the names of the tools that come with `Agent`, or with a tool that runs commands: they are offered with those, and
/// a list that allows those allows them.
pub(in crate::subagent) fn companions(delegates: bool, runs_commands: bool) -> &'static [&'static str] {
    match (delegates, runs_commands) {
        (true, _) => &TASK_TOOLS,
        (false, true) => &["TaskOutput", "TaskStop"],
        (false, false) => &[],
    }
}

/// Returns the tools by which an agent looks after its subagents, if it has any, and its commands.
pub(in crate::subagent) fn tools(
    tree: &Tree,
    parent: AgentId,
    delegates: bool,
    runs_commands: bool,
) -> impl Iterator<Item = Arc<dyn AnyTool>> {
    let own = Own { tree: tree.clone(), parent };
    let all: [Arc<dyn AnyTool>; 3] =
        [Arc::new(TaskOutput(own.clone())), Arc::new(TaskStop(own.clone())), Arc::new(SendMessage(own))];
    let offered = companions(delegates, runs_commands);
    all.into_iter().filter(|tool| offered.contains(&tool.name()))
}

/// Bytes of a filter once it is compiled.
const MAX_PATTERN: usize = 1 << 20;

impl Own {
    fn child(&self, wanted: &str) -> Result<AgentId, ToolOutput> {
        self.tree.child_of(self.parent, wanted).map_err(|refusal| ToolOutput::error(refusal.to_string()))
    }

    fn commands(&self) -> &BackgroundCommands {
        self.tree.commands()
    }

    fn command(&self, wanted: &str) -> Option<String> {
        self.commands().own(self.parent, wanted)
    }

    /// Says how a command is, and what it has printed since the last look.
    fn look(&self, id: &str, filter: Option<&Regex>) -> ToolOutput {
        let Some(look) = self.commands().look(id, filter) else {
            return ToolOutput::error("That command is no longer known. Start it again.");
        };
        let state = look.ended.clone().unwrap_or_else(|| "running".to_owned());
        let command = sanitize_line(&look.command);
        let head = format!("status: {state}\ncommand: {id} (`{command}`)   time: {}", seconds(look.elapsed_ms));
        let output = look.output.trim_end();
        let text = match (output.is_empty(), filter) {
            (false, _) => format!("{head}\n\n{output}"),
            (true, None) => format!("{head}\n\n(no new output)"),
            (true, Some(_)) => format!("{head}\n\n(no new line matches)"),
        };
        ToolOutput { is_error: look.is_error, ..ToolOutput::text(text, state) }
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
    /// Name of the subagent, such as explore-1, or of the command, such as `bash_1`.
    task_id: String,
    /// Whether to wait: for the end of the subagent, which is the default, or for new output of the command or its end.
    #[serde(default)]
    block: Option<bool>,
    /// Longest wait in milliseconds; 30000 by default, 600000 at most.
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Of a command, only new lines that match this regular expression; the others are passed over.
    #[serde(default)]
    filter: Option<String>,
}

impl OutputInput {
    /// Returns how long to wait, where that is the default or not.
    fn wait(&self, by_default: bool) -> Duration {
        let wait =
            if self.block.unwrap_or(by_default) { self.timeout_ms.unwrap_or(WAIT_MS.0).min(WAIT_MS.1) } else { 0 };
        Duration::from_millis(wait)
    }

    fn filter(&self) -> Result<Option<Regex>, ToolOutput> {
        let written = self.filter.as_deref().filter(|written| !written.is_empty());
        let built = written.map(|written| RegexBuilder::new(written).size_limit(MAX_PATTERN).build()).transpose();
        built.map_err(|error| ToolOutput::error(format!("filter is no regular expression: {error}")))
    }
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
        let filter = input.filter()?;
        if let Some(command) = self.0.command(&input.task_id) {
            let news = self.0.commands().news(&command, true, filter.as_ref());
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => {}
                _ = timeout(input.wait(false), news) => {}
            }
            return Ok(self.0.look(&command, filter.as_ref()));
        }
        let child = self.0.child(&input.task_id)?;
        if filter.is_some() {
            return Err(ToolOutput::error("A filter is for the output of commands. Leave it out for subagents."));
        }
        let _ = timeout(input.wait(true), self.0.ended(child, context)).await;
        Ok(self.0.account(child))
    }
}

struct TaskStop(Own);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StopInput {
    /// Name of the subagent, such as explore-1, or of the command, such as `bash_1`.
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
        if let Some(command) = self.0.command(&input.task_id) {
            self.0.commands().stop(&command, EndedBy::Agent);
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => {}
                () = self.0.commands().news(&command, false, None) => {}
            }
            // What it was stopped for is no failure.
            return Ok(ToolOutput { is_error: false, ..self.0.look(&command, None) });
        }
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
