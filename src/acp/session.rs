//! One session of a client: its prompts go to the main agent, and what happens comes back as updates.
//!
//! Owns the order of both. Leaves the words to `updates`, `approvals` and `settings`. Invariants: the client is obeyed also
//! while it reads nothing; what happens waits until it reads, so that memory is bounded; at the end every question has been
//! answered with no, and nothing is left running.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::approvals::{ApprovalStep, OpenApprovals};
use super::client::Client;
use super::commands::{self, EditorCommand};
use super::prompt;
use super::schema::{
    AvailableCommandsUpdate, CLIENT_METHOD_NAMES, CancelRequestNotification, CloseSessionResponse, ConfigOptionUpdate,
    ContentBlock, CurrentModeUpdate, Error, PROTOCOL_LEVEL_METHOD_NAMES, PromptResponse, RequestId,
    SessionConfigOption, SessionId, SessionInfoUpdate, SessionNotification, SessionUpdate,
    SetSessionConfigOptionResponse, SetSessionModeResponse, StopReason,
};
use super::settings::{self, EditorChoices};
use super::trusting::Trusting;
use super::turns::{PromptAnswer, Turns};
use super::updates::{Telling, Updates};
use super::wire::{self, invalid};
use crate::agent::{EventKind, LogEvent, SessionEvent, ToolEvent};
use crate::app::INIT;
use crate::definition::skill::SkillCatalog;
use crate::message::UserText;
use crate::message::format::words_of;
use crate::provider::offer::OfferedModel;
use crate::services::SessionHandles;
use crate::session::PictureStore;
use crate::subagent::Command;

/// Characters of a title.
const MAX_TITLE: usize = 80;

/// What a client asks of a session.
pub(super) enum SessionInput {
    Prompt {
        request: RequestId,
        prompt: Vec<ContentBlock>,
    },
    Cancel,
    /// Cancels if this request is one of the session's prompts.
    CancelPrompt {
        request: RequestId,
    },
    SetMode {
        request: RequestId,
        mode: String,
    },
    SetOption {
        request: RequestId,
        option: String,
        value: Option<String>,
    },
    Close {
        request: RequestId,
    },
}

/// A session that has started, for the client to use.
pub(super) struct EditorSession {
    pub(super) id: SessionId,
    pub(super) client: Client,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) choices: EditorChoices,
    pub(super) skills: SkillCatalog,
    pub(super) pictures: PictureStore,
    pub(super) cwd: PathBuf,
    pub(super) updates: Updates,
    pub(super) approvals: OpenApprovals,
    pub(super) trusting: Trusting,
    pub(super) turns: Turns,
    /// Lines that wait until the client reads.
    pub(super) out: VecDeque<String>,
    /// What the services have, once they have answered.
    pub(super) listed: Option<oneshot::Receiver<Vec<OfferedModel>>>,
    pub(super) has_title: bool,
    pub(super) told_commands: Option<AvailableCommandsUpdate>,
    /// The options that were told last.
    pub(super) told_options: Vec<SessionConfigOption>,
}

/// What drives a session, and what is to be finished at its end.
pub(super) struct Driven {
    pub(super) events: mpsc::Receiver<Arc<LogEvent>>,
    pub(super) engine: JoinHandle<()>,
    pub(super) kept: SessionHandles,
}

impl EditorSession {
    /// Serves the client until it closes the session or is gone.
    pub(super) async fn run(mut self, mut inputs: mpsc::Receiver<SessionInput>, mut driven: Driven) {
        self.tell_commands();
        let closing = loop {
            tokio::select! {
                biased;
                input = inputs.recv() => match input {
                    Some(SessionInput::Close { request }) => break Some(request),
                    Some(input) => self.take(input).await,
                    None => break None,
                },
                room = self.client.room(), if !self.out.is_empty() => match (room, self.out.pop_front()) {
                    (Some(room), Some(line)) => drop(room.send(line)),
                    // Nobody reads any more.
                    _ => self.out.clear(),
                },
                answered = self.approvals.answered() => match self.approvals.take(answered, &mut self.updates) {
                    Some(ApprovalStep::Settled(id, answer)) => self.order(Command::Answer { id, answer }),
                    Some(ApprovalStep::Next(line)) => self.out.push_back(line),
                    None => {}
                },
                answer = self.trusting.answered() => self.trust_answered(answer),
                models = listed(&mut self.listed) => if self.choices.set_models(models) {
                    self.tell_options();
                },
                event = driven.events.recv(), if self.out.is_empty() => match event {
                    Some(event) => self.apply(&event),
                    None => break None,
                },
            }
        };
        self.end(driven, closing).await;
    }

    /// Stops what runs, tells of its end, and waits within bounds for both.
    async fn end(mut self, driven: Driven, closing: Option<RequestId>) {
        let Driven { mut events, mut engine, kept } = driven;
        for (id, answer) in self.approvals.refuse_all() {
            self.order(Command::Answer { id, answer });
        }
        // Nobody gives orders any more: the main agent stops, and all below it.
        let (commands, _) = mpsc::unbounded_channel();
        drop(std::mem::replace(&mut self.commands, commands));
        let mut runs = true;
        while runs {
            tokio::select! {
                biased;
                room = self.client.room(), if !self.out.is_empty() => match (room, self.out.pop_front()) {
                    (Some(room), Some(line)) => drop(room.send(line)),
                    _ => self.out.clear(),
                },
                Some(event) = events.recv() => self.apply(&event),
                _ = &mut engine => runs = false,
            }
        }
        while let Ok(event) = events.try_recv() {
            self.apply(&event);
        }
        let answers = self.turns.end();
        self.answer_prompts(answers);
        self.give_up_trusting();
        for line in std::mem::take(&mut self.out) {
            self.client.send(line).await;
        }
        drop(events);
        if let Some(words) = kept.finish().await {
            tracing::warn!(%words, "a session is not kept whole");
        }
        if let Some(request) = closing {
            let line = self.client.answer(&request, Ok(CloseSessionResponse::new()));
            self.client.send(line).await;
        }
    }

    /// Tells what was said and done before. It is not sent yet.
    pub(super) fn tell_again(&mut self, events: &[Arc<LogEvent>]) {
        let cleared = |event: &Arc<LogEvent>| matches!(event.of_session(), Some(SessionEvent::Cleared));
        let from = events.iter().rposition(cleared).map_or(0, |at| at + 1);
        self.updates.telling(Telling::Again);
        for event in &events[from..] {
            let told = self.updates.apply(event);
            self.tell(told);
        }
        self.updates.telling(Telling::Now);
        self.has_title = true;
    }

    /// Takes in what happens.
    pub(super) fn apply(&mut self, event: &LogEvent) {
        let told = self.updates.apply(event);
        self.tell(told);
        self.trusting.apply(event);
        if self.choices.apply(event) {
            self.tell_options();
        }
        match event {
            LogEvent::Agent(event) => match &event.kind {
                EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                    let line = self.approvals.ask(request.clone(), &mut self.updates);
                    self.out.push_back(line);
                }
                EventKind::Tool(ToolEvent::ApprovalResolved { id, .. }) => {
                    if let Some(asked) = self.approvals.resolved(id) {
                        self.withdraw(asked);
                    }
                }
                _ if event.agent.is_main() => {
                    let answer = self.turns.apply(event, self.updates.used_by_all(), self.choices.no_model.as_deref());
                    self.answer_prompts(answer);
                }
                _ => {}
            },
            LogEvent::Session { event, .. } => match event {
                SessionEvent::ModeChanged { mode } => {
                    self.tell([SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode.id()))]);
                }
                SessionEvent::SkillsChanged { .. } | SessionEvent::FolderTrust { .. } => self.tell_commands(),
                _ => {}
            },
        }
    }

    pub(super) fn answer<T: Serialize>(&mut self, request: &RequestId, result: Result<T, Error>) {
        let line = self.client.answer(request, result);
        self.out.push_back(line);
    }

    fn answer_prompts(&mut self, answers: impl IntoIterator<Item = PromptAnswer>) {
        for (request, result) in answers {
            self.answer(&request, result);
        }
    }

    fn tell(&mut self, updates: impl IntoIterator<Item = SessionUpdate>) {
        for update in updates {
            let told = SessionNotification::new(self.id.clone(), update);
            self.out.push_back(wire::notification(CLIENT_METHOD_NAMES.session_update, &told));
        }
    }

    /// Tells what can be chosen, if it is not what was told last.
    fn tell_options(&mut self) {
        let options = self.choices.options();
        if self.told_options != options {
            self.told_options.clone_from(&options);
            self.tell([SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))]);
        }
    }

    /// Lists the commands, if they are not what was told last.
    fn tell_commands(&mut self) {
        let commands = commands::available(&self.skills);
        if self.told_commands.as_ref() != Some(&commands) {
            self.told_commands = Some(commands.clone());
            self.tell([SessionUpdate::AvailableCommandsUpdate(commands)]);
        }
    }

    /// Tells the client that a request of ours needs no answer any more.
    fn withdraw(&mut self, asked: RequestId) {
        let method = PROTOCOL_LEVEL_METHOD_NAMES.cancel_request;
        self.out.push_back(wire::notification(method, CancelRequestNotification::new(asked)));
    }

    fn order(&self, command: Command) {
        // It fails only if the engine is gone, which ends the events too.
        let _ = self.commands.send(command);
    }

    async fn take(&mut self, input: SessionInput) {
        match input {
            SessionInput::Prompt { request, prompt } => self.prompt(request, prompt).await,
            SessionInput::CancelPrompt { request } if !self.turns.has(&request) => {}
            SessionInput::Cancel | SessionInput::CancelPrompt { .. } => {
                let dropped = self.turns.cancel();
                self.answer_prompts(dropped);
                self.give_up_trusting();
                self.order(Command::StopAll);
            }
            SessionInput::SetMode { request, mode } => {
                let set = self.set_mode(&mode).map(|()| SetSessionModeResponse::new());
                let is_new = set.is_ok();
                self.answer(&request, set);
                if is_new {
                    self.tell_options();
                }
            }
            SessionInput::SetOption { request, option, value } => {
                let set = self.set_option(&option, value.as_deref());
                self.told_options = self.choices.options();
                let set = set.map(|()| SetSessionConfigOptionResponse::new(self.told_options.clone()));
                self.answer(&request, set);
            }
            // The loop ends with it.
            SessionInput::Close { .. } => {}
        }
    }

    fn set_mode(&mut self, name: &str) -> Result<(), Error> {
        let mode = self.choices.mode_named(name).ok_or_else(|| {
            invalid("no such mode here; bypassPermissions needs a start with --permission-mode bypassPermissions")
        })?;
        self.choices.mode = mode;
        self.order(Command::SetMode(mode));
        Ok(())
    }

    fn set_option(&mut self, option: &str, value: Option<&str>) -> Result<(), Error> {
        let value = value.ok_or_else(|| invalid("the value is the id of one of its values"))?;
        match option {
            settings::MODE => {
                self.set_mode(value)?;
                self.tell([SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(value.to_owned()))]);
                Ok(())
            }
            settings::MODEL if self.choices.has_model(value) => {
                if let Some(name) = self.choices.choose(value) {
                    self.order(Command::UseModel { agent: crate::message::AgentId::MAIN, name });
                }
                Ok(())
            }
            settings::MODEL => Err(invalid("no such model here")),
            _ => Err(invalid("no such option; there are `mode` and `model`")),
        }
    }

    async fn prompt(&mut self, request: RequestId, prompt: Vec<ContentBlock>) {
        if self.turns.is_full() {
            return self.answer::<PromptResponse>(&request, Err(invalid("too many prompts wait; cancel or wait")));
        }
        let (cwd, pictures) = (self.cwd.clone(), self.pictures.clone());
        let reading = tokio::task::spawn_blocking(move || prompt::message(prompt, &cwd, &pictures));
        let said = match reading.await.unwrap_or_else(|_| Err(Error::internal_error())) {
            Ok(said) => said,
            Err(error) => return self.answer::<PromptResponse>(&request, Err(error)),
        };
        if !self.has_title {
            self.has_title = true;
            let title = words_of(&crate::message::sanitize_line(&said.text), MAX_TITLE);
            self.tell([SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))]);
        }
        match said.calling().and_then(commands::read) {
            Some(EditorCommand::Compact(_)) if !self.turns.is_empty() => {
                self.answer::<PromptResponse>(&request, Err(invalid("wait for the answer, then compact")));
            }
            Some(EditorCommand::Compact(wish)) => {
                self.turns.push_summary(request, self.updates.used_by_all());
                self.order(Command::Compact { wish });
            }
            Some(EditorCommand::Trust) => self.trust(&request),
            Some(EditorCommand::Init) => self.send(request, INIT.into()),
            None => self.send(request, said),
        }
    }

    fn send(&mut self, request: RequestId, text: UserText) {
        let id = self.turns.next_id();
        self.turns.push(request, id);
        self.order(Command::Send { id, text });
    }

    /// Shows what the folder brings, and asks whether to use it.
    fn trust(&mut self, request: &RequestId) {
        let (client, session) = (self.client.clone(), self.id.clone());
        match self.trusting.ask(request.clone(), (&client, session), &mut self.updates) {
            Ok((update, line)) => {
                self.tell([update]);
                self.out.push_back(line);
            }
            Err(why) => {
                let told = self.updates.notice(&why);
                self.tell([told]);
                self.answer(request, Ok(PromptResponse::new(StopReason::EndTurn)));
            }
        }
    }

    fn give_up_trusting(&mut self) {
        if let Some((request, update, _)) = self.trusting.take(None) {
            self.tell([update]);
            self.answer(&request, Ok(PromptResponse::new(StopReason::Cancelled)));
        }
    }

    fn trust_answered(&mut self, answer: Option<Result<Box<RawValue>, Error>>) {
        let Some((request, update, trusted)) = self.trusting.take(answer) else { return };
        self.tell([update]);
        if let Some(trusted) = trusted {
            self.order(Command::TrustFolder { trusted });
        }
        self.answer(&request, Ok(PromptResponse::new(StopReason::EndTurn)));
    }
}

/// Waits for the models that the services list; waits for ever if nobody was asked.
async fn listed(listed: &mut Option<oneshot::Receiver<Vec<OfferedModel>>>) -> Vec<OfferedModel> {
    match listed {
        Some(answer) => {
            let models = answer.await;
            *listed = None;
            models.unwrap_or_default()
        }
        None => std::future::pending().await,
    }
}
