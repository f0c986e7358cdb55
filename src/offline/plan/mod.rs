//! From a request to a reply: what the main agent and subagents do, and how far they have come.
//!
//! Owns the reply and the walk through stages. Leaves the stages to its modules. Invariant: pure; progress is read off the
//! transcript, so the same request always gets the same reply.

pub(crate) mod answer;
mod init;
mod inquiry;
mod main_agent;

use super::evidence::{Evidence, PlannedCall};
use super::report::AnswerPart;
use inquiry::Inquiry;

/// What the model says next. Without calls it is the final answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedReply {
    pub text: String,
    /// The tools to run, in order.
    pub calls: Vec<PlannedCall>,
}

/// No plan has more stages than this.
const MAX_STAGES: usize = 12;

/// Returns the calls of the first stage that is not done yet, or the last words. What was asked once is not asked again,
/// which is how the walk knows where it stands.
pub(crate) fn reply(evidence: &Evidence) -> PlannedReply {
    let is_main = evidence.is_main_agent();
    let part: Box<dyn AnswerPart> =
        if is_main { main_agent::choose(evidence) } else { Box::new(Inquiry::of_task(evidence.task())) };
    if evidence.rounds() < MAX_STAGES && !evidence.must_end() {
        for n in 0..MAX_STAGES {
            let Some(mut calls) = part.stage(n, evidence) else { break };
            calls.retain(|call| evidence.offers(&call.name) && evidence.find(call).is_none());
            calls.dedup();
            if !calls.is_empty() {
                return PlannedReply { text: part.opening(n), calls };
            }
        }
    }
    let report = part.report(evidence);
    // The last words of a subagent always carry a `<summary>`.
    let text = if is_main { answer::own_words(&report) } else { report.render(evidence) };
    PlannedReply { text, calls: Vec::new() }
}
