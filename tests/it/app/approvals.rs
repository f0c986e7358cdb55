//! Questions and answers.

use belvedere::agent::{EventKind, Status};
use belvedere::app::{Effect, Focus};
use belvedere::message::AgentId;
use belvedere::permission::{Answer, ApprovalId};
use belvedere::subagent::Command;

use crate::screens::scenes;
use crate::screens::stage::{Stage, request};

fn answers(effects: &[Effect]) -> Vec<(u32, Answer)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Engine(Command::Answer { id, answer }) => Some((id.agent.0, answer.clone())),
            _ => None,
        })
        .collect()
}

#[test]
fn each_question_is_answered_by_its_own_key() {
    let mut stage = scenes::approval(120, 40);
    assert_eq!(answers(&stage.keys("<alt+y>")), [(1, Answer::Once)]);
    assert_eq!(answers(&stage.keys("<alt+a>")), [(3, Answer::Always)]);
    assert_eq!(answers(&stage.keys("<alt+n>")), []);
}

#[test]
fn a_key_for_one_question_does_not_answer_the_next() {
    let mut stage = scenes::approval(120, 40);
    let effects = stage.keys("<alt+y><alt+y><alt+y>");
    assert_eq!(answers(&effects), [(1, Answer::Once)]);
    assert_eq!(stage.app.approvals().len(), 1);
}

#[test]
fn a_no_can_carry_words() {
    let mut stage = scenes::approval(120, 40);
    stage.keys("<f6>");
    assert_eq!(stage.app.focus(), Focus::Approvals);
    let effects = stage.keys("euse make instead<enter>");
    let comment = Some("use make instead".to_owned());
    assert_eq!(answers(&effects), [(1, Answer::No { comment })]);
}

#[test]
fn a_question_is_put_once_whatever_events_say() {
    let mut stage = Stage::new(120, 40);
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    stage.wants_to_run(1, "b", "make");
    stage.agent(1, EventKind::ApprovalRequested { request: request(1, "b", "make") });
    assert_eq!(stage.app.approvals().len(), 1);
    stage.keys("<alt+y>");
    stage.agent(1, EventKind::ApprovalRequested { request: request(1, "b", "make") });
    assert!(stage.app.approvals().is_empty());
    let id = ApprovalId { agent: AgentId(1), call_id: "b".to_owned() };
    stage.agent(1, EventKind::ApprovalResolved { id, answer: Some(Answer::Once) });
    assert!(stage.app.approvals().is_empty());
}

#[test]
fn the_end_of_an_agent_withdraws_its_questions() {
    let mut stage = scenes::approval(120, 40);
    stage.keys("<f6>");
    stage.ends(1, Status::Cancelled, "", None);
    assert_eq!(stage.app.approvals().len(), 1);
    stage.ends(3, Status::Cancelled, "", None);
    assert!(stage.app.approvals().is_empty());
    assert_eq!(stage.app.focus(), Focus::Composer);
}

#[test]
fn the_keys_stay_in_sight_whatever_the_length() {
    let long = format!("echo {}", "very long ".repeat(200));
    for (width, height) in [(200, 50), (80, 24), (60, 15), (40, 10)] {
        let mut stage = Stage::new(width, height);
        stage.asks("go");
        stage.wants_to_run(0, "b", &long);
        let text = stage.text();
        assert!(text.contains("alt+y once") && text.contains("alt+n"), "{width}x{height}\n{text}");
    }
}

#[test]
fn a_question_leaves_room_for_what_it_is_about() {
    for (width, height) in [(80, 24), (60, 15)] {
        let mut stage = scenes::approval(width, height);
        let regions = stage.app.regions();
        let details = regions.approvals.height - 2;
        assert!(details <= height / 5, "{details} rows of {height}:\n{}", stage.text());
    }
}
