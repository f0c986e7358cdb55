//! The border between a subagent's report and the agent above it: looked at by hand, where the user wants that.
//!
//! Owns when somebody is asked, what is read in the place of a report that is withheld, and what of both the log tells.
//! Leaves the question to the front end. Invariant: a report about which there is doubt, or all of them where the user
//! wants so, is read by no model before someone has said yes to exactly its text; nor is it in a session that goes on.

use std::collections::HashMap;

use crate::agent::{AgentEvent, Cancel, EventKind, Outcome, Status, ToolEvent};
use crate::message::{AgentId, sanitize, sanitize_line};
use crate::permission::{Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Preview, REPORT_QUESTION};
use crate::subagent::run::report::{FILE_LINES, escape};
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
        let id = ApprovalId::new(reader, question_about(agent));
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
        as_answered(&report, answer.as_ref(), "This report is withheld: the agent was stopped.")
    }
}

/// What was asked about the reports of subagents, folded from the events of a session in their order.
#[derive(Debug)]
pub struct ReviewLog<'a> {
    review: &'a ReportReview,
    /// By the name of the question; only those about the last run of a subagent.
    asked: HashMap<String, AskedReview>,
}

/// A question about a report that was logged.
#[derive(Debug)]
struct AskedReview {
    id: ApprovalId,
    report: String,
    answer: Option<Answer>,
}

impl<'a> ReviewLog<'a> {
    /// Returns a log in which nothing was asked yet, of a session that goes on with this review.
    pub fn new(review: &'a ReportReview) -> Self {
        Self { review, asked: HashMap::new() }
    }

    /// Takes in the next event of any agent.
    pub fn apply(&mut self, event: &AgentEvent) {
        match &event.kind {
            // What was said of the report of an earlier run says nothing of the next one's.
            EventKind::Spawned(_) | EventKind::Resumed { .. } => drop(self.asked.remove(&question_about(event.agent))),
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                if let Some(Preview::Report { text }) = &request.preview {
                    let asked = AskedReview { id: request.id.clone(), report: text.clone(), answer: None };
                    self.asked.insert(request.id.call_id.clone(), asked);
                }
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { id, answer, .. }) => {
                if let Some(asked) = self.asked.get_mut(&id.call_id).filter(|asked| asked.id == *id) {
                    asked.answer.clone_from(answer);
                }
            }
            _ => {}
        }
    }

    /// Returns what the agent above may read of the report of a subagent's last run.
    pub fn readable(&self, agent: AgentId, report: String, outcome: &Outcome) -> String {
        const UNANSWERED: &str = "This report is withheld: nobody has answered yet.";
        // A run that broke off came before no judge.
        let is_unjudged = self.review.judge.is_some() && outcome.status == Status::Interrupted;
        match self.asked.get(&question_about(agent)) {
            Some(asked) => as_answered(&asked.report, asked.answer.as_ref(), UNANSWERED),
            None if self.review.asks || outcome.doubt.is_some() || is_unjudged => withheld(&report, None, UNANSWERED),
            None => report,
        }
    }
}

/// Returns the name of the question about a subagent's report.
fn question_about(agent: AgentId) -> String {
    format!("{REPORT_QUESTION}{agent}")
}

/// Returns what is read of a report after this answer; `silence` stands there if there is none.
fn as_answered(report: &str, answer: Option<&Answer>, silence: &str) -> String {
    match answer {
        Some(Answer::Once | Answer::Always | Answer::Everyone | Answer::Project) => report.to_owned(),
        // What the program had escaped in it was so when it was edited.
        Some(Answer::Edited { text }) => {
            format!("[The user has edited this report.]\n{}\n", sanitize(text.trim_end()))
        }
        Some(Answer::No { comment }) => withheld(report, comment.as_deref(), "The user withholds this report."),
        Some(Answer::Nobody { .. } | Answer::Changed { .. } | Answer::Plan { .. } | Answer::Choices { .. }) => {
            withheld(report, None, "This report is withheld: nobody is there to look at it.")
        }
        None => withheld(report, None, silence),
    }
}

/// Returns what stands in the place of a report, with what the program itself says of the run.
fn withheld(report: &str, comment: Option<&str>, words: &str) -> String {
    let comment = comment.map(str::trim).filter(|comment| !comment.is_empty());
    let comment = comment.map(|comment| format!(" {}", escape(comment))).unwrap_or_default();
    format!("{}[{words}{comment}]\n", head_of(report))
}

/// Returns the lines of a report that the program has written, up to the first tag, without those that name files: a name
/// can say as much as a report.
fn head_of(report: &str) -> String {
    let head = report.find("<summary>").map_or("", |end| &report[..end]);
    let names_files = |line: &&str| FILE_LINES.iter().any(|label| line.starts_with(label));
    head.split_inclusive('\n').filter(|line| !names_files(line)).collect()
}
