//! What views, and whoever drives the screen, may ask of the app.
//!
//! Owns nothing: each answer comes from the part that knows it. Invariant: asking changes nothing, but for the one
//! question whether to draw.

use std::time::Instant;

use ratatui::layout::Rect;

use super::agent_files::{AgentFilesView, AgentPlaces, FilesLayout};
use super::agents::Agents;
use super::approvals::Approvals;
use super::approvals::terms::question_terms;
use super::clock::Ticking;
use super::composer::Composer;
use super::keymap::{Context, Keymap};
use super::layout::{LayoutMode, LayoutState, Regions, layout};
use super::panes::PaneSize;
use super::settings::skills::SkillChoices;
use super::timeline::{Playback, SpanKind, TimelineWindow, Track};
use super::wizard::Wizard;
use super::{
    Action, AgentState, AgentView, App, CommandView, Flash, Focus, FoldedAway, LoadedUpTo, PaneState, Popup,
    StatusLine, StepView, Tally,
};
use crate::agent::{KeptWorktree, Spent};
use crate::definition::Listing;
use crate::message::{AgentId, Effort};
use crate::permission::RuleNotice;
use crate::permission::{ActiveGrant, PermissionMode};
use crate::sandbox::SandboxState;

impl App {
    /// Returns the effort that the main agent's model is told.
    pub fn effort(&self) -> Option<Effort> {
        self.settings.effort.sent
    }

    /// Returns `true` if a frame would look different from the last one, and forgets it.
    pub fn take_dirty(&mut self) -> bool {
        self.out.take_dirty()
    }

    pub fn is_dirty(&self) -> bool {
        self.out.is_dirty()
    }

    pub fn is_quitting(&self) -> bool {
        self.quitting
    }

    /// Returns the time of the last event, which is the present of a frame.
    pub fn now(&self) -> Instant {
        self.out.now()
    }

    pub fn size(&self) -> Rect {
        self.view.size()
    }

    pub fn agents(&self) -> &Agents {
        &self.agents
    }

    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    pub fn skills(&self) -> &SkillChoices {
        &self.settings.skills
    }

    pub fn grants(&self) -> &[ActiveGrant] {
        self.approvals.grants()
    }

    pub fn rules(&self) -> &[RuleNotice] {
        self.approvals.rules()
    }

    /// Returns the commands in the background, in the order of their start.
    pub fn commands(&self) -> &[CommandView] {
        self.commands.all()
    }

    /// Returns the place of the command that is chosen.
    pub fn chosen_command(&self) -> usize {
        self.commands.chosen()
    }

    /// Returns the place of the command that the keys are about or, while one writes, that was clicked on.
    pub fn marked_command(&self) -> Option<usize> {
        (self.view.focus() == Focus::Commands || self.commands.is_clicked()).then(|| self.commands.chosen())
    }

    /// Returns `true` if an agent or a command runs that would be stopped with the session.
    pub(super) fn is_busy(&self) -> bool {
        self.agents.is_busy() || self.commands.running() > 0
    }

    /// Names what runs, for questions about stopping it.
    pub(super) fn running_words(&self) -> String {
        match self.commands.running_words() {
            Some(commands) if self.agents.is_busy() => format!("{} and {commands}", self.agents.running_words()),
            Some(commands) => commands,
            None => self.agents.running_words(),
        }
    }

    pub fn composer(&self) -> &Composer {
        self.messages.composer()
    }

    pub fn keymap(&self) -> &Keymap {
        self.keys.keymap()
    }

    pub fn focus(&self) -> Focus {
        self.view.focus()
    }

    pub fn focused_agent(&self) -> Option<AgentId> {
        self.view.focused_agent()
    }

    /// Returns the agent that has the focus or, while one writes, was clicked on.
    pub fn marked_agent(&self) -> Option<AgentId> {
        self.view.marked_agent(&self.agents)
    }

    pub fn popup(&self) -> Option<&Popup> {
        self.overlay.popup()
    }

    pub fn wizard(&self) -> &Wizard {
        self.overlay.wizard()
    }

    /// Returns the keys that matter at the wizard's step: chord and a short word.
    pub fn wizard_hints(&self) -> Vec<(String, &'static str)> {
        self.overlay.wizard().hints(self.keys.keymap())
    }

    pub fn status(&self) -> &StatusLine {
        &self.status
    }

    /// Returns which moment of a recorded session is shown; `None` of one that runs.
    pub fn playback(&self) -> Option<&Playback> {
        self.playback.as_ref()
    }

    pub fn flash(&self) -> Option<&Flash> {
        self.out.flash()
    }

    /// Returns the messages that wait for whom the composer writes to, oldest first. Until the main agent is known to
    /// work, none is shown for it.
    pub fn queued(&self) -> Vec<&str> {
        match self.target() {
            Some(target) => self.unread(target.id),
            None if self.agents.main().is_active() => self.unread(AgentId::MAIN),
            None => Vec::new(),
        }
    }

    /// Returns what an agent has not read yet, oldest first.
    pub fn unread(&self, agent: AgentId) -> Vec<&str> {
        self.messages.unread(agent)
    }

    /// Returns the subagent that the composer writes to; `None` is the main agent.
    pub fn target(&self) -> Option<&AgentView> {
        self.agents.get(self.messages.target()?)
    }

    pub fn pane(&self, agent: AgentId) -> PaneState {
        self.view.pane(agent)
    }

    pub fn layout_mode(&self) -> LayoutMode {
        self.view.arrangement().mode
    }

    /// Returns every agent that files define, in force or not.
    pub fn listing(&self) -> &Listing {
        self.agent_files.listing()
    }

    pub fn agent_places(&self) -> &AgentPlaces {
        self.agent_files.places()
    }

    pub fn agent_files(&self) -> Option<&AgentFilesView> {
        self.agent_files.view()
    }

    pub fn agent_files_layout(&self, view: &AgentFilesView) -> FilesLayout {
        let (regions, size) = (self.regions(), self.view.size());
        let below = if regions.approvals.is_empty() { regions.status } else { regions.approvals };
        let height = if below.is_empty() { size.height } else { below.y.saturating_sub(size.y) };
        FilesLayout::new(Rect { height, ..size }, view)
    }

    pub fn state_of(&self, agent: &AgentView) -> AgentState {
        self.tree().state_of(agent)
    }

    /// Counts the ended agents whose panes were folded into one row; and says whether they are shown all the same.
    pub fn filed(&self) -> (Tally, bool) {
        let filed = self.agents.children().filter(|agent| self.view.is_filed(agent));
        (self.tree().tally(filed), self.view.shows_filed())
    }

    /// Counts agents by their states.
    pub fn tally<'a>(&self, agents: impl Iterator<Item = &'a AgentView>) -> Tally {
        self.tree().tally(agents)
    }

    pub fn slowed(&self) -> Option<AgentState> {
        self.tree().slowed()
    }

    /// Returns the permission mode in force for an agent.
    pub fn mode_of(&self, agent: &AgentView) -> PermissionMode {
        agent.bounds.mode.map_or(self.status.mode, |ceiling| ceiling.stricter(self.status.mode))
    }

    /// Returns `true` if an answer lets some agents edit files that the mode asks about.
    pub fn accepts_some_edits(&self) -> bool {
        self.status.mode == PermissionMode::Default && self.approvals.lets_edit()
    }

    /// Returns `true` if an agent's pane is drawn as a folded one.
    pub fn is_folded(&self, agent: AgentId, size: PaneSize) -> bool {
        self.view.is_folded(agent, size, &self.agents)
    }

    /// Returns what a fold hides below an agent; `None` if it hides nothing.
    pub fn folded_away(&self, agent: AgentId) -> Option<FoldedAway> {
        self.view.folded_away(agent, &self.tree())
    }

    /// Returns how many agents stand below one, and what it and they used; `None` if there are none.
    pub fn spent_below(&self, agent: &AgentView) -> Option<(usize, Spent)> {
        let below = self.agents.order().below(agent.id).len();
        (below > 0).then(|| (below, self.agents.spent_below(agent.id)))
    }

    pub fn story<'a>(&'a self, agent: &'a AgentView) -> StepView<'a> {
        self.view.story(agent)
    }

    pub fn before(&self, agent: &AgentView) -> LoadedUpTo {
        self.view.before(agent)
    }

    pub fn track(&self, agent: AgentId) -> Option<&Track> {
        self.timeline.track(agent)
    }

    pub fn shows_timeline(&self) -> bool {
        self.timeline.is_open() && self.view.full().is_none()
    }

    /// Returns which part of time the timeline shows, and where; `None` while it is closed.
    pub fn timeline(&self) -> Option<TimelineWindow> {
        self.timeline.window(self.regions().timeline, &self.agents, self.out.now())
    }

    pub fn span_kinds(&self, window: &TimelineWindow) -> Vec<SpanKind> {
        self.timeline.span_kinds(window, self.out.now())
    }

    pub fn themes(&self) -> &[String] {
        self.settings.themes()
    }

    pub fn theme(&self) -> &str {
        self.settings.theme()
    }

    pub fn kept_worktrees(&self) -> &[KeptWorktree] {
        self.agents.kept().list()
    }

    pub fn spinner_frame(&self) -> usize {
        self.clock.spinner_frame(self.out.now())
    }

    /// Returns when `Event::Wakeup` is due; `None` while nothing moves.
    pub fn next_wakeup(&self) -> Option<Instant> {
        let now = self.out.now();
        let tick = self.tick().map(|every| self.clock.next_tick(every, now));
        let parts = [self.out.next_wakeup(), self.keys.due(), self.approvals.due(), self.view.next_fold(now)];
        parts.into_iter().chain([tick]).flatten().min()
    }

    pub(super) fn tick(&self) -> Option<std::time::Duration> {
        let agents = self.agents.running().map(|agent| Ticking::of(agent.phase)).max().unwrap_or(Ticking::Still);
        // The timeline has no spinner: it moves by columns.
        let agents = if self.shows_timeline() { agents.min(Ticking::Counts) } else { agents };
        let drafts = self.overlay.wizard_is_open() && self.overlay.wizard().waits();
        let wizard = if drafts { Ticking::Spins } else { Ticking::Still };
        let commands = if self.commands.running() > 0 { Ticking::Counts } else { Ticking::Still };
        self.clock.tick(Ticking::of(self.agents.main().phase).max(agents).max(wizard).max(commands))
    }

    /// Returns what the command of the user's status line has written.
    pub fn foot(&self) -> &[String] {
        self.status_command.rows()
    }

    /// Returns `true` if commands run in the sandbox.
    pub fn has_sandbox(&self) -> bool {
        self.status.sandbox.as_ref().is_some_and(|facts| facts.state == SandboxState::On)
    }

    /// Says in a few words what a mode lets happen without a question.
    pub fn about_mode(&self, mode: PermissionMode) -> &'static str {
        mode.about_here(self.has_sandbox())
    }

    pub fn regions(&self) -> Regions {
        let (size, tree) = (self.view.size(), self.tree());
        let wishes = self.view.wishes(&tree);
        let queued = u16::try_from(self.queued().len().min(3)).unwrap_or(0);
        let talk_rows = self.view.talk_rows();
        // Where there are subagents, their panes need the blank rows too.
        let terms = self.approvals.shown().map(|request| question_terms(self, request)).unwrap_or_default();
        let talk = talk_rows.filter(|_| self.agents.is_empty());
        let (approval_rows, approval_room) = self.approvals.rows(size, &terms, talk);
        let arrangement = self.view.shown_arrangement();
        let mut regions = layout(
            size,
            &LayoutState {
                mode: arrangement.mode,
                split: arrangement.split,
                composer_rows: self.messages.composer().height(size.width) + queued,
                approval_rows,
                approval_room,
                command_rows: self.commands.wanted_rows(),
                foot_rows: u16::try_from(self.status_command.rows().len()).unwrap_or(0),
                talk_rows,
                panes: &wishes,
                has_filed: self.agents.children().any(|agent| self.view.is_filed(agent)),
                // Whom one writes to is whom one watches. A click alone moves nothing: it may be the first of two.
                focused: self.view.focused_agent().or(tree.target),
                full: self.view.full(),
            },
        );
        if self.shows_timeline() {
            regions.show_timeline();
        }
        regions
    }

    /// Returns where in the keymap a key is looked up.
    pub fn context(&self) -> Context {
        match self.overlay.popup() {
            Some(popup) => popup.context(),
            None if self.agent_files.is_typing() => Context::Popup,
            None => self.context_behind_popup(),
        }
    }

    /// Returns where keys would go if no popup were open.
    pub fn context_behind_popup(&self) -> Context {
        if self.agent_files.view().is_some() {
            return Context::AgentFiles;
        }
        match self.view.focus() {
            Focus::Composer | Focus::Timeline if self.playback.is_some() => Context::Replay,
            Focus::Composer => Context::Composer,
            Focus::Approvals => Context::Approvals,
            Focus::Conversation => Context::Conversation,
            Focus::Commands => Context::Commands,
            Focus::Timeline => Context::Timeline,
            Focus::Agents if self.view.full().is_some() => Context::AgentFull,
            Focus::Agents => Context::Agents,
        }
    }

    /// Returns the keys that matter most now: chord and a short word. None is named that would do nothing.
    pub fn hints(&self) -> Vec<(String, &'static str)> {
        let hints = self.keys.keymap().hints(self.context());
        let files = self.agent_files.view();
        let accept = self.overlay.popup().map(Popup::accept_word);
        let accept = accept.or_else(|| files.map(AgentFilesView::accept_word));
        let typing = self.overlay.popup().is_none() && self.agent_files.is_typing();
        let ended = self.focused_agent().and_then(|id| self.agents.get(id)).is_some_and(AgentView::has_ended);
        let word = |action: Action, word: &'static str| match action {
            Action::Accept => accept.unwrap_or(Some(word)),
            Action::Leave if typing => Some("show all"),
            Action::Stop | Action::WrapUp | Action::Background if ended => None,
            Action::Resume | Action::CopyReport if !ended => None,
            Action::Full if ended => Some("read"),
            Action::PlayOrPause if self.playback.is_some_and(|playback| playback.is_playing) => Some("pause"),
            Action::Message | Action::Stop | Action::WrapUp | Action::Resume | Action::Background
                if self.playback.is_some() =>
            {
                None
            }
            Action::Interrupt if self.target().is_none() => None,
            Action::NextQuestion if self.approvals.len() < 2 => None,
            Action::OpenOutput if self.messages.composer().pasted().is_none() => None,
            Action::IntoAgents if self.agents.is_empty() && self.commands.is_empty() => None,
            Action::IntoAgents if self.agents.is_empty() => Some("commands"),
            Action::Stop if self.view.focus() == Focus::Commands => {
                Some(word).filter(|_| self.commands.chosen_row().is_some_and(CommandView::is_running))
            }
            _ => Some(word),
        };
        hints.into_iter().filter_map(|(chord, action, known)| Some((chord, word(action, known)?))).collect()
    }
}
