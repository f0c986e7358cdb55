//! A wait for a rate limit on the screen: in titles, in the full view, in the status line, over time.

use std::time::Duration;

use belvedere::agent::{EventKind, Hold, TurnEvent};
use belvedere::app::Event;
use belvedere::app::Phase;
use belvedere::message::AgentId;

use crate::screens::stage::Stage;

fn held(wait_ms: Option<u64>, ahead: u32) -> EventKind {
    EventKind::Held { why: Hold::RateLimit, wait_ms, ahead }
}

/// Three at work, two of which wait.
fn slowed(width: u16) -> Stage {
    let mut stage = Stage::new(width, 40).with_model();
    stage.asks("go");
    for agent in 1..=3 {
        stage.spawns(agent, "explore", "Look closely");
        stage.starts(agent);
    }
    let reason = "anthropic limits the rate".to_owned();
    stage.agent(1, EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 3_500, rate_limited: true, reason }));
    stage.agent(2, held(Some(3_500), 2));
    stage
}

fn title(stage: &mut Stage, number: &str) -> String {
    let text = stage.text();
    let is_title = |line: &&str| line.contains("Look closely") && line.contains(&format!("▾ {number} "));
    text.lines().find(is_title).unwrap_or_else(|| panic!("no title of {number} in\n{text}")).to_owned()
}

#[test]
fn titles_say_the_wait_and_with_room_the_queue() {
    let mut stage = slowed(120);
    assert!(title(&mut stage, "1").contains("limited 3s  "), "{}", stage.text());
    assert!(title(&mut stage, "2").contains("3s · 2 ahead"), "{}", stage.text());
    stage.agent(2, held(None, 1));
    assert!(title(&mut stage, "2").contains("⚠ rate limited · 1 ahead"));
    assert!(stage.text().lines().all(|line| line.chars().count() <= 120));
}

#[test]
fn the_status_line_says_once_that_the_tree_is_slowed() {
    let mut stage = slowed(120);
    let text = stage.text();
    assert_eq!(text.matches("rate limit 3s").count(), 1, "{text}");
    stage.agent(2, held(Some(0), 0));
    assert!(!stage.text().contains("rate limit 3s"), "one alone is not the tree");
    assert_eq!(stage.app.agents().get(AgentId(2)).unwrap().phase, Phase::Thinking);
}

#[test]
fn the_full_view_says_the_wait_whole() {
    let mut stage = slowed(120);
    stage.keys("<alt+2><alt+2>");
    let text = stage.text();
    assert!(text.contains("waiting for the rate limit"), "{text}");
    assert!(text.contains(" s, 2 requests ahead"), "{text}");
    assert!(text.contains("s · 2 ahead"), "its title too: {text}");
    stage.agent(2, held(None, 0));
    assert!(stage.text().contains(": next in line"));
}

#[test]
fn the_count_goes_down_once_a_second_while_someone_looks() {
    let mut stage = Stage::new(120, 40).with_model();
    stage.asks("go");
    stage.main(held(Some(3_500), 1));
    let due = |stage: &Stage| stage.app.next_wakeup().map(|at| at.saturating_duration_since(stage.app.now()));
    let wait = due(&stage).expect("the count moves");
    assert!(wait > Duration::from_millis(200) && wait <= Duration::from_secs(1), "{wait:?}");
    assert!(stage.text().contains("limited 3s"));
    stage.wait(1_000);
    stage.event(Event::Wakeup);
    assert!(stage.text().contains("limited 2s"));
}

#[test]
fn the_timeline_counts_it_as_rate_limit() {
    let mut stage = slowed(120);
    stage.wait(3_500);
    stage.agent(2, held(Some(0), 0));
    stage.says(2, "on");
    let letters: String =
        stage.app.track(AgentId(2)).unwrap().spans().iter().map(|span| span.kind.row().letter).collect();
    assert!(letters.ends_with("RW"), "{letters}");
}
