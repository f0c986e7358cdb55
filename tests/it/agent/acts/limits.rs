//! Every limit leaves one turn to report in, whatever the model makes of it.

use std::time::Duration;

use belvedere::agent::{EventKind, Outcome, ToolEvent, TurnEvent};
use belvedere::message::AgentId;
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{assert_ends, assert_valid, nap, requests_of};
use crate::agent::{agent, last_of_main, reply, results, script};
use crate::support::{Parts, Session, standard_tools};

const CHILD: AgentId = AgentId(1);

/// What leaves one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    Turns,
    Tools,
    Idle,
    Wall,
    /// The user asks for the report.
    User,
}
use Limit::{Idle, Tools, Turns, User, Wall};

/// What the model does in its last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Reports,
    /// It asks for tools all the same, after a word.
    Insists,
    /// It asks for tools, and says nothing.
    CallsMutely,
    Stalls,
    Fails,
}
use Last::{CallsMutely, Fails, Insists, Reports, Stalls};

impl Last {
    fn steps(self) -> Vec<Value> {
        let call = json!({"call": "Nap", "input": {"ms": 10}});
        match self {
            Reports => vec![json!({"say": "<summary>last words</summary>"})],
            Insists => vec![json!({"say": "I insist."}), call],
            CallsMutely => vec![call],
            Stalls => vec![json!({"say": "I was"}), json!({"stall": true})],
            Fails => vec![json!({"fail": "bad_request", "detail": "no"})],
        }
    }
}

/// Plays a run to its end. Returns what came of it, its report, and how long it took after the last turn was told.
async fn play(limit: Limit, last: Last) -> (Outcome, String, Duration) {
    let first = match limit {
        Turns | Tools => vec![json!({"say": "I look. "}), json!({"call": "Nap", "input": {"ms": 2_000}})],
        Wall | User => vec![json!({"say": "I look. "}), json!({"call": "Nap", "input": {"ms": 99_000}})],
        Idle => vec![json!({"say": "I look. "}), json!({"call": "Nap", "input": {"ms": 999_000}})],
    };
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "last": "eport now"}), last.steps()),
        reply(json!({"task": "called one"}), first),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.tools = standard_tools().with(nap());
    let child = &mut parts.limits.child;
    child.idle_timeout = Some(Duration::from_secs(200));
    match limit {
        Turns => child.max_turns = Some(1),
        Tools => child.max_tool_calls = Some(1),
        Wall => child.wall_timeout = Some(Duration::from_secs(30)),
        Idle | User => {}
    }
    let mut session = Session::start(parts);
    session.say("go");
    if limit == User {
        session
            .wait(|event| {
                matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. }) if event.agent == CHILD).then_some(())
            })
            .await;
        session.send(Command::WrapUp { agent: CHILD });
    }
    session.wait(|event| matches!(event.kind, EventKind::LastTurn { .. }).then_some(())).await;
    let asked = tokio::time::Instant::now();
    let outcome = session.ended(CHILD).await;
    let took = asked.elapsed();
    session.ended(AgentId::MAIN).await;
    let requests = requests_of(&provider, "called one");
    let bare: Vec<usize> = (0..requests.len()).filter(|at| requests[*at].tools.is_empty()).collect();
    assert_eq!(bare, [requests.len() - 1], "{limit:?}, {last:?}: one request has no tools, the last");
    requests.iter().for_each(assert_valid);
    let told = session.of(CHILD).filter_map(|kind| match kind {
        EventKind::LastTurn { why } => Some(*why),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told.len(), 1, "{limit:?}, {last:?}: it is told once that one turn is left");
    assert!(last == Stalls || told == [outcome.status], "{limit:?}, {last:?}: told {told:?}, was {:?}", outcome.status);
    let refused = session.of(CHILD).find_map(|kind| match kind {
        EventKind::Tool(ToolEvent::Ended { result, .. }) if result.joined_text().starts_with("Not run: ") => {
            Some(result.joined_text())
        }
        _ => None,
    });
    let why = match limit {
        Turns => "the limit on turns is reached.",
        Tools => "the limit on tool calls is reached.",
        Idle | Wall => "the time of this run is over.",
        User => "you were asked to report.",
    };
    let calls = matches!(last, Insists | CallsMutely);
    assert_eq!(refused, calls.then(|| format!("Not run: {why}")), "{limit:?}, {last:?}");
    let naps = session.of(CHILD).filter(|kind| matches!(kind, EventKind::Tool(ToolEvent::Ended { .. }))).count();
    let expected = 1 + usize::from(matches!(last, Insists | CallsMutely));
    assert_eq!(naps, expected, "{limit:?}, {last:?}: each call is seen to end");
    let report = results(&last_of_main(&provider))[0].joined_text();
    assert_ends(&session.quit().await);
    (outcome, report, took)
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_at_each_limit() {
    let name = |limit| match limit {
        Turns => "turn_limit",
        Tools => "tool_limit",
        Idle | Wall => "timed_out",
        User => "wrapped_up",
    };
    for limit in [Turns, Tools, Idle, Wall, User] {
        for last in [Reports, Insists, CallsMutely, Stalls, Fails] {
            let (outcome, report, took) = play(limit, last).await;
            let cell = format!("{limit:?}, {last:?}: {outcome:#?}\n{report}");
            // Who stalls in its last turn as well is cut, and that is what ended it.
            let status = if last == Stalls { "timed_out" } else { name(limit) };
            assert!(outcome.status.name() == status && report.starts_with(&format!("status: {status}\n")), "{cell}");
            assert_eq!(outcome.is_broken_off(), matches!(last, CallsMutely | Stalls | Fails), "{cell}");
            assert_eq!(report.contains("This run was cut short"), outcome.is_broken_off(), "{cell}");
            assert!(outcome.reason.is_some(), "{cell}");
            let words = match last {
                Reports => "<summary>\nlast words\n</summary>",
                Insists => "I insist.",
                Stalls => "Last text: I was",
                CallsMutely | Fails => "Last text: I look.",
            };
            assert!(report.contains(words), "{cell}");
            let grace = match (limit, last) {
                (Idle | Wall, Stalls) => Duration::from_secs(61),
                (_, Stalls) => Duration::from_secs(261),
                _ => Duration::from_secs(5),
            };
            assert!(took <= grace, "{took:?}, {cell}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_turn_asks_no_earlier_than_the_service_wishes() {
    let mut limited = reply(
        json!({"task": "called one"}),
        vec![json!({"fail": "rate_limit", "detail": "slow down", "retry_after_ms": 20_000})],
    );
    limited["times"] = json!(1);
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        limited,
        reply(json!({"task": "called one"}), Reports.steps()),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Retrying { .. })).then_some(())).await;
    let heard = tokio::time::Instant::now();
    session.send(Command::WrapUp { agent: CHILD });
    assert_eq!(session.ended(CHILD).await.status.name(), "wrapped_up");
    assert!(heard.elapsed() >= Duration::from_secs(20), "{:?}", heard.elapsed());
    session.ended(AgentId::MAIN).await;
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_text_that_has_come_to_a_halt_is_not_waited_for_when_the_user_wants_the_report() {
    let waited = wrapped_up_after_silence_of(Duration::ZERO).await;
    assert!(waited <= Duration::from_secs(31), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_text_that_came_to_a_halt_long_ago_is_cut_at_once_when_the_user_wants_the_report() {
    let waited = wrapped_up_after_silence_of(Duration::from_secs(70)).await;
    assert!(waited <= Duration::from_secs(1), "{waited:?}");
}

/// Asks an agent for its report whose model has been silent in the middle of a text. Returns how long that takes.
async fn wrapped_up_after_silence_of(silence: Duration) -> Duration {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "one")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "called one", "turn": 0}), vec![json!({"say": "I look. "}), json!({"stall": true})]),
        reply(json!({"task": "called one"}), Reports.steps()),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    tokio::time::sleep(silence).await;
    session.send(Command::WrapUp { agent: CHILD });
    let asked = tokio::time::Instant::now();
    let outcome = session.ended(CHILD).await;
    let waited = asked.elapsed();
    assert_eq!((outcome.status.name(), outcome.text.as_str()), ("wrapped_up", "<summary>last words</summary>"));
    session.ended(AgentId::MAIN).await;
    assert_ends(&session.quit().await);
    waited
}
