//! What a request is made of: which part of it takes how much.
//!
//! Pure. Owns the parts and their sizes. Leaves the size of the whole, which the service may have counted, to the
//! caller. Invariant: the parts together come to the whole, as far as whole tokens allow.

use serde::{Deserialize, Serialize};

use super::summary::is_summary;
use super::trim::is_report;
use crate::agent::budget::estimator;
use crate::memory::{MEMORY_TAG, gives_memory};
use crate::message::{Message, ToolCall, tagged};
use crate::provider::Request;

/// What fills a context.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUse {
    /// Size of the whole request, in tokens.
    pub tokens: u64,
    /// The model's window, or the smaller one that the agent works in; `None` if nobody knows it.
    pub window: Option<u64>,
    /// What of the window is kept for the reply, in tokens.
    pub reply: u64,
    /// What is there, in the order of the request; reports come last.
    pub parts: Vec<ContextPart>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    pub kind: PartKind,
    /// Whose report it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Which memory file it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub bytes: u64,
    pub tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// What the agent is told of itself and of where it works.
    System,
    /// The notes that it keeps from one run to the next.
    #[serde(rename = "memory")]
    Notes,
    MemoryFile,
    Tools,
    /// What stands in the place of a conversation that was compacted.
    Summary,
    /// What the user, and the program, said to it.
    Messages,
    /// What it said, thought and asked for.
    Replies,
    Results,
    /// The report of a subagent.
    Report,
}

impl PartKind {
    /// Returns the words for it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::System => "system prompt",
            Self::Notes => "notes",
            Self::MemoryFile => "memory file",
            Self::Tools => "tools",
            Self::Summary => "summary",
            Self::Messages => "messages",
            Self::Replies => "replies",
            Self::Results => "tool results",
            Self::Report => "report",
        }
    }
}

/// Reports, and memory files, that are named one by one; further ones are counted together.
const MAX_NAMED: usize = 50;

/// Divides a request, which comes to so many tokens, into its parts.
pub(in crate::agent) fn measure(request: &Request, tokens: u64, window: Option<u64>) -> ContextUse {
    let mut count = Count::default();
    let notes = tagged(&request.system, "memory").map_or(0, str::len);
    let files = count.add_memory_files(&request.system);
    count.add(PartKind::System, None, request.system.len().saturating_sub(notes + files));
    count.add(PartKind::Notes, None, notes);
    let specs = request.tools.iter().chain(request.withheld.iter());
    let size = |text: &serde_json::Value| text.to_string().len();
    let tools = specs.map(|tool| tool.name.len() + tool.description.len() + size(&tool.input_schema)).sum();
    count.add(PartKind::Tools, None, tools);
    let mut calls: Vec<&ToolCall> = Vec::new();
    for message in &request.messages {
        match &**message {
            Message::User { text } if is_summary(text) => count.add(PartKind::Summary, None, text.len()),
            Message::User { text } if gives_memory(text) => {
                let files = count.add_memory_files(text);
                count.add(PartKind::Messages, None, text.len() - files);
            }
            Message::User { text } => count.add_said(text),
            Message::Assistant(reply) => {
                calls = reply.tool_calls().collect();
                let bytes = estimator::message(message) * estimator::BYTES;
                count.add(PartKind::Replies, None, usize::try_from(bytes).unwrap_or(usize::MAX));
            }
            Message::ToolResults { results } => {
                for result in results {
                    let text = result.joined_text();
                    let call = calls.iter().find(|call| call.id == result.call_id);
                    if let Some(name) = call.filter(|call| is_report(call)).and_then(|_| reporter(&text)) {
                        count.add(PartKind::Report, Some(name), text.len());
                    } else {
                        let bytes = estimator::result(result) * estimator::BYTES;
                        count.add(PartKind::Results, None, usize::try_from(bytes).unwrap_or(usize::MAX));
                    }
                }
            }
        }
    }
    let reply = u64::from(request.max_output_tokens);
    ContextUse { tokens, window, reply, parts: count.parts(tokens) }
}

#[derive(Default)]
struct Count {
    parts: Vec<(PartKind, Option<String>, u64)>,
}

impl Count {
    fn add(&mut self, kind: PartKind, agent: Option<&str>, bytes: usize) {
        let has = |who: Option<&str>| self.parts.iter().any(|(of, whose, _)| *of == kind && whose.as_deref() == who);
        let named = self.parts.iter().filter(|(of, ..)| *of == kind).count();
        let agent = agent.filter(|_| has(agent) || named < MAX_NAMED);
        match self.parts.iter_mut().find(|(of, whose, _)| *of == kind && whose.as_deref() == agent) {
            Some((.., sum)) => *sum += bytes as u64,
            None => self.parts.push((kind, agent.map(str::to_owned), bytes as u64)),
        }
    }

    /// Counts the memory files that a text gives, and returns how many bytes they take.
    fn add_memory_files(&mut self, text: &str) -> usize {
        let (start, end) = (format!("<{MEMORY_TAG} path=\""), format!("</{MEMORY_TAG}>"));
        let mut all = 0;
        for piece in text.split(&start).skip(1) {
            let Some((path, _)) = piece.split_once('"') else { continue };
            let bytes = start.len() + piece.find(&end).map_or(piece.len(), |at| at + end.len());
            self.add(PartKind::MemoryFile, Some(path), bytes);
            all += bytes;
        }
        all
    }

    /// Counts a message, and the reports in it as what they are.
    fn add_said(&mut self, text: &str) {
        let mut reports = text.match_indices("status: ").filter(|(at, _)| *at == 0 || text[..*at].ends_with('\n'));
        let mut starts: Vec<usize> = reports.by_ref().map(|(at, _)| at).collect();
        starts.retain(|at| reporter(&text[*at..]).is_some());
        let from = starts.first().copied().unwrap_or(text.len());
        self.add(PartKind::Messages, None, from);
        for (n, start) in starts.iter().enumerate() {
            let report = &text[*start..starts.get(n + 1).copied().unwrap_or(text.len())];
            self.add(PartKind::Report, reporter(report), report.len());
        }
    }

    fn parts(self, tokens: u64) -> Vec<ContextPart> {
        let whole = self.parts.iter().map(|(.., bytes)| bytes).sum::<u64>().max(1);
        let mut parts: Vec<ContextPart> = self
            .parts
            .into_iter()
            .filter(|(.., bytes)| *bytes > 0)
            .map(|(kind, name, bytes)| {
                let (agent, file) = if kind == PartKind::MemoryFile { (None, name) } else { (name, None) };
                ContextPart { kind, agent, file, bytes, tokens: tokens * bytes / whole }
            })
            .collect();
        parts.sort_by_key(|part| part.kind);
        parts
    }
}

/// Returns the name of the agent whose report begins here.
fn reporter(report: &str) -> Option<&str> {
    let mut lines = report.lines();
    lines.next().filter(|line| line.starts_with("status: "))?;
    let (name, _) = lines.next()?.strip_prefix("agent: ")?.split_once(' ')?;
    Some(name)
}
