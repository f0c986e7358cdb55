//! From the log back to a conversation that was shortened.

use std::sync::Arc;

use belvedere::agent::{ContextEvent, EventKind, Status};
use belvedere::message::{
    AgentId, AssistantMessage, Block, Message, ToolCall, ToolInput, ToolResult, Transcript, Usage,
};
use belvedere::provider::Request;
use belvedere::subagent::Command;
use proptest::prelude::*;
use serde_json::json;

use super::{Act, Bounded, assert_valid, dump, given_back, names, of_context, parts, say, text_of, whole_tokens};
use crate::support::Session;

const CHILD: AgentId = AgentId(1);
const WINDOW: u64 = 60_000;

/// A service whose subagent reads, and says, more than fits.
fn provider() -> Arc<Bounded> {
    Arc::new(Bounded::new(WINDOW, |request, _| {
        let Message::User { text } = &*request.messages[0] else { panic!() };
        let turns = request.messages.iter().filter(|message| matches!(***message, Message::Assistant(_))).count();
        match (text.contains("the work called one"), turns) {
            (false, 0) => Act::Call(
                "Agent",
                json!({"description": "one", "subagent_type": "general-purpose",
                       "prompt": "WHAT: the work called one. WHERE: here. RETURN: a word."}),
            ),
            (false, _) => say("noted"),
            (true, _) => match &**request.messages.last().unwrap() {
                // It reads a while after each message, then it reports at length.
                Message::User { .. } => dump(30_000),
                _ if turns % 4 != 3 => dump(30_000),
                _ => say(&text_of(20_000)),
            },
        }
    }))
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_after_it_was_shortened_has_to_the_byte_what_it_had() {
    let provider = provider();
    let mut session = Session::start(parts(provider.clone(), Some(WINDOW)));
    session.say("go");
    session.ended(CHILD).await;
    session.ended(AgentId::MAIN).await;
    let mut unchanged = 0;
    for _ in 0..8 {
        let before = given_back(&session.seen, CHILD);
        let sent = provider.requests().len();
        session.send(Command::Resume { agent: CHILD, message: None });
        assert_eq!(session.ended(CHILD).await.status, Status::Completed);
        session.ended(AgentId::MAIN).await;
        // It begins with what the last run ended with, unless that is shortened at once.
        let requests = provider.requests();
        unchanged += usize::from(requests[sent].messages.starts_with(before.messages()));
    }
    assert!(unchanged >= 5, "{unchanged}");
    let events = names(&of_context(&session.seen, CHILD));
    assert!(events.contains(&"compacted") && events.contains(&"trimmed"), "{events:?}");
    // The last request and the reply to it are what the log gives back.
    let last = provider.turns().into_iter().rfind(|request| !request.tools.iter().any(|tool| tool.name == "Agent"));
    let last = last.unwrap();
    let back = given_back(&session.seen, CHILD);
    assert!(back.messages()[..back.messages().len() - 1] == last.messages[..], "the log gives something else back");
    // Eight runs do not cost eight contexts that overflow: what was compacted stays so.
    let summaries = provider.summaries().len() as u64;
    assert!(summaries <= 9, "{summaries}");
    assert!(whole_tokens(&session.seen) < 60 * WINDOW, "{}", whole_tokens(&session.seen));
}

#[test]
fn logs_from_before_there_was_any_of_this_still_read() {
    let reply = AssistantMessage::new(vec![Block::Text { text: "hi".to_owned() }]);
    let lines = [
        json!({"event": "user_message", "text": "hello"}),
        json!({"event": "turn_started", "turn": 1}),
        json!({"event": "turn_ended", "message": reply, "usage": Usage::default(), "cost_usd": null, "stop": null}),
    ];
    let events: Vec<EventKind> = lines.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect();
    let back = belvedere::subagent::read_back::transcript_of(&events);
    assert_eq!(back.messages().len(), 2);
}

/// A conversation of any shape: what was said, and calls with their results.
fn transcript() -> impl Strategy<Value = Transcript> {
    let step =
        prop_oneof!["[a-z ]{0,200}".prop_map(|text| (text, 0)), (1usize..4).prop_map(|calls| (String::new(), calls)),];
    proptest::collection::vec(step, 0..30).prop_map(|steps| {
        let mut transcript = Transcript::with_task("task");
        for (at, (text, calls)) in steps.into_iter().enumerate() {
            if calls == 0 {
                transcript.push_user(text);
                continue;
            }
            let id = |n: usize| format!("call_{at}_{n}");
            let call = |n| ToolCall { id: id(n), name: "Read".to_owned(), input: ToolInput::parse("{}") };
            transcript.push_assistant(AssistantMessage::new((0..calls).map(|n| Block::ToolCall(call(n))).collect()));
            transcript.push_results((0..calls).map(|n| ToolResult::text(id(n), text_of(at * 100))).collect());
        }
        transcript
    })
}

proptest! {
    #[test]
    fn whatever_a_log_says_was_left_out_the_conversation_stays_valid(
        mut transcript in transcript(),
        kept in 0usize..40,
        keep_chars in 0usize..300,
        picked in proptest::collection::vec((0usize..30, 0usize..4), 0..20),
    ) {
        let calls = picked.into_iter().map(|(at, n)| format!("call_{at}_{n}")).collect();
        let (before, after) = (0, 0);
        ContextEvent::Trimmed { calls, keep_chars, before, after }.apply(&mut transcript);
        let message = "summary".to_owned();
        let compacted =
            ContextEvent::Compacted { message, kept, before, after, usage: Usage::default(), cost_usd: None };
        compacted.apply(&mut transcript);
        transcript.push_user("next");
        assert_valid(&request(&transcript));
    }
}

fn request(transcript: &Transcript) -> Request {
    Request {
        model: String::new(),
        system: "".into(),
        messages: transcript.messages().to_vec(),
        tools: Arc::default(),
        withheld: Arc::default(),
        max_output_tokens: 1,
        effort: None,
        thinking_tokens: None,
        attachments: std::sync::Arc::default(),
        waits_long: false,
        search: None,
    }
}
