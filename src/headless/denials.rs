//! Tool calls that were not allowed, with what would have allowed them.
//!
//! Owns the list for the JSON formats and the line for standard error. Leaves the decision to `permission`. Invariant: a
//! call is in the list once, however it was refused.

use std::collections::HashMap;

use serde::Serialize;

use crate::agent::{AgentEvent, EventKind, ToolEvent};
use crate::message::{AgentId, sanitize_line, shell_word};
use crate::permission::{AccessKind, Answer, ApprovalId, ApprovalRequest, Grant};

/// Longest title in a line, in characters.
const TITLE_CHARS: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Denial {
    agent: String,
    tool: String,
    title: String,
    /// What `--allowedTools` would have to hold; null where that would not help.
    rule: Option<String>,
    reason: String,
}

#[derive(Debug, Default)]
pub(super) struct Denials {
    names: HashMap<AgentId, String>,
    open: HashMap<ApprovalId, ApprovalRequest>,
    list: Vec<Denial>,
}

impl Denials {
    /// Takes in an event. Returns the line for a call that it refuses.
    pub(super) fn apply(&mut self, event: &AgentEvent) -> Option<String> {
        match &event.kind {
            EventKind::Spawned(spawn) => drop(self.names.insert(event.agent, spawn.name.clone())),
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                drop(self.open.insert(request.id.clone(), request.clone()));
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { id, answer, .. }) => {
                // A plan and a question ask for no permission: the model is told what to do without an answer.
                let request = self.open.remove(id).filter(|one| !one.is_of_plan() && one.questions().is_none())?;
                if answer.as_ref().is_some_and(|answer| !answer.is_yes()) {
                    // Where a rule asks or denies, another one does not help.
                    let by_rule = request.rule();
                    let rule = request.grant.as_ref().filter(|_| by_rule.is_none()).and_then(Grant::as_rule);
                    let reason = match &request.access.kind {
                        AccessKind::Reach { host, .. } => {
                            format!("nobody to ask about {}; sandbox.hosts can list it", host.described())
                        }
                        _ if matches!(answer, Some(Answer::No { .. })) => {
                            let reason = "the calling program said no".to_owned();
                            return Some(self.add(event.agent, &request.access.tool, &request.act(), None, reason));
                        }
                        _ => match by_rule {
                            Some(rule) => format!("nobody to ask; {}", sanitize_line(rule)),
                            None => "nobody to ask".to_owned(),
                        },
                    };
                    return Some(self.add(event.agent, &request.access.tool, &request.act(), rule, reason));
                }
            }
            EventKind::Tool(ToolEvent::Refused { tool, title, reason }) => {
                return Some(self.add(event.agent, tool, title, None, sanitize_line(reason).into_owned()));
            }
            _ => {}
        }
        None
    }

    pub(super) fn list(&self) -> &[Denial] {
        &self.list
    }

    fn add(&mut self, agent: AgentId, tool: &str, title: &str, rule: Option<String>, reason: String) -> String {
        let agent = self.names.get(&agent).map_or("main", String::as_str);
        let (agent, tool) = (sanitize_line(agent).into_owned(), sanitize_line(tool).into_owned());
        let title: String = sanitize_line(title).chars().take(TITLE_CHARS).collect();
        let how = rule.as_ref().map_or_else(String::new, |rule| {
            format!(" (allow with --allowedTools {})", shell_word(&sanitize_line(rule)))
        });
        let line = format!("[{agent}] {tool} {title} denied: {reason}{how}");
        self.list.push(Denial { agent, tool, title, rule, reason });
        line
    }
}
