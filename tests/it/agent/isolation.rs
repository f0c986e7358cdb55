//! Subagents in worktrees of their own, in real repositories, through the real loop.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use belvedere::agent::{
    EventKind, KeptWorktree, SessionEvent, Status, ToolEvent, TurnEvent, WorktreeAct, WorktreeNews,
};
use belvedere::definition::Catalog;
use belvedere::message::{AgentId, MessageId, ToolResult};
use belvedere::permission::PermissionMode;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::{last_of_main, reply, results, script, task};
use crate::support::{Parts, Project, Session, git};

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";

fn apart(name: &str) -> Value {
    json!({"call": "Agent", "input": {"description": name, "subagent_type": "general-purpose", "prompt": task(name),
        "isolation": "worktree"}})
}

fn look() -> Value {
    json!({"call": "Read", "input": {"file_path": "a.txt"}})
}

fn edit(old: &str, new: &str) -> Value {
    json!({"call": "Edit", "input": {"file_path": "a.txt", "old_string": old, "new_string": new}})
}

fn say(text: &str) -> Value {
    json!({"say": text})
}

/// A child that changes one line of the file.
fn editor(name: &str, old: &str, new: &str) -> Vec<Value> {
    let called = format!("called {name}.");
    vec![
        reply(json!({"task": called, "turn": 0}), vec![look()]),
        reply(json!({"task": called, "turn": 1}), vec![edit(old, new)]),
        reply(json!({"task": called, "turn": 2}), vec![say(&format!("<summary>{name} is done</summary>"))]),
    ]
}

fn repository(provider: Arc<Scripted>) -> Parts {
    let mut parts = Parts::new(provider);
    parts.mode = PermissionMode::BypassPermissions;
    parts.project = Project::Repository;
    parts.files = vec![("a.txt", FILE.to_owned()), (".gitignore", "ignored\n".to_owned())];
    parts
}

fn text(session: &Session) -> String {
    std::fs::read_to_string(session.root().join("a.txt")).unwrap()
}

/// The latest list of unmerged worktrees.
fn kept(session: &Session) -> Vec<KeptWorktree> {
    let mut lists = session.log.iter().rev().filter_map(|event| match event.of_session() {
        Some(SessionEvent::Worktrees { kept }) => Some(kept.clone()),
        _ => None,
    });
    lists.next().unwrap_or_default()
}

fn made(session: &Session, agent: u32) -> Vec<PathBuf> {
    let news = session.of(AgentId(agent)).filter_map(|kind| match kind {
        EventKind::Worktree { news: WorktreeNews::Made { path, .. } } => Some(path.clone()),
        _ => None,
    });
    news.collect()
}

async fn harvest(session: &mut Session, agent: u32, act: WorktreeAct) -> WorktreeNews {
    let branch = kept(session).into_iter().find(|one| one.agent == Some(AgentId(agent))).unwrap().branch;
    session.send(Command::Worktree { branch, act });
    let news = session
        .wait(|event| match &event.kind {
            EventKind::Worktree { news: WorktreeNews::Kept(_) } => None,
            EventKind::Worktree { news } if event.agent == AgentId(agent) => Some(news.clone()),
            _ => None,
        })
        .await;
    if matches!(news, WorktreeNews::Merged { .. } | WorktreeNews::Discarded { .. }) {
        session.wait_session(|event| matches!(event, SessionEvent::Worktrees { .. }).then_some(())).await;
    }
    news
}

#[tokio::test]
async fn children_that_rewrite_the_same_file_are_merged_right_or_refused() {
    let mut lines = editor("one", "one", "ONE");
    lines.extend(editor("two", "six", "SIX"));
    lines.extend(editor("three", "one", "1"));
    lines.extend([
        reply(json!({"turn": 0}), vec![look(), apart("one"), apart("two"), apart("three")]),
        reply(json!({"turn": 1}), vec![say("all three")]),
        reply(json!({"turn": 2}), vec![edit("three", "THREE")]),
        reply(json!({"turn": 3}), vec![say("as you like")]),
    ]);
    let provider = script(&lines);
    let mut session = Session::start(repository(provider.clone()));
    session.ask("go").await;
    assert_eq!(text(&session), FILE, "nothing reaches the project by itself");
    let reports: Vec<String> = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect();
    assert!(reports[1].contains("\nworktree: branch belvedere/session/general-purpose-1 (1 file, +1 −1), not merged; the user decides\nworktree files: a.txt\nfiles modified: a.txt\n"), "{}", reports[1]);
    assert_eq!(kept(&session).len(), 3);

    let news = harvest(&mut session, 1, WorktreeAct::Merge).await;
    let WorktreeNews::Merged { files, leftover, .. } = news else { panic!("{news:?}") };
    assert_eq!((files.len(), leftover), (1, None));
    assert!(matches!(harvest(&mut session, 2, WorktreeAct::Merge).await, WorktreeNews::Merged { .. }));
    assert_eq!(text(&session), "ONE\ntwo\nthree\nfour\nfive\nSIX\n");

    let news = harvest(&mut session, 3, WorktreeAct::Merge).await;
    let WorktreeNews::Conflicts { files, .. } = news else { panic!("{news:?}") };
    assert_eq!(files, [("a.txt".to_owned(), "both sides changed the same lines".to_owned())]);
    assert_eq!(text(&session), "ONE\ntwo\nthree\nfour\nfive\nSIX\n");
    assert_eq!(kept(&session).len(), 1, "what is refused stays");
    assert!(matches!(harvest(&mut session, 3, WorktreeAct::Discard).await, WorktreeNews::Discarded { .. }));
    assert_eq!(git(&session.root(), ["branch", "--list", "belvedere/*"]), "");

    session.ask("change it").await;
    let request = last_of_main(&provider);
    let told = format!("{:?}", request.messages);
    assert!(told.contains("The user merged general-purpose-1's worktree into the project."), "{told}");
    assert!(told.contains("The user discarded general-purpose-3's worktree"), "{told}");
    let last = results(&request).pop().unwrap();
    assert!(
        last.is_error && last.joined_text().contains("changed"),
        "what a merge wrote has to be read again: {last:?}"
    );
    session.quit().await;
}

#[tokio::test]
async fn an_unchanged_worktree_goes_and_a_kept_one_is_gone_on_with() {
    let mut lines = editor("one", "one", "ONE");
    lines.extend([
        reply(json!({"task": "called idle.", "turn": 0}), vec![look()]),
        reply(json!({"task": "called idle.", "turn": 1}), vec![say("<summary>looked</summary>")]),
        reply(json!({"task": "called one.", "turn": 3}), vec![edit("two", "TWO")]),
        reply(json!({"task": "called one.", "turn": 4}), vec![say("<summary>more</summary>")]),
        reply(json!({"task": "called one.", "turn": 5}), vec![look()]),
        reply(json!({"task": "called one.", "turn": 6}), vec![say("<summary>again</summary>")]),
        reply(json!({"turn": 0}), vec![apart("idle"), apart("one")]),
        reply(json!({"turn": 1}), vec![say("both")]),
    ]);
    let provider = script(&lines);
    let mut session = Session::start(repository(provider.clone()));
    session.ask("go").await;
    assert!(session.of(AgentId(1)).any(|kind| matches!(kind, EventKind::Worktree { news: WorktreeNews::Removed })));
    let reports: Vec<String> = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect();
    assert!(reports[0].contains("\nworktree: removed, no changes\n"), "{}", reports[0]);
    assert_eq!(kept(&session).len(), 1);

    session.send(Command::Resume { agent: AgentId(2), message: Some((MessageId(1), "more".into())) });
    session.ended(AgentId(2)).await;
    session
        .wait_session(|event| matches!(event, SessionEvent::Worktrees { kept } if !kept.is_empty()).then_some(()))
        .await;
    let places = made(&session, 2);
    assert_eq!(places[0], places[1], "it goes on where it was");
    assert_eq!(kept(&session)[0].size(), "1 file, +2 −2");

    harvest(&mut session, 2, WorktreeAct::Merge).await;
    assert!(text(&session).starts_with("ONE\nTWO\n"));
    session.send(Command::Resume { agent: AgentId(2), message: Some((MessageId(1), "again".into())) });
    session.ended(AgentId(2)).await;
    assert_eq!(made(&session, 2).len(), 3);
    let requests = provider.requests();
    let told = format!("{:?}", requests.last().unwrap().messages);
    assert!(told.contains("Your previous worktree is gone"), "{told}");
    session.quit().await;
}

/// What the tools of an agent said: whether each failed, and its words.
fn said(session: &Session, agent: u32) -> Vec<(bool, String)> {
    let ends = session.of(AgentId(agent)).filter_map(|kind| match kind {
        EventKind::Tool(ToolEvent::Ended { result, .. }) => Some((result.is_error, result.joined_text())),
        _ => None,
    });
    ends.collect()
}

#[tokio::test]
async fn every_tool_of_the_child_is_confined_to_its_worktree() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(&root, root.join("link")).unwrap();
    // Worktrees lie three folders below one beside the project.
    let up = format!("../../../../{}", root.file_name().unwrap().to_str().unwrap());
    let root = root.to_str().unwrap();
    let call = |name: &str, input: Value| json!({"call": name, "input": input});
    let refused = vec![
        call("Read", json!({"file_path": format!("{root}/a.txt")})),
        call("Write", json!({"file_path": format!("{root}/new.txt"), "content": "x"})),
        call("Read", json!({"file_path": format!("{up}/a.txt")})),
        call("Read", json!({"file_path": "link/a.txt"})),
        call("Write", json!({"file_path": "link/new.txt", "content": "x"})),
        call("Grep", json!({"pattern": "one", "path": root})),
        call("Grep", json!({"pattern": "one", "path": "/"})),
        call("Bash", json!({"command": format!("cat {root}/a.txt")})),
        call("Bash", json!({"command": format!("cd '{root}' && touch new.txt")})),
        call("Bash", json!({"command": format!("touch \"{}\"/.//new.txt", root.replace('/', "//"))})),
        call("Write", json!({"file_path": "../general-purpose-2/a.txt", "content": "x"})),
    ];
    let count = refused.len();
    let open = vec![
        call("Bash", json!({"command": "echo x > made.txt; pwd"})),
        call("Write", json!({"file_path": "sub/new.txt", "content": "x"})),
        call("Bash", json!({"command": format!("echo {root}-other")})),
    ];
    let provider = script(&[
        reply(json!({"turn": 0, "task": "called in."}), refused.into_iter().chain(open).collect()),
        reply(json!({"turn": 1, "task": "called in."}), vec![say("<summary>tried</summary>")]),
        reply(json!({"turn": 0}), vec![apart("in")]),
        reply(json!({"turn": 1}), vec![say("done")]),
    ]);
    let mut session = Session::start(Parts { folder: Some(folder), ..repository(provider.clone()) });
    session.ask("go").await;
    let said = said(&session, 1);
    let place = made(&session, 1).remove(0);
    for (is_error, words) in &said[..count] {
        assert!(*is_error && words.contains("You work in your own git worktree"), "{words}");
        assert!(words.contains(place.to_str().unwrap()), "it names the place to use: {words}");
    }
    for (is_error, words) in &said[count..] {
        assert!(!is_error, "{words}");
    }
    assert!(said[count].1.starts_with(place.to_str().unwrap()), "{}", said[count].1);
    assert_eq!(git(&session.root(), ["status", "--porcelain"]), "", "nothing of the project was touched");
    let files: Vec<String> = kept(&session)[0].files.iter().map(|file| file.name.clone()).collect();
    assert_eq!(files, ["made.txt", "sub/new.txt"]);
    let request =
        provider.requests().into_iter().find(|request| request.system.contains("your own git worktree")).unwrap();
    let branch = &kept(&session)[0].branch;
    assert!(
        request.system.contains(&format!("Branch: `{branch}`"))
            && request.system.contains(&format!("Working directory: `{}`", place.display()))
    );
    session.quit().await;
}

#[tokio::test]
async fn a_child_is_stopped_while_its_worktree_is_made() {
    let bin = tempfile::tempdir().unwrap();
    let slow = bin.path().join("git");
    std::fs::write(&slow, "#!/bin/sh\nexec sleep 100\n").unwrap();
    std::fs::set_permissions(&slow, std::fs::Permissions::from_mode(0o755)).unwrap();
    let provider = script(&[
        reply(json!({"turn": 0}), vec![apart("one"), apart("two")]),
        reply(json!({"turn": 1}), vec![say("done")]),
    ]);
    let mut session = Session::start(Parts { git: Some(slow), ..repository(provider) });
    session.say("go");
    for agent in [1, 2] {
        session
            .wait(|event| {
                let making = matches!(event.kind, EventKind::Worktree { news: WorktreeNews::Making });
                (making && event.agent == AgentId(agent)).then_some(())
            })
            .await;
        let spawned = session.of(AgentId(agent)).any(|kind| matches!(kind, EventKind::Spawned(_)));
        assert!(spawned, "it is told of before anything is waited for");
    }
    session.send(Command::Stop { agent: AgentId(2) });
    let outcome = session.ended(AgentId(2)).await;
    assert_eq!(outcome.status, Status::Cancelled, "also one that waits for its turn to make one");
    session.send(Command::Stop { agent: AgentId(1) });
    assert_eq!(session.ended(AgentId(1)).await.status, Status::Cancelled);
    session.ended(AgentId::MAIN).await;
    session.quit().await;
}

#[tokio::test]
async fn a_worktree_that_cannot_be_made_fails_its_child_with_the_reason() {
    let provider =
        script(&[reply(json!({"turn": 0}), vec![apart("one")]), reply(json!({"turn": 1}), vec![say("done")])]);
    let mut parts = repository(provider.clone());
    parts.project = Project::Folder;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let report = results(&last_of_main(&provider)).remove(0);
    assert!(report.is_error);
    assert!(report.joined_text().contains("is not in a git repository"), "{}", report.joined_text());
    session.quit().await;
}

#[tokio::test]
async fn children_of_a_child_work_in_its_worktree_unless_they_ask_for_their_own() {
    let write = |name: &str| json!({"call": "Write", "input": {"file_path": name, "content": "x"}});
    let nested = json!({"call": "Agent", "input": {"description": "n", "subagent_type": "general-purpose", "prompt": task("inner")}});
    let provider = script(&[
        reply(json!({"task": "called outer.", "turn": 0}), vec![nested, apart("own")]),
        reply(json!({"task": "called outer.", "turn": 1}), vec![say("<summary>out</summary>")]),
        reply(json!({"task": "called inner.", "turn": 0}), vec![write("inner.txt")]),
        reply(json!({"task": "called inner.", "turn": 1}), vec![say("<summary>in</summary>")]),
        reply(json!({"task": "called own.", "turn": 0}), vec![write("own.txt")]),
        reply(json!({"task": "called own.", "turn": 1}), vec![say("<summary>own</summary>")]),
        reply(json!({"turn": 0}), vec![apart("outer")]),
        reply(json!({"turn": 1}), vec![say("done")]),
    ]);
    let mut parts = repository(provider);
    parts.limits.max_depth = 2;
    let mut session = Session::start(parts);
    session.ask("go").await;
    let kept = kept(&session);
    let files = |agent: u32| -> Vec<String> {
        let of = kept.iter().filter(|one| one.agent == Some(AgentId(agent)));
        of.flat_map(|one| &one.files).map(|file| file.name.clone()).collect()
    };
    assert_eq!((files(1), files(2), files(3)), (vec!["inner.txt".to_owned()], vec![], vec!["own.txt".to_owned()]));
    assert_eq!(git(&session.root(), ["status", "--porcelain"]), "");
    session.quit().await;
}

#[tokio::test]
async fn a_definition_sends_its_agents_apart_and_into_the_background() {
    let mut lines = editor("one", "one", "ONE");
    for line in &mut lines {
        line["when"]["system"] = json!("You rewrite.");
    }
    lines.extend([
        reply(json!({"turn": 0}), vec![super::agent("rewriter", "one")]),
        reply(json!({"turn": 1}), vec![say("sent out")]),
        reply(json!({"turn": 2}), vec![say("heard")]),
    ]);
    let provider = script(&lines);
    let text = "---\nname: rewriter\ndescription: d\nisolation: worktree\nbackground: true\n---\nYou rewrite.";
    let source = belvedere::definition::Source { tier: belvedere::definition::Tier::UserClaude, path: None };
    let parsed = belvedere::definition::parse(text, source);
    assert!(parsed.diagnostics.is_empty() && parsed.definition.as_ref().unwrap().idle_fields.is_empty());
    let mut parts = repository(provider);
    parts.catalog = Catalog::of(vec![parsed.definition.unwrap()]);
    let mut session = Session::start(parts);
    session.ask("go").await;
    session
        .wait_session(|event| matches!(event, SessionEvent::Worktrees { kept } if kept.len() == 1).then_some(()))
        .await;
    let run_mode = session.of(AgentId(1)).find_map(|kind| match kind {
        EventKind::Spawned(spawn) => Some(spawn.run_mode),
        _ => None,
    });
    assert_eq!(run_mode, Some(belvedere::agent::RunMode::Background));
    assert_eq!(self::text(&session), FILE);
    session.quit().await;
}

#[tokio::test]
async fn nothing_is_merged_or_discarded_while_an_agent_works_in_it() {
    let provider = script(&[
        reply(json!({"task": "called one.", "turn": 0}), vec![look()]),
        reply(json!({"task": "called one.", "turn": 1}), vec![edit("one", "ONE")]),
        reply(json!({"task": "called one."}), vec![say("I go "), json!({"stall": true})]),
        reply(json!({"turn": 0}), vec![look(), apart("one")]),
        reply(json!({}), vec![say("as you like")]),
    ]);
    let mut session = Session::start(repository(provider));
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    let root = made(&session, 1).pop().unwrap();
    let branch = "belvedere/session/general-purpose-1".to_owned();
    for act in [WorktreeAct::Merge, WorktreeAct::Discard] {
        session.send(Command::Worktree { branch: branch.clone(), act });
        let reason = session.wait(|event| match &event.kind {
            EventKind::Worktree { news: WorktreeNews::Refused { reason, .. } } => Some(reason.clone()),
            EventKind::Worktree { news } if event.agent == AgentId(1) => Some(format!("{news:?}")),
            _ => None,
        });
        assert_eq!(reason.await, "general-purpose-1 is still working there; stop general-purpose-1 or wait", "{act:?}");
    }
    assert_eq!(text(&session), FILE);
    assert!(std::fs::read_to_string(root.join("a.txt")).unwrap().starts_with("ONE"), "its work is untouched");
    session.send(Command::Stop { agent: AgentId(1) });
    session.ended(AgentId::MAIN).await;
    assert!(matches!(harvest(&mut session, 1, WorktreeAct::Discard).await, WorktreeNews::Discarded { .. }));
    session.quit().await;
}

#[tokio::test]
async fn what_is_said_to_wait_is_merged_though_the_report_is_still_on_its_way() {
    let mut lines = editor("one", "one", "ONE");
    lines.truncate(2);
    let long = format!("<summary>{}</summary>", "long ".repeat(4_000));
    lines.extend([
        reply(json!({"task": "called one.", "turn": 2}), vec![say(&long)]),
        reply(json!({"turn": 0}), vec![look(), apart("one")]),
        reply(json!({}), vec![say("as you like")]),
    ]);
    let mut parts = repository(script(&lines));
    let is_kept = Arc::new(tokio::sync::Notify::new());
    let kept_later = is_kept.clone();
    parts.keep_report = Some(Arc::new(move |_, _| {
        let is_kept = kept_later.clone();
        async move {
            is_kept.notified().await;
            None
        }
        .boxed()
    }));
    let mut session = Session::start(parts);
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Worktree { news: WorktreeNews::Kept(_) }).then_some(())).await;
    assert_eq!(kept(&session).len(), 1, "it is listed before that is said");
    let news = harvest(&mut session, 1, WorktreeAct::Merge).await;
    assert!(matches!(news, WorktreeNews::Merged { .. }), "{news:?}");
    assert!(text(&session).starts_with("ONE\n"));
    is_kept.notify_one();
    session.ended(AgentId::MAIN).await;
    session.quit().await;
}
