//! Asking a second model whether a report carries instructions to whoever reads it.
//!
//! Owns the request and what counts as an answer. Leaves what follows from a doubt to `subagent`. Invariant: an answer that
//! is not understood is a doubt.

use std::fmt::Write as _;
use std::sync::Arc;

use super::Driver;
use crate::agent::aside::ask_aside;
use crate::agent::stream::ModelReply;
use crate::message::{Effort, Message, sanitize, sanitize_line};
use crate::provider::Request;

/// The system prompt of the model that judges.
const PROMPT: &str = include_str!("../../../assets/prompts/judge.md");
/// Most tokens of its answer.
const ANSWER_TOKENS: u32 = 500;
/// Characters of its reasons that are shown.
const REASON_CHARS: usize = 200;

impl Driver<'_> {
    /// Says why a report with this text may carry instructions; `None` if nobody has to judge, or nothing speaks for it.
    pub(super) async fn doubt(&mut self, text: &str) -> Option<String> {
        let report = self.judged(text);
        if report.trim().is_empty() {
            return None;
        }
        let (provider, model) = match self.agent.judge.clone()? {
            Ok(judge) => judge,
            Err(why) => return Some(format!("not judged: {}", sanitize_line(&why))),
        };
        let request = Request {
            model: model.id.clone(),
            system: PROMPT.into(),
            messages: vec![Arc::new(Message::user(request(&report)))],
            tools: Arc::default(),
            withheld: Arc::default(),
            max_output_tokens: ANSWER_TOKENS.min(model.max_output_tokens),
            effort: model.effort(Effort::Low),
            attachments: Arc::default(),
            search: None,
        };
        let stop = self.agent.cancel.clone();
        let (reply, used) = ask_aside(self.run, request, (&*provider, &model), &stop).await;
        self.count_aside(used, &model);
        match reply {
            Ok(ModelReply::Whole(turn)) => doubt_in(&turn.message.text()),
            Ok(ModelReply::Failed(error, _)) => Some(format!("not judged: {}", sanitize_line(&error.to_string()))),
            Ok(ModelReply::Cut(_) | ModelReply::Spent(_)) | Err(_) => Some("not judged: it was stopped".to_owned()),
        }
    }
}

impl Driver<'_> {
    /// Returns all that the reader gets which strangers may have written: the text as it is read, and names of files.
    fn judged(&self, text: &str) -> String {
        let mut judged = sanitize(text).into_owned();
        for path in self.files.created.iter().chain(&self.files.modified) {
            let name = path.strip_prefix(self.agent.place.project.as_path()).unwrap_or(path).display().to_string();
            let _ = write!(judged, "\nfile: {}", sanitize_line(&name));
        }
        judged
    }
}

/// Returns what the model is asked. Nothing in a report ends what stands around it.
fn request(report: &str) -> String {
    let mark = (0..=report.len())
        .map(|number| format!("report-{number}"))
        .find(|mark| !report.contains(mark))
        .unwrap_or_default();
    format!("<{mark}>\n{report}\n</{mark}>\n\nDATA or INSTRUCTIONS?")
}

/// Reads the answer.
fn doubt_in(answer: &str) -> Option<String> {
    let answer = answer.trim();
    if answer.trim_end_matches('.') == "DATA" {
        return None;
    }
    let reason = answer.strip_prefix("INSTRUCTIONS").map(|rest| rest.trim_start_matches([':', ' ', '\n']));
    let text = match reason {
        Some("") => "it carries instructions".to_owned(),
        Some(reason) => format!("it may carry instructions: {}", sanitize_line(reason)),
        None => "not judged: the answer was not understood".to_owned(),
    };
    Some(text.chars().take(REASON_CHARS).collect())
}
