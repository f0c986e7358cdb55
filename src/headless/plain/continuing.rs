//! A session of lines that goes on with an earlier one: what it takes over, and what can go on.
//!
//! Leaves the words about what happens to `renderer`. Invariant: nothing goes on by itself.

use std::path::PathBuf;

use super::rows::session_row;
use super::session::Session;
use crate::agent::{AgentEvent, LogEvent, Status};
use crate::definition::skill::SkillCatalog;
use crate::memory::MemoryReader;
use crate::message::AgentId;
use crate::message::format::counted;
use crate::services::{SavedSession, summaries};
use crate::subagent::Command;

impl Session {
    /// Returns the same session, which can list the sessions of a project, by the state directory and the project, and the
    /// memory files and skills there.
    pub(super) fn listing(
        mut self,
        sessions_of: Option<(PathBuf, PathBuf)>,
        memory: Option<MemoryReader>,
        skills: SkillCatalog,
    ) -> Self {
        (self.sessions_of, self.memory) = (sessions_of, memory);
        self.facts.know_skills(skills);
        self
    }

    /// Takes in what an earlier run of the program left, and says in a line what that is.
    pub(super) fn restore(&mut self, saved: &SavedSession) {
        for event in saved.events.iter().chain(&saved.missing) {
            if let LogEvent::Agent(AgentEvent { agent: AgentId::MAIN, kind, .. }) = &**event {
                self.count(kind);
            }
            self.usage.apply(event);
            self.rewinding.apply(event);
            // It was written then.
            drop(self.renderer.apply(event));
        }
        self.unanswered = 0;
        let (all, interrupted) = (self.renderer.tasks.len(), self.renderer.tasks.interrupted());
        let agents = counted(all, "agent");
        self.notice(&match interrupted.len() {
            0 => format!("continuing the session, with {agents}; /tasks lists them"),
            count => {
                format!("continuing the session, with {agents}; {count} interrupted: /resume all resumes them")
            }
        });
    }

    /// Resumes every agent that an earlier end of the program interrupted.
    pub(super) fn resume_all(&mut self) {
        match (self.renderer.tasks.interrupted(), self.last_end) {
            (agents, Some(Status::Interrupted)) if agents.is_empty() => {
                self.order(Command::ResumeAll { agents: vec![AgentId::MAIN] });
            }
            (agents, _) if agents.is_empty() => self.notice("nothing to resume"),
            (agents, _) => self.order(Command::ResumeAll { agents }),
        }
    }

    /// Lists the sessions that can go on.
    pub(super) fn list_sessions(&mut self) {
        let others = self.sessions_of.as_ref().map(|(state_dir, project)| summaries(state_dir, Some(project)));
        let others = others.into_iter().flatten().filter(|session| !session.is_open);
        let lines: Vec<String> = others.map(|session| session_row(&session)).collect();
        if lines.is_empty() {
            self.notice("no other session in this project");
        } else {
            self.write(lines);
            self.notice("continue one with belvedere --plain --resume ID");
        }
    }
}
