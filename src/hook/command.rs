//! What a hook runs: a command, a request, a question to a model, or a call of a server's tool.
//!
//! Owns reading it, and how it is shown to whoever trusts it. Leaves carrying it out to others. Source of the format: the
//! reference of Claude Code's hooks. Invariant: what is shown names everything that a change would be trusted for.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::HookEvent;
use super::question::{HookJudge, HookQuestion};
use crate::message::format::shell_word;
use crate::message::sanitize_line;

/// Characters of a command that are shown.
const SHOWN_CHARS: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HookCommand {
    /// A line for a shell.
    Line(String),
    /// A program with its arguments.
    Program(Vec<String>),
    /// A function of the calling program, by the name that it goes by there.
    Callback(String),
    /// An address that is sent what happens, and answers.
    Http(HookRequest),
    /// A tool of an MCP server.
    Tool(HookToolCall),
    /// A model that judges.
    Question(HookQuestion),
    /// One that cannot run here, for this reason.
    Unrunnable { why: String },
}

/// What is sent to an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookRequest {
    pub url: String,
    /// With their variables, which are filled in as it is sent.
    pub headers: Vec<(String, String)>,
    /// The variables that headers may hold.
    pub variables: Vec<String>,
}

/// A call of a tool of an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookToolCall {
    pub server: String,
    pub tool: String,
    /// JSON in whose texts `${a.b}` stands for a field of the event.
    pub input: String,
}

/// Where a hook runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPlace {
    /// In the sandbox, where there is one.
    Inside,
    Outside,
    /// Not on this machine, or in no process of its own, in these words.
    Elsewhere(String),
}

impl HookPlace {
    /// Returns it in words, in a session with a sandbox or without; `None` until that is known.
    #[must_use]
    pub fn words(&self, has_sandbox: Option<bool>) -> &str {
        match (self, has_sandbox) {
            (Self::Inside, Some(true)) => "in the sandbox",
            (Self::Inside, Some(false)) => "outside: there is no sandbox",
            (Self::Inside, None) => "in the sandbox, if there is one",
            (Self::Outside, _) => "outside the sandbox",
            (Self::Elsewhere(words), _) => words,
        }
    }
}

impl fmt::Display for HookCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Callback(id) => write!(f, "callback {id}"),
            Self::Unrunnable { why } => write!(f, "[{why}]"),
            Self::Http(HookRequest { url, headers, variables }) => {
                write!(f, "POST {}", shell_word(url))?;
                for (name, value) in headers {
                    write!(f, " [with header {}={}]", shell_word(name), shell_word(value))?;
                }
                variables.iter().try_for_each(|name| write!(f, " [with ${}]", shell_word(name)))
            }
            Self::Tool(HookToolCall { server, tool, input }) => {
                write!(f, "{} of {} with {input}", shell_word(tool), shell_word(server))
            }
            Self::Question(question) => question.fmt(f),
            Self::Program(words) => {
                let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

impl HookCommand {
    /// Returns what a hook runs, or why it cannot.
    pub(super) fn read(event: HookEvent, fields: &Map<String, Value>) -> Result<Self, String> {
        let judge = match fields.get("type").and_then(Value::as_str) {
            Some("command") => return Self::of_shell(fields),
            Some("http") => return request(fields).map(Self::Http),
            Some("mcp_tool") => return tool_call(fields).map(Self::Tool),
            Some("prompt") => HookJudge::Model,
            Some("agent") => HookJudge::Agent,
            _ => return Err("has no known `type`".to_owned()),
        };
        HookQuestion::read(judge, event, fields).map(Self::Question)
    }

    fn of_shell(fields: &Map<String, Value>) -> Result<Self, String> {
        if fields.get("shell").and_then(Value::as_str).is_some_and(|shell| shell != "bash") {
            return Err("is for another shell than bash".to_owned());
        }
        command_line(fields).ok_or_else(|| "has no `command`".to_owned())
    }

    /// Returns it as one line that fits a screen.
    #[must_use]
    pub fn shown(&self) -> String {
        let text = match self {
            // Its headers may be secrets.
            Self::Http(request) => format!("POST {}", request.url),
            other => other.to_string(),
        };
        let text = sanitize_line(&text).into_owned();
        match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// Returns the line that starts a program; nothing if it starts none.
    #[must_use]
    pub fn program_line(&self) -> String {
        match self {
            Self::Line(_) | Self::Program(_) => self.to_string(),
            Self::Callback(_) | Self::Http(_) | Self::Tool(_) | Self::Question(_) | Self::Unrunnable { .. } => {
                String::new()
            }
        }
    }

    /// Returns where it runs. `is_outside` is asked about a command.
    pub(super) fn place(&self, is_outside: impl FnOnce() -> Option<bool>) -> Option<HookPlace> {
        let words = match self {
            Self::Line(_) | Self::Program(_) => {
                return is_outside().map(|outside| if outside { HookPlace::Outside } else { HookPlace::Inside });
            }
            Self::Unrunnable { .. } => return None,
            Self::Callback(_) => "by the calling program".to_owned(),
            Self::Http(request) => {
                let url = reqwest::Url::parse(&request.url).ok();
                format!("at {}", url.as_ref().and_then(reqwest::Url::host_str).unwrap_or("an address"))
            }
            Self::Tool(call) => format!("by the MCP server {}", call.server),
            Self::Question(HookQuestion { judge, model, .. }) => {
                let whom = if *judge == HookJudge::Agent { "an agent" } else { "a model" };
                format!("by {whom} ({})", model.as_deref().unwrap_or("a small one"))
            }
        };
        Some(HookPlace::Elsewhere(sanitize_line(&words).into_owned()))
    }

    /// Returns `true` if a model judges.
    pub(super) fn asks_model(&self) -> bool {
        matches!(self, Self::Question(_))
    }

    /// Returns `true` if nothing need wait for it when its entry says `async`. All else is asked, and what is asked is
    /// waited for.
    pub(super) fn can_be_async(&self) -> bool {
        matches!(self, Self::Line(_) | Self::Program(_))
    }

    /// Returns the word before it in what the user trusts; empty for a command.
    pub(super) fn kind_word(&self) -> &'static str {
        match self {
            Self::Line(_) | Self::Program(_) | Self::Callback(_) => "",
            Self::Http(_) => " [http]",
            Self::Tool(_) => " [mcp_tool]",
            Self::Question(HookQuestion { judge: HookJudge::Model, .. }) => " [prompt]",
            Self::Question(HookQuestion { judge: HookJudge::Agent, .. }) => " [agent]",
            Self::Unrunnable { .. } => " [does not run]",
        }
    }
}

/// Returns what is sent to an address.
fn request(fields: &Map<String, Value>) -> Result<HookRequest, String> {
    let url = fields.get("url").and_then(Value::as_str).unwrap_or_default();
    let parsed = reqwest::Url::parse(url).map_err(|_| "has no `url` that is an address".to_owned())?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("has a `url` that begins with {}:, not http: or https:", parsed.scheme()));
    }
    let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    let headers = match fields.get("headers") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(headers) => headers.as_object().and_then(|headers| headers.iter().map(pair).collect()),
    };
    let names = fields.get("allowedEnvVars").and_then(Value::as_array).into_iter().flatten();
    Ok(HookRequest {
        url: url.to_owned(),
        headers: headers.ok_or("has `headers` that are no object of strings")?,
        variables: names.filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}

/// Returns which tool is called, and with what.
fn tool_call(fields: &Map<String, Value>) -> Result<HookToolCall, String> {
    let name = |key: &str| {
        let text = fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        text.map(str::to_owned).ok_or_else(|| format!("has no `{key}`"))
    };
    let input = match fields.get("input") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(input @ Value::Object(_)) => input.clone(),
        Some(_) => return Err("has an `input` that is no object".to_owned()),
    };
    Ok(HookToolCall { server: name("server")?, tool: name("tool")?, input: input.to_string() })
}

fn command_line(fields: &Map<String, Value>) -> Option<HookCommand> {
    let line = fields.get("command")?.as_str().filter(|line| !line.trim().is_empty() && !line.contains('\0'))?;
    match fields.get("args") {
        None | Some(Value::Null) => Some(HookCommand::Line(line.to_owned())),
        Some(args) => {
            let args = args.as_array()?.iter().map(|word| word.as_str().filter(|word| !word.contains('\0')));
            let args: Option<Vec<&str>> = args.collect();
            Some(HookCommand::Program(std::iter::once(line).chain(args?).map(str::to_owned).collect()))
        }
    }
}
