//! What the conversation holds so far: the task, what was asked of tools, and what they said.
//!
//! Owns planned calls, reading the transcript and the line formats of tool results. Leaves judging them to the answers,
//! which [ask](Evidence::ask) for what they need and end there until it is known. Invariant: only what follows the user's
//! last message counts; a format that is not understood yields nothing, never an error.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::memory::gives_memory;
use crate::message::{Message, ToolCall, ToolInput, reminded};
use crate::provider::Request;

#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCall {
    pub name: String,
    pub input: Map<String, Value>,
}

impl PlannedCall {
    pub(super) fn new(name: &str, input: Value) -> Self {
        let input = match input {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Self { name: name.to_owned(), input }
    }

    pub(super) fn glob(pattern: &str) -> Self {
        Self::new("Glob", json!({ "pattern": pattern }))
    }

    pub(super) fn bash(command: &str, description: &str) -> Self {
        Self::new("Bash", json!({ "command": command, "description": description }))
    }

    pub(super) fn read(path: &str) -> Self {
        Self::new("Read", json!({ "file_path": path }))
    }

    /// Reads `limit` lines from line `offset` on, which counts from 1.
    pub(super) fn read_part(path: &str, offset: usize, limit: usize) -> Self {
        Self::new("Read", json!({ "file_path": path, "offset": offset, "limit": limit }))
    }

    /// Searches files that match a glob without regard to case, and returns `path:line:text`.
    pub(super) fn grep(pattern: &str, glob: &str, limit: usize) -> Self {
        let input = json!({
            "pattern": pattern, "glob": glob, "output_mode": "content", "-n": true, "-i": true, "head_limit": limit,
        });
        Self::new("Grep", input)
    }

    /// Returns a string argument, empty where there is none.
    pub(super) fn argument(&self, key: &str) -> &str {
        self.input.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn agent(kind: &str, description: &str, prompt: &str) -> Self {
        Self::new("Agent", json!({ "description": description, "prompt": prompt, "subagent_type": kind }))
    }
}

#[derive(Debug)]
pub(super) struct Exchange<'a> {
    call: &'a ToolCall,
    pub(super) output: String,
    /// Whether the tool failed or was denied.
    pub(super) is_error: bool,
}

impl Exchange<'_> {
    /// Names what was asked, for a sentence on a failure.
    pub(super) fn title(&self) -> String {
        let keys = ["command", "pattern", "file_path", "path", "description"];
        let what = keys.iter().find_map(|key| self.call.input.str(key)).unwrap_or_default();
        format!("{} `{}`", self.call.name, what.replace('`', "'"))
    }
}

/// A line worth opening, as a tool showed it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CitedPlace {
    pub(super) path: String,
    pub(super) line: usize,
    /// What stands there, such as `function`, `use in` or `file`.
    pub(super) kind: String,
    /// Of a definition its name, with that of what it belongs to, as in `Cart.total`; of a use what it stands in.
    pub(super) name: String,
    /// The line, or the signature.
    pub(super) text: String,
    /// The first sentence on a definition or a file.
    pub(super) doc: String,
    /// Whether it fits much less than the best.
    pub(super) is_spare: bool,
}

/// What an answer is until everything it asked for is known.
#[derive(Debug)]
pub(super) struct NotYet;

/// Times that tools are asked at most.
const MAX_ROUNDS: usize = 12;

/// The part of a conversation that answers one request.
#[derive(Debug)]
pub(super) struct Evidence<'a> {
    task: &'a str,
    exchanges: Vec<Exchange<'a>>,
    /// What has been asked for, and is not known.
    wanted: RefCell<Vec<PlannedCall>>,
    tools: Vec<&'a str>,
    root: Option<String>,
    is_main_agent: bool,
    /// Whether the answer has to come from what is there.
    must_end: bool,
}

impl<'a> Evidence<'a> {
    pub(super) fn read(request: &'a Request) -> Self {
        // Rules follow no instructions, and these are nobody's question.
        let is_said = |message: &&Message| !matches!(message, Message::User { text } if gives_memory(text) || reminded(text).is_some());
        let messages: Vec<&Message> = request.messages.iter().map(AsRef::as_ref).filter(is_said).collect();
        let must_end = request.tools.is_empty() || is_wrap_up(&messages);
        let start = task_start(&messages, must_end);
        let task = match messages.get(start) {
            Some(Message::User { text }) => text.as_str(),
            _ => "",
        };
        let rest = messages.get(start..).unwrap_or_default();
        let rounds = rest.iter().filter(|message| matches!(message, Message::ToolResults { .. })).count();
        let delegated = messages.iter().any(|message| match message {
            Message::Assistant(reply) => reply.tool_calls().any(|call| is_agent(&call.name)),
            _ => false,
        });
        let offered = request.tools.iter().any(|tool| is_agent(&tool.name));
        Self {
            task,
            exchanges: exchanges(rest),
            wanted: RefCell::default(),
            tools: request.tools.iter().map(|tool| tool.name.as_str()).collect(),
            root: root(&request.system),
            must_end: must_end || rounds >= MAX_ROUNDS,
            is_main_agent: delegated || !is_subagent(&request.system, task, offered),
        }
    }

    /// Returns the request to answer.
    pub(super) fn task(&self) -> &'a str {
        self.task
    }

    /// Returns `true` if this is the agent that talks to the user.
    pub(super) fn is_main_agent(&self) -> bool {
        self.is_main_agent
    }

    /// Asks for calls, and goes on once all are answered: those that are not offered never are.
    pub(super) fn ask(&self, calls: impl IntoIterator<Item = PlannedCall>) -> Result<(), NotYet> {
        let is_open = |call: &PlannedCall| {
            let offers = |tool: &&str| **tool == call.name || is_agent(tool) && is_agent(&call.name);
            !self.must_end && self.tools.iter().any(offers) && self.find(call).is_none()
        };
        let open: Vec<PlannedCall> = calls.into_iter().filter(is_open).collect();
        if open.is_empty() {
            return Ok(());
        }
        let mut wanted = self.wanted.borrow_mut();
        for call in open {
            if !wanted.contains(&call) {
                wanted.push(call);
            }
        }
        Err(NotYet)
    }

    /// Returns all that was asked for and is not known, in its order.
    pub(super) fn wanted(&self) -> Vec<PlannedCall> {
        self.wanted.take()
    }

    /// Returns the result of exactly this call.
    pub(super) fn find(&self, call: &PlannedCall) -> Option<&Exchange<'a>> {
        self.exchanges.iter().find(|exchange| {
            exchange.call.name == call.name
                && matches!(&exchange.call.input, ToolInput::Object(input) if *input == call.input)
        })
    }

    /// Returns the text of a call that went well.
    pub(super) fn output(&self, call: &PlannedCall) -> Option<&str> {
        self.find(call).filter(|exchange| !exchange.is_error).map(|exchange| exchange.output.as_str())
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &Exchange<'a>> {
        self.exchanges.iter().filter(|exchange| exchange.is_error)
    }

    /// Returns all that is known of a file's lines, by number.
    pub(super) fn lines_of(&self, path: &str) -> BTreeMap<usize, String> {
        let mut lines = BTreeMap::new();
        for exchange in self.exchanges.iter().filter(|exchange| !exchange.is_error && exchange.call.name == "Read") {
            if exchange.call.input.str("file_path").is_some_and(|read| self.relative(read) == path) {
                lines.extend(numbered(&exchange.output));
            }
        }
        lines
    }

    /// Returns the lines that a call found, written as `path:line:text`.
    pub(super) fn hits(&self, call: &PlannedCall, kind: &str) -> Vec<CitedPlace> {
        let read = |line: &str| {
            let mut colons = line.match_indices(':').map(|(at, _)| at);
            let (path, line, text) = colons.find_map(|at| {
                let (number, text) = line[at + 1..].split_once(':')?;
                Some((&line[..at], number.parse().ok()?, text))
            })?;
            let (path, kind, text) = (self.relative(path), kind.to_owned(), text.to_owned());
            Some(CitedPlace { path, line, kind, text, ..CitedPlace::default() })
        };
        self.output(call).unwrap_or_default().lines().filter_map(read).collect()
    }

    /// Returns the paths that a call listed one per line.
    pub(super) fn paths(&self, call: &PlannedCall) -> Vec<String> {
        let lines = self.output(call).unwrap_or_default().lines();
        lines.map(str::trim).filter(|line| looks_like_path(line)).map(|line| self.relative(line)).collect()
    }

    /// Returns what the project's folder is called, without a version.
    pub(super) fn project(&self) -> Option<&str> {
        let name = self.root.as_deref()?.rsplit('/').next()?;
        let end = name
            .match_indices('-')
            .map(|(at, _)| at)
            .find(|at| name[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
        Some(&name[..end.unwrap_or(name.len())])
    }

    /// Returns a path as seen from the working directory.
    pub(super) fn relative(&self, path: &str) -> String {
        let path = path.strip_prefix("./").unwrap_or(path);
        let inside = self.root.as_deref().and_then(|root| path.strip_prefix(root)).and_then(|p| p.strip_prefix('/'));
        inside.unwrap_or(path).to_owned()
    }
}

/// Returns `true` if a report with tags is expected: the prompt of a subagent says so, or its task has the form of one.
///
/// A subagent may itself be offered subagents; a main agent may have been left without.
fn is_subagent(system: &str, task: &str, may_delegate: bool) -> bool {
    let has_form = is_task_form(task);
    if system.contains("<summary>") { has_form || !may_delegate } else { has_form && !may_delegate }
}

/// Returns `true` if a text is a task in the form WHAT, WHERE, RETURN, which only a parent writes.
pub(crate) fn is_task_form(text: &str) -> bool {
    text.contains("WHAT:") && text.contains("RETURN:")
}

fn is_agent(name: &str) -> bool {
    name == "Agent" || name == "Task"
}

/// Returns `true` if the last message only asks an agent at work to report now.
fn is_wrap_up(messages: &[&Message]) -> bool {
    let Some(Message::User { text }) = messages.last() else { return false };
    let lower = text.to_lowercase();
    let asks =
        lower.contains("report") && ["now", "stop", "wrap up", "at once"].iter().any(|word| lower.contains(word));
    asks && messages.iter().any(|message| matches!(message, Message::ToolResults { .. }))
}

/// Finds the message to answer: the user's last one, or, where a last turn without tools asks for a report, the one
/// that the work so far was done for.
fn task_start(messages: &[&Message], is_last_turn: bool) -> usize {
    let is_user = |at: &usize| matches!(messages[*at], Message::User { .. });
    let last = (0..messages.len()).rev().find(is_user).unwrap_or(0);
    let works = |at: &usize| matches!(messages[*at], Message::ToolResults { .. });
    let worked = (0..messages.len()).rev().find(works).filter(|at| is_last_turn && *at < last);
    worked.and_then(|work| (0..work).rev().find(is_user)).unwrap_or(last)
}

fn exchanges<'a>(messages: &[&'a Message]) -> Vec<Exchange<'a>> {
    let of = |pair: &[&'a Message]| -> Vec<Exchange<'a>> {
        let [Message::Assistant(reply), Message::ToolResults { results }] = pair else { return Vec::new() };
        let answered = |call: &'a ToolCall| {
            let result = results.iter().find(|result| result.call_id == call.id)?;
            Some(Exchange { call, output: result.joined_text(), is_error: result.is_error })
        };
        reply.tool_calls().filter_map(answered).collect()
    };
    messages.windows(2).flat_map(of).collect()
}

/// Finds the working directory where the system prompt names it.
fn root(system: &str) -> Option<String> {
    system.lines().find_map(|line| {
        let lower = line.to_ascii_lowercase();
        if !["working directory", "cwd"].iter().any(|word| lower.contains(word)) {
            return None;
        }
        let start = line.find('/')?;
        let path: String = line[start..].chars().take_while(|c| !"`'\"<>,".contains(*c)).collect();
        Some(path.trim_end_matches(['/', '.', ' ']).to_owned()).filter(|path| path.len() > 1)
    })
}

/// Reads the lines of a file view: a number, a tab or an arrow, the text.
fn numbered(output: &str) -> Vec<(usize, String)> {
    output
        .lines()
        .filter_map(|line| {
            let (number, text) = line.split_once(['\t', '→'])?;
            Some((number.trim().parse().ok()?, text.to_owned()))
        })
        .collect()
}

fn looks_like_path(line: &str) -> bool {
    let is_sentence =
        line.split(' ').count() > 3 || line.starts_with(['(', '[', '<']) || line.ends_with(['.', ':', ')']);
    !line.is_empty() && !is_sentence && line != "No files found"
}
