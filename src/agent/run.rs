//! The driver of the loop: turns, limits, stops, and the outcome.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{FusedFuture as _, join};
use tokio::time::Instant;

use super::activity::{self, Activity};
use super::budget::{Reserved, Seat};
use super::dispatch::dispatch;
use super::inbox::Rest;
use super::stream::{Reply, reply};
use super::turn::{Step, Turn, next_step};
use super::{Agent, Author, EventKind, FileTally, LastWords, Outcome, Status, StopCause};
use crate::message::{Message, ToolCall, Transcript, Usage};
use crate::provider::Request;
use crate::tool::ToolSet;

/// Runs an agent on a transcript that ends in what it has to answer, until it has answered or must stop.
///
/// Tells of everything through the agent's sink; the last event is `Ended`, and by then nothing of the run is left
/// running. The returned transcript is valid whatever happened.
pub async fn run(agent: &Agent, transcript: Transcript) -> (Outcome, Transcript) {
    let started = Instant::now();
    let activity = Activity::new(started);
    activity.tell(agent, EventKind::Started).await;
    let mut run = Run::new(agent, transcript, &activity);
    let end = run.watched(started).await;
    agent.inbox.close();
    let (outcome, transcript) = run.conclude(end, started);
    activity.tell(agent, EventKind::Ended { outcome: outcome.clone() }).await;
    (outcome, transcript)
}

/// Tells of a stop when it is asked for: carrying it out may take a tool a while.
async fn tell_stop(agent: &Agent, activity: &Activity) {
    agent.cancel.cancelled().await;
    if let Some(cause) = agent.cancel.cause() {
        activity.tell(agent, EventKind::Stopping { cause }).await;
    }
}

/// Words for the last turn of an agent that reached a limit.
const REPORT_NOW: &str = "You have reached the limit of this run. No more tools are available. Report now what you \
                          have found and done, and say what is missing.";

/// Words behind a message that reaches an agent at work. Who waits for it gets its last reply and nothing before it.
const STEERED: &str = "The user sent you this while you work. Heed it from here on. Whoever waits for you gets \
                       your last reply alone: repeat in it what still holds of what you said before.";

/// How the work ended.
enum End {
    /// The model had nothing more to ask for.
    Answered,
    /// The model wrote its last words after a limit.
    Limited(Status),
    /// Too little of the budget is left for another request.
    Spent,
    Stopped,
    Failed(String),
}

struct Run<'a> {
    agent: &'a Agent,
    seat: Seat<'a>,
    activity: &'a Activity,
    transcript: Transcript,
    ids: HashSet<String>,
    turns: u32,
    tool_calls: u32,
    continuations: u32,
    usage: Usage,
    cost_usd: Option<f64>,
    files: FileTally,
    /// Text of the replies that belong to the answer: the last one, and those it continues.
    answer: Vec<String>,
    /// The latest text of this run, for one that is cut before it answers.
    last_text: String,
}

impl<'a> Run<'a> {
    fn new(agent: &'a Agent, mut transcript: Transcript, activity: &'a Activity) -> Self {
        transcript.interrupt_pending();
        let ids = call_ids(&transcript);
        Self {
            agent,
            seat: Seat::take(agent),
            activity,
            transcript,
            ids,
            turns: 0,
            tool_calls: 0,
            continuations: 0,
            usage: Usage::default(),
            cost_usd: agent.model.price.map(|_| 0.0),
            files: FileTally::default(),
            answer: Vec::new(),
            last_text: String::new(),
        }
    }

    /// Works while the watchdog looks on and stops are told.
    async fn watched(&mut self, started: Instant) -> End {
        let (agent, activity) = (self.agent, self.activity);
        let mut stopping = pin!(tell_stop(agent, activity).fuse());
        let end = {
            let aside = join(activity::watch(activity, started, &agent.limits, &agent.cancel), stopping.as_mut());
            tokio::select! {
                biased;
                _ = aside => End::Stopped,
                end = self.drive() => end,
            }
        };
        if matches!(end, End::Stopped) && !stopping.is_terminated() {
            stopping.await;
        }
        end
    }

    async fn drive(&mut self) -> End {
        loop {
            self.read_inbox().await;
            if let Some(limit) = self.limit_reached() {
                return self.last_turn(limit).await;
            }
            let turn = match self.turn(&self.agent.tools).await {
                Ok(turn) => turn,
                // One that has done nothing has nothing to report.
                Err(End::Spent) if self.turns > 0 => return self.last_turn(Status::Budget).await,
                Err(end) => return end,
            };
            match next_step(&turn, self.continuations) {
                Step::Tools(calls) => {
                    self.answer.clear();
                    let allowance = self.allowance();
                    self.tool_calls += u32::try_from(calls.len().min(allowance)).unwrap_or(u32::MAX);
                    let done = dispatch(self.agent, &calls, allowance, self.activity).await;
                    done.changes.iter().for_each(|change| self.files.add(change));
                    self.transcript.push_results(done.results);
                    if self.agent.cancel.cause().is_some() {
                        return End::Stopped;
                    }
                }
                Step::Continue(words) => {
                    self.continuations += 1;
                    if let Some(words) = words {
                        self.transcript.push_user(words);
                    }
                }
                Step::Finish if self.agent.inbox.close_if_empty() == Rest::More => self.answer.clear(),
                Step::Finish => return End::Answered,
                Step::Fail(reason) => return End::Failed(reason),
            }
        }
    }

    /// Adds what the user has said meanwhile to the transcript, and tells of it.
    async fn read_inbox(&mut self) {
        for text in self.agent.inbox.take() {
            self.transcript.push_user(format!("{text}\n\n<system-reminder>\n{STEERED}\n</system-reminder>"));
            self.activity.tell(self.agent, EventKind::UserMessage { text, by: Author::User }).await;
        }
    }

    /// Returns how many more tool calls may run.
    fn allowance(&self) -> usize {
        self.agent.limits.max_tool_calls.map_or(usize::MAX, |max| max.saturating_sub(self.tool_calls) as usize)
    }

    fn limit_reached(&self) -> Option<Status> {
        let limits = &self.agent.limits;
        if limits.max_turns.is_some_and(|max| self.turns >= max) {
            Some(Status::TurnLimit)
        } else if limits.max_tool_calls.is_some_and(|max| self.tool_calls >= max) {
            Some(Status::ToolLimit)
        } else {
            None
        }
    }

    /// One turn without tools, so that a run that reached a limit still reports.
    async fn last_turn(&mut self, limit: Status) -> End {
        self.answer.clear();
        self.seat.begin_last_turn();
        self.transcript.push_user(REPORT_NOW);
        match self.turn(&ToolSet::default()).await {
            Ok(turn) => {
                // A model may ask for tools all the same; every call that was told of has to be seen to end.
                let calls: Vec<ToolCall> = turn.message.tool_calls().cloned().collect();
                self.transcript.push_results(dispatch(self.agent, &calls, 0, self.activity).await.results);
                End::Limited(limit)
            }
            Err(end) => end,
        }
    }

    async fn turn(&mut self, tools: &ToolSet) -> Result<Turn, End> {
        let mut request = Request {
            model: self.agent.model.id.clone(),
            system: self.agent.system.clone(),
            messages: self.transcript.messages().to_vec(),
            tools: tools.specs(),
            max_output_tokens: self.agent.model.max_output_tokens,
            // One that the model does not know would be refused.
            effort: self.agent.effort.and_then(|wish| Some(wish.min(self.agent.model.max_effort?))),
        };
        match self.seat.reserve(&mut request, self.activity).await {
            Reserved::Granted => {}
            Reserved::Refused => return Err(End::Spent),
            Reserved::Stopped => return Err(End::Stopped),
        }
        self.turns += 1;
        self.activity.tell(self.agent, EventKind::TurnStarted { turn: self.turns }).await;
        match reply(self.agent, request, &mut self.ids, &mut self.seat, self.activity).await {
            Reply::Whole(turn) => {
                self.record(&turn).await;
                Ok(turn)
            }
            Reply::Cut(turn) => {
                self.record(&turn).await;
                Err(End::Stopped)
            }
            Reply::Failed(error, turn) => {
                self.record(&turn).await;
                Err(End::Failed(error.to_string()))
            }
            Reply::Spent(turn) => {
                self.record(&turn).await;
                Err(End::Spent)
            }
        }
    }

    /// Counts a reply, adds it to the transcript and tells of it.
    async fn record(&mut self, turn: &Turn) {
        let text = turn.message.text();
        if !text.is_empty() {
            self.last_text.clone_from(&text);
            self.answer.push(text);
        }
        self.transcript.push_assistant(turn.message.clone());
        let usage = self.seat.settle(self.transcript.messages(), turn.usage, self.activity).await;
        let cost_usd = self.agent.model.price.map(|price| price.cost(&usage));
        self.usage += usage;
        if let (Some(total), Some(cost)) = (&mut self.cost_usd, cost_usd) {
            *total += cost;
        }
        let kind = EventKind::TurnEnded { message: turn.message.clone(), usage, cost_usd, stop: turn.stop.clone() };
        self.activity.tell(self.agent, kind).await;
    }

    fn conclude(mut self, end: End, started: Instant) -> (Outcome, Transcript) {
        self.transcript.interrupt_pending();
        let answer = self.answer.join("");
        let words = match end {
            End::Stopped | End::Failed(_) | End::Spent => LastWords::Partial,
            End::Answered | End::Limited(_) => LastWords::Report,
        };
        let (status, reason) = match end {
            End::Answered if answer.trim().is_empty() => {
                (Status::Empty, Some("The model ended without a word.".to_owned()))
            }
            End::Answered => (Status::Completed, None),
            End::Limited(status) => (status, Some(limit_words(self.agent, status))),
            End::Spent => (Status::Budget, Some(self.agent.budget.refusal())),
            End::Stopped => stop_words(self.agent.cancel.cause().unwrap_or(StopCause::User)),
            End::Failed(reason) => (Status::Failed, Some(reason)),
        };
        let text = if answer.is_empty() { self.last_text } else { answer };
        let outcome = Outcome {
            status,
            text,
            words,
            reason,
            turns: self.turns,
            tool_calls: self.tool_calls,
            usage: self.usage,
            cost_usd: self.cost_usd,
            elapsed_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            files: self.files,
        };
        (outcome, self.transcript)
    }
}

fn limit_words(agent: &Agent, status: Status) -> String {
    let count = |limit: Option<u32>| limit.map_or_else(String::new, |n| n.to_string());
    match status {
        Status::Budget => agent.budget.refusal(),
        Status::TurnLimit => format!("Reached the limit of {} turns.", count(agent.limits.max_turns)),
        _ => format!("Reached the limit of {} tool calls.", count(agent.limits.max_tool_calls)),
    }
}

fn stop_words(cause: StopCause) -> (Status, Option<String>) {
    let (status, words) = match cause {
        StopCause::User => (Status::Cancelled, "Stopped by the user."),
        StopCause::Parent => (Status::Cancelled, "Stopped with the agent above it."),
        StopCause::Quit => (Status::Cancelled, "Stopped because the program quit."),
        StopCause::Idle => (Status::TimedOut, "Neither the model nor a tool gave a sign of life for too long."),
        StopCause::Wall => (Status::TimedOut, "The run took longer than it may."),
    };
    (status, Some(words.to_owned()))
}

fn call_ids(transcript: &Transcript) -> HashSet<String> {
    let replies = transcript.messages().iter().filter_map(|message| match Arc::as_ref(message) {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    });
    replies.flat_map(|reply| reply.tool_calls().map(|call| call.id.clone())).collect()
}
