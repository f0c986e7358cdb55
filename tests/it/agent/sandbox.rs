//! Commands in the sandbox, through the loop: who is asked, and what then runs outside.

use belvedere::agent::{AgentEvent, EventKind, SessionEvent, ToolEvent};
use belvedere::message::AgentId;
use belvedere::permission::{
    Answer, ApprovalRequest, PermissionMode, Places, Preview, Rule, RuleEffect, RuleOrigin, RuleSet,
};
use belvedere::sandbox::{Sandbox, SandboxChange};
use belvedere::subagent::Command;
use belvedere::tool::CommandEvent;
use serde_json::json;
use tempfile::TempDir;

use super::{reply, results, script};
use crate::support::{Parts, Session, sandboxed};

/// A session whose model runs a command, and then says that it is done.
pub(super) struct OneCommand {
    pub(super) session: Session,
    provider: std::sync::Arc<super::Scripted>,
    pub(super) sandbox: Sandbox,
    outside: TempDir,
}

impl OneCommand {
    /// `FILE` in the command is a file outside of the project.
    pub(super) async fn new(command: &str, mode: PermissionMode) -> Option<Self> {
        Self::attended(command, mode, true).await
    }

    /// Nobody answers questions of a session that is not `attended`.
    pub(super) async fn attended(command: &str, mode: PermissionMode, attended: bool) -> Option<Self> {
        let outside = tempfile::tempdir().unwrap();
        let (sandbox, shell) = sandboxed(outside.path(), &[]).await?;
        let command = command.replace("FILE", &outside.path().join("file").display().to_string());
        let bash = |turn| reply(json!({"turn": turn}), vec![json!({"call": "Bash", "input": {"command": command}})]);
        let done = |turn| reply(json!({"turn": turn}), vec![json!({"say": "done"})]);
        let provider = script(&[bash(0), done(1), bash(2), done(3)]);
        let parts = Parts::new(provider.clone());
        let (tools, unattended) = (crate::support::tools_of(&shell), !attended);
        let parts = Parts { mode, tools, unattended, sandbox: Some(sandbox.clone()), ..parts };
        Some(Self { session: Session::start(parts), provider, sandbox, outside })
    }

    pub(super) async fn asked(&mut self) -> ApprovalRequest {
        self.session.say("go");
        self.session.wait(question).await
    }

    /// Answers a question, and waits for the one that comes of it.
    pub(super) async fn asked_next(&mut self, asked: &ApprovalRequest, answer: Answer) -> ApprovalRequest {
        self.session.send(Command::Answer { id: asked.id.clone(), answer });
        self.session.wait(question).await
    }

    pub(super) async fn answer(&mut self, asked: &ApprovalRequest, answer: Answer) -> String {
        self.session.send(Command::Answer { id: asked.id.clone(), answer });
        let outcome = self.session.ended(AgentId::MAIN).await;
        assert_eq!(outcome.tools_run.get("Bash"), Some(&1), "one call, however often it was tried");
        self.told()
    }

    pub(super) fn told(&self) -> String {
        results(&self.provider.requests()[1])[0].joined_text()
    }

    pub(super) fn questions(&self) -> usize {
        let is_question = |kind: &&EventKind| matches!(kind, EventKind::Tool(ToolEvent::ApprovalRequested { .. }));
        self.session.of(AgentId::MAIN).filter(is_question).count()
    }

    fn is_made(&self) -> bool {
        self.outside.path().join("file").exists()
    }
}

fn question(event: &AgentEvent) -> Option<ApprovalRequest> {
    match &event.kind {
        EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_the_sandbox_lets_pass() {
    let Some(mut it) = OneCommand::new("echo one > a.txt | cat; cat a.txt", PermissionMode::Default).await else {
        return;
    };
    it.session.ask("go").await;
    assert_eq!(it.told(), "one\n[exit 0]");
    assert_eq!(it.questions(), 0);
    it.session.quit().await;
}

#[tokio::test]
async fn what_the_sandbox_refuses_runs_outside_if_the_user_says_so() {
    let Some(mut it) = OneCommand::new("touch FILE && echo made", PermissionMode::Default).await else { return };
    let asked = it.asked().await;
    assert_eq!(asked.reason, "it runs again, outside the sandbox");
    let Some(Preview::Note { text }) = &asked.preview else { panic!("{:?}", asked.preview) };
    assert!(text.contains("touch") && text.contains("Read-only file system"), "{text}");
    assert!(!it.is_made());
    assert_eq!(it.answer(&asked, Answer::Once).await, "made\n[exit 0]");
    assert!(it.is_made());
    it.session.quit().await;
}

#[tokio::test]
async fn a_no_leaves_what_came_of_it_inside() {
    let Some(mut it) = OneCommand::new("echo begun; touch FILE", PermissionMode::Default).await else { return };
    let asked = it.asked().await;
    let told = it.answer(&asked, Answer::No { comment: Some("use a folder here".to_owned()) }).await;
    assert!(told.starts_with("begun\n") && told.contains("Read-only file system"), "{told}");
    assert!(told.contains("not run outside") && told.ends_with("use a folder here"), "{told}");
    assert!(!it.is_made());
    it.session.quit().await;
}

#[tokio::test]
async fn what_was_allowed_before_runs_outside_at_once() {
    let Some(mut it) = OneCommand::new("touch FILE", PermissionMode::Default).await else { return };
    let asked = it.asked().await;
    it.answer(&asked, Answer::Always).await;
    std::fs::remove_file(it.outside.path().join("file")).unwrap();
    it.session.ask("again").await;
    assert!(it.is_made());
    assert_eq!(it.questions(), 1);
    it.session.quit().await;
    let Some(mut it) = OneCommand::new("touch FILE", PermissionMode::BypassPermissions).await else { return };
    it.session.ask("go").await;
    assert!(it.is_made() && it.questions() == 0, "and so does all in this mode");
    it.session.quit().await;
}

#[tokio::test]
async fn in_plan_mode_anything_runs_that_can_write_nothing() {
    let Some(mut it) = OneCommand::new("ls / | wc -l; touch a.txt", PermissionMode::Plan).await else { return };
    it.session.ask("go").await;
    let told = it.told();
    assert!(told.contains("Read-only file system") && it.questions() == 0, "{told}");
    assert!(!it.session.root().join("a.txt").exists());
    it.session.quit().await;
}

#[tokio::test]
async fn without_the_sandbox_commands_ask() {
    let Some(mut it) = OneCommand::new("touch a.txt", PermissionMode::Default).await else { return };
    it.session.send(Command::ChangeSandbox(SandboxChange::Turn { on: false }));
    let facts = it.session.wait_session(|event| match event {
        SessionEvent::SandboxChanged { facts } => Some(facts.clone()),
        _ => None,
    });
    assert_eq!(facts.await.summary(), "The sandbox is off: commands ask before they run.");
    let asked = it.asked().await;
    assert!(asked.reason.contains("may modify files"), "{}", asked.reason);
    it.answer(&asked, Answer::Once).await;
    assert!(!it.sandbox.is_on() && it.session.root().join("a.txt").exists());
    it.session.quit().await;
}

#[tokio::test]
async fn what_a_command_in_the_background_leaves_where_nothing_may_be_written_is_named() {
    let outside = tempfile::tempdir().unwrap();
    let Some((sandbox, shell)) = sandboxed(outside.path(), &[]).await else { return };
    let input = json!({"command": "echo obey > CLAUDE.md", "run_in_background": true});
    let lines = [
        reply(json!({"turn": 0}), vec![json!({"call": "Bash", "input": input})]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ];
    let parts = Parts::new(script(&lines));
    let parts = Parts { tools: crate::support::tools_of(&shell), sandbox: Some(sandbox), ..parts };
    let mut session = Session::start(parts);
    session.say("go");
    let how = session
        .wait(|event| match &event.kind {
            EventKind::Command(CommandEvent::Ended { how, .. }) => Some(how.clone()),
            _ => None,
        })
        .await;
    let root = session.root();
    assert!(how.contains(&format!("{}/CLAUDE.md appeared while it ran", root.display())), "{how}");
    assert!(how.contains(&format!("is now {}/CLAUDE.md.blocked-", root.display())), "{how}");
    assert!(!root.join("CLAUDE.md").exists());
    session.quit().await;
}

/// Returns the reason of the first question about a command, which the model asks to run outside or not.
async fn reason_of(input: serde_json::Value, rules: RuleSet, mode: PermissionMode, is_on: bool) -> Option<String> {
    let cage = tempfile::tempdir().unwrap();
    let (sandbox, shell) = sandboxed(cage.path(), &[]).await?;
    let lines = [
        reply(json!({"turn": 0}), vec![json!({"call": "Bash", "input": input})]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ];
    let parts = Parts::new(script(&lines));
    let tools = crate::support::tools_of(&shell);
    let mut session = Session::start(Parts { mode, rules, tools, sandbox: Some(sandbox), ..parts });
    if !is_on {
        session.send(Command::ChangeSandbox(SandboxChange::Turn { on: false }));
        session.wait_session(|event| matches!(event, SessionEvent::SandboxChanged { .. }).then_some(())).await;
    }
    session.say("go");
    let asked = session.wait(question).await;
    session.send(Command::Answer { id: asked.id.clone(), answer: Answer::No { comment: None } });
    session.ended(AgentId::MAIN).await;
    session.quit().await;
    Some(asked.reason)
}

#[tokio::test]
async fn a_question_about_leaving_the_sandbox_says_that_and_what_it_means() {
    const LEAVES: &str = "it asks to run without the sandbox: it could read, change and send all that you can";
    let place = std::path::Path::new("/work");
    let ask = |text: &str| {
        let places = Places { project: place, home: None };
        let rule = Rule::parse(text, places, |tool| belvedere::tool::known_tools().kind_of(tool));
        RuleSet::default().with(RuleEffect::Ask, &RuleOrigin::Flag, [rule])
    };
    let leaving = |line: &str| json!({"command": line, "dangerouslyDisableSandbox": true});
    let none = RuleSet::default;
    for mode in [PermissionMode::Default, PermissionMode::AcceptEdits] {
        for line in ["make", "echo one > a.txt", "curl https://example.org", "cat a.txt | sh"] {
            let Some(reason) = reason_of(leaving(line), none(), mode, true).await else { return };
            assert_eq!(reason, LEAVES, "{line}");
        }
    }
    // Who else asks is said as well.
    let reason =
        reason_of(leaving("make"), ask("Bash(make:*)"), PermissionMode::BypassPermissions, true).await.unwrap();
    assert_eq!(reason, format!("rule: ask Bash(make:*) (the command line); {LEAVES}"));
    // And so is what cannot be undone, which the heading is about then.
    let inside = json!({"command": "git stash clear"});
    let reason = reason_of(inside, ask("Bash(git stash:*)"), PermissionMode::Default, true).await.unwrap();
    assert!(
        reason.starts_with("rule: ask Bash(git stash:*)") && reason.contains("nothing brings this back"),
        "{reason}"
    );
    // Where there is no sandbox, nothing leaves it.
    let reason = reason_of(leaving("make"), none(), PermissionMode::Default, false).await.unwrap();
    assert_eq!(reason, "mode ask: it may modify files");
}
