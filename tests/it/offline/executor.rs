//! A stand-in for the agent loop: runs the offline model's tool calls in a folder, children included.
//!
//! Owns the result formats that the model has to understand. Leaves limits, permissions and screens to the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::message::{AssistantMessage, Block, Message, ToolCall, ToolInput, ToolResult, ToolSpec};
use belvedere::provider::Request;
use belvedere::provider::offline::{Call, plan};
use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use serde_json::Value;

/// A conversation with the offline model about one folder.
pub(super) struct Session {
    root: PathBuf,
    messages: Vec<Arc<Message>>,
    /// Each tool call of the main agent and of its children, as `Name key`.
    pub(super) log: Vec<String>,
    /// The text of every child's report.
    pub(super) reports: Vec<String>,
    /// Names of tools that are refused.
    pub(super) refused: Vec<&'static str>,
    /// Status lines to put on the reports of children, by position.
    pub(super) statuses: Vec<&'static str>,
}

const TOOLS: [&str; 9] = ["Read", "Write", "Edit", "Bash", "Glob", "Grep", "LS", "TodoWrite", "Agent"];

impl Session {
    pub(super) fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            messages: Vec::new(),
            log: Vec::new(),
            reports: Vec::new(),
            refused: Vec::new(),
            statuses: Vec::new(),
        }
    }

    /// Says something and returns the final answer.
    pub(super) fn ask(&mut self, text: &str) -> String {
        self.messages.push(Arc::new(Message::user(text)));
        let mut messages = std::mem::take(&mut self.messages);
        let answer = self.converse(&mut messages, &TOOLS);
        self.messages = messages;
        answer
    }

    /// Gives a task to a child and returns its report.
    pub(super) fn delegate(&mut self, task: &str) -> String {
        self.child(task, "explore")
    }

    fn converse(&mut self, messages: &mut Vec<Arc<Message>>, tools: &[&str]) -> String {
        for _ in 0..20 {
            let mut asked = request(messages.clone(), tools);
            if !tools.contains(&"Agent") {
                asked.system = "You are a subagent. End with <summary>.".into();
            }
            let reply = plan(&asked);
            let calls: Vec<ToolCall> =
                reply.calls.iter().enumerate().map(|(n, call)| named(call, messages.len(), n)).collect();
            let mut content = vec![Block::Text { text: reply.text.clone() }];
            content.extend(calls.iter().cloned().map(Block::ToolCall));
            messages.push(Arc::new(Message::Assistant(AssistantMessage { content })));
            if calls.is_empty() {
                return reply.text;
            }
            let results = calls.iter().map(|call| self.execute(call)).collect();
            messages.push(Arc::new(Message::ToolResults { results }));
        }
        panic!("the model never came to an end");
    }

    fn execute(&mut self, call: &ToolCall) -> ToolResult {
        let arg = |key: &str| call.input.str(key).unwrap_or_default().to_owned();
        let key = ["command", "pattern", "file_path", "path", "description"].iter().find_map(|key| call.input.str(key));
        self.log.push(format!("{} {}", call.name, key.unwrap_or_default()));
        if self.refused.contains(&call.name.as_str()) {
            return ToolResult::error(&call.id, format!("{} was denied by the user.", call.name));
        }
        let outcome = match call.name.as_str() {
            "Agent" => Ok(self.child(&arg("prompt"), &arg("subagent_type"))),
            "Read" => self.read(call),
            "Glob" => self.glob(&arg("pattern")),
            "Grep" => self.grep(call),
            "LS" => self.ls(&arg("path")),
            "Bash" => self.bash(&arg("command")),
            other => Err(format!("unknown tool {other}")),
        };
        match outcome {
            Ok(text) => ToolResult::text(&call.id, text),
            Err(text) => ToolResult::error(&call.id, text),
        }
    }

    fn child(&mut self, prompt: &str, kind: &str) -> String {
        assert!(prompt.len() >= 30, "the task is too brief: {prompt}");
        let mut messages = vec![Arc::new(Message::user(prompt))];
        let number = self.reports.len();
        let text = self.converse(&mut messages, &["Read", "Bash", "Glob", "Grep", "LS"]);
        let status = self.statuses.get(number).copied().unwrap_or("completed");
        let text = if status == "failed" { "<summary>failed: no connection</summary>".to_owned() } else { text };
        assert!(text.contains("<summary>") && text.len() < 8000, "not a report: {text}");
        self.reports.push(text.clone());
        format!("status: {status}\nagent: {kind}-{number} ({kind})   tools: 3   time: 1.0s   tokens: 100\n{text}")
    }

    fn read(&self, call: &ToolCall) -> Result<String, String> {
        let path = call.input.str("file_path").unwrap_or_default();
        let number = |key: &str| match &call.input {
            ToolInput::Object(map) => map.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok()),
            ToolInput::Malformed(_) => None,
        };
        let text = std::fs::read(self.root.join(path)).map_err(|fault| format!("{path}: {fault}"))?;
        let text = String::from_utf8_lossy(&text);
        let (offset, limit) = (number("offset").unwrap_or(1).max(1), number("limit").unwrap_or(2000));
        let lines = text.lines().enumerate().skip(offset - 1).take(limit);
        Ok(lines.map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect::<Vec<_>>().join("\n"))
    }

    fn files(&self) -> Vec<String> {
        let walk = ignore::WalkBuilder::new(&self.root).sort_by_file_path(Path::cmp).build();
        walk.flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .map(|entry| relative(&self.root, entry.path()))
            .collect()
    }

    fn glob(&self, pattern: &str) -> Result<String, String> {
        let glob = matcher(pattern)?;
        let all: Vec<String> = self.files().into_iter().filter(|path| glob.is_match(path)).collect();
        if all.is_empty() {
            return Ok("No files found".to_owned());
        }
        let mut out = all.iter().take(100).cloned().collect::<Vec<_>>().join("\n");
        if all.len() > 100 {
            let _ = write!(out, "\n({} more files; use a narrower pattern)", all.len() - 100);
        }
        Ok(out)
    }

    fn grep(&self, call: &ToolCall) -> Result<String, String> {
        let ToolInput::Object(input) = &call.input else { return Err("malformed".to_owned()) };
        let pattern = call.input.str("pattern").unwrap_or_default();
        let insensitive = input.get("-i").and_then(Value::as_bool).unwrap_or(false);
        let regex =
            RegexMatcherBuilder::new().case_insensitive(insensitive).build(pattern).map_err(|e| e.to_string())?;
        let glob = call.input.str("glob").map(matcher).transpose()?;
        let counts = call.input.str("output_mode") == Some("count");
        let limit = input
            .get("head_limit")
            .and_then(Value::as_u64)
            .map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let within = call.input.str("path").unwrap_or_default();
        let mut rows: Vec<String> = Vec::new();
        for path in self.files().iter().filter(|path| path.starts_with(within)) {
            if glob.as_ref().is_some_and(|glob| !glob.is_match(path)) {
                continue;
            }
            let Ok(text) = std::fs::read_to_string(self.root.join(path)) else { continue };
            let hits = text.lines().enumerate().filter(|(_, line)| regex.is_match(line.as_bytes()).unwrap_or(false));
            if counts {
                let count = hits.count();
                rows.extend((count > 0).then(|| format!("{path}:{count}")));
            } else {
                rows.extend(hits.map(|(at, line)| format!("{path}:{}:{line}", at + 1)));
            }
        }
        if rows.is_empty() {
            return Ok("No matches found".to_owned());
        }
        rows.truncate(limit);
        Ok(rows.join("\n"))
    }

    fn ls(&self, path: &str) -> Result<String, String> {
        let mut names: Vec<String> = std::fs::read_dir(self.root.join(path))
            .map_err(|fault| format!("{path}: {fault}"))?
            .flatten()
            .map(|entry| format!("  - {}", entry.file_name().to_string_lossy()))
            .collect();
        names.sort();
        Ok(format!("- {path}/\n{}", names.join("\n")))
    }

    fn bash(&self, command: &str) -> Result<String, String> {
        if !belvedere::permission::is_read_only(command) {
            return Err(format!("`{command}` was denied: nobody is there to approve it."));
        }
        let words: Vec<&str> = command.split(' ').collect();
        let out = std::process::Command::new(words[0])
            .args(&words[1..])
            .current_dir(&self.root)
            .env("GIT_CEILING_DIRECTORIES", self.root.parent().unwrap_or(&self.root))
            .output()
            .map_err(|fault| fault.to_string())?;
        let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        if out.status.success() { Ok(text) } else { Err(format!("{text}\n[exit {}]", out.status.code().unwrap_or(-1))) }
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().map_err(|fault| fault.to_string())?;
    Ok(glob.compile_matcher())
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn named(call: &Call, at: usize, n: usize) -> ToolCall {
    ToolCall { id: format!("c{at}_{n}"), name: call.name.clone(), input: ToolInput::Object(call.input.clone()) }
}

/// Builds a request as the loop would.
pub(super) fn request(messages: Vec<Arc<Message>>, tools: &[&str]) -> Request {
    let spec = |name: &&str| ToolSpec {
        name: (*name).to_owned(),
        description: String::new(),
        input_schema: serde_json::json!({ "type": "object" }),
    };
    Request {
        model: "offline".to_owned(),
        system: "You are an agent.".into(),
        messages,
        tools: tools.iter().map(spec).collect::<Vec<_>>().into(),
        max_output_tokens: 8000,
    }
}
