//! The JSON formats: one line for each event, and one for the result, with Claude Code's field names where it has one.

use std::borrow::Cow;

use serde::Serialize;

use crate::agent::{AgentEvent, KeptWorktree, Outcome};
use crate::message::Usage;

/// The last line of `json` and `stream-json`.
#[derive(Serialize)]
struct ResultLine<'a> {
    r#type: &'static str,
    subtype: &'static str,
    is_error: bool,
    status: &'static str,
    result: &'a str,
    reason: Option<&'a str>,
    session_id: &'a str,
    num_turns: u32,
    tool_calls: u32,
    duration_ms: u64,
    total_cost_usd: Option<f64>,
    usage: UsageFields,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    worktrees: Vec<WorktreeFields<'a>>,
}

/// A worktree with changes that are not in the project.
#[derive(Serialize)]
struct WorktreeFields<'a> {
    agent: &'a str,
    branch: &'a str,
    path: Cow<'a, str>,
    commits: usize,
    files: Vec<&'a str>,
    lines_added: usize,
    lines_removed: usize,
}

impl<'a> From<&'a KeptWorktree> for WorktreeFields<'a> {
    fn from(kept: &'a KeptWorktree) -> Self {
        let (lines_added, lines_removed) = kept.lines();
        Self {
            agent: &kept.name,
            branch: &kept.branch,
            path: kept.path.to_string_lossy(),
            commits: kept.commits,
            files: kept.files.iter().map(|file| file.name.as_str()).collect(),
            lines_added,
            lines_removed,
        }
    }
}

#[derive(Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of Claude Code's output")]
struct UsageFields {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
}

impl From<Usage> for UsageFields {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_input_tokens: usage.cache_read,
            cache_creation_input_tokens: usage.cache_write,
        }
    }
}

pub(super) fn result_line(outcome: &Outcome, session: &str, kept: &[KeptWorktree]) -> serde_json::Result<String> {
    let is_error = super::status(outcome) != super::exit::OK;
    let line = ResultLine {
        r#type: "result",
        subtype: if is_error { "error" } else { "success" },
        is_error,
        status: outcome.status.name(),
        result: &outcome.text,
        reason: outcome.reason.as_deref(),
        session_id: session,
        num_turns: outcome.turns,
        tool_calls: outcome.tool_calls,
        duration_ms: outcome.elapsed_ms,
        total_cost_usd: outcome.cost_usd,
        usage: outcome.usage.into(),
        worktrees: kept.iter().map(WorktreeFields::from).collect(),
    };
    serde_json::to_string(&line)
}

pub(super) fn event_line(event: &AgentEvent) -> serde_json::Result<String> {
    serde_json::to_string(event)
}
