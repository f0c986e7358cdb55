//! What a program asks of us while it answers.
//!
//! Owns the form of questions and answers. Leaves deciding to `agent`. Invariant: a yes chooses an option that allows this one
//! call where there is one, so that what else is allowed stays with us, where it can be taken back.

use agent_client_protocol_schema::v1 as acp;
use serde_json::{Value, json};

use super::update::CallUpdate;

/// Names of options that are shown.
const MAX_OPTIONS: usize = 20;

/// Names a request of the program until it is answered.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestToken(pub(super) Value);

/// A request that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalRequest {
    pub token: RequestToken,
    pub question: ExternalQuestion,
}

/// May it make this call?
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalQuestion {
    pub call: CallUpdate,
    options: Vec<(acp::PermissionOptionKind, Value)>,
}

impl ExternalQuestion {
    pub(super) fn of(request: acp::RequestPermissionRequest) -> Self {
        let options = request.options.into_iter().take(MAX_OPTIONS);
        Self {
            call: request.tool_call.into(),
            options: options.map(|option| (option.kind, Value::String(option.option_id.0.to_string()))).collect(),
        }
    }

    /// Returns the answer; `None` withdraws the question. A yes or a no that it does not offer withdraws it too.
    pub fn answer(&self, yes: Option<bool>) -> Value {
        use acp::PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
        let wanted = match yes {
            Some(true) => [AllowOnce, AllowAlways].as_slice(),
            Some(false) => [RejectOnce, RejectAlways].as_slice(),
            None => &[],
        };
        let chosen = wanted.iter().find_map(|kind| self.options.iter().find(|(offered, _)| offered == kind));
        match chosen {
            Some((_, id)) => json!({"outcome": {"outcome": "selected", "optionId": id}}),
            None => json!({"outcome": {"outcome": "cancelled"}}),
        }
    }
}
