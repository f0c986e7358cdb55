//! What each action does.
//!
//! Owns the dispatch of actions by topic. Leaves which key means which action to `keymap`. Invariant: leaving a view
//! never stops an agent.

use crate::app::action::Action;
use crate::app::input::Taken;
use crate::app::keymap::Context;
use crate::app::panes::PaneSize;
use crate::app::status::{Armed, CONFIRM, Flash};
use crate::app::{App, Detail, Effect, Focus, Motion, MouseCapture, Phase, Popup};
use crate::message::AgentId;
use crate::permission::PermissionMode;
use crate::subagent::{Children, Command};

impl App {
    /// Carries out an action and tells whether it had anything to do.
    pub(in crate::app) fn act(&mut self, action: Action, effects: &mut Vec<Effect>) -> Taken {
        if self.popup.is_none() && self.act_in_agent_files(action, effects) == Taken::Yes {
            return Taken::Yes;
        }
        match action {
            // From the palette, these may be asked for while no agent has the focus.
            _ if action.is_about_an_agent() && self.focused_agent().is_none() => {
                self.inform("choose an agent first");
            }
            Action::Message => self.message_agent(),
            Action::FocusAgent(number) => self.focus_number(number),
            Action::FocusNext | Action::FocusPrevious | Action::IntoAgents => return self.move_focus(action),
            Action::MoveUp | Action::MoveDown | Action::MoveLeft | Action::MoveRight => self.choose(action),
            Action::Fold | Action::Grow | Action::Shrink | Action::Full => self.resize_pane(action),
            Action::ScrollUp
            | Action::ScrollDown
            | Action::PageUp
            | Action::PageDown
            | Action::Top
            | Action::Bottom
            | Action::SearchNext
            | Action::SearchPrevious => self.scroll(action),
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
            | Action::OpenThere => self.act_in_timeline(action),
            Action::Leave => self.leave(),
            Action::Stop => self.stop(effects),
            Action::WrapUp | Action::Resume | Action::Background => self.act_on_agent(action, effects),
            Action::StopAll => self.stop_all(effects),
            Action::ApproveOnce
            | Action::ApproveAlways
            | Action::ApproveProject
            | Action::Deny
            | Action::DenyWithComment => self.answer(action),
            Action::ShowAll | Action::NextQuestion | Action::PreviousQuestion => self.look_at_question(action),
            Action::Remove => return self.remove(effects),
            Action::ShowPrompt | Action::CopyReport | Action::OpenPager | Action::FoldTools | Action::Search => {
                self.look_at(action, effects);
            }
            Action::Help => self.popup = Some(Popup::Help { scroll: 0 }),
            Action::Palette => self.popup = Some(Popup::Palette { query: crate::app::LineEdit::default(), chosen: 0 }),
            Action::Submit => self.submit(effects),
            Action::Newline => self.start_line(effects),
            Action::HistorySearch => self.composer.start_search(),
            Action::Editor => self.open_editor(effects),
            Action::CycleMode => self.cycle_mode(effects),
            Action::Interrupt => self.interrupt(effects),
            Action::ClearOrQuit => self.clear_or_quit(effects),
            Action::Layout => self.next_layout(),
            Action::MouseToggle => self.toggle_mouse(effects),
            Action::Suspend => effects.push(Effect::Suspend),
            Action::Accept => self.accept(effects),
            Action::AgentFiles => self.open_agent_files(effects),
            Action::NewAgent => self.open_wizard(),
            Action::EditAgent
            | Action::DuplicateAgent
            | Action::DeleteAgent
            | Action::UseAgent
            | Action::ReloadAgents => self.inform("open /agents and choose an agent first"),
            Action::Back => return Taken::No,
        }
        Taken::Yes
    }

    fn start_line(&mut self, effects: &mut Vec<Effect>) {
        self.composer.newline();
        self.edited(effects);
    }

    fn next_layout(&mut self) {
        self.layout_mode = self.layout_mode.next();
        self.inform(format!("layout: {}", self.layout_mode.name()));
    }

    fn focus_number(&mut self, number: u8) {
        let id = AgentId(u32::from(number));
        if self.agents.get(id).is_none() {
            self.inform(format!("there is no agent {number}"));
            return;
        }
        if self.full.is_some() || self.focused_agent() == Some(id) {
            self.full = Some(id);
        }
        self.popup = None;
        self.close_timeline();
        self.focus = Focus::Agents;
        self.chosen = Some(id);
        self.clicked = None;
    }

    fn move_focus(&mut self, action: Action) -> Taken {
        if action == Action::IntoAgents {
            if !self.composer.is_empty() || self.agents.is_empty() {
                return Taken::No;
            }
            if self.composer.walks_history() {
                let key = self.keymap.chord_of(Context::Composer, Action::FocusNext);
                self.inform(
                    key.map_or_else(String::new, |key| format!("the newest message · {key} goes to the agents")),
                );
                return Taken::Yes;
            }
            self.focus_agents();
            return Taken::Yes;
        }
        self.full = None;
        let timeline = self.shows_timeline();
        let order: Vec<Focus> =
            [Focus::Composer, Focus::Approvals, Focus::Timeline, Focus::Agents, Focus::Conversation]
                .into_iter()
                .filter(|focus| match focus {
                    Focus::Approvals => !self.approvals.is_empty(),
                    Focus::Timeline => timeline,
                    Focus::Agents => !timeline && !self.agents.is_empty(),
                    _ => !timeline || *focus == Focus::Composer,
                })
                .collect();
        let at = order.iter().position(|focus| *focus == self.focus).unwrap_or(0);
        let step = if action == Action::FocusNext { 1 } else { order.len() - 1 };
        match order[(at + step) % order.len()] {
            Focus::Agents => self.focus_agents(),
            focus => self.focus = focus,
        }
        Taken::Yes
    }

    fn focus_agents(&mut self) {
        self.close_timeline();
        self.focus = Focus::Agents;
        self.clicked = None;
        let known = self.chosen.filter(|id| self.agents.get(*id).is_some());
        self.chosen = known
            .or_else(|| self.agents.running().next().map(|agent| agent.id))
            .or_else(|| self.agents.children().next().map(|agent| agent.id));
    }

    fn choose(&mut self, action: Action) {
        if self.popup.is_some() {
            self.move_in_popup(if action == Action::MoveUp { -1 } else { 1 });
            return;
        }
        if self.focus == Focus::Timeline {
            self.choose_row(match action {
                Action::MoveUp => -1,
                Action::MoveDown => 1,
                _ => 0,
            });
            return;
        }
        self.choose_pane(action);
    }

    fn move_in_popup(&mut self, step: isize) {
        let count = self.popup_entries();
        let Some(popup) = &mut self.popup else { return };
        if let Some(chosen) = popup.chosen() {
            *chosen = chosen.saturating_add_signed(step).min(count.saturating_sub(1));
        } else if let Some(scroll) = popup.scroll() {
            *scroll = scroll.saturating_add_signed(step).min(self.popup_end);
        }
    }

    fn resize_pane(&mut self, action: Action) {
        let Some(id) = self.focused_agent() else { return };
        if action == Action::Full {
            self.full = Some(id);
            return;
        }
        let now = self.regions().pane(id).map_or(PaneSize::Row, |pane| pane.size);
        match action {
            Action::Fold => self.toggle_fold(id, now),
            Action::Grow => self.choose_size(id, now.larger()),
            _ => self.choose_size(id, now.smaller()),
        }
    }

    /// Returns whose transcript scrolling moves.
    pub(in crate::app) fn scrolled(&self) -> AgentId {
        self.focused_agent().unwrap_or(AgentId::MAIN)
    }

    fn scroll(&mut self, action: Action) {
        if self.popup.is_some() {
            let step = match action {
                Action::PageUp => -10,
                Action::PageDown => 10,
                _ => 0,
            };
            self.move_in_popup(step);
            return;
        }
        if self.focus == Focus::Approvals {
            if self.approvals.expand() {
                return;
            }
            let end = self.popup_end;
            // Less than its rows, so that no row is passed over.
            let page = usize::from(self.regions().approvals.height.saturating_sub(4).max(1));
            let scroll = &mut self.approvals.scroll;
            *scroll = match action {
                Action::ScrollUp => scroll.saturating_sub(1),
                Action::PageUp => scroll.saturating_sub(page),
                Action::PageDown => (*scroll + page).min(end),
                _ => (*scroll + 1).min(end),
            };
            return;
        }
        let motion = match action {
            Action::ScrollUp => Motion::Lines(-1),
            Action::ScrollDown => Motion::Lines(1),
            Action::PageUp => Motion::Pages(-1),
            Action::PageDown => Motion::Pages(1),
            Action::Top => Motion::Top,
            Action::SearchNext => Motion::FindDown,
            Action::SearchPrevious => Motion::FindUp,
            _ => {
                let id = self.scrolled();
                self.drop_seek();
                self.pane_mut(id).scroll.follow();
                return;
            }
        };
        self.request_scroll(self.scrolled(), motion);
    }

    pub(in crate::app) fn request_scroll(&mut self, id: AgentId, motion: Motion) {
        // Whoever moves the view no longer waits for a search.
        self.drop_seek();
        let arrived = self.agents.get(id).map_or(0, |agent| agent.cells.arrived());
        self.pane_mut(id).scroll.request(motion, arrived);
    }

    /// Leaves the innermost view.
    fn leave(&mut self) {
        if self.popup.take().is_some() || self.end_seek() {
            return;
        }
        if self.full.take().is_some() {
            // From the timeline it was opened, and there its reader goes on.
            if self.shows_timeline() {
                self.focus = Focus::Timeline;
            }
            return;
        }
        if self.focus == Focus::Timeline {
            self.close_timeline();
            return;
        }
        if self.focus == Focus::Agents || self.focus == Focus::Conversation {
            let id = self.chosen.filter(|_| self.focus == Focus::Agents).unwrap_or(AgentId::MAIN);
            self.pane_mut(id).scroll.follow();
        }
        self.clicked = None;
        self.focus = self.home();
    }

    fn stop(&mut self, effects: &mut Vec<Effect>) {
        let Some(agent) = self.focused_agent().and_then(|id| self.agents.get(id)) else { return };
        if agent.has_ended() {
            self.inform(format!("{} has ended already", agent.name.clone()));
            return;
        }
        self.stop_agent(agent.id, effects);
    }

    pub(in crate::app) fn stop_all(&mut self, effects: &mut Vec<Effect>) {
        self.popup = None;
        if !self.is_busy() {
            self.inform("nothing runs");
            return;
        }
        self.inform(format!("stopping {}", self.running_words()));
        effects.push(Effect::Engine(Command::StopAll));
    }

    fn look_at(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let id = self.scrolled();
        match action {
            Action::FoldTools => {
                let state = self.pane_mut(id);
                state.detail = if state.detail == Detail::Brief { Detail::Whole } else { Detail::Brief };
            }
            Action::Search => {
                self.popup = Some(Popup::Search { agent: id, query: crate::app::LineEdit::default() });
            }
            Action::ShowPrompt if !id.is_main() => self.popup = Some(Popup::Prompt { agent: id, scroll: 0 }),
            Action::CopyReport => self.copy_report(id, effects),
            Action::OpenPager => {
                if let Some(agent) = self.agents.get(id) {
                    effects.push(Effect::Page(crate::app::command::as_text(agent, &self.status.zone)));
                }
            }
            _ => {}
        }
    }

    fn copy_report(&mut self, id: AgentId, effects: &mut Vec<Effect>) {
        let Some(agent) = self.agents.get(id) else { return };
        let text = agent.report().map(crate::app::report_markdown).or_else(|| agent.last_text().map(str::to_owned));
        match text {
            Some(text) => {
                self.inform(format!("copied {} characters", text.chars().count()));
                effects.push(Effect::Copy(text));
            }
            None => self.inform("there is no report yet"),
        }
    }

    fn cycle_mode(&mut self, effects: &mut Vec<Effect>) {
        self.set_mode(self.status.mode.next(), effects);
    }

    pub(in crate::app) fn set_mode(&mut self, mode: PermissionMode, effects: &mut Vec<Effect>) {
        let widens = mode.leeway() > self.status.mode.leeway();
        self.status.mode = mode;
        effects.push(Effect::Engine(Command::SetMode(mode)));
        let open = match self.approvals.len() {
            0 => String::new(),
            _ if !widens => String::new(),
            1 => " · 1 open question still waits for you".to_owned(),
            count => format!(" · {count} open questions still wait for you"),
        };
        self.inform(format!("permission mode: {}{open}", mode.word()));
    }

    /// Interrupts the main agent at the second press; the subagents that it waits for go on.
    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        if self.target().is_some() {
            self.leave_target();
            return;
        }
        let scroll = &mut self.pane_mut(AgentId::MAIN).scroll;
        if scroll.is_held() {
            scroll.follow();
            return;
        }
        if matches!(self.agents.main().phase, Phase::Idle | Phase::Ended(_)) {
            return;
        }
        let waited = self.agents.waited_for().next().is_some();
        if self.take_armed(Armed::Interrupt) {
            effects.push(Effect::Engine(Command::Interrupt { children: Children::Keep }));
            self.inform(if waited {
                "interrupting; the agents go on in the background, and report later"
            } else {
                "interrupting"
            });
            return;
        }
        let key = |action| self.keymap.chord_of(Context::Composer, action).unwrap_or_default();
        let (again, all) = (key(Action::Interrupt), key(Action::StopAll));
        let text = if waited {
            format!("{again} again interrupts; agents go on in the background · {all} stops all")
        } else {
            format!("{again} again interrupts the main agent")
        };
        self.arm(Armed::Interrupt, &text);
    }

    fn clear_or_quit(&mut self, effects: &mut Vec<Effect>) {
        if self.popup.take().is_some() || self.agent_files.take().is_some() {
            return;
        }
        if !self.composer.is_empty() {
            effects.push(Effect::SaveHistory(self.composer.discard()));
            self.edited(effects);
            self.inform("cleared; undo (ctrl+_) or up brings it back");
            return;
        }
        if self.take_armed(Armed::Quit) {
            self.quit(effects);
        } else if self.is_busy() {
            self.arm(Armed::Quit, &format!("ctrl+c again quits and stops {}", self.running_words()));
        } else {
            self.arm(Armed::Quit, "ctrl+c again quits");
        }
    }

    /// Leaves at once if nothing runs; else names what would be stopped and leaves at the second time.
    pub(in crate::app) fn slash_quit(&mut self, effects: &mut Vec<Effect>) {
        if !self.is_busy() || self.take_armed(Armed::Quit) {
            self.quit(effects);
        } else {
            self.ask_once_more(Armed::Quit, "/quit", &format!("enter again quits and stops {}", self.running_words()));
        }
    }

    /// Begins a new conversation at once if nothing runs; else names what would be stopped, and does it at the second
    /// time.
    pub(in crate::app) fn slash_clear(&mut self, effects: &mut Vec<Effect>) {
        if !self.is_busy() || self.take_armed(Armed::Clear) {
            self.clear(effects);
        } else {
            let text = format!("enter again begins anew and stops {}", self.running_words());
            self.ask_once_more(Armed::Clear, "/clear", &text);
        }
    }

    /// Leaves a command in the composer, where `enter` confirms it.
    fn ask_once_more(&mut self, what: Armed, command: &str, text: &str) {
        if self.composer.is_empty() {
            self.composer.set_text(command);
        }
        if self.composer.text().trim() == command {
            self.focus = Focus::Composer;
            self.arm(what, text);
        } else {
            self.warn(format!("send or clear the message, then write {command}: {} would stop", self.running_words()));
        }
    }

    /// Returns `true` if `enter` confirms the command that stands in the composer.
    pub(in crate::app) fn asks_once_more(&self) -> bool {
        self.armed.is_some_and(|(armed, _)| armed != Armed::Interrupt)
    }

    fn is_busy(&self) -> bool {
        self.agents.running().next().is_some() || self.agents.main().is_active()
    }

    pub(in crate::app) fn quit(&mut self, effects: &mut Vec<Effect>) {
        self.quitting = true;
        effects.push(Effect::Quit);
    }

    pub(in crate::app) fn arm(&mut self, what: Armed, text: &str) {
        self.armed = Some((what, self.now + CONFIRM));
        self.flash = Some(Flash::confirm(text, self.now));
    }

    /// Returns `true` if the key that is pressed now confirms this, which no other will.
    pub(in crate::app) fn take_armed(&mut self, what: Armed) -> bool {
        let offered = self.offered.take().or_else(|| self.armed.take());
        offered.is_some_and(|(armed, until)| armed == what && self.now <= until)
    }

    /// Forgets what the key that was pressed could have confirmed and did not, and takes the question back.
    pub(in crate::app) fn withdraw_offer(&mut self) {
        let Some((_, until)) = self.offered.take() else { return };
        self.flash.take_if(|flash| flash.until == until);
        self.dirty = true;
    }

    fn toggle_mouse(&mut self, effects: &mut Vec<Effect>) {
        self.mouse = match self.mouse {
            MouseCapture::On => MouseCapture::Off,
            MouseCapture::Off => MouseCapture::On,
        };
        effects.push(Effect::CaptureMouse(self.mouse));
        self.inform(match self.mouse {
            MouseCapture::On => "the mouse works here",
            MouseCapture::Off => "the mouse selects text",
        });
    }
}
