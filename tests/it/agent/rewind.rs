//! Taking back messages and files, through the real loop.

use std::sync::Arc;

use belvedere::agent::{EventKind, LogEvent, SessionEvent, Status, ToolEvent};
use belvedere::message::{AgentId, Message};
use belvedere::permission::PermissionMode;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::{Command, RewindRequest};
use belvedere::tool::{ChangedFiles, FilePlan, FileRewind};
use serde_json::{Value, json};

use super::{last_of_main, reply, script, task};
use crate::support::{Parts, Session};

fn write(name: &str, content: &str) -> Value {
    json!({"call": "Write", "input": {"file_path": name, "content": content}})
}

fn order(name: &str) -> Value {
    json!({"call": "Agent", "input": {"description": name, "subagent_type": "general-purpose", "prompt": task(name)}})
}

/// The main agent writes a file at once, and two children at the second message.
fn writers() -> Arc<Scripted> {
    script(&[
        reply(json!({"task": "called one", "turn": 0}), vec![write("one.txt", "by one\n")]),
        reply(
            json!({"task": "called two", "turn": 0}),
            vec![write("two.txt", "by two\n"), write("sub/new.txt", "new\n")],
        ),
        reply(json!({"task": "called", "turn": 1}), vec![json!({"say": "<summary>written</summary>"})]),
        reply(json!({"task": "first", "turn": 0}), vec![write("main.txt", "by main\n")]),
        reply(json!({"task": "first", "turn": 1}), vec![json!({"say": "first done"})]),
        reply(
            json!({"task": "first", "turn": 2}),
            vec![write("main.txt", "by main again\n"), order("one"), order("two")],
        ),
        reply(json!({"task": "first", "turn": 3}), vec![json!({"say": "second done"})]),
        reply(json!({"task": "first", "turn": 4}), vec![json!({"say": "third done"})]),
    ])
}

fn parts(provider: Arc<Scripted>) -> Parts {
    let mut parts = Parts::new(provider);
    parts.mode = PermissionMode::BypassPermissions;
    parts
}

/// Returns what takes back all that was written from the message on.
fn files_since(session: &Session, message: &str) -> Vec<FileRewind> {
    let mut changed = ChangedFiles::default();
    let is_it = |event: &Arc<LogEvent>| {
        let kind = event.of_agent().map(|event| &event.kind);
        matches!(kind, Some(EventKind::UserMessage { text, .. }) if text == message)
    };
    let from = session.log.iter().position(is_it).unwrap();
    for event in session.log[from..].iter().filter_map(|event| event.of_agent()) {
        if let EventKind::Tool(ToolEvent::Ended { changes, .. }) = &event.kind {
            for change in changes {
                changed.add(&change.path, change.versions, &session.copies);
            }
        }
    }
    let ready = |plan| match plan {
        FilePlan::Ready(file, _) => file,
        FilePlan::Stays(path, why) => panic!("{}: {why}", path.display()),
    };
    changed.plan(&session.copies).into_iter().map(ready).collect()
}

async fn rewound(session: &mut Session) -> (usize, usize) {
    session
        .wait_session(|event| match event {
            SessionEvent::Rewound { messages, files, left } => {
                assert_eq!(*left, []);
                Some((*messages, files.len()))
            }
            _ => None,
        })
        .await
}

#[tokio::test(start_paused = true)]
async fn what_main_and_its_children_wrote_goes_with_the_conversation() {
    let provider = writers();
    let mut session = Session::start(parts(provider.clone()));
    assert_eq!(session.ask("first").await.text, "first done");
    assert_eq!(session.ask("second").await.text, "second done");
    let read = |name: &str| std::fs::read_to_string(session.root().join(name)).unwrap_or_default();
    assert_eq!(["main.txt", "one.txt", "two.txt"].map(read), ["by main again\n", "by one\n", "by two\n"]);

    let files = files_since(&session, "second");
    session.send(Command::Rewind(RewindRequest { messages: 1, said: "second".to_owned(), files }));
    assert_eq!(rewound(&mut session).await, (1, 4));
    let read = |name: &str| std::fs::read_to_string(session.root().join(name)).ok();
    let all = ["main.txt", "one.txt", "two.txt", "sub/new.txt"].map(read);
    assert_eq!(all, [Some("by main\n".to_owned()), None, None, None]);

    // The model knows nothing of the second message, and has to read again what it knew.
    session.ask("third").await;
    let said: Vec<String> = last_of_main(&provider).messages.iter().map(|message| format!("{message:?}")).collect();
    let said = said.join("\n");
    assert!(said.contains("first done") && said.contains("third") && !said.contains("second"), "{said}");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn files_go_back_alone_and_the_conversation_alone() {
    for (messages, content) in [(0, None), (1, Some("by main\n".to_owned()))] {
        let provider = writers();
        let mut session = Session::start(parts(provider.clone()));
        session.ask("first").await;
        let files = if messages == 0 { files_since(&session, "first") } else { Vec::new() };
        session.send(Command::Rewind(RewindRequest { messages, said: "first".to_owned(), files }));
        assert_eq!(rewound(&mut session).await, (messages, 1 - messages));
        assert_eq!(std::fs::read_to_string(session.root().join("main.txt")).ok(), content);
        session.ask("first").await;
        let asked = last_of_main(&provider).messages.iter().filter(|it| ***it == Message::user("first")).count();
        assert_eq!(asked, 2 - messages);
        session.quit().await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_taken_back_while_agents_run_or_of_another_conversation() {
    let provider = script(&[
        reply(json!({"task": "slow", "turn": 0}), vec![write("a.txt", "a\n")]),
        reply(json!({"task": "slow", "turn": 1}), vec![json!({"wait_ms": 60_000}), json!({"say": "done"})]),
    ]);
    let mut session = Session::start(parts(provider));
    let request =
        |said: &str, messages| Command::Rewind(RewindRequest { messages, said: said.to_owned(), files: vec![] });
    let refused = async |session: &mut Session| {
        session
            .wait(|event| match &event.kind {
                EventKind::Notice { text } if text.starts_with("Nothing was rewound") => Some(text.clone()),
                _ => None,
            })
            .await
    };
    session.say("slow");
    session.wait(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Ended { .. })).then_some(())).await;
    session.send(request("slow", 1));
    assert!(refused(&mut session).await.contains("agents are still running"));
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Completed);
    for (said, messages) in [("another", 1), ("slow", 2), ("slow", usize::MAX)] {
        session.send(request(said, messages));
        assert!(refused(&mut session).await.contains("has changed meanwhile"), "{said} {messages}");
    }
    assert!(session.root().join("a.txt").exists());
    session.quit().await;
}
