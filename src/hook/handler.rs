//! One hook as it is written: its event, its matcher, and how long it may take.
//!
//! Owns reading the `hooks` of settings, agent files and skills. Leaves what a hook runs to `command`. Source of the format: the reference of Claude Code's hooks.
//! Invariants: what is written and not acted on is named; a guard that cannot be run, or not be read, is kept as one that
//! has not judged.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::command::HookCommand;
use super::condition::HookCondition;
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

/// One command that runs at an event.
#[derive(Debug, Clone)]
pub struct HookHandler {
    pub event: HookEvent,
    /// As written.
    pub matcher_text: String,
    pub(super) matcher: HookMatcher,
    /// Which calls it is for (`if`), of those that the matcher covers.
    pub(super) condition: Option<HookCondition>,
    pub command: HookCommand,
    pub timeout: Duration,
    /// Whether nothing waits for it.
    pub is_async: bool,
    /// Whether it runs once in a session (`once`, in skills).
    pub is_once: bool,
    pub on_failure: OnFailure,
    /// Whether it runs outside of the sandbox, or inside, if it says so (`outside`).
    pub outside: Option<bool>,
    pub source: HookSource,
}

/// What becomes of what a hook cannot judge (`onFailure`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It happens, unless the hook cannot run at all.
    #[default]
    Unsaid,
    Block,
    /// It happens in any case.
    Continue,
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
        let condition = self.condition.as_ref().map(|condition| format!(" [if {}]", shell_word(condition.text())));
        let outside = if self.outside == Some(true) { " [outside the sandbox]" } else { "" };
        let kind = self.command.kind_word();
        let (name, condition) = (self.event.name(), condition.unwrap_or_default());
        // A command could end with such words, so they stand before it.
        format!("{name}{matcher}{condition}{outside}{kind}: {}", self.command)
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
            return self.unread(event, "", &format!("{name} must be a list"), Effects::default());
        };
        for group in groups {
            let matcher = group.get("matcher").map_or(Some(""), Value::as_str);
            let (Some(matcher), Some(hooks)) = (matcher, group.get("hooks").and_then(Value::as_array)) else {
                let matcher = matcher.unwrap_or_default();
                self.unread(
                    event,
                    matcher,
                    &format!("an entry of {name} is not {{matcher, hooks}}"),
                    Effects::default(),
                );
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
            return self.unread(event, matcher_text, &format!("an entry of {name} is no object"), Effects::default());
        };
        let effects = Effects::of(fields);
        let command = match HookCommand::read(event, fields) {
            Ok(command) => command,
            Err(why) => return self.unread(event, matcher_text, &format!("a hook of {name} {why}"), effects),
        };
        if effects.is_async && !command.can_be_async() {
            self.say(&format!("hooks: `async` of a hook of {name} has no effect: only commands run beside the agent."));
        }
        let counts = if self.owner == Owner::Skill { "once" } else { "" };
        let is_idle = |key: &&str| fields.contains_key(*key) && *key != counts;
        for idle in ["once", "asyncRewake"].into_iter().filter(is_idle) {
            self.say(&format!("hooks: `{idle}` of a hook of {name} has no effect; the hook runs at each match."));
        }
        self.push(event, matcher_text, (command, effects));
    }

    /// Says what cannot be used. A guard that this may be is kept: it has not judged what it would have.
    fn unread(&mut self, event: HookEvent, matcher_text: &str, what: &str, effects: Effects) {
        let follows = match event {
            HookEvent::PreToolUse if effects.on_failure == OnFailure::Block => {
                "; it does not run, and the calls that it is for are blocked."
            }
            HookEvent::PreToolUse if effects.on_failure != OnFailure::Continue => {
                "; it does not run, and you are asked about the calls it is for."
            }
            HookEvent::UserPromptSubmit | HookEvent::PreCompact if effects.on_failure != OnFailure::Continue => {
                "; it does not run, and what it is to look at is blocked. `\"onFailure\": \"continue\"` lets it pass."
            }
            _ => "; it does not run.",
        };
        self.say(&format!("hooks: {what}{follows}"));
        if event.can_block() {
            let why = sanitize_line(what).into_owned();
            self.push(event, matcher_text, (HookCommand::Unrunnable { why }, effects));
        }
    }

    fn push(&mut self, event: HookEvent, matcher_text: &str, (command, effects): (HookCommand, Effects)) {
        let name = event.name();
        if self.handlers.len() == MAX_HOOKS {
            return self.say(&format!("hooks: only the first {MAX_HOOKS} of a file run."));
        }
        let matcher = HookMatcher::read(matcher_text).unwrap_or_else(|why| {
            self.say(&format!("hooks: the matcher `{matcher_text}` of {name} {why}; its hooks run for everything."));
            HookMatcher::All
        });
        let is_async = effects.is_async && command.can_be_async();
        let condition = effects.condition.as_ref().map(|value| HookCondition::read(value, event));
        if let Some(why) = condition.as_ref().and_then(HookCondition::error) {
            self.say(&format!("hooks: the `if` of a hook of {name} {why}; the hook runs at each match."));
        }
        self.handlers.push(HookHandler {
            event,
            matcher_text: matcher_text.trim().to_owned(),
            matcher,
            condition,
            timeout: bounded_timeout(event, effects.timeout.or(usual_timeout(&command))),
            command,
            is_async,
            is_once: self.owner == Owner::Skill && effects.is_once,
            on_failure: match effects.on_failure {
                OnFailure::Block if is_async || !event.can_block() => OnFailure::Unsaid,
                on_failure => on_failure,
            },
            outside: effects.outside,
            source: self.source.clone(),
        });
    }
}

/// What a hook says of itself beside its command.
#[derive(Default)]
struct Effects {
    condition: Option<Value>,
    timeout: Option<f64>,
    is_async: bool,
    is_once: bool,
    on_failure: OnFailure,
    outside: Option<bool>,
}

impl Effects {
    fn of(fields: &Map<String, Value>) -> Self {
        let is_set = |key: &str| fields.get(key) == Some(&Value::Bool(true));
        Self {
            condition: fields.get("if").filter(|value| !value.is_null()).cloned(),
            timeout: fields.get("timeout").and_then(Value::as_f64),
            is_async: is_set("async"),
            is_once: is_set("once"),
            on_failure: match fields.get("onFailure").and_then(Value::as_str) {
                Some("block") => OnFailure::Block,
                Some("continue") => OnFailure::Continue,
                _ => OnFailure::Unsaid,
            },
            outside: fields.get("outside").and_then(Value::as_bool),
        }
    }
}

/// Returns for how many seconds a hook is waited for that has limits of its own.
fn usual_timeout(command: &HookCommand) -> Option<f64> {
    match command {
        HookCommand::Question(question) => Some(question.judge.usual_timeout()),
        _ => None,
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
