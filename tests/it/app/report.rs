//! Questions about reports: sent, withheld, edited.

use belvedere::agent::{EventKind, ToolEvent};
use belvedere::app::{Effect, Event};
use belvedere::message::AgentId;
use belvedere::permission::{Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Preview};
use belvedere::subagent::Command;

use crate::screens::stage::Stage;

fn asks(stage: &mut Stage, lines: usize) -> ApprovalId {
    let id = ApprovalId::new(AgentId::MAIN, "report-of-1");
    let lines: Vec<String> = (1..=lines).map(|line| format!("finding {line} \u{202e}<b>")).collect();
    let request = ApprovalRequest {
        id: id.clone(),
        access: Access::new("report", AccessKind::Nothing),
        title: "report of explore-1".to_owned(),
        preview: Some(Preview::Report { text: format!("status: completed\n{}\n", lines.join("\n")) }),
        grant: None,
        reason: "reports ask".to_owned(),
    };
    stage.agent(0, EventKind::Tool(ToolEvent::ApprovalRequested { request }));
    id
}

fn answer(id: &ApprovalId, answer: Answer) -> Effect {
    Effect::Command(Command::Answer { id: id.clone(), answer })
}

#[test]
fn a_report_is_sent_once_all_of_it_was_shown() {
    let mut stage = Stage::new(100, 24);
    stage.asks("go");
    let id = asks(&mut stage, 4);
    insta::assert_snapshot!("report-100x24", stage.text());
    assert_eq!(stage.keys("<f6>y"), [answer(&id, Answer::Once)]);
    let id = asks(&mut stage, 60);
    assert_eq!(stage.keys("<f6>y"), [], "there is more of it");
    let sent = (0..20).map(|_| stage.keys("y")).find(|effects| !effects.is_empty());
    assert_eq!(sent.unwrap(), [answer(&id, Answer::Once)]);
}

#[test]
fn a_report_that_was_edited_is_shown_again_and_sent_as_it_is_then() {
    let mut stage = Stage::new(100, 24);
    stage.asks("go");
    let id = asks(&mut stage, 2);
    let opened = stage.keys("<f6><ctrl+g>");
    assert!(matches!(&opened[..], [Effect::EditText(text)] if text.contains("finding 1")), "{opened:?}");
    stage.event(Event::Edited(Some("status: completed\nonly this".to_owned())));
    assert!(stage.text().contains("only this") && !stage.text().contains("finding 1"), "{}", stage.text());
    let text = "status: completed\nonly this".to_owned();
    assert_eq!(stage.keys("y"), [answer(&id, Answer::Edited { text })]);
}
