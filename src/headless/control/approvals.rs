//! Questions that a program answers: `can_use_tool`.
//!
//! Owns how a question is put and what an answer means. Invariant: a call runs as it was asked about, or as the program
//! has changed it, which is judged anew.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::agent::ToolEvent;
use crate::message::{AgentId, ToolCall, ToolInput};
use crate::permission::{Answer, ApprovalId, ApprovalRequest, Grant, QuestionAnswer, UserQuestion};
use crate::subagent::unattended_advice;

/// A question that waits for its answer.
#[derive(Debug)]
struct Asked {
    request: ApprovalRequest,
    input: Map<String, Value>,
    /// Whether that is a call's, and may be changed.
    is_call: bool,
}

#[derive(Debug, Default)]
pub(super) struct PermissionRequests {
    /// The calls under way.
    calls: HashMap<(AgentId, String), ToolCall>,
    open: Vec<(String, Asked)>,
    asked: u64,
}

/// What a program answers. Source: the type `PermissionResult` of the Claude Agent SDK.
#[derive(Debug, Deserialize)]
#[serde(tag = "behavior", rename_all = "snake_case")]
enum Verdict {
    #[serde(rename_all = "camelCase")]
    Allow {
        #[serde(default)]
        updated_input: Option<Map<String, Value>>,
        #[serde(default)]
        updated_permissions: Vec<Value>,
    },
    Deny {
        #[serde(default)]
        message: Option<String>,
    },
}

impl PermissionRequests {
    /// Takes note of what happens to a call, and returns what the program is to be told.
    pub(super) fn apply(&mut self, agent: AgentId, event: &ToolEvent) -> Option<Value> {
        match event {
            ToolEvent::Started { call, .. } | ToolEvent::Changed { call, .. } => {
                self.calls.insert((agent, call.id.clone()), call.clone());
                None
            }
            ToolEvent::Ended { result, .. } => {
                self.calls.remove(&(agent, result.call_id.clone()));
                None
            }
            ToolEvent::ApprovalRequested { request } => Some(self.ask(agent, request)),
            ToolEvent::ApprovalResolved { id, .. } => {
                let at = self.open.iter().position(|(_, asked)| asked.request.id == *id)?;
                let (request_id, _) = self.open.remove(at);
                Some(json!({"type": "control_cancel_request", "request_id": request_id}))
            }
            _ => None,
        }
    }

    fn ask(&mut self, agent: AgentId, request: &ApprovalRequest) -> Value {
        self.asked += 1;
        let request_id = format!("permission-{}", self.asked);
        let call = self.calls.get(&(agent, request.id.call_id.clone()));
        let (tool, input, is_call) = match call {
            Some(ToolCall { name, input: ToolInput::Object(input), .. }) => (name.as_str(), input.clone(), true),
            // What no call asks for, such as whether a report is sent.
            _ => (request.access.tool.as_str(), Map::from_iter([("act".to_owned(), request.act().into())]), false),
        };
        let suggestions: Vec<Value> = request
            .grant
            .as_ref()
            .and_then(Grant::as_rule)
            .map(|rule| {
                let (name, content) = rule
                    .split_once('(')
                    .map_or((rule.as_str(), None), |(name, rest)| (name, Some(rest.strip_suffix(')').unwrap_or(rest))));
                let rules = json!([{"toolName": name, "ruleContent": content}]);
                json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"})
            })
            .into_iter()
            .collect();
        let mut body = json!({
            "subtype": "can_use_tool",
            "tool_name": tool,
            "input": input,
            "tool_use_id": request.id.call_id,
            "title": request.act(),
            "decision_reason": request.reason,
            "permission_suggestions": suggestions,
        });
        if !agent.is_main() {
            body["agent_id"] = agent.to_string().into();
        }
        self.open.push((request_id.clone(), Asked { request: request.clone(), input, is_call }));
        json!({"type": "control_request", "request_id": request_id, "request": body})
    }

    /// Returns what the program's answer means; `None` if nothing waits for it.
    pub(super) fn answer(&mut self, request_id: &str, response: Result<Value, String>) -> Option<(ApprovalId, Answer)> {
        let at = self.open.iter().position(|(id, _)| id == request_id)?;
        let (_, asked) = self.open.remove(at);
        let answer =
            match response.and_then(|response| serde_json::from_value(response).map_err(|error| error.to_string())) {
                Ok(verdict) => asked.answer(verdict),
                Err(why) => no(format!("the calling program gave no answer: {why}")),
            };
        Some((asked.request.id, answer))
    }

    /// Answers what is open with no.
    pub(super) fn refuse_all(&mut self) -> Vec<(ApprovalId, Answer)> {
        let open = std::mem::take(&mut self.open).into_iter();
        open.map(|(_, Asked { request, .. })| {
            let advice = unattended_advice(&request);
            (request.id, Answer::Nobody { advice })
        })
        .collect()
    }
}

impl Asked {
    fn answer(&self, verdict: Verdict) -> Answer {
        let Self { request, input, is_call } = self;
        match verdict {
            Verdict::Deny { message } => Answer::No { comment: message },
            Verdict::Allow { updated_input, .. } if request.questions().is_some() => {
                let chosen = updated_input.as_ref().and_then(|input| input.get("answers")?.as_object());
                let questions = request.questions().unwrap_or_default();
                match chosen {
                    Some(chosen) => {
                        Answer::Choices { answers: questions.iter().map(|asked| choice(asked, chosen)).collect() }
                    }
                    None => no("the calling program answered none of the questions".to_owned()),
                }
            }
            Verdict::Allow { updated_input: Some(changed), .. } if changed != *input && *is_call => {
                Answer::Changed { input: changed }
            }
            Verdict::Allow { .. } if request.is_of_plan() => Answer::Plan { accepts_edits: false, text: None },
            Verdict::Allow { updated_permissions, .. }
                if !updated_permissions.is_empty() && request.grant.is_some() =>
            {
                Answer::Always
            }
            Verdict::Allow { .. } => Answer::Once,
        }
    }
}

fn no(comment: String) -> Answer {
    Answer::No { comment: Some(comment) }
}

/// Returns what of the answers, by question, is the one to this question. Several labels are joined by commas.
fn choice(asked: &UserQuestion, answers: &Map<String, Value>) -> QuestionAnswer {
    let said: Vec<String> = match answers.get(&asked.question) {
        Some(Value::String(text)) if asked.multi_select => text.split(',').map(|part| part.trim().to_owned()).collect(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(texts)) => texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    let is_label = |text: &String| asked.options.iter().any(|option| option.label == *text);
    let (chosen, other): (Vec<String>, Vec<String>) = said.into_iter().partition(is_label);
    QuestionAnswer { chosen, other: (!other.is_empty()).then(|| other.join(", ")) }
}
