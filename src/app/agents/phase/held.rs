//! Waits of an agent for the sake of all: for a rate limit, which one hears of and all bear, and for the budget.
//!
//! Owns how such a wait is folded into an agent, and whether it slows the whole tree. Leaves the states to `phase` and
//! their words to the views. Invariant: a wait that is over leaves the agent as one whose model works.

use std::time::{Duration, Instant};

use super::{AgentState, Phase};
use crate::agent::Hold;
use crate::app::{AgentView, App};

/// Agents that wait before the tree as a whole counts as slowed.
const SEVERAL: usize = 2;

impl AgentView {
    /// Takes in that its next request waits, or, with a wait of 0 and nobody before it, that it goes.
    pub(in crate::app) fn held(&mut self, why: Hold, wait_ms: Option<u64>, ahead: u32, now: Instant) {
        let phase = match (why, wait_ms, ahead) {
            (_, Some(0), 0) => Phase::Thinking,
            (Hold::Budget, ..) => Phase::AwaitsBudget { ahead },
            (Hold::RateLimit, ..) => {
                Phase::RateLimited { until: wait_ms.map(|wait| now + Duration::from_millis(wait)), ahead }
            }
        };
        self.enter(phase, now);
    }
}

impl App {
    /// Returns the longest wait for a rate limit while one slows the whole tree, which it does once it holds up several.
    #[must_use]
    pub fn slowed(&self) -> Option<AgentState> {
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
