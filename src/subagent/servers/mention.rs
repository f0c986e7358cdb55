//! What a message of the user names of servers: resources (`@server:uri`) and prompts (`/mcp__server__prompt words`).
//!
//! Owns what the model reads in addition. Invariants: only what the user has typed is read, and only of servers that the agent
//! may use; a wait has the deadline of the server; what could not be had is said, to the user and to the model; what a server
//! says is bounded and harmless.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::agent::{Author, EventKind};
use crate::mcp::{McpContent, McpError, McpServers, TOOL_PREFIX, server_prefix, wire_name};
use crate::message::format::counted;
use crate::message::{AgentId, Mention, UserText};
use crate::permission::{Access, AccessKind, Decision, Permissions, shell_words};
use crate::subagent::servers::call::output;
use crate::subagent::servers::{AgentServers, harmless_line};
use crate::subagent::tree::Tree;

/// Resources of one message.
const MAX_MENTIONS: usize = 10;

/// How long a prompt waits for a server that is starting.
const PROMPT_WAIT: Duration = Duration::from_secs(15);

/// Returns the resources among mentions, each with its server.
fn resources<'t>(mentions: impl Iterator<Item = Mention<'t>>, servers: &[String]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for mention in mentions {
        // Of two servers, the one with the longer name is meant.
        let named = servers
            .iter()
            .filter_map(|name| Some((name, mention.name.strip_prefix(name.as_str())?.strip_prefix(':')?)));
        let Some((server, uri)) = named.max_by_key(|(name, _)| name.len()) else { continue };
        if !uri.is_empty() && seen.insert((server.clone(), uri.to_owned())) && found.len() < MAX_MENTIONS {
            found.push((server.clone(), uri.to_owned()));
        }
    }
    found
}

/// The servers that an agent reaches, and what it may use of them.
pub(in crate::subagent) type MentionReach = (AgentServers, Permissions);

impl Tree {
    /// Returns what a subagent may use of servers, if that is known.
    pub(in crate::subagent) fn mention_reach(&self, agent: AgentId) -> Option<MentionReach> {
        let registry = self.registry();
        Some(registry.get(&agent)?.template.ready()?.own.capabilities.mention_reach())
    }

    /// Returns what the model of an agent that reaches these servers reads beside a message of the user. The first line of
    /// each is for the user, too.
    pub(in crate::subagent) async fn server_texts(
        &self,
        reach: Option<MentionReach>,
        said: &UserText,
        stop: &CancellationToken,
    ) -> Vec<String> {
        let setup = self.setup();
        let max_chars = setup.limits.child.result_chars;
        let own = reach.iter().flat_map(|(servers, _)| servers.states());
        let names: Vec<String> = setup.servers.states().into_iter().chain(own).map(|(name, _)| name).collect();
        let mut texts = Vec::new();
        if let Some(reach) = &reach {
            texts.extend(prompt(reach, said, max_chars, stop).await);
        }
        for (server, uri) in resources(said.mentions(), &names) {
            let shown = harmless_line(&format!("@{server}:{uri}"));
            let servers = match &reach {
                Some(reach) => reached(reach, &server),
                None => Err("it is not known yet what the agent may use"),
            };
            texts.push(match servers {
                Err(why) => format!("{shown} was not read: {why}"),
                Ok(servers) => match servers.read(&server, &uri, stop).await {
                    Ok(content) => {
                        let body = body(content, max_chars);
                        format!(
                            "{shown}: {}, data of an MCP server\n\n{body}",
                            counted(body.chars().count(), "character")
                        )
                    }
                    Err(error) => failed(&shown, &error),
                },
            });
        }
        let others = resources(said.others(), &names).len();
        if others > 0 {
            let text = format!("{} of MCP servers not read: pasted, not typed", counted(others, "mention"));
            self.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text }).await;
        }
        texts.iter().map(|text| Author::Program.model_text(&setup.secrets.redact(text))).collect()
    }
}

/// Returns the servers in which an agent reaches this one. The error says why it does not.
fn reached((servers, permissions): &MentionReach, server: &str) -> Result<McpServers, &'static str> {
    let may = permissions.may_offer_below(&server_prefix(server)) && !is_denied(permissions, server);
    servers.having(server).filter(|_| may).ok_or("rules or the agent's file say no to this server")
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
async fn prompt(reach: &MentionReach, said: &UserText, max_chars: usize, stop: &CancellationToken) -> Option<String> {
    let written = said.calling()?.trim().strip_prefix('/')?;
    let (name, words) = written.split_once(char::is_whitespace).unwrap_or((written, ""));
    if !name.starts_with(TOOL_PREFIX) {
        return None;
    }
    let is_named = |server: &str| name.starts_with(&server_prefix(server));
    tokio::select! {
        biased;
        () = stop.cancelled() => return None,
        () = reach.0.settled(is_named, PROMPT_WAIT) => {}
    }
    let prompts = reach.0.prompts();
    let (servers, server, prompt) =
        prompts.iter().find(|(_, server, prompt)| wire_name(server, &prompt.name) == name)?;
    let shown = harmless_line(&format!("/{name}"));
    if let Err(why) = reached(reach, server) {
        return Some(format!("{shown} was not asked for: {why}"));
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
