//! Panes of nested agents: what a fold hides, what the parent's title says of it, and how one moves among them.
//!
//! Owns which panes are wished for, and the fold of a whole subtree. Leaves the order to `order` and room to `panes`.
//! Invariants: who needs the user, who has the focus and whom one writes to is never hidden; unfolding brings every
//! pane back as it was.

use super::View;
use super::layout::Regions;
use super::pane_state::Subtree;
use super::panes::{Live, MOST_CONTENT, PaneRequest, PaneSize};
use crate::app::action::Action;
use crate::app::agents::state::StateGroup;
use crate::app::agents::tree::AgentTree;
use crate::app::{AgentState, AgentView, Agents, CellKind, Phase};
use crate::message::AgentId;

/// What a folded pane says of the agents below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedAway {
    pub hidden: usize,
    /// The state among them, and those still shown, that matters most.
    pub state: AgentState,
}

impl FoldedAway {
    /// Returns the state as a word for many.
    pub fn word(&self) -> String {
        match self.state.row().group {
            StateGroup::Working => "running".to_owned(),
            _ => self.state.word_within(9),
        }
    }
}

impl View {
    /// Returns the panes that are wished for, in the order in which they are shown.
    pub(in crate::app) fn wishes(&self, tree: &AgentTree<'_>) -> Vec<PaneRequest> {
        let watched = self.watched(tree);
        let mut wishes = Vec::with_capacity(tree.agents.len());
        // Places up to this one are hidden by a fold above them.
        let mut hidden = 0;
        for (at, kin) in tree.agents.order().all().iter().enumerate() {
            let Some(agent) = tree.agents.get(kin.agent) else { continue };
            let folds = kin.below > 0 && self.subtree(kin.agent) == Subtree::Hidden;
            let is_filed = self.is_filed(agent) && !self.shows_filed();
            let stays = (at >= hidden && !is_filed) || watched == Some(kin.agent) || tree.needs_you(agent);
            if folds {
                hidden = hidden.max(at + 1 + kin.below);
            }
            if stays {
                let wish = self.wish(agent, tree);
                let chosen = if folds { Some(PaneSize::Row) } else { wish.chosen };
                let column = self.columns.get(&kin.branch).copied().unwrap_or(kin.branch % 2);
                let place = PaneRequest { parent: kin.parent, depth: kin.depth, branch: kin.branch, column, ..wish };
                wishes.push(PaneRequest { chosen, ..place });
            }
        }
        wishes
    }

    /// Returns the agent that has the focus, or else the one that is written to or was clicked on.
    pub(in crate::app) fn watched(&self, tree: &AgentTree<'_>) -> Option<AgentId> {
        self.focused_agent().or(tree.target).or_else(|| self.marked_agent(tree.agents))
    }

    fn wish(&self, agent: &AgentView, tree: &AgentTree<'_>) -> PaneRequest {
        let state = self.panes.get(&agent.id);
        let asking = tree.approvals.of(agent.id) > 0;
        let live = match agent.phase {
            Phase::Queued if !asking => Live::Waiting,
            Phase::Ended(_) if self.is_folded_away(agent.id, tree.now) => Live::Folded,
            Phase::Ended(_) => Live::News,
            _ if asking => Live::NeedsYou,
            _ => Live::Yes,
        };
        // Who waits for others has nothing new to show, although events of theirs arrive.
        let last_event = if agent.waits_for_agents() { agent.since } else { agent.last_event };
        let silent = if asking { std::time::Duration::ZERO } else { tree.now.saturating_duration_since(last_event) };
        let chosen = state.and_then(|state| state.chosen).filter(|size| *size != PaneSize::Full);
        let grown = state.map_or(0, |state| state.grown);
        let arrived = agent.cells.arrived();
        let spare = match state.and_then(|state| state.content) {
            // What came since fills about a row each.
            Some((rows, at)) => rows.saturating_add(u16::try_from(arrived.saturating_sub(at)).unwrap_or(u16::MAX)),
            None => rows_of(agent, self.size.width / 2),
        };
        let spare = spare.min(MOST_CONTENT);
        // What is asked stands in the question.
        let content = if asking { 1 } else { spare };
        PaneRequest { chosen, silent, content, spare, grown, ..PaneRequest::new(agent.id, live) }
    }

    fn subtree(&self, agent: AgentId) -> Subtree {
        self.panes.get(&agent).map_or(Subtree::Shown, |state| state.subtree)
    }

    /// Returns `true` if an agent's pane is drawn as a folded one: by what is below it, else by its own size.
    pub(in crate::app) fn is_folded(&self, agent: AgentId, size: PaneSize, agents: &Agents) -> bool {
        match agents.order().below(agent) {
            [] => size == PaneSize::Row,
            _ => self.subtree(agent) == Subtree::Hidden,
        }
    }

    /// Returns what a fold hides below an agent; `None` if it hides nothing.
    pub(in crate::app) fn folded_away(&self, agent: AgentId, tree: &AgentTree<'_>) -> Option<FoldedAway> {
        if self.subtree(agent) == Subtree::Shown {
            return None;
        }
        let watched = self.watched(tree);
        let is_hidden = |agent: &&AgentView| watched != Some(agent.id) && !tree.needs_you(agent);
        let hidden = tree.agents.below(agent).filter(is_hidden).count();
        let states = tree.agents.below(agent).map(|agent| tree.state_of(agent));
        let state = states.min_by_key(|state| state.row().group)?;
        (hidden > 0).then_some(FoldedAway { hidden, state })
    }

    /// Folds or unfolds an agent's pane, with all panes below it.
    pub(in crate::app) fn toggle_fold(&mut self, agent: AgentId, size: PaneSize, agents: &Agents) {
        self.full = None;
        let leads = !agents.order().below(agent).is_empty();
        let state = self.pane_mut(agent);
        match (leads, state.subtree) {
            (true, Subtree::Shown) => state.subtree = Subtree::Hidden,
            (true, Subtree::Hidden) => state.subtree = Subtree::Shown,
            (false, _) => state.chosen = Some(if size == PaneSize::Row { PaneSize::Pane } else { PaneSize::Row }),
        }
    }

    /// Adds rows to an agent's pane, or takes some of them away again. Returns `false` if none were added.
    pub(in crate::app) fn grow(&mut self, agent: AgentId, by: i16) -> bool {
        let state = self.pane_mut(agent);
        let grown = state.grown.saturating_add_signed(by).min(MOST_CONTENT);
        std::mem::replace(&mut state.grown, grown) != grown
    }

    /// Gives an agent's pane a size of its own. One that grows shows what is below it again.
    pub(in crate::app) fn choose_size(&mut self, agent: AgentId, size: PaneSize) {
        self.full = None;
        let state = self.pane_mut(agent);
        if size > PaneSize::Row {
            state.subtree = Subtree::Shown;
        }
        state.chosen = Some(size);
    }

    /// Returns the pane that an arrow leads to: up and down within its column, left to the parent or the column there,
    /// right to the column there or on.
    pub(in crate::app) fn neighbour(&self, action: Action, regions: &Regions, tree: &AgentTree<'_>) -> Option<AgentId> {
        let wishes = self.wishes(tree);
        let at = wishes.iter().position(|wish| Some(wish.agent) == self.chosen)?;
        let place = |agent: AgentId| regions.pane(agent).map(|pane| pane.area);
        // Who is not in sight stands where others of its column do.
        let column = |wish: &PaneRequest| {
            let seen =
                || wishes.iter().filter(|other| other.column == wish.column).find_map(|other| place(other.agent));
            place(wish.agent).or_else(seen).map_or(0, |area| area.x)
        };
        let own = column(&wishes[at]);
        let beside = wishes.iter().any(|wish| column(wish) != own);
        let across = |is_there: fn(&u16, &u16) -> bool| {
            let y = place(wishes[at].agent).map_or(0, |area| area.y);
            let others = wishes.iter().filter_map(|wish| Some((place(wish.agent)?, wish)));
            let others = others.filter(|(area, _)| is_there(&area.x, &own));
            others.min_by_key(|(area, _)| (area.x.abs_diff(own), area.y.abs_diff(y))).map(|(_, wish)| wish)
        };
        let before = || wishes[..at].iter().rev().find(|wish| column(wish) == own);
        let behind = || wishes[at + 1..].iter().find(|wish| column(wish) == own);
        // Of who is seen although a fold hides the ones above, the nearest one that is seen too.
        let above = std::iter::successors(wishes[at].parent, |agent| tree.agents.order().get(*agent)?.parent);
        let parent = above.into_iter().find_map(|agent| wishes.iter().find(|wish| wish.agent == agent));
        let to = match action {
            Action::MoveDown => behind(),
            Action::MoveLeft if parent.is_some() => parent,
            Action::MoveLeft if beside => across(u16::lt),
            Action::MoveUp | Action::MoveLeft => before(),
            _ if beside => across(u16::gt),
            _ => behind(),
        };
        to.map(|wish| wish.agent)
    }
}

/// Returns about how many rows an agent's transcript fills in a pane of so many columns, up to [`MOST_CONTENT`].
fn rows_of(agent: &AgentView, columns: u16) -> u16 {
    let (columns, most) = (usize::from(columns.max(20)), usize::from(MOST_CONTENT));
    let text_rows = |text: &str| {
        let lines = text.len() / columns >= most;
        if lines { most } else { text.lines().map(|line| line.len() / columns + 1).sum::<usize>() }
    };
    let mut rows = 0;
    for (_, cell) in agent.cells.iter().rev() {
        rows += match &cell.kind {
            CellKind::Text { text } | CellKind::Report { text } | CellKind::User { text } => text_rows(text),
            CellKind::Tool(tool) => 1 + text_rows(&tool.tail).min(most),
            CellKind::Void => 0,
            _ => 1,
        };
        if rows >= most {
            return MOST_CONTENT;
        }
    }
    u16::try_from(rows).unwrap_or(MOST_CONTENT).clamp(1, MOST_CONTENT)
}
