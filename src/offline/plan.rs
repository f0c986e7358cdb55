//! From a request to a reply: which plan applies, and how far it has come.
//!
//! Owns the reply, planned calls and the walk through a plan's stages. Leaves the plans to their modules. Invariant:
//! pure; progress is read off the transcript, so the same request always gets the same reply.

use serde_json::{Map, Value, json};

use super::evidence::Evidence;
use super::report::Report;
use super::{child, lead};
use crate::provider::Request;

/// What the model says next. Without calls it is the final answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The visible text.
    pub text: String,
    /// The tools to run, in order.
    pub calls: Vec<Call>,
}

/// One call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub input: Map<String, Value>,
}

impl Call {
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

    pub(super) fn ls(path: &str) -> Self {
        Self::new("LS", json!({ "path": path }))
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

    /// Searches without regard to case and returns `path:line:text`.
    pub(super) fn grep(pattern: &str, limit: usize) -> Self {
        Self::new(
            "Grep",
            json!({ "pattern": pattern, "output_mode": "content", "-n": true, "-i": true, "head_limit": limit }),
        )
    }

    /// Like [`Call::grep`], in the files that match a glob only.
    pub(super) fn grep_in(pattern: &str, glob: &str, limit: usize) -> Self {
        let mut call = Self::grep(pattern, limit);
        call.input.insert("glob".to_owned(), json!(glob));
        call
    }

    /// Counts matching lines for each file: `path:count`.
    pub(super) fn count(pattern: &str, limit: usize) -> Self {
        Self::new("Grep", json!({ "pattern": pattern, "output_mode": "count", "-i": true, "head_limit": limit }))
    }

    pub(super) fn agent(kind: &str, description: &str, prompt: &str) -> Self {
        Self::new("Agent", json!({ "description": description, "prompt": prompt, "subagent_type": kind }))
    }
}

/// A way to an answer: stages of calls, then words.
///
/// A stage is a pure function of what the stages before it found. What was asked once is not asked again, which is
/// how the walk knows where it stands.
pub(super) trait Plan {
    /// Returns the calls of stage `n`, counted from 0, or `None` past the last stage.
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<Call>>;

    /// Returns the words said before the calls of stage `n`.
    fn lead(&self, _n: usize) -> String {
        String::new()
    }

    /// Returns the last words.
    fn conclude(&self, evidence: &Evidence) -> String;
}

/// One line of inquiry that ends in a report.
pub(super) trait Part {
    /// Returns the calls of stage `n`, as in [`Plan::stage`].
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<Call>>;

    /// Returns what was found.
    fn report(&self, evidence: &Evidence) -> Report;
}

/// No plan has more stages than this.
const MAX_STAGES: usize = 12;

/// Decides what to say to a request.
#[must_use]
pub fn plan(request: &Request) -> Reply {
    let evidence = Evidence::read(request);
    let plan: Box<dyn Plan> = if evidence.is_lead() { lead::choose(&evidence) } else { child::choose(&evidence) };
    advance(plan.as_ref(), &evidence)
}

fn advance(plan: &dyn Plan, evidence: &Evidence) -> Reply {
    if evidence.rounds() < MAX_STAGES && !evidence.must_end() {
        for n in 0..MAX_STAGES {
            let Some(mut calls) = plan.stage(n, evidence) else { break };
            calls.retain(|call| evidence.offers(&call.name) && evidence.find(call).is_none());
            calls.dedup();
            if !calls.is_empty() {
                return Reply { text: plan.lead(n), calls };
            }
        }
    }
    Reply { text: plan.conclude(evidence), calls: Vec::new() }
}
