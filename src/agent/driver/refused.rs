//! What a service has refused of a request, and what is therefore left out of all that follow.
//!
//! Owns which part a refusal speaks of: pictures and documents, or a tool. Leaves parts that a model does not take at all to
//! `provider`. Invariants: nothing that was refused is sent again unchanged; each refusal leaves out at least one part, so
//! sending again has an end; the user is told what is left out, and in whose words it was refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Driver;
use super::request::named_since_reply;
use crate::agent::EventKind;
use crate::message::{ToolSpec, picture_mark, sanitize_line};
use crate::provider::Request;

/// What a run knows of the parts of its requests.
#[derive(Debug, Default)]
pub(super) struct RefusedParts {
    /// Tools by their names.
    tools: BTreeSet<String>,
}

impl RefusedParts {
    /// Returns the tools without those that were refused.
    pub(super) fn without_refused(&self, tools: Arc<[ToolSpec]>) -> Arc<[ToolSpec]> {
        if self.tools.is_empty() {
            return tools;
        }
        tools.iter().filter(|tool| !self.tools.contains(&tool.name)).cloned().collect()
    }
}

impl Driver<'_> {
    /// Leaves out what a refusal speaks of, from this request and all later ones. Returns `false` if it speaks of nothing
    /// that can be left out.
    pub(super) async fn leave_out(&mut self, error: &str, request: &mut Request) -> bool {
        if let Some(name) = named_tool(error, &request.tools) {
            let name = name.to_owned();
            self.say_left_out(&format!("tool {name}"), error).await;
            self.refused.tools.insert(name);
            request.tools = self.refused.without_refused(request.tools.clone());
            return true;
        }
        if request.attachments.is_empty() || !speaks_of_pictures(error) {
            return false;
        }
        let all: Vec<u32> = request.attachments.keys().copied().collect();
        // What stands before the last reply was taken with an earlier request.
        let new = named_since_reply(&request.messages);
        let fresh: Vec<u32> = all.iter().copied().filter(|number| new.contains(number)).collect();
        let numbers = if fresh.is_empty() { all } else { fresh };
        let marks: Vec<String> = numbers.iter().copied().map(picture_mark).collect();
        self.say_left_out(&marks.join(", "), error).await;
        Arc::make_mut(&mut request.attachments).retain(|number, _| !numbers.contains(number));
        let pictures = self.agent.pictures.clone();
        // Where the mark cannot be written, it holds for this run of the program.
        let _ = tokio::task::spawn_blocking(move || pictures.refuse(&numbers)).await;
        true
    }

    async fn say_left_out(&self, what: &str, error: &str) {
        let text = format!("{}: left out from now on, as the service refuses it: {error}", sanitize_line(what));
        self.run.emit(EventKind::Notice { text }).await;
    }
}

/// Returns `true` if a refusal is about a picture or a document.
fn speaks_of_pictures(error: &str) -> bool {
    let words = error.to_lowercase();
    let named = ["image", "picture", "pdf", "document", "media type", "media_type", "mime", "inline_data", "base64"];
    named.iter().any(|word| words.contains(word))
}

/// Returns the tool that a refusal names, or numbers.
fn named_tool<'t>(error: &str, tools: &'t [ToolSpec]) -> Option<&'t str> {
    let words = error.to_lowercase();
    if !["schema", "tool", "function", "parameter"].iter().any(|word| words.contains(word)) {
        return None;
    }
    let is_named = |tool: &&ToolSpec| {
        let quoted = |mark: char| error.contains(&format!("{mark}{}{mark}", tool.name));
        // A name of a server's tool is no word of a language.
        quoted('\'') || quoted('"') || quoted('`') || (tool.name.contains("__") && has_word(error, &tool.name))
    };
    let numbered = || {
        let places = ["function_declarations[", "functiondeclarations[", "tools.", "tools["];
        let at = places.iter().find_map(|place| {
            let rest = &words[words.find(place)? + place.len()..];
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().ok()
        })?;
        tools.get(at)
    };
    tools.iter().find(is_named).or_else(numbered).map(|tool| tool.name.as_str())
}

/// Returns `true` if a name stands in a text, and not as a part of a longer one.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    text.match_indices(name)
        .any(|(at, _)| !is_part(text[..at].chars().next_back()) && !is_part(text[at + name.len()..].chars().next()))
}
