//! What the screen knows: one struct that events change and views draw.
//!
//! Owns every decision of the screen: what a key means, what an event of an agent changes, what is asked of the
//! world. Leaves drawing and every effect to `tui`. [`App`] only routes: each part (agents, approvals, messages, view,
//! timeline, overlays …) keeps its own state and changes it in its own methods. Invariants: no I/O, no locks, no clock
//! (the present time comes with each event); an event costs no more than its own size, however long the transcripts are.

pub mod action;
mod agent_events;
mod agents;
mod approvals;
mod clock;
mod command;
mod commands;
pub mod composer;
mod effect;
mod event;
mod input;
mod outbox;
mod overlay;
mod queries;
mod settings;
pub mod timeline;
mod view;

use std::time::Instant;

use ratatui::layout::Rect;

pub use self::action::Action;
pub use self::agent_events::Earlier;
pub use self::agents::Agents;
pub use self::agents::agent_view::AgentView;
pub use self::agents::cells::{Cell, CellId, CellKind, Cells, Siblings, ToolCell, ToolState};
pub use self::agents::context::{ContextRow, context_rows, context_total, context_words};
pub use self::agents::order::{AgentOrder, TreeNode};
pub use self::agents::program_status::{AgentStatus, ProgramState, ProgramStatus};
pub use self::agents::state::{AgentState, Awaited, Phase, Severity, StateGroup, StateSign};
pub use self::agents::tree::Tally;
pub use self::agents::worktrees::{WorktreeState, WorktreeView};
pub use self::approvals::guard::{GUARD, HOLD};
pub use self::approvals::{Approvals, Expanded, diff_rows, question, terms};
pub use self::command::{
    COMMANDS, INIT, PlainSession, SANDBOX_USAGE, SandboxCommand, SlashCommand, budget_share, budget_words,
    change_budget, cost_mark, cost_words, spent_words,
};
pub use self::commands::{CommandState, CommandView, RunningCommand, first_row};
pub use self::composer::files;
pub use self::composer::intent::MessageIntent;
pub use self::effect::{Effect, MouseCapture};
pub use self::event::Event;
pub use self::input::typing::LETTER_PAUSE;
pub use self::input::{key, keymap};
pub use self::overlay::line_edit::LineEdit;
pub use self::overlay::list::{self as lists, ListEntry, ListPopup, ListStyle, ListText};
pub use self::overlay::popup::{PaletteAct, PaletteEntry, Popup, palette};
pub use self::overlay::question_form::{FormQuestion, QuestionForm};
pub use self::overlay::rewind::rewind_remarks;
pub use self::overlay::{agent_files, wizard};
pub use self::settings::choices::{Arrangement, UserChoice};
pub use self::settings::effort::effort_words;
pub use self::settings::servers::{MCP_USAGE, McpCommand, name_prompt};
pub use self::settings::setup::{Editing, Movement, Setup};
pub use self::settings::skills::{skill_state, skill_words};
pub use self::settings::status::{Armed, Flash, FlashSubject, ModelFact, ModelState, StatusLine, Tone};
pub use self::settings::status_command::StatusLineFacts;
pub use self::view::folding::FoldedAway;
pub use self::view::log_scrollback::{
    LoadedUpTo, LogMatch, LogNews, LogPage, LogRequest, LogSpan, StepView, begins_turn, fold_log,
};
pub use self::view::pane_state::{Detail, PaneState, Subtree};
pub use self::view::pointer::STOP_FROM;
pub use self::view::scroll::{Anchor, Drawn, Motion, Scroll, ScrollTarget};
pub use self::view::selection::{Point, Selection, SelectionEnd, SelectionStage, Unit};
pub use self::view::{Focus, columns, layout, panes};

use self::agent_files::AgentFilesPanel;
use self::agents::requests::PendingRequests;
use self::agents::tree::AgentTree;
use self::agents::{cells, report, state};
use self::clock::{Clock, SECOND};
use self::commands::CommandRows;
use self::composer::messages::Messages;
use self::input::Keyboard;
use self::key::Input;
use self::layout::LayoutMode;
use self::outbox::Outbox;
use self::overlay::{Overlay, line_edit};
use self::panes::PaneSize;
use self::settings::choices::Settings;
use self::settings::memory::MemoryChoices;
use self::settings::models::ModelChoices;
use self::settings::sessions::SessionChoices;
use self::settings::status_command::StatusCommand;
use self::settings::{status, status_command};
use self::timeline::{Playback, PlaybackRequest, Timeline, TimelineWindow};
use self::view::pointer::Pointer;
use self::view::{View, scroll};
use crate::message::AgentId;

/// Everything the screen knows.
pub struct App {
    out: Outbox,
    clock: Clock,
    agents: Agents,
    requests: PendingRequests,
    /// Commands in the background.
    commands: CommandRows,
    approvals: Approvals,
    messages: Messages,
    view: View,
    timeline: Timeline,
    overlay: Overlay,
    agent_files: AgentFilesPanel,
    keys: Keyboard,
    pointer: Pointer,
    settings: Settings,
    models: ModelChoices,
    sessions: SessionChoices,
    memory: MemoryChoices,
    status: StatusLine,
    status_command: StatusCommand,
    /// What the terminal was told.
    told: ProgramStatus,
    /// The moment that is shown of a recorded session; `None` of one that runs.
    playback: Option<Playback>,
    quitting: bool,
}

/// What every agent of a recorded session did when.
#[derive(Debug, Clone)]
pub struct RecordedTimeline(Timeline);

/// Rows that a pane grows or shrinks by.
const GROWTH: i16 = 3;

impl App {
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let now = setup.now;
        let size = Rect::new(0, 0, setup.size.0, setup.size.1);
        let mut app = Self {
            out: Outbox::new(now),
            clock: Clock::new(now, setup.motion),
            agents: Agents::new(now),
            requests: PendingRequests::default(),
            commands: CommandRows::default(),
            approvals: Approvals::default(),
            messages: Messages::new(),
            view: View::new(size, setup.arrangement),
            timeline: Timeline::default(),
            overlay: Overlay::default(),
            agent_files: AgentFilesPanel::default(),
            keys: Keyboard::new(setup.keymap, now),
            pointer: Pointer::new(now),
            settings: Settings::new(setup.themes, setup.theme, setup.arrangement, setup.mouse),
            models: ModelChoices::default(),
            sessions: SessionChoices::default(),
            memory: MemoryChoices::default(),
            status: StatusLine {
                hooks: crate::hook::HookLog::default(),
                folder: setup.folder,
                branch: None,
                model: ModelState::Searching(None),
                mode: setup.mode,
                trust: None,
                sandbox: None,
                zone: setup.zone,
            },
            status_command: StatusCommand::new(setup.has_status_command),
            told: ProgramStatus::default(),
            playback: None,
            quitting: false,
        };
        if setup.editing == Editing::Vi {
            app.messages.composer_mut().use_vi();
        }
        for text in setup.notices {
            app.notice(&text);
        }
        if let Some(command) = setup.first {
            app.run_slash(command);
        }
        app
    }

    /// Takes in one event and returns what is to be done.
    pub fn update(&mut self, now: Instant, event: Event) -> Vec<Effect> {
        self.out.begin(now, &event);
        self.act_on_held();
        let may_change = agent_events::may_change_status(&event);
        if let Event::Input(input) = &event {
            self.approvals.pressed(input, &mut self.out);
        } else {
            self.approvals.send_due(&mut self.out);
            self.leave_empty_regions();
        }
        match event {
            Event::Log(event) => self.on_log(&event),
            Event::Input(input) => self.on_input(input),
            Event::Wakeup => self.on_wakeup(),
            Event::Drawn(drawn) => self.on_drawn(drawn),
            Event::FilesListed(files) => {
                self.messages.set_files(files);
                self.edited();
            }
            Event::HistoryLoaded(history) => self.messages.composer_mut().set_history(history),
            Event::LogRead(news) if matches!(news.span, LogSpan::Output(_)) => overlay::outputs::read(self, news),
            Event::LogRead(news) => self.view.on_log_read(news),
            Event::AgentFiles(news) => self.on_agent_files(news),
            Event::Picture { place, news } => {
                let is_due = self.messages.on_picture(place, news, &mut self.out);
                self.edited();
                if is_due {
                    self.submit();
                }
            }
            Event::ModelsListed { models, is_whole } => self.models.listed(models, is_whole),
            Event::SessionsListed(sessions) => self.sessions.listed(sessions),
            Event::RewindPlanned { messages, plan } => overlay::rewind::planned(self, messages, plan),
            Event::StatusLineWritten(rows) => self.status_command.written(rows),
            Event::SkillsListed(listed) => settings::skills::listed(self, listed),
            Event::Memory(answer) => settings::memory::answered(self, answer),
            Event::BranchKnown(branch) => self.status.branch = branch,
            Event::Edited(Some(text)) => {
                if !self.approvals.edited_outside(&text, &mut self.out)
                    && !self.overlay.wizard_mut().edited_outside(&text)
                {
                    self.messages.edited_outside(&text, &self.agents);
                    self.update_prompt_label();
                }
            }
            Event::Edited(None) => self.out.warn("The editor failed. Set $EDITOR to a text editor."),
            Event::Exported(path) => self.out.answer(format!("exported to {path}")),
            Event::Playback(playback) => {
                self.playback = Some(playback);
                self.out.redraw();
            }
            Event::Terminate => self.quit(),
            Event::Error(text) => self.error(&text),
            Event::Refresh => {}
        }
        if may_change {
            self.tell_status();
            self.settings.try_theme(self.overlay.chosen_in(&lists::THEMES), &mut self.out);
            let tried = self.overlay.chosen_in(&lists::LAYOUTS).and_then(|at| LayoutMode::ALL.get(at).copied());
            self.view.try_layout(tried, &mut self.out);
            self.messages.keep_unsent(&mut self.out);
            if !self.pointer.is_dragging() {
                self.settings.keep_arrangement(self.view.arrangement(), &mut self.out);
            }
        }
        status_command::tell(self);
        let mut effects = self.out.take_effects();
        if self.playback.is_some() {
            effects.retain(timeline::is_harmless);
        }
        effects
    }

    /// Returns what every agent did when, as known at the end of a recorded session.
    pub fn into_recorded_timeline(self) -> RecordedTimeline {
        RecordedTimeline(self.timeline.recorded_until(self.out.now()))
    }

    /// Shows a recorded session from now on, whose events are still to come.
    #[must_use]
    pub fn replaying(self, timeline: &RecordedTimeline, playback: Playback) -> Self {
        Self { timeline: timeline.0.clone(), playback: Some(playback), ..self }
    }

    /// Forgets all events of a recorded session, so that they can be taken in again up to an earlier moment. Where the
    /// user looks stays.
    pub fn rewind(&mut self, beginning: Instant) {
        self.out = Outbox::new(beginning);
        self.agents = Agents::new(beginning);
        self.requests = PendingRequests::default();
        self.commands.forget_all();
        self.approvals = Approvals::default();
        self.messages = Messages::new();
        self.view.forget_events();
        self.status.model = ModelState::Searching(None);
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Key(key) => self.on_key(key),
            // Nothing is written in a replay.
            Input::Paste(text) if self.playback.is_none() => self.on_paste(&text),
            Input::Paste(_) => {}
            Input::Mouse(mouse) => input::mouse::on_mouse(self, mouse),
            Input::Resize { width, height } => self.view.resize(width, height),
            Input::FocusGained => self.clock.set_attended(true),
            Input::FocusLost => self.clock.set_attended(false),
        }
    }

    fn on_drawn(&mut self, mut drawn: Drawn) {
        self.overlay.set_end(drawn.popup_end, drawn.popup_rows);
        if self.playback.is_some() {
            // Which panes fold must not depend on how often, and how fast, they were drawn.
            drawn.reports.clear();
        }
        self.approvals.on_drawn(drawn.question.take(), &mut self.out);
        if let Some(Popup::Questions(form)) = self.overlay.popup_mut() {
            form.on_shown(drawn.list.iter().map(|(_, row)| *row));
        }
        self.pointer.set_targets(std::mem::take(&mut drawn.answers), std::mem::take(&mut drawn.list));
        if let Some((agent, cell)) = self.view.on_drawn(&mut drawn, &mut self.agents, &mut self.out) {
            overlay::outputs::open_cell(self, agent, cell);
        }
        // In a replay, what stands where must not depend on how often it was drawn either.
        if let Some(room) = self.regions().column_room().filter(|_| self.playback.is_none()) {
            let wishes = self.view.wishes(&self.tree());
            self.view.deal_columns(&wishes, room, &mut self.out);
        }
    }

    /// Gives the focused pane another size.
    fn resize_pane(&mut self, action: Action) {
        let Some(id) = self.focused_agent() else { return };
        let now = self.regions().pane(id).map_or(PaneSize::Row, |pane| pane.size);
        match action {
            Action::Full => self.view.set_full(Some(id)),
            Action::Fold => self.view.toggle_fold(id, now, &self.agents),
            Action::Grow if now < PaneSize::Pane => self.view.choose_size(id, now.larger()),
            Action::Grow => self.grow_pane(id),
            _ if now == PaneSize::Pane && self.resize_until_seen(id, -GROWTH) => {}
            _ => self.view.choose_size(id, now.smaller()),
        }
    }

    /// Gives a pane rows of its neighbours; once they have none left, the whole screen.
    fn grow_pane(&mut self, id: AgentId) {
        self.view.choose_size(id, PaneSize::Pane);
        if !self.resize_until_seen(id, GROWTH) {
            self.view.grow(id, i16::MIN);
            self.view.set_full(Some(id));
        }
    }

    /// Adds rows to a pane, or takes some away, until its height has changed. Returns `false` if it cannot.
    fn resize_until_seen(&mut self, id: AgentId, by: i16) -> bool {
        let height = |app: &Self| app.regions().pane(id).map(|pane| pane.area.height);
        let before = height(self);
        while self.view.grow(id, by) {
            if height(self) != before {
                return true;
            }
        }
        false
    }

    /// Lets pass what passes by itself.
    fn on_wakeup(&mut self) {
        let now = self.out.now();
        let chord = self.keys.forget_old_chord(now);
        // Panes whose time has come fold in the next frame.
        let folds = self.view.has_just_folded(now, SECOND);
        self.out.redraw_if(chord || folds || self.tick().is_some());
        self.out.on_wakeup();
    }

    fn on_agent_files(&mut self, news: agent_files::FileNews) {
        let is_open = self.overlay.wizard_is_open();
        let mut written = false;
        let rest = self.overlay.wizard_mut().apply_news(news, || written = true, &mut self.out);
        if written && is_open {
            self.overlay.close();
        }
        if let Some(news) = rest {
            let is_listing = matches!(news, agent_files::FileNews::Listed(_));
            self.agent_files.apply(news, &mut self.out);
            if is_listing {
                self.messages.set_agents(self.agent_files.listing());
            }
        }
    }

    /// Returns the agents with all that their states depend on.
    fn tree(&self) -> AgentTree<'_> {
        AgentTree {
            agents: &self.agents,
            approvals: &self.approvals,
            requests: &self.requests,
            target: self.target().map(|agent| agent.id),
            now: self.out.now(),
        }
    }

    /// Brings what depends on the composer's text up to date.
    fn edited(&mut self) {
        self.messages.edited(self.view.size().width, &self.agents, &mut self.out);
    }

    fn set_target(&mut self, target: Option<AgentId>) {
        self.messages.set_target(target);
        self.update_prompt_label();
    }

    fn update_prompt_label(&mut self) {
        self.messages.update_prompt_label(self.view.size().width, &self.agents, &self.requests);
    }

    fn open_timeline(&mut self) {
        if self.playback.is_some() && self.timeline.is_open() {
            return self.close_timeline();
        }
        if self.timeline.is_empty() {
            self.out.inform("nothing has happened yet");
            return;
        }
        self.timeline.open(self.view.scrolled());
        self.view.set_full(None);
        self.view.set_focus(Focus::Timeline);
    }

    fn act_in_timeline(&mut self, action: Action) {
        if let Some(playback) = &self.playback
            && let Some(request) = playback.request(action)
        {
            let base = self.out.now().checked_sub(playback.position);
            let to = self.timeline().zip(base).and_then(|(now, base)| self.timeline.target(action, &now, base));
            return self.out.push(Effect::Playback(to.map_or(request, PlaybackRequest::Seek)));
        }
        let Some(now) = self.timeline().filter(|_| self.shows_timeline()) else {
            self.out.inform("open the timeline first");
            return;
        };
        if self.timeline.act(action, &now, &self.agents, self.out.now()) {
            return;
        }
        let Some((id, scroll)) = self.timeline.moment(&now, &self.agents, &mut self.out) else { return };
        self.view.pane_mut(id).scroll = scroll;
        if id.is_main() {
            self.close_timeline();
            self.view.set_focus(Focus::Conversation);
        } else {
            self.view.open_full(id);
        }
    }

    /// Asks a replay for the moment of a column of the timeline.
    fn seek_to(&mut self, now: &TimelineWindow, x: u16) {
        let base = self.playback.and_then(|playback| self.out.now().checked_sub(playback.position));
        if let Some(to) = base.and_then(|base| self.timeline.moment_at(now, x, base)) {
            self.out.push(Effect::Playback(PlaybackRequest::Seek(to)));
        }
    }

    fn close_timeline(&mut self) {
        self.timeline.close();
        if self.view.focus() == Focus::Timeline {
            self.view.set_focus(Focus::Composer);
        }
    }

    /// Forgets what was done, as at the start of a new conversation.
    fn forget_timeline(&mut self) {
        self.close_timeline();
        self.timeline = Timeline::default();
    }

    /// Returns where keys go when a view is left.
    fn home(&self) -> Focus {
        if self.shows_timeline() { Focus::Timeline } else { Focus::Composer }
    }

    fn leave_empty_regions(&mut self) {
        let is_empty = match self.view.focus() {
            Focus::Approvals => self.approvals.is_empty(),
            Focus::Commands => self.commands.is_empty(),
            _ => false,
        };
        if is_empty {
            self.view.set_focus(self.home());
        }
        if matches!(self.overlay.popup(), Some(Popup::CommandOutput { id, .. }) if self.commands.get(id).is_none()) {
            self.overlay.close();
        }
    }

    fn notice(&mut self, text: &str) {
        self.agents.notice(text);
        self.out.redraw();
    }

    fn error(&mut self, text: &str) {
        self.agents.error(text);
        self.out.redraw();
    }

    fn quit(&mut self) {
        self.quitting = true;
        self.out.push(Effect::Quit);
    }
}
