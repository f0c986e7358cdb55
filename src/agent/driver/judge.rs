//! Asking a second model whether a report carries instructions to whoever reads it.
//!
//! Owns the request and what counts as an answer. Leaves what follows from a doubt to `subagent`. Invariant: an answer that
//! is not understood is a doubt.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::agent::aside::ask_aside;
use crate::agent::run::Run;
use crate::agent::stream::ModelReply;
use crate::agent::{Agent, FileTally};
use crate::message::{Effort, Message, Usage, sanitize, sanitize_line};
use crate::provider::{Model, Request};

/// The system prompt of the model that judges.
const PROMPT: &str = include_str!("../../../assets/prompts/judge.md");
/// Most tokens of its answer.
const ANSWER_TOKENS: u32 = 500;
/// Characters of its reasons that are shown.
const REASON_CHARS: usize = 200;

/// Says why a report with this text may carry instructions; `None` if nobody has to judge, or nothing speaks for it. Returns
/// too what the judgment has used, and of which model.
pub(in crate::agent) async fn doubt(
    run: &Run<'_>,
    files: &FileTally,
    text: &str,
) -> (Option<String>, Option<(Usage, Arc<Model>)>) {
    let report = judged(run.agent, files, text);
    if report.trim().is_empty() {
        return (None, None);
    }
    let (provider, model) = match run.agent.judge.clone() {
        None => return (None, None),
        Some(Ok(judge)) => judge,
        Some(Err(why)) => return (Some(format!("not judged: {}", sanitize_line(&why))), None),
    };
    let request = Request {
        model: model.id.clone(),
        system: PROMPT.into(),
        messages: vec![Arc::new(Message::user(request(&report)))],
        tools: Arc::default(),
        withheld: Arc::default(),
        max_output_tokens: ANSWER_TOKENS.min(model.max_output_tokens),
        effort: model.effort(Effort::Low),
        thinking_tokens: None,
        attachments: Arc::default(),
        waits_long: false,
        search: None,
    };
    let stop = run.agent.cancel.clone();
    let (reply, used) = ask_aside(run, request, (&*provider, &model), &stop).await;
    let doubt = match reply {
        Ok(ModelReply::Whole(turn)) => doubt_in(&turn.message.text()),
        Ok(ModelReply::Failed(error, _)) => Some(format!("not judged: {}", sanitize_line(&error.to_string()))),
        Ok(ModelReply::Cut(_) | ModelReply::Spent(_)) | Err(_) => Some("not judged: it was stopped".to_owned()),
    };
    (doubt, Some((used, model)))
}

/// Returns all that the reader gets which strangers may have written: the text as it is read, and names of files.
fn judged(agent: &Agent, files: &FileTally, text: &str) -> String {
    let mut judged = sanitize(text).into_owned();
    for path in files.created.iter().chain(&files.modified) {
        let name = path.strip_prefix(agent.place.project.as_path()).unwrap_or(path).display().to_string();
        let _ = write!(judged, "\nfile: {}", sanitize_line(&name));
    }
    judged
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
