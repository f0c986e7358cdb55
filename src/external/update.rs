//! What a program says of its work while it answers, as plain data.
//!
//! Pure. Owns what is kept of it. Leaves what is shown to `agent`. Invariant: bounded, and without control characters.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1 as acp;
use serde_json::Value;

use crate::message::{sanitize, sanitize_line};

/// Characters of a title.
const MAX_TITLE: usize = 400;
/// Bytes of one piece of text.
const MAX_TEXT: usize = 1 << 20;
/// Bytes of one version of a file.
const MAX_VERSION: usize = 4 << 20;
/// Files, or versions of files, of one call.
const MAX_FILES: usize = 50;
/// Steps of a plan.
const MAX_STEPS: usize = 100;

/// Tokens that are believed at most, of a context or of a prompt.
pub(super) const MAX_TOKENS: u64 = 1_000_000_000_000;
/// US dollars that are believed at most.
const MAX_USD: f64 = 1e9;

/// One thing that it says.
#[derive(Debug, Clone, PartialEq)]
pub enum ExternalUpdate {
    Text(String),
    Thought(String),
    /// A tool call has begun, or more is known of one.
    Call(Box<CallUpdate>),
    /// The whole plan; it replaces the one before.
    Plan(Vec<PlanStep>),
    /// It works in another mode now.
    Mode(String),
    /// How many tokens its context holds, and what the session has cost in US dollars.
    Usage {
        used: u64,
        cost_usd: Option<f64>,
    },
    /// Something that changes nothing here.
    Other,
}

/// What is known of a tool call. `None` leaves what was known before.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallUpdate {
    pub id: String,
    pub title: Option<String>,
    /// What the program calls the tool.
    pub name: Option<String>,
    pub kind: Option<CallKind>,
    pub status: Option<CallStatus>,
    /// Its output so far.
    pub text: Option<String>,
    pub diffs: Vec<CallDiff>,
    /// The files it is about, as it names them.
    pub paths: Vec<PathBuf>,
    pub input: Option<Value>,
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallDiff {
    pub path: PathBuf,
    /// `None` for a new file.
    pub old: Option<String>,
    pub new: String,
}

/// What a tool call does, in the words of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStatus {
    Running,
    Completed,
    Failed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStep {
    pub content: String,
    /// `None` while it has not begun, then whether it is done.
    pub is_done: Option<bool>,
}

impl From<acp::SessionUpdate> for ExternalUpdate {
    fn from(update: acp::SessionUpdate) -> Self {
        match update {
            acp::SessionUpdate::AgentMessageChunk(chunk) => Self::Text(text_of(chunk.content)),
            acp::SessionUpdate::AgentThoughtChunk(chunk) => Self::Thought(text_of(chunk.content)),
            acp::SessionUpdate::ToolCall(call) => Self::Call(Box::new(begun(call))),
            acp::SessionUpdate::ToolCallUpdate(update) => Self::Call(Box::new(update.into())),
            acp::SessionUpdate::Plan(plan) => Self::Plan(plan.entries.iter().take(MAX_STEPS).map(step).collect()),
            acp::SessionUpdate::CurrentModeUpdate(mode) => Self::Mode(line(&mode.current_mode_id.0)),
            acp::SessionUpdate::UsageUpdate(usage) => Self::Usage {
                used: usage.used.min(MAX_TOKENS),
                cost_usd: usage.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount.clamp(0.0, MAX_USD)),
            },
            _ => Self::Other,
        }
    }
}

fn begun(call: acp::ToolCall) -> CallUpdate {
    let (text, diffs) = content(call.content);
    CallUpdate {
        id: cut(&call.tool_call_id.0, MAX_TITLE).to_owned(),
        title: Some(line(&call.title)),
        name: call.name.as_deref().map(line),
        kind: Some(kind(call.kind)),
        status: Some(status(call.status)),
        text,
        diffs,
        paths: call.locations.into_iter().take(MAX_FILES).map(|location| location.path).collect(),
        input: call.raw_input,
    }
}

impl From<acp::ToolCallUpdate> for CallUpdate {
    fn from(update: acp::ToolCallUpdate) -> Self {
        let fields = update.fields;
        let (text, diffs) = content(fields.content.unwrap_or_default());
        let paths = fields.locations.unwrap_or_default().into_iter().take(MAX_FILES);
        Self {
            id: cut(&update.tool_call_id.0, MAX_TITLE).to_owned(),
            title: fields.title.as_deref().map(line),
            name: fields.name.as_deref().map(line),
            kind: fields.kind.map(kind),
            status: fields.status.map(status),
            text: text.or_else(|| output(fields.raw_output)),
            diffs,
            paths: paths.map(|location| location.path).collect(),
            input: fields.raw_input,
        }
    }
}

impl CallUpdate {
    /// Takes in what more is known of the same call.
    pub fn merge(&mut self, more: Self) {
        let Self { id: _, title, name, kind, status, text, diffs, paths, input } = more;
        self.title = title.or(self.title.take());
        self.name = name.or(self.name.take());
        self.kind = kind.or(self.kind);
        self.status = status.or(self.status);
        self.text = text.or(self.text.take());
        self.input = input.or(self.input.take());
        if !diffs.is_empty() {
            self.diffs = diffs;
        }
        if !paths.is_empty() {
            self.paths = paths;
        }
    }

    /// Moves what it says of files from one root to another.
    pub fn move_paths(&mut self, from: &Path, to: &Path) {
        let moved = |path: &PathBuf| path.strip_prefix(from).ok().map(|rest| to.join(rest));
        for path in self.paths.iter_mut().chain(self.diffs.iter_mut().map(|diff| &mut diff.path)) {
            *path = moved(path).unwrap_or_else(|| std::mem::take(path));
        }
        if let Some(title) = self.title.as_mut() {
            *title = title.replace(&format!("{}/", from.display()), "");
        }
    }

    /// Returns the command that it runs, if it says so.
    pub fn command(&self) -> Option<String> {
        if self.kind != Some(CallKind::Execute) {
            return None;
        }
        match self.input.as_ref()?.get("command")? {
            Value::String(command) => Some(command.clone()),
            Value::Array(words) => match words.iter().filter_map(Value::as_str).collect::<Vec<_>>().as_slice() {
                [.., "-c" | "-lc", line] => Some((*line).to_owned()),
                words => Some(words.iter().map(|word| crate::message::shell_word(word)).collect::<Vec<_>>().join(" ")),
            },
            _ => None,
        }
    }
}

fn content(content: Vec<acp::ToolCallContent>) -> (Option<String>, Vec<CallDiff>) {
    let (mut text, mut diffs) = (None::<String>, Vec::new());
    for part in content {
        match part {
            acp::ToolCallContent::Content(content) => {
                let all = text.get_or_insert_default();
                if all.len() < MAX_TEXT {
                    all.push_str(unfenced(&text_of(content.content)));
                }
            }
            acp::ToolCallContent::Diff(diff) if diffs.len() < MAX_FILES => diffs.push(CallDiff {
                path: diff.path,
                old: diff.old_text.map(|text| cut(&text, MAX_VERSION).to_owned()),
                new: cut(&diff.new_text, MAX_VERSION).to_owned(),
            }),
            _ => {}
        }
    }
    (text, diffs)
}

/// Returns what a block of code holds, if a text is one: several programs send output so, for editors that draw Markdown.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let rest = text.trim_end();
        let marks = rest.len() - rest.trim_start_matches('`').len();
        let (fence, rest) = rest.split_at(marks);
        let (info, rest) = rest.split_once('\n')?;
        let is_block = marks >= 3 && !info.contains('`');
        let inside = if rest == fence { "" } else { rest.strip_suffix(fence)?.strip_suffix('\n')? };
        let ends = |line: &str| line.trim_start().starts_with(fence);
        (is_block && !inside.lines().any(ends)).then_some(inside)
    };
    inside().unwrap_or(text)
}

/// Returns the output of a call that has no content.
fn output(raw: Option<Value>) -> Option<String> {
    let text = match raw? {
        Value::String(text) => text,
        Value::Object(fields) => {
            let known = ["output", "stdout", "formatted_output", "aggregated_output", "content", "error"];
            known.iter().find_map(|key| fields.get(*key)?.as_str()).map(str::to_owned)?
        }
        _ => return None,
    };
    Some(sanitize(cut(&text, MAX_TEXT)).into_owned())
}

fn text_of(block: acp::ContentBlock) -> String {
    let text = match block {
        acp::ContentBlock::Text(text) => text.text,
        acp::ContentBlock::ResourceLink(link) => link.uri,
        acp::ContentBlock::Resource(resource) => match resource.resource {
            acp::EmbeddedResourceResource::TextResourceContents(text) => text.text,
            _ => "[a resource]".to_owned(),
        },
        acp::ContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        acp::ContentBlock::Audio(audio) => format!("[sound, {}]", audio.mime_type),
        _ => String::new(),
    };
    sanitize(cut(&text, MAX_TEXT)).into_owned()
}

fn step(entry: &acp::PlanEntry) -> PlanStep {
    let is_done = match entry.status {
        acp::PlanEntryStatus::Completed => Some(true),
        acp::PlanEntryStatus::InProgress => Some(false),
        _ => None,
    };
    PlanStep { content: line(&entry.content), is_done }
}

fn kind(kind: acp::ToolKind) -> CallKind {
    match kind {
        acp::ToolKind::Read => CallKind::Read,
        acp::ToolKind::Edit => CallKind::Edit,
        acp::ToolKind::Delete => CallKind::Delete,
        acp::ToolKind::Move => CallKind::Move,
        acp::ToolKind::Search => CallKind::Search,
        acp::ToolKind::Execute => CallKind::Execute,
        acp::ToolKind::Think => CallKind::Think,
        acp::ToolKind::Fetch => CallKind::Fetch,
        _ => CallKind::Other,
    }
}

fn status(status: acp::ToolCallStatus) -> CallStatus {
    match status {
        acp::ToolCallStatus::Completed => CallStatus::Completed,
        acp::ToolCallStatus::Failed => CallStatus::Failed,
        _ => CallStatus::Running,
    }
}

fn line(text: &str) -> String {
    let start = text.char_indices().nth(MAX_TITLE).map_or(text, |(end, _)| &text[..end]);
    sanitize_line(start).into_owned()
}

/// Cuts a text to so many bytes, between two characters.
fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
