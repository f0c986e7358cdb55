//! What the user can do to a subagent, in each state that it can be in.
//!
//! Owns the scene that all of these tests play: the main agent sends out two subagents and waits for them; `zero` speaks
//! a word now and then for twenty minutes, `one` is the one that things are done to. Time is paused.

mod alone;
mod background;
mod limits;
mod resume;
mod shell;
mod table;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{AgentEvent, EventKind};
use belvedere::message::{AgentId, Message};
use belvedere::permission::ToolKind;
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use belvedere::tool::{AnyTool, Concurrency, Plan, Tool, ToolContext, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::support::Session;

/// The subagent that nothing is done to.
const ZERO: AgentId = AgentId(1);
/// The subagent that things are done to.
const ONE: AgentId = AgentId(2);

/// A tool that takes its time, in milliseconds.
struct Slow {
    name: &'static str,
    ears: Ears,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ears {
    Open,
    /// It does not hear that it shall stop.
    Deaf,
}

#[derive(Deserialize, JsonSchema)]
struct SlowInput {
    ms: u64,
    /// Whether it runs in its place in the order.
    #[serde(default)]
    alone: bool,
}

impl Tool for Slow {
    type Input = SlowInput;
    type Prepared = Duration;

    const NAME: &'static str = "";
    const DESCRIPTION: &'static str = "";
    const KIND: ToolKind = ToolKind::Other;

    fn name(&self) -> &str {
        self.name
    }

    fn concurrency(&self, input: &SlowInput) -> Concurrency {
        if input.alone { Concurrency::InOrder } else { Concurrency::Parallel }
    }

    fn title(&self, _input: &SlowInput, _context: &ToolContext) -> String {
        String::new()
    }

    async fn prepare(&self, input: SlowInput, _context: &ToolContext) -> Result<(Plan, Duration), ToolOutput> {
        Ok((Plan::free(), Duration::from_millis(input.ms)))
    }

    async fn run(&self, nap: Duration, context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        tokio::select! {
            () = context.cancel.cancelled(), if self.ears == Ears::Open => Err(ToolOutput::error("interrupted")),
            () = tokio::time::sleep(nap) => Ok(ToolOutput::text("slept well", "")),
        }
    }
}

fn nap() -> Arc<dyn AnyTool> {
    Arc::new(Slow { name: "Nap", ears: Ears::Open })
}

fn deaf() -> Arc<dyn AnyTool> {
    Arc::new(Slow { name: "Deaf", ears: Ears::Deaf })
}

/// Reads all events until nothing has happened for so long.
async fn quiet(session: &mut Session, silence: Duration) {
    while tokio::time::timeout(silence, session.wait(|_| Some(()))).await.is_ok() {}
}

/// The requests of one agent, told apart by their first message.
fn requests_of(provider: &Scripted, task: &str) -> Vec<Request> {
    let own = |request: &Request| matches!(&*request.messages[0], Message::User { text } if text.contains(task));
    provider.requests().into_iter().filter(own).collect()
}

/// Each call of a request has its one result, in the message right after it.
fn assert_valid(request: &Request) {
    let mut open: Vec<String> = Vec::new();
    for message in &request.messages {
        match message.as_ref() {
            Message::Assistant(reply) => {
                assert_eq!(open, Vec::<String>::new(), "calls without results: {:#?}", request.messages);
                open = reply.tool_calls().map(|call| call.id.clone()).collect();
            }
            Message::ToolResults { results } => {
                let answered: Vec<String> = results.iter().map(|result| result.call_id.clone()).collect();
                assert_eq!(std::mem::take(&mut open), answered, "{:#?}", request.messages);
            }
            Message::User { .. } => assert_eq!(open, Vec::<String>::new(), "{:#?}", request.messages),
        }
    }
    assert!(open.is_empty(), "calls without results: {:#?}", request.messages);
}

/// Each request of an agent holds the one before it, to the byte: also after it had ended and went on.
fn assert_grows(requests: &[Request]) {
    for pair in requests.windows(2) {
        let (before, after) = (&pair[0].messages, &pair[1].messages);
        assert_eq!(after[..before.len().min(after.len())], before[..], "what was said before has changed");
    }
}

/// The statuses of an agent's runs.
fn statuses(seen: &[Arc<AgentEvent>], agent: AgentId) -> Vec<&'static str> {
    let ends = seen.iter().filter(|event| event.agent == agent).filter_map(|event| match &event.kind {
        EventKind::Ended { outcome } => Some(outcome.status.name()),
        _ => None,
    });
    ends.collect()
}

/// Every run of every subagent is told to have ended, once, and nothing follows but another run, or a word on why it
/// cannot go on.
fn assert_ends(seen: &[Arc<AgentEvent>]) {
    let children: BTreeSet<AgentId> = seen.iter().map(|event| event.agent).filter(|agent| !agent.is_main()).collect();
    for child in children {
        let mut lives = false;
        for event in seen.iter().filter(|event| event.agent == child) {
            match &event.kind {
                EventKind::Spawned(_) | EventKind::Resumed { .. } => {
                    assert!(!std::mem::replace(&mut lives, true), "{child} began twice: {seen:#?}");
                }
                EventKind::Notice { .. } => {}
                kind => assert!(lives, "{child} had ended before {kind:?}"),
            }
            lives &= !matches!(event.kind, EventKind::Ended { .. });
        }
        assert!(!lives, "{child} has not ended");
    }
}

/// How a request holds the reports of a subagent: as the result of a call, or in a message.
fn heard(request: &Request, name: &str) -> Vec<&'static str> {
    let mark = format!("agent: {name} (");
    let mut heard = Vec::new();
    for message in &request.messages {
        match message.as_ref() {
            Message::User { text } => heard.extend(text.matches(&mark).map(|_| "message")),
            Message::ToolResults { results } => {
                let texts = results.iter().map(belvedere::message::ToolResult::joined_text);
                heard.extend(texts.flat_map(|text| text.matches(&mark).map(|_| "result").collect::<Vec<_>>()));
            }
            Message::Assistant(_) => {}
        }
    }
    heard
}
