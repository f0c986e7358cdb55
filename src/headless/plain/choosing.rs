//! Answers to an agent's questions, typed line by line.
//!
//! Owns what was answered of the questions that are open. Leaves writing them to `renderer`. Invariant: answers go to the
//! questions that were written, in their order.

use crate::message::reveal_line;
use crate::permission::{ApprovalId, ApprovalRequest, QuestionAnswer, UserQuestion};

#[derive(Debug, Default)]
pub(super) struct Choosing {
    of: Option<ApprovalId>,
    answers: Vec<QuestionAnswer>,
}

/// What came of a line.
pub(super) enum ChoiceStep {
    /// Another question follows.
    Next,
    All(Vec<QuestionAnswer>),
    Unclear(String),
}

impl Choosing {
    /// Returns the question that is to be answered next, its place from 1, and how many there are.
    pub(super) fn next<'q>(&self, request: &'q ApprovalRequest) -> Option<(&'q UserQuestion, usize, usize)> {
        let questions = request.questions()?;
        let at = if self.of.as_ref() == Some(&request.id) { self.answers.len() } else { 0 };
        Some((questions.get(at)?, at + 1, questions.len()))
    }

    /// Takes the answer to the next question.
    pub(super) fn take(&mut self, request: &ApprovalRequest, typed: &str) -> ChoiceStep {
        let Some((question, place, count)) = self.next(request) else { return ChoiceStep::Next };
        let Some(answer) = question.read_answer(typed) else {
            let several = if question.multi_select { ", or several such as 1,2" } else { "" };
            let most = question.options.len();
            return ChoiceStep::Unclear(format!(
                "answer with a number from 1 to {most}{several}, or in your own words"
            ));
        };
        if self.of.as_ref() != Some(&request.id) {
            (self.of, self.answers) = (Some(request.id.clone()), Vec::new());
        }
        self.answers.push(answer);
        if place < count { ChoiceStep::Next } else { ChoiceStep::All(std::mem::take(&mut self.answers)) }
    }

    /// Returns the lines of the question that is to be answered next.
    pub(super) fn lines(&self, who: &str, request: &ApprovalRequest) -> Option<(Vec<String>, String)> {
        let (question, place, count) = self.next(request)?;
        let mut rows = Vec::new();
        for (at, option) in question.options.iter().enumerate() {
            let about = option.description.trim();
            let about = if about.is_empty() { String::new() } else { format!(": {}", reveal_line(about)) };
            rows.push(format!("  {}. {}{about}", at + 1, reveal_line(&option.label)));
            let preview = option.preview.as_deref().unwrap_or_default();
            rows.extend(preview.lines().map(|line| format!("       {}", reveal_line(line))));
        }
        let of = if count > 1 { format!(" ({place} of {count})") } else { String::new() };
        let several = if question.multi_select { "numbers such as 1,2" } else { "a number" };
        let asked = reveal_line(&question.question);
        Some((rows, format!("{who} asks{of}: {asked} Answer with {several} or in your own words; n does not answer.")))
    }
}
