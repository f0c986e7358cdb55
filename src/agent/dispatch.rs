//! From tool calls to results: order, bounds, events. Leaves the single call to `attempt`.
//!
//! Calls that only read or delegate overlap; a call that writes runs alone, in its place in the order. Whatever goes
//! wrong in a call becomes a result that the model can mend.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use base64::Engine as _;
use futures::FutureExt;
use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::sleep;

use super::attempt::{FoundCall, find_call, with_hooks};
use super::run::Run;
use super::searching;
use super::{Agent, Status, ToolEvent};
use crate::message::{ResultPart, ToolCall, ToolResult, attachment_type, without_speakers};
use crate::permission::ToolKind;
use crate::tool::{Concurrency, FileChange, PlainCall, SandboxUse, ToolContext, ToolOutput, bound_text, plain_call};

/// Smallest time between two looks at a running tool's output.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

const MAX_CALLS_PER_MESSAGE: usize = 256;

/// The result of each call beyond these.
const MESSAGE_LIMIT: &str = "Not run: a message may hold 256 tool calls. Send the rest in the next one.";

/// What stands in the place of a picture.
const UNSEEN: &str = "[You cannot see images. Use Bash with a suitable program, or ask the user what it shows.]";

const TOOL_LIMIT: &str = "Not run: the limit on tool calls is reached.";

/// What a message's calls came to.
#[derive(Debug, Default)]
pub(super) struct Dispatched {
    pub(super) results: Vec<ToolResult>,
    pub(super) changes: Vec<FileChange>,
    /// How many of the calls were not passed over.
    pub(super) begun: u32,
}

/// Runs the calls of one message. Calls past `allowance` or [`MAX_CALLS_PER_MESSAGE`] are answered but not run, and so
/// are those still to come when the agent gets an urgent message or is asked to report.
pub(super) async fn dispatch(run: &Run<'_>, calls: &[ToolCall], allowance: usize) -> Dispatched {
    let agent = run.agent;
    let mut all = Dispatched::default();
    let (granted, refused) = calls.split_at(allowance.min(calls.len()));
    let (granted, excess) = granted.split_at(MAX_CALLS_PER_MESSAGE.min(granted.len()));
    for group in groups(agent, granted) {
        if let Some(why) = passed_over(agent, all.begun) {
            for pending in group {
                pass_over(run, std::slice::from_ref(pending.call), why, &mut all).await;
            }
            continue;
        }
        all.begun += u32::try_from(group.len()).unwrap_or(u32::MAX);
        let outputs = join_all(group.into_iter().map(|pending| one(run, pending))).await;
        for (result, changes) in outputs {
            all.results.push(result);
            all.changes.extend(changes);
        }
    }
    pass_over(run, excess, MESSAGE_LIMIT, &mut all).await;
    pass_over(run, refused, TOOL_LIMIT, &mut all).await;
    all
}

/// Answers the calls of a run's last turn, in which nothing is run, and says why it is the last.
pub(super) async fn refuse(run: &Run<'_>, calls: &[ToolCall], why: Status) -> Vec<ToolResult> {
    let why = match why {
        Status::TurnLimit => "Not run: the limit on turns is reached.",
        Status::TimedOut => "Not run: the time of this run is over.",
        Status::Budget => "Not run: the budget is used up.",
        Status::WrappedUp => "Not run: you were asked to report.",
        _ => TOOL_LIMIT,
    };
    answer_unrun(run, calls, why).await
}

/// Answers calls without running them, and says why.
pub(super) async fn answer_unrun(run: &Run<'_>, calls: &[ToolCall], why: &str) -> Vec<ToolResult> {
    let mut all = Dispatched::default();
    pass_over(run, calls, why, &mut all).await;
    all.results
}

/// Says why the next calls are not run, if so. An agent that gets a message before any call has begun still does what it
/// was about to do.
fn passed_over(agent: &Agent, begun: u32) -> Option<&'static str> {
    if agent.cancel.cause().is_none() && agent.work.cause().is_some() {
        Some("Not run: you are to report now.")
    } else if begun > 0 && agent.inbox.is_urgent() {
        Some("Not run: a message has reached you meanwhile. Read it, then decide anew.")
    } else {
        None
    }
}

/// Answers calls without running them.
async fn pass_over(run: &Run<'_>, calls: &[ToolCall], why: &str, all: &mut Dispatched) {
    for call in calls {
        start(run, call, String::new()).await;
        all.results.push(end(run, call, ToolOutput::error(why)).await.0);
    }
}

struct Pending<'a> {
    /// As the model wrote it.
    call: &'a ToolCall,
    /// What it asks for, or what is wrong with it.
    asked: Result<Asked<'a>, ToolOutput>,
}

/// What a call asks for.
struct Asked<'a> {
    /// What is done for it, step by step; at least one.
    steps: Vec<(ToolCall, FoundCall<'a>)>,
    notes: Vec<String>,
}

impl<'a> Asked<'a> {
    fn of(agent: &'a Agent, call: &ToolCall) -> Result<Self, ToolOutput> {
        let PlainCall { steps, notes } = plain_call(&agent.tools, call, &agent.place.cwd)?;
        let found = |step: ToolCall| find_call(agent, &step).map(|found| (step, found));
        Ok(Self { steps: steps.into_iter().map(found).collect::<Result<_, _>>()?, notes })
    }
}

impl Pending<'_> {
    fn may_overlap(&self) -> bool {
        let is_parallel = |(_, found): &(ToolCall, FoundCall<'_>)| found.call.concurrency() == Concurrency::Parallel;
        self.asked.as_ref().map_or(true, |asked| asked.steps.iter().all(is_parallel))
    }
}

/// Puts neighbours that may overlap together; a call that may not is a group of its own.
fn groups<'a>(agent: &'a Agent, calls: &'a [ToolCall]) -> Vec<Vec<Pending<'a>>> {
    let mut groups: Vec<Vec<Pending<'a>>> = Vec::new();
    for call in calls {
        let pending = Pending { call, asked: Asked::of(agent, call) };
        match groups.last_mut() {
            Some(group) if group[0].may_overlap() && pending.may_overlap() => group.push(pending),
            _ => groups.push(vec![pending]),
        }
    }
    groups
}

async fn one(run: &Run<'_>, pending: Pending<'_>) -> (ToolResult, Vec<FileChange>) {
    let Asked { steps, notes } = match pending.asked {
        Ok(asked) => asked,
        Err(output) => {
            start(run, pending.call, String::new()).await;
            return end(run, pending.call, output).await;
        }
    };
    let count = steps.len();
    let (mut shown, mut all) = (None, ToolOutput::default());
    for (at, (call, found)) in steps.into_iter().enumerate() {
        let output = Box::pin(step(run, (&call, found), shown.is_none())).await;
        let has_failed = output.is_error;
        all.follow_with(output);
        let shown = shown.get_or_insert(call);
        if has_failed && at + 1 < count {
            all.add_text(format!(
                "\n[{at} of {count} steps of {} are done; those after this one were not tried.]",
                shown.name
            ));
            break;
        }
    }
    for note in notes {
        all.add_text(format!("\n[{note}]"));
    }
    end(run, shown.as_ref().unwrap_or(pending.call), all).await
}

/// Does one of the steps of a call. The first one is what is shown.
async fn step(run: &Run<'_>, (call, found): (&ToolCall, FoundCall<'_>), is_first: bool) -> ToolOutput {
    let (progress, tail) = watch::channel(String::new());
    let (service_search, searches) = searching::way(run.agent);
    let context = ToolContext { service_search, ..context_of(run, &call.id, progress) };
    let title = found.call.title(&context);
    if is_first {
        start(run, call, title.clone()).await;
    }
    let work = AssertUnwindSafe(with_hooks(run, (call, found), context, title)).catch_unwind();
    tokio::select! {
        output = work => output.unwrap_or_else(|_| {
            ToolOutput::error(format!("{} failed: an error in Belvedere itself, noted in its log.", call.name))
        }),
        never = emit_progress(run, call, tail) => never,
        never = searching::serve(run, searches) => never,
    }
}

/// Returns the surroundings of a call, without a way to searches of the service.
pub(super) fn context_of(run: &Run<'_>, call_id: &str, progress: watch::Sender<String>) -> ToolContext {
    let agent = run.agent;
    ToolContext {
        call_id: call_id.to_owned(),
        cwd: agent.place.cwd.clone(),
        project: agent.place.project.clone(),
        origin: agent.place.origin.clone(),
        cancel: agent.work.token(),
        progress,
        result_chars: agent.limits.result_chars,
        freshness: agent.freshness.clone(),
        hosts: agent.permissions.hosts(),
        service_search: None,
        reads_documents: agent.provider.reads_documents() && agent.model.sees != Some(false),
        background: run.commands.clone(),
        sandbox: SandboxUse::of_mode(agent.permissions.mode()),
    }
}

/// Emits a running tool's output. Never returns; it is raced against the tool.
async fn emit_progress(run: &Run<'_>, call: &ToolCall, mut tail: watch::Receiver<String>) -> ToolOutput {
    let mut emitted = String::new();
    while tail.changed().await.is_ok() {
        run.watchdog.heartbeat();
        let latest = tail.borrow_and_update().clone();
        if latest == emitted {
            run.emit_alive().await;
        } else {
            emitted.clone_from(&latest);
            run.emit(ToolEvent::Progress { call_id: call.id.clone(), tail: latest }).await;
        }
        sleep(PROGRESS_INTERVAL).await;
    }
    std::future::pending().await
}

async fn start(run: &Run<'_>, call: &ToolCall, title: String) {
    run.emit(ToolEvent::Started { call: call.clone(), title }).await;
}

/// Keeps a picture with those of the session, so that the log holds its number instead of its bytes.
async fn kept(agent: &Agent, media_type: String, data: String) -> ResultPart {
    let (pictures, encoded) = (agent.pictures.clone(), data.clone());
    let keep = move || {
        let bytes = base64::engine::general_purpose::STANDARD.decode(encoded).ok()?;
        attachment_type(&bytes)?;
        pictures.keep(&bytes).inspect_err(|error| tracing::warn!(%error, "a picture stays in the log")).ok()
    };
    match tokio::task::spawn_blocking(keep).await {
        Ok(Some(number)) => ResultPart::Attached { number },
        Ok(None) | Err(_) => ResultPart::Image { media_type, data },
    }
}

async fn end(run: &Run<'_>, call: &ToolCall, output: ToolOutput) -> (ToolResult, Vec<FileChange>) {
    let agent = run.agent;
    // Here passes all that tools find out on its way to the model; what everyone else sees, the sink masks.
    let (limit, secrets) = (agent.limits.result_chars, &agent.secrets);
    // What a file holds has to be read as it is, or no edit of it would fit. Reports have tags of the program's own.
    let kind = agent.tools.find(&call.name).map(|tool| tool.kind());
    let is_foreign = matches!(kind, Some(ToolKind::Execute | ToolKind::Search | ToolKind::Fetch | ToolKind::Other));
    let safe = |text: &str| if is_foreign { without_speakers(text).into_owned() } else { text.to_owned() };
    let mut content = Vec::with_capacity(output.content.len());
    for part in output.content {
        content.push(match part {
            ResultPart::Text { text } => {
                ResultPart::Text { text: bound_text(&safe(&secrets.redact(&text)), limit).into_owned() }
            }
            ResultPart::Image { .. } if agent.model.sees == Some(false) => ResultPart::Text { text: UNSEEN.to_owned() },
            ResultPart::Image { media_type, data } => kept(agent, media_type, data).await,
            ResultPart::Attached { number } => ResultPart::Attached { number },
        });
    }
    let result = ToolResult { call_id: call.id.clone(), content, is_error: output.is_error };
    let kind = ToolEvent::Ended {
        result: result.clone(),
        summary: output.summary,
        view: output.view,
        changes: output.changes.clone(),
    };
    run.emit(kind).await;
    (result, output.changes)
}
