//! Waits for a rate limit or the budget as lines of text: one for each wait.

use std::time::{Duration, Instant};

use belvedere::agent::{AgentEvent, EventKind, Hold, LogEvent, TurnEvent};
use belvedere::headless::ProgressLine;
use belvedere::message::AgentId;
use jiff::Timestamp;
use serde_json::{Value, json};

#[test]
fn a_wait_is_told_once_however_often_it_changes() {
    let mut progress = ProgressLine::default();
    let mut line = |kind| {
        progress.line(
            &LogEvent::Agent(AgentEvent { agent: AgentId::MAIN, at: Timestamp::UNIX_EPOCH, kind }),
            Instant::now(),
        )
    };
    let held = |wait_ms, ahead| EventKind::Held { why: Hold::RateLimit, wait_ms, ahead };
    let first = line(held(Some(3_000), 2));
    assert_eq!(first.as_deref(), Some("main … waiting 3.0s for the rate limit, 2 requests ahead"));
    assert_eq!(line(held(Some(1_000), 1)), None);
    assert_eq!(line(held(Some(0), 0)), None);
    assert_eq!(line(held(None, 1)).as_deref(), Some("main … waiting for the rate limit, 1 request ahead"));
    line(held(Some(0), 0));
    let reason = "slow down".to_owned();
    assert!(
        line(EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 3_000, rate_limited: true, reason })).is_some()
    );
    assert_eq!(line(held(Some(2_000), 1)), None, "the refusal was told of");
}

#[test]
fn a_wait_for_the_budget_is_told_once_for_each_request() {
    let mut progress = ProgressLine::default();
    let mut line = |kind| {
        progress.line(
            &LogEvent::Agent(AgentEvent { agent: AgentId::MAIN, at: Timestamp::UNIX_EPOCH, kind }),
            Instant::now(),
        )
    };
    let held = |ahead| EventKind::Held { why: Hold::Budget, wait_ms: None, ahead };
    let words = "main … waiting for running requests to free budget";
    assert_eq!(line(held(1)).as_deref(), Some(format!("{words}, 1 request ahead").as_str()));
    assert_eq!(line(held(0)), None);
    assert_eq!(line(EventKind::Turn(TurnEvent::Started { turn: 2 })), None);
    assert_eq!(line(held(0)).as_deref(), Some(words));
}

#[test]
fn what_an_agent_took_does_not_depend_on_the_clock_on_the_wall() {
    let mut progress = ProgressLine::default();
    let begun = Instant::now();
    let mut line = |at: &str, after, mut event: Value| {
        event["agent"] = json!(1);
        event["at"] = json!(at);
        progress.line(&serde_json::from_value(event).unwrap(), begun + Duration::from_secs(after))
    };
    let tool = json!({
        "event": "tool_ended", "result": {"call_id": "c", "content": [], "is_error": false}, "summary": "",
        "view": null, "changes": []
    });
    let spawn = json!({
        "event": "spawned", "parent": 0, "call_id": "c", "name": "explore-1", "agent_type": "explore", "color": null,
        "description": "look", "prompt": "look", "model": "m", "tools": []
    });
    line("2026-01-01T00:00:00Z", 0, spawn);
    line("2026-01-01T00:00:00Z", 0, json!({"event": "started"}));
    let words = line("2200-01-01T00:00:00Z", 3, tool.clone()).unwrap();
    assert!(words.ends_with("1 tool, 3.0s"), "{words}");
    let words = line("1970-01-01T00:00:00Z", 6, tool).unwrap();
    assert!(words.ends_with("2 tools, 6.0s"), "{words}");
}
