//! Launchers: their places, what is asked before they start, and what they cannot keep to.

use belvedere::agent::{EventKind, Outcome, Status, ToolEvent};
use belvedere::definition::Isolation;
use belvedere::message::{AgentId, ExternalProgram, LauncherFolder, LauncherSettings, ToolResult};
use belvedere::permission::{AccessKind, Answer, PermissionMode};
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{Programs, hear};
use crate::agent::{last_of_main, reply, results, script};
use crate::support::{Parts, Project, Session};

fn launchers(kind: &str, at_once: usize) -> Vec<LauncherSettings> {
    let program = ExternalProgram { command: "far".to_owned(), args: vec![kind.to_owned()], env: Vec::new() };
    vec![LauncherSettings::new("there", program, LauncherFolder::None, Some(at_once)).unwrap()]
}

fn far(name: &str, more: &Value) -> Value {
    let mut input =
        json!({"description": name, "prompt": format!("do the work that is called {name}"), "isolation": "there"});
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"call": "Agent", "input": input})
}

fn near(name: &str) -> Value {
    json!({"call": "Agent", "input": {"description": name, "prompt": format!("do the work that is called {name}")}})
}

fn session(
    programs: &Programs,
    calls: Vec<Value>,
    change: impl FnOnce(&mut Parts),
) -> (Session, std::sync::Arc<belvedere::provider::scripted::Scripted>) {
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), calls),
        reply(json!({"task": "called near"}), vec![json!({"say": "<summary>near</summary>"})]),
        reply(json!({"turn": 1}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.external = Some(programs.launch());
    parts.launchers = launchers("endless", 1);
    parts.mode = PermissionMode::BypassPermissions;
    change(&mut parts);
    (Session::start(parts), provider)
}

/// Waits for the end of an agent, which may have come while something else was waited for.
async fn end_of(session: &mut Session, agent: u32) -> Outcome {
    let seen = session.of(AgentId(agent)).find_map(|kind| match kind {
        EventKind::Ended { outcome } => Some(outcome.clone()),
        _ => None,
    });
    match seen {
        Some(outcome) => outcome,
        None => session.ended(AgentId(agent)).await,
    }
}

#[tokio::test]
async fn agents_elsewhere_wait_for_places_of_their_own() {
    let programs = Programs::default();
    let calls = vec![far("one", &json!({})), far("two", &json!({})), near("near")];
    let (mut session, _) = session(&programs, calls, |parts| parts.limits.max_parallel = 1);
    session.say("go");
    hear(&mut session, "still").await;
    // One is there, the other waits, and the one here does not wait for either.
    assert_eq!(end_of(&mut session, 3).await.status, Status::Completed);
    assert!(!session.of(AgentId(2)).any(|kind| matches!(kind, EventKind::Started)), "there is one place");
    assert_eq!(programs.told("initialize").len(), 1);
    session.send(Command::Stop { agent: AgentId(1) });
    assert_eq!(end_of(&mut session, 1).await.status, Status::Cancelled);
    assert_eq!(end_of(&mut session, 2).await.status, Status::Completed);
    assert_eq!(programs.told("initialize").len(), 2);
    let EventKind::Spawned(spawn) = session.of(AgentId(2)).next().unwrap() else { panic!("no spawn") };
    assert_eq!(
        (spawn.model.as_str(), spawn.options.isolation.as_ref().map(Isolation::name)),
        ("on there", Some("there"))
    );
    session.quit().await;
}

#[tokio::test]
async fn the_command_is_asked_about_once_for_all_agents() {
    let programs = Programs::default();
    let calls = vec![far("one", &json!({})), far("two", &json!({"subagent_type": "code"}))];
    let (mut session, _) = session(&programs, calls, |parts| {
        parts.mode = PermissionMode::Default;
        parts.launchers = launchers("plain", 8);
    });
    session.say("go");
    let request = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
            _ => None,
        })
        .await;
    let AccessKind::Start { agent, program } = &request.access.kind else { panic!("{request:?}") };
    assert_eq!((agent.as_str(), program.as_str()), ("there", "far plain"));
    assert!(programs.told("initialize").is_empty());
    session.send(Command::Answer { id: request.id, answer: Answer::Always });
    assert_eq!(end_of(&mut session, 1).await.status, Status::Completed);
    assert_eq!(end_of(&mut session, 2).await.status, Status::Completed);
    session.quit().await;
}

#[tokio::test]
async fn a_question_from_there_names_the_file_and_the_machine() {
    let programs = Programs::default();
    let (mut session, _) = session(&programs, vec![far("one", &json!({}))], |parts| {
        parts.mode = PermissionMode::Default;
        parts.launchers = launchers("asks to edit", 1);
    });
    session.say("go");
    let mut asked = Vec::new();
    for answer in [Answer::Always, Answer::No { comment: None }] {
        let request = session
            .wait(|event| match &event.kind {
                EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
                _ => None,
            })
            .await;
        asked.push(request.title.clone());
        session.send(Command::Answer { id: request.id, answer });
    }
    assert_eq!(asked[1], "/srv/copy/.envrc (T) on there");
    assert_eq!(end_of(&mut session, 1).await.status, Status::Completed);
    session.quit().await;
}

#[tokio::test]
async fn restrictions_that_are_not_kept_there_are_refused() {
    let programs = Programs::default();
    let calls = vec![
        far("one", &json!({"allowed_tools": ["Read"]})),
        far("two", &json!({"model": "haiku"})),
        far("three", &json!({"subagent_type": "explore"})),
    ];
    let (mut session, provider) = session(&programs, calls, |parts| parts.launchers = launchers("plain", 8));
    session.ask("go").await;
    let reports: Vec<String> = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect();
    assert!(reports[0].contains("`allowed_tools` cannot restrict it"), "{}", reports[0]);
    assert!(reports[1].contains("`model` cannot restrict it"), "{}", reports[1]);
    // What it speaks to is some other program.
    assert!(reports[2].contains("does not keep to `tools`"), "{}", reports[2]);
    assert!(programs.prompts().is_empty());
    session.quit().await;
}

#[tokio::test]
async fn a_lost_connection_is_interrupted_and_files_elsewhere_are_none_of_ours() {
    let programs = Programs::default();
    let calls = vec![far("one", &json!({}))];
    let (mut session, _) = session(&programs, calls, |parts| parts.launchers = launchers("dies", 8));
    session.ask("go").await;
    let EventKind::Ended { outcome } = session.of(AgentId(1)).last().unwrap() else { panic!("no end") };
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Interrupted, "so far"));
    let reason = outcome.reason.clone().unwrap();
    assert!(
        reason.starts_with("The connection to there was lost (it has ended: ")
            && reason.ends_with("Resume it to go on."),
        "{reason}"
    );
    session.quit().await;

    let programs = Programs::default();
    let calls = vec![far("one", &json!({}))];
    let (mut session, _) = session_of_plain(&programs, calls);
    session.ask("go").await;
    let EventKind::Ended { outcome } = session.of(AgentId(1)).last().unwrap() else { panic!("no end") };
    assert_eq!(outcome.status, Status::Completed);
    assert!(outcome.files.created.is_empty(), "it made a file on another machine: {:?}", outcome.files);
    let first = &programs.prompts()[0];
    assert!(
        first.contains("# You are a subagent") && !first.contains(&session.root().display().to_string()),
        "{first}"
    );
    session.quit().await;
}

#[tokio::test]
async fn a_run_whose_changes_do_not_come_back_is_never_complete() {
    let back = "What it changed did not all come back: ";
    for (kind, status, words) in [
        ("carries nothing", Status::Completed, String::new()),
        ("carries no more", Status::Failed, format!("{back}no room.")),
        ("carries too much", Status::Failed, format!("{back}what changed is too large.")),
        ("carries no name", Status::Failed, format!("{back}what changed has no name.")),
        ("carries a lie", Status::Failed, format!("{back}a piece of what changed does not fit.")),
        (
            "carries rubbish",
            Status::Failed,
            format!("{back}the files that came from the other side cannot be used: they are no pack of git's."),
        ),
        ("carries a broken line", Status::Interrupted, "The connection to there was lost (it has ended".to_owned()),
    ] {
        let programs = Programs::default();
        let (mut session, _) = session(&programs, vec![far("one", &json!({"subagent_type": "explore"}))], |parts| {
            parts.project = Project::Repository;
            parts.files = vec![("a.txt", "one\n".to_owned())];
            parts.launchers = launchers(kind, 8);
            parts.launchers[0].folder = LauncherFolder::Git;
        });
        session.ask("go").await;
        let outcome = end_of(&mut session, 1).await;
        let reason = outcome.reason.unwrap_or_default();
        assert!(outcome.status == status && reason.starts_with(&words), "{kind}: {:?} {reason}", outcome.status);
        let new = &programs.told("session/new")[0];
        assert_eq!(new["cwd"], "/far/folder");
        let agent = &new["_meta"]["belvedere.dev/agent"]["explore"];
        assert!(agent["tools"].to_string().contains("Grep") && !agent["prompt"].as_str().unwrap().is_empty(), "{new}");
        session.quit().await;
    }
}

fn session_of_plain(
    programs: &Programs,
    calls: Vec<Value>,
) -> (Session, std::sync::Arc<belvedere::provider::scripted::Scripted>) {
    session(programs, calls, |parts| parts.launchers = launchers("plain", 8))
}

#[tokio::test(start_paused = true)]
async fn one_that_is_there_answers_however_little_it_says_and_one_that_does_not_is_lost() {
    let lost = "The connection to there was lost (no answer for 120 s";
    for (kind, status, words, news) in [
        ("carries no answers", Status::Interrupted, lost, vec![EventKind::OutOfTouch]),
        ("carries few words", Status::Completed, "slow and steady", vec![]),
        ("carries sleep", Status::Completed, "well rested", vec![EventKind::OutOfTouch, EventKind::Alive]),
    ] {
        let programs = Programs::default();
        let (mut session, _) =
            session(&programs, vec![far("one", &json!({}))], |parts| parts.launchers = launchers(kind, 8));
        session.ask("go").await;
        let outcome = end_of(&mut session, 1).await;
        let said = format!("{}{}", outcome.reason.unwrap_or_default(), outcome.text);
        assert!(outcome.status == status && said.contains(words), "{kind}: {:?} {said}", outcome.status);
        let is_news = |event: &&EventKind| matches!(event, EventKind::OutOfTouch | EventKind::Alive);
        let of_connection: Vec<EventKind> = session.of(AgentId(1)).filter(is_news).cloned().collect();
        assert_eq!(of_connection, news, "{kind}");
        session.quit().await;
    }
}
