//! What a server offers besides tools: resources to be read, and prompts to be used.
//!
//! Owns both requests and lists. Leaves what becomes of the text to `subagent`. Invariant: lists are bounded, as are the
//! tools'.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequest,
    ReadResourceRequestParams, Role, ServerResult,
};
use rmcp::{Peer, RoleClient};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::client::{LIST_TIMEOUT, content_of, request, resource_of};
use super::{McpContent, McpError, wire_name};
use crate::message::sanitize_line;

/// Resources and prompts of one server that are listed.
const MAX_LISTED: usize = 500;
/// Pages of one list.
const MAX_PAGES: usize = 10;
/// Characters of a name or an address.
const MAX_NAME_CHARS: usize = 300;

/// A prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpPrompt {
    pub name: String,
    /// What it is for, on one line.
    pub about: String,
    /// The names of its arguments, in their order.
    pub arguments: Vec<String>,
}

impl McpPrompt {
    /// Returns the command that stands for it.
    #[must_use]
    pub fn command(&self, server: &str) -> String {
        format!("/{}", wire_name(server, &self.name))
    }
}

fn is_named(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.contains(char::is_whitespace)
}

/// Returns the addresses of a server's resources.
pub(super) async fn resources(peer: &Peer<RoleClient>) -> Result<Vec<String>, String> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let listed = timeout(LIST_TIMEOUT, peer.list_resources(Some(page))).await;
        let listed = listed.map_err(|_| "no answer in time".to_owned())?.map_err(|error| error.to_string())?;
        all.extend(listed.resources.into_iter().map(|resource| resource.uri).filter(|uri| is_named(uri)));
        cursor = listed.next_cursor;
        if cursor.is_none() || all.len() >= MAX_LISTED {
            break;
        }
    }
    all.truncate(MAX_LISTED);
    Ok(all)
}

/// Returns a server's prompts.
pub(super) async fn prompts(peer: &Peer<RoleClient>) -> Result<Vec<McpPrompt>, String> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let listed = timeout(LIST_TIMEOUT, peer.list_prompts(Some(page))).await;
        let listed = listed.map_err(|_| "no answer in time".to_owned())?.map_err(|error| error.to_string())?;
        for prompt in listed.prompts.into_iter().filter(|prompt| is_named(&prompt.name)) {
            let about = prompt.description.or(prompt.title).unwrap_or_default();
            let about: String = sanitize_line(&about).chars().take(MAX_NAME_CHARS).collect();
            let arguments = prompt.arguments.unwrap_or_default().into_iter().map(|argument| argument.name);
            all.push(McpPrompt { name: prompt.name, about, arguments: arguments.collect() });
        }
        cursor = listed.next_cursor;
        if cursor.is_none() || all.len() >= MAX_LISTED {
            break;
        }
    }
    all.truncate(MAX_LISTED);
    Ok(all)
}

/// Reads a resource.
pub(super) async fn read(
    peer: &Peer<RoleClient>,
    uri: &str,
    deadline: Duration,
    stop: &CancellationToken,
) -> Result<Vec<McpContent>, McpError> {
    let asked = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(ReadResourceRequestParams::new(uri)));
    match request(peer, asked, deadline, stop).await? {
        ServerResult::ReadResourceResult(result) => Ok(result.contents.into_iter().map(resource_of).collect()),
        _ => Err(McpError::Failed("the server has answered something that is no resource".to_owned())),
    }
}

/// Returns the text of a prompt, with what it puts into the mouth of the assistant marked so.
pub(super) async fn prompt(
    peer: &Peer<RoleClient>,
    (name, arguments): (&str, Map<String, Value>),
    deadline: Duration,
    stop: &CancellationToken,
) -> Result<Vec<McpContent>, McpError> {
    let mut params = GetPromptRequestParams::new(name);
    if !arguments.is_empty() {
        params = params.with_arguments(arguments);
    }
    match request(peer, ClientRequest::GetPromptRequest(GetPromptRequest::new(params)), deadline, stop).await? {
        ServerResult::GetPromptResult(result) => {
            let part = |message: rmcp::model::PromptMessage| match (message.role, content_of(message.content)) {
                (Role::Assistant, McpContent::Text(text)) => McpContent::Text(format!("(said before) {text}")),
                (_, content) => content,
            };
            Ok(result.messages.into_iter().map(part).collect())
        }
        _ => Err(McpError::Failed("the server has answered something that is no prompt".to_owned())),
    }
}
