//! The driver of the loop: turns, limits, stops, and the outcome.

mod fallback;
mod hooks;
mod judge;
mod memory;
mod refused;
mod reply;
mod request;
mod room;
mod skills;
mod tools;
mod tries;
mod words;

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{FusedFuture as _, join3};

use self::fallback::may_be_mended;
pub(super) use self::judge::doubt;
use self::refused::RefusedParts;
pub(super) use self::request::{MAX_PICTURES, fitting};
use self::room::RoomState;
pub(super) use self::words::{early_status, last_turn_words, stop_words};
use self::words::{limit_words, shorter};
use super::budget::{BudgetReservation, Reserved};
use super::dispatch::refuse;
use super::inbox::{IdleState, InboxMessage};
use super::repetition::Repetition;
use super::run::Run;
use super::step::{Step, Tries};
use super::stream::{Deltas, ModelCall, ModelReply, reply};
use super::text_calls::is_call;
use super::turn::Turn;
use super::watchdog::watch;
use super::{Agent, Cancel, EventKind, FileTally, LastWords, Outcome, Status, StopCause, TurnEvent};
use crate::message::format::millis;
use crate::message::{Message, ToolCall, Transcript, Usage};
use crate::provider::{ErrorKind, Model, Request, StopReason};
use crate::tool::ToolSet;

/// Runs an agent on a transcript that ends in what it has to answer, until it has answered or must stop.
///
/// Emits everything through the agent's sink; the last event is `Ended`, and by then nothing of the run is left
/// running. The returned transcript is valid whatever happened.
pub async fn run(agent: &Agent, transcript: Transcript) -> (Outcome, Transcript) {
    carry_out(Job::Answer, agent, transcript).await
}

/// Puts a summary in the place of an agent's conversation, which rests. `wish` says what to keep above all.
///
/// It is a run like any other: watched, stoppable, with `Ended` as its last event. If nothing came of it, the
/// conversation is returned as it was.
pub async fn compact(agent: &Agent, transcript: Transcript, wish: Option<&str>) -> (Outcome, Transcript) {
    carry_out(Job::Compact(wish), agent, transcript).await
}

/// What a run is for.
enum Job<'a> {
    Answer,
    Compact(Option<&'a str>),
}

async fn carry_out(job: Job<'_>, agent: &Agent, transcript: Transcript) -> (Outcome, Transcript) {
    let run = Run::new(agent);
    run.emit(EventKind::Started).await;
    let (outcome, transcript) = if let Some(external) = &agent.external {
        Box::pin(super::external::work(&run, external, transcript)).await
    } else {
        let mut driver = Driver::new(&run, transcript);
        let end = Box::pin(watched(&run, driver.work_on(job), |end| matches!(end, End::Stopped))).await;
        agent.inbox.close();
        super::skill::end_lending(agent);
        driver.conclude(end).await
    };
    if agent.depth > 0 {
        // Nobody else could read what they print. Those of the main agent go on between its answers.
        agent.commands.end_of(agent.id).await;
    }
    run.emit(EventKind::Ended { outcome: outcome.clone() }).await;
    (outcome, transcript)
}

/// Emits a stop when it is asked for: carrying it out may take a tool a while.
async fn emit_stop(run: &Run<'_>) {
    run.agent.cancel.cancelled().await;
    if let Some(cause) = run.agent.cancel.cause() {
        run.emit(EventKind::Stopping { cause }).await;
    }
}

/// Emits that one turn is left when the work is stopped: carrying it out may take a tool a while.
async fn emit_last_turn(run: &Run<'_>) {
    run.agent.work.cancelled().await;
    if run.agent.cancel.cause().is_none()
        && let Some(why) = run.agent.work.cause().map(early_status)
    {
        run.emit_last_turn(why).await;
    }
}

/// Works while the watchdog looks on and stops are emitted. The end of a run that was stopped waits for that.
pub(super) async fn watched<T>(run: &Run<'_>, work: impl Future<Output = T>, was_stopped: impl Fn(&T) -> bool) -> T {
    let mut stopping = pin!(emit_stop(run).fuse());
    let end = {
        let aside = async {
            join3(watch(run), emit_last_turn(run), stopping.as_mut()).await;
            std::future::pending().await
        };
        tokio::select! {
            biased;
            never = aside => never,
            end = work => end,
        }
    };
    if was_stopped(&end) && !stopping.is_terminated() {
        stopping.await;
    }
    end
}

enum End {
    /// The model had nothing more to ask for.
    Answered,
    /// The model wrote its last words early, or could not.
    Limited(Status, LastWords),
    /// Too little of the budget is left for another request.
    Spent,
    Stopped,
    Failed(String),
    /// The service found the conversation too long; the text is its error.
    TooLong(String),
    /// The service refused the request; the text is its error.
    Refused(String),
    /// A summary stands in the place of the conversation, or there was none to make.
    Compacted,
}

struct Driver<'a> {
    run: &'a Run<'a>,
    agent: &'a Agent,
    reservation: BudgetReservation<'a>,
    transcript: Transcript,
    room: RoomState,
    refused: RefusedParts,
    ids: HashSet<String>,
    turns: u32,
    tool_calls: u32,
    /// What the model was asked again for.
    tries: Tries,
    repetition: Repetition,
    /// Cap on the output of the next reply.
    output_tokens: u32,
    usage: Usage,
    cost_usd: Option<f64>,
    files: FileTally,
    /// Text of the replies that belong to the answer: the last one, and those it continues.
    answer: Vec<String>,
    /// The latest text of this run, for one that is cut before it answers.
    last_text: String,
    /// How often in a row hooks have kept it from ending.
    kept_going: u32,
}

impl<'a> Driver<'a> {
    fn new(run: &'a Run<'a>, mut transcript: Transcript) -> Self {
        transcript.interrupt_pending();
        let (agent, ids) = (run.agent, call_ids(&transcript));
        Self {
            run,
            agent,
            reservation: BudgetReservation::take(run, &transcript),
            transcript,
            room: RoomState::default(),
            refused: RefusedParts::default(),
            ids,
            turns: 0,
            tool_calls: 0,
            tries: Tries::default(),
            repetition: Repetition::default(),
            output_tokens: agent.model.max_output_tokens,
            usage: Usage::default(),
            cost_usd: agent.model.price.map(|_| 0.0),
            files: FileTally::default(),
            answer: Vec::new(),
            last_text: String::new(),
            kept_going: 0,
        }
    }

    async fn work_on(&mut self, job: Job<'_>) -> End {
        match job {
            Job::Answer => self.drive().await,
            Job::Compact(wish) => self.compact_all(wish).await,
        }
    }

    async fn drive(&mut self) -> End {
        self.begin_with_hooks().await;
        self.heed_opening().await;
        loop {
            self.read_inbox().await;
            if self.agent.cancel.cause().is_some() {
                return End::Stopped;
            }
            if let Some(limit) = self.limit_reached() {
                return self.last_turn(limit).await;
            }
            let turn = match self.turn(&self.agent.tools, &self.agent.work).await {
                Ok(turn) => turn,
                // Its work was stopped, and a report is still wanted.
                Err(End::Stopped) if self.agent.cancel.cause().is_none() => continue,
                // One that has done nothing has nothing to report.
                Err(End::Spent) if self.turns > 0 => return self.last_turn(Status::Budget).await,
                Err(end) => return end,
            };
            let output_tokens = self.raise_output(&turn);
            match self.next_step(&turn, output_tokens) {
                Step::Tools(calls) => {
                    if let Some(end) = self.run_tools(&turn, &calls, output_tokens).await {
                        return end;
                    }
                }
                Step::Continue(words) => self.ask_on(words).await,
                Step::Again(words) => {
                    self.answer.clear();
                    self.ask_on(words).await;
                }
                Step::Finish => match self.finish().await {
                    Some(end) => return end,
                    None => self.answer.clear(),
                },
                Step::Full => match self.go_on_shorter(&turn).await {
                    Ok(()) => {}
                    Err(End::Stopped) if self.agent.cancel.cause().is_none() => {}
                    Err(end) => return end,
                },
                Step::Fail(reason) => return End::Failed(reason),
            }
        }
    }

    /// Adds what arrived meanwhile to the transcript, after the reports that it has to wait for.
    async fn read_inbox(&mut self) {
        let ready = self.run.watchdog.paused(self.agent.inbox.ready());
        tokio::select! {
            biased;
            () = self.agent.work.cancelled() => {}
            () = ready => {}
        }
        let mut was_spoken_to = false;
        for message in self.agent.inbox.take() {
            was_spoken_to |= self.heed(message).await;
            self.repetition.reset();
        }
        self.read_memory(was_spoken_to).await;
        for text in self.agent.tools.news() {
            self.receive(InboxMessage::of_program(&text)).await;
        }
        self.read_tool_notes().await;
    }

    /// Adds what the model has to know of its tools, unless the transcript holds it: it was not said yet, or a summary has
    /// taken its place.
    async fn read_tool_notes(&mut self) {
        for note in self.agent.tools.notes() {
            let note = InboxMessage::of_program(&self.agent.secrets.redact(&note));
            let said = note.model_text();
            let is_it = |message: &Arc<Message>| matches!(&**message, Message::User { text } if *text == said);
            if !self.transcript.messages().iter().any(is_it) {
                self.receive(note).await;
            }
        }
    }

    async fn receive(&mut self, message: InboxMessage) {
        self.transcript.push_user(message.model_text());
        self.run.emit(EventKind::UserMessage { text: message.text, by: message.by, id: message.id }).await;
    }

    /// Ends, unless hooks or what has arrived meanwhile give it more to do.
    async fn finish(&mut self) -> Option<End> {
        if self.must_go_on().await { None } else { self.rest().await }
    }

    /// Decides what follows when the model has nothing more to ask for: the end, or more to read.
    async fn rest(&mut self) -> Option<End> {
        let agent = self.agent;
        match agent.inbox.close_if_idle(agent.at_end) {
            IdleState::Nothing => return Some(End::Answered),
            IdleState::More => {}
            IdleState::ReportsPending => {
                let arrival = self.run.watchdog.paused(agent.inbox.arrival(agent.at_end));
                tokio::select! {
                    biased;
                    () = agent.work.cancelled() => {}
                    () = arrival => {}
                }
                if agent.work.cause().is_none() && agent.inbox.close_if_idle(agent.at_end) == IdleState::Nothing {
                    return Some(End::Answered);
                }
            }
        }
        None
    }

    fn limit_reached(&self) -> Option<Status> {
        let limits = &self.agent.limits;
        if let Some(cause) = self.agent.work.cause() {
            Some(early_status(cause))
        } else if limits.max_turns.is_some_and(|max| self.turns >= max) {
            Some(Status::TurnLimit)
        } else if limits.max_tool_calls.is_some_and(|max| self.tool_calls >= max) {
            Some(Status::ToolLimit)
        } else {
            None
        }
    }

    /// One turn without tools, so that a run that ends early still reports.
    async fn last_turn(&mut self, limit: Status) -> End {
        self.answer.clear();
        let limit = self.run.emit_last_turn(limit).await;
        self.reservation.begin_last_turn();
        self.receive(InboxMessage::of_program(last_turn_words(limit))).await;
        match self.turn(&ToolSet::default(), &self.agent.cancel).await {
            Ok(turn) => {
                // A model may ask for tools all the same; every call that was emitted needs its end.
                let calls: Vec<ToolCall> = turn.message.tool_calls().cloned().collect();
                self.transcript.push_results(refuse(self.run, &calls, limit).await);
                if is_call(&turn.message.text(), self.agent) {
                    self.answer.clear();
                    self.last_text.clear();
                }
                End::Limited(limit, LastWords::Report)
            }
            Err(End::Failed(reason)) => {
                tracing::warn!(agent = %self.agent.id, %reason, "no report at a limit");
                End::Limited(limit, LastWords::Partial)
            }
            Err(end) => end,
        }
    }

    /// Shortens a conversation that filled the context, so that the model can go on.
    async fn go_on_shorter(&mut self, turn: &Turn) -> Result<(), End> {
        let mut request = self.request(&self.agent.tools).await;
        if self.room.is_second || !self.make_more_room(&mut request, &self.agent.work).await? {
            let advice = shorter(self.agent);
            return Err(End::Failed(format!("The conversation fills the model's context window. {advice}")));
        }
        if !turn.message.is_empty() {
            self.receive(InboxMessage::of_program(words::FULL)).await;
        }
        Ok(())
    }

    async fn send(&mut self, mut request: Request, stop: &Cancel) -> Result<Turn, End> {
        match self.reservation.reserve(&mut request, stop).await {
            Reserved::Granted => {}
            Reserved::Refused => return Err(End::Spent),
            Reserved::Stopped => return Err(End::Stopped),
        }
        self.turns += 1;
        self.run.emit(TurnEvent::Started { turn: self.turns }).await;
        let gives_way = !self.agent.fallbacks.is_empty();
        let call =
            ModelCall { provider: &*self.agent.provider, request: request.clone(), deltas: Deltas::Shown, gives_way };
        match reply(self.run, call, &mut self.ids, &mut self.reservation, stop).await {
            ModelReply::Whole(turn) => {
                self.room.note_answered(self.reservation.asked());
                self.room.is_second &= turn.stop == Some(StopReason::ContextWindow);
                self.record(&turn).await;
                Ok(turn)
            }
            ModelReply::Cut(turn) => {
                self.record(&turn).await;
                Err(End::Stopped)
            }
            ModelReply::Failed(error, turn) if gives_way && may_be_mended(&error) => {
                self.fall_back((error, turn), request, stop).await
            }
            ModelReply::Failed(error, turn) => {
                self.record(&turn).await;
                Err(match error.kind {
                    ErrorKind::ContextTooLong => End::TooLong(error.to_string()),
                    ErrorKind::BadRequest => End::Refused(error.to_string()),
                    _ => End::Failed(error.to_string()),
                })
            }
            ModelReply::Spent(turn) => {
                self.record(&turn).await;
                Err(End::Spent)
            }
        }
    }

    /// Counts a reply, adds it to the transcript and emits it.
    async fn record(&mut self, turn: &Turn) {
        self.transcript.push_assistant(turn.message.clone());
        self.notice_cut(&turn.usage).await;
        let usage = self.reservation.settle(self.transcript.messages(), turn.usage).await;
        self.transcript.set_counted(self.reservation.counted());
        self.tell(turn, usage, &self.agent.model, turn.latency.map(millis)).await;
    }

    /// The same of a reply of another model, whose use is booked already.
    async fn keep(&mut self, turn: &Turn, usage: Usage, model: &Model) {
        self.transcript.push_assistant(turn.message.clone());
        self.tell(turn, usage, model, None).await;
    }

    async fn tell(&mut self, turn: &Turn, usage: Usage, model: &Model, latency_ms: Option<u64>) {
        let text = turn.message.text();
        if !text.is_empty() {
            self.last_text.clone_from(&text);
            self.answer.push(text);
        }
        let cost_usd = model.price.map(|price| price.cost(&usage));
        self.add_used(usage, cost_usd);
        let (message, stop) = (turn.message.clone(), turn.stop.clone());
        let kind = TurnEvent::Ended { message, usage, cost_usd, stop, latency_ms };
        self.run.emit(kind).await;
    }

    /// Counts what requests beside the turns have used.
    fn count_asides(&mut self) {
        for (usage, cost_usd) in self.run.take_asides() {
            self.add_used(usage, cost_usd);
        }
    }

    fn add_used(&mut self, usage: Usage, cost_usd: Option<f64>) {
        self.usage += usage;
        if let (Some(total), Some(cost)) = (&mut self.cost_usd, cost_usd) {
            *total += cost;
        }
    }

    async fn conclude(mut self, end: End) -> (Outcome, Transcript) {
        let answer = self.answer.join("");
        let text = if answer.is_empty() { std::mem::take(&mut self.last_text) } else { answer.clone() };
        let (doubt, judged) = doubt(self.run, &self.files, &text).await;
        if let Some((used, model)) = judged {
            self.count_aside(used, &model);
        }
        self.count_asides();
        self.transcript.interrupt_pending();
        let (status, words, reason) = match end {
            End::Answered if answer.trim().is_empty() => {
                (Status::Empty, LastWords::Report, Some("The model ended without an answer.".to_owned()))
            }
            End::Answered | End::Compacted => (Status::Completed, LastWords::Report, None),
            End::Limited(status, _) if answer.trim().is_empty() => {
                (status, LastWords::Partial, Some(limit_words(self.agent, &self.reservation, status)))
            }
            End::Limited(status, words) => (status, words, Some(limit_words(self.agent, &self.reservation, status))),
            End::Spent => (Status::Budget, LastWords::Partial, Some(self.reservation.refusal())),
            End::Stopped => {
                let (status, reason) = stop_words(self.agent.cancel.cause().unwrap_or(StopCause::User), self.agent);
                (status, LastWords::Partial, Some(reason))
            }
            End::Failed(reason) | End::TooLong(reason) | End::Refused(reason) => {
                (Status::Failed, LastWords::Partial, Some(reason))
            }
        };
        let outcome = Outcome {
            status,
            text,
            words,
            reason,
            turns: self.turns,
            tool_calls: self.tool_calls,
            usage: self.usage,
            cost_usd: self.cost_usd,
            elapsed_ms: millis(self.run.started.elapsed()),
            tools_run: self.run.tools_run(),
            files: self.files,
            doubt,
        };
        (outcome, self.transcript)
    }
}

fn call_ids(transcript: &Transcript) -> HashSet<String> {
    let replies = transcript.messages().iter().filter_map(|message| match Arc::as_ref(message) {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    });
    replies.flat_map(|reply| reply.tool_calls().map(|call| call.id.clone())).collect()
}
