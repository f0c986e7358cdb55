//! Interesting states of the screen: snapshots are taken of them, and screenshots rendered.

use std::path::PathBuf;

use belvedere::agent::{Author, EventKind, RunMode, SessionEvent, Status, ToolEvent, TurnEvent};
use belvedere::app::Event;
use belvedere::app::key::Input;
use belvedere::message::{AgentId, DiffLine, FileDiff, Hunk, LineKind};
use belvedere::permission::{Access, AccessKind, ApprovalId, ApprovalRequest, Grant, Preview};
use belvedere::tool::{Todo, TodoStatus, ToolView};

use super::stage::{Stage, tool_started};

/// Nothing was said yet; the offline model answers.
pub(crate) fn welcome(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    stage.session(SessionEvent::ModelChosen {
        provider: "offline".to_owned(),
        id: "demo-1".to_owned(),
        display: "offline".to_owned(),
        context_window: None,
        note: Some(
            "No model connected. The built-in offline model answers. Set ANTHROPIC_API_KEY, or start Ollama."
                .to_owned(),
        ),
    });
    stage
}

/// Eight agents at work: thinking, in tools, with text, queued, asking, stalled, done and failed.
pub(crate) fn eight_agents(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("Refactor auth to use JWT");
    let plan = "I'll look at **three things** at once: where the session is kept, what has to change, and what the \
                tests hold us to.";
    stage.says(0, plan);
    stage.ends_turn(0, plan, 12_000);
    let tasks = [
        ("explore", "Find auth files"),
        ("plan", "Design the migration"),
        ("code", "Implement the tokens"),
        ("review", "Check the tests"),
        ("explore", "Read the docs"),
        ("search", "Look for cookies"),
        ("code", "Write the fixtures"),
        ("test", "Run the suite"),
    ];
    for (agent, (kind, title)) in (1..).zip(tasks) {
        stage.spawns(agent, kind, title);
    }
    for agent in 1..=7 {
        stage.starts(agent);
    }
    stage.wait(2_000);
    stage.calls(1, "g1", "Grep", "\"verify_password\"", "14 hits in 6 files");
    stage.calls(1, "r1", "Read", "src/auth/login.rs", "210 lines");
    let found = "The session is kept in a **signed cookie**, set by `login()` in `src/auth/login.rs:88` and read by the \
                 middleware. Two places write it:\n\n- `src/auth/login.rs:91`\n- `src/auth/refresh.rs:40`\n";
    stage.says(1, found);
    stage.ends_turn(1, found, 7_500);
    stage.calls(2, "r2", "Read", "Cargo.toml", "48 lines");
    stage
        .says(2, "## Plan\n\n1. Add `jsonwebtoken`\n2. Replace `Session` by `Claims`\n3. Keep the cookie for a week\n");
    code_agent(&mut stage);
    stage.ends(
        4,
        Status::Completed,
        "<summary>The suite has **31 tests** of the session; four of them read the cookie's bytes and have to \
         change.</summary>\n<findings>\n- tests/session.rs:12\n- tests/session.rs:40\n</findings>",
        None,
    );
    stage.agent(5, tool_started("b5", "Bash", "cargo doc --no-deps"));
    stage.agent(
        5,
        EventKind::Tool(ToolEvent::Progress {
            call_id: "b5".to_owned(),
            tail: " Documenting shop v0.3.0\n    Checking serde v1.0.219\n    Checking axum v0.8.1".to_owned(),
        }),
    );
    stage.ends(6, Status::Failed, "", Some("No connection to anthropic (connection reset). Check the network."));
    stage.agent(
        7,
        EventKind::Turn(TurnEvent::Thinking {
            text: "The fixtures need a key pair; a fixed one will do for tests.".to_owned(),
        }),
    );
    stage.wait(3_000);
    stage
}

fn code_agent(stage: &mut Stage) {
    stage.agent(3, tool_started("t3", "TodoWrite", "3 items"));
    let todo = |content: &str, status| Todo { content: content.to_owned(), status, active_form: String::new() };
    let items = vec![
        todo("Add the dependency", TodoStatus::Completed),
        todo("Write Claims", TodoStatus::InProgress),
        todo("Replace the middleware", TodoStatus::Pending),
    ];
    stage.tool_ends(3, "t3", "1 of 3 done", Some(ToolView::Todos { items }));
    stage.agent(3, tool_started("e3", "Edit", "src/auth/claims.rs"));
    stage.tool_ends(3, "e3", "+3 -1", Some(ToolView::Diff(diff())));
}

/// A small change.
pub(crate) fn diff() -> FileDiff {
    let line = |kind, number, text: &str| DiffLine { kind, number, text: text.to_owned() };
    FileDiff {
        path: PathBuf::from("/home/me/src/shop/src/auth/claims.rs"),
        added: 2,
        removed: 1,
        hunks: vec![Hunk {
            lines: vec![
                line(LineKind::Context, 11, "pub struct Claims {"),
                line(LineKind::Removed, 12, "    pub session: String,"),
                line(LineKind::Added, 12, "    pub sub: UserId,"),
                line(LineKind::Added, 13, "    pub exp: u64,"),
                line(LineKind::Context, 14, "}"),
            ],
        }],
        omitted: 0,
    }
}

/// So many agents, all at work on one message: those in tools, with text, and with both.
pub(crate) fn at_work(count: u32, width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("Refactor auth to use JWT");
    stage.says(0, "I'll look at everything at once.");
    let tasks = [
        ("explore", "Find auth files", "src/auth/login.rs"),
        ("plan", "Design the migration", "Cargo.toml"),
        ("code", "Implement the tokens", "src/auth/claims.rs"),
        ("review", "Check the tests", "tests/session.rs"),
    ];
    for (agent, (kind, task, _)) in (1..=count).zip(tasks.into_iter().cycle()) {
        stage.spawns(agent, kind, task);
        stage.starts(agent);
    }
    stage.draw();
    stage.wait(2_000);
    for (agent, (_, _, file)) in (1..=count).zip(tasks.into_iter().cycle()) {
        stage.calls(agent, "g", "Grep", "\"verify_password\"", "14 hits in 6 files");
        stage.calls(agent, "r", "Read", file, "210 lines");
        if agent % 4 > 0 {
            let found = "The session is kept in a **signed cookie**, set by `login()` and read by the middleware.";
            stage.says(agent, &format!("{found} Two places write it:\n\n- `src/auth/login.rs:91`\n- `{file}:40`\n"));
        }
        if agent % 2 == 0 {
            stage.agent(agent, tool_started("b", "Bash", "cargo doc --no-deps"));
        }
    }
    stage.wait(3_000);
    stage
}

/// Two questions wait: a command of a subagent and an edit of the main agent.
pub(crate) fn approval(width: u16, height: u16) -> Stage {
    let mut stage = eight_agents(width, height);
    stage.wants_to_run(1, "b1", "cargo test --no-run --workspace");
    let path = PathBuf::from("/home/me/src/shop/src/auth/claims.rs");
    stage.agent(3, tool_started("e9", "Edit", "src/auth/claims.rs"));
    stage.agent(
        3,
        EventKind::Tool(ToolEvent::ApprovalRequested {
            request: ApprovalRequest {
                id: ApprovalId { agent: AgentId(3), call_id: "e9".to_owned(), number: 0 },
                access: Access::new("Edit", AccessKind::Write { path }),
                title: "src/auth/claims.rs".to_owned(),
                preview: Some(Preview::Diff(diff())),
                grant: Some(Grant::Edits),
                reason: "mode ask: edits ask".to_owned(),
            },
        }),
    );
    stage
}

/// One agent on the whole screen.
pub(crate) fn full(width: u16, height: u16) -> Stage {
    let mut stage = eight_agents(width, height);
    stage.keys("<alt+3><alt+3>");
    stage
}

/// Everything has ended: reports in the conversation, panes folded.
pub(crate) fn ended(width: u16, height: u16) -> Stage {
    let mut stage = eight_agents(width, height);
    for agent in [1, 2, 3, 5, 7] {
        let report = format!("<summary>Agent {agent} has **found** what it was sent for.</summary>");
        stage.ends(agent, Status::Completed, &report, None);
    }
    stage.starts(8);
    stage.ends(8, Status::Cancelled, "The suite was half done.", Some("stopped by the user"));
    stage.draw();
    stage.wait(4_000);
    for agent in 1..=8 {
        stage.tool_ends(0, &format!("call-{agent}"), "done", None);
    }
    stage.main(EventKind::Turn(TurnEvent::Started { turn: 2 }));
    let answer = "The session moves to a JWT in three steps; see `src/auth/login.rs:88`.\n\n\
                  ```rust\nlet token = encode(&header, &claims, &key)?;\n```\n\nNothing else reads the cookie.";
    stage.says(0, answer);
    stage.ends_turn(0, answer, 21_000);
    stage.ends(0, Status::Completed, answer, None);
    stage
}

/// One in the background, one in its last turn, one in its second run, one that is to be resumed, one wrapped up.
pub(crate) fn lives(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("Move the session to JWT");
    let tasks = ["Find auth files", "Design the migration", "Check the tests", "Read the docs", "Look for cookies"];
    for (agent, (kind, task)) in (1..).zip(["explore", "plan", "review", "explore", "search"].into_iter().zip(tasks)) {
        stage.spawns(agent, kind, task);
        stage.starts(agent);
        stage.says(agent, "I look.");
    }
    stage.agent(1, EventKind::Moved { run_mode: RunMode::Background });
    stage.calls(1, "g1", "Grep", "\"verify_password\"", "14 hits in 6 files");
    stage.agent(2, EventKind::LastTurn { why: Status::WrappedUp });
    stage.agent(2, EventKind::UserMessage { text: "Report now.".to_owned(), by: Author::Program, id: None });
    stage.agent(2, EventKind::Turn(TurnEvent::Started { turn: 2 }));
    stage.says(2, "So far: three steps.");
    stage.ends(3, Status::Completed, "<summary>31 tests of the session.</summary>", None);
    stage.wait(1_000);
    stage.agent(3, EventKind::Resumed { run: 2, run_mode: RunMode::Background });
    stage.starts(3);
    stage.agent(3, EventKind::UserMessage { text: "Which of them are slow?".to_owned(), by: Author::User, id: None });
    stage.calls(3, "b3", "Bash", "cargo test -- --report-time", "exit 0");
    stage.ends(4, Status::TimedOut, "Half of the docs.", Some("nothing arrived for 600 s"));
    stage.ends(5, Status::WrappedUp, "<summary>Two cookies so far.</summary>", None);
    stage.main(EventKind::UserMessage { text: "…".to_owned(), by: Author::Subagents(vec![AgentId(5)]), id: None });
    stage.keys("@4 go on with the second half<enter>");
    stage.wait(2_000);
    stage
}

/// A conversation without agents, wide characters in it.
pub(crate) fn talk(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("what does 设置 mean here? 👩‍👩‍👧‍👦");
    stage.calls(0, "g", "Grep", "\"设置\"", "2 hits in 1 file");
    stage.says(0, "「设置」 means **settings** 👍🏽. It is the title of the page in `src/设置.rs:3`.\n\n| 名 | mean |\n|---|---|\n| 设置 | settings |\n");
    stage.keys("and 这个?");
    stage
}

/// The window loses the user's attention.
pub(crate) fn look_away(stage: &mut Stage) {
    stage.event(Event::Input(Input::FocusLost));
}

/// The timeline of agents that thought, ran tools, asked, were limited, fell silent, waited and ended.
pub(crate) fn timeline(width: u16, height: u16) -> Stage {
    timeline_with(width, height, "设置")
}

/// The same with another name for the fifth agent: the font of the pictures has no Chinese.
pub(crate) fn timeline_with(width: u16, height: u16, fifth: &str) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("Move the session to JWT");
    stage.wait(3_000);
    for (agent, kind) in (1..).zip(["explore", "plan", "code", "review", fifth, "search"]) {
        stage.spawns(agent, kind, "Look closely");
    }
    stage.starts(1);
    stage.starts(2);
    stage.starts(5);
    stage.wait(4_000);
    stage.agent(1, tool_started("g1", "Grep", "\"verify_password\""));
    stage.wants_to_run(2, "b2", "cargo tree");
    stage.wait(9_000);
    stage.tool_ends(1, "g1", "14 hits in 6 files", None);
    stage.starts(3);
    stage.agent(
        5,
        EventKind::Turn(TurnEvent::Retrying {
            attempt: 2,
            wait_ms: 20_000,
            rate_limited: true,
            reason: "too many requests".to_owned(),
        }),
    );
    stage.wait(6_000);
    stage.agent(1, tool_started("r1", "Read", "src/设置/login.rs"));
    stage.wait(2_000);
    stage.tool_ends(1, "r1", "210 lines", None);
    stage.ends(3, Status::Failed, "", Some("no connection"));
    stage.starts(4);
    stage.wait(9_000);
    stage.ends(1, Status::Completed, "<summary>Four files.</summary>", None);
    stage.agent(4, tool_started("b4", "Bash", "cargo test"));
    stage.says(5, "Now it goes on.");
    stage.wait(64_000);
    stage.ends(2, Status::Cancelled, "", None);
    stage.says(5, " And on.");
    stage.wait(10_000);
    stage.keys("/timeline<enter>");
    stage
}
