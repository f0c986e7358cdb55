//! Stops: every run ends, once, in order, whatever its tools and its listeners do.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use belvedere::agent::{
    Agent, AgentEvent, AtEnd, Cancel, EventKind, Inbox, LogEvent, Place, SessionEvent, Sink, Status, StopCause,
    ToolEvent, TurnEvent,
};
use belvedere::memory::GivenMemory;
use belvedere::message::{AgentId, Message, Reasoning, Transcript};
use belvedere::permission::{Answer, ApprovalRequest, Approver, Grants, PermissionMode, Permissions, ToolKind};
use belvedere::provider::scripted::Scripted;
use belvedere::session::Secrets;
use belvedere::subagent::{Children, Command, TreeLimits};
use belvedere::tool::{AnyTool, Args, Concurrency, Plan, Tool, ToolContext, ToolOutput};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Parts, Session, model, standard_tools};

fn script(lines: &[Value]) -> Arc<Scripted> {
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    Arc::new(Scripted::from_jsonl(&text.join("\n")).unwrap())
}

/// What a test's tool does when it runs.
#[derive(Clone, Copy)]
enum Behaviour {
    /// Goes on for an hour, whatever it is told.
    Deaf,
    Panic,
    /// Breaks outside of what is guarded.
    BadTitle,
    /// Counts how often it has run.
    Count(&'static AtomicUsize),
}

struct Odd(&'static str, Behaviour);

impl Tool for Odd {
    type Input = Args;
    type Prepared = ();

    const NAME: &'static str = "";
    const DESCRIPTION: &'static str = "";
    const KIND: ToolKind = ToolKind::Other;

    fn name(&self) -> &str {
        self.0
    }

    fn concurrency(&self, _args: &Args) -> Concurrency {
        if matches!(self.1, Behaviour::Count(_)) { Concurrency::InOrder } else { Concurrency::Parallel }
    }

    fn title(&self, _args: &Args, _context: &ToolContext) -> String {
        assert!(!matches!(self.1, Behaviour::BadTitle), "on purpose");
        String::new()
    }

    async fn prepare(&self, _args: Args, _context: &ToolContext) -> Result<(Plan, ()), ToolOutput> {
        Ok((Plan::free(), ()))
    }

    async fn run(&self, (): (), _context: &ToolContext) -> Result<ToolOutput, ToolOutput> {
        match self.1 {
            Behaviour::BadTitle => {}
            Behaviour::Deaf => tokio::time::sleep(Duration::from_hours(1)).await,
            Behaviour::Panic => panic!("on purpose"),
            Behaviour::Count(runs) => {
                runs.fetch_add(1, Ordering::SeqCst);
            }
        }
        Ok(ToolOutput::text("late", "late"))
    }
}

fn call(name: &str, input: &Value) -> Value {
    json!({"call": name, "input": input})
}

fn delegate(name: &str) -> Value {
    let prompt = format!("WHAT: the work called {name}. WHERE: here. RETURN: a word.");
    call("Agent", &json!({"description": name, "prompt": prompt}))
}

fn is_ended(event: &AgentEvent, agent: AgentId) -> bool {
    event.agent == agent && matches!(event.kind, EventKind::Ended { .. })
}

/// Every agent's events end with its only `Ended`, but for the main agent, which has one for each message.
fn assert_ends(seen: &[Arc<AgentEvent>]) {
    let children: HashSet<AgentId> = seen.iter().map(|event| event.agent).filter(|agent| !agent.is_main()).collect();
    for child in children {
        let of_child: Vec<_> = seen.iter().filter(|event| event.agent == child).collect();
        assert_eq!(of_child.iter().filter(|event| is_ended(event, child)).count(), 1, "{of_child:#?}");
        assert!(is_ended(of_child.last().unwrap(), child), "{of_child:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_had_not_begun_when_the_agent_was_stopped_never_does() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let provider = script(&[
        json!({"when": {"turn": 0}, "steps": [call("Deaf", &json!({})), call("Count", &json!({}))]}),
        json!({"steps": [{"say": "on we go"}]}),
    ]);
    let mut parts = Parts::new(provider.clone());
    let tools: [Arc<dyn AnyTool>; 2] =
        [Arc::new(Odd("Deaf", Behaviour::Deaf)), Arc::new(Odd("Count", Behaviour::Count(&RUNS)))];
    parts.tools = tools.into_iter().collect();
    let mut session = Session::start(parts);
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. })).then_some(())).await;
    session.send(Command::Interrupt { children: Children::Stop });
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Cancelled);
    assert_eq!(RUNS.load(Ordering::SeqCst), 0, "the user had said stop");
    session.ask("again").await;
    let messages = provider.requests().pop().unwrap().messages;
    let Message::ToolResults { results } = messages[2].as_ref() else { panic!("{messages:?}") };
    let texts: Vec<String> = results.iter().map(belvedere::message::ToolResult::joined_text).collect();
    assert_eq!(texts, ["interrupted", "interrupted"]);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_told_at_once_and_a_child_ends_before_its_parent() {
    let mut parts = Parts::new(script(&[
        json!({"when": {"task": "go", "turn": 0}, "steps": [delegate("deaf")]}),
        json!({"when": {"task": "called deaf"}, "steps": [{"say": "found it"}, call("Deaf", &json!({}))]}),
    ]));
    parts.tools = [Arc::new(Odd("Deaf", Behaviour::Deaf)) as Arc<dyn AnyTool>].into_iter().collect();
    let mut session = Session::start(parts);
    session.say("go");
    session
        .wait(|event| {
            (!event.agent.is_main() && matches!(event.kind, EventKind::Tool(ToolEvent::Started { .. }))).then_some(())
        })
        .await;
    session.send(Command::Interrupt { children: Children::Stop });
    session.ended(AgentId::MAIN).await;
    let at = |pick: &dyn Fn(&AgentEvent) -> bool| session.seen.iter().position(|event| pick(event));
    let stopping =
        at(&|event| event.agent == AgentId(1) && event.kind == EventKind::Stopping { cause: StopCause::Parent });
    let tool = at(&|event| event.agent == AgentId(1) && matches!(event.kind, EventKind::Tool(ToolEvent::Ended { .. })));
    let child = at(&|event| is_ended(event, AgentId(1)));
    let main = at(&|event| is_ended(event, AgentId::MAIN));
    assert!(stopping.is_some() && stopping < tool && tool < child && child < main, "{:#?}", session.seen);
    let report = session.of(AgentId::MAIN).find_map(|kind| match kind {
        EventKind::Tool(ToolEvent::Ended { result, .. }) => Some(result.joined_text()),
        _ => None,
    });
    assert!(report.as_ref().is_some_and(|text| text.starts_with("status: cancelled")), "{report:?}");
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_reads_nothing_keeps_no_agent_from_ending_and_loses_nothing() {
    let words = "word ".repeat(400);
    let mut parts = Parts::new(script(&[
        json!({"when": {"task": "go", "turn": 0}, "steps": [delegate("talk"), delegate("listen")]}),
        json!({"when": {"task": "called"}, "steps": [{"say": words, "every_ms": 20}, {"stall": true}]}),
    ]));
    let (stalled, mut reader) = mpsc::channel(4);
    parts.listeners.push(stalled);
    let mut session = Session::start(parts);
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::Started).then_some(())).await;
    session.send(Command::StopAll);
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Cancelled);
    let seen = session.quit();
    let late = async {
        let mut late = Vec::new();
        while let Some(event) = reader.recv().await {
            late.extend(event.of_agent().cloned().map(Arc::new));
        }
        late
    };
    let (seen, late) = tokio::join!(seen, late);
    assert_ends(&seen);
    let of = |events: &[Arc<AgentEvent>], agent: AgentId| -> Vec<EventKind> {
        events.iter().filter(|event| event.agent == agent).map(|event| event.kind.clone()).collect()
    };
    for agent in [AgentId::MAIN, AgentId(1), AgentId(2)] {
        assert_eq!(of(&late, agent), of(&seen, agent), "each listener hears the same of an agent, in order");
    }
}

#[tokio::test(start_paused = true)]
async fn quitting_is_not_held_up_by_a_listener_or_a_tool() {
    let mut parts = Parts::new(script(&[json!({"steps": [call("Deaf", &json!({}))]})]));
    parts.tools = [Arc::new(Odd("Deaf", Behaviour::Deaf)) as Arc<dyn AnyTool>].into_iter().collect();
    let (stalled, _reader) = mpsc::channel(1);
    parts.listeners.push(stalled);
    let session = Session::start(parts);
    session.say("go");
    let start = tokio::time::Instant::now();
    let Session { driver, .. } = session.hang_up();
    tokio::time::timeout(Duration::from_mins(1), driver).await.expect("it does not end").unwrap();
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_the_model_is_looked_for_is_no_failure() {
    let mut parts = Parts::new(script(&[]));
    parts.connecting = Some(std::future::pending().boxed().shared());
    let mut session = Session::start(parts);
    session.say("go");
    session.wait(|event| matches!(event.kind, EventKind::UserMessage { .. }).then_some(())).await;
    session.send(Command::Interrupt { children: Children::Stop });
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Cancelled);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn clearing_while_it_works_ends_the_old_conversation_before_the_new_one_begins() {
    let provider = script(&[
        json!({"when": {"task": "old"}, "steps": [{"say": "let me see"}, {"stall": true}]}),
        json!({"steps": [{"say": "fresh"}]}),
    ]);
    let mut session = Session::start(Parts::new(provider.clone()));
    session.say("old");
    session.wait(|event| matches!(event.kind, EventKind::Turn(TurnEvent::Text { .. })).then_some(())).await;
    session.send(Command::Clear);
    session.say("new");
    session.ended(AgentId::MAIN).await;
    assert_eq!(session.ended(AgentId::MAIN).await.text, "fresh");
    let order: Vec<&str> = session
        .log
        .iter()
        .filter_map(|event| match &**event {
            LogEvent::Session { event, .. } => (*event == SessionEvent::Cleared).then_some("cleared"),
            LogEvent::Agent(event) => match &event.kind {
                EventKind::UserMessage { text, .. } => Some(text.as_str()),
                EventKind::Ended { .. } => Some("ended"),
                _ => None,
            },
        })
        .collect();
    assert_eq!(order, ["old", "ended", "cleared", "new", "ended"]);
    assert_eq!(provider.requests()[1].messages.len(), 1);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_is_not_told_as_the_one_before_it() {
    let provider = script(&[
        json!({"when": {"turn": 0}, "steps": [{"say": "the first answer"}]}),
        json!({"steps": [{"stop": "end_turn"}]}),
    ]);
    let mut session = Session::start(Parts::new(provider));
    session.ask("one").await;
    let outcome = session.ask("two").await;
    assert_eq!((outcome.status, outcome.text.as_str()), (Status::Empty, ""));
    assert!(outcome.reason.is_some(), "nobody is left without a word");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn calls_after_the_limit_are_seen_to_end() {
    let mut parts = Parts::new(script(&[json!({"steps": [{"say": "more"}, call("LS", &json!({}))]})]));
    parts.main_limits.max_turns = Some(1);
    let mut session = Session::start(parts);
    let outcome = session.ask("go").await;
    assert_eq!((outcome.status, outcome.tool_calls), (Status::TurnLimit, 1));
    let count = |pick: fn(&EventKind) -> bool| session.of(AgentId::MAIN).filter(|kind| pick(kind)).count();
    assert_eq!(count(|kind| matches!(kind, EventKind::Tool(ToolEvent::Started { .. }))), 2);
    assert_eq!(count(|kind| matches!(kind, EventKind::Tool(ToolEvent::Ended { .. }))), 2);
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_breaks_is_a_result_like_any_other() {
    let mut parts = Parts::new(script(&[
        json!({"when": {"turn": 0}, "steps": [call("Break", &json!({}))]}),
        json!({"when": {"last": "an error in Belvedere"}, "steps": [{"say": "I see"}]}),
    ]));
    parts.tools = [Arc::new(Odd("Break", Behaviour::Panic)) as Arc<dyn AnyTool>].into_iter().collect();
    let mut session = Session::start(parts);
    assert_eq!(session.ask("go").await.text, "I see");
    session.quit().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_breaks_leaves_no_child_alive() {
    let mut parts = Parts::new(script(&[
        json!({"when": {"last": "go", "turn": 0}, "steps": [delegate("orphan"), call("Bad", &json!({}))]}),
        json!({"when": {"task": "called orphan"}, "steps": [{"say": "hello"}, {"stall": true}]}),
        json!({"steps": [{"say": "well again"}]}),
    ]));
    parts.tools = [Arc::new(Odd("Bad", Behaviour::BadTitle)) as Arc<dyn AnyTool>].into_iter().collect();
    let mut session = Session::start(parts);
    assert_eq!(session.ask("go").await.status, Status::Failed);
    if !session.seen.iter().any(|event| is_ended(event, AgentId(1))) {
        session.ended(AgentId(1)).await;
    }
    assert_eq!(session.ask("and now?").await.text, "well again");
    assert_ends(&session.quit().await);
}

#[tokio::test(start_paused = true)]
async fn one_place_at_each_depth_is_enough_for_grandchildren() {
    let mut parts = Parts::new(script(&[
        json!({"when": {"task": "go", "turn": 0}, "steps": [delegate("one"), delegate("two")]}),
        json!({"when": {"task": "called one", "turn": 0}, "steps": [delegate("three"), delegate("four")]}),
        json!({"when": {"task": "called two", "turn": 0}, "steps": [delegate("five")]}),
        json!({"steps": [{"say": "done"}]}),
    ]));
    parts.limits.max_parallel = 1;
    parts.limits.max_depth = 2;
    let mut session = Session::start(parts);
    assert_eq!(session.ask("go").await.text, "done");
    let seen = session.quit().await;
    assert_ends(&seen);
    assert_eq!(seen.iter().filter(|event| matches!(event.kind, EventKind::Spawned(_))).count(), 5);
}

/// Says nothing, but changes the mode while it is asked.
struct Distracted(Permissions);

impl Approver for Distracted {
    fn ask(&self, _request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        self.0.set_mode(PermissionMode::Plan);
        std::future::pending().boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_mode_between_question_and_waiting_is_not_missed() {
    let provider = script(&[
        json!({"when": {"turn": 0}, "steps": [call("Write", &json!({"file_path": "a.txt", "content": "x"}))]}),
        json!({"steps": [{"say": "done"}]}),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let root = Arc::new(folder.path().canonicalize().unwrap());
    let permissions = Permissions::new(
        belvedere::permission::Project::at(root.as_ref().clone()),
        PermissionMode::Default,
        Grants::default(),
    );
    let cancel = Cancel::default();
    let agent = Agent {
        external: None,
        judge: None,
        judges: belvedere::agent::HookJudges::default(),
        id: AgentId::MAIN,
        depth: 0,
        system: "".into(),
        provider,
        model: Arc::new(model()),
        fallbacks: Arc::default(),
        summarizer: None,
        reasoning: Reasoning::default(),
        tools: standard_tools(),
        place: Place { cwd: root.clone(), project: root.clone(), origin: root.clone() },
        permissions: permissions.clone(),
        approver: Arc::new(Distracted(permissions)),
        freshness: Arc::default(),
        skills: None,
        spoken: None,
        memory: GivenMemory::default(),
        hooks: belvedere::hook::AgentHooks::default(),
        limits: TreeLimits::default().child,
        pictures: belvedere::session::PictureStore::default(),
        budget: belvedere::agent::Budget::default(),
        sink: Sink::new(Vec::new(), Secrets::default()),
        secrets: Secrets::default(),
        inbox: Inbox::default(),
        commands: belvedere::tool::BackgroundCommands::default(),
        at_end: AtEnd::Leave,
        work: cancel.child(),
        cancel,
    };
    let run = belvedere::agent::run(&agent, Transcript::with_task("go"));
    let (outcome, _) = tokio::time::timeout(Duration::from_mins(1), run).await.expect("it waits for ever");
    assert_eq!(outcome.status, Status::Completed);
    assert!(!root.join("a.txt").exists());
}
