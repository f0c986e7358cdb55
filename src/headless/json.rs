//! The JSON formats: one line for each event, and one for the result, with Claude Code's field names where it has one.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::PrintedAnswer;
use super::denials::Denial;
use crate::agent::{KeptWorktree, LogEvent, Status};
use crate::message::{Usage, UsageTable};

/// The last line of every format but `text`; [`MessageWriter`](super::messages::MessageWriter) add the session.
#[derive(Serialize)]
struct ResultLine<'a> {
    r#type: &'static str,
    subtype: &'static str,
    is_error: bool,
    status: &'static str,
    result: &'a str,
    reason: Option<&'a str>,
    num_turns: u32,
    tool_calls: u32,
    duration_ms: u64,
    duration_api_ms: u64,
    total_cost_usd: Option<f64>,
    usage: UsageFields,
    tree: TreeFields,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    worktrees: Vec<WorktreeFields<'a>>,
    permission_denials: &'a [Denial],
    /// The answer to a request with a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
struct TreeFields {
    agents: usize,
    usage: UsageFields,
    total_tokens: u64,
    /// Null as soon as the price of anything is not known.
    cost_usd: Option<f64>,
    known_cost_usd: Option<f64>,
    unpriced_tokens: u64,
    /// The limits; null without any.
    budget: Option<BudgetFields>,
}

#[derive(Serialize)]
struct BudgetFields {
    tokens: Option<u64>,
    tokens_left: Option<u64>,
    usd: Option<f64>,
    usd_left: Option<f64>,
}

impl TreeFields {
    fn new(table: &UsageTable) -> Self {
        let (spent, limit) = (table.total(), table.limit());
        let (tokens_left, usd_left) = spent.left_of(limit);
        let budget = BudgetFields { tokens: limit.tokens, tokens_left, usd: limit.usd.map(f64::from), usd_left };
        Self {
            agents: table.begun(),
            usage: spent.usage.into(),
            total_tokens: spent.usage.total(),
            cost_usd: spent.whole_cost(),
            known_cost_usd: spent.cost_usd,
            unpriced_tokens: spent.unpriced,
            budget: (!limit.is_none()).then_some(budget),
        }
    }
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
struct UsageFields {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: u64,
    cache_creation_input_tokens: u64,
    /// Whether the service left some of it uncounted.
    estimated: bool,
    /// Whether there is more, used by a program that does not say how much.
    unknown: bool,
}

impl From<Usage> for UsageFields {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_input_tokens: usage.cache_read,
            cache_creation_input_tokens: usage.cache_write,
            estimated: usage.estimated,
            unknown: usage.unknown,
        }
    }
}

/// Returns the result; `service_ms` is how long the main agent waited for its service.
pub(super) fn result(
    answer: &PrintedAnswer,
    service_ms: u64,
    totals: &UsageTable,
    kept: &[KeptWorktree],
    denials: &[Denial],
) -> serde_json::Result<Value> {
    let PrintedAnswer { outcome, structured, unfit } = answer;
    let line = ResultLine {
        r#type: "result",
        subtype: if unfit.is_some() { "error_max_structured_output_retries" } else { subtype(outcome.status) },
        is_error: answer.status() != super::exit::OK,
        status: outcome.status.name(),
        result: &outcome.text,
        reason: outcome.reason.as_deref(),
        num_turns: outcome.turns,
        tool_calls: outcome.tool_calls,
        duration_ms: outcome.elapsed_ms,
        duration_api_ms: service_ms,
        total_cost_usd: outcome.cost_usd,
        usage: outcome.usage.into(),
        tree: TreeFields::new(totals),
        worktrees: kept.iter().map(WorktreeFields::from).collect(),
        permission_denials: denials,
        structured_output: structured.as_ref(),
        errors: unfit.as_deref().map(|why| [why]),
    };
    serde_json::to_value(&line)
}

/// Returns what the Agent SDK calls an end.
fn subtype(status: Status) -> &'static str {
    match status {
        Status::Completed => "success",
        Status::TurnLimit | Status::ToolLimit => "error_max_turns",
        Status::Budget => "error_max_budget_usd",
        _ => "error_during_execution",
    }
}

pub(super) fn event_line(event: &LogEvent) -> serde_json::Result<String> {
    serde_json::to_string(event)
}
