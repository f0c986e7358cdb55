//! Hooks that the file of a skill names: they run while it is carried out.

use std::sync::{Arc, Mutex};

use belvedere::agent::EventKind;
use belvedere::hook::{HookExit, Hooks};
use belvedere::message::AgentId;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::SessionSkills;
use serde_json::{Value, json};

use super::Shelf;
use crate::agent::hooks::hooks;
use crate::agent::{agent, reply, script};
use crate::support::{Parts, Session};

/// Commands that ran, each with its event and its agent.
type Ran = Arc<Mutex<Vec<String>>>;

const HEAD: &str = "---\ndescription: d\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          \
                    command: guard\n  PostToolUse:\n    - hooks:\n        - type: command\n          command: note\n          \
                    once: true\n  Stop:\n    - hooks:\n        - {type: command, command: last}\n";

fn bash(command: &str) -> Value {
    json!({"call": "Bash", "input": {"command": command}})
}

/// Starts a session with these skills, whose hooks block `rm`.
fn session(files: &[(&str, &str)], replies: &[Value]) -> (Session, Hooks, Ran, Arc<Scripted>) {
    let shelf = Shelf::with(files);
    let catalog = shelf.library("").catalog().clone();
    let provider = script(replies);
    let mut parts = Parts::new(provider.clone());
    parts.skills = SessionSkills { catalog, session: "session-1".to_owned() };
    parts.limits.max_depth = 3;
    let ran = Ran::default();
    let heard = ran.clone();
    let (hooks, _) = hooks(&json!({}), move |input, command| {
        let who = input["agent_id"].as_str().unwrap_or("main");
        heard.lock().unwrap().push(format!("{who} {} {command}", input["hook_event_name"].as_str().unwrap()));
        let is_bad = command == "guard" && input["tool_input"]["command"].as_str().unwrap().starts_with("rm");
        let code = if is_bad { 2 } else { 0 };
        HookExit::Exited { code: Some(code), stdout: String::new(), stderr: "not here".to_owned() }
    });
    parts.hooks = hooks.clone();
    (Session::start(parts), hooks, ran, provider)
}

fn taken(ran: &Ran) -> Vec<String> {
    std::mem::take(&mut *ran.lock().unwrap())
}

fn notices(session: &Session) -> Vec<String> {
    let notices = session.seen.iter().filter_map(|event| match &event.kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    notices.collect()
}

#[tokio::test]
async fn they_run_until_the_answer_has_ended_and_what_is_for_once_runs_once() {
    let head = format!("{HEAD}---\nWork.");
    let again = reply(json!({"last": "again"}), vec![bash("ls")]);
    let work = reply(json!({"last": "Work."}), vec![bash("ls")]);
    let rm = json!({"when": {"turn": 1}, "times": 1, "steps": [bash("rm x")]});
    let done = reply(json!({}), vec![json!({"say": "done"})]);
    let files = [("~/.claude/skills/guarded/SKILL.md", head.as_str())];
    let (mut session, _, ran, _) = session(&files, &[again, work, rm, done]);
    session.ask("/guarded").await;
    let expected = ["main PreToolUse guard", "main PostToolUse note", "main PreToolUse guard", "main Stop last"];
    assert_eq!(taken(&ran), expected);
    assert!(session.seen.iter().any(|event| matches!(&event.kind, EventKind::Hook { ran } if ran.command == "guard"
        && ran.source.ends_with("guarded/SKILL.md"))));
    session.ask("again").await;
    assert_eq!(taken(&ran), Vec::<String>::new(), "its life has ended");
    session.ask("/guarded").await;
    let expected = ["main PreToolUse guard", "main Stop last"];
    assert_eq!(taken(&ran), expected, "what is for once has run in this session");
    session.quit().await;
}

#[tokio::test]
async fn those_of_a_project_wait_for_trust() {
    let head = format!("{HEAD}---\nWork.");
    let work = reply(json!({"last": "Work."}), vec![bash("ls")]);
    let done = reply(json!({}), vec![json!({"say": "done"})]);
    let (mut session, hooks, ran, _) = session(&[(".claude/skills/guarded/SKILL.md", &head)], &[work, done]);
    session.ask("/guarded").await;
    assert_eq!(taken(&ran), Vec::<String>::new());
    let said = "/guarded: a hook of its file is not trusted and does not run: PreToolUse Bash: guard (/trust)";
    assert!(notices(&session).iter().any(|notice| notice == said), "{:?}", notices(&session));
    hooks.trust(["PreToolUse Bash: guard".to_owned()]);
    session.ask("/guarded").await;
    assert_eq!(taken(&ran), ["main PreToolUse guard"]);
    session.quit().await;
}

#[tokio::test]
async fn those_of_a_fork_run_for_its_subagent_and_below_it_and_not_for_the_agent_that_called_it() {
    let head = format!("{HEAD}context: fork\n---\nForked.");
    let replies = [
        reply(json!({"task": "Inner", "turn": 0}), vec![bash("rm z")]),
        reply(json!({"task": "Forked.", "turn": 0}), vec![bash("ls"), agent("general-purpose", "Inner")]),
        reply(json!({"task": "go", "turn": 0}), vec![json!({"call": "Skill", "input": {"skill": "apart"}})]),
        reply(json!({"task": "go", "turn": 1}), vec![bash("ls")]),
        reply(json!({}), vec![json!({"say": "<summary>done</summary>"})]),
    ];
    let (mut session, _, ran, _) = session(&[("~/.claude/skills/apart/SKILL.md", &head)], &replies);
    session.ask("go").await;
    let mut all = taken(&ran);
    all.sort();
    let child = "general-purpose-1";
    let expected = [
        format!("{child} PostToolUse note"),
        format!("{child} PreToolUse guard"),
        format!("{child} SubagentStop last"),
        "general-purpose-2 PreToolUse guard".to_owned(),
    ];
    assert_eq!(all, expected);
    let blocked = session.of(AgentId(2)).any(|kind| {
        matches!(kind, EventKind::Tool(belvedere::agent::ToolEvent::Ended {
        summary, .. }) if summary.starts_with("blocked by hook: not here"))
    });
    assert!(blocked, "a guard holds for agents below, too");
    session.quit().await;
}
