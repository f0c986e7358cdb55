//! Silence on the screen: what an agent waits for, and that a sign of life ends it.

use belvedere::agent::{EventKind, ToolEvent};
use belvedere::app::{AgentState, Awaited};
use belvedere::message::{AgentId, ToolCall, ToolInput};
use serde_json::Map;

use crate::screens::stage::Stage;

fn working(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height);
    stage.asks("go");
    stage.spawns(1, "explore", "Find things");
    stage.starts(1);
    stage
}

fn state(stage: &Stage, agent: u32) -> AgentState {
    stage.app.state_of(stage.app.agents().get(AgentId(agent)).unwrap())
}

fn runs(stage: &mut Stage, agent: u32, tool: &str) {
    let call = ToolCall { id: "c1".to_owned(), name: tool.to_owned(), input: ToolInput::Object(Map::new()) };
    stage.agent(agent, EventKind::Tool(ToolEvent::Started { call, title: "make".to_owned() }));
}

/// The first line with the text, from it on.
fn title(stage: &mut Stage, from: &str) -> (usize, String) {
    let text = stage.text();
    let line = text.lines().find(|line| line.contains("Find things") && line.contains(from));
    let line = line.unwrap_or_else(|| panic!("{from} in no title:\n{text}"));
    let at = line.rfind(from).unwrap();
    (line[..at].chars().count(), line[at..].to_owned())
}

#[test]
fn a_title_says_what_is_waited_for_where_it_fits() {
    let mut stage = working(200, 40);
    runs(&mut stage, 1, "Bash");
    let (counters, _) = title(&mut stage, "1 tool ");
    stage.wait(61_000);
    let (early, _) = title(&mut stage, "stalled 61s Bash ");
    assert_eq!(title(&mut stage, "1 tool ").0, counters, "the counters stay in their columns");
    stage.wait(64_000);
    let (late, _) = title(&mut stage, "stalled 2m Bash ");
    assert_eq!((early, title(&mut stage, "1 tool ").0), (late, counters));

    let mut stage = working(200, 40);
    stage.wait(61_000);
    title(&mut stage, "stalled 61s model ");

    let mut stage = working(120, 40);
    stage.wait(61_000);
    let (_, rest) = title(&mut stage, "stalled ");
    assert!(rest.starts_with("stalled 61s model "), "{rest}");
}

#[test]
fn who_has_the_whole_screen_says_it_whole() {
    let mut stage = working(120, 40);
    stage.keys("<alt+1><alt+1>");
    assert!(!stage.text().contains("silent for"));
    stage.wait(72_000);
    let text = stage.text();
    assert!(
        text.contains("silent for 1m1") && text.contains("s, waiting for the model's answer; x stops it"),
        "{text}"
    );
    runs(&mut stage, 1, "Bash");
    assert!(!stage.text().contains("silent for"));
    stage.wait(72_000);
    let text = stage.text();
    assert!(text.contains("silent for 1m1") && text.contains("s, waiting for Bash; x stops it"), "{text}");
}

#[test]
fn a_sign_of_life_ends_the_silence_of_an_agent_and_of_who_waits_for_it() {
    let mut stage = working(120, 40);
    runs(&mut stage, 1, "Bash");
    for _ in 0..4 {
        stage.wait(40_000);
        stage.text();
        stage.agent(1, EventKind::Alive);
        assert!(!stage.app.is_dirty(), "there is nothing to draw");
    }
    assert!(matches!(state(&stage, 1), AgentState::Tool { .. }));
    assert!(!matches!(state(&stage, 0), AgentState::Stalled { .. }), "who waits for someone at work is not silent");
    stage.wait(61_000);
    let AgentState::Stalled { waits_for, .. } = state(&stage, 1) else { panic!("{:?}", state(&stage, 1)) };
    assert_eq!(waits_for, Awaited::Tool("Bash".to_owned()));
    assert_eq!(state(&stage, 0), AgentState::Waiting, "its own silence says nothing");
}

#[test]
fn one_that_is_out_of_touch_is_stalled_at_once_until_it_is_heard_of() {
    let mut stage = working(120, 40);
    runs(&mut stage, 1, "Bash");
    stage.wait(30_000);
    stage.agent(1, EventKind::OutOfTouch);
    let AgentState::Stalled { silent, waits_for } = state(&stage, 1) else { panic!("{:?}", state(&stage, 1)) };
    assert!(silent.as_secs() >= 30, "{silent:?}");
    assert_eq!(waits_for, Awaited::Place);
    stage.keys("<alt+1><alt+1>");
    let text = stage.text();
    assert!(text.contains("no answer from there") && text.contains("waiting for an answer from there"), "{text}");
    stage.agent(1, EventKind::Alive);
    assert!(matches!(state(&stage, 1), AgentState::Tool { .. }));
    assert!(!stage.text().contains("waiting for an answer from there"));
}
