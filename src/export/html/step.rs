//! One step of an agent as HTML.
//!
//! Invariant: `data-t` says when it began and `data-d` when its result came, in milliseconds since the session began.

use super::prose::{escaped, prose};
use crate::agent::Author;
use crate::export::Clean;
use crate::export::recording::Recording;
use crate::export::steps::{RecordedCall, RecordedStep, StepKind};
use crate::message::format::words_of;
use crate::message::{AgentId, summary_of};

/// Characters of a subagent's summary in its parent's pane.
const SUMMARY_CHARS: usize = 400;

pub(super) fn step(step: &RecordedStep, recording: &Recording, clean: &Clean<'_>) -> String {
    let at = step.at;
    let block = |class: &str, body: &str| format!("<div class=\"step {class}\" data-t=\"{at}\">{body}</div>\n");
    match &step.kind {
        StepKind::Told { by, text } => {
            let (class, name) = author(by);
            block(class, &format!("<span class=\"by\">{}</span>{}", escaped(&name), prose(text)))
        }
        StepKind::Text(text) => block("text", &prose(text)),
        StepKind::Thinking(text) => format!(
            "<details class=\"step thought\" data-t=\"{at}\"><summary>Thinking</summary><pre>{}</pre></details>\n",
            escaped(text)
        ),
        StepKind::Call(call) => call_step(call, at),
        StepKind::Subagent(id) => subagent(*id, at, recording, clean),
        StepKind::Divider(text) => block("divider", &escaped(text)),
        StepKind::Notice(text) => block("notice", &escaped(text)),
        StepKind::Error(text) => block("error", &escaped(text)),
    }
}

fn author(by: &Author) -> (&'static str, String) {
    match by {
        Author::User => ("told", "›".to_owned()),
        Author::Parent => ("told", "↓ parent".to_owned()),
        Author::Program => ("told", "↓ Belvedere".to_owned()),
        Author::Subagents(of) => {
            let of: Vec<String> = of.iter().map(|agent| format!("agent {agent}")).collect();
            ("told reports", format!("◆ report of {}", of.join(", ")))
        }
    }
}

fn call_step(call: &RecordedCall, at: u64) -> String {
    let done = call.done.map(|done| format!(" data-d=\"{done}\"")).unwrap_or_default();
    let class = match (call.done, call.is_error) {
        (None, _) => "call open",
        (_, true) => "call failed",
        _ => "call",
    };
    let result = if call.summary.is_empty() { String::new() } else { format!("→ {}", escaped(&call.summary)) };
    let head =
        format!("<b>{}</b> {} <span class=\"result\">{result}</span>", escaped(&call.name), escaped(&call.title));
    if call.input.is_empty() && call.output.is_empty() {
        return format!("<div class=\"step {class}\" data-t=\"{at}\"{done}>{head}</div>\n");
    }
    let input = if call.input.is_empty() { String::new() } else { pre("input", &escaped(&call.input)) };
    let output = match &*call.output {
        "" => String::new(),
        diff if call.is_diff => pre("output diff", &diff_lines(diff)),
        text => pre("output", &escaped(text)),
    };
    format!(
        "<details class=\"step {class}\" data-t=\"{at}\"{done}><summary>{head}</summary>{input}{output}</details>\n"
    )
}

fn pre(class: &str, body: &str) -> String {
    format!("<pre class=\"{class}\">{body}</pre>")
}

fn diff_lines(diff: &str) -> String {
    let lines = diff.lines().map(|line| match line.chars().next() {
        Some('+') => format!("<ins>{}</ins>", escaped(line)),
        Some('-') => format!("<del>{}</del>", escaped(line)),
        _ => escaped(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn subagent(id: AgentId, at: u64, recording: &Recording, clean: &Clean<'_>) -> String {
    let Some(agent) = recording.agents.get(&id) else { return String::new() };
    let line = |text: &str| escaped(&clean.line(text));
    let description = agent.spawn.as_ref().map(|spawn| line(&spawn.description)).unwrap_or_default();
    let done = agent.activity.ends.last().map_or(recording.length, |end| end.at);
    let summary = words_of(&clean.text(summary_of(&agent.words), usize::MAX), SUMMARY_CHARS);
    format!(
        "<div class=\"step subagent\" data-t=\"{at}\" data-d=\"{done}\" data-agent=\"{0}\"><a href=\"#agent-{0}\">◆ {1}</a> \
         {description} <span class=\"result state\">{2}</span><p class=\"output\">{3}</p></div>\n",
        id.0,
        line(&agent.name()),
        agent.state(recording.is_live),
        escaped(&summary),
    )
}
