//! What a question says besides the act: the fact that decides, whom an answer reaches, and why it is asked; all of it.

use belvedere::agent::{EventKind, SessionEvent, ToolEvent};
use belvedere::app::Effect;
use belvedere::app::terms::question_terms;
use belvedere::message::{AgentId, DiffLine, FileDiff, Hunk, LineKind};
use belvedere::permission::{
    Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Confinement, Grant, PermissionMode, Preview,
};
use belvedere::sandbox::{SandboxFacts, SandboxState};
use belvedere::subagent::Command;

use crate::screens::stage::{Region, Stage};

const SIZES: [(u16, u16); 3] = [(60, 15), (80, 24), (120, 40)];

fn in_sandbox(stage: &mut Stage) {
    let facts = SandboxFacts {
        state: SandboxState::On,
        writable: Vec::new(),
        protected: Vec::new(),
        hidden: Vec::new(),
        shares_processes: None,
        has_network: false,
        is_untested: false,
        hosts: Vec::new(),
    };
    stage.session(SessionEvent::SandboxChanged { facts });
}

fn request(access: Access, title: &str, reason: &str) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId { agent: AgentId::MAIN, call_id: "c".to_owned(), number: 0 },
        access,
        title: title.to_owned(),
        preview: None,
        grant: Some(Grant::Command(title.to_owned())),
        reason: reason.to_owned(),
    }
}

fn command(line: &str, confinement: Confinement) -> Access {
    Access::new("Bash", AccessKind::Execute { command: line.to_owned(), confinement })
}

/// A command that the sandbox has refused something to.
fn leaving() -> ApprovalRequest {
    let line = "cp -r target/release/shop /usr/local/bin/shop || touch /usr/local/bin/shop";
    let text = "touch: cannot touch '/usr/local/bin/shop': Read-only file system".to_owned();
    let access = command(line, Confinement::None);
    ApprovalRequest {
        preview: Some(Preview::Note { text }),
        ..request(access, line, "it runs again, outside the sandbox, as it wants the network without the proxy")
    }
}

fn ask(stage: &mut Stage, request: &ApprovalRequest) {
    let request = request.clone();
    stage.main(EventKind::Tool(ToolEvent::ApprovalRequested { request }));
}

fn asking((width, height): (u16, u16), request: &ApprovalRequest) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("go");
    in_sandbox(&mut stage);
    ask(&mut stage, request);
    stage
}

fn answers(effects: &[Effect]) -> usize {
    effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Command(Command::Answer { answer: Answer::Once, .. })))
        .count()
}

/// Returns the words of the question in a line, as they go on from row to row.
fn words(stage: &mut Stage) -> String {
    stage.region(Region::Approvals).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_heading_says_that_a_command_leaves_the_sandbox_or_cannot_be_undone() {
    for size in SIZES {
        let mut stage = asking(size, &leaving());
        assert!(words(&mut stage).contains("main wants to LEAVE THE SANDBOX: Bash"), "{}", stage.text());
        insta::assert_snapshot!(format!("leaving-{}x{}", size.0, size.1), stage.region(Region::Approvals));
        let inside = command("rm -rf out", Confinement::Sandbox);
        let why = Some("it deletes out, which git ignores".to_owned());
        let mut lasting =
            request(inside.lasting(why), "rm -rf out", "nothing brings this back: it deletes out, which git ignores");
        lasting.grant = None;
        let mut stage = asking(size, &lasting);
        let text = words(&mut stage);
        assert!(text.contains("main wants to do what CANNOT BE UNDONE: Bash"), "{text}");
        assert!(
            text.contains("can only be allowed once · nothing brings this back: it deletes out, which git ignores"),
            "{text}"
        );
        insta::assert_snapshot!(format!("lasting-{}x{}", size.0, size.1), stage.region(Region::Approvals));
    }
    // Where commands run in no sandbox, none leaves it.
    let mut stage = Stage::new(80, 24).with_model();
    stage.asks("go");
    ask(&mut stage, &request(command("make", Confinement::None), "make", "mode ask: it may modify files"));
    assert!(words(&mut stage).contains("main wants to run Bash"), "{}", stage.text());
}

#[test]
fn whom_an_answer_reaches_and_why_it_is_asked_is_never_cut() {
    let long = "/home/me/a/very/long/way/to/a/folder/that/somebody/named/without/mercy/for/narrow/terminals";
    let grants = [
        Grant::Edits,
        Grant::Command("make".to_owned()),
        Grant::Prefix("cargo test".to_owned()),
        Grant::Domain("a-very-long-name-of-a-host.of-a-company.example.org".to_owned()),
        Grant::Below(long.into()),
        Grant::Tool("mcp__a_server_with_a_name__and_a_tool_with_another".to_owned()),
    ];
    for size in SIZES.into_iter().chain([(40, 12), (60, 10)]) {
        for grant in &grants {
            for reason in
                ["mode ask: every edit needs approval", "rule: ask Bash(make:*) (/work/shop/.claude/settings.json)"]
            {
                let mut asked = request(command("make", Confinement::Guard), "make", reason);
                asked.grant = Some(grant.clone());
                let mut stage = asking(size, &asked);
                let whole = question_terms(&stage.app, &asked);
                let mut presses = 0;
                // Before it is allowed, every word of it has been on the screen.
                let mut seen = words(&mut stage);
                while answers(&stage.keys("<alt+y>")) == 0 {
                    presses += 1;
                    assert!(presses < 12, "{size:?} {grant:?}: {}", stage.text());
                    seen.push(' ');
                    seen.push_str(&words(&mut stage));
                }
                let seen: String = seen.chars().filter(|c| !c.is_whitespace()).collect();
                for word in whole.split_whitespace() {
                    // A word that is longer than the row goes on in the next.
                    let is_seen = seen.contains(word) || word.len() > usize::from(size.0) - 8;
                    assert!(is_seen, "{size:?} {grant:?}: {word}\n{seen}");
                }
                assert!(whole.contains("all session") && whole.ends_with(reason));
            }
        }
    }
    let mut edits = request(
        Access::new("Edit", AccessKind::Write { path: "/work/shop/a".into() }),
        "a",
        "mode ask: every edit needs approval",
    );
    edits.grant = Some(Grant::Edits);
    for (width, height) in SIZES {
        let mut stage = asking((width, height), &edits);
        stage.keys("<f6>");
        insta::assert_snapshot!(format!("reach-{width}x{height}"), stage.region(Region::Approvals));
    }
}

#[test]
fn the_first_press_shows_the_hidden_lines_themselves() {
    let line = |kind, number, text: String| DiffLine { kind, number, text };
    let context = |from: u32| (from..from + 3).map(|at| line(LineKind::Context, at as usize, format!("before {at}")));
    let changed = (10..14).flat_map(|at| {
        [line(LineKind::Removed, at, format!("old {at}")), line(LineKind::Added, at, format!("new {at}"))]
    });
    let lines: Vec<DiffLine> = context(1).chain(changed).chain(context(20)).collect();
    let path = std::path::PathBuf::from("/home/me/src/shop/run.sh");
    let diff = FileDiff { path: path.clone(), added: 4, removed: 4, hunks: vec![Hunk { lines }], omitted: 0 };
    let mut asked =
        request(Access::new("Edit", AccessKind::Write { path }), "run.sh", "mode ask: every edit needs approval");
    (asked.grant, asked.preview) = (Some(Grant::Edits), Some(Preview::Diff(diff)));
    for size in SIZES {
        let mut stage = Stage::new(size.0, size.1).with_model();
        stage.asks("go");
        in_sandbox(&mut stage);
        // Where there are panes, the conversation keeps its rows.
        stage.spawns(1, "explore", "look");
        stage.starts(1);
        ask(&mut stage, &asked);
        let brief = stage.region(Region::Approvals);
        let all =
            |text: &str| (10..14).all(|at| text.contains(&format!("old {at}")) && text.contains(&format!("new {at}")));
        if all(&brief) {
            assert_eq!(answers(&stage.keys("<alt+y>")), 1, "{size:?}");
            continue;
        }
        let rows = stage.app.regions().approvals.height;
        let hidden: Vec<String> = (10..14)
            .flat_map(|at| [format!("old {at}"), format!("new {at}")])
            .filter(|text| !brief.contains(text.as_str()))
            .collect();
        assert_eq!(answers(&stage.keys("<alt+y>")), 0, "{size:?}");
        let shown = stage.region(Region::Approvals);
        assert!(hidden.iter().all(|text| shown.contains(text.as_str())), "{size:?}: {hidden:?}\n{shown}");
        assert!(stage.app.regions().approvals.height > rows, "rows of the conversation: {}", stage.text());
        insta::assert_snapshot!(format!("hidden-{}x{}", size.0, size.1), shown);
        assert_eq!(answers(&stage.keys("<alt+y>")), 1, "{size:?}: {}", stage.text());
    }
}

#[test]
fn modes_say_what_they_do_with_the_sandbox_and_without() {
    for has_sandbox in [true, false] {
        let mut stage = Stage::new(80, 24).with_model();
        stage.asks("go");
        if has_sandbox {
            in_sandbox(&mut stage);
        }
        let status = stage.text();
        assert_eq!(status.lines().last().unwrap().contains("sandbox"), has_sandbox, "{status}");
        stage.keys("/mode<enter>");
        let text = stage.text();
        for mode in PermissionMode::ALL {
            let about = mode.about_here(has_sandbox);
            assert!(text.contains(about), "{about}\n{text}");
            assert!(!about.contains("reading is allowed"), "commands write, too");
            assert!(has_sandbox || !about.contains("sandbox") || mode == PermissionMode::BypassPermissions, "{about}");
        }
        insta::assert_snapshot!(format!("modes-{}", if has_sandbox { "sandbox" } else { "none" }), stage.text());
    }
    // Where it is not known, all is said.
    assert!(PermissionMode::Default.about().contains("or ask where there is none"));
}
