//! Runs of other programs: their events, their report, what interrupts them, and how they go on.

use std::sync::atomic::Ordering;

use belvedere::agent::{EventKind, Status, TurnEvent};
use belvedere::message::{AgentId, MessageId, ToolResult};
use belvedere::subagent::Command;
use serde_json::json;

use super::{ONE, Programs, calls, hear, session_of};
use crate::agent::{last_of_main, results};

#[tokio::test]
async fn what_a_program_does_becomes_events_and_a_report() {
    let programs = Programs::default();
    let (mut session, provider) = session_of("plain", &programs, |_| {});
    session.ask("go").await;
    let seen = calls(&session);
    let seen: Vec<(&str, &str, &str)> = seen.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("TodoWrite", "2 steps", "1 of 2 done"),
            ("Bash", "cargo test", "2 lines"),
            ("Edit", "Write src/new.rs", "+2 −0"),
        ]
    );
    let texts: Vec<String> = session
        .of(ONE)
        .filter_map(|kind| match kind {
            EventKind::Turn(TurnEvent::Ended { message, .. }) => Some(message.text()),
            _ => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    assert_eq!(texts, ["I look.", "<summary>it is done</summary>"]);
    let EventKind::Ended { outcome } = session.of(ONE).last().unwrap() else { panic!("no end") };
    assert_eq!((outcome.status, outcome.tool_calls), (Status::Completed, 2));
    assert_eq!((outcome.usage.input, outcome.usage.output, outcome.cost_usd), (100, 20, Some(0.25)));
    assert_eq!(outcome.files.created, [session.root().join("src/new.rs")]);
    let report = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect::<String>();
    assert!(report.contains("agent: other-1 (other)   tools: 2") && report.contains("it is done"), "{report}");
    assert!(report.contains("files created: src/new.rs") && !report.contains("12 passed"), "{report}");
    let first = &programs.prompts()[0];
    assert!(first.starts_with("Be brief.") && first.ends_with("do the work that is called work"), "{first}");
    assert_eq!(programs.told("session/new")[0]["cwd"], json!(session.root()));
    assert!(programs.ended.load(Ordering::SeqCst));
    session.quit().await;
}

#[tokio::test]
async fn a_stop_cancels_the_prompt_and_ends_the_program() {
    let programs = Programs::default();
    let (mut session, _) = session_of("endless", &programs, |_| {});
    session.say("go");
    hear(&mut session, "still").await;
    session.send(Command::Stop { agent: ONE });
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.is_broken_off()), (Status::Cancelled, true));
    assert!(programs.ended.load(Ordering::SeqCst), "it ended after its last event");
    assert_eq!(programs.told("session/cancel").len(), 1);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_stop_is_ended_all_the_same() {
    let programs = Programs::default();
    let (mut session, _) = session_of("deaf", &programs, |_| {});
    session.say("go");
    hear(&mut session, "on it").await;
    session.send(Command::Stop { agent: ONE });
    assert_eq!(session.ended(ONE).await.status, Status::Cancelled);
    assert!(programs.ended.load(Ordering::SeqCst));
    session.quit().await;
}

#[tokio::test]
async fn a_message_ends_the_prompt_and_is_the_next_one() {
    let programs = Programs::default();
    let (mut session, _) = session_of("endless", &programs, |_| {});
    session.say("go");
    hear(&mut session, "still").await;
    session.send(Command::Message { agent: ONE, id: MessageId(9), text: "look in tests too".into() });
    let outcome = session.ended(ONE).await;
    assert_eq!(outcome.status, Status::Completed);
    let prompts = programs.prompts();
    assert!(prompts.len() == 2 && prompts[1].starts_with("look in tests too"), "{prompts:?}");
    assert!(outcome.text.contains("heard: ") && !outcome.text.contains("on it"), "{}", outcome.text);
    session.quit().await;
}

#[tokio::test]
async fn wrapping_up_asks_for_a_report() {
    let programs = Programs::default();
    let (mut session, _) = session_of("endless", &programs, |_| {});
    session.say("go");
    hear(&mut session, "still").await;
    session.send(Command::WrapUp { agent: ONE });
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.is_broken_off()), (Status::WrappedUp, false));
    assert!(programs.prompts()[1].starts_with("Stop here and report now"), "{:?}", programs.prompts());
    session.quit().await;
}

#[tokio::test]
async fn a_program_that_ends_early_has_failed_and_says_why() {
    let programs = Programs::default();
    let (mut session, provider) = session_of("dies", &programs, |_| {});
    session.ask("go").await;
    let report = results(&last_of_main(&provider)).iter().map(ToolResult::joined_text).collect::<String>();
    assert!(report.starts_with("status: failed"), "{report}");
    assert!(
        report.contains("reason: program: it has ended: ") && report.contains("warning / out of coffee."),
        "{report}"
    );
    assert!(report.contains("This run was cut short") && report.contains("so far"), "{report}");
    session.quit().await;
}

#[tokio::test]
async fn one_that_wants_a_sign_in_says_so() {
    let programs = Programs::default();
    let (mut session, _) = session_of("locked", &programs, |_| {});
    session.say("go");
    let outcome = session.ended(ONE).await;
    assert!(outcome.reason.unwrap().contains("sign in there (Authentication required)"));
    assert!(programs.ended.load(Ordering::SeqCst));
    session.quit().await;
}

/// Runs a program to its end, and once more. Returns all prompts.
async fn twice(kind: &str, programs: &Programs) -> Vec<String> {
    let (mut session, _) = session_of(kind, programs, |_| {});
    session.ask("go").await;
    session.send(Command::Resume { agent: ONE, message: Some((MessageId(7), "and now the tests".into())) });
    let outcome = session.ended(ONE).await;
    assert_eq!(outcome.status, Status::Completed);
    assert!(!format!("{:?}", session.seen).contains("OLD WORDS"), "what was said before is no news");
    session.ended(AgentId::MAIN).await;
    session.quit().await;
    programs.prompts()
}

#[tokio::test]
async fn a_program_that_remembers_is_told_only_what_is_new() {
    let programs = Programs::default();
    let prompts = twice("remembers", &programs).await;
    assert_eq!(prompts[1], "and now the tests");
    assert_eq!(programs.told("session/load")[0]["sessionId"], "s1");
}

#[tokio::test]
async fn a_program_that_does_not_is_told_what_went_before() {
    let programs = Programs::default();
    let prompts = twice("forgets", &programs).await;
    let again = &prompts[1];
    assert!(again.contains("[You were told]\ndo the work that is called work"), "{again}");
    assert!(again.contains("[You said]\n<summary>heard: ") && again.ends_with("and now the tests"), "{again}");
}
