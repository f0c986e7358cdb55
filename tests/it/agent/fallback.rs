//! Models that stand in for a turn: when, in which order, and what is said of it.

use std::sync::{Arc, Mutex};

use belvedere::agent::{EventKind, Status};
use belvedere::message::{AgentId, Message, Usage};
use belvedere::provider::{ErrorKind, EventStream, Provider, ProviderError, Request, StopReason, StreamEvent};
use belvedere::subagent::Command;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};

use crate::support::{Parts, Session};

/// Why a request fails, if it does.
type Fails = fn(&Request) -> Option<ErrorKind>;

/// Answers with the name of the model, but for requests that it fails.
struct Fickle {
    fails: Fails,
    asked: Mutex<Vec<String>>,
}

impl Fickle {
    fn new(fails: Fails) -> Arc<Self> {
        Arc::new(Self { fails, asked: Mutex::default() })
    }

    fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn last_text(request: &Request) -> String {
    let said = request.messages.iter().rev().find_map(|message| match message.as_ref() {
        Message::User { text } => Some(text.clone()),
        _ => None,
    });
    said.unwrap_or_default()
}

impl Provider for Fickle {
    fn name(&self) -> &'static str {
        "fickle"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        self.asked.lock().unwrap().push(request.model.clone());
        let answer = match (self.fails)(&request) {
            Some(kind) => Err(ProviderError::new(kind, "fickle", "oh")),
            None => Ok(request),
        };
        async move {
            let request = answer?;
            let usage = StreamEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() });
            let is_answered = matches!(request.messages.last().map(AsRef::as_ref), Some(Message::ToolResults { .. }));
            let events = if last_text(&request).contains("delegate") && !is_answered {
                let input = r#"{"description":"d","prompt":"Look into the tests and return their names, please."}"#;
                vec![
                    StreamEvent::ToolCallStart { index: 0, id: "t".to_owned(), name: "Agent".to_owned() },
                    StreamEvent::ToolCallDelta { index: 0, json: input.to_owned() },
                    usage,
                    StreamEvent::Stop(StopReason::ToolUse),
                ]
            } else {
                let text = format!("<summary>by {}</summary>", request.model);
                vec![StreamEvent::Text(text), usage, StreamEvent::Stop(StopReason::EndTurn)]
            };
            Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed())
        }
        .boxed()
    }
}

fn start(provider: &Arc<Fickle>, fallbacks: &[&str]) -> Session {
    let mut parts = Parts::new(provider.clone());
    parts.fallback_models = fallbacks.iter().map(|name| (*name).to_owned()).collect();
    Session::start(parts)
}

fn notices(session: &Session) -> Vec<String> {
    let notice = |kind: &EventKind| match kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    };
    session.seen.iter().filter_map(|event| notice(&event.kind)).collect()
}

#[tokio::test(start_paused = true)]
async fn overloaded_models_give_way_in_order_for_one_turn() {
    let busy = |request: &Request| {
        let is_busy = last_text(request).contains("busy") && request.model != "spare";
        is_busy.then_some(ErrorKind::Overloaded)
    };
    let provider = Fickle::new(busy);
    let mut session = start(&provider, &["missing", "second", "spare"]);
    let outcome = session.ask("busy").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "<summary>by spare</summary>"));
    let [own, second, spare] = ["test-model", "second", "spare"];
    assert_eq!(provider.take_asked(), [own, own, own, second, second, second, spare]);
    assert_eq!(
        notices(&session),
        [
            "There is no model `missing`. It cannot stand in for test.",
            "test does not answer: second stands in for this turn.",
            "second does not answer: spare stands in for this turn.",
        ]
    );
    assert_eq!(outcome.usage, Usage { input: 10, output: 5, ..Usage::default() });
    // The next turn begins with the agent's own model again.
    let outcome = session.ask("idle").await;
    assert_eq!(outcome.text, "<summary>by test-model</summary>");
    assert_eq!(provider.take_asked(), [own]);
}

#[tokio::test(start_paused = true)]
async fn nobody_stands_in_where_another_model_mends_nothing() {
    let kinds: [(Fails, usize); 5] = [
        (|_| Some(ErrorKind::Authentication), 1),
        (|_| Some(ErrorKind::BadRequest), 1),
        (|_| Some(ErrorKind::ProxySettings), 1),
        (|request| (request.model == "test-model").then_some(ErrorKind::NotFound), 2),
        (|_| Some(ErrorKind::NotFound), 2),
    ];
    for (number, (fails, asked)) in kinds.into_iter().enumerate() {
        let provider = Fickle::new(fails);
        let mut session = start(&provider, &["spare", "test-model"]);
        let outcome = session.ask("hi").await;
        assert_eq!(outcome.status == Status::Completed, number == 3, "{number}: {outcome:?}");
        assert_eq!(provider.take_asked().len(), asked, "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_the_search_for_another_model() {
    let provider = Fickle::new(|request| (request.model != "spare").then_some(ErrorKind::Overloaded));
    let mut session = start(&provider, &["second", "spare"]);
    session.say("hi");
    session
        .wait(|event| {
            matches!(&event.kind, EventKind::Notice { text } if text.contains("second stands in")).then_some(())
        })
        .await;
    session.send(Command::StopAll);
    let outcome = session.ended(AgentId::MAIN).await;
    assert_eq!(outcome.status, Status::Cancelled);
    assert!(!provider.take_asked().contains(&"spare".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn subagents_fall_back_too() {
    let childs_own = |request: &Request| {
        let is_task = last_text(request).contains("Look into");
        (is_task && request.model == "test-model").then_some(ErrorKind::NotFound)
    };
    let provider = Fickle::new(childs_own);
    let mut session = start(&provider, &["spare"]);
    let outcome = session.ask("delegate").await;
    assert_eq!(outcome.status, Status::Completed);
    assert_eq!(provider.take_asked(), ["test-model", "test-model", "spare", "test-model"]);
    let told = session
        .seen
        .iter()
        .find(|event| matches!(&event.kind, EventKind::Notice { text } if text.contains("spare stands in")));
    assert_eq!(told.map(|event| event.agent), Some(AgentId(1)));
}
