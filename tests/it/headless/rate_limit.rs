//! Waits for a rate limit or the budget as lines of text: one for each wait.

use belvedere::agent::{AgentEvent, EventKind, Hold};
use belvedere::headless::Progress;
use belvedere::message::AgentId;
use jiff::Timestamp;

#[test]
fn a_wait_is_told_once_however_often_it_changes() {
    let mut progress = Progress::default();
    let mut line = |kind| progress.line(&AgentEvent { agent: AgentId::MAIN, at: Timestamp::UNIX_EPOCH, kind });
    let held = |wait_ms, ahead| EventKind::Held { why: Hold::RateLimit, wait_ms, ahead };
    let first = line(held(Some(3_000), 2));
    assert_eq!(first.as_deref(), Some("main … waits 3.0s for the rate limit, 2 requests ahead"));
    assert_eq!(line(held(Some(1_000), 1)), None);
    assert_eq!(line(held(Some(0), 0)), None);
    assert_eq!(line(held(None, 1)).as_deref(), Some("main … waits for the rate limit, 1 request ahead"));
    line(held(Some(0), 0));
    let reason = "slow down".to_owned();
    assert!(line(EventKind::Retrying { attempt: 2, wait_ms: 3_000, rate_limited: true, reason }).is_some());
    assert_eq!(line(held(Some(2_000), 1)), None, "the refusal was told of");
}

#[test]
fn a_wait_for_the_budget_is_told_once_for_each_request() {
    let mut progress = Progress::default();
    let mut line = |kind| progress.line(&AgentEvent { agent: AgentId::MAIN, at: Timestamp::UNIX_EPOCH, kind });
    let held = |ahead| EventKind::Held { why: Hold::Budget, wait_ms: None, ahead };
    let words = "main … waits for what the requests under way leave of the budget";
    assert_eq!(line(held(1)).as_deref(), Some(format!("{words}, 1 request ahead").as_str()));
    assert_eq!(line(held(0)), None);
    assert_eq!(line(EventKind::TurnStarted { turn: 2 }), None);
    assert_eq!(line(held(0)).as_deref(), Some(words));
}
