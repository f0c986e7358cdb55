//! Messages and slash commands: what `enter` in the composer does.
//!
//! Owns the list of commands and the queue of messages. Leaves sending to the engine. Invariant: a text that begins
//! with `/` and names no command is not sent, so that a typing error reaches no model.

mod cost;

use std::fmt::Write as _;

pub use cost::{budget_words, change_budget, cost_mark, cost_words, share as budget_share};
use jiff::tz::TimeZone;

use super::action::Action;
use super::cells::CellKind;
use super::composer::Candidate;
use super::keymap::Context;
use super::{AgentView, App, Effect, Focus, ModelState, Popup};
use crate::agent::WorktreeAct;
use crate::message::{AgentId, WireFormat, sanitize_line};
use crate::permission::PermissionMode;
use crate::provider::table::ProviderTable;
use crate::subagent::Command;

/// Every slash command with what it does.
pub const SLASH_COMMANDS: &[(&str, &str)] = &[
    ("/help", "show all keys"),
    ("/agents", "show the agents there are, and make, edit or delete their files"),
    ("/tasks", "choose from the agents of this session"),
    ("/model", "show which model answers, and how to connect one"),
    ("/mode", "show or set the permission mode"),
    ("/permissions", "show what is allowed in advance, and take it back"),
    ("/clear", "start a new conversation"),
    ("/layout", "place the agents: auto, side, below, rail, hidden"),
    ("/theme", "choose the colours"),
    ("/timeline", "show every agent as a bar over time"),
    ("/cost", "show tokens and cost of each agent, live"),
    ("/budget", "show, set or lift the budget: 500k, $2, +200k, off"),
    ("/cancel", "stop an agent by its number, or all"),
    ("/wrapup", "have an agent report now, by its number"),
    ("/resume", "have an agent go on after its end, by its number, perhaps with a message"),
    ("/background", "move an agent to the background or back, by its number"),
    ("/merge", "write what an agent did in its worktree into the project"),
    ("/discard", "give up what an agent did in its worktree"),
    ("/worktrees", "show the unmerged worktrees to be merged or discarded"),
    ("/export", "write the conversation to a file, or to the one you name"),
    ("/quit", "leave"),
];

/// Returns the commands as the composer completes them.
pub(super) fn candidates() -> Vec<Candidate> {
    SLASH_COMMANDS
        .iter()
        .map(|(name, what)| Candidate { label: (*name).to_owned(), detail: (*what).to_owned() })
        .collect()
}

/// Returns an agent's transcript as plain text.
pub(super) fn as_text(agent: &AgentView, zone: &TimeZone) -> String {
    let mut out = String::new();
    if !agent.prompt.is_empty() {
        let _ = writeln!(out, "# {} · {}\n\n{}\n", agent.name, agent.description, agent.prompt);
    }
    for (_, cell) in agent.cells.iter() {
        let _ = match &cell.kind {
            CellKind::User { text } => writeln!(out, "› {text}\n"),
            CellKind::Text { text } | CellKind::Report { text } => writeln!(out, "{text}\n"),
            CellKind::Thinking { text } => writeln!(out, "(thinking) {text}\n"),
            CellKind::Tool(tool) => writeln!(out, "● {} {}  {}\n", tool.name, tool.title, tool.summary),
            CellKind::Subagent { agent } => writeln!(out, "◆ agent {agent}\n"),
            CellKind::FromParent { text, .. } => writeln!(out, "↓ {text}\n"),
            CellKind::Reports { of } => {
                let of: Vec<String> = of.iter().map(|agent| format!("agent {agent}")).collect();
                writeln!(out, "◆ report of {} arrived\n", of.join(", "))
            }
            CellKind::Resumed { run, at } => {
                writeln!(out, "── run {run} · resumed {} ──\n", at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M"))
            }
            CellKind::Retry { reason, .. } => writeln!(out, "(tried again: {reason})\n"),
            CellKind::Notice { text } | CellKind::Error { text } => writeln!(out, "({text})\n"),
            CellKind::Void => Ok(()),
        };
    }
    out
}

/// Returns `true` if what was written after a slash is a command and no path: only that of a file to write may hold more
/// slashes.
fn is_command(written: &str) -> bool {
    !written.contains('\n') && (!written.contains('/') || written.starts_with("export "))
}

impl App {
    /// Sends what is written, or carries it out.
    pub(super) fn submit(&mut self, effects: &mut Vec<Effect>) {
        if self.composer.continue_line() {
            self.edited(effects);
            return;
        }
        let text = self.composer.expanded();
        if text.trim().is_empty() {
            return;
        }
        self.clicked = None;
        if let Some(command) = text.trim().strip_prefix('/').filter(|rest| is_command(rest)) {
            let known = self.run_slash(command, effects);
            if known {
                // `/clear` may have brought the draft for the main agent back.
                if self.composer.expanded() == text && !self.asks_once_more() {
                    self.composer.take();
                }
                effects.push(Effect::SaveHistory(text));
            }
            return;
        }
        if self.submit_to_agent(&text, effects) {
            return;
        }
        let text = self.composer.take();
        effects.push(Effect::SaveHistory(text.clone()));
        self.pane_mut(AgentId::MAIN).scroll.follow();
        self.queued.push(text.clone());
        effects.push(Effect::Engine(Command::Send { text }));
    }

    /// Takes back the newest queued message so that it can be edited. Returns `true` if there was one.
    pub(super) fn unsend(&mut self, effects: &mut Vec<Effect>) -> bool {
        if self.queued().is_empty() || !self.composer.is_empty() {
            return false;
        }
        let Some(text) = self.take_unread(effects) else { return false };
        self.composer.set_text(&text);
        true
    }

    /// Carries out a command, written without its slash. Tells whether there is such a one.
    pub(super) fn run_slash(&mut self, command: &str, effects: &mut Vec<Effect>) -> bool {
        let (name, argument) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let argument = argument.trim();
        match name {
            "help" => self.popup = Some(Popup::Help { scroll: 0 }),
            "agents" if argument == "new" => self.open_wizard(),
            "agents" => self.open_agent_files(effects),
            "tasks" if self.agents.is_empty() => self.inform("no agents yet"),
            "tasks" => self.popup = Some(Popup::Agents { chosen: 0 }),
            "model" if argument.is_empty() => self.show_model(),
            "model" => self.use_model(argument, effects),
            "mode" => self.slash_mode(argument, effects),
            "permissions" => self.popup = Some(Popup::Permissions { chosen: 0 }),
            "clear" => self.slash_clear(effects),
            "layout" => self.slash_layout(argument),
            "theme" => self.slash_theme(argument, effects),
            "timeline" => self.open_timeline(),
            "cost" => self.popup = Some(Popup::Cost { scroll: 0 }),
            "budget" => self.slash_budget(argument, effects),
            "cancel" => self.slash_cancel(argument, effects),
            "wrapup" | "resume" | "background" => self.slash_life(name, argument, effects),
            "merge" => self.slash_worktree(argument, WorktreeAct::Merge, effects),
            "discard" => self.slash_worktree(argument, WorktreeAct::Discard, effects),
            "worktrees" => self.list_worktrees(),
            "export" => self.export(argument, effects),
            "quit" | "exit" => self.slash_quit(effects),
            _ => {
                self.warn(format!("there is no command /{name}; /help lists them"));
                return false;
            }
        }
        true
    }

    fn export(&mut self, place: &str, effects: &mut Vec<Effect>) {
        let text = as_text(self.agents.main(), &self.status.zone);
        if text.trim().is_empty() {
            return self.warn("nothing was said yet, so there is nothing to export");
        }
        effects.push(Effect::Export { text, place: (!place.is_empty()).then(|| place.to_owned()) });
    }

    /// Begins a new conversation. The subagents that it stops stay, so that they can be resumed.
    pub(super) fn clear(&mut self, effects: &mut Vec<Effect>) {
        if self.composer.text().starts_with('/') {
            // The composer may have been another agent's, and this is no draft.
            self.composer.take();
        }
        effects.push(Effect::Engine(Command::Clear));
        let stopped: Vec<String> = self.agents.running().map(|agent| agent.name.clone()).collect();
        self.agents.outlast();
        self.agents.clear(self.now);
        self.forget_targets(effects);
        self.forget_lives();
        self.approvals.clear();
        // What was sent is in the history.
        self.queued.clear();
        self.panes.clear();
        if !stopped.is_empty() {
            let key = self.keymap.chord_of(Context::Agents, Action::Resume).unwrap_or_default();
            self.inform(format!("a new conversation · stopped, {key} on one resumes it: {}", stopped.join(", ")));
        }
        self.full = None;
        self.forget_timeline();
        self.chosen = None;
        self.focus = Focus::Composer;
    }

    fn slash_mode(&mut self, argument: &str, effects: &mut Vec<Effect>) {
        let named = PermissionMode::ALL.into_iter().find(|mode| mode.word() == argument);
        match (argument, named.map_or_else(|| argument.parse(), Ok)) {
            ("", _) => {
                let all: Vec<&str> = PermissionMode::ALL.iter().map(|mode| mode.name()).collect();
                self.inform(format!("mode: {}; choose with /mode {}", self.status.mode.word(), all.join(" | ")));
            }
            (_, Ok(mode)) => self.set_mode(mode, effects),
            (_, Err(error)) => self.warn(error),
        }
    }

    fn slash_cancel(&mut self, argument: &str, effects: &mut Vec<Effect>) {
        if argument == "all" {
            self.stop_all(effects);
            return;
        }
        let agent = self.agents.running().find(|agent| argument.parse() == Ok(agent.id.0) || agent.name == argument);
        match agent.map(|agent| agent.id) {
            Some(agent) => self.stop_agent(agent, effects),
            None => self.warn("write /cancel with the number of a running agent, or /cancel all"),
        }
    }

    fn use_model(&mut self, name: &str, effects: &mut Vec<Effect>) {
        self.inform(format!("looking for {}", sanitize_line(name)));
        effects.push(Effect::Engine(Command::UseModel { name: name.to_owned() }));
    }

    fn show_model(&mut self) {
        let body = match &self.status.model {
            ModelState::Chosen(model) => {
                let window =
                    model.context_window.map_or_else(String::new, |size| format!("\n\nContext: {size} tokens"));
                let note = model.note.as_ref().map_or_else(String::new, |note| format!("\n\n{note}"));
                let by =
                    if model.provider == model.display { String::new() } else { format!(" by {}", model.provider) };
                format!("**{}**{by}{window}{note}", model.display)
            }
            ModelState::Searching(None) => "Still looking for a model.".to_owned(),
            ModelState::Searching(Some(place)) => format!("Still looking for a model at {place}."),
            ModelState::Missing(reason) => format!("No model answers. {reason}"),
        };
        let table = ProviderTable::default();
        let body = format!(
            "{body}\n\nTo choose one, type `/model provider/name` or start with `--model provider/name`, or set `{}` \
             (with `{}` for a local server).",
            table.main_keys().join("` or `"),
            table.address_variable(WireFormat::OpenAi).unwrap_or_default()
        );
        self.popup = Some(Popup::Text { title: "model".to_owned(), body, scroll: 0 });
    }
}
