//! `/compact`: at rest, while the main agent works, with a wish, and where there is nothing to compact.

use std::sync::Arc;

use belvedere::agent::{EventKind, Status};
use belvedere::message::{AgentId, Message};
use belvedere::provider::ErrorKind;
use belvedere::subagent::Command;

use super::{Act, Bounded, given_back, names, of_context, quiet, say, start};

const MAIN: AgentId = AgentId::MAIN;
const WINDOW: u64 = 100_000;

fn compact(wish: Option<&str>) -> Command {
    Command::Compact { wish: wish.map(str::to_owned) }
}

#[tokio::test(start_paused = true)]
async fn the_user_has_a_conversation_compacted_and_says_what_to_keep() {
    let provider = Arc::new(Bounded::new(WINDOW, |_, _| say("yes")));
    let mut session = start(&provider, Some(WINDOW));
    session.ask("first").await;
    session.ask("second").await;
    session.send(compact(Some("the port numbers")));
    assert_eq!(session.ended(MAIN).await.status, Status::Completed);
    assert_eq!(names(&of_context(&session.seen, MAIN)), ["compacting", "compacted"]);
    let Message::User { text } = &*provider.summaries()[0].messages[0] else { panic!() };
    assert!(text.contains("keep above all: the port numbers"), "{text}");
    assert!(text.contains("user: first\nagent: yes\nuser: second\nagent: yes"), "{text}");
    session.ask("third").await;
    let last = provider.turns().pop().unwrap();
    assert_eq!(last.messages.len(), 2);
    assert_eq!(given_back(&session.seen, MAIN).messages()[..2], last.messages[..]);
    // Again: the first message stays word for word.
    session.send(compact(None));
    session.ended(MAIN).await;
    session.ask("fourth").await;
    let Message::User { text } = &*provider.turns().pop().unwrap().messages[0] else { panic!() };
    assert!(text.contains("<first_message>\nfirst\n") && text.contains("<latest_message>\nthird\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_while_it_works_is_done_before_the_next_answer() {
    let provider = Arc::new(Bounded::new(WINDOW, |_, _| say("yes")));
    let mut session = start(&provider, Some(WINDOW));
    session.say("first");
    session.say("second");
    session.send(compact(None));
    quiet(&mut session).await;
    let kinds: Vec<bool> = provider.requests().iter().map(super::is_for_summary).collect();
    assert_eq!(kinds, [false, true, false]);
    assert_eq!(session.of(MAIN).filter(|kind| matches!(kind, EventKind::Ended { .. })).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn there_may_be_nothing_to_compact_and_a_failure_changes_nothing() {
    let provider =
        Arc::new(Bounded::new(WINDOW, |_, _| say("yes")).summarizing(|_, _| Act::Fail(ErrorKind::BadRequest)));
    let mut session = start(&provider, Some(WINDOW));
    session.send(compact(None));
    assert_eq!(session.ended(MAIN).await.status, Status::Completed);
    assert!(provider.requests().is_empty());
    assert!(
        session.of(MAIN).any(|kind| matches!(kind, EventKind::Notice { text } if text == "Nothing to compact yet."))
    );
    session.ask("first").await;
    session.send(compact(None));
    let outcome = session.ended(MAIN).await;
    assert_eq!(outcome.status, Status::Failed);
    assert!(outcome.reason.unwrap().starts_with("Not compacted: "));
    session.ask("second").await;
    assert_eq!(provider.turns().pop().unwrap().messages.len(), 3);
}
