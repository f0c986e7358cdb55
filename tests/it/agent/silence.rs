//! Who is silent and who is only slow: commands, models and servers, in paused time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{EventKind, Outcome, Status, ToolEvent, TurnEvent};
use belvedere::message::AgentId;
use belvedere::permission::PermissionMode;
use belvedere::provider::{EventStream, Provider, ProviderError, Request, StopReason, StreamEvent};
use belvedere::subagent::{Children, Command};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::json;

use super::{agent, reply, script};
use crate::support::{Parts, Session};

fn session(provider: Arc<dyn Provider>, idle: u64) -> Session {
    let mut parts = Parts::new(provider);
    parts.mode = PermissionMode::BypassPermissions;
    parts.main_limits.idle_timeout = Some(Duration::from_secs(idle));
    Session::start(parts)
}

async fn outcome(provider: Arc<dyn Provider>, idle: u64) -> (Outcome, Session) {
    let mut session = session(provider, idle);
    let outcome = session.ask("go").await;
    (outcome, session)
}

fn signs(session: &Session) -> usize {
    session.of(AgentId::MAIN).filter(|kind| **kind == EventKind::Alive).count()
}

fn runs(command: &str, seconds: u64) -> Arc<dyn Provider> {
    script(&[
        json!({"when": {"turn": 0}, "steps": [{"call": "Bash", "input": {"command": command, "timeout": seconds * 1_000}}]}),
        json!({"steps": [{"say": "done"}]}),
    ])
}

/// Makes the paused clock wait for a process: not a second passes in which it has moved no bytes, and after its end each
/// takes a while, so that the end can be noticed. Without that the clock runs through hours before the machine finds the
/// time for the process, or for its end.
#[cfg(target_os = "linux")]
fn keep_step_with(noted: PathBuf) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut last = None;
        loop {
            let (noted, before) = (noted.clone(), last);
            last = tokio::task::spawn_blocking(move || moved_since(&noted, before.as_deref())).await.unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
}

/// Waits until a process has moved more bytes than before, or has ended; a while if it had ended before.
#[cfg(target_os = "linux")]
fn moved_since(noted: &Path, before: Option<&str>) -> Option<String> {
    let gone = Some(String::new());
    if before == gone.as_deref() {
        std::thread::sleep(Duration::from_millis(100));
        return gone;
    }
    let start = std::time::Instant::now();
    while start.elapsed().as_secs() < 60 {
        let process = std::fs::read_to_string(noted).unwrap_or_default();
        match std::fs::read_to_string(format!("/proc/{}/io", process.trim())) {
            Ok(now) if before != Some(now.as_str()) => return Some(now),
            Err(_) if before.is_some() => return gone,
            _ => std::thread::yield_now(),
        }
    }
    panic!("the process does not get on")
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_command_that_works_without_a_word_is_alive() {
    let work = "timeout 500 sh -c 'echo $$ > noted; exec dd if=/dev/zero of=/dev/null bs=1 status=none'";
    let mut session = session(runs(work, 120), 40);
    let step = keep_step_with(session.project.path().join("noted"));
    let outcome = session.ask("go").await;
    step.abort();
    assert_eq!(outcome.status, Status::Completed, "its own time limit ends it, {outcome:?}");
    assert!((120_000..140_000).contains(&outcome.elapsed_ms), "{}", outcome.elapsed_ms);
    assert!(signs(&session) > 3, "listeners hear of it: {}", signs(&session));
    let shown = session.of(AgentId::MAIN).filter(|kind| matches!(kind, EventKind::Tool(ToolEvent::Progress { .. })));
    assert_eq!(shown.count(), 0, "there is nothing to show");
    session.quit().await;
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_command_that_only_waits_is_silent() {
    let (outcome, session) = outcome(runs("sleep 3000", 600), 200).await;
    assert_eq!(outcome.status, Status::TimedOut, "{outcome:?}");
    assert!(outcome.elapsed_ms < 590_000, "before the command's own limit: {}", outcome.elapsed_ms);
    session.quit().await;
}

/// Writes the input of a call, a piece every twenty seconds.
struct Slow;

impl Provider for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let mut events = vec![StreamEvent::Text("done".to_owned())];
        if request.messages.len() == 1 {
            let name = "Nothing".to_owned();
            events = vec![StreamEvent::ToolCallStart { index: 0, id: "c".to_owned(), name }];
            let piece = |json: &str| StreamEvent::ToolCallDelta { index: 0, json: json.to_owned() };
            events.extend(["{\"text\": \"", "a", "b", "c", "d", "e", "f", "g", "h", "\"}"].map(piece));
            events.push(StreamEvent::Stop(StopReason::ToolUse));
        }
        let events = futures::stream::iter(events).then(|event| async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok(event)
        });
        async move { Ok(events.boxed()) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_a_long_call_is_alive() {
    let (outcome, session) = outcome(Arc::new(Slow), 60).await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert!((9..=12).contains(&signs(&session)), "one for each piece: {}", signs(&session));
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_begins_to_answer_is_silent() {
    let (outcome, session) = outcome(script(&[json!({"steps": [{"stall": true}]})]), 90).await;
    assert_eq!((outcome.status, outcome.elapsed_ms / 1000), (Status::TimedOut, 90), "{outcome:?}");
    session.quit().await;
}

/// A subagent with a long report, and a disk that does not take it.
fn reporting_to_a_dead_disk() -> Parts {
    let long = format!("<summary>{}</summary>", "long ".repeat(4_000));
    let mut parts = Parts::new(script(&[
        reply(json!({"task": "called one"}), vec![json!({"say": long})]),
        reply(json!({"turn": 0}), vec![agent("explore", "one")]),
        reply(json!({"turn": 1, "last": "status: completed"}), vec![json!({"say": "heard"})]),
    ]));
    parts.keep_report = Some(Arc::new(|_, _| std::future::pending().boxed()));
    parts
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_does_not_take_a_report_holds_nobody_up() {
    let mut session = Session::start(reporting_to_a_dead_disk());
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "heard"));
    assert_eq!(outcome.elapsed_ms / 1000, 10);
    session.quit().await;

    let mut session = Session::start(reporting_to_a_dead_disk());
    session.say("go");
    session.ended(AgentId(1)).await;
    session.send(Command::Interrupt { children: Children::Stop });
    let outcome = session.ended(AgentId::MAIN).await;
    assert_eq!(outcome.status, Status::Cancelled);
    assert!(outcome.elapsed_ms < 1_000, "{}", outcome.elapsed_ms);
    session.quit().await;
}

/// A server of the user's own that reads a prompt for four minutes, then says a word and is silent for as long.
struct Reader {
    tells: bool,
}

impl Provider for Reader {
    fn name(&self) -> &'static str {
        "reader"
    }

    fn is_own_server(&self) -> bool {
        true
    }

    fn stream(&self, _: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let step = Duration::from_mins(2);
        let read = |read| StreamEvent::PromptRead { read, total: 9_000 };
        let told = if self.tells { vec![(step, read(4_000)), (step, read(9_000))] } else { Vec::new() };
        let first = if self.tells { Duration::ZERO } else { step * 2 };
        let said = [(first, StreamEvent::Text("well".to_owned())), (step * 2, StreamEvent::Text("then".to_owned()))];
        let events = futures::stream::iter(told.into_iter().chain(said)).then(|(pause, event)| async move {
            tokio::time::sleep(pause).await;
            Ok(event)
        });
        async move { Ok(events.boxed()) }.boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_of_ones_own_reads_as_long_as_it_takes_and_then_is_silent_no_longer_than_others() {
    for tells in [true, false] {
        let (outcome, session) = outcome(Arc::new(Reader { tells }), 60).await;
        assert_eq!((outcome.status, outcome.text.as_str()), (Status::TimedOut, "well"), "{outcome:?}");
        assert_eq!(outcome.elapsed_ms / 1_000, 4 * 60 + 60);
        let read: Vec<u64> = session
            .of(AgentId::MAIN)
            .filter_map(|kind| match kind {
                EventKind::Turn(TurnEvent::Reading { read, .. }) => Some(*read),
                _ => None,
            })
            .collect();
        assert_eq!(read, if tells { vec![0, 4_000, 9_000] } else { vec![0] });
        session.quit().await;
    }
}
