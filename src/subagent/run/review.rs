//! The border between a subagent's report and the agent above it: looked at by hand, where the user wants that.
//!
//! Owns when somebody is asked, and what is read in the place of a report that is withheld. Leaves the question to the front
//! end. Invariant: a report about which there is doubt, or all of them where the user wants so, is read by no model
//! before someone has said yes to exactly its text.

use crate::agent::{Cancel, EventKind, ToolEvent};
use crate::message::{AgentId, sanitize, sanitize_line};
use crate::permission::{Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Preview};
use crate::subagent::run::report::escape;
use crate::subagent::tree::Tree;

/// What happens to reports before they are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportReview {
    /// Whether the user is asked about each.
    pub asks: bool,
    /// The model that judges whether a report carries instructions.
    pub judge: Option<String>,
}

impl Tree {
    /// Returns what the agent above may read of a report. `doubt` is why it may carry instructions.
    pub(in crate::subagent) async fn reviewed(
        &self,
        (agent, name): (AgentId, &str),
        report: String,
        doubt: Option<&str>,
        cancel: &Cancel,
    ) -> String {
        if !self.setup().review.asks && doubt.is_none() {
            return report;
        }
        let reader = self.registry().get(&agent).map_or(AgentId::MAIN, |entry| entry.parent);
        let id = ApprovalId::new(reader, format!("report-of-{agent}"));
        let reason = doubt.map_or_else(|| "reports ask".to_owned(), |doubt| format!("the judge: {doubt}"));
        let request = ApprovalRequest {
            id: id.clone(),
            access: Access::new("report", AccessKind::Nothing),
            title: format!("report of {}", sanitize_line(name)),
            preview: Some(Preview::Report { text: report.clone() }),
            grant: None,
            reason,
        };
        let asked = self.setup().approver.ask(request.clone());
        self.sink().emit_until(reader, EventKind::Tool(ToolEvent::ApprovalRequested { request }), cancel).await;
        let answer = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            answer = asked => Some(answer),
        };
        let resolved = ToolEvent::ApprovalResolved { id, answer: answer.clone(), by_grant: false };
        self.sink().emit_until(reader, EventKind::Tool(resolved), cancel).await;
        match answer {
            Some(Answer::Once | Answer::Always | Answer::Project) => report,
            // What the program had escaped in it was so when it was edited.
            Some(Answer::Edited { text }) => {
                format!("[The user has edited this report.]\n{}\n", sanitize(text.trim_end()))
            }
            Some(Answer::No { comment }) => withheld(&report, comment.as_deref(), "The user withholds this report."),
            Some(Answer::Nobody { .. }) => {
                withheld(&report, None, "This report is withheld: nobody is there to look at it.")
            }
            None => withheld(&report, None, "This report is withheld: the agent was stopped."),
        }
    }
}

/// Returns what stands in the place of a report, with what the program itself says of the run.
fn withheld(report: &str, comment: Option<&str>, words: &str) -> String {
    let comment = comment.map(str::trim).filter(|comment| !comment.is_empty());
    let comment = comment.map(|comment| format!(" {}", escape(comment))).unwrap_or_default();
    format!("{}[{words}{comment}]\n", head_of(report))
}

/// Returns the lines of a report that the program has written, up to the first tag.
fn head_of(report: &str) -> &str {
    report.find("<summary>").map_or("", |end| &report[..end])
}
