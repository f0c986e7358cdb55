//! What each action does, layer by layer.
//!
//! Owns which layer is offered an action first, and the acts that concern several parts. Leaves which key means which
//! action to `keymap`. Invariant: leaving a view never stops an agent.

use super::keymap::Context;
use super::{Handled, second_press};
use crate::app::agent_files::FilesAct;
use crate::app::agents::plain_text::as_text;
use crate::app::overlay::question_form;
use crate::app::settings::models;
use crate::app::wizard::WizardAct;
use crate::app::{Action, App, Detail, Effect, Focus, LineEdit, Motion, Popup, commands, lists, overlay, timeline};
use crate::message::{AgentId, report_markdown};
use crate::permission::PermissionMode;
use crate::subagent::Command;

/// What is offered an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Wizard,
    Popup,
    AgentFiles,
    Focus,
    Anywhere,
}

impl App {
    /// Offers an action to each layer, from the top, until one has a use for it.
    pub(in crate::app) fn act(&mut self, action: Action) -> Handled {
        if self.playback.is_some() && !timeline::is_allowed(action) {
            self.out.inform("this is a replay: nothing is sent, run or changed");
            return Handled::Consumed;
        }
        for layer in [self.top_layer(), Layer::Anywhere] {
            let handled = match layer {
                Layer::Wizard => {
                    let (listing, end) = (self.agent_files.listing(), self.overlay.end());
                    match self.overlay.wizard_mut().act(action, listing, end, &mut self.out) {
                        WizardAct::Consumed => Handled::Consumed,
                        WizardAct::Ignored => Handled::Ignored,
                        WizardAct::Type => return Handled::Ignored,
                        WizardAct::Close => {
                            self.overlay.close();
                            Handled::Consumed
                        }
                    }
                }
                Layer::Popup => overlay::actions::act(self, action),
                Layer::AgentFiles => self.act_in_agent_files(action),
                Layer::Focus => self.act_in_focus(action),
                Layer::Anywhere => self.act_anywhere(action),
            };
            if handled == Handled::Consumed {
                return handled;
            }
        }
        Handled::Ignored
    }

    /// Returns what stands in front; what it covers is not offered anything.
    fn top_layer(&self) -> Layer {
        match self.overlay.popup() {
            Some(Popup::Wizard) => Layer::Wizard,
            Some(_) => Layer::Popup,
            None if self.agent_files.view().is_some() => Layer::AgentFiles,
            None => Layer::Focus,
        }
    }

    fn act_in_agent_files(&mut self, action: Action) -> Handled {
        let rows = self.agent_files().map_or(0, |view| self.agent_files_layout(view).body.height);
        let place = (usize::from(rows), self.overlay.end());
        match self.agent_files.act(action, place, self.keys.keymap(), &mut self.out) {
            FilesAct::Consumed => {}
            FilesAct::Ignored => return Handled::Ignored,
            FilesAct::Ask(popup) => self.overlay.open(popup),
            FilesAct::Use(name) => {
                self.view.set_focus(Focus::Composer);
                // Only the main agent delegates at the user's word.
                self.set_target(None);
                self.messages.composer_mut().insert(&format!("@agent-{name} "));
                self.edited();
            }
        }
        Handled::Consumed
    }

    /// Moves within the region that has the focus.
    fn act_in_focus(&mut self, action: Action) -> Handled {
        if self.view.focus() == Focus::Commands {
            return commands::act(self, action);
        }
        match (self.view.focus(), action) {
            (Focus::Timeline, Action::MoveUp | Action::MoveDown | Action::MoveLeft | Action::MoveRight) => {
                self.act_in_timeline(action);
            }
            (_, Action::MoveUp | Action::MoveDown | Action::MoveLeft | Action::MoveRight) => {
                if let Some(to) = self.view.neighbour(action, &self.regions(), &self.tree()) {
                    self.view.choose(Some(to));
                }
            }
            (Focus::Approvals, Action::ScrollUp | Action::ScrollDown | Action::PageUp | Action::PageDown) => {
                // Less than its rows, so that no row is passed over.
                let page = isize::try_from(self.regions().approvals.height.saturating_sub(4).max(1)).unwrap_or(1);
                let lines = match action {
                    Action::ScrollUp => -1,
                    Action::PageUp => -page,
                    Action::PageDown => page,
                    _ => 1,
                };
                self.approvals.scroll_by(lines, self.overlay.end());
            }
            _ => return self.scroll(action),
        }
        Handled::Consumed
    }

    fn scroll(&mut self, action: Action) -> Handled {
        let id = self.view.scrolled();
        let motion = match action {
            Action::ScrollUp => Motion::Lines(-1),
            Action::ScrollDown => Motion::Lines(1),
            Action::PageUp => Motion::Pages(-1),
            Action::PageDown => Motion::Pages(1),
            Action::Top => Motion::Top,
            Action::SearchNext => Motion::FindDown,
            Action::SearchPrevious => Motion::FindUp,
            Action::Bottom if self.view.focus() == Focus::Composer && !self.leads_to_bottom(id) => {
                return Handled::Ignored;
            }
            Action::Bottom => {
                self.view.drop_seek(&mut self.out);
                self.view.pane_mut(id).scroll.follow();
                return Handled::Consumed;
            }
            _ => return Handled::Ignored,
        };
        self.view.request_scroll(&self.agents, id, motion, &mut self.out);
        Handled::Consumed
    }

    /// Returns `true` if the key that leads to the end of a line has nowhere to lead to but the end of a transcript.
    fn leads_to_bottom(&self, id: AgentId) -> bool {
        self.messages.composer().is_at_line_end() && self.view.pane(id).scroll.is_held()
    }

    fn act_anywhere(&mut self, action: Action) -> Handled {
        match action {
            // From the palette, these may be asked for while no agent has the focus.
            _ if action.is_about_an_agent() && self.focused_agent().is_none() => {
                self.out.inform("select an agent first");
            }
            Action::Message => self.message_agent(),
            Action::FocusAgent(digit) => self.focus_digit(digit),
            Action::IntoAgents => return self.go_into_agents(),
            Action::FocusNext | Action::FocusPrevious => self.move_focus(action),
            Action::ShowEnded => self.view.toggle_filed(),
            Action::Fold | Action::Grow | Action::Shrink | Action::Full => self.resize_pane(action),
            Action::Timeline => self.open_timeline(),
            Action::Earlier
            | Action::Later
            | Action::PageEarlier
            | Action::PageLater
            | Action::Beginning
            | Action::Present
            | Action::ZoomIn
            | Action::ZoomOut
            | Action::ZoomFit
            | Action::OpenThere
            | Action::PlayOrPause
            | Action::NextSpeed => self.act_in_timeline(action),
            Action::Leave => self.leave(),
            Action::Stop | Action::WrapUp | Action::Resume | Action::Background => self.act_on_agent(action),
            Action::ResumeAll => self.resume_all(),
            Action::StopAll => self.stop_all(),
            Action::ApproveOnce
            | Action::ApproveAlways
            | Action::ApproveEveryone
            | Action::ApproveProject
            | Action::Deny
            | Action::DenyWithComment => self.answer(action),
            Action::ShowAll | Action::NextQuestion | Action::PreviousQuestion => self.approvals.look(action),
            Action::ShowPrompt | Action::CopyReport | Action::OpenPager | Action::FoldTools | Action::Search => {
                self.look_at(action);
            }
            Action::Help => self.overlay.open(Popup::help()),
            Action::Palette => self.overlay.open(Popup::list(&lists::PALETTE)),
            Action::OpenOutput => return overlay::outputs::open(self),
            Action::Model => models::open(self, self.focused_agent()),
            Action::Submit => self.submit(),
            Action::Newline => {
                self.messages.composer_mut().newline();
                self.edited();
            }
            Action::Stash => self.stash(),
            Action::Paste => {
                self.messages.paste("", &mut self.out);
                self.edited();
            }
            Action::HistorySearch => self.messages.composer_mut().start_search(),
            Action::Editor if self.focus() == Focus::Approvals => self.approvals.open_editor(&mut self.out),
            Action::Editor if self.messages.is_attaching() => self.out.inform("wait until the image is attached"),
            Action::Editor => self.messages.open_editor(&mut self.out),
            Action::CycleMode => self.set_mode(self.status.mode.next()),
            Action::Interrupt => second_press::interrupt(self),
            Action::Quit if self.playback.is_some() => self.quit(),
            Action::ClearOrQuit => second_press::clear_or_quit(self, action),
            Action::DeleteOrQuit if self.messages.composer().is_empty() => second_press::clear_or_quit(self, action),
            Action::Layout => self.slash_layout(""),
            Action::MouseToggle => self.settings.toggle_mouse(&mut self.out),
            Action::Suspend => self.out.push(Effect::Suspend),
            Action::AgentFiles => self.agent_files.open(&mut self.out),
            Action::NewAgent => self.overlay.open(Popup::Wizard),
            Action::EditAgent
            | Action::DuplicateAgent
            | Action::DeleteAgent
            | Action::UseAgent
            | Action::ReloadAgents => self.out.inform("open /agents and select an agent first"),
            // With nothing that could be moved in, or chosen from, in front.
            _ => return Handled::Ignored,
        }
        Handled::Consumed
    }

    /// Writes to the chosen agent from now on.
    fn message_agent(&mut self) {
        let Some(agent) = self.focused_agent().and_then(|id| self.agents.get(id)) else { return };
        let id = agent.id;
        if self.requests.is_over(agent) {
            self.out.inform(format!("{} has ended; a message resumes it", agent.name));
        }
        self.write_to(id);
    }

    pub(in crate::app) fn write_to(&mut self, id: AgentId) {
        self.view.choose(Some(id));
        self.set_target(Some(id));
        self.view.set_focus(Focus::Composer);
    }

    /// Focuses the agent with this number, or with the number that the digits pressed before begin.
    fn focus_digit(&mut self, digit: u8) {
        let known = |number: u32| self.agents.get(AgentId(number)).is_some();
        let typed = self.keys.number(digit, self.view.focus() == Focus::Agents, self.out.now(), known);
        let id = AgentId(typed.number);
        if id.is_main() || self.agents.get(id).is_none() {
            self.out.inform(format!("no agent {}", typed.number));
            return;
        }
        if self.view.full().is_some() || self.focused_agent() == Some(id) && !typed.may_go_on {
            self.view.set_full(Some(id));
        }
        self.overlay.close();
        self.close_timeline();
        self.view.focus_agent(id);
    }

    fn go_into_agents(&mut self) -> Handled {
        if !self.messages.composer().is_empty() || self.agents.is_empty() && self.commands.is_empty() {
            return Handled::Ignored;
        }
        if self.messages.composer().walks_history() {
            let key = self.keymap().chord_of(Context::Composer, Action::FocusNext);
            self.out.inform(key.map_or_else(String::new, |key| format!("no newer message · {key} focuses the agents")));
        } else if self.agents.is_empty() {
            self.view.set_focus(Focus::Commands);
        } else {
            self.focus_agents();
        }
        Handled::Consumed
    }

    fn focus_agents(&mut self) {
        self.close_timeline();
        self.view.focus_agents(&self.agents);
    }

    fn move_focus(&mut self, action: Action) {
        self.view.set_full(None);
        let timeline = self.shows_timeline();
        let order: Vec<Focus> =
            [Focus::Composer, Focus::Approvals, Focus::Timeline, Focus::Agents, Focus::Commands, Focus::Conversation]
                .into_iter()
                .filter(|focus| match focus {
                    Focus::Approvals => !self.approvals.is_empty(),
                    Focus::Timeline => timeline,
                    Focus::Commands => !self.commands.is_empty(),
                    Focus::Agents => !timeline && !self.agents.is_empty(),
                    _ => !timeline || *focus == Focus::Composer,
                })
                .collect();
        let at = order.iter().position(|focus| *focus == self.view.focus()).unwrap_or(0);
        let step = if action == Action::FocusNext { 1 } else { order.len() - 1 };
        match order[(at + step) % order.len()] {
            Focus::Agents => self.focus_agents(),
            focus => self.view.set_focus(focus),
        }
    }

    /// Leaves the innermost view.
    fn leave(&mut self) {
        if self.overlay.close().is_some() || self.view.end_seek(&mut self.out) {
            return;
        }
        if let Some(id) = self.view.full()
            && self.view.pane_mut(id).search.take().is_some()
        {
            self.out.clear_flash();
            return;
        }
        if self.view.full().is_some() {
            self.view.set_full(None);
            // From the timeline it was opened, and there its reader goes on.
            if self.shows_timeline() {
                self.view.set_focus(Focus::Timeline);
            }
            return;
        }
        if self.view.focus() == Focus::Timeline {
            self.close_timeline();
            return;
        }
        if matches!(self.view.focus(), Focus::Agents | Focus::Conversation) {
            let id = self.view.chosen().filter(|_| self.view.focus() == Focus::Agents).unwrap_or(AgentId::MAIN);
            self.view.pane_mut(id).scroll.follow();
        }
        self.view.take_clicked();
        self.view.set_focus(self.home());
    }

    pub(in crate::app) fn stop_all(&mut self) {
        self.overlay.close();
        if !self.is_busy() {
            self.out.inform("nothing is running");
            return;
        }
        self.out.inform(format!("stopping {}", self.running_words()));
        self.out.send(Command::StopAll);
    }

    fn answer(&mut self, action: Action) {
        if self.overlay.is_open() && !self.approvals.is_empty() {
            self.out.inform("close this first to see the question");
            return;
        }
        let vi = self.view.focus() == Focus::Composer && self.messages.composer().vi_mode().is_some();
        let form = self.approvals.answer(action, vi, &mut self.out);
        if let Some(form) = form {
            self.overlay.open(question_form::popup(form, self.out.now()));
        }
    }

    fn look_at(&mut self, action: Action) {
        let id = self.view.scrolled();
        match action {
            Action::FoldTools => {
                let state = self.view.pane_mut(id);
                state.detail = if state.detail == Detail::Brief { Detail::Whole } else { Detail::Brief };
            }
            Action::Search => {
                self.view.drop_seek(&mut self.out);
                let state = self.view.pane(id);
                let before = Box::new((state.scroll, state.search));
                self.overlay.open(Popup::Search { agent: id, query: LineEdit::default(), before });
            }
            Action::ShowPrompt if !id.is_main() => self.overlay.open(Popup::Prompt { agent: id, scroll: 0 }),
            Action::CopyReport => self.copy_report(id),
            Action::OpenPager => {
                if let Some(agent) = self.agents.get(id) {
                    self.out.push(Effect::Page(as_text(agent, &self.status.zone)));
                }
            }
            _ => {}
        }
    }

    fn copy_report(&mut self, id: AgentId) {
        let Some(agent) = self.agents.get(id) else { return };
        match agent.report().map(report_markdown).or_else(|| agent.last_text().map(str::to_owned)) {
            Some(text) => {
                let what = if agent.report().is_some() {
                    "copied the report"
                } else {
                    "no report yet; copied its last message"
                };
                self.out.inform(format!("{what}: {} characters", text.chars().count()));
                self.out.push(Effect::Copy(text));
            }
            None => self.out.inform("no report yet"),
        }
    }

    pub(in crate::app) fn set_mode(&mut self, mode: PermissionMode) {
        let widens = mode.leeway() > self.status.mode.leeway();
        self.status.mode = mode;
        self.out.send(Command::SetMode(mode));
        let open = match self.approvals.len() {
            0 => String::new(),
            _ if !widens => String::new(),
            1 => " · 1 question is still waiting for you".to_owned(),
            count => format!(" · {count} questions are still waiting for you"),
        };
        self.out.inform(format!("permission mode: {}{open}", mode.word()));
    }

    /// Puts what is being written aside, and brings back what was. The history remembers it, should it be forgotten.
    fn stash(&mut self) {
        let composer = self.messages.composer_mut();
        let stashed = composer.stash();
        let is_back = !composer.is_empty();
        let key = self.keymap().chord_of(Context::Composer, Action::Stash).unwrap_or_default();
        self.out.inform(match (&stashed, is_back) {
            (Some(_), true) => "stashed; the other text is back".to_owned(),
            (Some(_), false) => format!("stashed · {key} brings it back"),
            (None, true) => "the stashed text is back".to_owned(),
            (None, false) => "nothing to stash".to_owned(),
        });
        if let Some(text) = stashed {
            self.out.push(Effect::SaveHistory(text));
        }
        self.edited();
    }
}
