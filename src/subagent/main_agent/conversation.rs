//! The main agent's conversation with the user: one message answered after the other, commands obeyed meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::agent::{AtEnd, Cancel, EventKind, InboxMessage, Limits, Outcome, RunMode, SessionEvent, Status, StopCause};
use crate::definition::AgentDefinition;
use crate::memory::GivenMemory;
use crate::message::{AgentId, MessageId, Transcript, UserText};
use crate::subagent::main_agent::answer::{Answered, Answering, CompactRequest, Task};
use crate::subagent::main_agent::connection::{Connecting, Reconnect};
use crate::subagent::main_agent::facts::MainAgentFacts;
use crate::subagent::main_agent::hooks::{IdleClock, SessionHooks, end_session};
use crate::subagent::main_agent::preparing::{Prepared, Preparing};
use crate::subagent::main_agent::rewind::{Checkpoint, beginning};
use crate::subagent::main_agent::running::{Finished, Running, Then, finished};
use crate::subagent::main_agent::{MainAgent, MainAgentDefinition};
use crate::subagent::registry::approvals::ApprovalQueue;
use crate::subagent::spawn::GO_ON;
use crate::subagent::tools::offer::Offers;
use crate::subagent::tree::Tree;
use crate::subagent::{Children, Command, RewindRequest};
use crate::tool::{EndedBy, Freshness};

/// The name of the main agent in what other agents read.
const MAIN: &str = "main";
/// How long agents may take to end when the program quits.
const QUIT_GRACE: Duration = Duration::from_secs(5);

pub struct Conversation {
    tree: Tree,
    approvals: ApprovalQueue,
    connecting: Connecting,
    reconnect: Option<Reconnect>,
    limits: Limits,
    definition: MainAgentDefinition,
    freshness: Arc<Freshness>,
    memory: GivenMemory,
    hooks: SessionHooks,
    offers: Arc<Offers>,
    at_end: AtEnd,
    transcript: Transcript,
    /// What it was before each message of the user.
    checkpoints: Vec<Checkpoint>,
    waiting: VecDeque<(MessageId, UserText)>,
    /// Messages of which what they name is still being read.
    preparing: Preparing,
    /// It is to be compacted before the next answer.
    compacting: Option<CompactRequest>,
    running: Option<Running>,
    /// Agents being drafted for the user; they go with the conversation.
    drafts: JoinSet<()>,
    /// Worktrees being merged or discarded.
    harvests: JoinSet<()>,
    /// Subagents of an earlier run of the program that are made ready to go on.
    resumes: JoinSet<()>,
}

impl Conversation {
    /// Returns a conversation in which nothing was said yet.
    #[must_use]
    pub fn new(tree: Tree, approvals: ApprovalQueue, connecting: Connecting, limits: Limits) -> Self {
        Self {
            freshness: tree.freshness(MAIN),
            memory: tree.memory_for(None, None),
            hooks: SessionHooks::default(),
            offers: Arc::default(),
            tree,
            approvals,
            connecting,
            reconnect: None,
            limits,
            definition: None,
            at_end: AtEnd::Leave,
            transcript: Transcript::default(),
            checkpoints: Vec::new(),
            waiting: VecDeque::new(),
            preparing: Preparing::default(),
            compacting: None,
            running: None,
            drafts: JoinSet::new(),
            harvests: JoinSet::new(),
            resumes: JoinSet::new(),
        }
    }

    /// Returns the same conversation with a main agent that works as this definition. The limits that were named stay.
    #[must_use]
    pub fn working_as(mut self, definition: Arc<AgentDefinition>) -> Self {
        self.limits.max_turns = self.limits.max_turns.or(definition.max_turns);
        self.limits.wall_timeout = self.limits.wall_timeout.or(definition.max_time);
        self.limits.context_window = definition.auto_compact_window;
        self.memory = self.tree.memory_for(Some(&definition), None);
        self.definition = Some(definition);
        self
    }

    /// Returns the same conversation, in which the user can name another model.
    #[must_use]
    pub fn reconnecting_by(mut self, reconnect: Reconnect) -> Self {
        self.reconnect = Some(reconnect);
        self
    }

    /// Returns the same conversation with a main agent that waits for the reports of all its subagents before it ends.
    #[must_use]
    pub fn waiting_for_reports(mut self) -> Self {
        self.at_end = AtEnd::WaitForReports;
        self
    }

    /// Returns the same conversation, in which this was said before.
    #[must_use]
    pub fn continuing(mut self, (transcript, checkpoints): (Transcript, Vec<Checkpoint>)) -> Self {
        (self.transcript, self.checkpoints) = (transcript, checkpoints);
        self
    }

    /// Obeys commands until their senders are gone, then stops what still runs and waits for its end.
    pub async fn drive(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        self.greet();
        self.announce_effort(false);
        let mut idle = IdleClock::of(&self.tree, &self.definition);
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.obey(command).await,
                    None => break,
                },
                ended = finished(&mut self.running) => {
                    self.settle(ended).await;
                }
                prepared = self.preparing.next() => self.carry_out(prepared).await,
                () = reports(&self.tree), if self.running.is_none() => self.answer(None),
                () = idle.passed(), if self.running.is_none() => continue,
            }
            idle.reset();
        }
        self.quit().await;
    }

    /// Runs the hooks at the beginning of the session.
    fn greet(&self) {
        let source = if self.transcript.is_empty() { "startup" } else { "resume" };
        self.hooks.begin(&self.tree, &self.definition, source);
    }

    /// Returns what is known of its main agent.
    pub fn facts(&self) -> MainAgentFacts {
        let (tree, definition, connecting) = (self.tree.clone(), self.definition.clone(), self.connecting.clone());
        MainAgentFacts { tree, definition, connecting }
    }

    /// Starts to answer one message, for a front end that has no other.
    pub async fn begin(&mut self, text: UserText) {
        self.greet();
        let text = self.tree.with_pictures(text, &CancellationToken::new()).await;
        self.say(MessageId::default(), text);
    }

    /// Waits for the answer that was begun and returns what came of it, as it may be shown.
    pub async fn finish(&mut self) -> Outcome {
        let ended = finished(&mut self.running).await;
        self.settle(ended).await.shown(&self.tree.setup().secrets)
    }

    /// Ends the commands that go on by themselves, and waits within bounds until they have.
    pub async fn end_commands(&self) {
        let commands = self.tree.commands();
        commands.stop_all(EndedBy::Owner);
        let _ = timeout(QUIT_GRACE, commands.all_ended()).await;
    }

    /// Returns a handle that stops the answer to the present message.
    pub fn canceller(&self) -> Option<Cancel> {
        self.running.as_ref().map(|running| running.cancel.clone())
    }

    /// Obeys a command, or makes its message ready first.
    async fn obey(&mut self, command: Command) {
        let (tree, definition) = (self.tree.clone(), self.definition.clone());
        let command = self.preparing.take_in(command, |command, stop| tree.prepared(command, definition, stop));
        if let Some(command) = command {
            self.carry_out(command.into()).await;
        }
    }

    async fn carry_out(&mut self, Prepared { command, beside }: Prepared) {
        match command {
            Command::Send { id, text } if self.running.is_some() => self.waiting.push_back((id, text)),
            Command::Send { id, text } => self.say(id, text),
            Command::Unsend { id } => self.waiting.retain(|(waiting, _)| *waiting != id),
            Command::Message { agent, id, text } => {
                self.tree.send_message(agent, InboxMessage::of_user(id, text.text));
                for text in beside {
                    self.tree.send_message(agent, InboxMessage::of_program(&text));
                }
            }
            Command::Untell { agent, id } => self.tree.untell(agent, id),
            Command::Stop { agent } => self.tree.stop(agent, StopCause::User),
            Command::StopAll => {
                self.waiting.clear();
                self.compacting = None;
                self.tree.stop_all(StopCause::User);
                self.tree.commands().stop_all(EndedBy::User);
                self.interrupt(StopCause::User);
            }
            Command::RunForUser { line } => self.tree.run_for_user(&line).await,
            Command::HandOff { task } => self.hand_off(task.text),
            Command::StopCommand { id } => drop(self.tree.commands().stop(&id, EndedBy::User)),
            Command::StopUserCommands => self.tree.commands().stop_of_user(),
            Command::WrapUp { agent } => self.tree.wrap_up(agent),
            Command::Resume { agent, message } => {
                let message = message.map(|(id, said)| (id, said.text));
                if self.tree.is_saved(agent) {
                    self.resume(vec![agent], message);
                } else {
                    self.tree.resume(agent, message).await;
                }
            }
            Command::ResumeAll { agents } if agents.iter().any(|agent| agent.is_main()) => self.go_on(),
            Command::ResumeAll { agents } => self.resume(agents, None),
            Command::Move { agent, run_mode } => self.move_to(agent, run_mode).await,
            Command::Interrupt { children } => {
                match children {
                    Children::Keep => self.tree.release(AgentId::MAIN).await,
                    Children::Stop => self.tree.stop_moved(AgentId::MAIN),
                }
                self.interrupt(StopCause::User);
            }
            Command::Answer { id, answer } => self.approvals.answer(&id, answer),
            Command::SetMode(mode) => self.tree.setup().permissions.set_mode(mode),
            Command::TrustFolder { trusted } => self.tree.trust_folder(trusted).await,
            Command::ChangeSandbox(change) => self.tree.change_sandbox(change).await,
            Command::TestSandbox { what } => self.tree.test_sandbox(what).await,
            Command::SignIn { server } => self.tree.sign_in(&server).await,
            Command::Servers { restart } => self.tree.look_at_servers(restart).await,
            Command::SetBudget(limit) => self.tree.set_budget(limit).await,
            Command::UseModel { agent, name } if agent.is_main() => self.use_model(name),
            Command::UseModel { agent, name } => self.tree.use_model(agent, &name).await,
            Command::SetEffort(effort) => {
                self.tree.setup().effort.choose(effort);
                self.announce_effort(true);
            }
            Command::SetThinkingTokens(tokens) => self.tree.setup().effort.choose_tokens(tokens),
            Command::Forget { grant, holder } => self.tree.setup().permissions.forget(&grant, &holder),
            Command::Draft { wish } => self.spawn(self.tree.clone().draft(self.connecting.clone(), wish)),
            Command::Worktree { branch, act } => {
                while self.harvests.try_join_next().is_some() {}
                self.harvests.spawn(self.tree.clone().harvest(branch, act));
            }
            Command::Clear => self.clear().await,
            Command::Rewind(request) => self.rewind(request).await,
            Command::Compact { wish } if self.running.is_some() => self.compacting = Some(CompactRequest { wish }),
            Command::Compact { wish } => self.begin_task(Task::Compact(CompactRequest { wish })),
        }
    }

    /// Starts what waits for a model, and goes with the conversation.
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        while self.drafts.try_join_next().is_some() {}
        self.drafts.spawn(task);
    }

    /// Says how hard the main agent thinks, once it is known who answers; with `always`, also if nothing says it.
    fn announce_effort(&mut self, always: bool) {
        let (tree, definition) = (self.tree.clone(), self.definition.clone());
        self.spawn(tree.announce_effort(self.connecting.clone(), definition, always));
    }

    /// Hands a message to an agent in the background, once there is a model.
    fn hand_off(&mut self, task: String) {
        let capabilities = self.tree.main_capabilities(&self.definition, None);
        let (connecting, offers) = (self.connecting.clone(), self.offers.clone());
        self.spawn(self.tree.clone().hand_off(connecting, capabilities, offers, task));
    }

    /// Lets the main agent go on where it was interrupted.
    fn go_on(&mut self) {
        if self.running.is_none() && !self.transcript.is_empty() {
            // An inbox that lasts takes everything; it is read before the next request.
            let _ = self.tree.inbox().push(InboxMessage::of_program(GO_ON));
            self.tree.begin_request();
            self.answer(None);
        }
    }

    /// Resumes subagents that may have worked in an earlier run of the program, once there is a model.
    fn resume(&mut self, agents: Vec<AgentId>, message: Option<(MessageId, String)>) {
        while self.resumes.try_join_next().is_some() {}
        let capabilities = self.tree.main_capabilities(&self.definition, None);
        let (connecting, offers) = (self.connecting.clone(), self.offers.clone());
        self.resumes.spawn(self.tree.clone().resume_saved(connecting, capabilities, offers, (agents, message)));
    }

    /// Moves a subagent. A main agent at rest waits for nobody: there is no foreground then.
    async fn move_to(&self, agent: AgentId, run_mode: RunMode) {
        if run_mode == RunMode::Background || self.running.is_some() {
            self.tree.move_to(agent, run_mode).await;
        }
    }

    /// Lets another model answer from the next message on. If it cannot be had, the present one stays.
    fn use_model(&mut self, name: String) {
        let Some(reconnect) = &self.reconnect else { return };
        let (wanted, present) = (reconnect(name), self.connecting.clone());
        let connecting = async move {
            match wanted.await {
                Ok(connection) => Ok(connection),
                Err(_) => present.await,
            }
        };
        self.connecting = connecting.boxed().shared();
        self.announce_effort(false);
    }

    fn interrupt(&self, cause: StopCause) {
        if let Some(running) = &self.running {
            running.cancel.stop(cause);
        }
    }

    async fn clear(&mut self) {
        self.waiting.clear();
        self.compacting = None;
        let stopped = self.tree.stop_all(StopCause::User);
        self.tree.commands().stop_all(EndedBy::User);
        self.interrupt(StopCause::User);
        match &mut self.running {
            // Its last events come first, and belong to the old conversation.
            Some(running) => running.then = Then::Forget(stopped),
            None => self.forget(&stopped).await,
        }
    }

    /// Begins a new conversation. What was allowed for the session stays allowed, and what it stopped can be resumed.
    async fn forget(&mut self, stopped: &[AgentId]) {
        self.tree.forget(stopped);
        self.checkpoints.clear();
        self.begin_at(Transcript::default());
        self.tree.sink().emit_session_unhindered(SessionEvent::Cleared).await;
        self.hooks.begin(&self.tree, &self.definition, "clear");
    }

    /// Goes on with this conversation. What it does not know was neither read nor offered.
    fn begin_at(&mut self, transcript: Transcript) {
        self.transcript = transcript;
        self.freshness = self.tree.freshness(MAIN);
        self.memory = self.tree.memory_for(self.definition.as_deref(), None);
        self.offers = Arc::default();
    }

    /// Takes back messages and files, unless something runs that would go on with them.
    async fn rewind(&mut self, request: RewindRequest) {
        while self.harvests.try_join_next().is_some() {}
        let is_merging = !self.harvests.is_empty();
        let is_waiting = !self.waiting.is_empty() || !self.preparing.is_empty();
        let is_busy = self.running.is_some() || is_waiting || is_merging || self.tree.is_busy();
        let at = if is_busy {
            Err("agents are still running; stop them or wait")
        } else {
            beginning(&request, &self.checkpoints)
        };
        let at = match at {
            Ok(at) => at,
            Err(why) => {
                let text = format!("Nothing was rewound: {why}.");
                return self.tree.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text }).await;
            }
        };
        let rewound = self.tree.put_back(request.files, request.messages).await;
        if let Some(at) = at {
            let Checkpoint { before, next, .. } = self.checkpoints.swap_remove(at);
            self.checkpoints.truncate(at);
            self.tree.disown_from(next);
            self.begin_at(before);
        }
        self.tree.sink().emit_session_unhindered(rewound).await;
    }

    /// Starts to answer a message. The answer's own task emits everything, so that commands are obeyed even while no
    /// listener has room.
    fn say(&mut self, id: MessageId, text: UserText) {
        self.tree.begin_request();
        self.answer(Some((id, text)));
    }

    /// Makes the main agent answer a message of the user, or whatever else has reached it.
    fn answer(&mut self, message: Option<(MessageId, UserText)>) {
        if let Some((_, said)) = &message {
            let next = Some(self.tree.next_agent());
            self.checkpoints.push(Checkpoint { next, ..Checkpoint::new(&said.text, &self.transcript) });
            let text = self.tree.as_read(said, &self.definition, self.transcript.is_empty());
            self.transcript.push_user(text);
        }
        self.begin_task(Task::Answer(message));
    }

    fn begin_task(&mut self, work: Task) {
        let transcript = std::mem::take(&mut self.transcript);
        let cancel = Cancel::default();
        let answer = Answering {
            tree: self.tree.clone(),
            lead: MainAgent {
                definition: self.definition.clone(),
                limits: self.limits.clone(),
                freshness: self.freshness.clone(),
                memory: self.memory.clone(),
                hooks: self.hooks.clone(),
                offers: self.offers.clone(),
                spoken: work.spoken(),
                at_end: self.at_end,
                cancel: cancel.clone(),
            },
        };
        let connecting = self.connecting.clone();
        let task = tokio::spawn(async move { answer.run(connecting, work, transcript).await });
        self.running = Some(Running { cancel, task, then: Then::GoOn });
    }

    /// Takes back the transcript of a finished answer and starts on the next message that waits.
    async fn settle(&mut self, finished: Finished) -> Outcome {
        let Finished { answered: Answered { outcome, transcript, refused }, then } = finished;
        self.transcript = transcript;
        if let Some(why) = refused {
            self.take_back_refused(why).await;
        }
        if outcome.status != Status::Completed {
            // What reached it before that is read with whatever comes next.
            self.tree.inbox().mute();
        }
        if let Then::Forget(stopped) = then {
            self.forget(&stopped).await;
        }
        // Nobody is waited for at rest, whatever it was that ended the answer.
        self.tree.release(AgentId::MAIN).await;
        if let Some(request) = self.compacting.take() {
            self.begin_task(Task::Compact(request));
        } else if let Some((id, text)) = self.waiting.pop_front() {
            self.say(id, text);
        }
        outcome
    }

    /// Takes back the last message, which hooks have kept from being answered.
    async fn take_back_refused(&mut self, why: String) {
        let Some(Checkpoint { before, .. }) = self.checkpoints.pop() else { return };
        self.transcript = before;
        let rewound = SessionEvent::Rewound { messages: 1, files: Vec::new(), left: Vec::new() };
        self.tree.sink().emit_session_unhindered(rewound).await;
        self.tree.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text: why }).await;
    }

    /// Stops everything and waits, within bounds, until nothing runs.
    pub async fn quit(&mut self) {
        self.waiting.clear();
        self.tree.stop_all(StopCause::Quit);
        self.tree.commands().stop_all(EndedBy::Owner);
        self.interrupt(StopCause::Quit);
        let (running, tree, harvests) = (&mut self.running, &self.tree, &mut self.harvests);
        let ended = async {
            // A merge that has begun is carried through.
            while harvests.join_next().await.is_some() {}
            if running.is_some() {
                finished(running).await;
            }
            tree.settled().await;
            tree.commands().all_ended().await;
        };
        let settled = timeout(QUIT_GRACE, ended).await;
        // What is left of these waits for a model that nobody needs any more.
        self.drafts.shutdown().await;
        self.resumes.shutdown().await;
        if settled.is_err()
            && let Some(running) = self.running.take()
        {
            tracing::error!("the main agent did not stop in time");
            running.task.abort();
        }
        let reason = if self.at_end == AtEnd::Leave { "prompt_input_exit" } else { "other" };
        end_session(&self.tree, &self.definition, reason).await;
    }
}

/// Within this time reports that arrive together come as one message.
const TOGETHER: Duration = Duration::from_millis(50);

/// Waits until reports wake the main agent.
async fn reports(tree: &Tree) {
    tree.inbox().woken().await;
    sleep(TOGETHER).await;
}
