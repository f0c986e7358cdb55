//! One model reply: sends the request, emits the text as it arrives, and tries again what may succeed later.
//!
//! Every attempt goes through the rate limiter that all agents of the service share, and holds its place until the answer ends.
//! Deltas are merged at the source: the first of a quiet spell is emitted at once, the rest at most every
//! [`MERGE_WINDOW`], so that the cost of the screen does not depend on how a server cuts its stream. A word that may become
//! a secret is held back until it is whole.
//!
//! A sign of life of the model is an event of its answer. Bytes that only keep the connection open, such as pings, make no
//! event: a server that sends nothing else is silent, and after the idle timeout the run is ended.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::{Instant, sleep, sleep_until};

use super::budget::{BudgetReservation, Reserved, estimator};
use super::run::Run;
use super::text_calls::{MarkupGate, recover};
use super::turn::{Delta, Turn, TurnBuilder};
use super::{Cancel, EventKind, Hold, StopCause, TurnEvent};
use crate::message::format::millis;
use crate::message::{AgentId, Usage};
use crate::provider::rate_limiter::{Permit, QueueStatus, QueueTicket, RequestStep};
use crate::provider::retry::{self, RetryState};
use crate::provider::{ErrorKind, Provider, ProviderError, Request, StreamEvent};
use crate::session::PieceMask;

/// How long deltas are gathered before they are emitted: half a frame at 30 frames a second.
const MERGE_WINDOW: Duration = Duration::from_millis(16);

/// How long a text may pause, from its last word on, that comes to its own end although a report is asked for.
const SPARED_PAUSE: Duration = Duration::from_secs(30);

/// How often one request is written in another form because a part of it was refused.
const MAX_CHANGES: u32 = 12;

/// A request, who answers it, and who reads along.
pub(super) struct ModelCall<'a> {
    pub(super) provider: &'a dyn Provider,
    pub(super) request: Request,
    pub(super) deltas: Deltas,
    /// Whether another model answers if this one does not.
    pub(super) gives_way: bool,
}

/// Whether text is emitted as it arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deltas {
    Shown,
    /// It is no part of what the agent says.
    Hidden,
}

pub(super) enum ModelReply {
    Whole(Turn),
    /// The agent was stopped; holds what had arrived.
    Cut(Turn),
    /// It failed for good; holds what had arrived.
    Failed(ProviderError, Turn),
    /// It failed, and too little of the budget is left to send it again; holds what had arrived.
    Spent(Turn),
}

/// Sends a request until it succeeds, fails for good, or is stopped.
///
/// `stop` is the agent's end, or the end of its work. Where the user asks for the latter, a text that is being said comes
/// to its own end, unless it comes to a halt.
pub(super) async fn reply(
    run: &Run<'_>,
    call: ModelCall<'_>,
    ids: &mut HashSet<String>,
    reservation: &mut BudgetReservation<'_>,
    stop: &Cancel,
) -> ModelReply {
    let agent = run.agent;
    let gate = call.provider.gate().cloned().unwrap_or_default();
    let mut ticket = gate.ticket();
    let (mut attempt, mut alike, mut changes) = (1, Alike::default(), 0);
    loop {
        let mut permit = match admitted(run, call.provider, &mut ticket, stop).await {
            Admission::Granted(permit) => permit,
            Admission::Stopped => return ModelReply::Cut(TurnBuilder::default().cut()),
            Admission::Hopeless(error) => return ModelReply::Failed(error, TurnBuilder::default().cut()),
        };
        let answer = run.watchdog.asking(once(run, (&call, reservation.asked()), stop, &mut permit)).await;
        let (error, builder) = match answer.counted(reservation.asked(), &call.request) {
            Ended::Whole(builder, held) => {
                permit.succeeded();
                let mut turn = recover(builder.finish(agent.id, ids), agent, &call.request, ids);
                turn.message.set_origin(call.provider.name(), &call.request.model);
                emit_held(run, &call, held, &turn).await;
                return ModelReply::Whole(turn);
            }
            Ended::Cut(builder) => return ModelReply::Cut(builder.cut()),
            Ended::Failed(error, builder) => (error, builder),
        };
        if let Some(part) = error.unsupported.as_ref().filter(|_| changes < MAX_CHANGES) {
            drop(permit);
            changes += 1;
            if part.is_news && part.feature.is_missed() {
                let (model, feature) = (&part.model, part.feature.words());
                let text = format!("{model} does not support {feature}: requests leave it out from now on.");
                run.emit(EventKind::Notice { text }).await;
            }
            continue;
        }
        let (lasted, failing_for) = (ticket.since().elapsed(), gate.failing_for());
        let alike = alike.count(&error);
        let state = RetryState { attempt, alike, refusals: permit.refusals(), lasted, failing_for };
        let delay = retry::delay(&error, &state, jitter(agent.id, attempt));
        let delay = if call.gives_way { retry::before_another(&error, attempt, delay) } else { delay };
        // Its permit is free before it waits: a wait of its own is nobody else's.
        let pause = if let Some(pause) = retry::pause_for_all(&error, delay) {
            permit.refused(pause)
        } else {
            drop(permit);
            Duration::ZERO
        };
        let Some(wait) = delay else { return ModelReply::Failed(error.given_up(attempt), builder.cut()) };
        let cut = builder.cut();
        if reservation.again(&cut.usage) == Reserved::Refused {
            return ModelReply::Spent(Turn { usage: Usage::default(), ..cut });
        }
        attempt += 1;
        let limited = error.kind == ErrorKind::RateLimit;
        let wait = if limited { wait.max(pause) } else { wait };
        run.emit(retrying(attempt, wait, &error)).await;
        if limited {
            // The wait is the limiter's: it may become longer, and others may stand before this one.
            ticket.mark_announced(wait);
            continue;
        }
        let mut pause = pin!(run.watchdog.paused(sleep(wait)));
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = &mut pause => continue,
        }
        // The last turn asks the same service, which is not asked earlier than it wishes either.
        tokio::select! {
            biased;
            () = agent.cancel.cancelled() => {}
            () = pause => {}
        }
        return ModelReply::Cut(TurnBuilder::default().cut());
    }
}

/// Emits the text that was held back, unless it was a call.
async fn emit_held(run: &Run<'_>, call: &ModelCall<'_>, held: String, turn: &Turn) {
    if call.deltas == Deltas::Shown && !held.is_empty() && turn.message.text().ends_with(held.trim_end()) {
        let mut merged = MergedDeltas::default();
        merged.add(run, Delta::Text(held)).await;
        merged.finish(run).await;
    }
}

/// How often in a row a request has failed in the same words.
#[derive(Default)]
struct Alike {
    words: String,
    count: u32,
}

impl Alike {
    fn count(&mut self, error: &ProviderError) -> u32 {
        let words = error.to_string();
        self.count = if words == self.words { self.count + 1 } else { 1 };
        self.words = words;
        self.count
    }
}

/// What comes of waiting for a permit.
enum Admission {
    Granted(Permit),
    Stopped,
    /// It took too long.
    Hopeless(ProviderError),
}

/// Waits for a permit, which is nobody's silence, and reports the wait.
async fn admitted(run: &Run<'_>, provider: &dyn Provider, ticket: &mut QueueTicket, stop: &Cancel) -> Admission {
    let end = ticket.since() + retry::MAX_RETRY_TIME;
    loop {
        let waited = ticket.is_announced();
        let step = tokio::select! {
            biased;
            () = stop.cancelled() => return Admission::Stopped,
            step = run.watchdog.paused(ticket.step()) => step,
            () = sleep_until(end) => {
                let detail = "the request waited an hour for others; set max_parallel lower, or ask again later";
                return Admission::Hopeless(ProviderError::new(ErrorKind::RateLimit, provider.name(), detail));
            }
        };
        match step {
            RequestStep::Enter(permit) => {
                if waited {
                    run.emit(held(QueueStatus { until: Some(Instant::now()), ahead: 0 })).await;
                }
                return Admission::Granted(permit);
            }
            RequestStep::Wait(status) => run.emit(held(status)).await,
        }
    }
}

fn held(status: QueueStatus) -> EventKind {
    let wait = status.until.map(|until| until.saturating_duration_since(Instant::now()));
    EventKind::Held { why: Hold::RateLimit, wait_ms: wait.map(millis), ahead: status.ahead }
}

fn retrying(attempt: u32, wait: Duration, error: &ProviderError) -> TurnEvent {
    TurnEvent::Retrying {
        attempt,
        wait_ms: millis(wait),
        rate_limited: error.kind == ErrorKind::RateLimit,
        reason: error.to_string(),
    }
}

/// Returns a number from 0 to 1 that differs from agent to agent and from attempt to attempt, so that siblings do not
/// retry in step. It is no chance: the same run waits the same time.
#[expect(clippy::cast_precision_loss, reason = "a number that spreads needs no exactness")]
fn jitter(agent: AgentId, attempt: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (agent.0, attempt).hash(&mut hasher);
    hasher.finish() as f64 / u64::MAX as f64
}

enum Ended {
    /// With the text that was held back.
    Whole(TurnBuilder, String),
    Cut(TurnBuilder),
    Failed(ProviderError, TurnBuilder),
}

impl Ended {
    /// Estimates what the service has not counted, or not truly, of an answer to a request of `asked` tokens. A request that failed
    /// before anything came of it has used nothing.
    fn counted(mut self, asked: u64, request: &Request) -> Self {
        match &mut self {
            Self::Failed(_, builder) if builder.is_untouched() => {}
            Self::Whole(builder, _) | Self::Cut(builder) | Self::Failed(_, builder) => {
                builder.forget_impossible(estimator::bytes(request), request.max_output_tokens);
                builder.estimate_missing(asked);
            }
        }
        self
    }
}

/// Sends a request of `asked` tokens, and reads the reply.
async fn once(run: &Run<'_>, (call, asked): (&ModelCall<'_>, u64), stop: &Cancel, permit: &mut Permit) -> Ended {
    let agent = run.agent;
    let mut builder = TurnBuilder::default();
    let sent = Instant::now();
    // What reads a long prompt on the user's own machine is at work.
    let mut excused = call.provider.is_own_server().then(|| run.watchdog.excuse());
    if excused.is_some() && call.deltas == Deltas::Shown {
        run.emit(TurnEvent::Reading { read: 0, total: asked }).await;
    }
    let begun = tokio::select! {
        biased;
        () = stop.cancelled() => return Ended::Cut(builder),
        begun = call.provider.stream(call.request.clone()) => begun,
    };
    let mut stream = match begun {
        Ok(stream) => stream,
        Err(error) => return Ended::Failed(error, builder),
    };
    permit.answered();
    let (mut merged, mut gate) = (MergedDeltas::default(), MarkupGate::default());
    let has_tools = !call.request.tools.is_empty();
    let mut spared = false;
    let mut last_delta = Instant::now();
    let ended = loop {
        run.watchdog.heartbeat();
        spared &= builder.is_speaking();
        tokio::select! {
            biased;
            () = agent.cancel.cancelled() => break Ended::Cut(builder),
            () = stop.cancelled(), if !spared => match stop.cause() {
                // What the user already reads may be the report that is asked for.
                Some(StopCause::User) if builder.is_speaking() && call.deltas == Deltas::Shown => spared = true,
                _ => break Ended::Cut(builder),
            },
            () = sleep_until(last_delta + SPARED_PAUSE), if spared => break Ended::Cut(builder),
            () = sleep_until(merged.due), if merged.is_waiting() => merged.flush(run).await,
            event = stream.next() => match event {
                None => break Ended::Whole(builder, String::new()),
                Some(Err(error)) => break Ended::Failed(error, builder),
                Some(Ok(StreamEvent::PromptRead { read, total })) => {
                    if call.deltas == Deltas::Shown {
                        run.emit(TurnEvent::Reading { read, total }).await;
                    }
                }
                Some(Ok(event)) => {
                    drop(excused.take());
                    last_delta = Instant::now();
                    let stopped = matches!(event, StreamEvent::Stop(_));
                    let delta = builder.push(event).and_then(|delta| match delta {
                        Delta::Text(text) if has_tools => {
                            Some(Delta::Text(gate.push(&text))).filter(|shown| *shown != Delta::Text(String::new()))
                        }
                        delta => Some(delta),
                    });
                    builder.arrived(sent.elapsed());
                    if let Some(delta) = delta.filter(|_| call.deltas == Deltas::Shown) {
                        merged.add(run, delta).await;
                    } else if stopped {
                        merged.finish(run).await;
                    } else {
                        // The input of a long call, such as a whole file, shows nothing until it is complete, a summary
                        // neither.
                        run.emit_alive().await;
                    }
                }
            },
        }
    };
    let (open, held) = gate.finish();
    let is_whole = matches!(ended, Ended::Whole(..));
    let rest = if is_whole { open } else { open + &held };
    if call.deltas == Deltas::Shown && !rest.is_empty() {
        merged.add(run, Delta::Text(rest)).await;
    }
    merged.finish(run).await;
    match ended {
        Ended::Whole(builder, _) => Ended::Whole(builder, held),
        ended => ended,
    }
}

/// Deltas of one kind that wait to be emitted.
pub(super) struct MergedDeltas {
    waiting: Option<Delta>,
    /// Holds what may be a part of a secret.
    mask: PieceMask,
    /// Whether that is of a text, and not of reasoning.
    is_text: bool,
    due: Instant,
}

impl Default for MergedDeltas {
    fn default() -> Self {
        Self { waiting: None, mask: PieceMask::default(), is_text: true, due: Instant::now() }
    }
}

impl MergedDeltas {
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns when what waits has to be emitted.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    pub(super) async fn add(&mut self, run: &Run<'_>, delta: Delta) {
        match (&mut self.waiting, delta) {
            (Some(Delta::Text(text)), Delta::Text(more)) | (Some(Delta::Thinking(text)), Delta::Thinking(more)) => {
                text.push_str(&more);
            }
            (_, delta) => {
                let is_text = matches!(delta, Delta::Text(_));
                if is_text == self.is_text {
                    self.flush(run).await;
                } else {
                    self.finish(run).await;
                    self.is_text = is_text;
                }
                self.waiting = Some(delta);
            }
        }
        if Instant::now() >= self.due {
            self.flush(run).await;
        }
    }

    pub(super) async fn flush(&mut self, run: &Run<'_>) {
        let Some(Delta::Text(text) | Delta::Thinking(text)) = self.waiting.take() else { return };
        let shown = self.mask.push(&run.agent.secrets, &text);
        self.emit(run, shown).await;
    }

    /// Emits what waits at the end of a text.
    pub(super) async fn finish(&mut self, run: &Run<'_>) {
        self.flush(run).await;
        let rest = self.mask.finish(&run.agent.secrets);
        if !rest.is_empty() {
            self.emit(run, rest).await;
        }
    }

    async fn emit(&mut self, run: &Run<'_>, text: String) {
        self.due = Instant::now() + MERGE_WINDOW;
        match (text.is_empty(), self.is_text) {
            (true, _) => run.emit_alive().await,
            (false, true) => run.emit(TurnEvent::Text { text }).await,
            (false, false) => run.emit(TurnEvent::Thinking { text }).await,
        }
    }
}
