//! Shapes of answers, from `tests/fixtures/models/answers.toml`: what is run, what is asked again, and what counts as done.

use std::path::Path;

use belvedere::agent::{EventKind, Outcome, Status, TurnEvent};
use belvedere::message::{AgentId, Block};
use serde::Deserialize;
use serde_json::{Value, json};

use super::wires::{ModelServer, PlannedReply, WIRES, Wire};
use crate::support::{Parts, Session};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    shape: Vec<Shape>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    name: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    /// What the user, or the parent, has said.
    #[serde(default)]
    said: String,
    expect: Expected,
    /// The answer, if it is not the whole text.
    answer: Option<String>,
    /// What the reasoning has to hold.
    thinks: Option<String>,
    /// What stays of the text of a reply whose call is run.
    #[serde(default)]
    before: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Expected {
    /// It is the answer.
    Answer,
    /// It is a call of Read for `a.txt`, and is run.
    Call,
    /// It is a call that cannot be run: the model hears so.
    Markup,
    /// It is nothing.
    Silence,
    /// It is a step that is not taken.
    Announcement,
}

impl Expected {
    /// Returns what the model hears.
    fn words(self) -> &'static str {
        match self {
            Self::Answer | Self::Call => "",
            Self::Markup => "arrived as text",
            Self::Silence => "held no answer",
            Self::Announcement => "without taking it",
        }
    }
}

fn shapes() -> Vec<Shape> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/models/answers.toml");
    toml::from_str::<Shapes>(&std::fs::read_to_string(path).unwrap()).unwrap().shape
}

const MAIN: &str = "main task";
const CHILD: &str = "child task";

/// Who answers in the shape that is played.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Speaker {
    Main,
    Child,
}

/// What came of a run.
struct Played {
    outcome: Outcome,
    /// The requests that the shape was an answer to, and what followed from it.
    requests: Vec<String>,
    /// What a parent has read of it.
    report: Option<String>,
    turns: Vec<Vec<Block>>,
    /// The text that was shown while it came.
    shown: String,
}

/// Plays a reply, and then others; the last one is repeated.
async fn play(wire: Wire, speaker: Speaker, shape: &Shape, replies: Vec<PlannedReply>) -> Played {
    let told = format!("{CHILD}: {}", shape.said);
    let prompt = format!("{told}. WHAT: read the file a.txt. WHERE: here. RETURN: what it says.");
    let delegated =
        PlannedReply::call("Agent", &json!({"description": "reads", "subagent_type": "explore", "prompt": prompt}));
    let turns = std::sync::atomic::AtomicUsize::new(0);
    let server = ModelServer::start(wire, move |request: &Value| {
        let is_main = request.to_string().contains(MAIN);
        match (speaker, is_main) {
            (Speaker::Main, _) | (Speaker::Child, false) => {
                let turn = turns.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                replies[turn.min(replies.len() - 1)].clone()
            }
            (Speaker::Child, true) if request.to_string().contains("status: ") => PlannedReply::say("It is composed."),
            (Speaker::Child, true) => delegated.clone(),
        }
    })
    .await;
    let mut parts = Parts::new(server.provider.clone());
    parts.files = vec![("a.txt", "ALPHA\n".to_owned())];
    let mut session = Session::start(parts);
    let said = if speaker == Speaker::Main { shape.said.as_str() } else { "" };
    let last = session.ask(&format!("{MAIN} {said}")).await;
    let (id, mark) = if speaker == Speaker::Main { (AgentId::MAIN, MAIN) } else { (AgentId(1), CHILD) };
    let outcome = session.of(id).find_map(|kind| match kind {
        EventKind::Ended { outcome } => Some(outcome.clone()),
        _ => None,
    });
    let ended = session.of(id).filter_map(|kind| match kind {
        EventKind::Turn(TurnEvent::Ended { message, .. }) => Some(message.content.clone()),
        _ => None,
    });
    let turns = ended.collect();
    let deltas = session.of(id).filter_map(|kind| match kind {
        EventKind::Turn(TurnEvent::Text { text }) => Some(text.clone()),
        _ => None,
    });
    let shown = deltas.collect();
    let mut requests = server.requests_with(mark);
    let report = (speaker == Speaker::Child).then(|| server.requests_with(MAIN).pop().unwrap_or_default());
    if speaker == Speaker::Child {
        requests.retain(|request| !request.contains(MAIN));
    }
    session.quit().await;
    Played { outcome: outcome.unwrap_or(last), requests, report, turns, shown }
}

fn texts(turn: &[Block]) -> (String, String) {
    let (mut said, mut thought) = (Vec::new(), Vec::new());
    for block in turn {
        match block {
            Block::Text { text } => said.push(text.trim().to_owned()),
            Block::Thinking { text, .. } => thought.push(text.clone()),
            _ => {}
        }
    }
    (said.join("\n\n"), thought.join("\n"))
}

/// Plays a shape, and asserts what comes of it: after a better reply, and if it comes again and again.
async fn check(wire: Wire, speaker: Speaker, shape: &Shape) {
    let what = format!("{wire:?} {speaker:?} {}", shape.name);
    let reply = PlannedReply { text: shape.text.clone(), thinking: shape.thinking.clone(), ..PlannedReply::default() };
    let better = PlannedReply::say("It says ALPHA.");
    let recovered = play(wire, speaker, shape, vec![reply.clone(), better.clone()]).await;
    let Played { outcome, requests, turns, shown, .. } = &recovered;
    let (said, thought) = texts(&turns[0]);
    assert_eq!(outcome.status, Status::Completed, "{what}: {outcome:?}");
    if let Some(thinks) = &shape.thinks {
        assert!(thought.contains(thinks), "{what}: thought {thought:?}, said {said:?}");
    }
    match shape.expect {
        Expected::Answer => {
            let answer = shape.answer.as_deref().unwrap_or(&shape.text);
            assert_eq!((requests.len(), outcome.text.trim()), (1, answer.trim()), "{what}");
        }
        Expected::Call => {
            assert_eq!((requests.len(), outcome.text.as_str()), (2, "It says ALPHA."), "{what}");
            assert_eq!(outcome.tools_run.get("Read"), Some(&1), "{what}: {:?}", turns[0]);
            assert!(requests[1].contains("ALPHA"), "{what}: {}", requests[1]);
            assert_eq!(said, shape.before, "{what}: the markup is no text");
            let is_json = shape.text.trim_start().starts_with(['{', '[']);
            assert!(is_json || !shown.contains("file_path"), "{what}: {shown} was shown");
        }
        kind => {
            assert_eq!(outcome.text, "It says ALPHA.", "{what}");
            assert!(outcome.tools_run.is_empty(), "{what}: it ran");
            // A reply that is nothing is asked for once more as it was.
            let is_heard = requests[1].contains(kind.words());
            assert_eq!((requests.len(), is_heard), (2, kind != Expected::Silence), "{what}: {}", requests[1]);
        }
    }
    if matches!(shape.expect, Expected::Answer | Expected::Call) {
        return;
    }
    let lasting = play(wire, speaker, shape, vec![reply]).await;
    let Played { outcome, requests, report, .. } = &lasting;
    assert_ne!(outcome.status, Status::Completed, "{what}");
    assert!(outcome.tools_run.is_empty(), "{what}: it ran");
    assert!(requests.len() <= 3 && requests.last().unwrap().contains(shape.expect.words()), "{what}: {requests:?}");
    if shape.expect == Expected::Markup {
        let reason = outcome.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("--jinja") && reason.contains("--tool-call-parser"), "{what}: {reason}");
    }
    if let Some(report) = report {
        assert!(!report.contains("status: completed"), "{what}: {report}");
    }
}

async fn check_all(wire: Wire, speaker: Speaker) {
    for shape in shapes() {
        check(wire, speaker, &shape).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_over_the_messages_api() {
    check_all(Wire::Messages, Speaker::Main).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_over_chat_completions() {
    check_all(Wire::Chat, Speaker::Main).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_over_the_responses_api() {
    check_all(Wire::Responses, Speaker::Main).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_over_the_api_of_gemini() {
    check_all(Wire::Gemini, Speaker::Main).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_shape_in_a_child_on_one_wire_or_another() {
    for (shape, wire) in shapes().iter().zip(WIRES.into_iter().cycle()) {
        check(wire, Speaker::Child, shape).await;
    }
}
