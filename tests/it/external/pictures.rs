//! Pictures on their way to other programs.

use belvedere::agent::EventKind;
use belvedere::message::MessageId;
use belvedere::subagent::Command;
use serde_json::{Value, json};

use super::{ONE, Programs, session_of};
use crate::support::png;

/// Sends a message with a picture, and one that is not there, to a program. Returns the prompt, and what the user is told.
async fn shown(kind: &str) -> (Value, Vec<String>) {
    let programs = Programs::default();
    let (mut session, _) = session_of(kind, &programs, |parts| {
        parts.pictures.attach(png(2, 3)).unwrap();
    });
    session.ask("go").await;
    let text = "like [Image #1], not like [Image #7]".to_owned();
    session.send(Command::Resume { agent: ONE, message: Some((MessageId(7), text.into())) });
    session.ended(ONE).await;
    let told = session.of(ONE).filter_map(|kind| match kind {
        EventKind::Notice { text } => Some(text.clone()),
        _ => None,
    });
    let told = told.collect();
    session.quit().await;
    (programs.told("session/prompt")[1]["prompt"].clone(), told)
}

#[tokio::test]
async fn a_program_that_sees_is_shown_the_picture_of_a_message() {
    let (prompt, told) = shown("sees").await;
    let [text, image] = prompt.as_array().unwrap().as_slice() else { panic!("{prompt}") };
    assert!(text["text"].as_str().unwrap().contains("like [Image #1]"), "{text}");
    assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")));
    assert!(image["data"].as_str().unwrap().starts_with("iVBORw0KGgo"), "{image}");
    let words = "program is not shown [Image #7]: there is no such image, or it is too much for one message.";
    assert_eq!(told, [words]);
}

#[tokio::test]
async fn one_that_does_not_is_shown_none_and_the_user_is_told() {
    let (prompt, told) = shown("forgets").await;
    assert_eq!(prompt.as_array().unwrap().len(), 1, "{prompt}");
    assert_eq!(told, ["program is not shown [Image #1]: it takes no images."]);
}
