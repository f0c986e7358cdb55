//! All agents of the session as the screen knows them: the main agent and every subagent.
//!
//! Owns who exists, and sums over the tree. Leaves one agent's life to `agent_view` and the order in which they stand to
//! `order`. Invariants: the order is made anew only when an agent appears; a number that was forgotten stays
//! forgotten; whoever has ended comes back with a later run and with nothing else.

pub(super) mod agent_view;
pub(super) mod cells;
pub(super) mod context;
pub(super) mod order;
pub(super) mod plain_text;
pub(super) mod program_status;
pub(super) mod report;
pub(super) mod requests;
pub(super) mod state;
pub(super) mod tree;
pub(super) mod worktrees;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use self::agent_view::AgentView;
use self::cells::{CellId, CellKind};
use self::order::AgentOrder;
use self::state::Phase;
use self::worktrees::KeptWorktrees;
use crate::agent::{AgentEvent, EventKind, RunMode, Spent, Status};
use crate::message::{AgentId, BudgetLimit, sanitize, sanitize_line, shown_name};

#[derive(Debug, Clone)]
pub struct Agents {
    main: AgentView,
    children: BTreeMap<AgentId, AgentView>,
    order: AgentOrder,
    /// Numbers up to this one belong to a conversation that was cleared.
    forgotten: u32,
    /// Those that the last clearing stopped, and the run in which it did. They stay, and can be resumed.
    outlasting: BTreeMap<AgentId, u32>,
    /// What the cleared conversations used.
    spent: Spent,
    /// What all agents may use together.
    budget: BudgetLimit,
    /// Columns of the longest type.
    widest_type: usize,
    /// Those of whose record only the end was read back, or less.
    cut: BTreeSet<AgentId>,
    /// The unmerged worktrees for the user. They outlast the conversation.
    kept: KeptWorktrees,
}

impl Agents {
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            main: AgentView::new(AgentId::MAIN, now),
            children: BTreeMap::new(),
            order: AgentOrder::default(),
            forgotten: 0,
            outlasting: BTreeMap::new(),
            spent: Spent::default(),
            budget: BudgetLimit::default(),
            widest_type: 0,
            cut: BTreeSet::new(),
            kept: KeptWorktrees::default(),
        }
    }

    /// Returns the columns of the longest type among the subagents.
    pub fn widest_type(&self) -> usize {
        self.widest_type
    }

    pub fn main(&self) -> &AgentView {
        &self.main
    }

    /// Notes that an earlier run of the program has ended, and its commands with it.
    pub(in crate::app) fn cut_off_commands(&mut self) {
        self.main.cut_off_commands();
    }

    pub(in crate::app) fn notice(&mut self, text: &str) {
        self.main.cells.push(CellKind::Notice { text: sanitize_line(text).into_owned() });
    }

    /// Adds a line about something that went wrong to the conversation.
    pub(in crate::app) fn error(&mut self, text: &str) {
        self.main.cells.push(CellKind::Error { text: sanitize(text).into_owned() });
    }

    pub(in crate::app) fn kept(&self) -> &KeptWorktrees {
        &self.kept
    }

    pub(in crate::app) fn kept_mut(&mut self) -> &mut KeptWorktrees {
        &mut self.kept
    }

    pub(in crate::app) fn is_busy(&self) -> bool {
        self.running().next().is_some() || self.main.is_active()
    }

    /// Names what runs, for questions about stopping it: how many first, because the names may be cut.
    pub(in crate::app) fn running_words(&self) -> String {
        let names: Vec<&str> = self.running().map(|agent| agent.name.as_str()).collect();
        let subagents = match names.len() {
            0 => None,
            1..=3 => Some(names.join(", ")),
            count => Some(format!("{count} subagents: {}", names.join(", "))),
        };
        let main = (!self.main.phase.is_at_rest()).then_some("the main agent");
        match (main, subagents) {
            (None, None) => "nothing".to_owned(),
            (Some(main), None) => main.to_owned(),
            (None, Some(subagents)) => subagents,
            (Some(main), Some(subagents)) => format!("{main} and {subagents}"),
        }
    }

    /// Returns the subagent that a word names, by its number or its name.
    pub(in crate::app) fn find(&self, word: &str) -> Option<&AgentView> {
        self.children().find(|agent| word.parse() == Ok(agent.id.0) || agent.name == word)
    }

    pub fn get(&self, id: AgentId) -> Option<&AgentView> {
        if id.is_main() { Some(&self.main) } else { self.children.get(&id) }
    }

    /// Returns a subagent, to change how much of it is kept.
    pub(in crate::app) fn get_mut(&mut self, id: AgentId) -> Option<&mut AgentView> {
        self.children.get_mut(&id)
    }

    /// Returns the subagents in the order in which they are shown.
    pub fn children(&self) -> impl DoubleEndedIterator<Item = &AgentView> + Clone {
        self.order.all().iter().filter_map(|kin| self.children.get(&kin.agent))
    }

    pub fn order(&self) -> &AgentOrder {
        &self.order
    }

    /// Returns the subagents below one, at any depth.
    pub fn below(&self, agent: AgentId) -> impl Iterator<Item = &AgentView> {
        self.order.below(agent).iter().filter_map(|kin| self.children.get(&kin.agent))
    }

    pub fn len(&self) -> usize {
        self.children.len()
    }

    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    pub fn running(&self) -> impl Iterator<Item = &AgentView> {
        self.children().filter(|agent| !agent.has_ended())
    }

    /// Returns the subagents at work that the main agent waits for: those in the foreground, and those that they wait
    /// for in turn.
    pub fn waited_for(&self) -> impl Iterator<Item = &AgentView> {
        self.running().filter(|agent| {
            let mut at = Some(*agent);
            // A cycle cannot come from the engine, but events may be anything.
            for _ in 0..16 {
                let Some(agent) = at.filter(|agent| agent.run_mode == RunMode::Foreground) else { return false };
                if agent.parent.is_none_or(AgentId::is_main) {
                    return true;
                }
                at = agent.parent.and_then(|parent| self.get(parent));
            }
            false
        })
    }

    /// Returns tokens and cost of the whole tree, cleared conversations included.
    pub fn spent(&self) -> Spent {
        let mut spent = self.spent;
        spent.add(&self.main.spent);
        self.children.values().for_each(|agent| spent.add(&agent.spent));
        spent
    }

    /// Returns what one agent and all below it have used.
    pub fn spent_below(&self, id: AgentId) -> Spent {
        let mut spent = self.get(id).map(|agent| agent.spent).unwrap_or_default();
        if id.is_main() {
            self.children().for_each(|agent| spent.add(&agent.spent));
        }
        self.below(id).for_each(|agent| spent.add(&agent.spent));
        spent
    }

    pub fn budget(&self) -> BudgetLimit {
        self.budget
    }

    pub(super) fn set_budget(&mut self, limit: BudgetLimit) {
        self.budget = limit;
    }

    /// Notes of whom more was recorded than will be read back.
    pub(super) fn set_cut(&mut self, cut: &BTreeSet<AgentId>) {
        self.cut.clone_from(cut);
    }

    /// Counts what was used before the present conversation.
    pub(super) fn add_spent(&mut self, spent: &Spent) {
        self.spent.add(spent);
    }

    /// Returns the agents that the end of the program interrupted, those below others first, the main agent last.
    pub fn interrupted(&self) -> impl Iterator<Item = &AgentView> {
        let was_interrupted = |agent: &&AgentView| agent.phase == Phase::Ended(Status::Interrupted);
        self.children.values().rev().chain([&self.main]).filter(was_interrupted)
    }

    pub fn spent_before(&self) -> Spent {
        self.spent
    }

    /// Returns the way from the main agent down to `id`, such as `main › explore-1`.
    pub fn lineage(&self, id: AgentId) -> String {
        let mut names = Vec::new();
        let mut at = Some(id);
        // A cycle cannot come from the engine, but events may be anything.
        while let Some(agent) = at.and_then(|id| self.get(id)).filter(|_| names.len() < 16) {
            names.push(shown_name(&agent.name));
            at = agent.parent;
        }
        names.reverse();
        names.join(" › ")
    }

    /// Takes in one event. Returns the agent's end, if this event was it.
    pub(in crate::app) fn fold(&mut self, event: &AgentEvent, now: Instant) -> Folded {
        let id = event.agent;
        if id.is_main() {
            let was_active = self.main.is_active();
            self.main.fold(event, now);
            return if was_active && !self.main.is_active() { Folded::Ended } else { Folded::Changed };
        }
        if id.0 <= self.forgotten && !self.children.contains_key(&id) {
            // Whoever still works for a conversation that was cleared is paid all the same.
            self.spent.apply(&event.kind);
            return Folded::Ignored;
        }
        let known = self.children.contains_key(&id);
        if !known {
            let mut agent = AgentView::new(id, now);
            if self.cut.contains(&id) {
                agent.cells.leave_room();
            }
            self.children.insert(id, agent);
            self.order = ordered(&self.children);
        }
        let Some(agent) = self.children.get_mut(&id) else { return Folded::Ignored };
        if let EventKind::Worktree { news } = &event.kind {
            // Its worktree outlives it.
            agent.worktree_news(news, now);
            // Its row in the conversation has a mark for that.
            self.touch_anchor(id);
            return if known { Folded::Changed } else { Folded::Appeared };
        }
        let goes_on = agent.is_later_run(&event.kind);
        let is_stale = match event.kind {
            EventKind::Spawned(_) => false,
            EventKind::Resumed { .. } => !goes_on,
            _ => agent.has_ended(),
        };
        if is_stale {
            return Folded::Ignored;
        }
        let ended_before = agent.has_ended();
        if let EventKind::Spawned(spawn) = &event.kind {
            if agent.parent.is_some() {
                return Folded::Ignored;
            }
            agent.spawned(spawn, now);
            self.widest_type = self.widest_type.max(type_columns(agent));
            let (parent, call_id) = (spawn.parent, spawn.call_id.clone());
            if !parent.is_main() {
                self.order = ordered(&self.children);
            }
            self.attach(id, parent, &call_id);
            return if known { Folded::Changed } else { Folded::Appeared };
        }
        agent.fold(event, now);
        let ended = agent.has_ended() && !ended_before;
        self.apply(id, now);
        if ended || goes_on {
            self.touch_anchor(id);
        }
        if ended {
            return Folded::Ended;
        }
        if known { Folded::Changed } else { Folded::Appeared }
    }

    /// Notes that an agent is not silent: neither then is who waits for it.
    fn apply(&mut self, id: AgentId, now: Instant) {
        let mut at = id;
        for _ in 0..16 {
            let Some(parent) = self.children.get(&at).and_then(|agent| agent.parent) else { return };
            if parent.is_main() {
                self.main.last_event = now;
                return;
            }
            if let Some(agent) = self.children.get_mut(&parent) {
                agent.last_event = now;
            }
            at = parent;
        }
    }

    /// Notes that those at work now outlast the present conversation: its end stops them, and they can be resumed.
    pub(in crate::app) fn outlast(&mut self) {
        self.outlasting = self.running().map(|agent| (agent.id, agent.run)).collect();
    }

    /// Returns `true` while an agent is in the run that ended with a cleared conversation.
    pub(in crate::app) fn is_of_cleared(&self, id: AgentId) -> bool {
        self.get(id).is_some_and(|agent| self.outlasting.get(&id) == Some(&agent.run))
    }

    /// Forgets the conversation and every subagent of it that does not outlast it. What was used stays counted.
    pub(in crate::app) fn clear(&mut self, now: Instant) {
        self.spent.add(&self.main.spent);
        let all = std::mem::take(&mut self.children);
        self.forgotten = all.keys().next_back().map_or(0, |last| last.0).max(self.forgotten);
        for (id, mut agent) in all {
            if self.outlasting.contains_key(&id) {
                if !agent.parent.is_some_and(|parent| self.outlasting.contains_key(&parent)) {
                    // Its line goes with the transcript above.
                    agent.anchor = None;
                }
                self.children.insert(id, agent);
            } else {
                self.spent.add(&agent.spent);
            }
        }
        self.order = ordered(&self.children);
        self.widest_type = self.children.values().map(type_columns).max().unwrap_or(0);
        let mut cells = std::mem::replace(&mut self.main, AgentView::new(AgentId::MAIN, now)).cells;
        cells.clear();
        self.main.cells = cells;
    }

    /// Takes back the user's last messages, with all that followed them. Returns the first of them, if it is held.
    pub(in crate::app) fn rewind(&mut self, messages: usize) -> Option<String> {
        let (first, said) = self.main.rewind(messages)?;
        for agent in self.children.values_mut() {
            // Its line is gone; the pane stays.
            agent.anchor = agent.anchor.filter(|anchor| agent.parent != Some(AgentId::MAIN) || *anchor < first);
        }
        said
    }

    fn attach(&mut self, id: AgentId, parent: AgentId, call_id: &str) {
        // The transcript that it belongs to was cleared.
        let is_late = parent.is_main() && self.is_of_cleared(id);
        let holder = if parent.is_main() { Some(&mut self.main) } else { self.children.get_mut(&parent) };
        let Some(holder) = holder.filter(|holder| holder.id != id && !holder.has_ended() && !is_late) else { return };
        let cell: CellId = holder.child_spawned(call_id, id);
        if let Some(agent) = self.children.get_mut(&id) {
            agent.anchor = Some(cell);
        }
    }

    /// Notes in the parent's transcript that the child's line looks different now.
    fn touch_anchor(&mut self, id: AgentId) {
        let Some((parent, cell)) = self.children.get(&id).and_then(|agent| agent.parent.zip(agent.anchor)) else {
            return;
        };
        let holder = if parent.is_main() { Some(&mut self.main) } else { self.children.get_mut(&parent) };
        if let Some(holder) = holder {
            holder.cells.touch_subagent(cell);
        }
    }
}

fn ordered(children: &BTreeMap<AgentId, AgentView>) -> AgentOrder {
    AgentOrder::of(children.values().map(|agent| (agent.id, agent.parent)))
}

/// What an event did to the set of agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Folded {
    /// Nothing: it came too late, or twice.
    Ignored,
    Changed,
    Appeared,
    Ended,
}

fn type_columns(agent: &AgentView) -> usize {
    crate::message::columns::width(&agent.agent_type)
}
