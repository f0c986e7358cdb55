//! Messages of the user that are being made ready: what they name is read, beside the conversation.
//!
//! Owns their order. Leaves what is read to `pictures` and `servers`. Invariants: the conversation obeys other commands
//! meanwhile; messages to one agent arrive in the order in which they were sent; what is taken back, or was sent before
//! everything was stopped, arrives no more.

use std::future::Future;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::message::{AgentId, MessageId, UserText, mentions};
use crate::subagent::Command;
use crate::subagent::main_agent::MainAgentDefinition;
use crate::subagent::servers::mention::MentionReach;
use crate::subagent::tree::Tree;

/// A command with all that its message names.
pub(super) struct Prepared {
    pub(super) command: Command,
    /// What an agent at work reads beside the message.
    pub(super) beside: Vec<String>,
}

impl From<Command> for Prepared {
    fn from(command: Command) -> Self {
        Self { command, beside: Vec::new() }
    }
}

#[derive(Default)]
pub(super) struct Preparing {
    /// In the order in which they were sent.
    messages: Vec<Message>,
    tasks: JoinSet<(u64, Prepared)>,
    last: u64,
}

struct Message {
    number: u64,
    /// Whom it is for; `None` is an agent that is still to be started.
    recipient: Option<AgentId>,
    id: Option<MessageId>,
    stop: CancellationToken,
    ready: Option<Prepared>,
}

/// Returns whom a message is for, its number and its text.
fn message_of(command: &Command) -> Option<(Option<AgentId>, Option<MessageId>, &UserText)> {
    match command {
        Command::Send { id, text } => Some((Some(AgentId::MAIN), Some(*id), text)),
        Command::Message { agent, id, text } | Command::Resume { agent, message: Some((id, text)) } => {
            Some((Some(*agent), Some(*id), text))
        }
        Command::HandOff { task } => Some((None, None, task)),
        _ => None,
    }
}

impl Preparing {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Takes a command in, and returns it if it can be obeyed at once.
    pub(super) fn take_in<F>(
        &mut self,
        command: Command,
        prepare: impl FnOnce(Command, CancellationToken) -> F,
    ) -> Option<Command>
    where
        F: Future<Output = Prepared> + Send + 'static,
    {
        match &command {
            Command::Unsend { id } if self.take_back(AgentId::MAIN, *id) => return None,
            Command::Untell { agent, id } if self.take_back(*agent, *id) => return None,
            Command::StopAll | Command::Clear => self.stop_all(),
            _ => {}
        }
        let Some((recipient, id, said)) = message_of(&command) else { return Some(command) };
        let follows = recipient.is_some() && self.messages.iter().any(|message| message.recipient == recipient);
        if !follows && mentions(&said.text).next().is_none() {
            return Some(command);
        }
        self.last += 1;
        let (number, stop) = (self.last, CancellationToken::new());
        self.messages.push(Message { number, recipient, id, stop: stop.clone(), ready: None });
        let work = prepare(command, stop);
        self.tasks.spawn(async move { (number, work.await) });
        None
    }

    /// Takes a message back. Returns `true` if it was here.
    fn take_back(&mut self, recipient: AgentId, id: MessageId) -> bool {
        let is_it = |message: &Message| message.recipient == Some(recipient) && message.id == Some(id);
        let Some(at) = self.messages.iter().position(is_it) else { return false };
        self.messages.remove(at).stop.cancel();
        true
    }

    pub(super) fn stop_all(&mut self) {
        self.messages.drain(..).for_each(|message| message.stop.cancel());
        self.tasks.abort_all();
    }

    /// Returns the next message that is ready and follows no other one to its recipient; waits for ever if there is none.
    pub(super) async fn next(&mut self) -> Prepared {
        loop {
            let first = |at: usize| {
                let recipient = self.messages[at].recipient;
                recipient.is_none() || self.messages[..at].iter().all(|before| before.recipient != recipient)
            };
            let ready = (0..self.messages.len()).find(|at| self.messages[*at].ready.is_some() && first(*at));
            if let Some(prepared) = ready.and_then(|at| self.messages.remove(at).ready) {
                return prepared;
            }
            match self.tasks.join_next().await {
                Some(Ok((number, prepared))) => {
                    if let Some(message) = self.messages.iter_mut().find(|message| message.number == number) {
                        message.ready = Some(prepared);
                    }
                }
                // Stopped.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }
}

impl Tree {
    /// Reads what the message of a command names: pictures and, where the model does not read it beside its first request
    /// anyway, what is at servers.
    pub(super) async fn prepared(
        self,
        command: Command,
        main: MainAgentDefinition,
        stop: CancellationToken,
    ) -> Prepared {
        match command {
            Command::Send { id, text } => Command::Send { id, text: self.with_pictures(text, &stop).await }.into(),
            Command::Message { agent, id, text } => {
                let text = self.with_pictures(text, &stop).await;
                let beside = self.server_texts(self.mention_reach(agent), &text, &stop).await;
                Prepared { command: Command::Message { agent, id, text }, beside }
            }
            Command::Resume { agent, message: Some((id, text)) } => {
                let text = self.with_everything(text, self.mention_reach(agent), &stop).await;
                Command::Resume { agent, message: Some((id, text)) }.into()
            }
            Command::HandOff { task } => {
                let reach = self.main_capabilities(&main, None).ok().map(|own| own.mention_reach());
                Command::HandOff { task: self.with_everything(task, reach, &stop).await }.into()
            }
            other => other.into(),
        }
    }

    /// Returns a message with which an agent begins, and behind it what it names.
    async fn with_everything(&self, said: UserText, reach: Option<MentionReach>, stop: &CancellationToken) -> UserText {
        let said = self.with_pictures(said, stop).await;
        let texts = self.server_texts(reach, &said, stop).await;
        let text =
            [said.text.as_str()].into_iter().chain(texts.iter().map(String::as_str)).collect::<Vec<_>>().join("\n\n");
        said.with_text(text)
    }
}
