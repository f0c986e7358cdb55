//! How the model bears failures, limits and follow-ups, and how it streams.

use std::path::PathBuf;
use std::sync::Arc;

use belvedere::message::{AssistantMessage, Block, Message, ToolCall, ToolInput, ToolResult};
use belvedere::provider::offline::{Offline, Pace, plan};
use belvedere::provider::{Provider, StopReason, StreamEvent};
use futures::StreamExt;
use proptest::prelude::*;

use super::executor::{Session, request};

fn shop() -> Session {
    Session::new(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/shop"))
}

#[test]
fn children_that_did_not_finish_are_named_and_their_findings_used() {
    let mut session = shop();
    session.statuses = vec!["cancelled", "failed", "completed"];
    let answer = session.ask("Where are discount codes parsed?");
    assert!(answer.contains("`src/discount.rs:14`"), "{answer}");
    assert!(answer.contains("\"Search by content\" was cancelled; what it had found is used above"), "{answer}");
    assert!(answer.contains("\"Search by name\" failed; this answer does without its part"), "{answer}");
}

#[test]
fn without_subagents_it_looks_itself() {
    let mut session = shop();
    session.refused = vec!["Agent"];
    let answer = session.ask("Where are discount codes parsed?");
    assert!(answer.contains("`parse_code` at `src/discount.rs:14`"), "{answer}");
    assert!(answer.contains("was not started"), "{answer}");
}

#[test]
fn denied_tools_are_named_and_the_rest_is_used() {
    let mut session = shop();
    session.refused = vec!["Bash", "Glob"];
    let answer = session.ask("explain this project");
    assert!(answer.contains("Rust (6 files"), "{answer}");
    assert!(answer.contains("git could not be asked"), "{answer}");
    assert!(session.reports.iter().any(|report| report.contains("Not everything could be looked at: Glob")));
    session.refused = vec!["Read", "Bash", "Glob", "Grep", "LS", "Agent"];
    assert!(!session.ask("explain this project").is_empty());
}

#[test]
fn a_follow_up_is_a_request_of_its_own() {
    let mut session = shop();
    session.ask("Where are discount codes parsed?");
    session.log.clear();
    let answer = session.ask("what is the maximum number of items?");
    assert!(answer.starts_with("`MAX_ITEMS` is `99`"), "{answer}");
    assert!(session.log.iter().any(|call| call.starts_with("Agent ")));
    assert!(session.ask("hello").contains("offline model"));
}

/// A conversation of a child that has searched once, with a last message that tells it to report.
fn cut_short() -> Vec<Arc<Message>> {
    let task = "WHAT: Search by content for what answers “where is the cart?”\nWHERE: everywhere\nRETURN: places";
    let first = plan(&request(vec![Arc::new(Message::user(task))], &["Grep", "Read"]));
    let calls: Vec<ToolCall> = first
        .calls
        .iter()
        .enumerate()
        .map(|(n, call)| ToolCall {
            id: n.to_string(),
            name: call.name.clone(),
            input: ToolInput::Object(call.input.clone()),
        })
        .collect();
    let hits = "src/cart.rs:10:pub struct Cart {\nsrc/cart.rs:16:impl Cart {";
    let results = calls.iter().map(|call| ToolResult::text(&call.id, hits)).collect();
    let content = calls.into_iter().map(Block::ToolCall).collect();
    vec![
        Arc::new(Message::user(task)),
        Arc::new(Message::Assistant(AssistantMessage { content })),
        Arc::new(Message::ToolResults { results }),
        Arc::new(Message::user("You have reached the limit of turns. Write your report now.")),
    ]
}

#[test]
fn a_last_turn_without_tools_reports_what_is_there() {
    let reply = plan(&request(cut_short(), &[]));
    assert!(reply.calls.is_empty());
    assert!(reply.text.starts_with("<summary>"), "{}", reply.text);
    assert!(reply.text.contains("- `src/cart.rs:10` struct: `pub struct Cart {`"), "{}", reply.text);
    let reply = plan(&request(cut_short()[..3].to_vec(), &[]));
    assert!(reply.text.contains("`src/cart.rs:10`"), "{}", reply.text);
    let reply = plan(&request(cut_short(), &["Grep", "Read"]));
    assert!(reply.calls.is_empty() && reply.text.contains("`src/cart.rs:10`"), "{reply:?}");
}

#[test]
fn absolute_paths_are_cited_as_seen_from_the_working_directory() {
    let mut cut = request(cut_short(), &[]);
    cut.system = "Working directory: /home/me/shop".into();
    let hits = "/home/me/shop/src/cart.rs:10:pub struct Cart {\n[3 hits in 1 file in all; go on with offset 3]";
    if let Some(message) = cut.messages.get_mut(2) {
        let Message::ToolResults { results } = message.as_ref() else { panic!("no results") };
        let results = results.iter().map(|result| ToolResult::text(&result.call_id, hits)).collect();
        *message = Arc::new(Message::ToolResults { results });
    }
    let text = plan(&cut).text;
    assert!(text.contains("- `src/cart.rs:10` struct: `pub struct Cart {`"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_makes_it_panic(text in any_text(), result in ".{0,300}", is_child in any::<bool>()) {
        let tools: &[&str] = if is_child { &["Read", "Grep", "Glob", "LS", "Bash"] } else { &["Agent", "Read", "Grep"] };
        let mut asked = request(vec![Arc::new(Message::user(text))], tools);
        asked.system = if is_child { "End with <summary>.".into() } else { "You help.".into() };
        for _ in 0..14 {
            let reply = plan(&asked);
            prop_assert!(!reply.text.is_empty() || !reply.calls.is_empty());
            if reply.calls.is_empty() {
                return Ok(());
            }
            let calls: Vec<ToolCall> = reply
                .calls
                .into_iter()
                .enumerate()
                .map(|(n, call)| ToolCall { id: n.to_string(), name: call.name, input: ToolInput::Object(call.input) })
                .collect();
            let results = calls.iter().map(|call| ToolResult::text(&call.id, result.as_str())).collect();
            let content = calls.into_iter().map(Block::ToolCall).collect();
            asked.messages.push(Arc::new(Message::Assistant(AssistantMessage { content })));
            asked.messages.push(Arc::new(Message::ToolResults { results }));
        }
        prop_assert!(false, "it never came to an end");
    }
}

/// Requests of all shapes: free text, and the words that rules look for in any order.
fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "use",
        "3",
        "subagents",
        "to",
        ":",
        ";",
        "run",
        "`ls`",
        "read",
        "src/ä.rs:3",
        "all",
        ".py",
        "files",
        "summarize",
        "each",
        "where",
        "is",
        "Cart::total",
        "“x”",
        "WHAT:",
        "RETURN:",
        "explain",
        "project",
        "grep",
        "1.",
        "2.",
        "\n",
        "İ",
        "find",
        "*.rs",
        "Delegate:",
        "tests",
    ]);
    prop_oneof![".{0,120}", prop::collection::vec(words, 0..14).prop_map(|words| words.join(" "))]
}

#[test]
fn a_child_bears_tasks_in_any_words() {
    for task in [
        "Look into how the cart computes its total and tell me which functions take part.",
        "You are to investigate `Cart`. Return file paths and line numbers.",
        "什么是 `Cart`? 请给出文件路径和行号。请给出文件路径和行号。",
    ] {
        let mut child = request(vec![Arc::new(Message::user(task))], &["Grep", "Read", "Glob", "LS"]);
        child.system = "End with <summary>.".into();
        let first = plan(&child);
        child.tools = Vec::new().into();
        assert!(plan(&child).text.starts_with("<summary>"), "{task}");
        assert!(first.calls.iter().any(|call| call.name == "Grep" || call.name == "Glob"), "{task}: {first:?}");
    }
}

#[test]
fn a_task_in_free_words_is_searched_for_its_subject() {
    let task = "You are exploring a shop. Find where a discount is applied to the total price. Return file paths with line numbers \
        and a short description of each. Be thorough.";
    let report = shop().delegate(task);
    let first = report.lines().find(|line| line.starts_with("- `")).unwrap_or_default();
    assert!(first.starts_with("- `src/cart.rs:26` function: `pub fn total"), "{report}");
    assert!(report.contains("- `src/discount.rs:20` function: `pub fn apply"), "{report}");
}

#[test]
fn the_stream_is_what_the_loop_expects() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let task = request(vec![Arc::new(Message::user("explain this project"))], &["Agent", "Read"]);
    let reply = plan(&task);
    let provider = Offline::new(Pace::Instant);
    let events: Vec<StreamEvent> = runtime.block_on(async {
        let stream = provider.stream(task).await.expect("a stream");
        stream.map(|event| event.expect("no error")).collect().await
    });
    let text: String = events
        .iter()
        .filter_map(|event| if let StreamEvent::Text(piece) = event { Some(piece.as_str()) } else { None })
        .collect();
    assert_eq!(text, reply.text);
    let starts = events.iter().filter(|event| matches!(event, StreamEvent::ToolCallStart { .. })).count();
    assert_eq!(starts, 4);
    for event in &events {
        if let StreamEvent::ToolCallDelta { index, json } = event {
            assert_eq!(ToolInput::parse(json), ToolInput::Object(reply.calls[*index].input.clone()));
        }
    }
    assert_eq!(events.last(), Some(&StreamEvent::Stop(StopReason::ToolUse)));
}

#[test]
fn an_answer_over_the_cap_stops_as_cut() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut task = request(vec![Arc::new(Message::user("hello"))], &["Agent"]);
    task.max_output_tokens = 10;
    let last = runtime.block_on(async {
        let stream = Offline::new(Pace::Instant).stream(task).await.expect("a stream");
        stream.map(|event| event.expect("no error")).collect::<Vec<_>>().await.pop()
    });
    assert_eq!(last, Some(StreamEvent::Stop(StopReason::MaxTokens)));
}
