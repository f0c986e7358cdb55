//! How panes share the room they are given.
//!
//! Owns the sizes of panes and the rule by which running panes share the room: rows go to who has something to show.
//! Leaves rectangles to `layout`. Invariants: the shares add up to no more than the room; order is that of the wishes;
//! the focused pane is open; no pane has more rows than it can fill, but for the focused one.

use std::time::Duration;

use crate::message::AgentId;

/// Silence after which a pane may be asked to make room.
const QUIET_AFTER: Duration = Duration::from_secs(15);
/// Rows of a peek: the title and three lines.
const PEEK_ROWS: u16 = 4;
/// Rows of an open pane, title included, if it can fill them.
pub(in crate::app) const PANE_ROWS: u16 = 6;
/// More rows than any share: what is held beyond is not counted.
pub const MOST_CONTENT: u16 = 48;

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

    /// Returns the rows it has at least, if there is so much to show below the title.
    fn rows(self, content: u16) -> u16 {
        let full = content.saturating_add(1);
        match self {
            Self::Row => 1,
            Self::Peek => full.clamp(2, PEEK_ROWS),
            Self::Pane | Self::Full => full.clamp(2, PANE_ROWS),
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
    /// Rows that it could fill below its title, up to [`MOST_CONTENT`].
    pub content: u16,
    /// Rows that it could fill where others leave some, as long as nobody who wants them goes without.
    pub spare: u16,
    /// Rows that the user has added to its pane.
    pub grown: u16,
    pub parent: Option<AgentId>,
    pub depth: u16,
    pub branch: usize,
    /// The column of its branch, where there are several; see [`super::columns`].
    pub column: usize,
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
        let (silent, content) = (Duration::ZERO, MOST_CONTENT);
        Self {
            agent,
            chosen: None,
            live,
            silent,
            content,
            spare: 0,
            grown: 0,
            parent: None,
            depth: 0,
            branch: 0,
            column: 0,
        }
    }

    /// Returns `true` if the agent would use more than a title.
    pub fn wants_room(&self) -> bool {
        self.wanted() > PaneSize::Row
    }

    /// Returns how many rows the agent could use well.
    pub(in crate::app) fn useful_rows(&self, focused: Option<AgentId>) -> u16 {
        let wish = if focused == Some(self.agent) { &self.looked_at() } else { self };
        match wish.wanted() {
            PaneSize::Row => 1,
            PaneSize::Peek => wish.least(PaneSize::Peek),
            PaneSize::Pane | PaneSize::Full => wish.most().max(wish.least(PaneSize::Pane)),
        }
    }

    /// Returns the wish of an agent in a rail: a title, unless it is the one that is looked at.
    pub(in crate::app) fn in_rail(&self, focused: Option<AgentId>) -> Self {
        let chosen = if focused == Some(self.agent) { self.chosen } else { Some(PaneSize::Row) };
        Self { chosen, ..self.clone() }
    }

    /// Returns the same wish of the agent that is looked at: its pane is open unless the user has folded it.
    fn looked_at(&self) -> Self {
        let chosen = self.chosen.or(Some(PaneSize::Pane));
        Self { chosen, content: self.content.max(PANE_ROWS - 1), ..self.clone() }
    }

    fn least(&self, size: PaneSize) -> u16 {
        size.rows(self.content) + if size >= PaneSize::Pane { self.grown } else { 0 }
    }

    /// Returns the rows it can fill, title included.
    fn most(&self) -> u16 {
        self.content.saturating_add(1).saturating_add(self.grown)
    }

    /// Returns the rows it can fill, title included, of those that nobody wants.
    fn at_most(&self) -> u16 {
        self.most().max(self.spare.saturating_add(1))
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
    let is_focused = |wish: &PaneRequest| Some(wish.agent) == focused;
    let wishes: Vec<PaneRequest> =
        wishes.iter().map(|wish| if is_focused(wish) { wish.looked_at() } else { wish.clone() }).collect();
    let shown = choose_shown(height, &wishes, focused);
    let share_of = |wish: &&PaneRequest| {
        let size = wish.wanted();
        Share { agent: wish.agent, rows: wish.least(size), size }
    };
    let mut shares: Vec<Share> = shown.iter().map(share_of).collect();
    make_room(height, &shown, &mut shares, focused);
    fill(height, &shown, &mut shares, focused);
    shares
}

/// Leaves out ended agents, oldest first, until those that run can show something; then those that matter least, of equals
/// the deepest, and of those those farthest from the focus.
fn choose_shown(height: u16, wishes: &[PaneRequest], focused: Option<AgentId>) -> Vec<&PaneRequest> {
    let mut shown: Vec<&PaneRequest> = wishes.iter().collect();
    // The one that is looked at is open before others have a title.
    let open = shown.iter().find(|wish| Some(wish.agent) == focused && wish.wants_room());
    let asking = shown.iter().filter(|wish| wish.live == Live::NeedsYou).count();
    let height = usize::from(height);
    let open = open.map_or(0, |_| usize::from(PANE_ROWS - 1).min(height.saturating_sub(asking + 1)));
    let height = height - open;
    let bodies = shown.iter().filter(|wish| Some(wish.agent) != focused).map(|wish| wish.least(wish.wanted()) - 1);
    let titles = height.saturating_sub(usize::from(bodies.fold(0, u16::saturating_add)).min(height / 2));
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
        (wish.chosen.is_some(), std::cmp::Reverse(silent), std::cmp::Reverse(*at))
    });
    order.retain(|at| Some(wishes[*at].agent) != focused);
    for target in [PaneSize::Peek, PaneSize::Row] {
        for at in &order {
            if total(shares) <= u32::from(height) {
                return;
            }
            let share = &mut shares[*at];
            if share.size > target {
                share.size = target;
                share.rows = wishes[*at].least(target);
            }
        }
    }
    // What still is too much, the one that is looked at goes without.
    let surplus = total(shares).saturating_sub(u32::from(height));
    if let Some(share) = shares.iter_mut().find(|share| Some(share.agent) == focused) {
        share.rows = share.rows.saturating_sub(u16::try_from(surplus).unwrap_or(u16::MAX)).max(1);
        share.size = if share.rows == 1 { PaneSize::Row } else { share.size };
    }
}

/// Gives what is left to the panes that would be open, row by row to the smallest that can fill another, first to those
/// that want it, of equals to one at work; what then still is left, to the one that is looked at.
fn fill(height: u16, wishes: &[&PaneRequest], shares: &mut [Share], focused: Option<AgentId>) {
    let used: u16 = shares.iter().map(|share| share.rows).fold(0, u16::saturating_add);
    for _ in 0..height.saturating_sub(used) {
        let open = shares.iter_mut().zip(wishes).filter(|(_, wish)| wish.wanted() >= PaneSize::Pane);
        let hungry = open.filter(|(share, wish)| share.rows < wish.at_most());
        let order = |(share, wish): &(&mut Share, &&PaneRequest)| {
            (share.rows >= wish.most(), share.rows, wish.live != Live::Yes)
        };
        if let Some((share, _)) = hungry.min_by_key(order) {
            share.rows += 1;
            share.size = share.size.max(PaneSize::Peek);
            continue;
        }
        let looked_at = shares.iter_mut().find(|share| Some(share.agent) == focused && share.size >= PaneSize::Pane);
        let Some(share) = looked_at else { return };
        share.rows += 1;
    }
}
