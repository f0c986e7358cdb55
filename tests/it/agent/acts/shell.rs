//! A shell that ignores that it shall end, in real time: whatever is done to its agent, nothing of it is left.

use std::time::Duration;

use belvedere::agent::{EventKind, ToolEvent};
use belvedere::permission::PermissionMode;
use belvedere::subagent::{Children, Command};
use serde_json::json;

use super::{assert_ends, assert_valid, statuses};
use crate::agent::{agent, reply, script};
use crate::support::{Parts, Session};

const CHILD: belvedere::message::AgentId = belvedere::message::AgentId(1);

/// Tells whether a process is there and not merely waiting to be reaped.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

/// Does this to an agent whose shell does not hear, and returns how the agent ended. `None` quits.
async fn end_of_deaf_shell(command: Option<Command>) -> &'static str {
    let shell = "trap '' TERM; echo $$ > pid; sleep 1000 & echo $! >> pid; echo ready; wait; wait; true";
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("general-purpose", "shell")]),
        reply(json!({"task": "go"}), vec![json!({"say": "noted"})]),
        reply(json!({"task": "shell", "turn": 0}), vec![json!({"call": "Bash", "input": {"command": shell}})]),
        reply(json!({"task": "shell"}), vec![json!({"say": "<summary>early words</summary>"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.mode = PermissionMode::BypassPermissions;
    let mut session = Session::start(parts);
    let root = session.root();
    session.say("go");
    session
        .wait(|event| {
            let ready =
                matches!(&event.kind, EventKind::Tool(ToolEvent::Progress { tail, .. }) if tail.contains("ready"));
            (event.agent == CHILD && ready).then_some(())
        })
        .await;
    let pids = std::fs::read_to_string(root.join("pid")).unwrap();
    assert!(pids.lines().count() == 2 && pids.lines().all(is_alive), "{pids}");
    if let Some(command) = command {
        session.send(command);
        session.ended(CHILD).await;
        // Once it is told to have ended it has.
        assert!(!pids.lines().any(is_alive), "{pids}");
        session.ended(belvedere::message::AgentId::MAIN).await;
    }
    let quit = tokio::time::timeout(Duration::from_secs(30), session.quit());
    let seen = quit.await.expect("the quit takes too long");
    assert!(!pids.lines().any(is_alive), "{pids}");
    assert_ends(&seen);
    provider.requests().iter().for_each(assert_valid);
    statuses(&seen, CHILD)[0]
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn nothing_is_left_of_a_shell_that_ignores_its_end() {
    let interrupt = Command::Interrupt { children: Children::Stop };
    let ends = tokio::join!(
        end_of_deaf_shell(Some(Command::Stop { agent: CHILD })),
        end_of_deaf_shell(Some(Command::WrapUp { agent: CHILD })),
        end_of_deaf_shell(Some(interrupt)),
        end_of_deaf_shell(None),
    );
    assert_eq!(ends, ("cancelled", "wrapped_up", "cancelled", "cancelled"));
}
