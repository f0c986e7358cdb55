//! Conversations that outgrow their context: what is left out of them, what is summarized, and what the log gives back.
//!
//! Owns a service with a context of its own: it refuses what does not fit, and every request it gets has to be valid.

mod asked;
mod faults;
mod long;
mod read_back;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use belvedere::agent::{AgentEvent, ContextEvent, EventKind};
use belvedere::message::{AgentId, Block, Message, ResultPart, Transcript, Usage};
use belvedere::permission::ToolKind;
use belvedere::provider::{ErrorKind, EventStream, Model, Provider, ProviderError, Request, StopReason, StreamEvent};
use belvedere::subagent::read_back::transcript_of;
use belvedere::tool::{AnyTool, Plan, Tool, ToolContext, ToolOutput};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{Parts, Session, model, standard_tools};

/// What the service answers to a request of a conversation.
enum Act {
    Say(String),
    Call(&'static str, Value),
    Fail(ErrorKind),
    /// Nothing, for ever.
    Hang,
    /// What it says before the context is full.
    Full(&'static str),
}

fn say(text: &str) -> Act {
    Act::Say(text.to_owned())
}

/// How the service answers: the request, and the number of those of its kind before it.
type Answers = Box<dyn Fn(&Request, usize) -> Act + Send + Sync>;

/// A service whose context holds so many tokens of four bytes each, reply included.
struct Bounded {
    window: u64,
    turns: Answers,
    summaries: Answers,
    requests: Mutex<Vec<Request>>,
    calls: Mutex<usize>,
}

impl Bounded {
    fn new(window: u64, turns: impl Fn(&Request, usize) -> Act + Send + Sync + 'static) -> Self {
        Self {
            window,
            turns: Box::new(turns),
            summaries: Box::new(|_, number| Act::Say(format!("SUMMARY {number}: as before."))),
            requests: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    fn summarizing(self, summaries: impl Fn(&Request, usize) -> Act + Send + Sync + 'static) -> Self {
        Self { summaries: Box::new(summaries), ..self }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn summaries(&self) -> Vec<Request> {
        self.requests().into_iter().filter(is_for_summary).collect()
    }

    fn turns(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| !is_for_summary(request)).collect()
    }

    fn events(&self, request: &Request) -> Result<Vec<StreamEvent>, ProviderError> {
        assert_valid(request);
        let number = {
            let mut requests = self.requests.lock().unwrap();
            let alike = requests.iter().filter(|other| is_for_summary(other) == is_for_summary(request)).count();
            requests.push(request.clone());
            alike
        };
        let input = tokens(request);
        if input + u64::from(request.max_output_tokens) > self.window {
            let words = format!("prompt is too long: {input} tokens");
            return Err(ProviderError::new(ErrorKind::ContextTooLong, "bounded", words));
        }
        let answers = if is_for_summary(request) { &self.summaries } else { &self.turns };
        let usage =
            |bytes: usize| StreamEvent::Usage(Usage { input, output: (bytes as u64).div_ceil(4), ..Usage::default() });
        Ok(match answers(request, number) {
            Act::Say(text) => {
                let bytes = text.len();
                vec![StreamEvent::Text(text), usage(bytes), StreamEvent::Stop(StopReason::EndTurn)]
            }
            Act::Full(text) => vec![
                StreamEvent::Text(text.to_owned()),
                usage(text.len()),
                StreamEvent::Stop(StopReason::ContextWindow),
            ],
            Act::Call(name, input) => {
                let id = {
                    let mut calls = self.calls.lock().unwrap();
                    *calls += 1;
                    format!("call_{calls}")
                };
                let json = input.to_string();
                vec![
                    StreamEvent::ToolCallStart { index: 0, id, name: name.to_owned() },
                    usage(json.len()),
                    StreamEvent::ToolCallDelta { index: 0, json },
                    StreamEvent::Stop(StopReason::ToolUse),
                ]
            }
            Act::Fail(kind) => return Err(ProviderError::new(kind, "bounded", "no")),
            Act::Hang => Vec::new(),
        })
    }
}

impl Provider for Bounded {
    fn name(&self) -> &'static str {
        "bounded"
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        let events = self.events(&request);
        Box::pin(async move {
            let events = events?;
            if events.is_empty() {
                return Ok(futures::stream::pending().boxed());
            }
            Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed())
        })
    }
}

fn is_for_summary(request: &Request) -> bool {
    request.system.starts_with("You write the summary")
}

/// What the service counts: a token for every four bytes.
fn tokens(request: &Request) -> u64 {
    let specs = request.tools.iter().chain(request.withheld.iter());
    let specs: usize = specs.map(|tool| tool.description.len() + tool.input_schema.to_string().len()).sum();
    let said: usize = request.messages.iter().map(|message| bytes_of(message)).sum();
    ((request.system.len() + specs + said) as u64).div_ceil(4)
}

fn bytes_of(message: &Message) -> usize {
    let part = |part: &ResultPart| match part {
        ResultPart::Text { text } => text.len(),
        ResultPart::Image { data, .. } => data.len(),
        ResultPart::Attached { .. } => 0,
    };
    match message {
        Message::User { text } => text.len(),
        Message::Assistant(reply) => reply
            .content
            .iter()
            .map(|block| match block {
                Block::Text { text } | Block::Thinking { text, .. } => text.len(),
                Block::RedactedThinking { data } => data.len(),
                Block::Served(step) => step.size(),
                Block::ToolCall(call) => serde_json::to_string(call).unwrap().len(),
            })
            .sum(),
        Message::ToolResults { results } => results.iter().flat_map(|result| &result.content).map(part).sum(),
    }
}

/// What every service asks of a conversation: it begins with the user, does not end with the model, and each call has its
/// one result in the message right after it.
fn assert_valid(request: &Request) {
    let messages = &request.messages;
    assert!(matches!(messages.first().map(Arc::as_ref), Some(Message::User { .. })), "it begins otherwise");
    assert!(!matches!(messages.last().map(Arc::as_ref), Some(Message::Assistant(_))), "it ends with the model");
    let mut open: Vec<String> = Vec::new();
    let mut spoke = false;
    for message in messages {
        let answered: Vec<String> = match message.as_ref() {
            Message::ToolResults { results } => results.iter().map(|result| result.call_id.clone()).collect(),
            _ => Vec::new(),
        };
        assert_eq!(std::mem::take(&mut open), answered, "calls and results do not match");
        if let Message::Assistant(reply) = message.as_ref() {
            assert!(!spoke, "the model speaks twice in a row");
            open = reply.tool_calls().map(|call| call.id.clone()).collect();
        }
        spoke = matches!(message.as_ref(), Message::Assistant(_));
    }
    assert!(open.is_empty(), "calls without results");
}

/// A tool with as much to say as it is asked for.
struct Dump;

#[derive(Deserialize, JsonSchema)]
struct DumpInput {
    chars: usize,
}

impl Tool for Dump {
    type Input = DumpInput;
    type Prepared = usize;

    const NAME: &'static str = "Dump";
    const DESCRIPTION: &'static str = "Says as much as it is asked for.";
    const KIND: ToolKind = ToolKind::Other;

    fn title(&self, _input: &DumpInput, _context: &ToolContext) -> String {
        String::new()
    }

    async fn prepare(&self, input: DumpInput, _context: &ToolContext) -> Result<(Plan, usize), ToolOutput> {
        Ok((Plan::free(), input.chars))
    }

    async fn run(&self, chars: usize, _context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        Ok(ToolOutput::text(text_of(chars), ""))
    }
}

fn dump(chars: usize) -> Act {
    Act::Call("Dump", json!({ "chars": chars }))
}

/// A text of so many characters.
fn text_of(chars: usize) -> String {
    "the quick brown fox jumps over the lazy dog. ".chars().cycle().take(chars).collect()
}

/// A model with a context of so many tokens, as this program knows it.
fn of_window(window: Option<u64>) -> Model {
    Model { context_window: window, ..model() }
}

fn parts(provider: Arc<Bounded>, window: Option<u64>) -> Parts {
    let mut parts = Parts::new(provider);
    parts.model = of_window(window);
    parts.tools = standard_tools().with(Arc::new(Dump) as Arc<dyn AnyTool>);
    parts
}

fn start(provider: &Arc<Bounded>, window: Option<u64>) -> Session {
    Session::start(parts(provider.clone(), window))
}

/// What happened to the conversation of an agent.
fn of_context(seen: &[Arc<AgentEvent>], agent: AgentId) -> Vec<ContextEvent> {
    let own = seen.iter().filter(|event| event.agent == agent);
    own.filter_map(|event| match &event.kind {
        EventKind::Context(ContextEvent::Measured { .. }) => None,
        EventKind::Context(event) => Some(event.clone()),
        _ => None,
    })
    .collect()
}

fn names(events: &[ContextEvent]) -> Vec<&'static str> {
    let name = |event: &ContextEvent| match event {
        ContextEvent::Measured { .. } => "measured",
        ContextEvent::Trimmed { keep_chars: 0, .. } => "trimmed",
        ContextEvent::Trimmed { .. } => "cut",
        ContextEvent::Compacting { .. } => "compacting",
        ContextEvent::Compacted { .. } => "compacted",
        ContextEvent::NotCompacted { .. } => "not compacted",
    };
    events.iter().map(name).collect()
}

/// What all requests together took.
fn whole_tokens(seen: &[Arc<AgentEvent>]) -> u64 {
    seen.iter().filter_map(|event| event.kind.spent()).map(|spent| spent.usage.total()).sum()
}

/// Returns the conversation that an agent's events give back, as the log keeps them.
fn given_back(seen: &[Arc<AgentEvent>], agent: AgentId) -> Transcript {
    let own = seen.iter().filter(|event| event.agent == agent && !event.kind.is_passing());
    let kept: Vec<EventKind> = own
        .map(|event| {
            let line = serde_json::to_string(&**event).unwrap();
            serde_json::from_str::<AgentEvent>(&line).unwrap().kind
        })
        .collect();
    transcript_of(&kept)
}

/// Waits for the first event of this name.
async fn wait_for(session: &mut Session, name: &str) {
    session
        .wait(|event| match &event.kind {
            EventKind::Context(event) => (names(std::slice::from_ref(event)) == [name]).then_some(()),
            _ => None,
        })
        .await;
}

/// Reads all events until nothing has happened for a while.
async fn quiet(session: &mut Session) {
    while tokio::time::timeout(Duration::from_secs(2), session.wait(|_| Some(()))).await.is_ok() {}
}
