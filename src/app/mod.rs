//! What the screen knows: one struct that events change and views draw.
//!
//! Owns every decision of the screen: what a key means, what an event of an agent changes, what is asked of the
//! world. Leaves drawing and every effect to `tui`. Invariants: no I/O, no locks, no clock (the present time comes
//! with each event); an event costs no more than its own size, however long the transcripts are.

pub mod action;
mod actions;
mod agent_events;
pub mod agent_files;
mod agent_view;
mod agents;
mod approval_input;
mod approvals;
mod cells;
mod choices;
mod command;
pub mod composer;
pub mod diff_rows;
mod effect;
mod event;
pub mod files;
mod folding;
mod guard;
mod input;
pub mod key;
pub mod keymap;
pub mod layout;
mod line_edit;
mod log_scrollback;
mod mouse;
mod order;
mod pane_state;
pub mod panes;
mod phase;
mod popup;
pub mod question;
mod report;
mod requests;
mod scroll;
mod selection;
mod setup;
mod status;
mod steering;
pub mod timeline;
mod typing;
mod wakeup;
pub mod wizard;
mod worktrees;

use std::collections::BTreeMap;
use std::time::Instant;

use ratatui::layout::Rect;

pub use agent_view::AgentView;
pub use agents::{Agents, Tally};
pub use approvals::{Approvals, Expanded};
pub use cells::{Cell, CellId, CellKind, Cells, ToolCell, ToolState};
pub use choices::{Arrangement, UserChoice};
pub use command::{SLASH_COMMANDS, budget_share, budget_words, change_budget, cost_mark, cost_words};
pub use effect::{Effect, MouseCapture};
pub use event::Event;
pub use folding::FoldedAway;
pub use guard::{GUARD, HOLD};
pub use line_edit::LineEdit;
pub use log_scrollback::{
    LoadedUpTo, LogMatch, LogNews, LogPage, LogRequest, LogSpan, StepView, begins_turn, fold_log,
};
pub use mouse::STOP_FROM;
pub use order::{AgentOrder, TreeNode};
pub use pane_state::{Detail, PaneState, Subtree};
pub use phase::{AgentState, Awaited, Phase, Severity};
pub use popup::{PaletteAct, PaletteEntry, Popup, palette};
pub use report::{report_markdown, summary_of};
pub use scroll::{Anchor, Drawn, Motion, Scroll, ScrollTarget};
pub use selection::{Point, Selection, SelectionEnd, SelectionStage, Unit};
pub use setup::{Editing, Movement, Setup};
pub use status::{Armed, Flash, FlashSubject, ModelFact, ModelState, StatusLine, Tone};
pub use typing::LETTER_PAUSE;
pub use worktrees::{WorktreeState, WorktreeView};

use self::agent_files::{AgentFilesView, AgentPlaces};
use self::composer::{Composer, History};
use self::files::FileIndex;
use self::key::{Input, Key};
use self::keymap::Keymap;
use self::layout::{LayoutMode, LayoutState, Regions, layout};
use self::panes::PaneSize;
use self::timeline::Timeline;
use crate::definition::Listing;
use crate::message::AgentId;
use crate::permission::ActiveGrant;

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Focus {
    /// To the text being written.
    Composer,
    /// To the conversation.
    Conversation,
    /// To the chosen agent.
    Agents,
    /// To the open question.
    Approvals,
    /// To the timeline.
    Timeline,
}

/// Whether the user looks at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attention {
    Here,
    Elsewhere,
}

/// Everything the screen knows.
pub struct App {
    /// When the program began; spinners count from here.
    born: Instant,
    /// The time of the last event.
    now: Instant,
    size: Rect,
    agents: Agents,
    approvals: Approvals,
    /// How many questions an answer settled besides its own, and until when more count as its doing.
    also_allowed: Option<(usize, Instant)>,
    /// What is allowed in advance, by origin.
    grants: Vec<ActiveGrant>,
    composer: Composer,
    keymap: Keymap,
    /// Keys that begin a longer chord, and when they were pressed.
    chord: Vec<Key>,
    chord_at: Instant,
    focus: Focus,
    /// The agent that was chosen last.
    chosen: Option<AgentId>,
    /// The agent that was clicked on last; the keyboard stays where it is.
    clicked: Option<AgentId>,
    /// The agent that has the whole screen.
    full: Option<AgentId>,
    layout_mode: LayoutMode,
    /// Share of the agents in per cent, where the border was dragged.
    split: Option<u16>,
    panes: BTreeMap<AgentId, PaneState>,
    /// What was read back of the agent that has the whole screen.
    past: Option<Box<log_scrollback::LogScrollback>>,
    timeline: Timeline,
    popup: Option<Popup>,
    popup_end: usize,
    /// Apart, because it is large and seldom there.
    wizard: Box<wizard::Wizard>,
    armed: Option<(Armed, Instant)>,
    /// What the key that is pressed now may confirm.
    offered: Option<(Armed, Instant)>,
    typing: typing::Typing,
    flash: Option<Flash>,
    status: StatusLine,
    /// The agents there are to be had, by the files that define them.
    listing: Listing,
    agent_places: AgentPlaces,
    /// The view of all agents, in front of everything but popups.
    agent_files: Option<AgentFilesView>,
    files: FileIndex,
    /// When the files were last listed.
    listed_at: Option<Instant>,
    /// The panes of the last frame, with their sizes.
    visible: Vec<(AgentId, PaneSize)>,
    /// Messages that wait for the main agent, oldest first.
    queued: Vec<String>,
    steering: steering::Steering,
    requests: requests::PendingRequests,
    attention: Attention,
    mouse: MouseCapture,
    motion: Movement,
    theming: choices::Theming,
    /// How the agents were placed when that was last handed on.
    arranged: Arrangement,
    dragging: mouse::Dragging,
    /// What the last frame showed that can be clicked on.
    pointed: mouse::Pointed,
    /// Clicks at one place.
    clicks: mouse::Clicks,
    title: String,
    dirty: bool,
    quitting: bool,
}

impl App {
    /// Returns the state of the first frame.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let now = setup.now;
        let mut app = Self {
            born: now,
            now,
            size: Rect::new(0, 0, setup.size.0, setup.size.1),
            agents: Agents::new(now),
            approvals: Approvals::default(),
            also_allowed: None,
            grants: Vec::new(),
            composer: Composer::new(History::default()),
            keymap: setup.keymap,
            chord: Vec::new(),
            chord_at: now,
            focus: Focus::Composer,
            chosen: None,
            clicked: None,
            full: None,
            layout_mode: setup.arrangement.mode,
            split: setup.arrangement.split,
            panes: BTreeMap::new(),
            past: None,
            timeline: Timeline::default(),
            popup: None,
            popup_end: 0,
            wizard: Box::default(),
            armed: None,
            offered: None,
            typing: typing::Typing::default(),
            flash: None,
            status: StatusLine {
                folder: setup.folder,
                branch: None,
                model: ModelState::Searching(None),
                mode: setup.mode,
                zone: setup.zone,
            },
            listing: Listing::default(),
            agent_places: AgentPlaces::default(),
            agent_files: None,
            files: FileIndex::default(),
            listed_at: None,
            visible: Vec::new(),
            queued: Vec::new(),
            steering: steering::Steering::default(),
            requests: requests::PendingRequests::default(),
            attention: Attention::Here,
            mouse: setup.mouse,
            motion: setup.motion,
            theming: choices::Theming::new(setup.themes, setup.theme),
            arranged: setup.arrangement,
            dragging: mouse::Dragging::Nothing,
            pointed: mouse::Pointed::default(),
            clicks: mouse::Clicks::none(now),
            title: String::new(),
            dirty: true,
            quitting: false,
        };
        if setup.editing == Editing::Vi {
            app.composer.use_vi();
        }
        for text in setup.notices {
            app.notice(&text);
        }
        app
    }

    /// Takes in one event and returns what is to be done.
    pub fn update(&mut self, now: Instant, event: Event) -> Vec<Effect> {
        self.now = self.now.max(now);
        let mut effects = Vec::new();
        self.act_on_held(&mut effects);
        let retitles = agent_events::may_retitle(&event);
        if !matches!(event, Event::Log(_) | Event::Drawn(_) | Event::Wakeup) {
            self.dirty = true;
        }
        self.guard_answers(&event, &mut effects);
        match event {
            Event::Log(event) => self.on_log(&event, &mut effects),
            Event::Input(Input::Key(key)) => self.on_key(key, &mut effects),
            Event::Input(Input::Paste(text)) => self.on_paste(&text, &mut effects),
            Event::Input(Input::Mouse(mouse)) => self.on_mouse(mouse, &mut effects),
            Event::Input(Input::Resize { width, height }) => {
                // Its columns are those of rows that are no more.
                self.clear_selection();
                self.size = Rect::new(0, 0, width, height);
            }
            Event::Input(Input::FocusGained) => self.attention = Attention::Here,
            Event::Input(Input::FocusLost) => self.attention = Attention::Elsewhere,
            Event::Wakeup => self.on_wakeup(),
            Event::Drawn(drawn) => self.on_drawn(drawn, &mut effects),
            Event::FilesListed(files) => {
                self.files.set(files);
                self.edited(&mut effects);
            }
            Event::HistoryLoaded(history) => self.composer.set_history(history),
            Event::LogRead(news) => self.on_log_read(news),
            Event::AgentFiles(news) => self.on_agent_files(news, &mut effects),
            Event::BranchKnown(branch) => self.status.branch = branch,
            Event::Edited(Some(text)) => {
                if !self.edited_in_wizard(&text) {
                    self.edited_outside(&text);
                }
            }
            Event::Edited(None) => self.warn("The editor failed. Set $EDITOR to a program that edits a file."),
            Event::Exported(path) => self.inform(format!("Written to {path}")),
            Event::Terminate => self.quit(&mut effects),
            Event::Error(text) => self.error(&text),
            Event::Refresh => {}
        }
        if retitles {
            self.retitle(&mut effects);
            self.follow_choices(&mut effects);
        }
        effects
    }

    /// Returns `true` if a frame would look different from the last one, and forgets it.
    pub fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// Returns `true` if a frame would look different from the last one.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// Returns `true` if the screen is about to close.
    #[must_use]
    pub fn is_quitting(&self) -> bool {
        self.quitting
    }

    /// Returns the time of the last event, which is the present of a frame.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the terminal's area.
    #[must_use]
    pub fn size(&self) -> Rect {
        self.size
    }

    /// Returns the agents.
    #[must_use]
    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    /// Returns the open questions.
    #[must_use]
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Returns what is allowed in advance, by origin.
    #[must_use]
    pub fn grants(&self) -> &[ActiveGrant] {
        &self.grants
    }

    /// Returns the text being written.
    #[must_use]
    pub fn composer(&self) -> &Composer {
        &self.composer
    }

    /// Returns the keys.
    #[must_use]
    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// Returns where keys go.
    #[must_use]
    pub fn focus(&self) -> Focus {
        self.focus
    }

    /// Returns the agent that has the focus.
    #[must_use]
    pub fn focused_agent(&self) -> Option<AgentId> {
        self.full.or_else(|| self.chosen.filter(|_| self.focus == Focus::Agents))
    }

    /// Returns the agent that has the focus or, while one writes, was clicked on.
    #[must_use]
    pub fn marked_agent(&self) -> Option<AgentId> {
        self.focused_agent().or_else(|| self.clicked.filter(|id| self.agents.get(*id).is_some()))
    }

    /// Returns the open popup.
    #[must_use]
    pub fn popup(&self) -> Option<&Popup> {
        self.popup.as_ref()
    }

    /// Returns what the status line knows.
    #[must_use]
    pub fn status(&self) -> &StatusLine {
        &self.status
    }

    /// Returns the passing message.
    #[must_use]
    pub fn flash(&self) -> Option<&Flash> {
        self.flash.as_ref()
    }

    /// Returns the messages that wait for whom the composer writes to, oldest first. Until the main agent is known to
    /// work, none is shown for it.
    #[must_use]
    pub fn queued(&self) -> &[String] {
        if let Some(target) = self.target() {
            return self.unread(target.id);
        }
        if self.agents.main().is_active() { &self.queued } else { &[] }
    }

    /// Returns how an agent's transcript is shown.
    #[must_use]
    pub fn pane(&self, agent: AgentId) -> PaneState {
        self.panes.get(&agent).cloned().unwrap_or_default()
    }

    /// Returns the layout the user chose.
    #[must_use]
    pub fn layout_mode(&self) -> LayoutMode {
        self.layout_mode
    }

    /// Returns every agent that files define, in force or not.
    #[must_use]
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Returns where everything stands.
    #[must_use]
    pub fn regions(&self) -> Regions {
        let wishes = self.wishes();
        let queued = u16::try_from(self.queued().len().min(3)).unwrap_or(0);
        let (approval_rows, approval_room) = self.approval_rows();
        let mut regions = layout(
            self.size,
            &LayoutState {
                mode: self.layout_mode,
                split: self.split,
                composer_rows: self.composer.height(self.size.width) + queued,
                approval_rows,
                approval_room,
                panes: &wishes,
                // Whom one writes to is whom one watches.
                focused: self.watched(),
                full: self.full,
            },
        );
        if self.shows_timeline() {
            regions.show_timeline();
        }
        regions
    }
}
