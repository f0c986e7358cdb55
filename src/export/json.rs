//! A session as one JSON document.
//!
//! Owns its shape: `session`, `agents` as a tree, `events` in the order of their numbers, whole and as they were written,
//! also those of kinds that this program does not know. Invariant: the document is written as the records are read.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::Clean;
use super::recording::{RecordedAgent, Recording};
use crate::message::{AgentId, Usage};
use crate::session::MergedRecords;

/// Version of the document's form.
const VERSION: u32 = 1;
/// Levels of agents in the tree; of what is deeper there are the events.
const MAX_DEPTH: usize = 32;

#[derive(Serialize)]
struct AgentFields<'a> {
    id: AgentId,
    parent: Option<AgentId>,
    name: String,
    r#type: Option<&'a str>,
    description: Option<&'a str>,
    prompt: Option<&'a str>,
    model: Option<&'a str>,
    state: &'a str,
    /// Milliseconds since the session began.
    born_ms: u64,
    worked_ms: u64,
    runs: usize,
    turns: u32,
    tool_calls: u32,
    /// Null as soon as a program did not say what it used.
    tokens: Option<u64>,
    known_tokens: u64,
    cost_usd: Option<f64>,
    report: Option<&'a str>,
    reason: Option<&'a str>,
    children: Vec<AgentFields<'a>>,
}

pub(super) fn write(recording: &Recording, clean: &Clean<'_>, out: &mut dyn Write) -> io::Result<()> {
    let spent = recording.spent();
    let session = json!({
        "id": recording.id,
        "started": recording.start,
        "length_ms": recording.length,
        "model": recording.model,
        "tokens": whole(&spent.usage),
        "known_tokens": spent.usage.total(),
        "cost_usd": spent.whole_cost(),
        "meta": recording.meta,
    });
    let main = recording.agents.get(&AgentId::MAIN);
    let agents: Vec<AgentFields<'_>> = match main {
        Some(main) => vec![fields(recording, main, 0)],
        None => recording.children(AgentId::MAIN).map(|agent| fields(recording, agent, 0)).collect(),
    };
    write!(out, "{{\"v\":{VERSION},\"session\":{},\n\"agents\":", clean.json(session.to_string()))?;
    write!(out, "{},\n\"events\":[", clean.json(serde_json::to_string(&agents)?))?;
    let mut separator = "\n";
    let mut skipped: u64 = 0;
    let mut records = MergedRecords::of_session(&recording.dir).map_err(io::Error::other)?;
    for found in records.by_ref() {
        let Ok(Value::Object(event)) = serde_json::from_slice(&found.line.bytes) else {
            skipped += 1;
            continue;
        };
        write!(out, "{separator}{}", clean.json(Value::Object(event).to_string()))?;
        separator = ",\n";
    }
    writeln!(out, "\n],\n\"skipped\":{}}}", skipped + records.skipped())
}

fn fields<'a>(recording: &'a Recording, agent: &'a RecordedAgent, depth: usize) -> AgentFields<'a> {
    let spawn = agent.spawn.as_ref();
    let children = recording.children(agent.id).filter(|_| depth < MAX_DEPTH);
    let activity = &agent.activity;
    AgentFields {
        id: agent.id,
        parent: spawn.map(|spawn| spawn.parent),
        name: agent.name(),
        r#type: spawn.map(|spawn| spawn.agent_type.as_str()),
        description: spawn.map(|spawn| spawn.description.as_str()),
        prompt: spawn.map(|spawn| spawn.prompt.as_str()),
        model: spawn.map(|spawn| spawn.model.as_str()).or(recording.model.as_deref().filter(|_| agent.id.is_main())),
        state: agent.state(recording.is_live),
        born_ms: agent.born,
        worked_ms: agent.worked(),
        runs: activity.ends.len() + usize::from(activity.is_open()),
        turns: activity.turns,
        tool_calls: activity.tools,
        tokens: whole(&activity.spent.usage),
        known_tokens: activity.spent.usage.total(),
        cost_usd: activity.spent.whole_cost(),
        report: Some(agent.words.as_str()).filter(|words| !words.is_empty() && !agent.id.is_main()),
        reason: agent.reason.as_deref(),
        children: children.map(|child| fields(recording, child, depth + 1)).collect(),
    }
}

fn whole(usage: &Usage) -> Option<u64> {
    (!usage.unknown).then(|| usage.total())
}
