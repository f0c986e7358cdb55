//! Messages to one subagent: whom the composer writes to, a draft for each, and what was sent but not read yet.
//!
//! Owns the target, the drafts and the queues of subagents. Leaves the main agent's queue to `command`, bringing the
//! ended back to `requests`, and delivery to the engine. Invariants: what was written for one agent goes to no other one;
//! what an agent never read comes back.

use std::collections::BTreeMap;

use crate::app::composer::{Addressee, Draft};
use crate::app::{AgentView, App, Effect, Focus};
use crate::message::AgentId;
use crate::subagent::Command;

/// Whom the composer writes to, and what waits.
#[derive(Debug, Default)]
pub(in crate::app) struct Steering {
    /// The subagent that the composer writes to; `None` is the main agent.
    target: Option<AgentId>,
    /// What is being written for those whom the composer does not write to now.
    drafts: BTreeMap<AgentId, Draft>,
    /// What each subagent has not read yet, oldest first.
    queued: BTreeMap<AgentId, Vec<String>>,
    /// What was taken back last, and from whom: it may have been read in the same moment.
    taken: Option<(AgentId, String)>,
    /// For whom the text in `$EDITOR` is.
    editing: Option<AgentId>,
}

/// Whom the start of a text names.
pub(in crate::app) enum Address {
    /// Nobody.
    None,
    /// A subagent; the rest of the text is for it.
    Agent(AgentId, String),
    /// A number that no agent has.
    Unknown(String),
}

impl App {
    /// Returns the subagent that the composer writes to; `None` is the main agent.
    #[must_use]
    pub fn target(&self) -> Option<&AgentView> {
        self.agents.get(self.steering.target?)
    }

    /// Returns what a subagent has not read yet, oldest first.
    #[must_use]
    pub fn unread(&self, agent: AgentId) -> &[String] {
        self.steering.queued.get(&agent).map_or(&[], Vec::as_slice)
    }

    /// Writes to the chosen agent from now on.
    pub(in crate::app) fn message_agent(&mut self) {
        let Some(agent) = self.focused_agent().and_then(|id| self.agents.get(id)) else { return };
        let id = agent.id;
        if self.is_over(agent) {
            let text = format!("{} has ended; a message resumes it", agent.name);
            self.inform(text);
        }
        self.chosen = Some(id);
        self.set_target(Some(id));
        self.focus = Focus::Composer;
    }

    /// Writes to another agent, and keeps what was being written.
    pub(in crate::app) fn set_target(&mut self, target: Option<AgentId>) {
        let before = std::mem::replace(&mut self.steering.target, target);
        if before != target {
            let next = self.steering.drafts.remove(&target.unwrap_or(AgentId::MAIN));
            let draft = self.composer.swap(next.unwrap_or_default());
            if !draft.is_empty() {
                self.steering.drafts.insert(before.unwrap_or(AgentId::MAIN), draft);
            }
        }
        self.update_prompt_label();
    }

    /// Says before the text whom it is for, and whether sending it resumes them.
    pub(in crate::app) fn update_prompt_label(&mut self) {
        let sign = self.target().map(|agent| {
            let act = if self.is_over(agent) { "resume " } else { "" };
            format!("{act}→ {}", agent.name)
        });
        self.composer.set_sign(sign);
        self.composer.set_addressees(self.addressees());
        self.composer.set_width(self.size.width);
    }

    /// Writes to the main agent again, if it was another one.
    pub(in crate::app) fn leave_target(&mut self) {
        self.armed = None;
        self.set_target(None);
        if self.full.is_some() {
            self.focus = Focus::Agents;
        }
    }

    /// Forgets the subagents that are gone. What was being written for them goes to the history.
    pub(in crate::app) fn forget_targets(&mut self, effects: &mut Vec<Effect>) {
        self.set_target(None);
        let is_gone = |id: &AgentId| !id.is_main() && self.agents.get(*id).is_none();
        let gone: Vec<AgentId> = self.steering.drafts.keys().copied().filter(is_gone).collect();
        for text in gone.iter().filter_map(|id| self.steering.drafts.remove(id)).map(|draft| draft.expanded()) {
            self.composer.remember(&text);
            effects.push(Effect::SaveHistory(text));
        }
        self.steering.queued.retain(|id, _| self.agents.get(*id).is_some());
        self.steering.taken = None;
        self.steering.editing = None;
    }

    /// Opens what is being written in `$EDITOR`.
    pub(in crate::app) fn open_editor(&mut self, effects: &mut Vec<Effect>) {
        self.steering.editing = self.steering.target;
        effects.push(Effect::EditText(self.composer.expanded()));
    }

    /// Takes a text back from `$EDITOR`, for the agent that it was opened for.
    pub(in crate::app) fn edited_outside(&mut self, text: &str) {
        let known = self.steering.editing.take().filter(|id| self.agents.get(*id).is_some());
        self.set_target(known);
        self.composer.set_text(text);
    }

    /// Returns whom a text is for, by an `@3` or `@explore-1` at its very start. `@agent-` names a kind of agent, never one
    /// that runs.
    pub(in crate::app) fn address(&self, text: &str) -> Address {
        let Some(rest) = text.strip_prefix('@') else { return Address::None };
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        let said = || rest[word.len()..].trim().to_owned();
        if !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) {
            let numbered = self.agents.children().find(|agent| word.parse() == Ok(agent.id.0));
            return match numbered {
                Some(agent) => Address::Agent(agent.id, said()),
                None if self.agents.is_empty() => Address::None,
                None => Address::Unknown(word.to_owned()),
            };
        }
        let named = self.agents.children().find(|agent| addressee(agent).is_called(word));
        named.map_or(Address::None, |agent| Address::Agent(agent.id, said()))
    }

    /// Returns the subagents that a message can be addressed to: first those at work, then those that it would resume.
    pub(in crate::app) fn addressees(&self) -> Vec<Addressee> {
        let ended = self.agents.children().filter(|agent| agent.has_ended());
        self.agents.running().chain(ended).map(addressee).collect()
    }

    /// Sends what is written to its address, else to the agent that the composer writes to; one that has ended goes on
    /// with it. Tells whether it was for a subagent.
    pub(in crate::app) fn submit_to_agent(&mut self, text: &str, effects: &mut Vec<Effect>) -> bool {
        let (id, said) = match (self.address(text), self.steering.target) {
            (Address::Agent(id, said), _) => (id, said),
            (Address::Unknown(number), None) => {
                self.warn(format!("there is no agent {number}; begin with a space to write this to the main agent"));
                return true;
            }
            (_, Some(id)) => (id, text.to_owned()),
            (Address::None, None) => return false,
        };
        let Some(agent) = self.agents.get(id) else { return false };
        let over = self.is_over(agent);
        if said.is_empty() {
            self.composer.clear();
            self.set_target(Some(id));
            return true;
        }
        effects.push(Effect::SaveHistory(self.composer.take()));
        if over {
            self.resume_with(id, said, effects);
        } else {
            self.queue_for(id, said.clone());
            effects.push(Effect::Engine(Command::Tell { agent: id, text: said }));
        }
        true
    }

    /// Shows a message as one that waits for a subagent.
    pub(in crate::app) fn queue_for(&mut self, id: AgentId, text: String) {
        self.pane_mut(id).scroll.follow();
        self.steering.taken = None;
        self.steering.queued.entry(id).or_default().push(text);
    }

    /// Returns `true` if something is being written for a subagent.
    pub(in crate::app) fn has_draft(&self, id: AgentId) -> bool {
        if self.steering.target == Some(id) {
            return !self.composer.is_empty();
        }
        self.steering.drafts.contains_key(&id)
    }

    /// Takes back the newest message that whom the composer writes to has not read.
    pub(in crate::app) fn take_unread(&mut self, effects: &mut Vec<Effect>) -> Option<String> {
        let (of, text, command) = if let Some(agent) = self.steering.target {
            let text = self.steering.queued.get_mut(&agent)?.pop()?;
            self.steering.queued.retain(|_, queue| !queue.is_empty());
            (agent, text.clone(), Command::Untell { agent, text })
        } else {
            let text = self.queued.pop()?;
            (AgentId::MAIN, text.clone(), Command::Unsend { text })
        };
        effects.push(Effect::Engine(command));
        self.steering.taken = Some((of, text.clone()));
        Some(text)
    }

    /// A subagent has read a message.
    pub(in crate::app) fn mark_read(&mut self, agent: AgentId, text: &str) {
        let queue = self.steering.queued.entry(agent).or_default();
        let at = queue.iter().position(|queued| queued == text);
        if let Some(at) = at {
            queue.remove(at);
        }
        if queue.is_empty() {
            self.steering.queued.remove(&agent);
        }
        if at.is_none() {
            let _ = self.had_read(agent, text);
        }
    }

    /// Says so if a message was read before it could be taken back, and takes it out of what is being written. Returns
    /// `true` if it was.
    pub(in crate::app) fn had_read(&mut self, agent: AgentId, text: &str) -> bool {
        if self.steering.taken.take_if(|(of, taken)| *of == agent && taken == text).is_none() {
            return false;
        }
        if self.steering.target.unwrap_or(AgentId::MAIN) == agent && self.composer.expanded() == text {
            self.composer.clear();
        }
        let child = self.agents.get(agent).filter(|agent| !agent.id.is_main());
        let name = child.map_or_else(|| "the main agent".to_owned(), |agent| agent.name.clone());
        self.warn(format!("{name} had read it already"));
        true
    }

    /// Puts what a subagent did not read back to where it was written. Tells whether there was anything.
    pub(in crate::app) fn give_back(&mut self, id: AgentId) -> bool {
        let unread = self.steering.queued.remove(&id).unwrap_or_default();
        if unread.is_empty() {
            return false;
        }
        let is_target = self.steering.target == Some(id);
        let written = if is_target {
            Some(self.composer.expanded()).filter(|text| !text.is_empty())
        } else {
            self.steering.drafts.remove(&id).map(|draft| draft.expanded())
        };
        let text = unread.into_iter().chain(written).collect::<Vec<_>>().join("\n\n");
        if is_target {
            self.composer.set_text(&text);
        } else {
            self.steering.drafts.insert(id, Draft::of(&text));
        }
        true
    }

    /// A subagent has ended: what it did not read comes back, and the composer leaves it unless something is written.
    pub(in crate::app) fn target_ended(&mut self, id: AgentId) {
        let came_back = self.give_back(id);
        let Some(name) = self.agents.get(id).map(|agent| agent.name.clone()) else { return };
        if self.steering.target != Some(id) {
            if came_back {
                self.warn(format!("{name} ended before it read your message; m on its pane shows the text"));
            }
        } else if self.composer.is_empty() {
            self.set_target(None);
            self.inform(format!("{name} has ended; you write to the main agent again"));
        } else {
            self.update_prompt_label();
            self.warn(format!("{name} has ended and has not read this; enter resumes it with it"));
        }
    }
}

fn addressee(agent: &AgentView) -> Addressee {
    Addressee::new(agent.id, &agent.name, &agent.description, &agent.agent_type, agent.color.clone())
}
