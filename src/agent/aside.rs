//! Requests beside the turns: for a summary, a judgment, a search.
//!
//! Owns their place in the budget. Leaves what is asked, and counting it as part of the run, to whoever asks. Invariant: no
//! word of the answer is emitted as the agent's.

use std::collections::HashSet;

use super::Cancel;
use super::budget::{BudgetReservation, Reserved};
use super::run::Run;
use super::stream::{Deltas, ModelCall, ModelReply, reply};
use crate::message::Usage;
use crate::provider::{Model, Provider, Request};

/// Sends a request beside the turns. Returns what it has used too; `Err` says why it was not sent.
pub(super) async fn ask_aside(
    run: &Run<'_>,
    mut request: Request,
    (provider, model): (&dyn Provider, &Model),
    stop: &Cancel,
) -> (Result<ModelReply, Reserved>, Usage) {
    let mut aside = BudgetReservation::aside(run, model);
    match aside.reserve(&mut request, stop).await {
        Reserved::Granted => {}
        other => return (Err(other), Usage::default()),
    }
    let call = ModelCall { provider, request, deltas: Deltas::Hidden, gives_way: false };
    let reply = reply(run, call, &mut HashSet::new(), &mut aside, stop).await;
    let (ModelReply::Whole(turn) | ModelReply::Cut(turn) | ModelReply::Failed(_, turn) | ModelReply::Spent(turn)) =
        &reply;
    let used = aside.settle(&[], turn.usage).await;
    (Ok(reply), used)
}
