//! What a session without a screen keeps of events, to say it when it is asked.
//!
//! Owns what fills the context of each agent, and what holds in the sandbox.

use std::collections::HashMap;
use std::sync::Arc;

use super::rows::{SET_IN, skill_row};
use crate::agent::{AgentEvent, ContextEvent, ContextUse, EventKind, LogEvent, SessionEvent};
use crate::app::{SlashCommand, context_rows, context_total, name_prompt};
use crate::definition::skill::{ListedSkill, SkillCatalog, called_in};
use crate::hook::HookLog;
use crate::mcp::McpFacts;
use crate::message::{AgentId, sanitize_line};
use crate::permission::{BroughtItem, FolderTrust};
use crate::sandbox::SandboxFacts;

#[derive(Debug, Default)]
pub(super) struct KnownFacts {
    filled: HashMap<AgentId, ContextUse>,
    sandbox: Option<SandboxFacts>,
    trust: Option<FolderTrust>,
    /// What the folder brings, as it was listed last.
    listed: Vec<BroughtItem>,
    servers: Vec<McpFacts>,
    hooks: HookLog,
    skills: SkillCatalog,
}

impl KnownFacts {
    pub(super) fn apply(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Agent(AgentEvent {
                agent, kind: EventKind::Context(ContextEvent::Measured { filled }), ..
            }) => drop(self.filled.insert(*agent, filled.clone())),
            LogEvent::Agent(AgentEvent { kind: EventKind::Hook { ran }, .. }) => self.hooks.take_run(ran),
            event => match event.of_session() {
                Some(SessionEvent::SandboxChanged { facts }) => self.sandbox = Some(facts.clone()),
                Some(SessionEvent::ServersChanged { servers }) => self.servers.clone_from(servers),
                Some(SessionEvent::HooksChanged { hooks }) => self.hooks.take_notices(hooks),
                Some(SessionEvent::FolderTrust { trust }) => self.trust = Some(trust.clone()),
                _ => {}
            },
        }
    }

    /// Returns what fills the context of an agent, or why that is not known.
    pub(super) fn context(&self, agent: Option<AgentId>) -> Result<Vec<String>, &'static str> {
        let filled = agent.and_then(|agent| self.filled.get(&agent));
        let filled = filled.ok_or("nothing sent to the model yet; see /tasks")?;
        let rows = context_rows(filled);
        let rows = rows.iter().map(|row| format!("{SET_IN}{}: {}, {}", row.label, row.size(), row.percent()));
        Ok(std::iter::once(format!("context: {}", context_total(filled))).chain(rows).collect())
    }

    pub(super) fn know_skills(&mut self, skills: SkillCatalog) {
        self.skills = skills;
    }

    /// Returns `true` if a line calls a skill or a command of the user's own. A built-in command wins.
    pub(super) fn is_skill(&self, line: &str) -> bool {
        let called = called_in(line).filter(|(name, _)| SlashCommand::find(name).is_none());
        called.and_then(|(name, _)| self.skills.get(name)).is_some_and(|skill| skill.is_for_users)
    }

    pub(super) fn listed_skills(&self) -> Arc<[ListedSkill]> {
        self.skills.listing()
    }

    /// Returns the skills and commands, or that there are none.
    pub(super) fn skills(&self) -> Result<Vec<String>, &'static str> {
        let rows: Vec<String> = self.skills.listing().iter().map(skill_row).collect();
        if rows.is_empty() { Err("no skills or commands; see docs/skills.md") } else { Ok(rows) }
    }

    /// Lists what the folder brings, or returns that it brings nothing.
    pub(super) fn list_trust(&mut self) -> Result<Vec<String>, &'static str> {
        let trust = self.trust.as_ref().ok_or("this folder brings nothing that needs your trust")?;
        self.listed.clone_from(&trust.brings);
        let items = trust.lines().map(|line| format!("{SET_IN}{line}"));
        Ok(std::iter::once(format!("{} · {}", trust.summary(), trust.state())).chain(items).collect())
    }

    /// Returns all that the folder brings, if it was listed as it is.
    pub(super) fn listed(&self) -> Option<Vec<BroughtItem>> {
        let brings = self.trust.as_ref().map(|trust| trust.brings.clone()).unwrap_or_default();
        (brings == self.listed).then_some(brings)
    }

    /// Returns the MCP servers, or that there are none.
    pub(super) fn servers(&self) -> Result<Vec<String>, &'static str> {
        let row = |server: &McpFacts| {
            let (name, state) = (sanitize_line(&server.name), server.state.word());
            format!("{SET_IN}{name}: {state}  {}", server.line()).trim_end().to_owned()
        };
        let rows: Vec<String> = self.servers.iter().map(row).collect();
        if rows.is_empty() { Err("no MCP servers; add one with belvedere mcp add") } else { Ok(rows) }
    }

    /// Returns `true` if a command stands for a prompt of an MCP server.
    pub(super) fn name_prompt(&self, written: &str) -> bool {
        let name = written.split_whitespace().next().unwrap_or_default();
        name_prompt(&self.servers, name)
    }

    /// Returns all that is known of one MCP server.
    pub(super) fn server(&self, name: &str) -> Result<Vec<String>, &'static str> {
        let server =
            self.servers.iter().find(|server| server.name == name).ok_or("no MCP server of that name; see /mcp")?;
        Ok(server.page().lines().map(|line| format!("{SET_IN}{line}")).collect())
    }

    /// Returns a line for each hook.
    pub(super) fn hooks(&self) -> Result<Vec<String>, &'static str> {
        if let Some(why) = self.hooks.why_empty() {
            return Err(why);
        }
        let has_sandbox = self.sandbox.as_ref().map(SandboxFacts::is_on);
        Ok(self.hooks.lines(has_sandbox).map(|line| format!("{SET_IN}{line}")).collect())
    }

    /// Returns what holds in the sandbox, or why that is not known.
    pub(super) fn sandbox(&self) -> Result<Vec<String>, &'static str> {
        let facts = self.sandbox.as_ref().ok_or("still checking for a sandbox")?;
        Ok(facts.page().lines().map(|line| format!("{SET_IN}{line}")).collect())
    }
}
