//! What an agent is told of its commands that go on by themselves, and what everyone else sees of them.
//!
//! Owns the words of these messages. Leaves the commands to `tool`. Invariants: what a command has printed is data, and
//! reaches a model with secrets and tags of speakers taken from it; an agent is told of an end it has not brought about
//! itself, once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::{Agent, EventKind, Inbox, InboxMessage, Sink, Urgency};
use crate::message::format::counted;
use crate::message::{AgentId, sanitize_line, without_speakers};
use crate::session::Secrets;
use crate::tool::{BackgroundCommands, CommandEvent, CommandHost, CommandListener, EndedBy, bound_text};

/// Characters of a command line in a message.
const LINE_CHARS: usize = 200;
/// Characters of the output of a command of the user's own that the model reads.
const USER_OUTPUT_CHARS: usize = 16_000;

/// Tells an agent and everyone who listens what happens to commands.
pub struct CommandReporter {
    agent: AgentId,
    sink: Sink,
    inbox: Inbox,
    secrets: Secrets,
    /// The command lines of those that run; of those of the user, also what they printed.
    running: Mutex<HashMap<String, Known>>,
}

struct Known {
    line: String,
    by_user: bool,
    output: String,
}

impl CommandReporter {
    /// Returns where commands of an agent are left.
    #[must_use]
    pub fn host(
        commands: BackgroundCommands,
        agent: AgentId,
        (sink, inbox, secrets): (Sink, Inbox, Secrets),
    ) -> CommandHost {
        let listener = Self { agent, sink, inbox, secrets, running: Mutex::default() };
        CommandHost { commands, owner: agent, listener: Arc::new(listener) }
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, Known>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the agent is told of an event, if anything.
    fn message(&self, event: &CommandEvent) -> Option<InboxMessage> {
        match event {
            CommandEvent::Started { command_id, command, by_user } => {
                let known = Known { line: command.clone(), by_user: *by_user, output: String::new() };
                self.running().insert(command_id.clone(), known);
                None
            }
            CommandEvent::Output { command_id, text } => {
                if let Some(known) = self.running().get_mut(command_id).filter(|known| known.by_user) {
                    known.output.push_str(text);
                    let bounded = bound_text(&known.output, USER_OUTPUT_CHARS).into_owned();
                    known.output = bounded;
                }
                None
            }
            CommandEvent::Matched { command_id, line } => {
                let command = self.running().get(command_id).map(|known| known.line.clone()).unwrap_or_default();
                let text = format!(
                    "{command_id} has printed the line that you wait for: {}\nIt runs `{}`.",
                    self.data(line),
                    self.data(&sanitize_line(&short(&command)))
                );
                Some(message(&text, Urgency::NextStep))
            }
            CommandEvent::Ended { command_id, how, ended_by, tail, lines, .. } => {
                let known = self.running().remove(command_id)?;
                if known.by_user {
                    return Some(message(&self.of_user(&known, how), Urgency::Later));
                }
                let (words, urgency) = match ended_by {
                    EndedBy::Itself => (format!("has ended: {how}"), Urgency::NextStep),
                    // How it ended may tell more than that.
                    EndedBy::User => {
                        let more = self.data(how.strip_prefix("stopped").unwrap_or_default());
                        (format!("was stopped by the user{more}"), Urgency::Later)
                    }
                    // It knows, or nobody is left to tell.
                    EndedBy::Agent | EndedBy::Owner => return None,
                };
                let command = self.data(&sanitize_line(&short(&known.line)));
                let last =
                    tail.lines().last().map_or_else(String::new, |last| format!("; the last one: {}", self.data(last)));
                let text = format!(
                    "{command_id} {words}.\nIt ran `{command}` and printed {}{last}\nTaskOutput returns what you have not \
                     read.",
                    counted(*lines, "line")
                );
                Some(message(&text, urgency))
            }
        }
    }

    /// Returns what the model reads of a command of the user's own.
    fn of_user(&self, known: &Known, how: &str) -> String {
        let output = known.output.trim_end();
        let output = if output.is_empty() { "(no output)" } else { output };
        format!(
            "The user ran `{}` ({how}); it needs no answer.\n<user-command>\n{}\n</user-command>",
            self.data(&sanitize_line(&short(&known.line))),
            self.data(output)
        )
    }

    /// Makes what a command has printed fit for a model.
    fn data(&self, text: &str) -> String {
        let safe = without_speakers(&self.secrets.redact(text)).into_owned();
        safe.replace("</user-command", "&lt;/user-command")
    }
}

fn message(text: &str, urgency: Urgency) -> InboxMessage {
    InboxMessage { urgency, ..InboxMessage::of_program(text) }
}

fn short(line: &str) -> String {
    line.chars().take(LINE_CHARS).collect()
}

impl CommandListener for CommandReporter {
    fn on_command(&self, event: CommandEvent) -> BoxFuture<'_, ()> {
        async move {
            let message = self.message(&event);
            if matches!(event, CommandEvent::Started { .. } | CommandEvent::Ended { .. }) {
                self.sink.emit_unhindered(self.agent, EventKind::Command(event)).await;
            } else {
                self.sink.emit(self.agent, EventKind::Command(event)).await;
            }
            if let Some(message) = message {
                // An agent that has said its last word needs to know nothing more.
                let _ = self.inbox.push(message);
            }
        }
        .boxed()
    }
}

impl Agent {
    /// Returns where its commands are left that go on by themselves.
    pub(super) fn command_host(&self) -> CommandHost {
        let told = (self.sink.clone(), self.inbox.clone(), self.secrets.clone());
        CommandReporter::host(self.commands.clone(), self.id, told)
    }
}
