//! Who stands below whom, and in what order agents are shown.
//!
//! Owns the order of panes, rows and lists: a parent, then all below it, before its next sibling. Leaves the agents
//! themselves to `agents`. Invariants: siblings stand in the order of their numbers; every agent stands exactly once,
//! whatever its events say of its parent; the agents below one follow it without a gap.

use std::collections::{BTreeMap, HashMap};

use crate::message::AgentId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeNode {
    pub agent: AgentId,
    /// The subagent it stands below; `None` for the main agent's own.
    pub parent: Option<AgentId>,
    /// How deep it stands below the main agent's own subagents.
    pub depth: u16,
    /// How many stand below it, at any depth.
    pub below: usize,
    /// Which of the main agent's own subagents it descends from, counted from 0.
    pub branch: usize,
}

/// All subagents in the order in which they are shown.
#[derive(Debug, Clone, Default)]
pub struct AgentOrder {
    kin: Vec<TreeNode>,
    places: HashMap<AgentId, usize>,
}

impl AgentOrder {
    /// Puts agents in order, each given with the parent it names, by ascending number.
    pub(in crate::app) fn of(agents: impl Iterator<Item = (AgentId, Option<AgentId>)>) -> Self {
        let mut below: BTreeMap<AgentId, Vec<AgentId>> = BTreeMap::new();
        let mut known = HashMap::new();
        for (agent, parent) in agents {
            // A parent is older than its child, so that there is no cycle. Whoever names another, or one of a
            // conversation that was cleared, stands with the main agent's own.
            let parent = parent.filter(|parent| *parent < agent && known.contains_key(parent));
            known.insert(agent, parent);
            below.entry(parent.unwrap_or(AgentId::MAIN)).or_default().push(agent);
        }
        let mut order = Self { kin: Vec::with_capacity(known.len()), places: HashMap::new() };
        let mut waiting: Vec<(AgentId, u16)> = Vec::new();
        let mut next = |parent: AgentId, depth: u16, waiting: &mut Vec<(AgentId, u16)>| {
            let children = below.remove(&parent).unwrap_or_default();
            waiting.extend(children.into_iter().rev().map(|agent| (agent, depth)));
        };
        next(AgentId::MAIN, 0, &mut waiting);
        let mut branches = 0;
        while let Some((agent, depth)) = waiting.pop() {
            branches += usize::from(depth == 0);
            order.places.insert(agent, order.kin.len());
            let parent = known.get(&agent).copied().flatten();
            order.kin.push(TreeNode { agent, parent, depth, below: 0, branch: branches.saturating_sub(1) });
            next(agent, depth.saturating_add(1), &mut waiting);
        }
        // Children stand behind their parents, so that theirs are counted first.
        for at in (0..order.kin.len()).rev() {
            let TreeNode { parent, below, .. } = order.kin[at];
            if let Some(parent) = parent.and_then(|parent| order.places.get(&parent)) {
                order.kin[*parent].below += below + 1;
            }
        }
        order
    }

    pub fn all(&self) -> &[TreeNode] {
        &self.kin
    }

    pub fn get(&self, agent: AgentId) -> Option<&TreeNode> {
        self.kin.get(*self.places.get(&agent)?)
    }

    /// Returns everyone below an agent, at any depth.
    pub fn below(&self, agent: AgentId) -> &[TreeNode] {
        let at = self.places.get(&agent).copied().filter(|at| self.kin[*at].below > 0);
        at.map_or(&[], |at| &self.kin[at + 1..=at + self.kin[at].below])
    }
}
