//! What the terminal is told of the agents: its title, and a state for each of them.
//!
//! Owns which states there are and whose are told. Leaves escape sequences to `tui`. Source of the states: the program
//! status protocol (OSC 7501), revision 0.3. Invariant: at most as many agents as every terminal keeps records of.

use super::Agents;
use super::agent_view::AgentView;
use crate::agent::Status;
use crate::app::approvals::Approvals;
use crate::message::AgentId;
use crate::permission::ApprovalRequest;

/// Agents that are told of, besides the main one: a terminal keeps 64 records at least.
const MAX_AGENTS: usize = 60;

/// What an agent is at, as terminals know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProgramState {
    #[default]
    Idle,
    Working,
    /// It waits for a permission.
    NeedsPermission,
    /// It waits for an answer, or for a plan to be approved.
    NeedsAnswer,
    Done,
    Failed,
}

/// What is told of one subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStatus {
    /// The way to it: the numbers of the agents from the main agent's child down to itself.
    pub path: Vec<u32>,
    pub name: String,
    /// Its task, in a few words.
    pub task: String,
    pub state: ProgramState,
}

/// What the terminal is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramStatus {
    pub title: String,
    pub main: ProgramState,
    /// The subagents, the older ones first.
    pub agents: Vec<AgentStatus>,
}

impl ProgramStatus {
    pub(in crate::app) fn of(agents: &Agents, approvals: &Approvals) -> Self {
        let skipped = agents.len().saturating_sub(MAX_AGENTS);
        let told = agents.children().skip(skipped).filter_map(|agent| status(agents, agent, approvals));
        Self { title: title(agents, approvals), main: main_state(agents, approvals), agents: told.collect() }
    }
}

fn title(agents: &Agents, approvals: &Approvals) -> String {
    if !approvals.is_empty() {
        return format!("({}) belvedere: waiting for you", approvals.len());
    }
    match (agents.main().is_active(), agents.running().count()) {
        (false, 0) => "belvedere".to_owned(),
        (_, 0) => "belvedere: working".to_owned(),
        (_, 1) => "belvedere: 1 agent".to_owned(),
        (_, count) => format!("belvedere: {count} agents"),
    }
}

/// Returns the state of the main agent. It works while any agent does: the user waits for all.
fn main_state(agents: &Agents, approvals: &Approvals) -> ProgramState {
    let main = agents.main();
    match approvals.first_of(AgentId::MAIN) {
        Some(request) => asking(request),
        None if main.is_active() || agents.running().next().is_some() => ProgramState::Working,
        None => main.outcome.as_ref().map_or(ProgramState::Idle, |outcome| ended(outcome.status)),
    }
}

fn status(agents: &Agents, agent: &AgentView, approvals: &Approvals) -> Option<AgentStatus> {
    let state = match (approvals.first_of(agent.id), &agent.outcome) {
        (Some(request), _) => asking(request),
        (None, Some(outcome)) if agent.has_ended() => ended(outcome.status),
        (None, _) => ProgramState::Working,
    };
    let (mut path, mut at) = (Vec::new(), Some(agent));
    while let Some(agent) = at.filter(|agent| !agent.id.is_main()) {
        path.push(agent.id.0);
        at = agent.parent.and_then(|parent| agents.get(parent));
        // Events may be anything, and no terminal follows further.
        if path.len() > 8 {
            return None;
        }
    }
    path.reverse();
    Some(AgentStatus { path, name: agent.name.clone(), task: agent.description.clone(), state })
}

fn asking(request: &ApprovalRequest) -> ProgramState {
    if request.is_of_plan() || request.questions().is_some() {
        ProgramState::NeedsAnswer
    } else {
        ProgramState::NeedsPermission
    }
}

fn ended(status: Status) -> ProgramState {
    match status {
        Status::Failed | Status::Empty => ProgramState::Failed,
        Status::Cancelled | Status::Interrupted => ProgramState::Idle,
        _ => ProgramState::Done,
    }
}
