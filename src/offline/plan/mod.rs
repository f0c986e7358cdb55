//! From a request to a reply: the plans of the main agent and of subagents, and how far one has come.
//!
//! Owns the reply and the walk through a plan's stages. Leaves the plans to their modules. Invariant: pure; progress is
//! read off the transcript, so the same request always gets the same reply.

pub(crate) mod answer;
mod direct;
mod init;
pub(crate) mod main_agent;
pub(crate) mod subagent;

use crate::offline::evidence::{Evidence, PlannedCall};

/// What the model says next. Without calls it is the final answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedReply {
    pub text: String,
    /// The tools to run, in order.
    pub calls: Vec<PlannedCall>,
}

/// A way to an answer: stages of calls, then words.
///
/// A stage is a pure function of what the stages before it found. What was asked once is not asked again, which is
/// how the walk knows where it stands.
pub(crate) trait AnswerPlan {
    /// Returns the calls of stage `n`, counted from 0, or `None` past the last stage.
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>>;

    /// Returns the words said before the calls of stage `n`.
    fn opening(&self, _n: usize) -> String {
        String::new()
    }

    /// Returns the last words.
    fn conclude(&self, evidence: &Evidence) -> String;
}

/// No plan has more stages than this.
const MAX_STAGES: usize = 12;

/// Returns the calls of the first stage that is not done yet, or the last words.
pub(crate) fn advance(plan: &dyn AnswerPlan, evidence: &Evidence) -> PlannedReply {
    if evidence.rounds() < MAX_STAGES && !evidence.must_end() {
        for n in 0..MAX_STAGES {
            let Some(mut calls) = plan.stage(n, evidence) else { break };
            calls.retain(|call| evidence.offers(&call.name) && evidence.find(call).is_none());
            calls.dedup();
            if !calls.is_empty() {
                return PlannedReply { text: plan.opening(n), calls };
            }
        }
    }
    PlannedReply { text: plan.conclude(evidence), calls: Vec::new() }
}
