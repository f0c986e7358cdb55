//! A panic where the program asks a model, reads its answer, or keeps a report: it costs the one agent.

use std::sync::Arc;

use belvedere::agent::{AgentEvent, EventKind, Outcome, Status};
use belvedere::message::AgentId;
use belvedere::provider::scripted::Scripted;
use belvedere::provider::{EventStream, Provider, ProviderError, Request, StreamEvent};
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};

use super::server::{CHILDREN, child_name, delegate};
use crate::support::{Parts, Session};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Request,
    Answer,
    Report,
}

/// Breaks for one child.
struct Breaking {
    place: Place,
    others: Scripted,
}

const BROKEN: usize = 3;

impl Provider for Breaking {
    fn name(&self) -> &'static str {
        "breaking"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let is_meant = format!("{:?}", request.messages[0]).contains(&child_name(BROKEN));
        match self.place {
            Place::Request if is_meant => async { panic!("on purpose") }.boxed(),
            Place::Answer if is_meant => {
                let words = stream::iter([Ok(StreamEvent::Text("half a".to_owned()))]);
                let end = stream::once(async { panic!("on purpose") });
                async move { Ok(words.chain(end).boxed()) }.boxed()
            }
            _ => self.others.stream(request),
        }
    }
}

fn script() -> Scripted {
    let calls: Vec<Value> =
        (0..CHILDREN).map(delegate).map(|(name, input)| json!({"call": name, "input": input})).collect();
    let long = "a long report ".repeat(100);
    let lines = [
        json!({"when": {"task": "go eight", "turn": 0}, "steps": calls}),
        json!({"when": {"task": "go eight"}, "steps": [{"say": "composed"}]}),
        json!({"when": {"task": child_name(BROKEN)}, "steps": [{"say": long}]}),
        json!({"when": {"task": "CHILD"}, "steps": [{"say": "<summary>done</summary>"}]}),
        json!({"steps": [{"say": "well"}]}),
    ];
    Scripted::from_jsonl(&lines.map(|line| line.to_string()).join("\n")).unwrap()
}

fn ends(log: &[Arc<AgentEvent>], agent: AgentId) -> Vec<Outcome> {
    let of = log.iter().filter(|event| event.agent == agent);
    of.filter_map(|event| match &event.kind {
        EventKind::Ended { outcome } => Some(outcome.clone()),
        _ => None,
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_one_agent_and_its_parent_hears_of_it() {
    for place in [Place::Request, Place::Answer, Place::Report] {
        let provider = Arc::new(Breaking { place, others: script() });
        let mut parts = Parts::new(provider.clone());
        parts.limits.report_chars = 400;
        if place == Place::Report {
            parts.keep_report = Some(Arc::new(|_, _| async { panic!("on purpose") }.boxed()));
        }
        let mut session = Session::start(parts);
        assert_eq!(session.ask("go eight").await.text, "composed", "{place:?}");
        assert_eq!(session.ask("and now?").await.status, Status::Completed, "{place:?}");
        if place == Place::Report {
            let heard = format!("{:?}", provider.others.requests().last().unwrap().messages);
            assert!(heard.contains("a long report") && heard.contains("could not be saved"), "{heard}");
        }
        let log = session.quit().await;
        let mut broken = 0;
        for event in &log {
            let EventKind::Spawned(spawn) = &event.kind else { continue };
            let ends = ends(&log, event.agent);
            assert_eq!(ends.len(), 1, "{place:?}: {}", spawn.name);
            let is_meant = spawn.prompt.contains(&child_name(BROKEN)) && place != Place::Report;
            broken += usize::from(is_meant);
            assert_eq!(ends[0].status, if is_meant { Status::Failed } else { Status::Completed }, "{place:?}");
            if is_meant {
                assert!(ends[0].reason.as_ref().unwrap().contains("error in Belvedere"), "{:?}", ends[0]);
            }
        }
        assert_eq!(broken, usize::from(place != Place::Report));
    }
}
