//! What hooks have said: from exit statuses and output to what follows.
//!
//! Pure. Owns what counts as a yes, a no and a word for the model, and how the answers of several hooks become one. Source:
//! the reference of Claude Code's hooks. Invariants: a no outweighs all else, however the hook has ended; what is not
//! understood is no yes; texts are bounded and sanitized, and no tag in them passes for a speaker.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answer::{HookAnswer, is_no, word};
use super::command::HookCommand;
use super::event::HookEvent;
use super::handler::{HookHandler, OnFailure};
use super::question::{HookQuestion, Judgment};
use crate::message::{sanitize, sanitize_line, without_speakers};

/// Characters of one text for the model.
const TEXT_CHARS: usize = 10_000;
/// Characters of what people read.
const LINE_CHARS: usize = 300;

const NO_REASON: &str = "no reason given";

/// How a hook's process has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookExit {
    Exited {
        /// `None` if a signal has ended it.
        code: Option<i32>,
        stdout: String,
        stderr: String,
    },
    TimedOut,
    NotStarted(String),
    /// It has not judged what it is for, for this reason.
    Unjudged(String),
    /// A model has answered this to its question.
    Judged(String),
    /// It is not what the user trusts, and so was not started.
    Untrusted(String),
    /// What was asked has failed, for this reason.
    Failed(String),
    /// Nobody waits for it any more.
    Stopped,
}

/// One run of a hook, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookRun {
    pub at: HookEvent,
    /// What the event was about: a tool, a kind of agent, a cause.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    pub command: String,
    /// The file that names it.
    pub source: String,
    pub end: HookEnd,
    /// Why, or what it has said; one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    pub ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookEnd {
    /// It had nothing to object.
    Done,
    /// It has said something to the model.
    Said,
    /// It has put another input in the place of a call's.
    Changed,
    Allowed,
    /// It wants the user to be asked.
    Asked,
    Blocked,
    /// It ended with an error, which stops nothing unless it is to.
    Failed,
    TimedOut,
    Stopped,
}

impl HookEnd {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Said => "added context",
            Self::Changed => "changed the input",
            Self::Allowed => "allowed",
            Self::Asked => "wants you to be asked",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Stopped => "stopped",
        }
    }
}

impl HookRun {
    /// Returns the line that people have to see of it, if they have to. That a call was blocked stands at the call.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        match self.end {
            HookEnd::Failed | HookEnd::TimedOut => {}
            HookEnd::Blocked if !matches!(self.at, HookEvent::PreToolUse | HookEvent::PermissionRequest) => {}
            _ => return None,
        }
        let about = if self.about.is_empty() { String::new() } else { format!(" {}", sanitize_line(&self.about)) };
        let why = if self.text.is_empty() { String::new() } else { format!(": {}", sanitize_line(&self.text)) };
        let command = sanitize_line(&self.command);
        Some(format!("hook {}{about} {}{why} ({command})", self.at.name(), self.end.word()))
    }
}

/// What a hook says about the question whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookPermission {
    Allow,
    Ask,
}

/// What all hooks of one moment have said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookVerdict {
    /// Why it shall not be; after the fact, what the model is to mend.
    pub block: Option<String>,
    pub permission: Option<HookPermission>,
    /// Why a hook wants the user to be asked.
    pub ask_reason: Option<String>,
    pub updated_input: Option<Map<String, Value>>,
    /// Texts for the model.
    pub contexts: Vec<String>,
    /// Lines for the user.
    pub messages: Vec<String>,
    /// Why the agent is to stop.
    pub stop: Option<String>,
    pub runs: Vec<HookRun>,
}

impl HookVerdict {
    /// Takes in what another hook has said.
    pub(super) fn add(&mut self, other: Self) {
        self.block = match (self.block.take(), other.block) {
            (Some(one), Some(more)) => Some(format!("{one}\n{more}")),
            (one, more) => one.or(more),
        };
        self.permission = match (self.permission, other.permission) {
            (Some(HookPermission::Ask), _) | (_, Some(HookPermission::Ask)) => Some(HookPermission::Ask),
            (one, more) => one.or(more),
        };
        self.ask_reason = match (self.ask_reason.take(), other.ask_reason.filter(|why| !why.is_empty())) {
            (Some(one), Some(more)) if !one.is_empty() && one != more => Some(format!("{one}; {more}")),
            (one, more) => more.or(one),
        };
        self.updated_input = other.updated_input.or(self.updated_input.take());
        self.contexts.extend(other.contexts);
        self.messages.extend(other.messages);
        self.stop = self.stop.take().or(other.stop);
        self.runs.extend(other.runs);
    }

    /// Reads what one hook has said.
    pub(super) fn of(handler: &HookHandler, about: &str, (exit, took): (HookExit, Duration)) -> Self {
        let mut read = Self::default();
        let (end, text) = read.take(handler, exit);
        read.runs.push(HookRun {
            at: handler.event,
            about: line(about),
            command: handler.command.shown(),
            source: handler.source.place.to_string(),
            end,
            text: line(&text),
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
        read
    }

    fn take(&mut self, handler: &HookHandler, exit: HookExit) -> (HookEnd, String) {
        let event = handler.event;
        let failed = |verdict: &mut Self, end: HookEnd, why: String| {
            if handler.on_failure == OnFailure::Block {
                verdict.block = Some(for_model(&format!("a hook that has to agree {}: {why}", end.word())));
                return (HookEnd::Blocked, format!("{}: {why}", end.word()));
            }
            (end, why)
        };
        match exit {
            HookExit::Exited { code: Some(0), stdout, .. } => self.take_output(event, &stdout),
            HookExit::Exited { code: Some(2), stdout, stderr } => {
                let mut said = Self::default();
                let (_, why) = said.take_output(event, &stdout);
                let why = Some(why).filter(|why| said.is_a_no() && !why.is_empty());
                let why = Some(stderr.trim().to_owned()).filter(|why| !why.is_empty()).or(why);
                let why = why.unwrap_or_else(|| NO_REASON.to_owned());
                if !event.can_block() && !matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure) {
                    return (HookEnd::Failed, why);
                }
                self.stop = said.stop;
                self.block = Some(for_model(&why));
                (HookEnd::Blocked, why)
            }
            HookExit::Exited { code, stdout, stderr } => {
                let mut said = Self::default();
                let (end, why) = said.take_output(event, &stdout);
                if said.restricts() {
                    self.take_restriction(said);
                    return (end, why);
                }
                let status = code.map_or_else(|| "ended by a signal".to_owned(), |code| format!("exit {code}"));
                let why = stderr.trim();
                let why = if why.is_empty() { status } else { format!("{status}: {why}") };
                failed(self, HookEnd::Failed, why)
            }
            HookExit::TimedOut => failed(self, HookEnd::TimedOut, format!("after {} s", handler.timeout.as_secs_f32())),
            HookExit::Failed(why) => failed(self, HookEnd::Failed, why),
            HookExit::NotStarted(why) => failed(self, HookEnd::Failed, format!("not started: {why}")),
            HookExit::Unjudged(why) | HookExit::Untrusted(why) if handler.on_failure == OnFailure::Block => {
                failed(self, HookEnd::Failed, why)
            }
            HookExit::Untrusted(why) if event != HookEvent::PreToolUse => (HookEnd::Failed, why),
            HookExit::Unjudged(why) | HookExit::Untrusted(why) => self.leave_unjudged(handler, why),
            HookExit::Judged(answer) => self.take_judgment(handler, &answer),
            HookExit::Stopped => (HookEnd::Stopped, String::new()),
        }
    }

    /// Takes in that a hook has not judged what it is for.
    fn leave_unjudged(&mut self, handler: &HookHandler, why: String) -> (HookEnd, String) {
        match handler.event {
            _ if handler.on_failure == OnFailure::Continue => (HookEnd::Failed, why),
            HookEvent::PreToolUse => {
                self.ask(&why);
                (HookEnd::Asked, why)
            }
            // Nothing can be asked there.
            HookEvent::UserPromptSubmit | HookEvent::PreCompact => {
                self.block = Some(for_model(&why));
                (HookEnd::Blocked, why)
            }
            // Without it, an agent ends as it would, and you are asked as you would be.
            _ => (HookEnd::Failed, why),
        }
    }

    /// Takes in what a model has answered to the question of a hook.
    fn take_judgment(&mut self, handler: &HookHandler, answer: &str) -> (HookEnd, String) {
        let HookCommand::Question(HookQuestion { continues, .. }) = handler.command else {
            return self.leave_unjudged(handler, "it asks no model".to_owned());
        };
        let (reason, is_final) = match Judgment::read(answer) {
            Judgment::Yes => return (HookEnd::Done, String::new()),
            Judgment::No { reason, is_final } => (reason.unwrap_or_else(|| NO_REASON.to_owned()), is_final),
            Judgment::Unclear => {
                let why = format!("the model has answered no JSON with `ok`: {}", line(answer));
                return self.take(handler, HookExit::Unjudged(why));
            }
        };
        match handler.event {
            // What can never be had keeps no agent from ending; and where the user decides, they do.
            HookEvent::Stop | HookEvent::SubagentStop if is_final => return (HookEnd::Done, reason),
            HookEvent::PermissionRequest => {
                self.ask(&reason);
                return (HookEnd::Asked, reason);
            }
            HookEvent::PreToolUse | HookEvent::PostToolUse if !continues => self.stop = Some(line(&reason)),
            _ => {}
        }
        self.block = Some(for_model(&reason));
        (HookEnd::Blocked, reason)
    }

    fn ask(&mut self, why: &str) {
        self.permission = Some(HookPermission::Ask);
        self.ask_reason = Some(line(why));
    }

    fn is_a_no(&self) -> bool {
        self.block.is_some() || self.stop.is_some()
    }

    /// Returns `true` if less happens with this than without.
    fn restricts(&self) -> bool {
        self.is_a_no() || self.permission == Some(HookPermission::Ask)
    }

    /// Takes in of what a hook has said only what restricts.
    fn take_restriction(&mut self, said: Self) {
        (self.block, self.stop, self.messages) = (said.block, said.stop, said.messages);
        if said.permission == Some(HookPermission::Ask) {
            (self.permission, self.ask_reason) = (said.permission, said.ask_reason);
        }
    }

    /// Reads what a hook has printed.
    fn take_output(&mut self, event: HookEvent, stdout: &str) -> (HookEnd, String) {
        match HookAnswer::find(stdout) {
            HookAnswer::Json(output) => self.take_json(event, &output),
            HookAnswer::Within(output, text) => {
                let mut said = Self::default();
                let (end, why) = said.take_json(event, &output);
                if said.restricts() {
                    self.take_restriction(said);
                    return (end, why);
                }
                self.take_text(event, text)
            }
            HookAnswer::Text(text) => self.take_text(event, text),
            HookAnswer::Broken => {
                let why = "its output begins like JSON and is none";
                if event == HookEvent::PreToolUse {
                    self.ask(&format!("a hook has answered something that cannot be read: {why}"));
                    return (HookEnd::Asked, why.to_owned());
                }
                (HookEnd::Failed, why.to_owned())
            }
        }
    }

    fn take_text(&mut self, event: HookEvent, text: &str) -> (HookEnd, String) {
        if event.tells_model() && !text.is_empty() {
            self.contexts.push(for_model(text));
            return (HookEnd::Said, text.to_owned());
        }
        (HookEnd::Done, String::new())
    }

    fn take_json(&mut self, event: HookEvent, output: &Map<String, Value>) -> (HookEnd, String) {
        let said = |key: &str| output.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        self.messages.extend(said("systemMessage").map(line));
        if is_no(output.get("continue")) {
            let why = said("stopReason").or(said("reason")).unwrap_or(NO_REASON);
            self.stop = Some(line(why));
            return (HookEnd::Blocked, why.to_owned());
        }
        let reason = said("reason").unwrap_or(NO_REASON).to_owned();
        match (word(output.get("decision")).as_deref(), event) {
            (Some("block" | "deny"), _) => {
                self.block = Some(for_model(&reason));
                return (HookEnd::Blocked, reason);
            }
            (Some("approve" | "allow"), HookEvent::PreToolUse) => self.permission = Some(HookPermission::Allow),
            (Some("ask" | "defer"), HookEvent::PreToolUse) => self.ask(&reason),
            // What cannot be understood is no yes.
            (Some(other), HookEvent::PreToolUse) => self.ask(&format!("a hook has answered `{other}`")),
            _ => {}
        }
        match output.get("hookSpecificOutput") {
            Some(Value::Object(own)) => self.take_own(event, own),
            Some(other) if !other.is_null() && event == HookEvent::PreToolUse => {
                self.ask("a hook has answered something that cannot be read");
                (HookEnd::Asked, String::new())
            }
            _ => match self.permission {
                Some(HookPermission::Ask) => (HookEnd::Asked, self.ask_reason.clone().unwrap_or_default()),
                Some(HookPermission::Allow) => (HookEnd::Allowed, String::new()),
                None => (HookEnd::Done, String::new()),
            },
        }
    }

    /// Reads what only the hooks of one event say.
    fn take_own(&mut self, event: HookEvent, own: &Map<String, Value>) -> (HookEnd, String) {
        let other = own.get("hookEventName").and_then(Value::as_str).filter(|name| *name != event.name());
        if let Some(other) = other {
            let mut said = Self::default();
            let unnamed = own.iter().filter(|(key, _)| *key != "hookEventName");
            let unnamed = unnamed.map(|(key, value)| (key.clone(), value.clone())).collect();
            let (end, why) = said.take_own(event, &unnamed);
            if said.restricts() {
                self.take_restriction(said);
                return (end, why);
            }
            return (HookEnd::Failed, format!("its output is for {other}"));
        }
        let said = |of: &Map<String, Value>, key: &str| {
            of.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let context = said(own, "additionalContext");
        self.contexts.extend(context.as_deref().map(for_model));
        let empty = Map::new();
        let answer = own.get("decision").and_then(Value::as_object).unwrap_or(&empty);
        let (decision, reason, source) = match event {
            HookEvent::PreToolUse => (word(own.get("permissionDecision")), said(own, "permissionDecisionReason"), own),
            HookEvent::PermissionRequest => (word(answer.get("behavior")), said(answer, "message"), answer),
            _ => (None, None, &empty),
        };
        let reason = reason.unwrap_or_default();
        if let Some(Value::Object(input)) = source.get("updatedInput") {
            self.updated_input = Some(input.clone());
        }
        let end = match decision.as_deref() {
            Some("deny" | "block") => {
                let why = if reason.is_empty() { NO_REASON } else { &reason };
                self.block = Some(for_model(why));
                if answer.get("interrupt") == Some(&Value::Bool(true)) {
                    self.stop = Some(line(why));
                }
                return (HookEnd::Blocked, why.to_owned());
            }
            Some("ask") => {
                self.ask(&reason);
                HookEnd::Asked
            }
            Some("defer") => {
                self.ask(if reason.is_empty() { "a hook leaves this to you" } else { &reason });
                HookEnd::Asked
            }
            Some("allow") => {
                // It takes back no other word of the same hook.
                self.permission =
                    self.permission.filter(|said| *said == HookPermission::Ask).or(Some(HookPermission::Allow));
                HookEnd::Allowed
            }
            None if self.permission == Some(HookPermission::Ask) => HookEnd::Asked,
            None if self.permission == Some(HookPermission::Allow) => HookEnd::Allowed,
            None if context.is_some() => HookEnd::Said,
            None => HookEnd::Done,
            // What cannot be understood is no yes.
            Some(other) => {
                self.ask(&format!("a hook has answered `{other}`"));
                HookEnd::Asked
            }
        };
        (if self.updated_input.is_some() { HookEnd::Changed } else { end }, reason)
    }
}

/// Returns a text as a model may read it.
fn for_model(text: &str) -> String {
    let text = sanitize(text.trim());
    let end = text.char_indices().nth(TEXT_CHARS).map_or(text.len(), |(at, _)| at);
    without_speakers(&text[..end]).into_owned()
}

/// Returns a text as one line that people read.
fn line(text: &str) -> String {
    sanitize_line(text.trim()).chars().take(LINE_CHARS).collect()
}
