//! How the model bears failures, limits and follow-ups, and how it streams.

use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::EventKind;
use belvedere::message::{AssistantMessage, Block, Message, ToolCall, ToolInput, ToolResult};
use belvedere::offline::{Offline, Pace, plan};
use belvedere::provider::{Provider, StopReason, StreamEvent};
use belvedere::subagent::Command;
use futures::StreamExt;
use proptest::prelude::*;
use tokio::time::Instant;

use super::answers::{ask_in, holds};
use super::talk::{Stranger, Talk, request};

#[tokio::test(start_paused = true)]
async fn a_child_that_the_user_stops_is_named_and_the_others_are_used() {
    let mut talk = Talk::with(|parts| parts.provider = Arc::new(Offline::new(Pace::Reading)));
    talk.session.say("use 2 subagents: where are discount codes parsed; find the tests");
    let child = talk
        .session
        .wait(|event| match &event.kind {
            EventKind::Spawned(spawn) if spawn.description == "Find the tests" => Some(event.agent),
            _ => None,
        })
        .await;
    talk.session.send(Command::Stop { agent: child });
    let outcome = talk.session.ended(belvedere::message::AgentId::MAIN).await;
    holds(
        &outcome.text,
        &[
            "`Discount.parse_code` at `src/discount.rs:14`",
            "\"Find the tests\" was stopped; this answer does without its part.",
        ],
    );
}

#[test]
fn children_that_did_not_finish_are_named_and_their_findings_used() {
    let ask = Message::user("use 2 subagents: where are discount codes parsed; find the tests");
    let first = plan(&request(vec![Arc::new(ask.clone())], &["Agent", "Read"]));
    let calls: Vec<ToolCall> = first
        .calls
        .into_iter()
        .enumerate()
        .map(|(n, call)| ToolCall { id: n.to_string(), name: call.name, input: ToolInput::Object(call.input) })
        .collect();
    let reports = [
        "status: turn_limit\n<summary>Some.</summary>\n<findings>\n- `src/a.rs:3` function: `fn parse_code() {`\n</findings>",
        "status: failed\n<summary>No connection.</summary>",
    ];
    let results = calls.iter().zip(reports).map(|(call, text)| ToolResult::text(&call.id, text)).collect();
    let content = calls.into_iter().map(Block::ToolCall).collect();
    let messages = vec![
        Arc::new(ask),
        Arc::new(Message::Assistant(AssistantMessage::new(content))),
        Arc::new(Message::ToolResults { results }),
    ];
    let answer = plan(&request(messages, &[])).text;
    holds(
        &answer,
        &[
            "`src/a.rs:3`",
            "\"Where are discount codes parsed\" reached its limit; what it had found is used above",
            "\"Find the tests\" failed; this answer does without its part",
        ],
    );
}

#[test]
fn an_empty_report_is_not_passed_on_as_an_empty_answer() {
    let ask = Message::user("what testing framework");
    let first = plan(&request(vec![Arc::new(ask.clone())], &["Agent"]));
    let call = first.calls.into_iter().next().expect("a call");
    let call = ToolCall { id: "0".to_owned(), name: call.name, input: ToolInput::Object(call.input) };
    let messages = vec![
        Arc::new(ask),
        Arc::new(Message::Assistant(AssistantMessage::new(vec![Block::ToolCall(call)]))),
        Arc::new(Message::ToolResults { results: vec![ToolResult::text("0", "")] }),
    ];
    assert_eq!(plan(&request(messages, &["Agent"])).text, "The subagents reported nothing.");
}

#[tokio::test]
async fn without_subagents_it_looks_itself() {
    let mut talk = Talk::with(|parts| parts.limits.max_per_request = 0);
    let said = ask_in(&mut talk, "Where are discount codes parsed?").await;
    holds(&said.answer, &["`Discount.parse_code` at `src/discount.rs:14`", "was not started"]);
}

#[tokio::test]
async fn tools_that_are_missing_are_done_without() {
    let mut talk = Talk::with(|parts| parts.tools = parts.tools.filtered(|name| !["Bash", "Glob"].contains(&name)));
    let said = ask_in(&mut talk, "explain this project").await;
    holds(&said.answer, &["A run begins at `src/main.rs:3`", "git could not be asked"]);
    let mut talk = Talk::with(|parts| parts.tools = parts.tools.filtered(|_| false));
    assert!(!ask_in(&mut talk, "explain this project").await.answer.is_empty());
}

#[tokio::test]
async fn a_command_that_is_refused_is_said_to_be_refused() {
    let mut talk = Talk::shop();
    let said = ask_in(&mut talk, "run `touch made.txt`").await;
    holds(&said.answer, &["`touch made.txt` was not run: the user said no."]);
    assert!(!talk.root().join("made.txt").exists());
}

#[tokio::test]
async fn a_new_question_is_a_request_of_its_own() {
    let mut talk = Talk::shop();
    ask_in(&mut talk, "Where are discount codes parsed?").await;
    let said = ask_in(&mut talk, "what is the maximum number of items?").await;
    assert!(said.answer.starts_with("`MAX_ITEMS` is `99`"), "{}", said.answer);
    assert!(said.calls("Agent") > 0);
    holds(&ask_in(&mut talk, "hello").await.answer, &["offline model"]);
}

/// A conversation of a child that has searched once, with a last message that tells it to report.
fn cut_short() -> Vec<Arc<Message>> {
    let task = "WHAT: where is the cart?\nWHERE: everywhere\nRETURN: places";
    let first = plan(&request(vec![Arc::new(Message::user(task))], &["Symbols", "Read"]));
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
    let hits = "1 definition matches, best first.\nsrc/cart.rs:10  struct Cart: pub struct Cart";
    let results = calls.iter().map(|call| ToolResult::text(&call.id, hits)).collect();
    let content = calls.into_iter().map(Block::ToolCall).collect();
    vec![
        Arc::new(Message::user(task)),
        Arc::new(Message::Assistant(AssistantMessage::new(content))),
        Arc::new(Message::ToolResults { results }),
        Arc::new(Message::user("You have reached the limit of turns. Write your report now.")),
    ]
}

#[test]
fn a_last_turn_without_tools_reports_what_is_there() {
    let reply = plan(&request(cut_short(), &[]));
    assert!(reply.calls.is_empty());
    assert!(reply.text.starts_with("<summary>"), "{}", reply.text);
    assert!(reply.text.contains("- `src/cart.rs:10` struct `Cart`"), "{}", reply.text);
    let reply = plan(&request(cut_short()[..3].to_vec(), &[]));
    assert!(reply.text.contains("`src/cart.rs:10`"), "{}", reply.text);
    let reply = plan(&request(cut_short(), &["Symbols", "Read"]));
    assert!(reply.calls.is_empty() && reply.text.contains("`src/cart.rs:10`"), "{reply:?}");
}

#[test]
fn absolute_paths_are_cited_as_seen_from_the_working_directory() {
    let mut cut = request(cut_short(), &[]);
    cut.system = "Working directory: /home/me/shop".into();
    let hits = "1 definition matches, best first.\n/home/me/shop/src/cart.rs:10  struct Cart: pub struct Cart\n[2 more; narrow with kind or path, or raise limit]";
    if let Some(message) = cut.messages.get_mut(2) {
        let Message::ToolResults { results } = message.as_ref() else { panic!("no results") };
        let results = results.iter().map(|result| ToolResult::text(&result.call_id, hits)).collect();
        *message = Arc::new(Message::ToolResults { results });
    }
    let text = plan(&cut).text;
    assert!(text.contains("- `src/cart.rs:10` struct `Cart`"), "{text}");
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
            asked.messages.push(Arc::new(Message::Assistant(AssistantMessage::new(content))));
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
        let mut child = request(vec![Arc::new(Message::user(task))], &["Symbols", "Read"]);
        child.system = "End with <summary>.".into();
        let first = plan(&child);
        child.tools = Vec::new().into();
        assert!(plan(&child).text.starts_with("<summary>"), "{task}");
        assert!(first.calls.iter().any(|call| call.name == "Symbols"), "{task}: {first:?}");
    }
}

#[tokio::test]
async fn a_task_in_free_words_is_searched_for_its_subject() {
    let task = "You are exploring a shop. Find where a discount is applied to the total price. Return file paths with line numbers \
        and a short description of each. Be thorough.";
    let mut talk = Talk::with(|parts| parts.provider = Arc::new(Stranger(task)));
    let said = talk.ask("go").await;
    let report = &said.reports[0];
    let first = report.lines().find(|line| line.starts_with("- `")).unwrap_or_default();
    assert!(first.starts_with("- `src/cart.rs:26` method `Cart.total`"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn on_a_screen_text_comes_at_reading_speed_and_none_takes_longer_than_four_seconds() {
    let took = async |text: &str| {
        let started = Instant::now();
        let asked = request(vec![Arc::new(Message::user(text))], &["Agent"]);
        let mut stream = Offline::new(Pace::Reading).stream(asked).await.unwrap();
        let mut pieces = 0;
        while let Some(event) = stream.next().await {
            pieces += usize::from(matches!(event, Ok(StreamEvent::Text(_))));
        }
        (started.elapsed(), pieces)
    };
    let (short, pieces) = took("hello").await;
    assert!(pieces > 40 && short > Duration::from_millis(500), "{pieces} pieces in {short:?}");
    let many: Vec<String> =
        (0..20).map(|n| format!("look into the matter called number_{n} of this project")).collect();
    let (long, pieces) = took(&format!("use 20 subagents: {}", many.join("; "))).await;
    assert!(pieces > 40 && long <= Duration::from_secs(4), "{pieces} pieces in {long:?}");
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
