//! Pictures on their way to the model: named in a message, or read by a tool.

use belvedere::agent::EventKind;
use belvedere::message::{AgentId, Message, MessageId, ResultPart};
use belvedere::provider::Request;
use belvedere::subagent::Command;
use serde_json::json;

use super::{reply, results, script};
use crate::support::{Parts, Session, png};
use crate::tools::documents::document;

fn said(request: &Request) -> Vec<String> {
    let texts = request.messages.iter().filter_map(|message| match message.as_ref() {
        Message::User { text } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

fn numbers(request: &Request) -> Vec<u32> {
    request.attachments.keys().copied().collect()
}

#[tokio::test]
async fn a_picture_that_a_message_names_goes_with_it_and_with_all_that_follow() {
    let provider = script(&[
        reply(json!({"turn": 1}), vec![json!({"call": "Read", "input": {"file_path": "b.png"}})]),
        reply(json!({}), vec![json!({"say": "a square"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    for name in ["a.png", "b.png"] {
        std::fs::write(session.root().join(name), png(2, 3)).unwrap();
    }
    std::fs::write(session.root().join("fake.png"), "no picture").unwrap();
    std::fs::write(session.home.path().join("other.png"), png(2, 3)).unwrap();
    let other = session.home.path().join("other.png").display().to_string();
    session.ask(&format!("see @a.png, (@fake.png) me@x.png @gone.png @{other}")).await;
    session.ask("go on").await;
    session.ask("and now").await;
    let requests = provider.requests();
    let first = format!("see @a.png [Image #1], (@fake.png) me@x.png @gone.png @{other}");
    assert_eq!(said(&requests[0]), [first]);
    assert_eq!(numbers(&requests[0]), [1]);
    let notices: Vec<&str> = session
        .of(AgentId::MAIN)
        .filter_map(|kind| match kind {
            EventKind::Notice { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(notices.contains(&"[Image #1]: a.png, 2×3 png"), "{notices:?}");
    assert!(notices.iter().any(|text| text.contains("fake.png is no PNG")), "{notices:?}");
    assert!(notices.iter().any(|text| text.contains("other.png is out of reach here")), "{notices:?}");
    let read = results(requests.last().unwrap());
    assert_eq!(read[0].content[1], ResultPart::Attached { number: 2 }, "the log holds no bytes");
    assert_eq!(numbers(requests.last().unwrap()), [1, 2]);
    session.quit().await;
}

#[tokio::test]
async fn pictures_that_do_not_fit_into_a_request_are_said() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "many"})])]);
    let mut session = Session::start(Parts::new(provider.clone()));
    let large = [png(2, 3), vec![0; 3_900_000]].concat();
    for number in 1..=6 {
        std::fs::write(session.root().join(format!("{number}.png")), &large).unwrap();
    }
    session.ask("see @1.png @2.png @3.png @4.png @5.png @6.png").await;
    assert_eq!(numbers(&provider.requests()[0]), [1, 2, 3, 4]);
    let told = "Not sent: [Image #5], [Image #6]. A request holds 20 images, 5 of them PDF documents, and 24 MB.";
    let is_told = |kind: &EventKind| matches!(kind, EventKind::Notice { text } if text == told);
    assert!(session.of(AgentId::MAIN).any(is_told));
    session.quit().await;
}

#[tokio::test]
async fn a_document_for_a_service_that_reads_none_is_its_text() {
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "Read", "input": {"file_path": "a.pdf"}})]),
        reply(json!({}), vec![json!({"say": "words"})]),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    std::fs::write(session.root().join("a.pdf"), document(2)).unwrap();
    session.ask("see @a.pdf").await;
    let read = results(provider.requests().last().unwrap())[0].joined_text();
    assert!(read.starts_with("[Page 1]\nWords of page 1\n\n[Page 2]\nWords of page 2\n"), "{read}");
    session.quit().await;
}

#[tokio::test]
async fn a_model_that_sees_nothing_gets_no_picture_and_the_user_is_told() {
    let provider = script(&[
        reply(json!({"turn": 0}), vec![json!({"call": "Read", "input": {"file_path": "a.png"}})]),
        reply(json!({}), vec![json!({"say": "words"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    parts.model.sees = Some(false);
    let mut session = Session::start(parts);
    std::fs::write(session.root().join("a.png"), png(2, 3)).unwrap();
    session.ask("see @a.png").await;
    let requests = provider.requests();
    assert!(requests.iter().all(|request| request.attachments.is_empty()));
    assert!(results(requests.last().unwrap())[0].joined_text().contains("You cannot see images"));
    let told = |kind: &&EventKind| matches!(kind, EventKind::Notice { text } if text.contains("sees no images: [Image #1] is not sent"));
    assert_eq!(session.of(AgentId::MAIN).filter(told).count(), 1);
    session.quit().await;
}

#[tokio::test]
async fn a_link_is_judged_by_the_file_it_leads_to_and_a_paste_names_nothing() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "nothing"})])]);
    let mut session = Session::start(Parts::new(provider.clone()));
    let outside = session.home.path().join("outside.png");
    std::fs::write(&outside, png(2, 3)).unwrap();
    std::os::unix::fs::symlink(&outside, session.root().join("link.png")).unwrap();
    std::fs::write(session.root().join("a.png"), png(2, 3)).unwrap();
    session.ask("see @link.png").await;
    session.send(Command::Send { id: MessageId(9), text: "a log with @a.png in it, @gone.png".into() });
    session.ended(AgentId::MAIN).await;
    assert!(provider.requests().iter().all(|request| numbers(request).is_empty()));
    let is_told = |words: &str| {
        session.of(AgentId::MAIN).any(|kind| matches!(kind, EventKind::Notice { text } if text.contains(words)))
    };
    assert!(is_told("link.png is out of reach here") && is_told("Not attached: a.png was pasted, not typed"));
    assert!(!is_told("gone.png"), "what is not there is a word");
    session.quit().await;
}

#[tokio::test]
async fn messages_arrive_in_their_order_whatever_they_name() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "ok"})])]);
    let mut session = Session::start(Parts::new(provider.clone()));
    std::fs::write(session.root().join("a.png"), png(2, 3)).unwrap();
    session.say("first @a.png");
    session.say("second");
    session.ended(AgentId::MAIN).await;
    session.ended(AgentId::MAIN).await;
    assert_eq!(said(provider.requests().last().unwrap()), ["first @a.png [Image #1]", "second"]);
    session.quit().await;
}
