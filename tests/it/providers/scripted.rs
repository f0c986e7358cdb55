//! The provider that plays a script.

use belvedere::message::{AssistantMessage, Block, Message, ToolInput, ToolResult};
use belvedere::provider::scripted::Scripted;
use belvedere::provider::{ErrorKind, Provider, ProviderError, Request, StopReason, StreamEvent};
use futures::{FutureExt, StreamExt};

use super::{Answer, fold, object, request};

const SCRIPT: &str = r#"
// A child is told apart by its task, a turn by its number.
{"when": {"task": "auth", "turn": 0}, "steps": [{"think": "Hm."}, {"say": "I look."}, {"call": "Grep", "input": {"pattern": "jwt"}}, {"call": "Read", "raw": "{broken"}]}
{"when": {"task": "auth", "last": "14 hits"}, "steps": [{"say": "Found it."}, {"usage": {"input": 9, "output": 3, "cache_read": 0, "cache_write": 0}}, {"stop": "max_tokens"}]}

{"when": {"task": "flaky"}, "times": 1, "steps": [{"fail": "rate_limit", "detail": "slow down", "retry_after_ms": 2000}]}
{"when": {"task": "flaky"}, "steps": [{"say": "half"}, {"fail": "network", "detail": "gone"}, {"say": "never"}]}
{"when": {"task": "stuck"}, "steps": [{"say": "I wait."}, {"stall": true}]}
{"when": {"task": "slow"}, "steps": [{"wait_ms": 3600000}, {"say": "late"}]}
{"when": {"system": "brief", "task": "words"}, "steps": [{"say": "a b c", "every_ms": 1}, {"say": " d"}]}
"#;

async fn play(script: &Scripted, request: Request) -> (Answer, Option<ProviderError>) {
    let stream = match script.stream(request).await {
        Ok(stream) => stream,
        Err(error) => return (Answer::default(), Some(error)),
    };
    let (mut events, mut failure) = (Vec::new(), None);
    for event in stream.collect::<Vec<_>>().await {
        assert_eq!(failure, None, "nothing follows an error");
        match event {
            Ok(event) => events.push(event),
            Err(error) => failure = Some(error),
        }
    }
    (fold(events), failure)
}

fn script() -> Scripted {
    Scripted::from_jsonl(SCRIPT).expect("a script")
}

#[tokio::test]
async fn replies_are_chosen_by_task_and_turn() {
    let script = script();
    let first = request(vec![Message::user("Find auth files")], &[]);
    let (answer, _) = play(&script, first.clone()).await;
    assert_eq!((answer.thinking.as_str(), answer.text.as_str()), ("Hm.", "I look."));
    assert_eq!(
        answer.calls,
        [
            ("call_0".to_owned(), "Grep".to_owned(), object(r#"{"pattern": "jwt"}"#)),
            ("call_1".to_owned(), "Read".to_owned(), ToolInput::Malformed("{broken".to_owned())),
        ]
    );
    assert_eq!(answer.stop, Some(StopReason::ToolUse));
    assert!(answer.usage.output > 0);

    let reply = AssistantMessage::new(vec![Block::Text { text: answer.text }]);
    let results = vec![ToolResult::text("call_0", "14 hits")];
    let second = request(
        vec![Message::user("Find auth files"), Message::Assistant(reply), Message::ToolResults { results }],
        &[],
    );
    let (answer, _) = play(&script, second.clone()).await;
    assert_eq!(
        (answer.text.as_str(), answer.usage.total(), answer.stop),
        ("Found it.", 12, Some(StopReason::MaxTokens))
    );
    // Ids stay unique when the same reply is played again.
    assert_eq!(play(&script, first.clone()).await.0.calls[0].0, "call_2");
    assert_eq!(script.requests(), [first.clone(), second, first]);
}

#[tokio::test]
async fn failures_come_before_or_in_the_stream() {
    let script = script();
    let flaky = || request(vec![Message::user("flaky")], &[]);
    let (_, error) = play(&script, flaky()).await;
    assert!(error.as_ref().is_some_and(|error| error.retry_after.is_some()), "{error:?}");
    let (answer, error) = play(&script, flaky()).await;
    assert_eq!((answer.text.as_str(), answer.stop), ("half", None));
    assert_eq!(error.map(|error| error.kind), Some(ErrorKind::Network));
    let (_, error) = play(&script, request(vec![Message::user("unforeseen")], &[])).await;
    assert_eq!(error.map(|error| error.kind), Some(ErrorKind::BadRequest));
}

#[tokio::test]
async fn waits_hold_up_what_follows_them() {
    let script = script();
    assert!(script.stream(request(vec![Message::user("slow")], &[])).now_or_never().is_none());
    let mut stream = script.stream(request(vec![Message::user("stuck")], &[])).await.expect("an answer");
    assert_eq!(stream.next().await, Some(Ok(StreamEvent::Text("I wait.".to_owned()))));
    assert_eq!(stream.next().now_or_never(), None);
    let stream = script.stream(request(vec![Message::user("words")], &[])).await.expect("an answer");
    let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
    let text = |text: &str| StreamEvent::Text(text.to_owned());
    assert_eq!(events[..4], [text("a "), text("b "), text("c"), text(" d")]);
}

#[test]
fn a_broken_script_names_its_line() {
    let error = Scripted::from_jsonl("\n{\"steps\": [{\"sya\": \"x\"}]}").expect_err("a typing error");
    assert_eq!(error.line, 2);
    assert!(Scripted::from_jsonl(r#"{"steps": [{"say": "x", "evry_ms": 1}]}"#).is_err());
}
