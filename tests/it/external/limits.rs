//! Limits of other programs: what was cut short is never reported as complete.

use belvedere::agent::Status;

use super::{ONE, Programs, calls, session_of};

#[tokio::test]
async fn past_the_limit_on_calls_one_prompt_is_left_to_report() {
    let programs = Programs::default();
    let (mut session, _) = session_of("busy", &programs, |parts| parts.limits.child.max_tool_calls = Some(3));
    session.say("go");
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.is_broken_off()), (Status::ToolLimit, false));
    assert_eq!(outcome.reason.as_deref(), Some("Reached the limit of 3 tool calls."));
    assert!(programs.prompts()[1].contains("No more tools are available"), "{:?}", programs.prompts());
    assert!(calls(&session).len() >= 4, "{:?}", calls(&session));
    session.quit().await;
}

#[tokio::test]
async fn a_reply_that_was_cut_off_is_no_answer() {
    let programs = Programs::default();
    let (mut session, _) = session_of("short", &programs, |_| {});
    session.say("go");
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.is_broken_off()), (Status::Failed, true));
    assert!(outcome.reason.unwrap().contains("output token limit"));
    session.quit().await;
}

#[tokio::test]
async fn a_turn_without_a_word_is_no_report() {
    let programs = Programs::default();
    let (mut session, _) = session_of("silent", &programs, |_| {});
    session.say("go");
    assert_eq!(session.ended(ONE).await.status, Status::Empty);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn silence_ends_a_program_at_the_idle_limit() {
    let programs = Programs::default();
    let (mut session, _) = session_of("deaf", &programs, |parts| {
        parts.limits.child.idle_timeout = Some(std::time::Duration::from_mins(1));
    });
    session.say("go");
    let outcome = session.ended(ONE).await;
    assert_eq!((outcome.status, outcome.is_broken_off()), (Status::TimedOut, true));
    session.quit().await;
}
