//! Messages: what is being written and for whom, and what was sent but not read yet.
//!
//! Owns the composer, whom it writes to, a draft for each agent and the queues. Leaves bringing the ended back to
//! `requests`, and delivery to the engine. Invariants: what was written for one agent goes to no other one; what a
//! subagent never read comes back.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

use super::files::FileIndex;
use super::intent::MessageIntent;
use super::pictures::Attaching;
use super::{Addressee, Candidate, Composer, Draft, History};
use crate::app::agents::requests::PendingRequests;
use crate::app::command::candidates;
use crate::app::outbox::Outbox;
use crate::app::settings::servers;
use crate::app::{AgentView, Agents, Effect, UserChoice};
use crate::definition::Listed;
use crate::mcp::McpFacts;
use crate::message::{AgentId, MessageId};
use crate::session::Unsent;
use crate::subagent::Command;

/// How old the list of files may be when a file is named.
const RELIST: Duration = Duration::from_secs(20);

/// What is being written, and what waits to be read.
#[derive(Debug)]
pub(in crate::app) struct Messages {
    composer: Composer,
    files: FileIndex,
    /// What a word after a slash can be completed to, beside the prompts of MCP servers.
    commands: Vec<Candidate>,
    prompts: Vec<Candidate>,
    listed_at: Option<Instant>,
    /// The subagent that the composer writes to; `None` is the main agent.
    target: Option<AgentId>,
    /// What is being written for those whom the composer does not write to now.
    drafts: BTreeMap<AgentId, Draft>,
    /// What each agent has not read yet, oldest first.
    queued: BTreeMap<AgentId, Vec<Queued>>,
    /// What was taken back last: it may have been read in the same moment.
    taken: Option<Queued>,
    /// The last message that was sent.
    last_sent: MessageId,
    /// What stands before the text while it is for a subagent.
    label: Option<String>,
    /// For whom the text in `$EDITOR` is.
    editing: Option<AgentId>,
    /// The mark of what was handed on to be kept.
    kept: u64,
    pub(super) attaching: Attaching,
}

/// A message that waits to be read.
#[derive(Debug)]
struct Queued {
    id: MessageId,
    text: String,
}

/// Whom the start of a text names.
pub(in crate::app) enum Address {
    None,
    /// A subagent; the rest of the text is for it.
    Agent(AgentId, String),
    Unknown(String),
}

impl Messages {
    pub(in crate::app) fn new() -> Self {
        let mut messages = Self {
            composer: Composer::new(History::default()),
            files: FileIndex::default(),
            commands: candidates(),
            prompts: Vec::new(),
            listed_at: None,
            target: None,
            drafts: BTreeMap::new(),
            queued: BTreeMap::new(),
            taken: None,
            last_sent: MessageId::default(),
            label: None,
            editing: None,
            kept: 0,
            attaching: Attaching::default(),
        };
        messages.kept = messages.mark();
        messages
    }

    pub(in crate::app) fn composer(&self) -> &Composer {
        &self.composer
    }

    /// Returns the text being written, to be changed; [`Self::edited`] comes after.
    pub(in crate::app) fn composer_mut(&mut self) -> &mut Composer {
        &mut self.composer
    }

    pub(in crate::app) fn set_files(&mut self, files: Vec<String>) {
        self.files.set(files);
    }

    /// Takes the prompts and resources of MCP servers, to complete them.
    pub(in crate::app) fn set_servers(&mut self, servers: &[McpFacts]) {
        let (prompts, resources) = servers::candidates(servers);
        self.prompts = prompts;
        self.composer.set_resources(resources);
    }

    pub(in crate::app) fn set_agents(&mut self, listing: &[Listed]) {
        self.composer.set_agents(listing);
    }

    /// Takes these for the commands that a word can be completed to.
    pub(in crate::app) fn set_commands(&mut self, commands: Vec<Candidate>) {
        self.commands = commands;
    }

    /// Brings what depends on the composer's text up to date.
    pub(in crate::app) fn edited(&mut self, width: u16, agents: &Agents, out: &mut Outbox) {
        self.show_label();
        self.composer.set_width(width);
        self.composer.set_addressees(addressees(agents));
        let commands = [self.commands.as_slice(), &self.prompts].concat();
        self.composer.refresh_completion(&mut self.files, &commands);
        let stale = self.listed_at.is_none_or(|at| out.now().saturating_duration_since(at) >= RELIST);
        if stale && self.composer.text().contains('@') {
            self.listed_at = Some(out.now());
            out.push(Effect::ListFiles);
        }
    }

    pub(in crate::app) fn target(&self) -> Option<AgentId> {
        self.target
    }

    /// Returns what an agent has not read yet, oldest first.
    pub(in crate::app) fn unread(&self, agent: AgentId) -> Vec<&str> {
        self.queued.get(&agent).into_iter().flatten().map(|queued| queued.text.as_str()).collect()
    }

    /// Writes to another agent, and keeps what was being written.
    pub(in crate::app) fn set_target(&mut self, target: Option<AgentId>) {
        let before = std::mem::replace(&mut self.target, target);
        if before != target {
            let next = self.drafts.remove(&target.unwrap_or(AgentId::MAIN));
            let draft = self.composer.swap(next.unwrap_or_default());
            if !draft.is_empty() {
                self.drafts.insert(before.unwrap_or(AgentId::MAIN), draft);
            }
        }
    }

    /// Says before the text whom it is for, and whether sending it resumes them.
    pub(in crate::app) fn update_prompt_label(&mut self, width: u16, agents: &Agents, requests: &PendingRequests) {
        let label = self.target.and_then(|id| agents.get(id)).map(|agent| {
            let act = if requests.is_over(agent) { "resume " } else { "" };
            format!("{act}→ {}", agent.name)
        });
        self.label = label;
        self.show_label();
        self.composer.set_addressees(addressees(agents));
        self.composer.set_width(width);
    }

    /// Says before the text where it goes: to a subagent, or where its signs send it.
    fn show_label(&mut self) {
        if self.is_held() {
            return self.composer.set_sign(Some("→ once attached".to_owned()));
        }
        let intent = match self.target {
            None => MessageIntent::of(&self.composer.text()).label().map(str::to_owned),
            Some(_) => None,
        };
        self.composer.set_sign(self.label.clone().or(intent));
    }

    /// Forgets the subagents that are gone. What was being written for them goes to the history.
    pub(in crate::app) fn forget_gone(&mut self, agents: &Agents, out: &mut Outbox) {
        self.set_target(None);
        let is_gone = |id: &AgentId| !id.is_main() && agents.get(*id).is_none();
        let gone: Vec<AgentId> = self.drafts.keys().copied().filter(is_gone).collect();
        for text in gone.iter().filter_map(|id| self.drafts.remove(id)).map(|draft| draft.expanded()) {
            self.composer.remember(&text);
            out.push(Effect::SaveHistory(text));
        }
        self.queued.retain(|id, _| agents.get(*id).is_some());
        self.taken = None;
        self.editing = None;
    }

    /// Forgets what waits for the main agent, as at the start of a new conversation: it is in the history.
    pub(in crate::app) fn clear_main(&mut self) {
        self.queued.remove(&AgentId::MAIN);
    }

    /// Takes a command out of the composer, which may be given to another agent: it is no draft.
    pub(in crate::app) fn drop_command(&mut self) {
        if self.composer.text().starts_with('/') {
            self.composer.take();
        }
    }

    pub(in crate::app) fn open_editor(&mut self, out: &mut Outbox) {
        self.editing = self.target;
        out.push(Effect::EditText(self.composer.expanded()));
    }

    /// Takes a text back from `$EDITOR`, for the agent that it was opened for.
    pub(in crate::app) fn edited_outside(&mut self, text: &str, agents: &Agents) {
        let known = self.editing.take().filter(|id| agents.get(*id).is_some());
        self.set_target(known);
        self.composer.set_written(text);
    }

    /// Shows a message as one that waits for an agent, and gives it its number.
    pub(in crate::app) fn queue(&mut self, agent: AgentId, text: String) -> MessageId {
        if !agent.is_main() {
            self.taken = None;
        }
        self.last_sent.0 += 1;
        let id = self.last_sent;
        self.queued.entry(agent).or_default().push(Queued { id, text });
        id
    }

    /// Hands on what is written and not read, if that has changed.
    pub(in crate::app) fn keep_unsent(&mut self, out: &mut Outbox) {
        let mark = self.mark();
        if mark != self.kept {
            self.kept = mark;
            out.push(Effect::Remember(UserChoice::Unsent(self.unsent())));
        }
    }

    /// Returns a number that changes with what is written and not read. It is asked for at each key, where a paste of
    /// megabytes is no more than its label.
    fn mark(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        if !self.composer.is_empty() {
            (self.target, self.composer.lines()).hash(&mut hasher);
        }
        self.drafts.iter().for_each(|(agent, draft)| (agent, draft.lines()).hash(&mut hasher));
        let queued = self.queued.iter().flat_map(|(agent, queued)| queued.iter().map(move |queued| (agent, queued.id)));
        queued.for_each(|queued| queued.hash(&mut hasher));
        hasher.finish()
    }

    /// Returns what is written and not read, for whom.
    fn unsent(&self) -> Unsent {
        let mut texts: BTreeMap<AgentId, String> = BTreeMap::new();
        let mut add = |agent: AgentId, text: &str| {
            let texts = texts.entry(agent).or_default();
            texts.push_str(if texts.is_empty() { "" } else { "\n\n" });
            texts.push_str(text);
        };
        for (agent, queued) in &self.queued {
            for queued in queued {
                add(*agent, &queued.text);
            }
        }
        self.drafts.iter().for_each(|(agent, draft)| add(*agent, &draft.expanded()));
        if !self.composer.is_empty() {
            add(self.target.unwrap_or(AgentId::MAIN), &self.composer.expanded());
        }
        Unsent(texts)
    }

    /// Puts what was written before to where it was written.
    pub(in crate::app) fn restore(&mut self, unsent: &Unsent) {
        for (agent, text) in &unsent.0 {
            if agent.is_main() {
                self.composer.set_text(text);
            } else {
                self.drafts.insert(*agent, Draft::of(text));
            }
        }
    }

    /// Changes the one text that this stands in, whoever it is for.
    pub(super) fn end_attaching(&mut self, label: &str, change: impl Fn(&mut Draft)) {
        let draft = self.composer.drafts_mut().into_iter().chain(self.drafts.values_mut());
        if let Some(draft) = draft.into_iter().find(|draft| draft.editor.text().contains(label)) {
            change(draft);
        }
    }

    /// Returns `true` if something is being written for a subagent.
    pub(in crate::app) fn has_draft(&self, id: AgentId) -> bool {
        if self.target == Some(id) {
            return !self.composer.is_empty();
        }
        self.drafts.contains_key(&id)
    }

    /// Takes back the newest unread message to the composer's target, to be edited.
    pub(in crate::app) fn unsend(&mut self, out: &mut Outbox) -> bool {
        if !self.composer.is_empty() {
            return false;
        }
        let of = self.target.unwrap_or(AgentId::MAIN);
        let Some(queued) = self.queued.get_mut(&of).and_then(Vec::pop) else { return false };
        self.queued.retain(|_, queue| !queue.is_empty());
        out.send(match self.target {
            Some(agent) => Command::Untell { agent, id: queued.id },
            None => Command::Unsend { id: queued.id },
        });
        self.composer.set_text(&queued.text);
        self.taken = Some(queued);
        true
    }

    /// An agent has read a message. One that was to be taken back is taken out of what is being written.
    pub(in crate::app) fn mark_read(&mut self, agent: AgentId, id: MessageId, agents: &Agents, out: &mut Outbox) {
        if let Some(queue) = self.queued.get_mut(&agent) {
            queue.retain(|queued| queued.id != id);
            self.queued.retain(|_, queue| !queue.is_empty());
        }
        let Some(taken) = self.taken.take_if(|taken| taken.id == id) else { return };
        if self.target.unwrap_or(AgentId::MAIN) == agent && self.composer.expanded() == taken.text {
            self.composer.clear();
        }
        let child = agents.get(agent).filter(|agent| !agent.id.is_main());
        let name = child.map_or("the main agent", |agent| &agent.name);
        out.warn(format!("{name} has already read it"));
    }

    /// Puts what a subagent did not read back to where it was written. Returns `true` if there was anything.
    pub(in crate::app) fn give_back(&mut self, id: AgentId) -> bool {
        let unread = self.queued.remove(&id).unwrap_or_default();
        if unread.is_empty() {
            return false;
        }
        let is_target = self.target == Some(id);
        let written = if is_target {
            Some(self.composer.expanded()).filter(|text| !text.is_empty())
        } else {
            self.drafts.remove(&id).map(|draft| draft.expanded())
        };
        let text = unread.into_iter().map(|queued| queued.text).chain(written).collect::<Vec<_>>().join("\n\n");
        if is_target {
            self.composer.set_text(&text);
        } else {
            self.drafts.insert(id, Draft::of(&text));
        }
        true
    }

    /// A subagent has ended: what it did not read comes back, and the composer leaves it unless something is written.
    pub(in crate::app) fn target_ended(&mut self, id: AgentId, agents: &Agents, out: &mut Outbox) {
        let came_back = self.give_back(id);
        let Some(name) = agents.get(id).map(|agent| &agent.name) else { return };
        if self.target != Some(id) {
            if came_back {
                out.warn(format!("{name} ended before it read your message; press m on its pane to see it"));
            }
        } else if self.composer.is_empty() {
            self.set_target(None);
            out.inform(format!("{name} has ended; you are writing to the main agent again"));
        } else {
            out.warn(format!("{name} ended before it read this; enter resumes it with this message"));
        }
    }
}

/// Returns whom a text is for, by an `@3` or `@explore-1` at its very start. `@agent-` names a kind of agent, never one
/// that runs.
pub(in crate::app) fn address(text: &str, agents: &Agents) -> Address {
    let Some(rest) = text.strip_prefix('@') else { return Address::None };
    let word = rest.split(char::is_whitespace).next().unwrap_or_default();
    let said = || rest[word.len()..].trim().to_owned();
    if !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) {
        let numbered = agents.children().find(|agent| word.parse() == Ok(agent.id.0));
        return match numbered {
            Some(agent) => Address::Agent(agent.id, said()),
            None if agents.is_empty() => Address::None,
            None => Address::Unknown(word.to_owned()),
        };
    }
    let named = agents.children().find(|agent| addressee(agent).is_called(word));
    named.map_or(Address::None, |agent| Address::Agent(agent.id, said()))
}

/// Returns the subagents that a message can be addressed to: first those at work, then those that it would resume.
fn addressees(agents: &Agents) -> Vec<Addressee> {
    let ended = agents.children().filter(|agent| agent.has_ended());
    agents.running().chain(ended).map(addressee).collect()
}

fn addressee(agent: &AgentView) -> Addressee {
    Addressee::new(agent.id, &agent.name, &agent.description, &agent.agent_type, agent.color.clone())
}
