//! The agents together with what else a title depends on: open questions, what was asked of them, the present time.
//!
//! Owns what an agent's state is. Leaves its words to `state`. Invariant: it is made for one look and kept by nobody.

use std::collections::BTreeMap;
use std::time::Instant;

use super::requests::PendingRequests;
use super::{AgentView, Agents};
use crate::app::approvals::Approvals;
use crate::app::state::{AgentState, Severity, StateGroup};
use crate::message::AgentId;

/// Agents that wait before the tree as a whole counts as slowed.
const SEVERAL: usize = 2;

/// All that states of agents depend on.
#[derive(Clone, Copy)]
pub(in crate::app) struct AgentTree<'a> {
    pub(in crate::app) agents: &'a Agents,
    pub(in crate::app) approvals: &'a Approvals,
    pub(in crate::app) requests: &'a PendingRequests,
    pub(in crate::app) target: Option<AgentId>,
    pub(in crate::app) now: Instant,
}

/// How many agents count as what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<StateGroup, usize>);

impl Tally {
    /// Returns how many agents are in a group.
    pub fn of(&self, group: StateGroup) -> usize {
        self.0.get(&group).copied().unwrap_or(0)
    }

    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// Returns the counts with their words, in the order of the screen; none of them is 0.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &'static str, Severity)> {
        let groups = StateGroup::COUNTED.into_iter().map(|group| (self.of(group), group.counted()));
        groups.filter(|(count, _)| *count > 0).map(|(count, (word, severity))| (count, word, severity))
    }
}

impl AgentTree<'_> {
    /// Counts agents by what their titles say.
    pub(in crate::app) fn tally<'a>(&self, agents: impl Iterator<Item = &'a AgentView>) -> Tally {
        let mut tally = Tally::default();
        for agent in agents {
            let group = match self.state_of(agent).row().group {
                StateGroup::Resting => StateGroup::Working,
                group => group,
            };
            *tally.0.entry(group).or_default() += 1;
        }
        tally
    }

    /// Returns an agent's state as its title says it.
    pub(in crate::app) fn state_of(&self, agent: &AgentView) -> AgentState {
        if agent.has_ended() && self.requests.is_resuming(agent.id) {
            return AgentState::Resuming;
        }
        AgentState::of(agent, self.approvals.of(agent.id), self.now)
    }

    /// Returns `true` if an agent waits for the user.
    pub(in crate::app) fn needs_you(&self, agent: &AgentView) -> bool {
        self.approvals.of(agent.id) > 0 && !agent.has_ended()
    }

    /// Returns the longest wait for a rate limit while one slows the whole tree, which it does once it holds up several.
    pub(in crate::app) fn slowed(&self) -> Option<AgentState> {
        let left = |state: &AgentState| match state {
            AgentState::RateLimited { left, .. } => *left,
            _ => None,
        };
        let agents = self.agents.running().chain([self.agents.main()]);
        let states = agents.map(|agent| self.state_of(agent));
        let waits: Vec<AgentState> = states.filter(|state| matches!(state, AgentState::RateLimited { .. })).collect();
        if waits.len() < SEVERAL { None } else { waits.into_iter().max_by_key(left) }
    }
}
