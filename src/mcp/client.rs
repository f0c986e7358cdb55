//! One connection to a server: the handshake, what it offers, and calls.
//!
//! Owns the words of the protocol, which the crate `rmcp` speaks. Leaves when to connect to `servers`. Invariants: each
//! request has a deadline; one that is given up is cancelled at the server; what comes back is bounded.

#![expect(deprecated, reason = "servers log in the way that the newest protocol gives up")]

use std::future::Future;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, ContentBlock,
    Implementation, ListToolsRequest, LoggingMessageNotificationParam, ResourceContents, ServerResult,
};
use rmcp::service::{ClientInitializeError, NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::AuthRequiredError;
use rmcp::{ClientHandler, Peer, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::McpError;
use super::names::McpToolInfo;
use super::reading::{self, McpPrompt};
use super::remote::SseError;
use super::tool_list::ToolList;
use crate::launched::ProgramLog;
use crate::message::{sanitize, sanitize_line};
use crate::network::root_cause;

/// Tools of one list that are read.
const MAX_LISTED: usize = 2_000;
/// Pages of one list.
const MAX_PAGES: usize = 50;
/// Characters of what a server says of its use.
const MAX_INSTRUCTIONS: usize = 2_000;
/// How long a list may take.
pub(super) const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long we try to tell a server that a call was given up.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// A part of what a server has answered.
#[derive(Debug, Clone, PartialEq)]
pub enum McpContent {
    Text(String),
    Image {
        media_type: String,
        /// In base64.
        data: String,
    },
    /// Something that no model here reads, in a few words.
    Other(String),
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct McpReply {
    pub content: Vec<McpContent>,
    pub is_error: bool,
}

/// Takes what a server says unasked.
pub(super) struct Listener {
    pub(super) log: ProgramLog,
    /// Notified when what it offers has changed.
    pub(super) changed: Arc<Notify>,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("belvedere", env!("CARGO_PKG_VERSION")))
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        let text = match &params.data {
            Value::String(text) => text.clone(),
            data => data.to_string(),
        };
        self.log.add(&text);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unconnected {
    #[error("the server wants you to sign in")]
    SignIn,
    #[error("{0}")]
    Failed(String),
}

impl From<String> for Unconnected {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

pub(super) type McpConnection = RunningService<RoleClient, Listener>;

/// What a connected server offers.
#[derive(Debug, Clone, Default)]
pub(super) struct Offered {
    pub(super) tools: Vec<Arc<McpToolInfo>>,
    /// The addresses of its resources.
    pub(super) resources: Vec<String>,
    pub(super) prompts: Vec<McpPrompt>,
    pub(super) version: Option<String>,
    /// What it says of its use.
    pub(super) instructions: Option<String>,
    /// What went wrong in finding out.
    pub(super) errors: Vec<String>,
}

/// Asks a server for all that it offers.
pub(super) async fn offered(peer: &Peer<RoleClient>, server: &str) -> Offered {
    let mut offered = Offered::default();
    let Some(info) = peer.peer_info() else { return offered };
    offered.version = info.server_info.as_ref().map(|info| format!("{} {}", info.name, info.version));
    offered.instructions = info.instructions.as_deref().and_then(bounded);
    if info.capabilities.tools.is_some() {
        match tools(peer, server).await {
            Ok(list) => {
                offered.errors.extend(list.notice());
                offered.tools = list.tools;
            }
            Err(why) => offered.errors.push(format!("its tools cannot be listed: {why}")),
        }
    }
    if info.capabilities.resources.is_some() {
        match reading::resources(peer).await {
            Ok(resources) => offered.resources = resources,
            Err(why) => offered.errors.push(format!("its resources cannot be listed: {why}")),
        }
    }
    if info.capabilities.prompts.is_some() {
        match reading::prompts(peer).await {
            Ok(prompts) => offered.prompts = prompts,
            Err(why) => offered.errors.push(format!("its prompts cannot be listed: {why}")),
        }
    }
    offered
}

/// Returns what a server says of its use, without what controls a terminal, and cut where it is too long; `None` if it says
/// nothing.
fn bounded(instructions: &str) -> Option<String> {
    let text = sanitize(instructions);
    let text = text.trim();
    let left_out = text.chars().count().saturating_sub(MAX_INSTRUCTIONS);
    let kept: String = text.chars().take(MAX_INSTRUCTIONS).collect();
    let cut = if left_out > 0 { format!("\n… ({left_out} more characters are left out)") } else { String::new() };
    (!kept.is_empty()).then(|| kept + &cut)
}

async fn tools(peer: &Peer<RoleClient>, server: &str) -> Result<ToolList, String> {
    let mut listed: Vec<Value> = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let page = rmcp::model::PaginatedRequestParams::default().with_cursor(cursor);
        let asked = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page));
        let answer = request(peer, asked, LIST_TIMEOUT, &CancellationToken::new()).await;
        // The library knows a list only if each of its tools is to the letter.
        let page = match answer.map_err(|error| error.to_string())? {
            ServerResult::CustomResult(page) => page.0,
            known => serde_json::to_value(known).unwrap_or_default(),
        };
        let Some(tools) = page.get("tools").and_then(Value::as_array) else {
            return Err("the answer is not a list of tools".to_owned());
        };
        listed.extend(tools.iter().cloned());
        cursor = page.get("nextCursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty()).map(str::to_owned);
        if cursor.is_none() || listed.len() > MAX_LISTED {
            break;
        }
    }
    Ok(ToolList::read(server, &listed))
}

/// Calls a tool. Given up, by `stop` or at the deadline, the call is cancelled at the server.
pub(super) async fn call(
    peer: &Peer<RoleClient>,
    (tool, args): (&str, Map<String, Value>),
    deadline: Duration,
    stop: &CancellationToken,
) -> Result<McpReply, McpError> {
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
    let result = request(peer, ClientRequest::CallToolRequest(CallToolRequest::new(params)), deadline, stop).await?;
    match result {
        ServerResult::CallToolResult(result) => {
            let mut content: Vec<McpContent> = result.content.into_iter().map(content_of).collect();
            if let (true, Some(value)) = (content.is_empty(), result.structured_content) {
                content.push(McpContent::Text(value.to_string()));
            }
            Ok(McpReply { content, is_error: result.is_error.unwrap_or(false) })
        }
        ServerResult::EmptyResult(_) => Ok(McpReply { content: Vec::new(), is_error: false }),
        _ => Err(McpError::Failed("the server has answered something that is no result of a tool".to_owned())),
    }
}

/// Sends a request and waits for its answer, within the deadline and until `stop`.
pub(super) async fn request(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    deadline: Duration,
    stop: &CancellationToken,
) -> Result<ServerResult, McpError> {
    let too_late = || McpError::TooLate(deadline.as_secs());
    let sending = timeout(deadline, peer.send_cancellable_request(request, PeerRequestOptions::no_options()));
    let mut handle = tokio::select! {
        biased;
        () = stop.cancelled() => return Err(McpError::Stopped),
        sent = sending => sent.map_err(|_| too_late())?.map_err(|error| failed(&error))?,
    };
    let (error, why) = tokio::select! {
        biased;
        answer = &mut handle.rx => {
            let closed = |_| McpError::Failed("the server has closed the connection".to_owned());
            return answer.map_err(closed)?.map_err(|error| failed(&error));
        }
        () = stop.cancelled() => (McpError::Stopped, "stopped by the user"),
        () = sleep(deadline) => (too_late(), "no answer in time"),
    };
    let _ = timeout(CANCEL_TIMEOUT, handle.cancel(Some(why.to_owned()))).await;
    Err(error)
}

fn failed(error: &rmcp::ServiceError) -> McpError {
    match error {
        rmcp::ServiceError::TransportSend(error) if wants_sign_in(error) => McpError::SignIn,
        error => McpError::Failed(sanitize_line(&error.to_string()).into_owned()),
    }
}

pub(super) fn content_of(block: ContentBlock) -> McpContent {
    match block {
        ContentBlock::Text(text) => McpContent::Text(text.text),
        ContentBlock::Image(image) => McpContent::Image { media_type: image.mime_type, data: image.data },
        ContentBlock::Audio(audio) => McpContent::Other(format!("[sound, {}]", audio.mime_type)),
        ContentBlock::Resource(resource) => resource_of(resource.resource),
        ContentBlock::ResourceLink(link) => McpContent::Text(format!("{}: {}", link.name, link.uri)),
        _ => McpContent::Other("[something of a kind that is not known here]".to_owned()),
    }
}

pub(super) fn resource_of(contents: ResourceContents) -> McpContent {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => McpContent::Text(text),
        ResourceContents::BlobResourceContents { mime_type: Some(media_type), blob, .. }
            if media_type.starts_with("image/") =>
        {
            McpContent::Image { media_type, data: blob }
        }
        ResourceContents::BlobResourceContents { uri, blob, .. } => {
            McpContent::Other(format!("[{uri}: {} bytes that are no text]", blob.len() / 4 * 3))
        }
        _ => McpContent::Other("[a resource of a kind that is not known here]".to_owned()),
    }
}

/// Shakes hands over a transport, within a time.
pub(super) async fn connect<T, E, A>(
    transport: T,
    listener: Listener,
    within: Duration,
) -> Result<McpConnection, Unconnected>
where
    T: rmcp::transport::IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let shaking: std::pin::Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(rmcp::serve_client(listener, transport));
    match timeout(within, shaking).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(ClientInitializeError::TransportError { error, .. })) if wants_sign_in(&error) => {
            Err(Unconnected::SignIn)
        }
        Ok(Err(error)) => Err(Unconnected::Failed(words(&error))),
        Err(_) => Err(Unconnected::Failed(format!("no answer within {} s", within.as_secs()))),
    }
}

/// Returns `true` if a server, or the way to it, wants the user to sign in.
fn wants_sign_in(error: &DynamicTransportError) -> bool {
    let first: &(dyn std::error::Error + 'static) = error.error.as_ref();
    std::iter::successors(Some(first), |error| error.source()).any(|error| {
        let refused = error.downcast_ref::<AuthError>();
        error.is::<AuthRequiredError>()
            || matches!(refused, Some(AuthError::AuthorizationRequired))
            || matches!(error.downcast_ref::<SseError>(), Some(SseError::SignIn))
    })
}

const ENDED: &str = "it has ended before it answered";

fn words(error: &ClientInitializeError) -> String {
    let text = match error {
        ClientInitializeError::ConnectionClosed(_) => ENDED.to_owned(),
        ClientInitializeError::TransportError { error, .. } => {
            let root = root_cause(error.error.as_ref());
            match root.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
                Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => ENDED.to_owned(),
                _ => root.to_string(),
            }
        }
        error => error.to_string(),
    };
    let text: String = text.chars().take(300).collect();
    sanitize_line(&text).into_owned()
}
