//! A transcript is valid at any time: each call has exactly one result, right after it.

use belvedere::message::{AssistantMessage, Block, INTERRUPTED, Message, ToolCall, ToolInput, ToolResult, Transcript};

fn calls(ids: &[&str]) -> AssistantMessage {
    let block = |id: &&str| {
        Block::ToolCall(ToolCall { id: (*id).to_owned(), name: "Read".to_owned(), input: ToolInput::parse("{}") })
    };
    AssistantMessage::new(ids.iter().map(block).collect())
}

fn last_results(transcript: &Transcript) -> Vec<(String, String)> {
    match transcript.messages().last().unwrap().as_ref() {
        Message::ToolResults { results } => {
            results.iter().map(|result| (result.call_id.clone(), result.joined_text())).collect()
        }
        other => panic!("no results last: {other:?}"),
    }
}

#[test]
fn results_come_in_the_order_of_the_calls_and_gaps_count_as_interrupted() {
    let mut transcript = Transcript::with_task("go");
    transcript.push_assistant(calls(&["a", "b", "c"]));
    transcript.push_results(vec![
        ToolResult::text("c", "third"),
        ToolResult::text("nobody", "lost"),
        ToolResult::text("a", "first"),
        ToolResult::text("a", "again"),
    ]);
    let expected = [("a", "first"), ("b", INTERRUPTED), ("c", "third")];
    let expected: Vec<_> = expected.iter().map(|(id, text)| ((*id).to_owned(), (*text).to_owned())).collect();
    assert_eq!(last_results(&transcript), expected);
    assert!(transcript.pending().is_empty());
}

#[test]
fn whatever_is_said_next_answers_pending_calls_first() {
    let mut transcript = Transcript::with_task("go");
    transcript.push_assistant(calls(&["a"]));
    transcript.push_user("stop that");
    let roles: Vec<&str> = transcript
        .messages()
        .iter()
        .map(|message| match message.as_ref() {
            Message::User { .. } => "user",
            Message::Assistant(_) => "assistant",
            Message::ToolResults { .. } => "results",
        })
        .collect();
    assert_eq!(roles, ["user", "assistant", "results", "user"]);
}

#[test]
fn an_empty_reply_is_left_out() {
    let mut transcript = Transcript::with_task("go");
    transcript.push_assistant(AssistantMessage::default());
    transcript.push_results(vec![ToolResult::text("a", "nobody asked")]);
    assert_eq!(transcript.messages().len(), 1);
}
