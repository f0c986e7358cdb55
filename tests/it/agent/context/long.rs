//! Five million characters of conversation, in all the ways in which they can come together.

use std::sync::Arc;

use belvedere::agent::{EventKind, Status};
use belvedere::message::{AgentId, Message};
use serde_json::json;

use super::{Bounded, dump, given_back, names, of_context, say, start, text_of, tokens, whole_tokens};
use crate::support::Session;

const WINDOW: u64 = 200_000;
/// A context that nothing fills.
const ENDLESS: u64 = 100_000_000;
const MAIN: AgentId = AgentId::MAIN;

/// A service that has the model read five million characters, piece by piece.
fn reading(window: u64) -> Arc<Bounded> {
    Arc::new(Bounded::new(window, |_, turn| if turn < 125 { dump(40_000 + turn) } else { say("all read") }))
}

async fn read_all(window: u64) -> (Arc<Bounded>, Session) {
    let provider = reading(window);
    let mut session = start(&provider, Some(window));
    let outcome = session.ask("read it all").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "all read"), "{:?}", outcome.reason);
    (provider, session)
}

#[tokio::test(start_paused = true)]
async fn five_million_characters_of_results_cost_no_more_than_where_all_of_them_fit() {
    let (provider, session) = read_all(WINDOW).await;
    let (_, untouched) = read_all(ENDLESS).await;
    let events = of_context(&session.seen, MAIN);
    assert!(names(&events).contains(&"trimmed"), "{events:#?}");
    assert!(events.len() <= 20, "it is shortened again and again: {:?}", names(&events));
    assert_eq!(of_context(&untouched.seen, MAIN), []);
    assert!(whole_tokens(&session.seen) <= whole_tokens(&untouched.seen) * 3 / 2);
    // The service had never to refuse.
    assert!(provider.requests().iter().all(|request| tokens(request) + 4_096 <= WINDOW));
    assert_eq!(&*given_back(&session.seen, MAIN).messages()[0], &Message::user("read it all"));
}

#[tokio::test(start_paused = true)]
async fn five_million_characters_of_talk_become_summaries_with_what_was_said_last() {
    let talk = |window| {
        let provider = Arc::new(Bounded::new(window, |_, turn| say(&format!("{} {turn}", text_of(2_000)))));
        (provider.clone(), start(&provider, Some(window)))
    };
    let (provider, mut session) = talk(WINDOW);
    let (_, mut untouched) = talk(ENDLESS);
    for number in 0..120 {
        let text = format!("message {number}. {}", text_of(40_000));
        assert_eq!(session.ask(&text).await.status, Status::Completed);
        assert_eq!(untouched.ask(&text).await.status, Status::Completed);
        let last = provider.requests().pop().unwrap();
        assert!(matches!(&**last.messages.last().unwrap(), Message::User { text: said } if *said == text));
    }
    let events = of_context(&session.seen, MAIN);
    assert!((8..=24).contains(&events.len()), "{:?}", names(&events));
    assert!(names(&events).chunks(2).all(|pair| pair == ["compacting", "compacted"]), "{:?}", names(&events));
    assert!(whole_tokens(&session.seen) <= whole_tokens(&untouched.seen) * 3 / 2);
    assert!(provider.requests().iter().all(|request| tokens(request) + 4_096 <= WINDOW));
    let last = provider.requests().pop().unwrap();
    let Message::User { text: summary } = &*last.messages[0] else { panic!("{last:#?}") };
    assert!(summary.contains("SUMMARY") && summary.contains("<first_message>\nmessage 0. "), "{summary}");
    // A summary of a summary holds the first message once, and each summary was written with the one before.
    assert_eq!(summary.matches("<first_message>").count(), 1, "{summary}");
    let of_last = provider.summaries().pop().unwrap();
    assert!(matches!(&*of_last.messages[0], Message::User { text } if text.contains("SUMMARY")));
    // The log gives back what the next request begins with.
    assert!(
        given_back(&session.seen, MAIN).messages().starts_with(&last.messages),
        "the log gives something else back"
    );
}

#[tokio::test(start_paused = true)]
async fn one_message_of_five_million_characters_is_answered_by_its_head_and_tail() {
    let provider = Arc::new(Bounded::new(WINDOW, |_, _| say("understood")));
    let mut session = start(&provider, Some(WINDOW));
    let text = format!("HEAD {} TAIL", text_of(5_000_000));
    let outcome = session.ask(&text).await;
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.reason);
    assert_eq!(names(&of_context(&session.seen, MAIN)), ["compacting", "compacted"]);
    let last = provider.turns().pop().unwrap();
    let Message::User { text } = &*last.messages[0] else { panic!() };
    assert!(text.contains("HEAD") && text.contains("TAIL") && text.contains("characters left out"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_result_larger_than_the_room_beside_a_summary_is_cut_down_and_never_asked_for_again() {
    let provider = Arc::new(Bounded::new(20_000, |_, turn| if turn < 12 { dump(36_000 + turn) } else { say("read") }));
    let mut session = start(&provider, Some(20_000));
    let outcome = session.ask("read").await;
    assert_eq!(outcome.status, Status::Completed, "{:?}", outcome.reason);
    let events = names(&of_context(&session.seen, MAIN));
    assert!(events.contains(&"cut"), "{events:?}");
    assert!(provider.turns().len() <= 14, "{}", provider.turns().len());
}

#[tokio::test(start_paused = true)]
async fn a_subagent_is_compacted_like_the_main_agent_and_its_parent_sees_nothing_of_it() {
    let provider = Arc::new(Bounded::new(WINDOW, |request, _| {
        let Message::User { text } = &*request.messages[0] else { panic!() };
        let turns = request.messages.iter().filter(|message| matches!(***message, Message::Assistant(_))).count();
        match (text.contains("the work called one"), turns) {
            (false, 0) => super::Act::Call(
                "Agent",
                json!({"description": "one", "subagent_type": "general-purpose",
                       "prompt": "WHAT: the work called one. WHERE: here. RETURN: a word."}),
            ),
            (false, _) => say("done"),
            // It says so much itself that leaving results out is not enough.
            (true, _) if !text.contains("SUMMARY") => super::Act::Call("LS", json!({"path": text_of(60_000)})),
            (true, _) => say("<summary>the word</summary>"),
        }
    }));
    let mut session = start(&provider, Some(WINDOW));
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Completed, "done"), "{:?}", outcome.reason);
    let child = AgentId(1);
    assert_eq!(names(&of_context(&session.seen, child)), ["compacting", "compacted"]);
    assert_eq!(of_context(&session.seen, MAIN), []);
    let main =
        provider.turns().into_iter().rfind(|request| request.tools.iter().any(|tool| tool.name == "Agent")).unwrap();
    assert!(!main.messages.iter().any(|message| format!("{message:?}").contains("SUMMARY")), "{main:#?}");
    let task =
        provider.turns().into_iter().rfind(|request| !request.tools.iter().any(|tool| tool.name == "Agent")).unwrap();
    assert!(matches!(&*task.messages[0], Message::User { text } if text.contains("RETURN: a word.")), "{task:#?}");
    // What the summary took is the subagent's.
    let ended = session.of(child).find_map(|kind| match kind {
        EventKind::Ended { outcome } => Some(outcome.usage),
        _ => None,
    });
    let events: u64 = session.of(child).filter_map(EventKind::spent).map(|spent| spent.usage.total()).sum();
    assert_eq!(ended.unwrap().total(), events);
}
