//! What `enter` in the composer does: a message is sent, a slash command carried out.
//!
//! Owns the acts of commands that concern several parts. Leaves the table of commands to its parent. Invariant: a text
//! that begins with `/` and names no command is not sent, so that a typing error reaches no model.

use super::{SANDBOX_USAGE, SandboxCommand, SlashCommand};
use crate::agent::{Status, WorktreeAct};
use crate::app::composer::messages::{Address, address};
use crate::app::keymap::Context;
use crate::app::layout::LayoutMode;
use crate::app::overlay::agent_lists;
use crate::app::overlay::trust;
use crate::app::settings::{memory, models, servers, skills};
use crate::app::{Action, AgentView, App, Armed, Effect, Focus, ListPopup, MessageIntent, Popup, lists};
use crate::message::{AgentId, ExportFormat, MessageId, UserText};
use crate::permission::PermissionMode;
use crate::sandbox::SandboxFacts;
use crate::subagent::Command;

/// Returns `true` if what was written after a slash is a command and no path. What follows the name of a command may hold
/// more slashes, such as the name of a model.
fn is_command(written: &str) -> bool {
    let is_known = || written.split_whitespace().next().is_some_and(|name| SlashCommand::find(name).is_some());
    !written.contains('\n') && (!written.contains('/') || is_known())
}

impl App {
    pub(in crate::app) fn submit(&mut self) {
        if self.messages.composer_mut().continue_line() {
            self.edited();
            return;
        }
        let said = self.messages.composer().said();
        let text = said.text.clone();
        if text.trim().is_empty() {
            return;
        }
        if self.messages.is_attaching() {
            self.messages.hold();
            self.edited();
            let key = self.keymap().chord_of(Context::Composer, Action::Interrupt).unwrap_or_default();
            return self.out.inform(format!("sent once the image is attached · {key} keeps it here"));
        }
        self.view.take_clicked();
        // What a paste holds is a message: a sign means something only where it stands on the screen.
        let has_sign = self.messages.composer().text().trim_start().starts_with('/');
        if has_sign && skills::is_called(self, &text) {
            return self.send_written(said);
        }
        if let Some(command) = text.trim().strip_prefix('/').filter(|rest| has_sign && is_command(rest)) {
            if self.run_slash(command) {
                // `/clear` may have brought the draft for the main agent back.
                if self.messages.composer().expanded() == text && !self.asks_once_more() {
                    self.messages.composer_mut().take();
                }
                self.out.push(Effect::SaveHistory(text));
            }
            return;
        }
        if memory::ask(self, &text) || self.submit_elsewhere(&said) {
            return;
        }
        self.send_written(said);
    }

    /// Does what the signs of a message ask for. Returns `true` if they ask for something.
    fn submit_elsewhere(&mut self, said: &UserText) -> bool {
        let text = said.text.as_str();
        let shown = self.messages.composer().text();
        if self.messages.target().is_some() || MessageIntent::of(&shown) == MessageIntent::Send {
            return false;
        }
        match MessageIntent::of(text) {
            MessageIntent::Send => return false,
            MessageIntent::Run(_) if shown != text => {
                self.out.warn("A command runs only as you see it. Press tab on the paste to show it.");
                return true;
            }
            MessageIntent::Run(line) => {
                self.view.pane_mut(AgentId::MAIN).scroll.follow();
                self.out.send(Command::RunForUser { line: line.to_owned() });
            }
            MessageIntent::HandOff(task) => {
                self.out.send(Command::HandOff { task: said.clone().part(task.to_owned()) });
                self.out.inform("handed to a background agent; its report will arrive as a message");
            }
        }
        let written = self.messages.composer_mut().take();
        self.out.push(Effect::SaveHistory(written));
        self.edited();
        true
    }

    /// Sends what is written in the composer.
    pub(in crate::app) fn send_written(&mut self, said: UserText) {
        if self.submit_to_agent(&said) {
            return;
        }
        let text = self.messages.composer_mut().take();
        self.out.push(Effect::SaveHistory(text));
        self.send_to_main(said);
    }

    pub(super) fn send_to_main(&mut self, text: UserText) {
        let id = self.queue(AgentId::MAIN, text.text.clone());
        self.out.send(Command::Send { id, text });
    }

    /// Sends what is written to its address, else to the agent that the composer writes to; one that has ended goes on
    /// with it. Returns `true` if it was for a subagent.
    fn submit_to_agent(&mut self, written: &UserText) -> bool {
        let text = written.text.as_str();
        let (id, said) = match (address(text, &self.agents), self.messages.target()) {
            (Address::Agent(id, said), _) => (id, said),
            (Address::Unknown(number), None) => {
                self.out.warn(format!("no agent {number}; start with a space to send this to the main agent"));
                return true;
            }
            (_, Some(id)) => (id, text.to_owned()),
            (Address::None, None) => return false,
        };
        let Some(agent) = self.agents.get(id) else { return false };
        let over = self.requests.is_over(agent);
        if said.is_empty() {
            self.messages.composer_mut().clear();
            self.set_target(Some(id));
            return true;
        }
        let text = self.messages.composer_mut().take();
        self.out.push(Effect::SaveHistory(text));
        let text = written.clone().part(said);
        if over {
            self.resume_with(id, text);
        } else {
            let message = self.queue(id, text.text.clone());
            self.out.send(Command::Message { agent: id, id: message, text });
        }
        true
    }

    /// Shows a message as one that waits for an agent.
    fn queue(&mut self, agent: AgentId, text: String) -> MessageId {
        self.view.pane_mut(agent).scroll.follow();
        self.messages.queue(agent, text)
    }

    /// Carries out an act on the agent that has the focus.
    pub(in crate::app) fn act_on_agent(&mut self, action: Action) {
        let Some(id) = self.focused_agent() else { return };
        match action {
            Action::Stop => self.requests.stop(id, &self.agents, &mut self.out),
            Action::WrapUp => {
                let key = self.keymap().chord_of(Context::Agents, action).unwrap_or_default();
                self.requests.wrap_up_at_key(&key, id, &self.agents, &mut self.out);
            }
            Action::Resume => self.resume(id),
            _ => self.requests.change_mode(id, &self.agents, &mut self.out),
        }
    }

    /// Resumes every agent that an earlier end of the program interrupted. The main agent goes on with their reports.
    pub(in crate::app) fn resume_all(&mut self) {
        let children: Vec<AgentId> =
            self.agents.interrupted().map(|agent| agent.id).filter(|id| !id.is_main()).collect();
        let is_main = self.agents.interrupted().any(|agent| agent.id.is_main());
        let text = match (children.len(), is_main) {
            (0, false) => return self.out.inform("no agent was interrupted; r resumes one that has ended"),
            (0, true) => "the main agent resumed".to_owned(),
            (1, _) => "1 agent resumed".to_owned(),
            (count, _) => format!("{count} agents resumed"),
        };
        self.requests.resume_all(if children.is_empty() { vec![AgentId::MAIN] } else { children }, &mut self.out);
        self.update_prompt_label();
        self.out.inform(text);
    }

    /// Resumes an ended agent; a completed one needs a new message first.
    pub(in crate::app) fn resume(&mut self, id: AgentId) {
        let Some(agent) = self.agents.get(id) else { return };
        let name = agent.name.clone();
        if self.requests.is_resuming(id) {
            self.out.inform(format!("{name} is already resuming"));
        } else if !agent.has_ended() {
            self.out.inform(format!("{name} is still running; m messages it"));
        } else if agent.outcome.as_ref().is_some_and(|outcome| outcome.status == Status::Completed) {
            self.write_to(id);
            self.out.inform(format!("say what {name} should do next"));
        } else {
            self.requests.resume(id, None, &mut self.out);
            self.update_prompt_label();
            self.out.inform(if self.messages.has_draft(id) {
                format!("{name} resumed; your message to it is still unsent (m)")
            } else {
                format!("{name} resumed")
            });
        }
    }

    /// Resumes an agent that has ended with a message, which waits until it is read.
    fn resume_with(&mut self, id: AgentId, text: UserText) {
        let message = self.queue(id, text.text.clone());
        if let Some(agent) = self.agents.get(id) {
            self.out.inform(format!("{} resumed with your message", agent.name));
        }
        self.requests.resume(id, Some((message, text)), &mut self.out);
        self.update_prompt_label();
    }

    /// Carries out a command, written without its slash. Returns `true` if there is such a one.
    pub(in crate::app) fn run_slash(&mut self, command: &str) -> bool {
        let (name, argument) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let Some(command) = SlashCommand::find(name) else {
            if servers::name_prompt(&self.settings.servers, name) {
                let said = self.messages.composer().said();
                self.send_to_main(said.with_text(format!("/{command}")));
                return true;
            }
            skills::warn_unknown(self, name);
            return false;
        };
        (command.run)(self, argument.trim());
        true
    }

    pub(super) fn slash_export(&mut self, words: &str) {
        let (format, place) = ExportFormat::parse_words(words);
        self.out.push(Effect::Export { format, place: place.map(str::to_owned) });
    }

    /// Leaves at once if nothing runs; else names what would be stopped and leaves at the second time.
    pub(super) fn slash_quit(&mut self) {
        if !self.is_busy() || self.out.take_armed(Armed::Quit) {
            self.quit();
        } else {
            let text = format!("enter again quits and stops {}", self.running_words());
            self.ask_once_more(Armed::Quit, "/quit", &text);
        }
    }

    /// Begins a new conversation at once if nothing runs; else names what would be stopped, and does it at the second
    /// time.
    pub(super) fn slash_clear(&mut self) {
        if !self.is_busy() || self.out.take_armed(Armed::Clear) {
            self.clear();
        } else {
            let text = format!("enter again starts over and stops {}", self.running_words());
            self.ask_once_more(Armed::Clear, "/clear", &text);
        }
    }

    /// Leaves a command in the composer, where `enter` confirms it.
    fn ask_once_more(&mut self, what: Armed, command: &str, text: &str) {
        let composer = self.messages.composer_mut();
        if composer.is_empty() {
            composer.set_text(command);
        }
        if composer.text().trim() == command {
            self.view.set_focus(Focus::Composer);
            self.out.arm(what, text);
        } else {
            let running = self.running_words();
            self.out.warn(format!("send or clear the message, then write {command}: {running} would stop"));
        }
    }

    /// Returns `true` if `enter` confirms the command that stands in the composer.
    fn asks_once_more(&self) -> bool {
        self.out.armed().is_some_and(|armed| armed != Armed::Interrupt)
    }

    /// Begins a new conversation. The subagents that it stops stay, so that they can be resumed.
    fn clear(&mut self) {
        self.messages.drop_command();
        self.out.send(Command::Clear);
        let stopped: Vec<String> = self.agents.running().map(|agent| agent.name.clone()).collect();
        self.agents.outlast();
        self.agents.clear(self.out.now());
        self.messages.forget_gone(&self.agents, &mut self.out);
        self.requests.clear();
        self.update_prompt_label();
        self.approvals.clear();
        self.messages.clear_main();
        if !stopped.is_empty() {
            let key = self.keymap().chord_of(Context::Agents, Action::Resume).unwrap_or_default();
            self.out.inform(format!("new conversation · stopped ({key} resumes one): {}", stopped.join(", ")));
        }
        self.forget_timeline();
        self.view.clear();
    }

    /// Goes on with a summary: at once if the main agent rests, else once it has answered.
    pub(super) fn slash_compact(&mut self, wish: &str) {
        let main = self.agents.main();
        if main.cells.is_empty() {
            return self.out.inform("nothing to compact yet");
        }
        if main.is_active() {
            self.out.inform("the conversation will be compacted after the main agent answers");
        }
        self.out.send(Command::Compact { wish: (!wish.is_empty()).then(|| wish.to_owned()) });
    }

    /// Shows what fills the context of an agent.
    pub(super) fn slash_context(&mut self, wanted: &str) {
        let agent = if wanted.is_empty() { Some(self.agents.main()) } else { self.agents.find(wanted) };
        match agent.map(|agent| (agent.id, agent.filled.is_some())) {
            Some((agent, true)) => self.overlay.open(Popup::Context { agent, scroll: 0 }),
            Some(_) => self.out.inform("nothing sent to the model yet"),
            None => self.out.warn("usage: /context, or /context N (see /tasks)"),
        }
    }

    pub(super) fn slash_hooks(&mut self) {
        if let Some(why) = self.status.hooks.why_empty() {
            return self.out.inform(why);
        }
        let body = self.status.hooks.page(self.status.sandbox.as_ref().map(SandboxFacts::is_on));
        self.overlay.open(Popup::Text { title: "Hooks".to_owned(), body, scroll: 0 });
    }

    pub(super) fn slash_sandbox(&mut self, words: &str) {
        match (SandboxCommand::parse(words), &self.status.sandbox) {
            (Some(SandboxCommand::Show), Some(facts)) => {
                self.overlay.open(Popup::Text { title: "Sandbox".to_owned(), body: facts.page(), scroll: 0 });
            }
            (Some(SandboxCommand::Show), None) => self.out.inform("still checking for a sandbox"),
            (Some(SandboxCommand::Order(command)), _) => self.out.send(command),
            (None, _) => self.out.warn(format!("usage: {SANDBOX_USAGE}")),
        }
    }

    pub(super) fn slash_trust(&mut self, words: &str) {
        match words {
            "" => trust::ask(self),
            "no" => trust::refuse(self),
            _ => self.out.warn("usage: /trust, or /trust no"),
        }
    }

    pub(super) fn slash_mode(&mut self, argument: &str) {
        let named = PermissionMode::ALL.into_iter().find(|mode| mode.word() == argument);
        match (argument, named.map_or_else(|| argument.parse(), Ok)) {
            ("", _) => {
                let present = PermissionMode::ALL.iter().position(|mode| *mode == self.status.mode).unwrap_or(0);
                self.overlay.open(Popup::List(ListPopup::new(&lists::MODES, present)));
            }
            (_, Ok(mode)) => self.set_mode(mode),
            (_, Err(error)) => self.out.warn(error),
        }
    }

    pub(in crate::app) fn slash_layout(&mut self, argument: &str) {
        match LayoutMode::from_name(argument) {
            Some(mode) => self.use_layout(mode),
            None if argument.is_empty() => {
                let present = LayoutMode::ALL.iter().position(|mode| *mode == self.layout_mode()).unwrap_or(0);
                self.overlay.open(Popup::List(ListPopup::new(&lists::LAYOUTS, present)));
            }
            None => self.out.warn("usage: /layout auto, side, below, rail or hidden"),
        }
    }

    pub(in crate::app) fn use_layout(&mut self, mode: LayoutMode) {
        self.view.arrange(mode);
        self.out.inform(format!("layout: {}", mode.name()));
    }

    pub(super) fn slash_theme(&mut self, argument: &str) {
        let names = self.settings.themes();
        if argument.is_empty() {
            let chosen = names.iter().position(|name| name == self.settings.theme()).unwrap_or(0);
            self.overlay.open(Popup::List(ListPopup::new(&lists::THEMES, chosen)));
        } else if names.iter().any(|name| name == argument) {
            self.settings.use_theme(argument, &mut self.out);
        } else {
            self.out.warn(format!("usage: /theme {}", names.join(", ")));
        }
    }

    pub(super) fn slash_cancel(&mut self, argument: &str) {
        match argument {
            "all" => return self.stop_all(),
            "" => return agent_lists::open(self, &agent_lists::STOP, |agent| !agent.has_ended()),
            _ => {}
        }
        if self.commands.get(argument).is_some() {
            return self.commands.stop(argument, &mut self.out);
        }
        match self.agents.find(argument).map(|agent| agent.id) {
            Some(agent) => self.requests.stop(agent, &self.agents, &mut self.out),
            None => self.out.warn("usage: /cancel N or /cancel all (see /tasks)"),
        }
    }

    /// Carries out a command that names an agent by its number or its name.
    pub(super) fn slash_life(&mut self, name: &str, argument: &str) {
        if argument.is_empty() {
            return match name {
                "wrapup" => agent_lists::open(self, &agent_lists::WRAP_UP, |agent| !agent.has_ended()),
                "resume" => agent_lists::open(self, &agent_lists::RESUME, AgentView::has_ended),
                _ => agent_lists::open(self, &agent_lists::BACKGROUND, |agent| !agent.has_ended()),
            };
        }
        let (wanted, said) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
        if name == "resume" && wanted == "all" {
            self.messages.drop_command();
            return self.resume_all();
        }
        let Some(agent) = self.agents.find(wanted) else {
            self.out.warn(format!("usage: /{name} N (see /tasks)"));
            return;
        };
        let (id, over) = (agent.id, self.requests.is_over(agent));
        let written = self.messages.composer().said();
        self.messages.drop_command();
        match name {
            "wrapup" => self.requests.wrap_up(id, &self.agents, &mut self.out),
            "resume" if over && !said.trim().is_empty() => {
                self.resume_with(id, written.part(said.trim().to_owned()));
            }
            "resume" => self.resume(id),
            _ => self.requests.change_mode(id, &self.agents, &mut self.out),
        }
    }

    /// Does what a command says with the worktree that it names by number, name or branch.
    pub(super) fn slash_worktree(&mut self, wanted: &str, act: WorktreeAct) {
        if let Some(found) = self.agents.kept().find(wanted) {
            self.agents.kept_mut().ask_for(found, act, &mut self.out);
            return;
        }
        if wanted.is_empty() && !self.kept_worktrees().is_empty() {
            // What merges and discards stands in it.
            return self.overlay.open(Popup::list(&lists::WORKTREES));
        }
        let word = match act {
            WorktreeAct::Merge => "merge",
            WorktreeAct::Discard => "discard",
        };
        match self.agents.find(wanted).filter(|agent| !agent.has_ended()) {
            Some(agent) => {
                self.out.warn(format!("{} is still running; wait or stop it, then /{word}", agent.name));
            }
            None if self.kept_worktrees().is_empty() => {
                self.out.warn(format!("nothing to {word}: no unmerged worktrees"));
            }
            None => {
                self.out.warn(format!("usage: /{word} N (see /worktrees)"));
            }
        }
    }

    /// Lets another model answer a subagent starting with its next run.
    pub(super) fn slash_model_of(&mut self, wanted: &str, name: &str) {
        match self.agents.find(wanted).map(|agent| agent.id) {
            Some(agent) => models::choose_for(self, agent, name),
            None => self.out.warn("usage: /model NAME, or /model N NAME (see /tasks)"),
        }
    }
}
