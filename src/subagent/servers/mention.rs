//! What a message of the user names of servers: resources (`@server:uri`) and prompts (`/mcp__server__prompt words`).
//!
//! Owns finding them in the text, and what the model reads in addition. Invariants: a wait has the deadline of the server;
//! what could not be had is said, to the user and to the model; what a server says is bounded and harmless.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::mcp::{McpContent, McpError, McpServers, TOOL_PREFIX, server_prefix, wire_name};
use crate::message::format::counted;
use crate::permission::{Access, AccessKind, Decision, Permissions, shell_words};
use crate::subagent::servers::call::output;
use crate::subagent::servers::harmless_line;

/// Resources of one message.
const MAX_MENTIONS: usize = 10;

/// How long a prompt waits for a server that is starting.
const PROMPT_WAIT: Duration = Duration::from_secs(15);

/// Returns the resources that a text mentions, each with its server.
fn mentions(text: &str, servers: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for word in text.split_whitespace() {
        let Some(word) = word.trim_start_matches(['(', '"', '\'']).strip_prefix('@') else { continue };
        // Of two servers, the one with the longer name is meant.
        let named =
            servers.iter().filter_map(|name| Some((name, word.strip_prefix(name.as_str())?.strip_prefix(':')?)));
        let Some((server, uri)) = named.max_by_key(|(name, _)| name.len()) else { continue };
        let uri = uri.trim_end_matches([',', '.', ')', '"', '\'', ';', '?', '!']);
        if !uri.is_empty() && seen.insert((server.clone(), uri.to_owned())) && found.len() < MAX_MENTIONS {
            found.push((server.clone(), uri.to_owned()));
        }
    }
    found
}

/// Returns what a model reads beside a message of the user. The first line of each is for the user, too.
pub(in crate::subagent) async fn server_texts(
    servers: &McpServers,
    permissions: &Permissions,
    text: &str,
    (max_chars, stop): (usize, &CancellationToken),
) -> Vec<String> {
    let names: Vec<String> = servers.states().into_iter().map(|(name, _)| name).collect();
    let mut texts = Vec::new();
    texts.extend(prompt(servers, permissions, text, (max_chars, stop)).await);
    for (server, uri) in mentions(text, &names) {
        let shown = harmless_line(&format!("@{server}:{uri}"));
        if is_denied(permissions, &server) {
            texts.push(format!("{shown} was not read: a rule denies this server"));
            continue;
        }
        texts.push(match servers.read(&server, &uri, stop).await {
            Ok(content) => {
                let body = body(content, max_chars);
                format!("{shown}: {}, data of an MCP server\n\n{body}", counted(body.chars().count(), "character"))
            }
            Err(error) => failed(&shown, &error),
        });
    }
    texts
}

/// Returns `true` if a rule denies whatever a server has.
fn is_denied(permissions: &Permissions, server: &str) -> bool {
    let kind = AccessKind::Call { server: server.to_owned(), only_reads: true };
    matches!(permissions.decide(&Access::new(wire_name(server, "resource"), kind)), Decision::Deny { .. })
}

/// Returns the text of what a server has answered, which says what is left out of it.
fn body(content: Vec<McpContent>, max_chars: usize) -> String {
    let output = output(content, max_chars);
    let parts = output.content.iter().map(|part| part.text().unwrap_or("[a picture, left out]"));
    parts.collect::<Vec<_>>().join("\n")
}

fn failed(what: &str, error: &McpError) -> String {
    format!("{what} could not be read: {}", harmless_line(&error.to_string()))
}

/// Returns the text of the prompt that a message calls.
async fn prompt(
    servers: &McpServers,
    permissions: &Permissions,
    text: &str,
    (max_chars, stop): (usize, &CancellationToken),
) -> Option<String> {
    let written = text.trim().strip_prefix('/')?;
    let (name, words) = written.split_once(char::is_whitespace).unwrap_or((written, ""));
    if !name.starts_with(TOOL_PREFIX) {
        return None;
    }
    let is_named = |server: &str| name.starts_with(&server_prefix(server));
    tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        () = servers.settled(is_named, PROMPT_WAIT) => {}
    }
    let prompts = servers.prompts();
    let (server, prompt) = prompts.iter().find(|(server, prompt)| wire_name(server, &prompt.name) == name)?;
    let shown = harmless_line(&format!("/{name}"));
    if is_denied(permissions, server) {
        return Some(format!("{shown} was not asked for: a rule denies this server"));
    }
    let arguments = arguments(&prompt.arguments, words);
    Some(match servers.prompt((server, &prompt.name), arguments, stop).await {
        Ok(content) => {
            let body = body(content, max_chars);
            let chars = counted(body.chars().count(), "character");
            format!("{shown}: {chars}, the prompt that it stands for\n\n{body}")
        }
        Err(error) => failed(&shown, &error),
    })
}

/// Returns the words as arguments, in their order; the last argument takes what is left.
fn arguments(names: &[String], words: &str) -> Map<String, Value> {
    let mut words = shell_words(words);
    if let Some(last) = names.len().checked_sub(1)
        && words.len() > names.len()
    {
        let rest = words.split_off(last).join(" ");
        words.push(rest);
    }
    names.iter().cloned().zip(words.into_iter().map(Value::from)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{arguments, mentions};

    #[test]
    fn mentions_are_found_in_sentences() {
        let servers = ["notes".to_owned(), "notes-2".to_owned()];
        let found = mentions(
            "see (@notes:file:///a.md), @notes-2:x?y=1. and me@notes:no @other:z @notes: @notes-2:x?y=1",
            &servers,
        );
        let found: Vec<(&str, &str)> = found.iter().map(|(server, uri)| (server.as_str(), uri.as_str())).collect();
        assert_eq!(found, [("notes", "file:///a.md"), ("notes-2", "x?y=1")]);
    }

    #[test]
    fn words_become_arguments() {
        let names = ["a".to_owned(), "b".to_owned()];
        let of = |words: &str| serde_json::Value::from(arguments(&names, words));
        assert_eq!(of("one \"two three\""), json!({"a": "one", "b": "two three"}));
        assert_eq!(of("one two three"), json!({"a": "one", "b": "two three"}));
        assert_eq!(of("one"), json!({"a": "one"}));
        assert_eq!(of(""), json!({}));
    }
}
