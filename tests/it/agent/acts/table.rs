//! The table of states and acts. Each row is played, and says what came of it:
//! how the runs of the subagent ended, then how the main agent heard of them.

use std::time::Duration;

use belvedere::agent::{EventKind, RunMode, ToolEvent, TurnEvent};
use belvedere::message::{AgentId, MessageId};
use belvedere::permission::Answer;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::{Children, Command};
use serde_json::{Value, json};

use super::{ONE, ZERO, assert_ends, assert_grows, assert_valid, deaf, heard, nap, quiet, requests_of, statuses};
use crate::agent::{agent, reply, script};
use crate::support::{Parts, Session, standard_tools};

/// What the subagent is doing when something is done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Queued,
    /// Its request is sent, and not yet answered.
    Starting,
    /// The model thinks, and has said nothing.
    Silent,
    /// Text streams.
    Speaking,
    RunningTool,
    Asking,
    RateLimited,
    /// Nothing has come for longer than the screen calls stalled.
    Stalled,
    /// A stop is being carried out by a tool that does not hear.
    Stopping,
    Completed,
    Cancelled,
    Failed,
    TimedOut,
    TurnLimit,
    WrappedUp,
}
use State::{
    Asking, Cancelled, Completed, Failed, Queued, RateLimited, RunningTool, Silent, Speaking, Stalled, Starting,
    Stopping, TimedOut, TurnLimit, WrappedUp,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Stop,
    WrapUp,
    Steer,
    Background,
    /// To the background, and back at once.
    Foreground,
    Resume,
    InterruptKeep,
    InterruptStop,
    Quit,
}

impl State {
    /// The first replies of the subagent.
    fn plot(self) -> Vec<Value> {
        let first = |steps: Vec<Value>| reply(json!({"task": "called one", "turn": 0}), steps);
        let wait = |seconds: u64| json!({"wait_ms": seconds * 1000});
        let say = json!({"say": "I look. "});
        let limited = json!({"fail": "rate_limit", "detail": "slow down", "retry_after_ms": 20_000});
        let write = json!({"call": "Write", "input": {"file_path": "new.txt", "content": "x"}});
        match self {
            Queued | Completed => Vec::new(),
            Starting => vec![first(vec![wait(20), say])],
            Silent => vec![first(vec![json!({"think": "Hm."}), wait(20), say])],
            Speaking | Cancelled => vec![first(vec![say, wait(20), json!({"say": "That is all."})])],
            RunningTool | TurnLimit | WrappedUp => {
                vec![first(vec![say, json!({"call": "Nap", "input": {"ms": 20_000}})])]
            }
            Asking => vec![first(vec![say, write])],
            RateLimited => {
                let mut fails = first(vec![limited]);
                fails["times"] = json!(1);
                vec![fails]
            }
            Stalled => vec![first(vec![json!({"think": "Hm."}), wait(300), say])],
            Stopping => vec![first(vec![say, json!({"call": "Deaf", "input": {"ms": 3_000}})])],
            TimedOut => vec![first(vec![say, json!({"stall": true})])],
            Failed => vec![first(vec![say, json!({"fail": "bad_request", "detail": "no"})])],
        }
    }

    /// Waits until the subagent is in this state.
    async fn scope(self, session: &mut Session) {
        let pick: fn(&EventKind) -> bool = match self {
            Queued => |kind| matches!(kind, EventKind::Spawned(_)),
            Starting => |kind| matches!(kind, EventKind::Turn(TurnEvent::Started { .. })),
            Silent | Stalled => |kind| matches!(kind, EventKind::Turn(TurnEvent::Thinking { .. })),
            Speaking | Cancelled => |kind| matches!(kind, EventKind::Turn(TurnEvent::Text { .. })),
            RunningTool | Stopping | WrappedUp => |kind| matches!(kind, EventKind::Tool(ToolEvent::Started { .. })),
            Asking => |kind| matches!(kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. })),
            RateLimited => |kind| matches!(kind, EventKind::Turn(TurnEvent::Retrying { .. })),
            Completed | Failed | TimedOut | TurnLimit => |kind| matches!(kind, EventKind::Ended { .. }),
        };
        session.wait(|event| (event.agent == ONE && pick(&event.kind)).then_some(())).await;
        match self {
            Stalled => drop(tokio::time::timeout(Duration::from_secs(90), session.ended(ONE)).await),
            Stopping => {
                session.send(Command::Stop { agent: ONE });
                session.wait(|event| matches!(event.kind, EventKind::Stopping { .. }).then_some(())).await;
            }
            Cancelled => {
                session.send(Command::Stop { agent: ONE });
                session.ended(ONE).await;
            }
            WrappedUp => {
                session.send(Command::WrapUp { agent: ONE });
                session.ended(ONE).await;
            }
            _ => {}
        }
        let ended = matches!(self, Completed | Cancelled | Failed | TimedOut | TurnLimit | WrappedUp);
        assert_eq!(statuses(&session.seen, ONE).len(), usize::from(ended), "{self:?}");
    }
}

impl Act {
    fn commands(self) -> Vec<Command> {
        let to = |run_mode| Command::Move { agent: ONE, run_mode };
        match self {
            Self::Stop => vec![Command::Stop { agent: ONE }],
            Self::WrapUp => vec![Command::WrapUp { agent: ONE }],
            Self::Steer => vec![Command::Message { agent: ONE, id: MessageId(1), text: "and the tests".into() }],
            Self::Background => vec![to(RunMode::Background)],
            Self::Foreground => vec![to(RunMode::Background), to(RunMode::Foreground)],
            Self::Resume => vec![Command::Resume { agent: ONE, message: None }],
            Self::InterruptKeep => vec![Command::Interrupt { children: Children::Keep }],
            Self::InterruptStop => vec![Command::Interrupt { children: Children::Stop }],
            Self::Quit => Vec::new(),
        }
    }
}

fn scene(state: State) -> (std::sync::Arc<Scripted>, Parts) {
    let two = [agent("general-purpose", "zero"), agent("general-purpose", "one")];
    let mut lines = vec![reply(json!({"task": "go", "turn": 0}), two.to_vec())];
    lines.push(reply(json!({"task": "go"}), vec![json!({"say": "noted"})]));
    let zero = "word ".repeat(12);
    lines.push(reply(json!({"task": "called zero"}), vec![json!({"say": zero, "every_ms": 100_000})]));
    let said = |last: &str, text: &str| reply(json!({"task": "called one", "last": last}), vec![json!({"say": text})]);
    lines.push(said("Stop here and report now", "<summary>early words</summary>"));
    lines.push(said("reached the limit of this run", "<summary>limited words</summary>"));
    lines.push(said("Continue where you stopped", "<summary>went on</summary>"));
    lines.extend(state.plot());
    lines.push(reply(json!({"task": "called one"}), vec![json!({"say": "<summary>one is done</summary>"})]));
    let provider = script(&lines);
    let mut parts = Parts::new(provider.clone());
    parts.tools = standard_tools().with(nap()).with(deaf());
    if state == Queued {
        parts.limits.max_parallel = 1;
    }
    if state == TurnLimit {
        parts.limits.child.max_turns = Some(1);
    }
    (provider, parts)
}

/// Plays one cell of the table, checks what holds in every cell, and says what came of it.
async fn play(state: State, act: Act) -> String {
    let (provider, parts) = scene(state);
    let mut session = Session::start(parts);
    session.say("go");
    state.scope(&mut session).await;
    for command in act.commands() {
        session.send(command);
    }
    if act != Act::Quit {
        if state == Asking {
            let question = session.seen.iter().find_map(|event| match &event.kind {
                EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.id.clone()),
                _ => None,
            });
            let answer = Answer::No { comment: None };
            session.send(Command::Answer { id: question.unwrap(), answer });
        }
        quiet(&mut session, Duration::from_secs(280)).await;
        session.ask("anything else?").await;
    }
    let start = tokio::time::Instant::now();
    let seen = session.quit().await;
    assert!(start.elapsed() < Duration::from_secs(6), "{state:?} × {act:?}: the quit took {:?}", start.elapsed());
    assert_ends(&seen);
    provider.requests().iter().for_each(assert_valid);
    for task in ["go", "called zero", "called one"] {
        assert_grows(&requests_of(&provider, task));
    }
    let ends = statuses(&seen, ONE).join(", ");
    if act == Act::Quit {
        return ends;
    }
    let main = requests_of(&provider, "go").pop().unwrap();
    if act != Act::InterruptStop {
        assert_eq!(statuses(&seen, ZERO), ["completed"], "{state:?} × {act:?}: the other one");
        assert_eq!(heard(&main, "general-purpose-1").len(), 1, "{state:?} × {act:?}: the report of the other one");
    }
    let interrupted = matches!(act, Act::InterruptKeep | Act::InterruptStop);
    assert_eq!(statuses(&seen, AgentId::MAIN)[0] == "cancelled", interrupted, "{state:?} × {act:?}");
    format!("{ends} · {}", heard(&main, "general-purpose-2").join(", "))
}

/// Plays a column of the table, and shows all that differs from it at once.
async fn column(act: Act, expected: &[(State, &str)]) {
    let mut played = Vec::new();
    for &(state, _) in expected {
        played.push((state, play(state, act).await));
    }
    let errors: Vec<String> = expected
        .iter()
        .zip(&played)
        .filter(|((_, expected), (_, came))| expected != came)
        .map(|((state, expected), (_, came))| format!("{state:?} × {act:?}: `{came}`, not `{expected}`"))
        .collect();
    assert!(errors.is_empty(), "\n{}\n", errors.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn stop() {
    let table = [
        (Queued, "cancelled · result"),
        (Starting, "cancelled · result"),
        (Silent, "cancelled · result"),
        (Speaking, "cancelled · result"),
        (RunningTool, "cancelled · result"),
        (Asking, "cancelled · result"),
        (RateLimited, "cancelled · result"),
        (Stalled, "cancelled · result"),
        (Stopping, "cancelled · result"),
        (Completed, "completed · result"),
        (Cancelled, "cancelled · result"),
        (Failed, "failed · result"),
        (TimedOut, "timed_out · result"),
        (TurnLimit, "turn_limit · result"),
        (WrappedUp, "wrapped_up · result"),
    ];
    column(Act::Stop, &table).await;
}

#[tokio::test(start_paused = true)]
async fn wrap_up() {
    let table = [
        (Queued, "cancelled · result"),
        (Starting, "wrapped_up · result"),
        (Silent, "wrapped_up · result"),
        // What the user reads already comes to its end.
        (Speaking, "completed · result"),
        (RunningTool, "wrapped_up · result"),
        (Asking, "wrapped_up · result"),
        (RateLimited, "wrapped_up · result"),
        (Stalled, "wrapped_up · result"),
        (Stopping, "cancelled · result"),
        (Completed, "completed · result"),
        (Cancelled, "cancelled · result"),
        (Failed, "failed · result"),
        (TimedOut, "timed_out · result"),
        (TurnLimit, "turn_limit · result"),
        (WrappedUp, "wrapped_up · result"),
    ];
    column(Act::WrapUp, &table).await;
}

#[tokio::test(start_paused = true)]
async fn steer() {
    let table = [
        (Queued, "completed · result"),
        (Starting, "completed · result"),
        (Silent, "completed · result"),
        (Speaking, "completed · result"),
        (RunningTool, "completed · result"),
        (Asking, "completed · result"),
        (RateLimited, "completed · result"),
        (Stalled, "completed · result"),
        (Stopping, "cancelled · result"),
        (Completed, "completed · result"),
        (Cancelled, "cancelled · result"),
        (Failed, "failed · result"),
        (TimedOut, "timed_out · result"),
        (TurnLimit, "turn_limit · result"),
        (WrappedUp, "wrapped_up · result"),
    ];
    column(Act::Steer, &table).await;
}

#[tokio::test(start_paused = true)]
async fn background() {
    column(Act::Background, &moved()).await;
}

#[tokio::test(start_paused = true)]
async fn back_to_the_foreground() {
    column(Act::Foreground, &moved()).await;
}

/// Its call has returned, so that its report comes as a message, unless it had ended.
fn moved() -> [(State, &'static str); 15] {
    [
        (Queued, "completed · message"),
        (Starting, "completed · message"),
        (Silent, "completed · message"),
        (Speaking, "completed · message"),
        (RunningTool, "completed · message"),
        (Asking, "completed · message"),
        (RateLimited, "completed · message"),
        (Stalled, "completed · message"),
        (Stopping, "cancelled · message"),
        (Completed, "completed · result"),
        (Cancelled, "cancelled · result"),
        (Failed, "failed · result"),
        (TimedOut, "timed_out · result"),
        (TurnLimit, "turn_limit · result"),
        (WrappedUp, "wrapped_up · result"),
    ]
}

#[tokio::test(start_paused = true)]
async fn resume() {
    let table = [
        // Who has not ended cannot be resumed, and is not touched.
        (Queued, "completed · result"),
        (Starting, "completed · result"),
        (Silent, "completed · result"),
        (Speaking, "completed · result"),
        (RunningTool, "completed · result"),
        (Asking, "completed · result"),
        (RateLimited, "completed · result"),
        (Stalled, "completed · result"),
        (Stopping, "cancelled · result"),
        (Completed, "completed, completed · result, message"),
        (Cancelled, "cancelled, completed · result, message"),
        (Failed, "failed, completed · result, message"),
        (TimedOut, "timed_out, completed · result, message"),
        (TurnLimit, "turn_limit, completed · result, message"),
        (WrappedUp, "wrapped_up, completed · result, message"),
    ];
    column(Act::Resume, &table).await;
}

#[tokio::test(start_paused = true)]
async fn interrupt_and_keep() {
    column(Act::InterruptKeep, &moved()).await;
}

#[tokio::test(start_paused = true)]
async fn interrupt_and_stop() {
    let mut table = moved();
    for (_, outcome) in &mut table {
        if outcome.ends_with("message") {
            *outcome = "cancelled · result";
        }
    }
    column(Act::InterruptStop, &table).await;
}

#[tokio::test(start_paused = true)]
async fn quit() {
    let table = [
        (Queued, "cancelled"),
        (Starting, "cancelled"),
        (Silent, "cancelled"),
        (Speaking, "cancelled"),
        (RunningTool, "cancelled"),
        (Asking, "cancelled"),
        (RateLimited, "cancelled"),
        (Stalled, "cancelled"),
        (Stopping, "cancelled"),
        (Completed, "completed"),
        (Cancelled, "cancelled"),
        (Failed, "failed"),
        (TimedOut, "timed_out"),
        (TurnLimit, "turn_limit"),
        (WrappedUp, "wrapped_up"),
    ];
    column(Act::Quit, &table).await;
}
