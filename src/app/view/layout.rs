//! Where everything stands, as a pure function of the terminal's size and a few wishes.
//!
//! Owns the rectangles of all regions and panes. Leaves drawing to the views. Invariants, for every size: no two
//! regions overlap, none leaves the terminal, the composer and the status line come first, and the focused pane is
//! among the visible ones unless a question is shown in full.

use std::collections::HashMap;

use ratatui::layout::Rect;

use crate::app::columns::BELOW_TALK;
use crate::app::panes::{PaneRequest, PaneSize, Share, share};
use crate::message::AgentId;

/// How the agents are placed, as the user chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LayoutMode {
    /// By the terminal's size.
    #[default]
    Auto,
    Side,
    Below,
    /// One line each, below the conversation.
    Rail,
    Hidden,
}

impl LayoutMode {
    /// All modes, in the order of the list.
    pub const ALL: [Self; 5] = [Self::Auto, Self::Side, Self::Below, Self::Rail, Self::Hidden];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Side => "side",
            Self::Below => "below",
            Self::Rail => "rail",
            Self::Hidden => "hidden",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Says where the agents stand.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Auto => "depends on the terminal size",
            Self::Side => "agents beside the conversation",
            Self::Below => "agents below the conversation",
            Self::Rail => "one row for each agent",
            Self::Hidden => "the conversation only",
        }
    }
}

/// How the agents are placed, as decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayoutForm {
    Alone,
    Side,
    Below,
    Rail,
    Full,
    Timeline,
}

/// How much of the screen the open question may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuestionRoom {
    #[default]
    Half,
    /// Half, and all that the conversation leaves blank with so many rows of its own.
    Blank(u16),
    /// Nearly all of it.
    Whole,
}

impl QuestionRoom {
    /// Returns the most rows of a question, where so many are left for it and what it is about.
    #[must_use]
    pub fn rows(self, screen: u16, left: u16) -> u16 {
        let half = left.saturating_sub(4).max(left.min(5)).min((screen / 2).max(3));
        match self {
            Self::Half => half,
            Self::Blank(kept) => left.saturating_sub(kept).max(half),
            Self::Whole if left > 8 => left - 2,
            Self::Whole => left,
        }
    }
}

/// What the layout depends on besides the size.
#[derive(Debug, Clone, Default)]
pub struct LayoutState<'a> {
    pub mode: LayoutMode,
    /// Share of the agents in per cent where the user dragged the border.
    pub split: Option<u16>,
    /// Rows the composer would like, with what stands above its text.
    pub composer_rows: u16,
    /// Rows the open question would like; 0 if there is none.
    pub approval_rows: u16,
    pub approval_room: QuestionRoom,
    /// Rows that the commands in the background would like, with their heading.
    pub command_rows: u16,
    /// Rows that the user's own status line would like.
    pub foot_rows: u16,
    /// Rows that the conversation keeps for what it says, if that was measured.
    pub talk_rows: Option<u16>,
    /// One entry for each agent, in order.
    pub panes: &'a [PaneRequest],
    /// Whether a row stands for ended agents that have no pane any more.
    pub has_filed: bool,
    pub focused: Option<AgentId>,
    /// The agent that is shown alone.
    pub full: Option<AgentId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaneRect {
    pub agent: AgentId,
    /// Where, title included.
    pub area: Rect,
    pub size: PaneSize,
    pub descent: Descent,
}

/// How a pane shows whom its agent stands below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descent {
    /// By so many columns before its title and its body; 0 for the main agent's own.
    Indent(u16),
    /// By a mark, for want of columns.
    Mark,
    /// By its parent's number, because the parent is out of sight.
    Of(AgentId),
}

impl Descent {
    /// Returns the columns it takes before the title.
    #[must_use]
    pub fn columns(self) -> u16 {
        match self {
            Self::Indent(columns) => columns,
            Self::Mark => INDENT,
            Self::Of(parent) => u16::try_from(parent.to_string().len()).unwrap_or(INDENT).saturating_add(INDENT),
        }
    }

    /// Says how a pane of so many columns shows that it stands so deep. Never are the number, some letters of the type
    /// and the state pushed out.
    fn at(depth: u16, columns: u16) -> Self {
        match (depth, columns) {
            (0, _) | (_, ..MARK_FROM) => Self::Indent(0),
            (_, MARK_FROM..INDENT_FROM) => Self::Mark,
            _ => Self::Indent(depth.min(DEEPEST) * INDENT),
        }
    }
}

/// Columns of a level.
const INDENT: u16 = 2;
/// Deepest level that is indented further: as deep as the settings allow.
const DEEPEST: u16 = 4;
/// Narrowest pane that is indented, and narrowest that has a mark in place of that.
const INDENT_FROM: u16 = 44;
const MARK_FROM: u16 = 24;

/// Where everything stands. Regions without room are empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regions {
    pub form: LayoutForm,
    /// Title of the conversation; only beside agents.
    pub conversation_head: Rect,
    pub conversation: Rect,
    /// The line between conversation and agents that stand beside each other.
    pub divider: Rect,
    pub agents_head: Rect,
    /// The line between the conversation and the panes below it, where others stand beside it.
    pub below_head: Rect,
    pub panes: Vec<PaneRect>,
    /// The row that stands for ended agents that have no pane any more.
    pub filed: Rect,
    /// How many agents found no room.
    pub unseen: usize,
    pub timeline: Rect,
    /// The commands in the background: a heading where there is room, and their rows.
    pub commands: Rect,
    pub approvals: Rect,
    /// The line above the composer.
    pub rule: Rect,
    pub composer: Rect,
    /// The user's own status line.
    pub foot: Rect,
    pub status: Rect,
}

impl Regions {
    /// Returns what the columns of panes can hold, if panes stand beside the conversation.
    pub(in crate::app) fn column_room(&self) -> Option<ColumnRoom> {
        let columns = if may_part(self.status.width, self.agents_head.width) { 2 } else { 1 };
        let rows = self.divider.height.saturating_sub(1);
        (self.form == LayoutForm::Side).then_some(ColumnRoom { rows, columns })
    }

    /// Gives the room of conversation and agents to the timeline.
    pub(in crate::app) fn show_timeline(&mut self) {
        // They stand above the commands, which have their place even while there are none.
        let room = Rect { x: self.commands.x, y: 0, width: self.commands.width, height: self.commands.y };
        let empty = Rect { width: 0, height: 0, ..room };
        self.form = LayoutForm::Timeline;
        self.timeline = room;
        (self.conversation_head, self.conversation) = (empty, empty);
        (self.divider, self.agents_head, self.below_head) = (empty, empty, empty);
        self.panes.clear();
        self.filed = empty;
        self.unseen = 0;
    }

    pub fn pane(&self, agent: AgentId) -> Option<&PaneRect> {
        self.panes.iter().find(|pane| pane.agent == agent)
    }
}

/// Cuts `rows` off the bottom of `area`, as far as it has them.
fn cut_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect { y: area.y + area.height, height: rows, ..*area }
}

/// Cuts `rows` off the top of `area`, as far as it has them.
fn cut_top(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    let top = Rect { height: rows, ..*area };
    area.y += rows;
    area.height -= rows;
    top
}

pub fn layout(size: Rect, state: &LayoutState<'_>) -> Regions {
    let mut main = size;
    let status = cut_bottom(&mut main, u16::from(size.height >= 2));
    let foot = cut_bottom(&mut main, state.foot_rows.min(size.height / 12));
    let most = (size.height / 3).max(1);
    let composer = cut_bottom(&mut main, state.composer_rows.clamp(1, most));
    let rule = cut_bottom(&mut main, u16::from(size.height >= 8));
    let room = state.approval_room.rows(size.height, main.height);
    let approvals = cut_bottom(&mut main, state.approval_rows.min(room));
    let most = main.height / 4;
    let commands = cut_bottom(&mut main, state.command_rows.min(most));
    let empty = Rect { width: 0, height: 0, ..main };
    let mut regions = Regions {
        form: LayoutForm::Alone,
        conversation_head: empty,
        conversation: main,
        divider: empty,
        agents_head: empty,
        below_head: empty,
        panes: Vec::new(),
        filed: empty,
        unseen: 0,
        timeline: empty,
        commands,
        approvals,
        rule,
        composer,
        foot,
        status,
    };
    if let Some(agent) = state.full.filter(|agent| state.panes.iter().any(|pane| pane.agent == *agent)) {
        regions.form = LayoutForm::Full;
        regions.conversation = empty;
        if !main.is_empty() {
            regions.panes.push(PaneRect { agent, area: main, size: PaneSize::Full, descent: Descent::Indent(0) });
        }
        return regions;
    }
    regions.form = choose_form(size, main, state);
    match regions.form {
        LayoutForm::Alone | LayoutForm::Full | LayoutForm::Timeline => {}
        LayoutForm::Side => place_beside(&mut regions, main, size.width, state),
        LayoutForm::Below => place_below(&mut regions, main, state),
        LayoutForm::Rail => place_rail(&mut regions, main, state),
    }
    show_descent(&mut regions.panes, state.panes);
    regions
}

/// Says how each pane shows whom it stands below, and puts the panes in order.
fn show_descent(panes: &mut [PaneRect], wishes: &[PaneRequest]) {
    let order: HashMap<AgentId, usize> = wishes.iter().enumerate().map(|(at, wish)| (wish.agent, at)).collect();
    panes.sort_by_key(|pane| order.get(&pane.agent));
    let mut shown: HashMap<AgentId, u16> = HashMap::new();
    for pane in panes {
        let Some(wish) = order.get(&pane.agent).map(|at| &wishes[*at]) else { continue };
        let descent = Descent::at(wish.depth, pane.area.width);
        pane.descent = match (wish.parent, wish.parent.and_then(|parent| shown.get(&parent)), descent) {
            (Some(parent), None, _) if pane.area.width >= MARK_FROM => Descent::Of(parent),
            // Where the parent names its own, it may stand further in.
            (_, Some(above), Descent::Indent(columns)) if columns > 0 => Descent::Indent(columns.max(*above)),
            _ => descent,
        };
        shown.insert(pane.agent, pane.descent.columns());
    }
}

fn choose_form(size: Rect, main: Rect, state: &LayoutState<'_>) -> LayoutForm {
    if (state.panes.is_empty() && !state.has_filed) || main.height < 3 || main.width < 8 {
        return LayoutForm::Alone;
    }
    let form = match state.mode {
        LayoutMode::Auto if size.width < 80 || size.height < 20 => LayoutForm::Rail,
        LayoutMode::Auto if size.width < 120 => LayoutForm::Below,
        LayoutMode::Auto | LayoutMode::Side => LayoutForm::Side,
        LayoutMode::Below => LayoutForm::Below,
        LayoutMode::Rail => LayoutForm::Rail,
        LayoutMode::Hidden if state.focused.is_some() => LayoutForm::Rail,
        LayoutMode::Hidden => LayoutForm::Alone,
    };
    match form {
        LayoutForm::Side | LayoutForm::Below if state.panes.is_empty() => LayoutForm::Rail,
        LayoutForm::Side if main.width < 60 => LayoutForm::Below,
        form => form,
    }
}

/// What the columns beside a conversation can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) struct ColumnRoom {
    /// Of each column.
    pub rows: u16,
    /// Columns that agents may have for themselves.
    pub columns: usize,
}

/// Returns `true` if the agents of a screen of so many columns have room for two columns of panes.
fn may_part(width: u16, agents_width: u16) -> bool {
    width >= 200 && agents_width >= 80
}

fn place_beside(regions: &mut Regions, main: Rect, width: u16, state: &LayoutState<'_>) {
    // The border stays where it is also once all have ended: what one reads is not wrapped anew.
    let percent = state.split.unwrap_or(55).clamp(20, 80);
    let agents_width = u16::try_from(u32::from(main.width) * u32::from(percent) / 100).unwrap_or(0);
    let agents_width = agents_width.clamp(20, main.width - 21);
    let mut left = Rect { width: main.width - agents_width - 1, ..main };
    let mut right = Rect { x: left.x + left.width + 1, width: agents_width, ..main };
    regions.divider = Rect { x: left.x + left.width, width: 1, ..main };
    regions.conversation_head = cut_top(&mut left, 1);
    regions.agents_head = cut_top(&mut right, 1);
    regions.filed = cut_bottom(&mut right, u16::from(state.has_filed));
    let (below, beside): (Vec<PaneRequest>, Vec<PaneRequest>) =
        state.panes.iter().cloned().partition(|pane| pane.column == BELOW_TALK);
    let blank = state.talk_rows.map_or(0, |rows| left.height.saturating_sub(rows.max(LEAST_CONVERSATION)));
    let fits = !below.is_empty() && usize::from(blank) > below.len();
    if fits {
        let mut room = cut_bottom(&mut left, blank);
        regions.below_head = cut_top(&mut room, 1);
        place_column(regions, room, &below, state.focused);
    }
    regions.conversation = left;
    let beside: &[PaneRequest] = if fits { &beside } else { state.panes };
    // Two columns only while both have something to show beyond titles.
    let in_column = |at: usize| beside.iter().any(|pane| pane.column % 2 == at && pane.wants_room());
    if may_part(width, right.width) && in_column(0) && in_column(1) {
        let half = right.width / 2;
        let columns =
            [Rect { width: half, ..right }, Rect { x: right.x + half + 1, width: right.width - half - 1, ..right }];
        for (at, column) in columns.into_iter().enumerate() {
            let wishes: Vec<PaneRequest> = beside.iter().filter(|pane| pane.column % 2 == at).cloned().collect();
            place_column(regions, column, &wishes, state.focused);
        }
    } else {
        place_column(regions, right, beside, state.focused);
    }
}

fn place_below(regions: &mut Regions, mut main: Rect, state: &LayoutState<'_>) {
    regions.filed = cut_bottom(&mut main, u16::from(state.has_filed));
    let height = main.height;
    let percent = u32::from(state.split.unwrap_or(65).clamp(20, 80));
    let share_of_agents = u16::try_from(u32::from(height) * percent / 100).unwrap_or(0);
    // Who dragged the border knows better than what was measured.
    let talk = state.talk_rows.filter(|_| state.split.is_none());
    let talk = talk.map_or(u16::MAX, |rows| rows.max(LEAST_CONVERSATION));
    // Every agent that is at work keeps its title, at the cost of the conversation.
    let titles = live_titles(state).min(height.saturating_sub(LEAST_CONVERSATION));
    let own = height.saturating_sub(share_of_agents.max(titles)).min(talk);
    let useful = state.panes.iter().map(|wish| wish.useful_rows(state.focused)).fold(1, u16::saturating_add);
    let conversation = height.saturating_sub(useful).max(own).min(talk).min(height.saturating_sub(2));
    let rows = height - conversation;
    let shares = share(rows.saturating_sub(1), state.panes, state.focused);
    let used = shares.iter().map(|share| share.rows).fold(1, u16::saturating_add);
    // While agents work, the border stands below what was said, and does not move with all that they show.
    let is_at_work = state.panes.iter().any(|pane| pane.live.is_at_work());
    let mut agents = cut_bottom(&mut main, if is_at_work { rows } else { used });
    regions.agents_head = cut_top(&mut agents, 1);
    regions.conversation = main;
    regions.unseen = state.panes.len() - shares.len();
    place_shares(regions, agents, shares);
}

/// Rows below the title of the one agent that is open in a rail.
const OPEN_IN_RAIL: u16 = 5;

/// Rows that the conversation keeps where agents stand below it.
const LEAST_CONVERSATION: u16 = 2;

/// Returns the rows that a head and a title for each agent at work take, and for the one that is looked at.
fn live_titles(state: &LayoutState<'_>) -> u16 {
    let has_title = |pane: &&PaneRequest| pane.live.is_at_work() || Some(pane.agent) == state.focused;
    let live = state.panes.iter().filter(has_title).count();
    u16::try_from(live).unwrap_or(u16::MAX).saturating_add(1)
}

fn place_rail(regions: &mut Regions, mut main: Rect, state: &LayoutState<'_>) {
    regions.filed = cut_bottom(&mut main, u16::from(state.has_filed));
    regions.conversation = main;
    if state.panes.is_empty() {
        return;
    }
    let count = u16::try_from(state.panes.len()).unwrap_or(u16::MAX);
    let titles = live_titles(state).min(main.height.saturating_sub(LEAST_CONVERSATION));
    let blank = state.talk_rows.map_or(0, |rows| main.height.saturating_sub(rows));
    let most = (main.height / 2).max(titles).max(blank).max(2);
    let rows: Vec<PaneRequest> = state.panes.iter().map(|wish| wish.in_rail(state.focused)).collect();
    let open = state.focused.filter(|agent| rows.iter().any(|wish| wish.agent == *agent && wish.wants_room()));
    let open = if open.is_some() { OPEN_IN_RAIL } else { 0 };
    let most = (most + open).min(main.height.saturating_sub(LEAST_CONVERSATION)).max(2);
    let mut agents = cut_bottom(&mut main, count.saturating_add(1 + open).min(most));
    regions.agents_head = cut_top(&mut agents, 1);
    regions.conversation = main;
    place_column(regions, agents, &rows, state.focused);
}

fn place_column(regions: &mut Regions, column: Rect, wishes: &[PaneRequest], focused: Option<AgentId>) {
    let shares = share(column.height, wishes, focused);
    regions.unseen += wishes.len() - shares.len();
    place_shares(regions, column, shares);
}

fn place_shares(regions: &mut Regions, mut rest: Rect, shares: Vec<Share>) {
    for shared in shares {
        let area = cut_top(&mut rest, shared.rows);
        regions.panes.push(PaneRect { agent: shared.agent, area, size: shared.size, descent: Descent::Indent(0) });
    }
}
