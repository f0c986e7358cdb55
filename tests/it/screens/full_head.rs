//! The facts of an agent that has the whole screen, and what it has to do.

use belvedere::agent::{Bounds, EventKind, RunMode, Spawn};
use belvedere::message::AgentId;
use belvedere::permission::PermissionMode;
use belvedere::tool::{Todo, TodoStatus, ToolView};

use super::stage::{Region, Stage, tool_started};

fn stage(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    let spawn = Spawn {
        parent: AgentId::MAIN,
        call_id: "call".to_owned(),
        name: "tester-1".to_owned(),
        agent_type: "tester".to_owned(),
        color: None,
        description: "Run the tests".to_owned(),
        prompt: "Run them all, and say what fails.".to_owned(),
        model: "haiku".to_owned(),
        tools: vec!["Read".to_owned(), "Bash".to_owned(), "TodoWrite".to_owned()],
        run_mode: RunMode::Foreground,
        bounds: Bounds {
            max_turns: Some(50),
            max_tool_calls: Some(4),
            context_window: Some(200_000),
            mode: Some(PermissionMode::Plan),
            scopes: vec!["Bash(npm test:*)".to_owned(), "not Bash(rm:*)".to_owned()],
        },
        options: Box::default(),
    };
    stage.agent(1, EventKind::Spawned(spawn));
    stage.starts(1);
    stage.calls(1, "c1", "Read", "src/a.rs", "10 lines");
    stage.calls(1, "c2", "Read", "src/b.rs", "10 lines");
    notes(&mut stage, 1);
    stage.ends_turn(1, "Now the tests.", 18_000);
    stage
}

fn notes(stage: &mut Stage, agent: u32) {
    let todo = |content: &str, status, active_form: &str| Todo {
        content: content.to_owned(),
        status,
        active_form: active_form.to_owned(),
    };
    let items = vec![
        todo("Read the code", TodoStatus::Completed, "Reading the code"),
        todo("Run the tests", TodoStatus::InProgress, "Running the tests"),
        todo("Say what fails", TodoStatus::Pending, "Saying what fails"),
    ];
    stage.agent(agent, tool_started("todo", "TodoWrite", "3 entries"));
    stage.tool_ends(agent, "todo", "1 of 3 done", Some(ToolView::Todos { items }));
}

#[test]
fn the_full_view_says_what_an_agent_may_use_and_has_used() {
    let mut stage = stage(100, 30);
    stage.keys("<alt+1><alt+1>");
    let text = stage.text();
    let head: Vec<&str> = text.lines().skip(1).take(3).collect();
    let head = head.join(" ");
    for fact in [
        "haiku",
        "turns 1/50",
        "tool calls 3/4",
        "context 9%",
        "19.8k tokens",
        "$0.01",
        "permissions: reads only",
        "Bash(npm test:*)",
        "not Bash(rm:*)",
        "tools: Read, Bash, TodoWrite",
    ] {
        assert!(head.contains(fact), "{fact} is missing in {text}");
    }
    insta::assert_snapshot!("full-head-100x30", stage.region(Region::Agents));
}

#[test]
fn facts_never_cover_the_state_nor_squeeze_the_transcript_out() {
    for (width, height) in [(40, 12), (60, 15), (80, 24), (20, 8), (200, 60)] {
        let mut stage = stage(width, height);
        stage.keys("<alt+1><alt+1>");
        let text = stage.text();
        let title = text.lines().next().unwrap();
        assert!(title.contains("think"), "{width}x{height}: {text}");
        assert!(text.contains("Now the tests."), "{width}x{height}: {text}");
    }
}

#[test]
fn a_pane_says_how_far_its_list_is() {
    let mut stage = stage(140, 40);
    assert!(stage.text().contains("1/3 ▸ Running the tests"), "{}", stage.text());
}

#[test]
fn the_line_above_the_composer_says_how_far_the_main_agent_is() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("Work.");
    notes(&mut stage, 0);
    assert!(stage.text().contains("1/3 ▸ Running the tests"), "{}", stage.text());
    stage.resize(40, 12);
    assert!(stage.text().contains("thinking"), "{}", stage.text());
}
