//! One run's place in the budget: asks before each request, waits its turn, and books what was used.
//!
//! Owns the waiting and the notices. Leaves the decision to the ledger. Invariant: whatever becomes of the run, nothing
//! stays held for it.

use std::pin::pin;
use std::sync::Arc;

use super::Budget;
use super::estimator::TokenEstimator;
use super::ledger::{Amount, Ask, BudgetVerdict, Purpose, ReservationId, Warning};
use crate::agent::run::Run;
use crate::agent::{Cancel, EventKind, Hold};
use crate::message::{Message, Transcript, Usage};
use crate::provider::{Model, Request};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) enum Reserved {
    Granted,
    Refused,
    Stopped,
}

pub(in crate::agent) struct BudgetReservation<'a> {
    run: &'a Run<'a>,
    model: &'a Model,
    budget: Budget,
    id: ReservationId,
    estimator: TokenEstimator,
    ask: Ask,
    refused: Option<Ask>,
    /// Used by attempts of the present request that failed.
    lost: Usage,
}

impl<'a> BudgetReservation<'a> {
    /// Takes a place for a run that goes on with this conversation.
    pub(in crate::agent) fn take(run: &'a Run<'a>, transcript: &Transcript) -> Self {
        let mut taken = Self::enter(run, &run.agent.model, Purpose::Work);
        taken.estimator = TokenEstimator::knowing(transcript);
        taken
    }

    /// Takes a place for one request of a run beside its turns, to this model. What is kept for the last turn of the run
    /// stays kept.
    pub(in crate::agent) fn aside(run: &'a Run<'a>, model: &'a Model) -> Self {
        Self::enter(run, model, Purpose::LastTurn)
    }

    fn enter(run: &'a Run<'a>, model: &'a Model, purpose: Purpose) -> Self {
        let budget = run.agent.budget.clone();
        let id = budget.ledger().enter();
        let ask = Ask { input: 0, cap: 0, price: model.price, purpose };
        Self {
            run,
            model,
            budget,
            id,
            estimator: TokenEstimator::default(),
            ask,
            refused: None,
            lost: Usage::default(),
        }
    }

    /// Returns the most tokens that a request sends.
    pub(in crate::agent) fn measure(&self, request: &Request) -> u64 {
        self.estimator.measure(request)
    }

    /// Returns the size of the conversation as the service counted it with its last reply.
    pub(in crate::agent) fn counted(&self) -> Option<u64> {
        self.estimator.counted()
    }

    /// Takes what is known of the size of a conversation that was shortened.
    pub(in crate::agent) fn recount(&mut self, transcript: &Transcript) {
        self.estimator = TokenEstimator::knowing(transcript);
    }

    /// Notes that the next request is the last one of the run: what was kept for it may be used.
    pub(in crate::agent) fn begin_last_turn(&mut self) {
        self.ask.purpose = Purpose::LastTurn;
    }

    /// Waits until the request may be sent, or `stop` is asked for, and lowers the cap on its reply to what is left for it.
    pub(in crate::agent) async fn reserve(&mut self, request: &mut Request, stop: &Cancel) -> Reserved {
        self.warn_unpriced().await;
        self.ask.input = self.estimator.measure(request);
        self.ask.cap = request.max_output_tokens.into();
        let budget = self.budget.clone();
        let mut announced = None;
        loop {
            // From before the decision, so that no change after it is missed.
            let mut changed = pin!(budget.0.changed.notified());
            changed.as_mut().enable();
            let verdict = budget.ledger().ask(self.id, &self.ask);
            match verdict {
                BudgetVerdict::Granted { output } => {
                    request.max_output_tokens = u32::try_from(output).unwrap_or(u32::MAX);
                    self.pass_on();
                    return Reserved::Granted;
                }
                BudgetVerdict::Refused => {
                    self.refused = Some(self.ask);
                    self.pass_on();
                    self.warn_used_up().await;
                    return Reserved::Refused;
                }
                BudgetVerdict::Wait { ahead } if announced != Some(ahead) => {
                    announced = Some(ahead);
                    let held = EventKind::Held { why: Hold::Budget, wait_ms: None, ahead };
                    self.run.emit(held).await;
                }
                BudgetVerdict::Wait { .. } => {}
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => {
                    budget.ledger().give_up(self.id);
                    self.pass_on();
                    return Reserved::Stopped;
                }
                () = self.run.watchdog.paused(changed) => {}
            }
        }
    }

    /// Books an attempt that failed, before the request is sent again.
    pub(in crate::agent) fn again(&mut self, used: &Usage) -> Reserved {
        self.lost += *used;
        let verdict = self.budget.ledger().again(self.id, self.amount(used));
        if verdict == BudgetVerdict::Refused { Reserved::Refused } else { Reserved::Granted }
    }

    /// Books the reply. Returns what the whole request has used, attempts that failed included. `messages` is the
    /// conversation with the reply.
    pub(in crate::agent) async fn settle(&mut self, messages: &[Arc<Message>], usage: Usage) -> Usage {
        let context = self.estimator.note(messages, &usage, self.ask.input);
        let warning = {
            let mut ledger = self.budget.ledger();
            ledger.settle(self.id, self.amount(&usage), context, &self.ask);
            ledger.warning()
        };
        self.pass_on();
        if warning.is_some() {
            self.run.notify_user(self.budget.nearly()).await;
        }
        usage + std::mem::take(&mut self.lost)
    }

    fn amount(&self, usage: &Usage) -> Amount {
        let usd = self.ask.price.map_or(0.0, |price| price.cost(usage));
        Amount { tokens: usage.total(), usd, estimated: usage.estimated, unknown: usage.unknown }
    }

    /// Says why a request was refused, and what to do about it.
    pub(in crate::agent) fn refusal(&self) -> String {
        self.budget.refusal(self.refused.as_ref().unwrap_or(&self.ask))
    }

    /// Returns the measured size of the present request, in tokens.
    pub(in crate::agent) fn asked(&self) -> u64 {
        self.ask.input
    }

    /// Lets the others look whether they may go.
    fn pass_on(&self) {
        self.budget.0.changed.notify_waiters();
    }

    async fn warn_unpriced(&self) {
        let model = self.model;
        if model.price.is_none() && self.budget.ledger().mark_uncounted(&model.id) {
            let text = format!(
                "The price of {} is unknown, so a budget in dollars does not count it. A budget in tokens does: \
                 /budget 500k.",
                model.display
            );
            self.run.notify_user(text).await;
        }
    }

    async fn warn_used_up(&self) {
        if self.budget.ledger().mark_warned(Warning::UsedUp) {
            self.run.notify_user(self.refusal()).await;
        }
    }
}

impl Drop for BudgetReservation<'_> {
    fn drop(&mut self) {
        self.budget.ledger().leave(self.id);
        self.pass_on();
    }
}
