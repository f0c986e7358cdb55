//! All agents of the session as the screen knows them: the main agent and every subagent.
//!
//! Owns who exists, and sums over the tree. Leaves one agent's life to `agent_view`. Invariants: subagents stand in
//! the order of their numbers, which is the order of spawning; a number that was forgotten stays forgotten.

use std::collections::BTreeMap;
use std::time::Instant;

use super::agent_view::AgentView;
use super::cells::CellId;
use super::worktrees::Kept;
use crate::agent::{AgentEvent, EventKind, Status};
use crate::message::{AgentId, Usage};

/// The main agent and its subagents.
#[derive(Debug, Clone)]
pub struct Agents {
    main: AgentView,
    children: BTreeMap<AgentId, AgentView>,
    /// Numbers up to this one belong to a conversation that was cleared.
    forgotten: u32,
    /// What the cleared conversations used.
    spent: Spent,
    /// Columns of the longest type.
    widest_type: usize,
    /// The worktrees that wait for the user. They outlast the conversation.
    pub(super) kept: Kept,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// US dollars, where any price is known.
    pub cost_usd: Option<f64>,
}

impl Spent {
    fn add(&mut self, agent: &AgentView) {
        self.usage += agent.usage;
        if let Some(cost) = agent.cost_usd {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }
}

/// How many subagents are in which part of their life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// At work.
    pub running: usize,
    /// Waiting for their turn.
    pub queued: usize,
    /// Ended well.
    pub done: usize,
    /// Ended in failure, silence or without a word.
    pub failed: usize,
    /// Stopped or cut off.
    pub stopped: usize,
}

impl Agents {
    /// Returns a session in which nothing has happened.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            main: AgentView::new(AgentId::MAIN, now),
            children: BTreeMap::new(),
            forgotten: 0,
            spent: Spent::default(),
            widest_type: 0,
            kept: Kept::default(),
        }
    }

    /// Returns the columns of the longest type among the subagents.
    #[must_use]
    pub fn widest_type(&self) -> usize {
        self.widest_type
    }

    /// Returns the main agent.
    #[must_use]
    pub fn main(&self) -> &AgentView {
        &self.main
    }

    /// Returns the main agent, to change its cells.
    pub(super) fn main_mut(&mut self) -> &mut AgentView {
        &mut self.main
    }

    /// Returns an agent.
    #[must_use]
    pub fn get(&self, id: AgentId) -> Option<&AgentView> {
        if id.is_main() { Some(&self.main) } else { self.children.get(&id) }
    }

    /// Returns a subagent, to change how much of it is kept.
    pub(super) fn get_mut(&mut self, id: AgentId) -> Option<&mut AgentView> {
        self.children.get_mut(&id)
    }

    /// Returns the subagents in the order of spawning.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &AgentView> + Clone {
        self.children.values()
    }

    /// Returns the number of subagents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Tells whether there are no subagents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns the subagents that have not ended.
    pub fn running(&self) -> impl Iterator<Item = &AgentView> {
        self.children.values().filter(|agent| !agent.has_ended())
    }

    /// Counts the subagents.
    #[must_use]
    pub fn tally(&self) -> Tally {
        use super::phase::Phase;
        let mut tally = Tally::default();
        for agent in self.children.values() {
            match agent.phase {
                Phase::Queued => tally.queued += 1,
                Phase::Ended(status) if status.is_complete() => tally.done += 1,
                Phase::Ended(Status::Failed | Status::TimedOut | Status::Empty) => tally.failed += 1,
                Phase::Ended(_) => tally.stopped += 1,
                _ => tally.running += 1,
            }
        }
        tally
    }

    /// Returns tokens and cost of the whole tree, cleared conversations included.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let mut spent = self.spent;
        spent.add(&self.main);
        self.children.values().for_each(|agent| spent.add(agent));
        spent
    }

    /// Returns the way from the main agent down to `id`, such as `main › explore-1`.
    #[must_use]
    pub fn lineage(&self, id: AgentId) -> String {
        let mut names = Vec::new();
        let mut at = Some(id);
        // A cycle cannot come from the engine, but events may be anything.
        while let Some(agent) = at.and_then(|id| self.get(id)).filter(|_| names.len() < 16) {
            names.push(agent.name.clone());
            at = agent.parent;
        }
        names.reverse();
        names.join(" › ")
    }

    /// Takes in one event. Returns the agent's end, if this event was it.
    pub(super) fn fold(&mut self, event: &AgentEvent, now: Instant) -> Folded {
        let id = event.agent;
        if event.kind == EventKind::Cleared {
            self.clear(now);
            return Folded::Changed;
        }
        if id.is_main() {
            let was_active = self.main.is_active();
            self.main.fold(&event.kind, now);
            return if was_active && !self.main.is_active() { Folded::Ended } else { Folded::Changed };
        }
        if id.0 <= self.forgotten {
            return Folded::Ignored;
        }
        let known = self.children.contains_key(&id);
        let agent = self.children.entry(id).or_insert_with(|| AgentView::new(id, now));
        if let EventKind::Worktree { news } = &event.kind {
            // Its worktree outlives it.
            agent.worktree_news(news, now);
            return if known { Folded::Changed } else { Folded::Appeared };
        }
        if agent.has_ended() && !matches!(event.kind, EventKind::Spawned(_)) {
            return Folded::Ignored;
        }
        let ended_before = agent.has_ended();
        if let EventKind::Spawned(spawn) = &event.kind {
            if agent.parent.is_some() {
                return Folded::Ignored;
            }
            agent.spawned(spawn, now);
            let columns = unicode_width::UnicodeWidthStr::width(agent.agent_type.as_str());
            self.widest_type = self.widest_type.max(columns);
            let (parent, call_id) = (spawn.parent, spawn.call_id.clone());
            self.attach(id, parent, &call_id);
            return if known { Folded::Changed } else { Folded::Appeared };
        }
        agent.fold(&event.kind, now);
        let ended = agent.has_ended() && !ended_before;
        self.hear(id, now);
        if ended {
            self.touch_anchor(id);
            return Folded::Ended;
        }
        if known { Folded::Changed } else { Folded::Appeared }
    }

    /// Notes that an agent is not silent: neither then is who waits for it.
    fn hear(&mut self, id: AgentId, now: Instant) {
        let mut at = id;
        for _ in 0..16 {
            let Some(parent) = self.children.get(&at).and_then(|agent| agent.parent) else { return };
            if parent.is_main() {
                self.main.heard = now;
                return;
            }
            if let Some(agent) = self.children.get_mut(&parent) {
                agent.heard = now;
            }
            at = parent;
        }
    }

    /// Forgets the conversation and every subagent of it. What was used stays counted.
    pub(super) fn clear(&mut self, now: Instant) {
        self.spent = self.spent();
        if let Some(last) = self.children.keys().next_back() {
            self.forgotten = self.forgotten.max(last.0);
        }
        self.children.clear();
        self.widest_type = 0;
        let mut cells = std::mem::replace(&mut self.main, AgentView::new(AgentId::MAIN, now)).cells;
        cells.clear();
        self.main.cells = cells;
    }

    /// Puts the child's line into its parent's transcript.
    fn attach(&mut self, id: AgentId, parent: AgentId, call_id: &str) {
        let holder = if parent.is_main() { Some(&mut self.main) } else { self.children.get_mut(&parent) };
        let Some(holder) = holder.filter(|holder| holder.id != id && !holder.has_ended()) else { return };
        let cell: CellId = holder.child_spawned(call_id, id);
        if let Some(agent) = self.children.get_mut(&id) {
            agent.anchor = Some(cell);
        }
    }

    /// Tells the parent's transcript that the child's line now shows a summary.
    fn touch_anchor(&mut self, id: AgentId) {
        let Some((parent, cell)) = self.children.get(&id).and_then(|agent| agent.parent.zip(agent.anchor)) else {
            return;
        };
        let holder = if parent.is_main() { Some(&mut self.main) } else { self.children.get_mut(&parent) };
        if let Some(holder) = holder {
            holder.cells.touch(cell);
        }
    }
}

/// What an event did to the set of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folded {
    /// Nothing: it came too late, or twice.
    Ignored,
    /// It changed an agent.
    Changed,
    /// A subagent appeared.
    Appeared,
    /// The agent's run is over.
    Ended,
}
