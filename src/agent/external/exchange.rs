//! One prompt and all that the program says until its end.
//!
//! Owns what interrupts it: a stop, a message, a limit. Leaves what follows to the run. Invariants: a program that is asked
//! to stop has a bounded time for it; a message never takes a running tool away, but waits for its end; questions that are
//! open when it is stopped are withdrawn.

use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use super::{Talk, remote};
use crate::agent::driver::early_status;
use crate::agent::{EventKind, Status};
use crate::external::{
    ExternalConnection, ExternalError, ExternalRequest, ExternalUpdate, FromExternal, PromptEnd, PromptStop,
    RequestToken,
};
use crate::message::{Usage, sanitize_line};
use crate::provider::StreamEvent;

/// How long a program may take to stop what it does, before it is ended.
const CANCEL_GRACE: Duration = Duration::from_secs(3);

/// What came of a prompt.
pub(super) enum ExchangeEnd {
    /// It has ended by itself.
    Ended(PromptStop),
    Interrupted(Interruption),
    Failed(String),
    /// The connection to where it works was lost.
    Lost(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    Stopped,
    /// A message is to be read.
    Steered,
    /// It has to report.
    Early(Status),
}

type Answered<'q> = BoxFuture<'q, (RequestToken, Value)>;

impl<'a> Talk<'a> {
    /// Asks something and follows what comes of it. In a last turn no message is read, and no call is made.
    pub(super) async fn exchange(&mut self, text: &str, is_last: bool) -> ExchangeEnd {
        let run = self.run;
        // The program owes an answer, so that its silence counts.
        let end = run.watchdog.asking(self.exchanged(text, is_last)).await;
        match end {
            ExchangeEnd::Lost(_) if !self.outlives_connection() => {}
            ExchangeEnd::Lost(_) | ExchangeEnd::Failed(_) => self.bring_all_back(false).await,
            ExchangeEnd::Ended(_) | ExchangeEnd::Interrupted(_) => self.bring_all_back(true).await,
        }
        end
    }

    async fn exchanged(&mut self, text: &str, is_last: bool) -> ExchangeEnd {
        let agent = self.agent;
        let images = self.shown_with(text).await;
        if let Err(end) = self.connection(|connection| connection.prompt(text, &images)) {
            return end;
        }
        self.owed = Some(0);
        let mut asking: FuturesUnordered<Answered<'a>> = FuturesUnordered::new();
        let mut interrupted: Option<(Interruption, Instant)> = None;
        loop {
            let wanted = self.wanted_interruption(is_last, asking.is_empty());
            let is_harder = |now: Interruption| match interrupted {
                None => true,
                Some((before, _)) => now == Interruption::Stopped && before != Interruption::Stopped,
            };
            if let Some(now) = wanted.filter(|now| is_harder(*now)) {
                interrupted = Some((now, Instant::now() + CANCEL_GRACE));
                if let Err(end) = self.connection(|connection| connection.cancel()) {
                    return if now == Interruption::Stopped { ExchangeEnd::Interrupted(now) } else { end };
                }
            }
            let (due, deadline) = (self.steps.due(), interrupted.map(|(_, deadline)| deadline));
            let look = self.look_due();
            let Some(connection) = self.connection.as_mut() else {
                return ExchangeEnd::Failed("not connected".to_owned());
            };
            tokio::select! {
                biased;
                () = agent.cancel.cancelled(), if wanted != Some(Interruption::Stopped) => {}
                () = agent.work.cancelled(), if agent.work.cause().is_none() => {}
                () = until(deadline), if deadline.is_some() => {
                    self.finish(None, false).await;
                    return match interrupted {
                        Some((Interruption::Stopped, _)) | None => ExchangeEnd::Interrupted(Interruption::Stopped),
                        Some(_) => ExchangeEnd::Failed("It did not stop when it was asked to.".to_owned()),
                    };
                }
                Some((token, answer)) = asking.next(), if !asking.is_empty() => {
                    if let Err(end) = self.connection(|connection| connection.answer(&token, &answer)) {
                        return end;
                    }
                }
                () = until(due), if due.is_some() => self.steps.flush().await,
                () = until(look), if look.is_some() => self.look(),
                fetched = remote::fetched(self.carrying.as_mut()) => self.take_fetched(fetched).await,
                () = agent.inbox.woken(), if !agent.inbox.has_news() => {}
                from = connection.next() => {
                    // Being there is no sign of life of its model or tool.
                    if !matches!(from, FromExternal::Silent | FromExternal::Heard) {
                        self.run.watchdog.heartbeat();
                    }
                    match from {
                        FromExternal::Update(update) => self.heed(update).await,
                        FromExternal::Request(request) => {
                            if let Some(question) = self.ask(*request, interrupted.is_some()).await {
                                asking.push(question);
                            }
                        }
                        FromExternal::Ended(ended) => return self.ended(ended, interrupted.map(|(why, _)| why)).await,
                        FromExternal::Closed(error) => {
                            self.finish(None, false).await;
                            return match interrupted {
                                Some((Interruption::Stopped, _)) => ExchangeEnd::Interrupted(Interruption::Stopped),
                                _ => self.broken(&error),
                            };
                        }
                        FromExternal::Changes(came) => self.take_back(came).await,
                        FromExternal::Silent => self.run.emit(EventKind::OutOfTouch).await,
                        FromExternal::Heard => self.run.emit(EventKind::Alive).await,
                    }
                }
            }
        }
    }

    /// Says what should interrupt it now.
    fn wanted_interruption(&self, is_last: bool, has_no_question: bool) -> Option<Interruption> {
        let agent = self.agent;
        if agent.cancel.cause().is_some() {
            return Some(Interruption::Stopped);
        }
        let over = agent.limits.max_tool_calls.is_some_and(|max| self.calls.begun > max);
        if is_last {
            return (over && !self.calls.is_empty()).then_some(Interruption::Early(Status::ToolLimit));
        }
        if let Some(cause) = agent.work.cause() {
            return Some(Interruption::Early(early_status(cause)));
        }
        if over {
            return Some(Interruption::Early(Status::ToolLimit));
        }
        (has_no_question && self.calls.is_empty() && agent.inbox.has_news()).then_some(Interruption::Steered)
    }

    /// Says how an exchange ends whose connection does not bear it.
    fn broken(&self, error: &ExternalError) -> ExchangeEnd {
        match error {
            ExternalError::Closed(why) if self.external.remote.is_some() => ExchangeEnd::Lost(self.lost_words(why)),
            error => ExchangeEnd::Failed(self.words_of(error)),
        }
    }

    /// Does something with the connection. `Err` says how the exchange ends if that cannot be.
    fn connection(
        &mut self,
        act: impl FnOnce(&mut ExternalConnection) -> Result<(), ExternalError>,
    ) -> Result<(), ExchangeEnd> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(ExchangeEnd::Failed("not connected".to_owned()));
        };
        act(connection).map_err(|error| self.broken(&error))
    }

    async fn heed(&mut self, update: ExternalUpdate) {
        match update {
            ExternalUpdate::Text(text) => self.steps.push(StreamEvent::Text(text)).await,
            ExternalUpdate::Thought(text) => self.steps.push(StreamEvent::Thinking(text)).await,
            ExternalUpdate::Call(update) => {
                let call = self.at_home(*update);
                self.heed_call(call).await;
            }
            ExternalUpdate::Plan(plan) => self.heed_plan(plan).await,
            ExternalUpdate::Mode(mode) => {
                let text = format!("{} works in mode `{}`.", sanitize_line(self.external.program.name()), mode);
                self.run.emit(EventKind::Notice { text }).await;
            }
            ExternalUpdate::Usage { used, cost_usd, .. } => {
                self.owed = self.owed.map(|_| used);
                self.session_cost = cost_usd.or(self.session_cost);
                self.run.emit_alive().await;
            }
            ExternalUpdate::Other => self.run.emit_alive().await,
        }
    }

    /// Begins to put a question to the user, or refuses it at once.
    async fn ask(&mut self, request: ExternalRequest, is_over: bool) -> Option<Answered<'a>> {
        let ExternalRequest { token, mut question } = request;
        question.call = self.at_home(question.call);
        self.heed_call(question.call.clone()).await;
        let open = self.calls.open(&question.call.id).map(|(id, known)| (id.to_owned(), known.clone()));
        let Some((call_id, known)) = open.filter(|_| !is_over) else {
            let answer = question.answer(None);
            // If that cannot be said, the next thing that is said fails too.
            let _ = self.connection(|connection| connection.answer(&token, &answer));
            return None;
        };
        let (run, remote) = (self.run, self.external.remote.as_ref());
        Some(Box::pin(async move {
            let yes = super::questions::may(run, remote, &known, &call_id).await;
            (token, question.answer(yes))
        }))
    }

    async fn ended(
        &mut self,
        ended: Result<PromptEnd, ExternalError>,
        interrupted: Option<Interruption>,
    ) -> ExchangeEnd {
        let (usage, stop) = match &ended {
            Ok(end) => (end.usage, Some(end.stop)),
            Err(_) => (None, None),
        };
        self.finish(usage, stop == Some(PromptStop::Done)).await;
        match (interrupted, ended) {
            (Some(Interruption::Stopped), _) => ExchangeEnd::Interrupted(Interruption::Stopped),
            (_, Err(error)) if interrupted.is_none() => ExchangeEnd::Failed(self.words_of(&error)),
            // It was done before it read that it should stop.
            (Some(Interruption::Steered) | None, Ok(PromptEnd { stop, .. })) if stop != PromptStop::Cancelled => {
                ExchangeEnd::Ended(stop)
            }
            (Some(why), _) => ExchangeEnd::Interrupted(why),
            (None, _) => ExchangeEnd::Ended(PromptStop::Cancelled),
        }
    }

    /// Ends the step and the calls that are open. A prompt of which the program does not say what it has used counts as unknown,
    /// with the context that it spoke of as the least.
    pub(super) async fn finish(&mut self, usage: Option<Usage>, is_whole: bool) {
        let owed = self.owed.take().map(|least| Usage { input: least, unknown: true, ..Usage::default() });
        let usage = usage.or(owed);
        let cost = self.session_cost.map(|cost| (cost - self.counted_cost).max(0.0)).filter(|cost| *cost > 0.0);
        self.counted_cost += cost.unwrap_or_default();
        self.steps.end(usage.unwrap_or_default(), cost, is_whole).await;
        self.settle_calls(is_whole).await;
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
