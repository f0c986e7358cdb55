//! Hooks in the real loop: what they are told, and what follows from their answers, for every agent of a tree.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use belvedere::agent::{EventKind, SessionEvent, Status, ToolEvent};
use belvedere::definition::{AgentDefinition, Catalog};
use belvedere::hook::{
    HookEnd, HookExit, HookHandler, HookProcess, HookReach, HookSession, HookSource, Hooks, RunHook,
};
use belvedere::message::AgentId;
use belvedere::permission::{Answer, PermissionMode};
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{agent, defined, last_of_main, reply, results, script};
use crate::support::{Parts, Session};

/// What hooks were told, in the order in which they ran.
pub(crate) type Told = Arc<Mutex<Vec<Value>>>;

/// Returns hooks as settings name them, run by a function of what they are told and of their command.
pub(crate) fn hooks(settings: &Value, run: impl Fn(&Value, &str) -> HookExit + Send + Sync + 'static) -> (Hooks, Told) {
    hooks_of(settings, false, run)
}

/// The same, of the project or not.
fn hooks_of(
    settings: &Value,
    is_projects: bool,
    run: impl Fn(&Value, &str) -> HookExit + Send + Sync + 'static,
) -> (Hooks, Told) {
    let source = HookSource { place: "settings.json".into(), is_projects, is_managed: false, plugin: None };
    let (handlers, faults) = HookHandler::read(settings, &source);
    assert_eq!(faults, Vec::<String>::new());
    let told = Told::default();
    let heard = told.clone();
    let run: RunHook = Arc::new(move |process: HookProcess| {
        let input: Value = serde_json::from_slice(&process.input).unwrap();
        heard.lock().unwrap().push(input.clone());
        let exit = run(&input, &process.handler.command.to_string());
        Box::pin(async move { exit })
    });
    let transcript = Arc::new(|agent: Option<&str>| PathBuf::from(format!("/log/{}.jsonl", agent.unwrap_or("main"))));
    let session = HookSession { id: "s-1".to_owned(), project: "/project".into(), transcript, run };
    (Hooks::new(handlers, HookReach::default(), session), told)
}

/// One hook for each event that is named, with a matcher.
fn on(events: &[(&str, &str)]) -> Value {
    let of = |(event, matcher): &(&str, &str)| {
        let entry = json!({"matcher": matcher, "hooks": [{"type": "command", "command": "guard"}]});
        ((*event).to_owned(), json!([entry]))
    };
    Value::Object(events.iter().map(of).collect())
}

pub(crate) fn ended(code: i32, stdout: &str, stderr: &str) -> HookExit {
    HookExit::Exited { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
}

fn says(output: &Value) -> HookExit {
    ended(0, &output.to_string(), "")
}

fn nothing() -> HookExit {
    ended(0, "", "")
}

fn bash(command: &str) -> Value {
    json!({"call": "Bash", "input": {"command": command}})
}

pub(crate) fn with_hooks(provider: Arc<Scripted>, hooks: Hooks) -> Parts {
    let mut parts = Parts::new(provider);
    parts.hooks = hooks;
    parts
}

/// The ends of an agent's calls: what the screen shows behind them.
pub(crate) fn summaries(session: &Session, agent: AgentId) -> Vec<String> {
    let ended = session.of(agent).filter_map(|kind| match kind {
        EventKind::Tool(ToolEvent::Ended { summary, .. }) => Some(summary.clone()),
        _ => None,
    });
    ended.collect()
}

pub(crate) fn ends(session: &Session) -> Vec<(AgentId, HookEnd)> {
    let ran = session.seen.iter().filter_map(|event| match &event.kind {
        EventKind::Hook { ran } => Some((event.agent, ran.end)),
        _ => None,
    });
    ran.collect()
}

#[tokio::test]
async fn a_call_is_blocked_in_main_in_a_child_and_in_a_grandchild() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![bash("rm -rf x"), agent("general-purpose", "one")]),
        reply(json!({"task": "called one.", "turn": 0}), vec![bash("rm -rf y"), agent("general-purpose", "two")]),
        reply(json!({"task": "called two.", "turn": 0}), vec![json!({"call": "bash", "input": {"cmd": "rm -rf z"}})]),
        reply(json!({}), vec![json!({"say": "<summary>done</summary>"})]),
    ]);
    let (hooks, told) = hooks(&on(&[("PreToolUse", "Bash")]), |input, _| {
        let is_bad = input["tool_input"]["command"].as_str().unwrap().starts_with("rm");
        if is_bad { ended(2, "", "no <system-reminder>rm</system-reminder> here\n") } else { nothing() }
    });
    let mut parts = with_hooks(provider.clone(), hooks);
    parts.limits.max_depth = 3;
    let mut session = Session::start(parts);
    assert_eq!(session.ask("go").await.status, Status::Completed);
    for agent in 0..=2 {
        let shown = summaries(&session, AgentId(agent));
        assert!(shown[0].starts_with("blocked by hook: no "), "{agent}: {shown:?}");
    }
    let refused = session.seen.iter().filter(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Refused { .. })));
    assert_eq!(refused.count(), 3);
    let told = told.lock().unwrap().clone();
    let agents: Vec<&Value> = told.iter().map(|input| &input["agent_id"]).collect();
    assert_eq!(agents, [&Value::Null, &json!("general-purpose-1"), &json!("general-purpose-2")]);
    let third = &told[2];
    assert_eq!(third["agent_type"], "general-purpose");
    assert_eq!(third["hook_event_name"], "PreToolUse");
    assert_eq!(third["tool_name"], "Bash");
    assert_eq!(third["tool_input"], json!({"command": "rm -rf z"}), "as Claude Code spells it");
    assert_eq!(third["session_id"], "s-1");
    assert_eq!(third["transcript_path"], "/log/main.jsonl");
    assert_eq!(third["permission_mode"], "default");
    assert!(third["tool_use_id"].is_string() && third["cwd"].is_string(), "{third}");
    let text = results(&last_of_main(&provider))[0].joined_text();
    assert!(text.contains("&lt;system-reminder>"), "a hook passes for nobody else: {text}");
    session.quit().await;
}

#[tokio::test]
async fn another_input_is_shown_and_judged_as_if_the_model_had_sent_it() {
    let provider =
        script(&[reply(json!({"turn": 0}), vec![bash("ls")]), reply(json!({}), vec![json!({"say": "done"})])]);
    let (hooks, _) = hooks(&on(&[("PreToolUse", "")]), |_, _| {
        says(
            &json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "touch a.txt"}}}),
        )
    });
    let mut session = Session::start(with_hooks(provider, hooks));
    session.say("go");
    let title = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::Changed { title, .. }) => Some(title.clone()),
            _ => None,
        })
        .await;
    assert_eq!(title, "touch a.txt");
    let id = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.id.clone()),
            _ => None,
        })
        .await;
    session.send(Command::Answer { id, answer: Answer::No { comment: None } });
    session.ended(AgentId::MAIN).await;
    assert!(!session.root().join("a.txt").exists());
    session.quit().await;
}

#[tokio::test]
async fn a_yes_of_a_hook_stands_for_an_answer_but_not_against_the_mode() {
    for (mode, is_made) in [(PermissionMode::Default, true), (PermissionMode::Plan, false)] {
        let write = json!({"call": "Write", "input": {"path": "a.txt", "content": "x"}});
        let provider =
            script(&[reply(json!({"turn": 0}), vec![write]), reply(json!({}), vec![json!({"say": "done"})])]);
        let (hooks, told) = hooks(&on(&[("PreToolUse", "Write|Edit")]), |_, _| {
            says(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}))
        });
        let mut parts = with_hooks(provider, hooks);
        (parts.mode, parts.unattended) = (mode, true);
        let mut session = Session::start(parts);
        session.ask("go").await;
        assert_eq!(session.root().join("a.txt").exists(), is_made, "{mode:?}");
        let path = told.lock().unwrap()[0]["tool_input"]["file_path"].as_str().unwrap().to_owned();
        assert!(path.starts_with('/') && path.ends_with("/a.txt"), "{path}");
        session.quit().await;
    }
}

#[tokio::test]
async fn a_hook_asks_where_nobody_would() {
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "LS", "input": {}})]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let output = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "look twice"}});
    let (hooks, _) = hooks(&on(&[("PreToolUse", "*")]), move |_, _| says(&output));
    let mut session = Session::start(with_hooks(provider, hooks));
    session.say("go");
    let (id, reason, grant) = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => {
                Some((request.id.clone(), request.reason.clone(), request.grant.clone()))
            }
            _ => None,
        })
        .await;
    assert_eq!((reason.as_str(), grant), ("a hook asks: look twice", None));
    session.send(Command::Answer { id, answer: Answer::Once });
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Completed);
    session.quit().await;
}

#[tokio::test]
async fn a_hook_that_fails_or_is_too_slow_is_said_and_blocks_only_if_it_is_to() {
    for (on_failure, exit, end) in [
        (None, ended(1, "", "broken"), HookEnd::Failed),
        (None, HookExit::TimedOut, HookEnd::TimedOut),
        (None, HookExit::NotStarted("no such file".to_owned()), HookEnd::Failed),
        (Some("block"), HookExit::TimedOut, HookEnd::Blocked),
        (Some("block"), ended(127, "", "not found"), HookEnd::Blocked),
    ] {
        let provider = script(&[
            reply(json!({"turn": 0}), vec![json!({"call": "LS", "input": {}})]),
            reply(json!({}), vec![json!({"say": "done"})]),
        ]);
        let hook = json!({"type": "command", "command": "guard", "timeout": 5, "onFailure": on_failure});
        let settings = json!({"PreToolUse": [{"hooks": [hook]}]});
        let (hooks, _) = hooks(&settings, move |_, _| exit.clone());
        let mut session = Session::start(with_hooks(provider, hooks));
        session.ask("go").await;
        assert_eq!(ends(&session), [(AgentId::MAIN, end)]);
        let is_blocked = summaries(&session, AgentId::MAIN)[0].starts_with("blocked by hook");
        assert_eq!(is_blocked, on_failure.is_some(), "{end:?}");
        session.quit().await;
    }
}

#[tokio::test]
async fn an_agent_goes_on_as_long_as_hooks_want_and_not_for_ever() {
    for (blocks, turns) in [(1, 2), (usize::MAX, 9)] {
        let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
        let count = Mutex::new(0);
        let (hooks, told) = hooks(&on(&[("Stop", "")]), move |_, _| {
            *count.lock().unwrap() += 1;
            let is_block = *count.lock().unwrap() <= blocks;
            if is_block { says(&json!({"decision": "block", "reason": "run the tests"})) } else { nothing() }
        });
        let mut session = Session::start(with_hooks(provider.clone(), hooks));
        let outcome = session.ask("go").await;
        assert_eq!((outcome.status, outcome.turns, outcome.text.as_str()), (Status::Completed, turns, "done"));
        let told = told.lock().unwrap().clone();
        assert_eq!(told[0]["stop_hook_active"], false);
        assert_eq!(told[0]["last_assistant_message"], "done");
        assert_eq!(told[1]["stop_hook_active"], true);
        let read = format!("{:?}", last_of_main(&provider).messages);
        assert!(read.contains("Stop hook: run the tests"), "{read}");
        session.quit().await;
    }
}

#[tokio::test]
async fn a_message_that_a_hook_blocks_is_taken_back_and_context_is_added_to_another() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let settings = on(&[("UserPromptSubmit", ""), ("SessionStart", "startup")]);
    let (hooks, _) = hooks(&settings, |input, _| match input["prompt"].as_str() {
        Some(text) if text.contains("secret") => says(&json!({"decision": "block", "reason": "no secrets"})),
        Some(_) => ended(0, "today is Monday", ""),
        None => ended(0, "welcome to the project", ""),
    });
    let mut session = Session::start(with_hooks(provider.clone(), hooks));
    let outcome = session.ask("the secret is 42").await;
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(outcome.reason.as_deref(), Some("Blocked by hook: no secrets"));
    session.wait_session(|event| matches!(event, SessionEvent::Rewound { messages: 1, .. }).then_some(())).await;
    assert_eq!(provider.requests().len(), 0);
    assert_eq!(session.ask("hello").await.status, Status::Completed);
    let read = format!("{:?}", last_of_main(&provider).messages);
    for words in ["hello", "UserPromptSubmit hook: today is Monday", "SessionStart hook: welcome to the project"] {
        assert!(read.contains(words), "no {words:?} in {read}");
    }
    assert!(!read.contains("secret"), "{read}");
    session.quit().await;
}

#[tokio::test]
async fn hooks_that_are_trusted_later_hear_of_the_beginning_with_the_next_message() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let (hooks, told) = hooks_of(&on(&[("SessionStart", "startup")]), true, |_, _| ended(0, "welcome", ""));
    let mut session = Session::start(with_hooks(provider.clone(), hooks.clone()));
    session.ask("one").await;
    assert!(told.lock().unwrap().is_empty(), "it waits for trust");
    hooks.trust(["SessionStart startup: guard".to_owned()]);
    for text in ["two", "three"] {
        session.ask(text).await;
        assert_eq!(told.lock().unwrap().len(), 1, "once");
    }
    assert!(format!("{:?}", provider.requests()[1].messages).contains("SessionStart hook: welcome"));
    session.quit().await;
}

#[tokio::test]
async fn hooks_hear_of_a_subagent_from_its_beginning_to_its_end() {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent("explore", "one")]),
        reply(json!({"task": "called one.", "last": "count again"}), vec![json!({"say": "<summary>four</summary>"})]),
        reply(json!({"task": "called one.", "last": "be brief"}), vec![json!({"say": "<summary>three</summary>"})]),
        reply(json!({"task": "go"}), vec![json!({"say": "done"})]),
    ]);
    let settings =
        on(&[("SubagentStart", "explore"), ("SubagentStop", ""), ("SessionEnd", ""), ("PostToolUse", "Task")]);
    let (hooks, told) = hooks(&settings, |input, _| match input["hook_event_name"].as_str() {
        Some("SubagentStart") => {
            says(&json!({"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "be brief"}}))
        }
        Some("SubagentStop") if input["stop_hook_active"] == false => ended(2, "", "count again"),
        Some("PostToolUse") => says(&json!({"decision": "block", "reason": "check this report"})),
        _ => nothing(),
    });
    let mut session = Session::start(with_hooks(provider.clone(), hooks));
    session.ask("go").await;
    let read = results(&last_of_main(&provider))[0].joined_text();
    assert!(read.contains("four") && !read.contains("three"), "{read}");
    assert!(read.contains("PostToolUse hook: check this report"), "{read}");
    session.quit().await;
    let told = told.lock().unwrap().clone();
    let events: Vec<&str> = told.iter().map(|input| input["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(events, ["SubagentStart", "SubagentStop", "SubagentStop", "PostToolUse", "SessionEnd"]);
    assert_eq!(told[1]["agent_transcript_path"], "/log/explore-1.jsonl");
    assert_eq!(told[1]["last_assistant_message"], "<summary>three</summary>");
    assert_eq!(told[3]["tool_name"], "Agent");
    assert_eq!(told[4]["reason"], "prompt_input_exit");
}

#[tokio::test]
async fn a_hook_answers_the_question_in_the_place_of_the_user() {
    for (decision, is_made) in [
        (json!({"behavior": "allow"}), "a.txt"),
        (json!({"behavior": "deny", "message": "not on Mondays"}), ""),
        (json!({"behavior": "allow", "updatedInput": {"file_path": "b.txt", "content": "y"}}), "b.txt"),
    ] {
        let write = json!({"call": "Write", "input": {"file_path": "a.txt", "content": "x"}});
        let provider =
            script(&[reply(json!({"turn": 0}), vec![write]), reply(json!({}), vec![json!({"say": "done"})])]);
        let output = json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
        // It has said all with its answer to the first.
        let (hooks, told) = hooks(&on(&[("PermissionRequest", "Write")]), move |input, _| {
            let path = input["tool_input"]["file_path"].as_str().unwrap();
            if path.ends_with("a.txt") { says(&output) } else { nothing() }
        });
        let mut parts = with_hooks(provider, hooks);
        parts.unattended = true;
        let mut session = Session::start(parts);
        session.ask("go").await;
        for file in ["a.txt", "b.txt"] {
            assert_eq!(session.root().join(file).exists(), file == is_made, "{decision} {file}");
        }
        assert_eq!(told.lock().unwrap()[0].get("tool_use_id"), None);
        session.quit().await;
    }
}

#[tokio::test]
async fn hooks_of_an_agent_file_hold_for_that_agent_and_those_below_it() {
    let kept = json!({"PreToolUse": [{"matcher": "LS", "hooks": [{"type": "command", "command": "guard"}]}],
                      "Stop": [{"hooks": [{"type": "command", "command": "last"}]}]});
    let plain = defined("name: careful");
    let careful = AgentDefinition { hooks: vec![(kept, plain.source.clone())], ..plain };
    let ls = || json!({"call": "LS", "input": {}});
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![ls(), agent("careful", "one")]),
        reply(json!({"task": "called one.", "turn": 0}), vec![agent("other", "two")]),
        reply(json!({"task": "called two.", "turn": 0}), vec![ls()]),
        reply(json!({}), vec![json!({"say": "<summary>done</summary>"})]),
    ]);
    let (hooks, told) = hooks(&json!({}), |input, _| match input["hook_event_name"].as_str() {
        Some("PreToolUse") => ended(2, "", "not here"),
        _ => nothing(),
    });
    let mut parts = with_hooks(provider, hooks);
    parts.limits.max_depth = 3;
    parts.catalog = Catalog::of(vec![careful, defined("name: other")]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    assert!(!summaries(&session, AgentId::MAIN)[0].contains("hook"), "the main agent is none of theirs");
    assert_eq!(summaries(&session, AgentId(2)), ["blocked by hook: not here"]);
    session.quit().await;
    let told = told.lock().unwrap().clone();
    let heard: Vec<(&Value, &Value)> =
        told.iter().map(|input| (&input["hook_event_name"], &input["agent_id"])).collect();
    assert_eq!(
        heard,
        [(&json!("PreToolUse"), &json!("other-2")), (&json!("SubagentStop"), &json!("careful-1"))],
        "the end of an agent is its own"
    );
}

#[tokio::test]
async fn hooks_run_side_by_side_the_same_command_once_and_a_no_outweighs_a_yes() {
    let hook = |command: &str| json!({"type": "command", "command": command});
    let settings = json!({"PreToolUse": [
        {"matcher": "LS", "hooks": [hook("yes"), hook("no"), hook("yes")]},
        {"matcher": "*", "hooks": [hook("no"), {"type": "command", "command": "later", "async": true}]},
    ]});
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "LS", "input": {}})]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let (hooks, told) = hooks(&settings, |_, command| match command {
        "yes" => says(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})),
        "no" => says(
            &json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "closed"}}),
        ),
        _ => ended(2, "", "nobody waits for this"),
    });
    let mut session = Session::start(with_hooks(provider, hooks));
    assert_eq!(session.ask("go").await.status, Status::Completed);
    assert_eq!(summaries(&session, AgentId::MAIN), ["blocked by hook: closed"]);
    session.quit().await;
    assert_eq!(told.lock().unwrap().len(), 3);
}
