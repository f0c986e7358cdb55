//! What follows from the answers of hooks, however they are given: a no is heard, and what is not understood is no yes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belvedere::agent::EventKind;
use belvedere::hook::{
    HookEnd, HookExit, HookHandler, HookProcess, HookReach, HookSession, HookSource, Hooks, RunHook,
};
use belvedere::message::{AgentId, ToolResult};
use serde_json::{Value, json};

use super::hooks::{ended, ends, hooks, summaries, with_hooks};
use super::{last_of_main, reply, results, script};
use crate::support::Session;

/// Calls a tool, and then says that it is done.
fn calling(call: &Value) -> Arc<belvedere::provider::scripted::Scripted> {
    script(&[reply(json!({"turn": 0}), vec![call.clone()]), reply(json!({}), vec![json!({"say": "done"})])])
}

/// Returns what becomes of a call with nobody to ask, when its hook ends so: what the model reads, and how the hook ended.
async fn judged(hook: &Value, call: &Value, exit: HookExit) -> (String, Option<HookEnd>) {
    let provider = calling(call);
    let (hooks, _) = hooks(&json!({"PreToolUse": [{"hooks": [hook]}]}), move |_, _| exit.clone());
    let mut parts = with_hooks(provider.clone(), hooks);
    parts.unattended = true;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let end = ends(&session).first().map(|(_, end)| *end);
    // One that a hook has stopped asks its model for nothing more.
    let read = results(&last_of_main(&provider)).first().map(ToolResult::joined_text);
    let read = read.unwrap_or_else(|| summaries(&session, AgentId::MAIN).concat());
    session.quit().await;
    (read, end)
}

fn command() -> Value {
    json!({"type": "command", "command": "guard"})
}

fn own(decision: &str) -> String {
    let output =
        json!({"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "R1"});
    json!({"hookSpecificOutput": output}).to_string()
}

#[tokio::test]
async fn json_that_says_no_holds_whatever_the_exit_status_is_and_wherever_it_stands() {
    let block = json!({"decision": "block", "reason": "R1"});
    let stop = json!({"continue": false, "stopReason": "R1"});
    let other_event = own("deny").replace("PreToolUse", "PostToolUse");
    let texts = [
        own("deny"),
        own("DENY"),
        block.to_string(),
        json!({"decision": "Deny", "reason": "R1"}).to_string(),
        stop.to_string(),
        json!({"continue": "false", "stopReason": "R1"}).to_string(),
        format!("checking …\n{block}"),
        format!("checking …\n{}", serde_json::to_string_pretty(&block).unwrap()),
        format!("{block}\nbye"),
        other_event,
    ];
    for text in texts {
        for code in [Some(0), Some(1), Some(127), None] {
            let exit = HookExit::Exited { code, stdout: text.clone(), stderr: "broken".to_owned() };
            let (read, end) = judged(&command(), &json!({"call": "LS", "input": {}}), exit).await;
            assert!(read.contains("blocked by hook: R1"), "{code:?} {text}: {read}");
            assert_eq!(end, Some(HookEnd::Blocked), "{code:?} {text}");
        }
    }
    let (read, _) = judged(&command(), &json!({"call": "LS", "input": {}}), ended(2, &block.to_string(), "")).await;
    assert!(read.contains("blocked by hook: R1"), "the reason may stand in JSON alone: {read}");
}

#[tokio::test]
async fn a_yes_of_a_hook_that_fails_is_none() {
    let write = json!({"call": "Write", "input": {"file_path": "a.txt", "content": "x"}});
    let (read, _) = judged(&command(), &write, ended(1, &own("allow"), "")).await;
    assert!(read.starts_with("Nobody is there to approve this"), "{read}");
    let (read, _) = judged(&command(), &write, ended(0, &own("allow"), "")).await;
    assert!(!read.contains("Nobody"), "{read}");
    let other_event = own("allow").replace("PreToolUse", "PostToolUse");
    let (read, _) = judged(&command(), &write, ended(0, &other_event, "")).await;
    assert!(read.starts_with("Nobody is there to approve this"), "{read}");
}

#[tokio::test]
async fn what_a_hook_asks_or_defers_or_says_in_words_of_its_own_is_asked_about_with_its_reason() {
    for (text, why) in [
        (own("ask"), "R1"),
        (own("defer"), "R1"),
        (own("reject"), "a hook has answered `reject`"),
        (own("deny it"), "a hook has answered `deny it`"),
        (json!({"decision": "reject", "reason": "R1"}).to_string(), "a hook has answered `reject`"),
        (json!({"decision": "ask", "reason": "R1"}).to_string(), "R1"),
        (json!({"decision": false}).to_string(), "a hook has answered `false`"),
        (json!({"hookSpecificOutput": "deny"}).to_string(), "cannot be read"),
        (r#"{"decision": "block", }"#.to_owned(), "cannot be read"),
        (json!({"hookSpecificOutput": {"permissionDecision": {"deny": true}}}).to_string(), "a hook has answered"),
    ] {
        for code in [0, 1] {
            let exit = ended(code, &text, "");
            let (read, end) = judged(&command(), &json!({"call": "LS", "input": {}}), exit).await;
            assert!(read.starts_with("Nobody is there to approve this call."), "{text}: {read}");
            assert!(read.contains(why), "{text}: {read}");
            assert_eq!(end, Some(HookEnd::Asked), "{text}");
        }
    }
}

#[tokio::test]
async fn a_guard_that_cannot_run_here_lets_nothing_through() {
    let never = ended(0, "", "");
    for (hook, why) in [
        (json!({"type": "agent", "prompt": " "}), "no `prompt`"),
        (json!({"type": "prompt", "promt": "is it safe?"}), "no `prompt`"),
        (json!({"type": "mcp_tool", "server": "s"}), "no `tool`"),
        (json!({"type": "mcp_tool", "tool": "t"}), "no `server`"),
        (json!({"type": "mcp_tool", "server": "s", "tool": "t", "input": "x"}), "no object"),
        (json!({"type": "webhook", "url": "http://127.0.0.1:1"}), "no known `type`"),
        (json!({"type": "http", "url": "file:///x"}), "begins with file:"),
        (json!({"type": "command", "comand": "guard"}), "no `command`"),
        (json!({"type": "command", "command": "guard", "shell": "powershell"}), "another shell"),
        (json!("guard"), "is no object"),
    ] {
        let source = HookSource { place: "f".into(), is_projects: false, is_managed: false, plugin: None };
        let groups = json!({"PreToolUse": [{"matcher": "LS", "hooks": [hook]}]});
        let (handlers, said) = HookHandler::read(&groups, &source);
        assert!(said[0].contains(why) && said[0].contains("you are asked"), "{said:?}");
        let run: RunHook = {
            let never = never.clone();
            Arc::new(move |_: HookProcess| {
                let never = never.clone();
                Box::pin(async move { never })
            })
        };
        let session =
            HookSession { id: String::new(), project: "/p".into(), transcript: Arc::new(|_| "/t".into()), run };
        let hooks = Hooks::new(handlers, HookReach::default(), session);
        let provider = calling(&json!({"call": "LS", "input": {}}));
        let mut parts = with_hooks(provider.clone(), hooks);
        parts.unattended = true;
        let mut session = Session::start(parts);
        session.ask("go").await;
        let read = results(&last_of_main(&provider))[0].joined_text();
        assert!(read.starts_with("Nobody is there to approve this call.") && read.contains(why), "{read}");
        session.quit().await;
    }
    let source = HookSource { place: "f".into(), is_projects: false, is_managed: false, plugin: None };
    let hook = json!({"type": "prompt", "prompt": "Is it fine?"});
    let (handlers, said) = HookHandler::read(&json!({"PreCompact": [{"hooks": [hook]}]}), &source);
    assert!(handlers.len() == 1 && said[0].contains("cannot be used at PreCompact"), "{said:?}");
    for (event, on_failure, kept, words) in [
        ("PreToolUse", "continue", 1, "it does not run."),
        ("PreToolUse", "block", 1, "are blocked"),
        ("UserPromptSubmit", "", 1, "is blocked"),
        ("Stop", "", 1, "it does not run."),
        ("SessionStart", "", 0, "it does not run."),
    ] {
        let hook = json!({"type": "agent", "onFailure": on_failure});
        let source = HookSource { place: "f".into(), is_projects: false, is_managed: false, plugin: None };
        let (handlers, said) = HookHandler::read(&json!({event: [{"hooks": [hook]}]}), &source);
        assert!(handlers.len() == kept && said[0].contains(words), "{event} {on_failure}: {said:?}");
    }
}

#[tokio::test]
async fn a_condition_is_a_rule_and_one_that_cannot_be_read_holds() {
    let bash = |command: &str| json!({"call": "Bash", "input": {"command": command}});
    let write = |path: &str| json!({"call": "Write", "input": {"file_path": path, "content": "x"}});
    for (condition, call, is_meant) in [
        (json!("Bash(git *)"), bash("true"), false),
        (json!("Bash(git *)"), bash("npm test"), false),
        (json!("Bash(git:*)"), bash("git status"), true),
        (json!("Bash(git push *)"), bash("git commit -m x"), false),
        (json!("Bash(git push *)"), bash("cd x && git push origin"), true),
        (json!("Bash(git push *)"), bash("git -C x push"), true),
        (json!("Bash(git push *)"), bash("sh -c 'git push'"), true),
        (json!("Bash(git push *)"), bash("true 'not closed"), true),
        (json!("Edit(src/**)"), write("src/a.rs"), true),
        (json!("Edit(src/**)"), write("docs/../src/a.rs"), true),
        (json!("Edit(src/**)"), write("docs/a.md"), false),
        (json!("Write"), write("docs/a.md"), true),
        (json!("Bash"), write("docs/a.md"), false),
        (json!("Bash(git"), bash("true"), true),
        (json!("Bash(git *)|Bash(npm *)"), bash("true"), true),
        (json!(["Bash(git *)"]), bash("true"), true),
        (json!(""), bash("true"), true),
    ] {
        let hook = json!({"type": "command", "command": "guard", "if": condition});
        let source = HookSource { place: "f".into(), is_projects: false, is_managed: false, plugin: None };
        let (handlers, said) = HookHandler::read(&json!({"PreToolUse": [{"hooks": [hook]}]}), &source);
        let is_read = condition.as_str().is_some_and(|text| !["Bash(git", ""].contains(&text) && !text.contains('|'));
        assert_eq!(said.is_empty(), is_read, "{condition}: {said:?}");
        let ran = Arc::new(AtomicUsize::default());
        let counted = ran.clone();
        let run: RunHook = Arc::new(move |_: HookProcess| {
            counted.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { ended(2, "", "no") })
        });
        let provider = calling(&call);
        let mut parts = with_hooks(provider, Hooks::default());
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let session = HookSession { id: String::new(), project, transcript: Arc::new(|_| "/t".into()), run };
        parts.folder = Some(folder);
        parts.hooks = Hooks::new(handlers, HookReach::default(), session);
        parts.unattended = true;
        let mut session = Session::start(parts);
        session.ask("go").await;
        assert_eq!(ran.load(Ordering::Relaxed), usize::from(is_meant), "{condition} {call}");
        session.quit().await;
    }
}

#[tokio::test]
async fn a_hook_that_declares_itself_asynchronous_is_not_waited_for_and_answers_later() {
    let settings = json!({"PreToolUse": [{"hooks": [command()]}]});
    let source = HookSource { place: "f".into(), is_projects: false, is_managed: false, plugin: None };
    let (handlers, _) = HookHandler::read(&settings, &source);
    let gate = Arc::new(tokio::sync::Notify::new());
    let waiting = gate.clone();
    let run: RunHook = Arc::new(move |process: HookProcess| {
        let gate = waiting.clone();
        Box::pin(async move {
            let declared = r#"{"async": true, "asyncTimeout": 60000}"#;
            process.first_line.send(declared.to_owned()).unwrap();
            tokio::select! {
                () = gate.notified() => {}
                () = process.stop.cancelled() => return HookExit::Stopped,
            }
            let answer = json!({"systemMessage": "looked at it", "decision": "block", "reason": "too late"});
            ended(0, &format!("{declared}\nworking\n{answer}\n"), "")
        })
    });
    let session = HookSession { id: String::new(), project: "/p".into(), transcript: Arc::new(|_| "/t".into()), run };
    let hooks = Hooks::new(handlers, HookReach::default(), session);
    let provider = calling(&json!({"call": "LS", "input": {}}));
    let mut session = Session::start(with_hooks(provider.clone(), hooks));
    session.ask("go").await;
    assert!(!summaries(&session, AgentId::MAIN)[0].contains("hook"), "{:?}", summaries(&session, AgentId::MAIN));
    gate.notify_one();
    session
        .wait(|event| match &event.kind {
            EventKind::Hook { ran } => Some(ran.end),
            _ => None,
        })
        .await;
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn an_asynchronous_hook_ends_when_its_own_time_is_up() {
    let source = HookSource { place: "f".into(), is_projects: false, is_managed: false, plugin: None };
    let (handlers, _) = HookHandler::read(&json!({"PreToolUse": [{"hooks": [command()]}]}), &source);
    let stopped = Arc::new(AtomicUsize::default());
    let counted = stopped.clone();
    let run: RunHook = Arc::new(move |process: HookProcess| {
        let counted = counted.clone();
        Box::pin(async move {
            process.first_line.send(r#"{"async":true,"asyncTimeout":500}"#.to_owned()).unwrap();
            process.stop.cancelled().await;
            counted.fetch_add(1, Ordering::Relaxed);
            HookExit::Stopped
        })
    });
    let session = HookSession { id: String::new(), project: "/p".into(), transcript: Arc::new(|_| "/t".into()), run };
    let hooks = Hooks::new(handlers, HookReach::default(), session);
    let mut session = Session::start(with_hooks(calling(&json!({"call": "LS", "input": {}})), hooks));
    session.ask("go").await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    while stopped.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    session.quit().await;
}
