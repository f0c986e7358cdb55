//! A service that limits the rate, before the whole tree: scripted in paused time, and stops while waiting.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use belvedere::agent::{EventKind, Hold, Status, TurnEvent};
use belvedere::message::AgentId;
use belvedere::provider::scripted::Scripted;
use belvedere::provider::{ErrorKind, EventStream, Provider, ProviderError, RateLimiter, Request};
use belvedere::subagent::Command;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::json;
use tokio::time::Instant;

use super::{delegate, reply, script};
use crate::support::{Parts, Session};

const NAMES: [&str; 8] = ["a1", "b2", "c3", "d4", "e5", "f6", "g7", "h8"];
const ASKED: Duration = Duration::from_secs(3);

/// Refuses some requests of a script.
struct Moody {
    script: Arc<Scripted>,
    gate: RateLimiter,
    refuses: fn(usize) -> Option<Duration>,
    asked: Mutex<Vec<(Instant, bool)>>,
    open: Arc<AtomicUsize>,
}

/// Counts an answer as open until it is dropped.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Moody {
    fn new(script: Arc<Scripted>, refuses: fn(usize) -> Option<Duration>) -> Arc<Self> {
        Arc::new(Self { script, gate: RateLimiter::default(), refuses, asked: Mutex::default(), open: Arc::default() })
    }
}

impl Provider for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    fn gate(&self) -> Option<&RateLimiter> {
        Some(&self.gate)
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let mut asked = self.asked.lock().unwrap();
        let refused = (self.refuses)(asked.len() + 1);
        asked.push((Instant::now(), refused.is_some()));
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        let load = self.gate.load();
        assert!(open <= load.in_flight, "{open} of {load:?}");
        assert!(load.allowed.is_none_or(|most| open <= most), "{open} of {load:?}");
        let open = Open(self.open.clone());
        async move {
            // Time on the way: what is sent together is refused together.
            tokio::time::sleep(Duration::from_millis(50)).await;
            if refused.is_some() {
                return Err(ProviderError::new(ErrorKind::RateLimit, "moody", "too many").after(refused));
            }
            let stream = self.script.stream(request).await?;
            Ok(stream.map(move |event| (&open, event).1).boxed())
        }
        .boxed()
    }
}

fn eight() -> Arc<Scripted> {
    script(&[
        reply(json!({"system": "You are Belvedere", "turn": 0}), delegate(&NAMES)),
        reply(
            json!({"task": "RETURN: a word", "turn": 0}),
            vec![json!({"wait_ms": 200}), json!({"call": "LS", "input": {"path": "."}})],
        ),
        reply(
            json!({"task": "RETURN: a word"}),
            vec![json!({"wait_ms": 200}), json!({"say": "<summary>done</summary>"})],
        ),
        reply(json!({}), vec![json!({"say": "composed"})]),
    ])
}

fn is_wait(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Held { why: Hold::RateLimit, .. } | EventKind::Turn(TurnEvent::Retrying { rate_limited: true, .. })
    )
}

#[tokio::test(start_paused = true)]
async fn eight_children_of_a_service_that_refuses_every_second_request_finish_without_a_storm() {
    let provider = Moody::new(eight(), |number| number.is_multiple_of(2).then_some(ASKED));
    let mut session = Session::start(Parts::new(provider.clone()));
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "composed"));
    let asked = provider.asked.lock().unwrap().clone();
    let burst = asked[1].0;
    for (at, _) in asked.iter().filter(|(_, refused)| *refused) {
        let early = asked.iter().filter(|(then, _)| then > at && *then < *at + ASKED).count();
        assert!(early == 0 || *at == burst, "{early} requests were sent in the pause");
    }
    for id in 1..=8 {
        let waits: Vec<&EventKind> = session.of(AgentId(id)).filter(|kind| is_wait(kind)).collect();
        assert!(!waits.is_empty(), "agent {id} does not say what it waits for");
        let over = matches!(waits.last(), Some(EventKind::Held { wait_ms: Some(0), ahead: 0, .. }));
        assert!(over, "agent {id} does not say that the wait is over: {waits:?}");
    }
    let ahead = session.seen.iter().filter_map(|event| match event.kind {
        EventKind::Held { ahead, .. } => Some(ahead),
        _ => None,
    });
    assert!(ahead.max() >= Some(3), "the queue is told");
    session.quit().await;
    assert_eq!(provider.gate.load().in_flight + provider.gate.load().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_stopped_while_it_waits_frees_its_place() {
    // The main agent is answered; eight requests of its children are refused, for long.
    let provider = Moody::new(eight(), |number| (2..=9).contains(&number).then_some(Duration::from_mins(1)));
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    let stopped = session
        .wait(|event| match event.kind {
            EventKind::Held { ahead: 3.., .. } => Some(event.agent),
            _ => None,
        })
        .await;
    let waiting = provider.gate.load().waiting;
    session.send(Command::Stop { agent: stopped });
    assert_eq!(session.ended(stopped).await.status, Status::Cancelled);
    assert!(provider.gate.load().waiting < waiting);
    let outcome = session.ended(AgentId::MAIN).await;
    assert_eq!(outcome.text, "composed");
    session.quit().await;
    assert_eq!(provider.gate.load().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_answers_nobody_is_given_up() {
    let provider = Moody::new(eight(), |number| (number > 1).then_some(ASKED));
    let mut parts = Parts::new(provider.clone());
    parts.main_limits.idle_timeout = Some(Duration::from_secs(30));
    parts.limits.child.idle_timeout = Some(Duration::from_secs(30));
    let mut session = Session::start(parts);
    let outcome = session.ask("go").await;
    assert_eq!(outcome.status, Status::Failed, "waiting is nobody's silence");
    assert!(outcome.reason.unwrap().contains("Rate limited by moody"));
    assert!((300_000..1_200_000).contains(&outcome.elapsed_ms), "{}", outcome.elapsed_ms);
    let failed = session
        .seen
        .iter()
        .filter(|event| matches!(&event.kind, EventKind::Ended { outcome } if outcome.status == Status::Failed));
    assert_eq!(failed.count(), 9);
    session.quit().await;
}

/// Fails every request of a child: most lose their connection, some meet a service without room.
struct Failing {
    script: Arc<Scripted>,
    gate: RateLimiter,
    asked: AtomicUsize,
}

impl Provider for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn gate(&self) -> Option<&RateLimiter> {
        Some(&self.gate)
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        if request.system.starts_with("You are Belvedere") {
            return self.script.stream(request);
        }
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let kind = if number == 0 { ErrorKind::Overloaded } else { ErrorKind::Network };
            Err(ProviderError::new(kind, "failing", "gone"))
        }
        .boxed()
    }
}

/// Returns how long it takes until so many children have failed for good.
async fn failing(children: usize) -> Duration {
    let script = script(&[
        reply(json!({"system": "You are Belvedere", "turn": 0}), delegate(&NAMES[..children])),
        reply(json!({}), vec![json!({"say": "composed"})]),
    ]);
    let provider = Arc::new(Failing { script, gate: RateLimiter::default(), asked: AtomicUsize::new(0) });
    let mut session = Session::start(Parts::new(provider.clone()));
    let started = Instant::now();
    assert_eq!(session.ask("go").await.status, Status::Completed);
    assert_eq!(provider.asked.load(Ordering::SeqCst), children * 6, "each was tried as often as one alone");
    started.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_one_agent_after_a_failure_is_nobody_elses() {
    let (one, eight) = (failing(1).await, failing(8).await);
    // The jitter of the eight differs, and after the first refusal they are sent one at a time.
    assert!(eight < one + Duration::from_secs(10), "one: {one:?}, eight: {eight:?}");
}
