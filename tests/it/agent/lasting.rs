//! Commands in the sandbox whose work nothing brings back: they ask, and nothing else does.

use belvedere::agent::{AgentEvent, EventKind, ToolEvent};
use belvedere::message::AgentId;
use belvedere::permission::{Answer, ApprovalRequest, PermissionMode};
use belvedere::subagent::Command;
use serde_json::json;

use super::{reply, results, script};
use crate::support::{Parts, Project, Session, git, sandboxed, tools_of};

fn files() -> Vec<(&'static str, String)> {
    [
        (".gitignore", "target/\n.env\nout/\n"),
        ("Cargo.toml", "[package]\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/gen/.env", "secret"),
        ("lib/a.rs", "a"),
        ("target/debug/x", "built"),
        ("out/kept", "by hand"),
    ]
    .map(|(name, content)| (name, content.to_owned()))
    .into()
}

/// A session whose model runs one command; none where there is no sandbox.
async fn session(
    line: &str,
    mode: PermissionMode,
    unattended: bool,
) -> Option<(Session, std::sync::Arc<super::Scripted>)> {
    let cage = tempfile::tempdir().unwrap();
    let (sandbox, shell) = sandboxed(cage.path(), &[]).await?;
    let bash = reply(json!({"turn": 0}), vec![json!({"call": "Bash", "input": {"command": line}})]);
    let provider = script(&[bash, reply(json!({"turn": 1}), vec![json!({"say": "done"})])]);
    let parts = Parts::new(provider.clone());
    let (tools, project) = (tools_of(&shell), Project::Repository);
    let session =
        Session::start(Parts { mode, tools, unattended, project, files: files(), sandbox: Some(sandbox), ..parts });
    // Repositories of the bench hold every file.
    git(&session.root(), ["rm", "-rq", "--cached", "--ignore-unmatch", "target", "out", "src/gen"]);
    git(&session.root(), ["commit", "-qm", "ignore", "--allow-empty"]);
    Some((session, provider))
}

/// Returns the question that comes next; none if the run ends without.
fn question(event: &AgentEvent) -> Option<Vec<ApprovalRequest>> {
    match &event.kind {
        EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(vec![request.clone()]),
        EventKind::Ended { .. } => Some(Vec::new()),
        _ => None,
    }
}

#[tokio::test]
async fn what_can_be_taken_back_runs_and_what_cannot_asks_and_says_why() {
    for (line, why) in [
        ("rm -rf src/main.rs lib", None),
        ("rm -rf target", None),
        ("rm -rf lib target/debug", None),
        ("rm -rf nowhere /tmp/nothing \"$TMPDIR/x\"", None),
        ("rm -rf lib/*", None),
        ("echo x > lib/a.rs && git reset -q --hard", None),
        ("echo x > lib/a.rs; git checkout -q .", None),
        ("touch new && git clean -qfd", None),
        ("find lib -name '*.rs' -delete", None),
        ("rm -rf out", Some("out, which git ignores")),
        ("rm -rf src", Some("src/gen/.env, which git ignores")),
        ("rm -rf src/*", Some("src/gen/.env, which git ignores")),
        ("cd src && rm -rf gen", Some("src/gen/.env, which git ignores")),
        ("rm -rf *", Some("which git ignores")),
        ("rm -rf .", Some("deletes .env")),
        ("rm -rf .git", Some("it deletes .git")),
        ("find . -name kept -delete", Some("which git ignores")),
        ("git clean -qfdx", Some("which git ignores")),
        ("timeout 5 sh -c 'git stash clear'", Some("it drops what was stashed")),
        ("git branch -q x && git branch -D x", Some("it deletes a branch")),
        ("rm -rf \"$NOTHING\"", Some("known only when it runs")),
        ("rm -rf /usr/share/nothing-is-called-so-*", Some("outside the project")),
    ] {
        let Some((mut session, provider)) = session(line, PermissionMode::Default, false).await else { return };
        std::fs::write(session.root().join(".env"), "secret").unwrap();
        session.say("go");
        let asked = session.wait(question).await.pop();
        let reason = asked.as_ref().map(|request| request.reason.clone());
        match (why, &asked) {
            (None, None) => assert!(results(&provider.requests()[1])[0].joined_text().contains("[exit 0"), "{line}"),
            (Some(why), Some(asked)) => {
                assert!(
                    asked.reason.starts_with("nothing brings this back: ") && asked.reason.contains(why),
                    "{line}: {reason:?}"
                );
                assert_eq!(asked.grant, None, "{line}: each time anew");
                assert!(session.root().join("src/gen/.env").exists() && session.root().join("out/kept").exists());
                session.send(Command::Answer { id: asked.id.clone(), answer: Answer::No { comment: None } });
                session.ended(AgentId::MAIN).await;
            }
            _ => panic!("{line}: {reason:?}"),
        }
        session.quit().await;
    }
}

#[tokio::test]
async fn a_yes_runs_it_inside_and_other_modes_do_as_they_say() {
    let Some((mut session, provider)) = session("rm -rf out", PermissionMode::AcceptEdits, false).await else { return };
    session.say("go");
    let asked = session.wait(question).await.pop().unwrap();
    session.send(Command::Answer { id: asked.id, answer: Answer::Once });
    session.ended(AgentId::MAIN).await;
    assert!(!session.root().join("out").exists());
    session.quit().await;
    drop(provider);
    for (mode, is_there) in [(PermissionMode::BypassPermissions, false), (PermissionMode::Plan, true)] {
        let Some((mut session, _)) = self::session("rm -rf out", mode, false).await else { return };
        session.say("go");
        assert!(session.wait(question).await.is_empty(), "{mode}");
        assert_eq!(session.root().join("out/kept").exists(), is_there, "{mode}");
        session.quit().await;
    }
    let Some((mut session, provider)) = self::session("rm -rf out", PermissionMode::Default, true).await else {
        return;
    };
    session.ask("go").await;
    assert!(session.root().join("out/kept").exists(), "nobody could be asked");
    assert!(results(&provider.requests()[1])[0].is_error);
    session.quit().await;
}
