//! Subagents of an earlier run of the program, which can go on.
//!
//! Owns what of them is taken over, and when they are made ready. Leaves reading their logs to `services`. Invariants:
//! nothing runs because it was taken over; what one may do is decided anew, from its definition as it is now and from
//! what the agent above may do.

use crate::agent::{Cancel, InboxMessage, Outcome, RunMode, Spawn, Urgency};
use crate::message::AgentId;
use crate::subagent::limits::Refusal;
use crate::subagent::registry::{AgentEntry, ChildResult, Template};
use crate::subagent::tools::agent_tool::AgentInput;
use crate::subagent::tree::{Parent, Tree};

/// A subagent as the log of an earlier run of the program tells of it.
#[derive(Debug, Clone)]
pub struct SavedAgent {
    pub id: AgentId,
    pub spawn: Spawn,
    /// How often it was begun.
    pub runs: u32,
    pub run_mode: RunMode,
    /// Whether the present conversation knows of it.
    pub wants_report: bool,
    /// The branch of its worktree, if it worked in one that was neither merged nor discarded.
    pub branch: Option<String>,
    /// What came of its last run, and its report.
    pub last: Option<(Outcome, String)>,
}

impl Tree {
    /// Takes over subagents that have ended. The reports of those that are `unread` wait for the main agent.
    pub fn restore(&self, agents: Vec<SavedAgent>, unread: &[AgentId]) {
        let mut registry = self.registry();
        for saved in agents {
            self.skip_number(saved.id);
            if let Some(branch) = saved.branch {
                self.worktree_registry().remember(branch, saved.id);
            }
            if let Some((_, report)) = saved.last.as_ref().filter(|_| unread.contains(&saved.id)) {
                // An inbox that lasts takes everything.
                let _ = self.inbox().push(InboxMessage::report(saved.id, report.clone(), Urgency::Later));
            }
            let entry = AgentEntry {
                name: saved.spawn.name.clone(),
                agent_type: saved.spawn.agent_type.clone(),
                parent: saved.spawn.parent,
                run_mode: saved.run_mode,
                wants_report: saved.wants_report,
                waiter: None,
                running: None,
                runs: saved.runs,
                template: Template::Saved(Box::new(saved.spawn)),
                last: saved.last.map(|(outcome, report)| ChildResult { report, outcome }),
            };
            registry.insert(saved.id, entry);
        }
    }

    /// Makes a subagent of an earlier run of the program ready to go on below `parent`, if it is not yet.
    ///
    /// # Errors
    /// Returns why it cannot: its definition is gone, or the agent above may have no such subagent any more.
    pub(in crate::subagent) async fn make_ready(&self, id: AgentId, parent: &Parent) -> Result<(), Refusal> {
        let spawn = match self.registry().get(&id).map(|entry| &entry.template) {
            Some(Template::Saved(spawn)) => spawn.clone(),
            Some(Template::Ready(_)) | None => return Ok(()),
        };
        let admitted = self.admit_again(parent, &AgentInput::again(&spawn))?;
        let cancel = Cancel::default();
        let memory = self.recall(&admitted.definition, &cancel).await;
        let (_, template) = self.child(parent, admitted, memory.as_ref(), (id, &spawn.name, cancel));
        if let Some(entry) = self.registry().get_mut(&id) {
            entry.template = Template::Ready(Box::new(template));
        }
        Ok(())
    }

    /// Makes a subagent ready to go on, and those above it first, from the top.
    ///
    /// # Errors
    /// Returns why one of them cannot.
    pub(in crate::subagent) async fn make_ready_below(&self, id: AgentId, main: &Parent) -> Result<(), Refusal> {
        let mut line = vec![id];
        while let Some(above) = line.last().and_then(|id| self.parent_of(*id)).filter(|above| !above.is_main()) {
            if line.contains(&above) {
                break;
            }
            line.push(above);
        }
        let mut parent = main.clone();
        for id in line.into_iter().rev() {
            self.make_ready(id, &parent).await?;
            let registry = self.registry();
            let Some(template) = registry.get(&id).and_then(|entry| entry.template.ready()) else { break };
            parent = template.own.clone();
        }
        Ok(())
    }

    /// Returns `true` if the subagent has to be made ready before it can go on.
    pub(in crate::subagent) fn is_saved(&self, id: AgentId) -> bool {
        self.registry().get(&id).is_some_and(|entry| entry.template.ready().is_none())
    }

    fn parent_of(&self, id: AgentId) -> Option<AgentId> {
        self.registry().get(&id).map(|entry| entry.parent)
    }
}
