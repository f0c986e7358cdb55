//! A wait for the budget on the screen: a state of its own, in titles, in the full view, over time; and the line above
//! the composer, which counts who is held up apart from who works.

use belvedere::agent::{EventKind, Hold, RunMode, Status, TurnEvent};
use belvedere::app::AgentState;
use belvedere::message::AgentId;

use crate::screens::stage::Stage;

fn held(why: Hold, wait_ms: Option<u64>, ahead: u32) -> EventKind {
    EventKind::Held { why, wait_ms, ahead }
}

fn three(width: u16) -> Stage {
    let mut stage = Stage::new(width, 40).with_model();
    stage.asks("go");
    for agent in 1..=3 {
        stage.spawns(agent, "explore", "Look closely");
        stage.starts(agent);
    }
    stage
}

fn title(stage: &mut Stage, number: &str) -> String {
    let text = stage.text();
    let is_title = |line: &&str| line.contains("Look closely") && line.contains(&format!("▾ {number} "));
    text.lines().find(is_title).unwrap_or_else(|| panic!("no title of {number} in\n{text}")).to_owned()
}

/// The line above the composer.
fn above(stage: &mut Stage) -> String {
    let text = stage.text();
    let at = text.lines().position(|line| line.contains("Ask, or describe a task")).unwrap();
    text.lines().nth(at - 1).unwrap().to_owned()
}

#[test]
fn a_wait_for_the_budget_is_a_state_of_its_own() {
    let mut stage = three(120);
    stage.agent(1, held(Hold::Budget, None, 0));
    stage.agent(2, held(Hold::Budget, None, 2));
    assert!(title(&mut stage, "1").contains("⚠ waiting for budget"), "{}", stage.text());
    assert!(title(&mut stage, "2").contains("⚠ budget, 2 ahead"), "{}", stage.text());
    let state = stage.app.state_of(stage.app.agents().get(AgentId(2)).unwrap());
    assert_eq!(state, AgentState::AwaitsBudget { ahead: 2 });
    assert_eq!(state.word_within(9), "budget");
    assert!(!stage.text().contains("rate limit"), "it is no rate limit");
    let mut wide = three(160);
    wide.agent(1, held(Hold::Budget, None, 0));
    assert!(title(&mut wide, "1").contains("⚠ waiting for budget"), "{}", wide.text());
    stage.keys("<alt+2><alt+2>");
    let whole = "waiting for running requests to free budget: 2 requests ahead";
    assert!(stage.text().contains(whole), "{}", stage.text());
    stage.agent(2, EventKind::Turn(TurnEvent::Started { turn: 1 }));
    assert_eq!(stage.app.state_of(stage.app.agents().get(AgentId(2)).unwrap()), AgentState::Thinking);
}

#[test]
fn it_fits_every_width() {
    for (width, height) in [(200, 50), (120, 40), (80, 24), (60, 15), (40, 12)] {
        let mut stage = Stage::new(width, height).with_model();
        stage.asks("go");
        stage.spawns(1, "explore", "Look closely");
        stage.starts(1);
        stage.agent(1, held(Hold::Budget, None, 1));
        let text = stage.text();
        assert!(text.contains("budget"), "{width}x{height}: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}x{height}: {text}");
    }
}

#[test]
fn the_timeline_counts_it_apart() {
    let mut stage = three(120);
    stage.agent(1, held(Hold::Budget, None, 1));
    stage.wait(3_500);
    stage.agent(1, EventKind::Turn(TurnEvent::Started { turn: 1 }));
    stage.says(1, "on");
    let letters: String =
        stage.app.track(AgentId(1)).unwrap().spans().iter().map(|span| span.kind.row().letter).collect();
    assert!(letters.ends_with("BW"), "{letters}");
    stage.keys("/timeline<enter>");
    assert!(stage.text().contains("B~ waiting for budget"), "{}", stage.text());
}

#[test]
fn who_is_held_up_is_not_at_work() {
    let mut stage = three(120);
    assert!(above(&mut stage).contains("agents  3 running  "));
    stage.agent(1, held(Hold::RateLimit, Some(3_500), 1));
    assert!(above(&mut stage).contains("agents  2 running · 1 rate limited"), "{}", stage.text());
    stage.agent(2, held(Hold::Budget, None, 1));
    stage.agent(
        3,
        EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 900, rate_limited: false, reason: "no".to_owned() }),
    );
    let line = above(&mut stage);
    assert!(line.contains("⚠ agents  1 rate limited · 2 waiting") && line.contains("esc interrupts"), "{line}");
}

#[test]
fn background_agents_are_named_while_the_main_agent_rests() {
    let mut stage = three(120);
    for agent in 1..=2 {
        stage.agent(agent, EventKind::Moved { run_mode: RunMode::Background });
    }
    stage.ends(3, Status::Completed, "<summary>done</summary>", None);
    stage.ends(0, Status::Completed, "They go on.", None);
    let line = above(&mut stage);
    assert!(line.contains("agents in the background  2 running ──"), "{line}");
    assert!(!line.contains("esc interrupts"), "nothing is to be interrupted: {line}");
    stage.agent(2, held(Hold::RateLimit, Some(3_500), 1));
    assert!(above(&mut stage).contains("agents in the background  1 running · 1 rate limited"), "{}", stage.text());
    stage.ends(1, Status::Completed, "<summary>done</summary>", None);
    stage.ends(2, Status::Completed, "<summary>done</summary>", None);
    assert!(!above(&mut stage).contains("agents"));
}

#[test]
fn a_server_that_reads_the_prompt_is_no_stalled_one_and_says_how_far_it_is() {
    let mut stage = three(160);
    let reading = |read: u64| EventKind::Turn(TurnEvent::Reading { read, total: 9_000 });
    stage.agent(1, reading(0));
    stage.agent(2, reading(0));
    stage.agent(2, reading(2_250));
    let word = |stage: &Stage, id: u32| stage.app.state_of(stage.app.agents().get(AgentId(id)).unwrap()).word();
    assert_eq!((word(&stage, 1).as_str(), word(&stage, 2).as_str()), ("thinking", "thinking"), "it takes no time yet");
    stage.wait(70_000);
    assert_eq!((word(&stage, 1).as_str(), word(&stage, 2).as_str()), ("reading 9.0k tokens 70s", "reading 25%"));
    assert!(title(&mut stage, "2").contains("reading 25%"), "{}", stage.text());
    stage.agent(2, EventKind::Turn(TurnEvent::Thinking { text: "hm".to_owned() }));
    assert_eq!(word(&stage, 2), "thinking");
}
