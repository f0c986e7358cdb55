//! Another model for one turn, where the agent's own does not answer.
//!
//! Owns which failures another model may mend, and asking those that the user has named, in their order. Leaves finding them
//! to `services`. Invariants: the next turn asks the agent's own model first; the user is told each time, with the reason;
//! what each attempt took counts, at the price of the model that was asked.

use std::sync::Arc;

use super::{Driver, End};
use crate::agent::budget::{BudgetReservation, Reserved};
use crate::agent::stream::{Deltas, ModelCall, ModelReply, reply};
use crate::agent::turn::Turn;
use crate::agent::{Cancel, EventKind, TurnEvent};
use crate::message::sanitize_line;
use crate::provider::{ErrorKind, Model, Provider, ProviderError, Request};

/// Returns `true` if the model is overloaded, broken or not there. A key, a limit, a network or a request that is wrong is
/// the same for the next one, or is the user's to mend.
pub(in crate::agent) fn may_be_mended(error: &ProviderError) -> bool {
    matches!(error.kind, ErrorKind::Overloaded | ErrorKind::Internal | ErrorKind::NotFound)
}

impl Driver<'_> {
    /// Asks the fallback models for the reply that the agent's own model did not give, which has failed with `error` and
    /// left `lost`.
    pub(super) async fn fall_back(
        &mut self,
        (mut error, lost): (ProviderError, Turn),
        request: Request,
        stop: &Cancel,
    ) -> Result<Turn, End> {
        let used = self.reservation.settle(self.transcript.messages(), lost.usage).await;
        self.add_used(used, self.agent.model.price.map(|price| price.cost(&used)));
        let mut failed = self.agent.model.clone();
        for fallback in self.agent.fallbacks.iter() {
            let (provider, model) = match fallback {
                Ok(found) => found,
                Err(why) => {
                    self.say(format!("{} It cannot stand in for {}.", sanitize_line(why), failed.display)).await;
                    continue;
                }
            };
            if self.is_own(&**provider, model) {
                continue;
            }
            let mut request = self.request_to(model, &request);
            if model.context_window.is_some_and(|window| self.reservation.measure(&request) > window) {
                self.say(format!("The conversation does not fit {}: it cannot stand in.", model.display)).await;
                continue;
            }
            let reason = error.to_string();
            self.run.emit(TurnEvent::Retrying { attempt: 1, wait_ms: 0, rate_limited: false, reason }).await;
            self.say(format!("{} does not answer: {} stands in for this turn.", failed.display, model.display)).await;
            let mut reservation = BudgetReservation::aside(self.run, model);
            match reservation.reserve(&mut request, stop).await {
                Reserved::Granted => {}
                Reserved::Refused => return Err(End::Spent),
                Reserved::Stopped => return Err(End::Stopped),
            }
            let call = ModelCall { provider: &**provider, request, deltas: Deltas::Shown, gives_way: true };
            let answer = reply(self.run, call, &mut self.ids, &mut reservation, stop).await;
            let (ModelReply::Whole(turn)
            | ModelReply::Cut(turn)
            | ModelReply::Failed(_, turn)
            | ModelReply::Spent(turn)) = &answer;
            let usage = reservation.settle(&[], turn.usage).await;
            match answer {
                ModelReply::Failed(next, _) if may_be_mended(&next) => {
                    self.add_used(usage, model.price.map(|price| price.cost(&usage)));
                    (error, failed) = (next, model.clone());
                }
                ModelReply::Whole(turn) => {
                    self.keep(&turn, usage, model).await;
                    return Ok(turn);
                }
                ModelReply::Cut(turn) => {
                    self.keep(&turn, usage, model).await;
                    return Err(End::Stopped);
                }
                ModelReply::Spent(turn) => {
                    self.keep(&turn, usage, model).await;
                    return Err(End::Spent);
                }
                ModelReply::Failed(last, turn) => {
                    self.keep(&turn, usage, model).await;
                    return Err(End::Failed(last.to_string()));
                }
            }
        }
        let nothing = Turn { usage: crate::message::Usage::default(), ..lost };
        let model = self.agent.model.clone();
        self.keep(&nothing, nothing.usage, &model).await;
        Err(End::Failed(error.to_string()))
    }

    async fn say(&self, text: String) {
        self.run.emit(EventKind::Notice { text }).await;
    }

    fn is_own(&self, provider: &dyn Provider, model: &Arc<Model>) -> bool {
        model.id == self.agent.model.id && provider.name() == self.agent.provider.name()
    }

    /// Returns a request as another model takes it.
    fn request_to(&self, model: &Model, request: &Request) -> Request {
        let attachments = if model.sees == Some(false) { Arc::default() } else { request.attachments.clone() };
        Request {
            model: model.id.clone(),
            max_output_tokens: model.max_output_tokens,
            effort: self.agent.reasoning.effort.and_then(|wish| model.effort(wish)),
            attachments,
            ..request.clone()
        }
    }
}
