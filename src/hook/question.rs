//! A question to a model: whether what is about to happen may happen.
//!
//! Pure. Owns what the model is asked, and how its answer is read. Leaves asking to `agent`, and what follows to `verdict`.
//! Source: the reference of Claude Code's hooks. Invariant: only an answer that clearly says yes is a yes.

use std::fmt;

use serde_json::{Map, Value};

use super::answer::is_no;
use super::event::HookEvent;
use crate::message::format::shell_word;

/// Events at which a model is asked.
const JUDGED: [HookEvent; 7] = [
    HookEvent::PreToolUse,
    HookEvent::PermissionRequest,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::UserPromptSubmit,
    HookEvent::Stop,
    HookEvent::SubagentStop,
];
/// What stands for the input of the hook in its prompt.
const ARGUMENTS: &str = "$ARGUMENTS";

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HookJudge {
    /// A model, from what it is told.
    Model,
    /// An agent that may look at files first.
    Agent,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HookQuestion {
    pub judge: HookJudge,
    pub prompt: String,
    /// Which model is asked; a small one if it names none.
    pub model: Option<String>,
    /// Whether the agent goes on after a no (`continueOnBlock`).
    pub continues: bool,
}

impl fmt::Display for HookQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shell_word(&self.prompt))?;
        if let Some(model) = &self.model {
            write!(f, " [by model {}]", shell_word(model))?;
        }
        if self.continues && self.judge == HookJudge::Model { f.write_str(" [goes on after a no]") } else { Ok(()) }
    }
}

impl HookQuestion {
    pub(super) fn read(judge: HookJudge, event: HookEvent, fields: &Map<String, Value>) -> Result<Self, String> {
        let (kind, name) = (judge.word(), event.name());
        if !JUDGED.contains(&event) {
            return Err(format!("is of type `{kind}`, which cannot be used at {name}"));
        }
        let text = |key: &str| fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        Ok(Self {
            judge,
            prompt: text("prompt").ok_or("has no `prompt`")?.to_owned(),
            model: text("model").map(|model| model.trim().to_owned()),
            continues: judge == HookJudge::Agent || fields.get("continueOnBlock") == Some(&Value::Bool(true)),
        })
    }

    /// Returns what the model is asked about an event. Nothing in the event ends the tags around it.
    #[must_use]
    pub fn ask_about(&self, event: &str) -> String {
        let mark = (0..=event.len())
            .map(|number| format!("event-{number}"))
            .find(|mark| !event.contains(mark))
            .unwrap_or_default();
        let event = format!("<{mark}>\n{}\n</{mark}>", event.trim());
        if self.prompt.contains(ARGUMENTS) {
            return self.prompt.replace(ARGUMENTS, &event);
        }
        format!("{}\n\n{event}", self.prompt)
    }
}

impl HookJudge {
    /// Returns the type of hook that asks it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Model => "prompt",
            Self::Agent => "agent",
        }
    }

    /// Returns for how many seconds it is waited for unless the hook says otherwise.
    pub(super) fn usual_timeout(self) -> f64 {
        match self {
            Self::Model => 30.0,
            Self::Agent => 60.0,
        }
    }
}

/// What a model has answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgment {
    Yes,
    No {
        reason: Option<String>,
        /// Whether it says that it will always be a no.
        is_final: bool,
    },
    Unclear,
}

impl Judgment {
    /// Reads an answer. A no counts wherever it stands; a yes has to be all of the answer, which may quote anything else.
    pub(super) fn read(answer: &str) -> Self {
        let starts = answer.match_indices('{').map(|(at, _)| &answer[at..]);
        let mut objects = starts.filter_map(|rest| serde_json::Deserializer::from_str(rest).into_iter().next()?.ok());
        let is_refusal = |object: &Map<String, Value>| is_no(object.get("ok"));
        if let Some(object) = objects.find(is_refusal) {
            let reason = object.get("reason").and_then(Value::as_str).filter(|text| !text.trim().is_empty());
            let is_final = object.get("impossible") == Some(&Value::Bool(true));
            return Self::No { reason: reason.map(str::to_owned), is_final };
        }
        let whole = serde_json::from_str::<Map<String, Value>>(without_fence(answer.trim()));
        if whole.is_ok_and(|object| object.get("ok") == Some(&Value::Bool(true))) { Self::Yes } else { Self::Unclear }
    }
}

/// Returns a text without the fence of Markdown that models like to put around JSON.
fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}
