//! The whole tree against a server on loopback that speaks each API: eight subagents of ten tool calls each.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use belvedere::agent::{EventKind, Hold, Status, TurnEvent};
use belvedere::message::AgentId;
use belvedere::provider::{Provider, RateLimiter};
use belvedere::subagent::Command;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::support::{Api, Parts, Planned, Session};

const CHILDREN: usize = 8;
const CALLS: usize = 10;

/// What the server has seen.
#[derive(Default)]
struct Seen {
    bodies: Mutex<Vec<String>>,
    open: AtomicUsize,
    /// Children that have asked for something; the server answers none of them before all have.
    begun: Mutex<HashSet<String>>,
    /// The child whose stream never ends.
    stalled: Option<String>,
    /// Refuses every second request; what was wrong with those that came.
    limited: Option<Limited>,
}

#[derive(Default)]
struct Limited {
    gate: OnceLock<RateLimiter>,
    errors: Mutex<Vec<String>>,
}

struct Server {
    api: Api,
    seen: Arc<Seen>,
}

/// Counts a stream as open until it is dropped.
struct Open(Arc<Seen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(api: Api, stalled: Option<usize>) -> (Arc<dyn Provider>, Arc<Seen>) {
    serve_with(api, Seen { stalled: stalled.map(child_name), ..Seen::default() }).await
}

async fn serve_with(api: Api, seen: Seen) -> (Arc<dyn Provider>, Arc<Seen>) {
    let seen = Arc::new(seen);
    let server = Arc::new(Server { api, seen: seen.clone() });
    let app = Router::new()
        .route("/v1/messages", post(answer))
        .route("/v1/chat/completions", post(answer))
        .with_state(server);
    let base = format!("http://{}", crate::support::serve(app).await);
    (api.connect(&base), seen)
}

fn child_name(number: usize) -> String {
    format!("CHILD-{number:02}")
}

async fn answer(State(server): State<Arc<Server>>, body: Bytes) -> Response {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let request: Value = serde_json::from_str(&text).unwrap();
    server.seen.bodies.lock().unwrap().push(text);
    let count = server.seen.open.fetch_add(1, Ordering::SeqCst) + 1;
    let open = Open(server.seen.clone());
    if let Some(limited) = &server.seen.limited
        && limited.refuses(server.seen.bodies.lock().unwrap().len(), count)
    {
        return Response::builder().status(429).header("retry-after-ms", "20").body(Body::from("slow down")).unwrap();
    }
    let (results, task) = server.api.conversation(&request);
    let child = (0..CHILDREN).map(child_name).find(|name| task.contains(name));
    let plan = plan(child.as_deref(), results);
    let stalls = child.is_some() && child == server.seen.stalled && results == 2;
    let mut pieces = server.api.events(&plan);
    if stalls {
        pieces.truncate(pieces.len() - 2);
    }
    // Whoever has read the last piece may be gone before the stream ends.
    let last = if stalls { None } else { pieces.pop() };
    if let Some(child) = child.filter(|_| server.seen.limited.is_none()) {
        all_begun(&server.seen, child).await;
    }
    let pieces = stream::iter(pieces.into_iter().map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
    let tail = stream::once(async move {
        if stalls {
            std::future::pending::<()>().await;
        }
        drop(open);
        Ok(Bytes::from(last.unwrap_or_default()))
    });
    Response::builder().header("content-type", "text/event-stream").body(Body::from_stream(pieces.chain(tail))).unwrap()
}

impl Limited {
    /// Tells whether the request is refused; `open` are those that are being answered, itself included.
    fn refuses(&self, number: usize, open: usize) -> bool {
        let load = self.gate.get().unwrap().load();
        // The first of each child are sent before anything was refused.
        let is_burst = number <= CHILDREN + 1;
        if open > load.in_flight || !is_burst && load.allowed.is_none_or(|most| open > most) {
            self.errors.lock().unwrap().push(format!("request {number}: {open} are open, {load:?}"));
        }
        number.is_multiple_of(2)
    }
}

/// Waits until every child is at work, which proves that they run at the same time.
async fn all_begun(seen: &Seen, child: String) {
    seen.begun.lock().unwrap().insert(child);
    while seen.begun.lock().unwrap().len() < CHILDREN {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn plan(child: Option<&str>, results: usize) -> Planned {
    match child {
        Some(name) if results < CALLS => Planned {
            text: vec![format!("CANARY-aside of {name}")],
            calls: vec![("Read".into(), json!({"file_path": format!("file-{results}.txt")}))],
        },
        Some(name) => Planned { text: vec![format!("<summary>REPORT of {name}</summary>")], calls: vec![] },
        None if results == 0 => {
            Planned { text: vec!["eight at once".into()], calls: (0..CHILDREN).map(delegate).collect() }
        }
        None => Planned { text: vec!["composed".into()], calls: vec![] },
    }
}

fn delegate(number: usize) -> (String, Value) {
    let prompt = format!("WHAT: {} reads ten files. WHERE: here. RETURN: one line.", child_name(number));
    ("Agent".into(), json!({"description": "reads files", "subagent_type": "explore", "prompt": prompt}))
}

fn fill(session: &Session) {
    for number in 0..CALLS {
        std::fs::write(session.root().join(format!("file-{number}.txt")), format!("CANARY-file {number}\n")).unwrap();
    }
}

/// Returns the last request of the main agent.
fn parents_last(seen: &Seen) -> String {
    let bodies = seen.bodies.lock().unwrap();
    bodies.iter().rev().find(|body| body.contains("\"go eight\"")).unwrap().clone()
}

fn reports(body: &str) -> usize {
    (0..CHILDREN).filter(|number| body.contains(&format!("REPORT of {}", child_name(*number)))).count()
}

async fn all_finish(api: Api) {
    let (provider, seen) = serve(api, None).await;
    let mut session = Session::start(Parts::new(provider));
    fill(&session);
    let outcome = session.ask("go eight").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "composed"));
    let body = parents_last(&seen);
    assert_eq!(reports(&body), CHILDREN);
    assert!(!body.contains("CANARY"), "something of a child leaked: {body}");
    let requests = seen.bodies.lock().unwrap().len();
    assert_eq!(requests, CHILDREN * (CALLS + 1) + 2);
    session.quit().await;
    assert_eq!(seen.open.load(Ordering::SeqCst), 0);
}

/// On one thread, so that what the server counts can be held against what the gate counts.
async fn all_finish_within_limits(api: Api) {
    let limited = Limited::default();
    let (provider, seen) = serve_with(api, Seen { limited: Some(limited), ..Seen::default() }).await;
    let gate = provider.gate().unwrap().clone();
    let limited = seen.limited.as_ref().unwrap();
    limited.gate.set(gate.clone()).unwrap();
    let mut session = Session::start(Parts::new(provider));
    fill(&session);
    let outcome = session.ask("go eight").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "composed"));
    assert_eq!(reports(&parents_last(&seen)), CHILDREN);
    let errors = limited.errors.lock().unwrap().clone();
    assert!(errors.is_empty(), "{errors:#?}");
    for id in (1..).map(AgentId).take(CHILDREN) {
        let is_wait = |kind: &&EventKind| {
            matches!(
                kind,
                EventKind::Held { why: Hold::RateLimit, .. }
                    | EventKind::Turn(TurnEvent::Retrying { rate_limited: true, .. })
            )
        };
        assert!(session.of(id).any(|kind| is_wait(&kind)), "agent {id} does not say what it waits for");
    }
    session.quit().await;
    assert_eq!((gate.load().in_flight, gate.load().waiting), (0, 0));
}

async fn one_is_stopped(api: Api) {
    const STOPPED: usize = 3;
    let (provider, seen) = serve(api, Some(STOPPED)).await;
    let mut session = Session::start(Parts::new(provider));
    fill(&session);
    session.say("go eight");
    let id = session
        .wait(|event| match &event.kind {
            EventKind::Spawned(spawn) if spawn.prompt.contains(&child_name(STOPPED)) => Some(event.agent),
            _ => None,
        })
        .await;
    let mut asides = 0;
    session
        .wait(|event| {
            asides += usize::from(event.agent == id && matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })));
            (asides == 3).then_some(())
        })
        .await;
    session.send(Command::Stop { agent: id });
    assert_eq!(session.ended(AgentId::MAIN).await.text, "composed");
    let body = parents_last(&seen);
    assert_eq!(reports(&body), CHILDREN - 1);
    assert_eq!(body.matches("status: cancelled").count(), 1);
    assert_eq!(body.matches("CANARY").count(), 1, "its last words are part of its report, nothing else is");
    assert!(body.contains("Tools run: Read ×2"), "{body}");
    session.quit().await;
    let closed = async {
        while seen.open.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("a connection is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_children_over_the_messages_api() {
    all_finish(Api::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_children_over_chat_completions() {
    all_finish(Api::Chat).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_eight_is_stopped_mid_stream_over_the_messages_api() {
    one_is_stopped(Api::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_eight_is_stopped_mid_stream_over_chat_completions() {
    one_is_stopped(Api::Chat).await;
}

#[tokio::test]
async fn every_second_request_is_refused_over_the_messages_api() {
    all_finish_within_limits(Api::Anthropic).await;
}

#[tokio::test]
async fn every_second_request_is_refused_over_chat_completions() {
    all_finish_within_limits(Api::Chat).await;
}
