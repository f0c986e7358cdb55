//! Servers over the network, on this machine: streamable HTTP, and server-sent events.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use belvedere::mcp::{McpConfig, McpContent, McpFacts, McpServers, McpWay};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Heard, answer, config, in_process};
use crate::support::serve;

fn remote(way: McpWay) -> McpConfig {
    McpConfig { way, ..config("web", "") }
}

async fn settled(way: McpWay) -> (McpServers, McpFacts) {
    let servers = in_process(&Heard::default(), &Arc::default());
    servers.set(vec![remote(way)]);
    servers.settled(|_| true, Duration::from_mins(1)).await;
    let facts = servers.facts().remove(0);
    (servers, facts)
}

async fn echoed(servers: &McpServers) -> Vec<McpContent> {
    let arguments = json!({"text": "hello"}).as_object().unwrap().clone();
    servers.call(("web", "echo"), arguments, &CancellationToken::new()).await.unwrap().content
}

fn token() -> Vec<(String, String)> {
    vec![("Authorization".to_owned(), "Bearer good".to_owned())]
}

fn is_known(headers: &HeaderMap) -> bool {
    headers.get("authorization").is_some_and(|value| value == "Bearer good")
}

/// Answers requests in JSON.
async fn streamable(headers: HeaderMap, Json(message): Json<Value>) -> Response {
    if !is_known(&headers) {
        return (StatusCode::FORBIDDEN, "who are you?").into_response();
    }
    match answer("tools 1", &message) {
        Some(result) => Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

#[tokio::test]
async fn a_server_over_streamable_http_answers_who_has_the_header() {
    let place = serve(Router::new().route("/mcp", post(streamable))).await;
    let url = format!("http://{place}/mcp");
    let (servers, facts) = settled(McpWay::Http { url: url.clone(), headers: token() }).await;
    assert_eq!(facts.tools, ["mcp__web__echo", "mcp__web__write_0"], "{facts:?}");
    assert_eq!(echoed(&servers).await, [McpContent::Text("hello".to_owned())]);
    let (_, refused) = settled(McpWay::Http { url, headers: Vec::new() }).await;
    assert_eq!(refused.state.word(), "reconnecting");
    assert!(refused.line().contains("403"), "{}", refused.line());
}

/// The one stream of a server of the older kind.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>);

async fn stream(State(events): State<Events>, headers: HeaderMap) -> Response {
    if !is_known(&headers) {
        return StatusCode::FORBIDDEN.into_response();
    }
    let (sender, mut said) = mpsc::unbounded_channel();
    sender.send("event: endpoint\ndata: /messages?session=1\n\n".to_owned()).unwrap();
    *events.0.lock().unwrap() = Some(sender);
    let stream = futures::stream::poll_fn(move |context| {
        said.poll_recv(context).map(|text| text.map(|text| Ok::<_, Infallible>(Bytes::from(text))))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
}

async fn told(State(events): State<Events>, Json(message): Json<Value>) -> StatusCode {
    if let Some(result) = answer("tools 1", &message) {
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let sender = events.0.lock().unwrap().clone().unwrap();
        sender.send(format!("event: message\ndata: {answer}\n\n")).unwrap();
    }
    StatusCode::ACCEPTED
}

#[tokio::test]
async fn a_server_of_the_older_kind_answers_in_a_stream() {
    let router = Router::new().route("/sse", get(stream)).route("/messages", post(told));
    let place = serve(router.with_state(Events::default())).await;
    let (servers, facts) = settled(McpWay::Sse { url: format!("http://{place}/sse"), headers: token() }).await;
    assert_eq!(facts.tools.len(), 2, "{facts:?}");
    assert_eq!(echoed(&servers).await, [McpContent::Text("hello".to_owned())]);
}

#[tokio::test]
async fn a_stream_that_sends_requests_elsewhere_is_refused() {
    let elsewhere = || async {
        ([("content-type", "text/event-stream")], "event: endpoint\ndata: http://evil.example/x\n\n").into_response()
    };
    let place = serve(Router::new().route("/sse", get(elsewhere))).await;
    let (_, facts) = settled(McpWay::Sse { url: format!("http://{place}/sse"), headers: token() }).await;
    assert!(facts.line().contains("at another origin, http://evil.example"), "{}", facts.line());
}
