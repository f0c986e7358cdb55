//! One hook as it is written: its event, its matcher, its command.
//!
//! Owns reading the `hooks` of settings, agent files and skills. Source of the format: the reference of Claude Code's hooks.
//! Invariant: what is written and not acted on is named.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::event::HookEvent;
use super::matcher::HookMatcher;
use crate::message::format::shell_word;
use crate::message::sanitize_line;

/// Seconds that a hook may take unless it says otherwise.
const USUAL_TIMEOUT: f64 = 600.0;
/// The same for hooks before a message is sent.
const PROMPT_TIMEOUT: f64 = 30.0;
/// The same for hooks at the end of the program, which may take no longer.
const END_TIMEOUT: f64 = 1.5;
/// Seconds that a hook at the end may be given.
const MAX_END_TIMEOUT: f64 = 10.0;
/// Seconds that any other hook may be given.
const MAX_TIMEOUT: f64 = 3_600.0;
/// Hooks of one file that count.
const MAX_HOOKS: usize = 500;
/// What of a command is shown.
const SHOWN_CHARS: usize = 120;

/// One command that runs at an event.
#[derive(Debug, Clone)]
pub struct HookHandler {
    pub event: HookEvent,
    /// As written.
    pub matcher_text: String,
    pub(super) matcher: HookMatcher,
    pub command: HookCommand,
    pub timeout: Duration,
    /// Whether nothing waits for it.
    pub is_async: bool,
    /// Whether it runs once in a session (`once`, in skills).
    pub is_once: bool,
    /// Whether it blocks what it cannot judge (`onFailure`).
    pub blocks_on_failure: bool,
    pub source: HookSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum HookCommand {
    /// A line for a shell.
    Line(String),
    /// A program with its arguments.
    Program(Vec<String>),
    /// A function of the calling program, by the name that it goes by there.
    Callback(String),
}

impl fmt::Display for HookCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Callback(id) => write!(f, "callback {id}"),
            Self::Program(words) => {
                let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
                f.write_str(&words.join(" "))
            }
        }
    }
}

impl HookCommand {
    /// Returns it as one line that fits a screen.
    #[must_use]
    pub fn shown(&self) -> String {
        let text = sanitize_line(&self.to_string()).into_owned();
        match text.char_indices().nth(SHOWN_CHARS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// Where a hook is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookSource {
    /// The file, as shown.
    pub place: Arc<str>,
    /// Whether it comes with the project.
    pub is_projects: bool,
    /// Whether it is the organization's.
    pub is_managed: bool,
    /// The folder of the plugin that it is part of.
    pub plugin: Option<Arc<Path>>,
}

/// A hook of a session: where it is written, and what the user trusts of it.
pub(super) type HookKey = (HookSource, String);

impl HookHandler {
    /// Reads what stands behind `hooks`. Returns the hooks that can run, and what is to be said of the others.
    pub fn read(value: &Value, source: &HookSource) -> (Vec<Self>, Vec<String>) {
        Self::read_all(value, source, Owner::Other)
    }

    /// Reads what a skill says of hooks, as [`HookHandler::read`] does.
    pub fn read_of_skill(value: &Value, source: &HookSource) -> (Vec<Self>, Vec<String>) {
        Self::read_all(value, source, Owner::Skill)
    }

    fn read_all(value: &Value, source: &HookSource, owner: Owner) -> (Vec<Self>, Vec<String>) {
        let mut found = Found { source, owner, handlers: Vec::new(), said: Vec::new() };
        match value {
            Value::Object(events) => events.iter().for_each(|(name, groups)| found.event(name, groups)),
            _ => found.say("`hooks` must be an object of events; none of them run."),
        }
        (found.handlers, found.said)
    }

    /// Says what the user trusts who trusts a project's hook: whatever of this changes is asked about anew.
    #[must_use]
    pub fn trust_text(&self) -> String {
        let matcher = &self.matcher_text;
        let matcher = if matcher.is_empty() { String::new() } else { format!(" {}", shell_word(matcher)) };
        format!("{}{matcher}: {}", self.event.name(), self.command)
    }

    /// Returns what tells it from others of a session.
    pub(super) fn key(&self) -> HookKey {
        (self.source.clone(), self.trust_text())
    }

    /// Returns `true` if it is meant for what an event is about, such as the tool of this name.
    #[must_use]
    pub fn covers(&self, subject: &str) -> bool {
        self.matcher.covers(subject)
    }
}

/// In what kind of file a hook is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Skill,
    Other,
}

struct Found<'a> {
    source: &'a HookSource,
    owner: Owner,
    handlers: Vec<HookHandler>,
    said: Vec<String>,
}

impl Found<'_> {
    fn say(&mut self, text: &str) {
        self.said.push(sanitize_line(text).into_owned());
    }

    fn event(&mut self, name: &str, groups: &Value) {
        let event = match HookEvent::named(name) {
            Ok(event) => event,
            Err(why) => return self.say(&format!("hooks: {why}")),
        };
        let Some(groups) = groups.as_array() else {
            return self.say(&format!("hooks: {name} must be a list; its hooks do not run."));
        };
        for group in groups {
            let matcher = group.get("matcher").map_or(Some(""), Value::as_str);
            let (Some(matcher), Some(hooks)) = (matcher, group.get("hooks").and_then(Value::as_array)) else {
                self.say(&format!("hooks: an entry of {name} is not {{matcher, hooks}}; it does not run."));
                continue;
            };
            for hook in hooks {
                self.hook(event, matcher, hook);
            }
        }
    }

    fn hook(&mut self, event: HookEvent, matcher_text: &str, hook: &Value) {
        let name = event.name();
        let Some(fields) = hook.as_object() else {
            return self.say(&format!("hooks: an entry of {name} is no object; it does not run."));
        };
        match fields.get("type").and_then(Value::as_str) {
            Some("command") => {}
            Some(kind @ ("prompt" | "http" | "agent" | "mcp_tool")) => {
                return self.say(&format!("hooks: a hook of {name} is of type `{kind}`, which does not run here."));
            }
            _ => return self.say(&format!("hooks: a hook of {name} has no known `type`; it does not run.")),
        }
        let Some(command) = command(fields) else {
            return self.say(&format!("hooks: a hook of {name} has no `command`; it does not run."));
        };
        if fields.get("shell").and_then(Value::as_str).is_some_and(|shell| shell != "bash") {
            return self.say(&format!("hooks: a hook of {name} is for another shell than bash; it does not run."));
        }
        if self.handlers.len() == MAX_HOOKS {
            return self.say(&format!("hooks: only the first {MAX_HOOKS} of a file run."));
        }
        let counts = if self.owner == Owner::Skill { "once" } else { "" };
        let is_idle = |key: &&str| fields.contains_key(*key) && *key != counts;
        for idle in ["if", "once", "asyncRewake"].into_iter().filter(is_idle) {
            self.say(&format!("hooks: `{idle}` of a hook of {name} has no effect; the hook runs at each match."));
        }
        let matcher = HookMatcher::read(matcher_text).unwrap_or_else(|why| {
            self.say(&format!("hooks: the matcher `{matcher_text}` of {name} {why}; its hooks run for everything."));
            HookMatcher::All
        });
        let is_async = fields.get("async") == Some(&Value::Bool(true));
        let blocks_on_failure = fields.get("onFailure").and_then(Value::as_str) == Some("block");
        self.handlers.push(HookHandler {
            event,
            matcher_text: matcher_text.trim().to_owned(),
            matcher,
            command,
            timeout: bounded_timeout(event, fields.get("timeout").and_then(Value::as_f64)),
            is_async,
            is_once: self.owner == Owner::Skill && fields.get("once") == Some(&Value::Bool(true)),
            blocks_on_failure: blocks_on_failure && !is_async && event.can_block(),
            source: self.source.clone(),
        });
    }
}

fn command(fields: &Map<String, Value>) -> Option<HookCommand> {
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

/// Returns how long a hook may take, of so many seconds that it asks for.
pub(super) fn bounded_timeout(event: HookEvent, given: Option<f64>) -> Duration {
    let (usual, most) = match event {
        HookEvent::SessionEnd => (END_TIMEOUT, MAX_END_TIMEOUT),
        HookEvent::UserPromptSubmit => (PROMPT_TIMEOUT, MAX_TIMEOUT),
        _ => (USUAL_TIMEOUT, MAX_TIMEOUT),
    };
    let given = given.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    Duration::from_secs_f64(given.unwrap_or(usual).min(most))
}
