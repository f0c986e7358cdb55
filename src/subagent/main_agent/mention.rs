//! `@agent-NAME` in a message: the user asks the main agent to delegate to that agent.
//!
//! Owns finding mentions and the words the model reads for them. Leaves drawing and completing them to the front ends.
//! Pure. Invariant: the user's own words stay as they were, and what names no agent means nothing.

use crate::message::{UserText, reminder, sanitize_line};
use crate::subagent::main_agent::MainAgentDefinition;
use crate::subagent::spawn::capabilities::Delegation;
use crate::subagent::tree::Tree;

/// What stands before the name, in Claude Code and in Kode.
const MARKS: [&str; 2] = ["agent-", "run-agent-"];

/// Returns what the model reads for the user's text: the text, and a word on each agent of `names` it mentions.
#[must_use]
pub fn explain(said: &UserText, names: &[String]) -> String {
    let (text, mentioned) = (&said.text, mentioned(said, names));
    if mentioned.is_empty() {
        return text.clone();
    }
    let asks: Vec<String> = mentioned
        .iter()
        .map(|name| {
            let name = sanitize_line(name).replace(['`', '<', '>'], "");
            format!("The user asks you to delegate this to the agent `{name}` with the Agent tool.")
        })
        .collect();
    format!("{text}\n\n{}", reminder(&asks.join("\n")))
}

impl Tree {
    /// Returns what the model reads for a message of the user: for the first one, what the main agent's file says before it.
    pub(super) fn as_read(&self, said: &UserText, definition: &MainAgentDefinition, is_first: bool) -> String {
        let names = match self.main_capabilities(definition, None) {
            Ok(capabilities) if capabilities.delegation == Delegation::Open => {
                let permissions = &capabilities.permissions;
                self.catalog().names().into_iter().filter(|name| permissions.allow_kind(name)).collect()
            }
            _ => Vec::new(),
        };
        let text = explain(said, &names);
        let initial = definition.as_ref().and_then(|definition| definition.initial_prompt.as_deref());
        match initial.filter(|_| is_first) {
            Some(initial) => format!("{}\n\n{text}", initial.trim()),
            None => text,
        }
    }
}

/// Returns the agents that the user mentions, in the order of the text, each once.
fn mentioned<'n>(said: &UserText, names: &'n [String]) -> Vec<&'n str> {
    let mut found: Vec<&str> = Vec::new();
    for mention in said.mentions() {
        let name = MARKS.iter().find_map(|mark| {
            let head = mention.name.get(..mark.len())?;
            head.eq_ignore_ascii_case(mark).then(|| longest(&mention.name[mark.len()..], names))?
        });
        if let Some(name) = name.filter(|name| !found.contains(name)) {
            found.push(name);
        }
    }
    found
}

/// Returns the longest name that the text begins with, as a whole word.
fn longest<'n>(text: &str, names: &'n [String]) -> Option<&'n str> {
    let begins = |name: &&String| {
        let mut rest = text.chars();
        let is_same = written(name).all(|c| rest.next().is_some_and(|own| own.to_lowercase().eq(c.to_lowercase())));
        is_same && !name.trim().is_empty() && rest.next().is_none_or(|c| !c.is_alphanumeric() && !"-_".contains(c))
    };
    names.iter().filter(begins).max_by_key(|name| name.chars().count()).map(String::as_str)
}

/// Returns a name as it is written in a mention: without blanks.
fn written(name: &str) -> impl Iterator<Item = char> {
    name.trim().chars().map(|c| if c.is_whitespace() { '-' } else { c })
}
