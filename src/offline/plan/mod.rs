//! From a request to a reply: what the main agent and subagents do.
//!
//! Owns the reply. Leaves what to ask for and to say to its modules. Invariant: pure; progress is read off the transcript,
//! so the same request always gets the same reply.

pub(crate) mod answer;
mod init;
mod inquiry;
mod main_agent;

use super::evidence::{Evidence, PlannedCall};

/// What the model says next. Without calls it is the final answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlannedReply {
    pub text: String,
    /// The tools to run, in order.
    pub calls: Vec<PlannedCall>,
}

/// Returns the calls that the answer has yet to ask for, or the answer. It is put together anew each time, which is how it
/// is known what is still open.
pub(crate) fn reply(evidence: &Evidence) -> PlannedReply {
    let is_main = evidence.is_main_agent();
    let report = if is_main { main_agent::answer(evidence) } else { inquiry::of_task(evidence.task(), evidence) };
    let Ok(report) = report else {
        let calls = evidence.wanted();
        return PlannedReply { text: main_agent::opening(&calls), calls };
    };
    // The last words of a subagent always carry a `<summary>`.
    let text = if is_main { answer::own_words(&report) } else { report.render(evidence) };
    PlannedReply { text, calls: Vec::new() }
}
