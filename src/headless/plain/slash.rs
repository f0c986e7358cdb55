//! What slash commands do in a session of lines.
//!
//! Owns their acts here. Leaves their table to `app`, and what a session is to `session`. Invariant: nothing here waits for
//! the output.

use jiff::Timestamp;
use tokio::time::Instant;

use super::line_command;
use super::rows::{agent_file, memory_rows};
use super::session::{RETYPED, Session};
use crate::agent::{Status, WorktreeAct};
use crate::app::{
    INIT, McpCommand, PlainSession, SANDBOX_USAGE, SandboxCommand, budget_words, change_budget, cost_words,
};
use crate::headless::lead::Lead;
use crate::message::{AgentId, Effort, Spent, grouped};
use crate::subagent::Command;

/// Why a command that gives up a guard is not carried out.
const PASTED: &str = "not done: type this command by itself, it was one of several pasted lines";

impl PlainSession for Session {
    fn help(&mut self) {
        self.write(line_command::help());
    }

    fn agent_files(&mut self) {
        let lines = self.catalog.listing().iter().flat_map(agent_file).collect();
        self.write(lines);
    }

    fn tasks(&mut self) {
        let lines = self.renderer.list_tasks(Timestamp::now());
        self.write(lines);
    }

    fn model(&mut self, name: &str) {
        self.order(Command::UseModel { agent: AgentId::MAIN, name: name.to_owned() });
    }

    fn effort(&mut self, word: &str) {
        match Effort::choice(word) {
            Ok(effort) => self.order(Command::SetEffort(effort)),
            Err(why) => self.notice(&why),
        }
    }

    /// Begins a new conversation, at the second time if that stops agents.
    fn clear(&mut self) {
        let asked = self.clearing.take().is_some_and(|until| Instant::now() <= until);
        if !asked && !self.is_idle() {
            self.notice("agents are still running; /clear again stops them and starts a new conversation");
            self.clearing = Some(Instant::now() + RETYPED);
            return;
        }
        // Messages that wait are taken back with it.
        self.unanswered = self.unanswered.min(1);
        self.order(Command::Clear);
    }

    fn cost(&mut self) {
        let each = self.usage.agents().map(|(id, spent)| cost_row(&self.renderer.tasks.name(id), spent));
        let all = [budget_words(self.usage.limit(), self.usage.total()), cost_row("all agents", self.usage.total())];
        let rows: Vec<String> = all.into_iter().chain(each).collect();
        for row in &rows {
            self.notice(row);
        }
    }

    fn compact(&mut self, wish: &str) {
        if self.lead != Lead::Rests {
            self.notice("the conversation will be compacted after the main agent answers");
        }
        self.order(Command::Compact { wish: (!wish.is_empty()).then(|| wish.to_owned()) });
    }

    fn context(&mut self, agent: &str) {
        let wanted =
            if agent.is_empty() { Some(AgentId::MAIN) } else { self.renderer.tasks.named(agent).map(|(id, _)| id) };
        self.say(self.facts.context(wanted));
    }

    fn init(&mut self) {
        self.send(INIT.into());
    }

    fn memory(&mut self) {
        self.say(memory_rows(self.memory.as_ref()));
    }

    fn skills(&mut self) {
        self.say(self.facts.skills());
    }

    fn trust(&mut self, words: &str) {
        match words {
            "" => self.list_trust(),
            "yes" if self.asked.is_pasted() => self.notice(PASTED),
            "yes" => self.trust_listed(),
            "no" => self.order(Command::TrustFolder { trusted: Vec::new() }),
            _ => self.notice("usage: /trust [yes|no]"),
        }
    }

    fn hooks(&mut self) {
        self.say(self.facts.hooks());
    }

    fn sandbox(&mut self, words: &str) {
        match SandboxCommand::parse(words) {
            Some(SandboxCommand::Show) => self.say(self.facts.sandbox()),
            Some(SandboxCommand::Order(_)) if self.asked.is_pasted() => self.notice(PASTED),
            Some(SandboxCommand::Order(command)) => self.order(command),
            None => self.notice(&format!("usage: {SANDBOX_USAGE}")),
        }
    }

    fn mcp(&mut self, words: &str) {
        match McpCommand::parse(words) {
            McpCommand::List => self.say(self.facts.servers()),
            McpCommand::Show(name) => self.say(self.facts.server(&name)),
            McpCommand::Restart(name) => self.order(Command::Servers { restart: Some(name) }),
            McpCommand::Login(name) => self.order(Command::SignIn { server: name }),
        }
    }

    fn budget(&mut self, words: &str) {
        let (limit, spent) = (self.usage.limit(), self.usage.total());
        if words.is_empty() {
            self.notice(&budget_words(limit, spent));
            return;
        }
        match change_budget(words, limit, spent) {
            Ok((limit, said)) => {
                self.order(Command::SetBudget(limit));
                self.notice(&said);
            }
            Err(error) => self.notice(&error),
        }
    }

    fn cancel(&mut self, agent: &str) {
        if agent == "all" {
            // Messages that wait are taken back with it.
            self.unanswered = self.unanswered.min(1);
            self.order(Command::StopAll);
        } else if self.renderer.commands.has(agent) {
            self.order(Command::StopCommand { id: agent.to_owned() });
        } else {
            self.order_of(agent, |_, agent| Command::Stop { agent });
        }
    }

    fn wrap_up(&mut self, agent: &str) {
        self.order_of(agent, |_, agent| Command::WrapUp { agent });
    }

    fn sessions(&mut self) {
        self.list_sessions();
    }

    fn rewind(&mut self, words: &str) {
        self.rewind_to(words);
    }

    /// Resumes an ended agent. A completed one needs a message that says what is next.
    fn resume(&mut self, words: &str) {
        let (wanted, text) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        if wanted == "all" {
            return self.resume_all();
        }
        let text = Some(text.trim()).filter(|text| !text.is_empty());
        match self.renderer.tasks.find_ended(wanted) {
            Some((_, Status::Completed)) if text.is_none() => {
                self.notice(&format!("say what to do next: /resume {wanted} MESSAGE"));
            }
            Some((agent, _)) => {
                let message = text.map(|text| (self.next_id(), self.said(text)));
                self.order(Command::Resume { agent, message });
            }
            None => self.notice(&format!("no ended agent {wanted}; see /tasks")),
        }
    }

    fn background(&mut self, agent: &str) {
        self.order_of(agent, |tasks, agent| Command::Move { agent, run_mode: tasks.other_mode(agent) });
    }

    fn merge(&mut self, which: &str) {
        self.worktree(which, WorktreeAct::Merge);
    }

    fn discard(&mut self, which: &str) {
        self.worktree(which, WorktreeAct::Discard);
    }

    fn worktrees(&mut self) {
        let lines = self.renderer.worktrees();
        self.write(lines);
    }

    fn export(&mut self, words: &str) {
        self.exporter.begin(words);
    }

    fn quit(&mut self) {
        if self.is_idle() || self.take_armed() {
            self.leaves = true;
        } else {
            self.arm();
            self.notice("agents are still running; /quit again stops them and quits");
        }
    }
}

impl Session {
    fn trust_listed(&mut self) {
        if let Some(trusted) = self.facts.listed() {
            self.order(Command::TrustFolder { trusted });
        } else {
            self.list_trust();
            self.notice("read this first, then type /trust yes again");
        }
    }

    fn list_trust(&mut self) {
        let listed = self.facts.list_trust();
        self.say(listed);
    }
}

fn cost_row(who: &str, spent: &Spent) -> String {
    let cost = cost_words(spent);
    let cost = if cost.is_empty() { cost } else { format!(", cost {cost}") };
    let cached = match spent.usage.cache_read {
        0 => String::new(),
        cached => format!(" ({} from the cache)", grouped(cached)),
    };
    format!("{who}: {} tokens{cached}{cost}", spent.usage.spelled(grouped))
}
