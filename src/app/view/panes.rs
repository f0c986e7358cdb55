//! How panes share the room they are given.
//!
//! Owns the sizes of panes and the rule by which running panes share the room. Leaves rectangles to `layout`.
//! Invariants: the shares add up to no more than the room; order is that of the wishes; the focused pane has a
//! share; a size depends on activity only after a long silence, so that panes do not jump while agents talk.

use std::time::Duration;

use crate::message::AgentId;

/// Silence after which a pane may be asked to make room.
const QUIET_AFTER: Duration = Duration::from_secs(15);
/// Rows of a peek: the title and three lines.
const PEEK_ROWS: u16 = 4;
/// Fewest rows of a pane, title included.
const PANE_ROWS: u16 = 6;

/// How much of an agent is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PaneSize {
    /// Its title.
    Row,
    /// Its title and three lines.
    Peek,
    /// A share of the room.
    Pane,
    Full,
}

impl PaneSize {
    /// Returns the next larger size that panes beside each other can have.
    #[must_use]
    pub fn larger(self) -> Self {
        match self {
            Self::Row => Self::Peek,
            _ => Self::Pane,
        }
    }

    #[must_use]
    pub fn smaller(self) -> Self {
        match self {
            Self::Full => Self::Pane,
            Self::Pane => Self::Peek,
            _ => Self::Row,
        }
    }

    fn rows(self) -> u16 {
        match self {
            Self::Row => 1,
            Self::Peek => PEEK_ROWS,
            Self::Pane | Self::Full => PANE_ROWS,
        }
    }
}

/// What one agent would like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaneRequest {
    pub agent: AgentId,
    pub chosen: Option<PaneSize>,
    pub live: Live,
    /// How long it has been silent.
    pub silent: Duration,
    pub parent: Option<AgentId>,
    pub depth: u16,
    pub branch: usize,
}

/// Whether a pane has something to show that was not seen yet, what matters most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Live {
    NeedsYou,
    Yes,
    /// It waits for its turn: a title says it all.
    Waiting,
    /// It has ended, and its report is news.
    News,
    /// Its report was seen.
    Folded,
}

impl Live {
    /// Returns `true` if it has begun and not ended.
    #[must_use]
    pub fn is_at_work(self) -> bool {
        matches!(self, Self::NeedsYou | Self::Yes)
    }
}

impl PaneRequest {
    /// Returns the request of an agent that has just sent an event, stands below no other and has the size of its
    /// liveliness.
    #[must_use]
    pub fn new(agent: AgentId, live: Live) -> Self {
        Self { agent, chosen: None, live, silent: Duration::ZERO, parent: None, depth: 0, branch: 0 }
    }

    /// Returns its column where there are two. All of a branch stand in one, and stay there.
    pub(in crate::app) fn column(&self) -> usize {
        self.branch % 2
    }

    /// Returns `true` if the agent would use more than a title.
    pub fn wants_room(&self) -> bool {
        self.wanted() > PaneSize::Row
    }

    /// Returns how many rows the agent could use well.
    pub(in crate::app) fn useful_rows(&self) -> u16 {
        match self.wanted() {
            PaneSize::Row => 1,
            PaneSize::Peek => PEEK_ROWS,
            PaneSize::Pane | PaneSize::Full => 14,
        }
    }

    /// Returns the wish of an agent in a rail.
    pub(in crate::app) fn as_row(&self) -> Self {
        Self { chosen: Some(PaneSize::Row), ..self.clone() }
    }

    fn wanted(&self) -> PaneSize {
        self.chosen.unwrap_or(match self.live {
            Live::NeedsYou | Live::Yes | Live::News => PaneSize::Pane,
            Live::Waiting | Live::Folded => PaneSize::Row,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    pub agent: AgentId,
    /// Rows, title included.
    pub rows: u16,
    pub size: PaneSize,
}

/// Shares `height` rows. Agents for whom there is not even a title are left out.
pub fn share(height: u16, wishes: &[PaneRequest], focused: Option<AgentId>) -> Vec<Share> {
    let shown = choose_shown(height, wishes, focused);
    let mut shares: Vec<Share> =
        shown.iter().map(|wish| Share { agent: wish.agent, rows: wish.wanted().rows(), size: wish.wanted() }).collect();
    make_room(height, &shown, &mut shares, focused);
    spread(height, &mut shares);
    shares
}

/// Leaves out ended agents, oldest first, until those that run can show something; then those that matter least, of equals
/// the deepest, and of those those farthest from the focus.
fn choose_shown(height: u16, wishes: &[PaneRequest], focused: Option<AgentId>) -> Vec<&PaneRequest> {
    let mut shown: Vec<&PaneRequest> = wishes.iter().collect();
    let height = usize::from(height);
    let wanting = shown.iter().filter(|wish| wish.wants_room()).count();
    let titles = height.saturating_sub((wanting * usize::from(PANE_ROWS - 1)).min(height / 2));
    let mut surplus = shown.len().saturating_sub(titles);
    shown.retain(|wish| {
        let may_go = wish.live == Live::Folded && wish.chosen.is_none_or(|size| size == PaneSize::Row);
        let goes = surplus > 0 && may_go && Some(wish.agent) != focused;
        surplus -= usize::from(goes);
        !goes
    });
    if shown.len() > height {
        // There is not even a title for each.
        let at = shown.iter().position(|wish| Some(wish.agent) == focused).unwrap_or(0);
        let mut order: Vec<usize> = (0..shown.len()).collect();
        order.sort_by_key(|index| {
            let wish = shown[*index];
            (Some(wish.agent) != focused, wish.live, wish.depth, index.abs_diff(at))
        });
        let mut kept: Vec<usize> = order.into_iter().take(height).collect();
        kept.sort_unstable();
        shown = kept.into_iter().map(|index| shown[index]).collect();
    }
    shown
}

/// Shrinks panes until the room suffices: those silent for longest first, then the latest; what the user chose and
/// what has the focus last.
fn make_room(height: u16, wishes: &[&PaneRequest], shares: &mut [Share], focused: Option<AgentId>) {
    let total = |shares: &[Share]| shares.iter().map(|share| u32::from(share.rows)).sum::<u32>();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by_key(|at| {
        let wish = wishes[*at];
        let silent = if wish.silent >= QUIET_AFTER { wish.silent } else { Duration::ZERO };
        let kept = (Some(wish.agent) == focused, wish.chosen.is_some());
        (kept, std::cmp::Reverse(silent), std::cmp::Reverse(*at))
    });
    for target in [PaneSize::Peek, PaneSize::Row] {
        for at in &order {
            if total(shares) <= u32::from(height) {
                return;
            }
            let share = &mut shares[*at];
            if share.size > target {
                share.size = target;
                share.rows = target.rows();
            }
        }
    }
}

/// Gives what is left to the panes, evenly.
fn spread(height: u16, shares: &mut [Share]) {
    let used: u16 = shares.iter().map(|share| share.rows).fold(0, u16::saturating_add);
    let left = height.saturating_sub(used);
    let panes = u16::try_from(shares.iter().filter(|share| share.size >= PaneSize::Pane).count()).unwrap_or(u16::MAX);
    if panes == 0 {
        return;
    }
    let (each, mut rest) = (left / panes, left % panes);
    for share in shares.iter_mut().filter(|share| share.size >= PaneSize::Pane) {
        share.rows += each + u16::from(rest > 0);
        rest = rest.saturating_sub(1);
    }
}
