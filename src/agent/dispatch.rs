//! From tool calls to results: permission, execution, bounds.
//!
//! Calls that only read or delegate overlap; a call that writes runs alone, in its place in the order. Whatever goes
//! wrong in a call becomes a result that the model can mend.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::run::Run;
use super::{Agent, Status, ToolEvent};
use crate::config::{Environment, obeyed_by_git};
use crate::message::{INTERRUPTED, ResultPart, ToolCall, ToolInput, ToolResult, without_speakers};
use crate::permission::{
    Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Decision, PermissionMode, Preview, ToolKind,
};
use crate::tool::{
    AnyTool, Concurrency, FileChange, ParsedCall, PreparedCall, SandboxUse, ToolContext, ToolOutput, asked_title,
    bound_text,
};

/// How long a tool may take to clean up after a stop: a process group gets TERM, 2 s, then KILL.
const STOP_GRACE: Duration = Duration::from_secs(4);

/// Smallest time between two looks at a running tool's output.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

const MAX_CALLS_PER_MESSAGE: usize = 256;

/// The result of each call beyond these.
const MESSAGE_LIMIT: &str = "Not run: a message may hold 256 tool calls. Send the rest in the next one.";

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
    call: &'a ToolCall,
    /// What it asks for, or what is wrong with it.
    asked: Result<Asked<'a>, ToolOutput>,
}

struct Asked<'a> {
    tool: &'a dyn AnyTool,
    call: Box<dyn ParsedCall<'a> + 'a>,
}

impl Pending<'_> {
    fn may_overlap(&self) -> bool {
        self.asked.as_ref().map_or(true, |asked| asked.call.concurrency() == Concurrency::Parallel)
    }
}

/// Finds the tool and parses the arguments, or says what is wrong with the call.
fn asked<'a>(agent: &'a Agent, call: &ToolCall) -> Result<Asked<'a>, ToolOutput> {
    let tool = agent.tools.find(&call.name).ok_or_else(|| {
        let names: Vec<&str> = agent.tools.names().collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        ToolOutput::error(format!("There is no tool `{}` here. Available: {names}.", call.name))
    })?;
    match &call.input {
        ToolInput::Object(args) => Ok(Asked { tool: tool.as_ref(), call: tool.parse(args) }),
        ToolInput::Malformed(text) => Err(ToolOutput::error(format!(
            "The input of {} is not a JSON object. Send it again, complete. What arrived: {}",
            call.name,
            bound_text(text, 400)
        ))),
    }
}

/// Puts neighbours that may overlap together; a call that may not is a group of its own.
fn groups<'a>(agent: &'a Agent, calls: &'a [ToolCall]) -> Vec<Vec<Pending<'a>>> {
    let mut groups: Vec<Vec<Pending<'a>>> = Vec::new();
    for call in calls {
        let pending = Pending { call, asked: asked(agent, call) };
        match groups.last_mut() {
            Some(group) if group[0].may_overlap() && pending.may_overlap() => group.push(pending),
            _ => groups.push(vec![pending]),
        }
    }
    groups
}

async fn one(run: &Run<'_>, pending: Pending<'_>) -> (ToolResult, Vec<FileChange>) {
    let agent = run.agent;
    let call = pending.call;
    let asked = match pending.asked {
        Ok(asked) => asked,
        Err(output) => {
            start(run, call, String::new()).await;
            return end(run, call, output).await;
        }
    };
    let (progress, tail) = watch::channel(String::new());
    let context = ToolContext {
        call_id: call.id.clone(),
        cwd: agent.place.cwd.clone(),
        project: agent.place.project.clone(),
        origin: agent.place.origin.clone(),
        cancel: agent.work.token(),
        progress,
        result_chars: agent.limits.result_chars,
        freshness: agent.freshness.clone(),
        sandbox: match agent.permissions.mode() {
            PermissionMode::Plan => SandboxUse::ReadOnly,
            _ => SandboxUse::ReadWrite,
        },
    };
    let title = asked.call.title(&context);
    start(run, call, title.clone()).await;
    let work = AssertUnwindSafe(bounded(run, (call, asked), context, title)).catch_unwind();
    let output = tokio::select! {
        output = work => output.unwrap_or_else(|_| {
            ToolOutput::error(format!("{} failed: an error in Belvedere itself, noted in its log.", call.name))
        }),
        never = emit_progress(run, call, tail) => never,
    };
    end(run, call, output).await
}

/// How far a call came.
enum Attempt {
    Ran(ToolOutput),
    NotRun(ToolOutput),
    /// Nothing was done: what was granted lets it run outside of the sandbox.
    Outside,
}

/// Does a call: a command in the sandbox where it can be, and outside of it if that is allowed in advance, or once the
/// sandbox has refused it something.
async fn bounded(
    run: &Run<'_>,
    (call, first): (&ToolCall, Asked<'_>),
    inside: ToolContext,
    title: String,
) -> ToolOutput {
    let (refused, why) = match attempt(run, first, &inside, title.clone(), None).await {
        Attempt::Ran(mut output) => match output.refused_inside.take() {
            // An agent that may only read has no business outside.
            Some(why) if inside.sandbox == SandboxUse::ReadWrite => (Some(output), Some(why)),
            _ => return output,
        },
        Attempt::NotRun(output) => return output,
        Attempt::Outside => (None, None),
    };
    let outside = ToolContext { sandbox: SandboxUse::Outside, ..inside };
    // What was shown of the first try is no output of the next one.
    outside.progress.send_replace(String::new());
    let second = match asked(run.agent, call) {
        Ok(again) => attempt(run, again, &outside, title, why).await,
        Err(output) => Attempt::NotRun(output),
    };
    match (second, refused) {
        (Attempt::Ran(output), _) | (Attempt::NotRun(output), None) => output,
        (Attempt::NotRun(refusal), Some(mut output)) => {
            output.content.push(ResultPart::Text {
                text: "\n[The sandbox has refused this, and it was not run outside of it.] ".to_owned(),
            });
            output.content.extend(refusal.content);
            output
        }
        (Attempt::Outside, _) => ToolOutput::error(INTERRUPTED),
    }
}

/// Prepares, asks, runs. A call that has not begun when the agent's work is stopped never does. `why` is what the sandbox
/// has refused to the same call before.
async fn attempt(
    run: &Run<'_>,
    Asked { tool, call }: Asked<'_>,
    context: &ToolContext,
    title: String,
    why: Option<String>,
) -> Attempt {
    let agent = run.agent;
    let prepared = tokio::select! {
        biased;
        () = agent.work.cancelled() => return Attempt::NotRun(ToolOutput::error(INTERRUPTED)),
        prepared = call.prepare(context) => prepared,
    };
    let PreparedCall { plan, run: mut work } = match prepared {
        Ok(prepared) => prepared,
        Err(output) => return Attempt::NotRun(output),
    };
    let access = Access::new(tool.name(), plan.access).of_kind(tool.kind()).named(plan.named);
    if access.unconfined().is_some_and(|open| agent.permissions.decide(&open) == Decision::Allow) {
        return Attempt::Outside;
    }
    if let Some(failure) = plan.failure
        && may_read(agent, &access)
    {
        return Attempt::NotRun(failure);
    }
    let title = asked_title(title, &access.kind, &context.project);
    let was_refused = why.is_some();
    // The question shows what the command said inside, in place of what the model says of it.
    let preview = why.map(|text| Preview::Note { text }).or(plan.preview);
    let request = Question { access, title, preview, was_refused };
    if let Err(output) = permission(run, request, &context.call_id).await {
        return Attempt::NotRun(output);
    }
    if agent.work.cause().is_some() {
        return Attempt::NotRun(ToolOutput::error(INTERRUPTED));
    }
    if !was_refused {
        run.count_tool(tool.name());
    }
    run.watchdog.heartbeat();
    if tool.keeps_time() {
        // What it waits for is stopped with this agent, and has ended only when it says so.
        return Attempt::Ran(run.watchdog.paused(work).await);
    }
    Attempt::Ran(tokio::select! {
        output = &mut work => output,
        () = agent.work.cancelled() => {
            timeout(STOP_GRACE, work).await.unwrap_or_else(|_| ToolOutput::error(INTERRUPTED))
        }
    })
}

/// Returns `true` if the agent may read the place of an access without a question.
fn may_read(agent: &Agent, access: &Access) -> bool {
    let AccessKind::Write { path } = &access.kind else { return true };
    let reading = Access::new("Read", AccessKind::Read { path: path.clone() }).named(access.named.clone());
    agent.permissions.decide(&reading) == Decision::Allow
}

struct Question {
    access: Access,
    title: String,
    preview: Option<Preview>,
    /// Whether the sandbox has refused something to the call.
    was_refused: bool,
}

/// Waits until the access is allowed, by decision or by answer.
async fn permission(run: &Run<'_>, question: Question, call_id: &str) -> Result<(), ToolOutput> {
    let agent = run.agent;
    if let AccessKind::Write { path } = &question.access.kind {
        guard(agent, path.clone()).await;
    }
    // From before the decision, so that no change after it is missed.
    let changes = agent.permissions.changes();
    match agent.permissions.decide(&question.access) {
        Decision::Allow => return Ok(()),
        Decision::Deny(reason) => {
            return Err(refused(run, question, reason).await);
        }
        Decision::Ask => {}
    }
    let omitted = question.preview.as_ref().map_or(0, Preview::omitted);
    if omitted > 0 {
        return Err(refused(run, question, too_large(omitted)).await);
    }
    let id = ApprovalId::new(agent.id, call_id);
    let grant = agent.permissions.offer(&question.access);
    let access = question.access;
    let request = ApprovalRequest {
        id: id.clone(),
        access: access.clone(),
        title: question.title,
        preview: question.preview,
        grant: grant.clone(),
        reason: if question.was_refused { "outside the sandbox".to_owned() } else { agent.permissions.reason(&access) },
    };
    let ask = agent.approver.ask(request.clone());
    run.emit(ToolEvent::ApprovalRequested { request }).await;
    let answer = run.watchdog.paused(answer(agent, ask, &access, changes)).await;
    let given = match &answer {
        Waited::Answered(answer) => Some(answer.clone()),
        Waited::Granted | Waited::Refused(_) | Waited::Stopped => None,
    };
    let resolved = ToolEvent::ApprovalResolved { id, answer: given, by_grant: matches!(answer, Waited::Granted) };
    match (&answer, grant) {
        (Waited::Answered(Answer::Always), Some(grant)) => agent.permissions.grant(grant),
        (Waited::Answered(Answer::Everyone), Some(grant)) => agent.permissions.grant_to_all(grant),
        (Waited::Answered(Answer::Project), Some(grant)) => agent.permissions.grant_for_project(grant),
        _ => {}
    }
    run.emit(resolved).await;
    match answer {
        Waited::Granted | Waited::Answered(Answer::Once | Answer::Always | Answer::Everyone | Answer::Project) => {
            Ok(())
        }
        Waited::Answered(Answer::No { comment }) => Err(ToolOutput::error(refusal(comment.as_deref()))),
        // No text can stand in the place of a call.
        Waited::Answered(Answer::Edited { .. }) => Err(ToolOutput::error(refusal(None))),
        Waited::Answered(Answer::Nobody { advice: reason }) | Waited::Refused(reason) => Err(ToolOutput::error(reason)),
        Waited::Stopped => Err(ToolOutput::error(INTERRUPTED)),
    }
}

/// Says that an access is refused, to the user and to the model.
async fn refused(run: &Run<'_>, question: Question, reason: String) -> ToolOutput {
    let (tool, title) = (question.access.tool, question.title);
    run.emit(ToolEvent::Refused { tool, title, reason: reason.clone() }).await;
    ToolOutput::error(reason)
}

/// Says why nobody is asked about a change: a yes is only for what was shown.
fn too_large(omitted: usize) -> String {
    let lines = if omitted == 1 { "1 changed line".to_owned() } else { format!("{omitted} changed lines") };
    format!("Too large to be shown to the user, who has to allow it: {lines} too many. Change less at a time.")
}

/// Looks at what git runs or obeys around a file before its change is decided on: a command, or the user in another
/// window, may have changed that since.
async fn guard(agent: &Agent, path: PathBuf) {
    let (root, permissions) = (agent.place.project.clone(), agent.permissions.clone());
    let look = move || permissions.guard(obeyed_by_git(&root, &path, &Environment::of_process()));
    if tokio::task::spawn_blocking(look).await.is_err() {
        agent.permissions.guard([agent.place.project.as_ref().clone()]);
    }
}

enum Waited {
    Answered(Answer),
    /// The answer to another question allows this one too.
    Granted,
    Refused(String),
    Stopped,
}

async fn answer(
    agent: &Agent,
    mut ask: BoxFuture<'_, Answer>,
    access: &Access,
    mut changes: watch::Receiver<()>,
) -> Waited {
    loop {
        tokio::select! {
            biased;
            () = agent.work.cancelled() => return Waited::Stopped,
            answer = &mut ask => return Waited::Answered(answer),
            Ok(()) = changes.changed() => match agent.permissions.decide_again(access) {
                Decision::Ask => {}
                Decision::Allow => return Waited::Granted,
                Decision::Deny(reason) => return Waited::Refused(reason),
            },
        }
    }
}

fn refusal(comment: Option<&str>) -> String {
    match comment.map(str::trim).filter(|comment| !comment.is_empty()) {
        Some(comment) => format!("The user said no to this call: {comment}"),
        None => "The user said no to this call. Do not try it again another way; go on without it, or ask.".to_owned(),
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

async fn end(run: &Run<'_>, call: &ToolCall, output: ToolOutput) -> (ToolResult, Vec<FileChange>) {
    let agent = run.agent;
    // Here passes all that tools find out on its way to the model; what everyone else sees, the sink masks.
    let (limit, secrets) = (agent.limits.result_chars, &agent.secrets);
    // What a file holds has to be read as it is, or no edit of it would fit. Reports have tags of the program's own.
    let kind = agent.tools.find(&call.name).map(|tool| tool.kind());
    let is_foreign = matches!(kind, Some(ToolKind::Execute | ToolKind::Search | ToolKind::Fetch | ToolKind::Other));
    let safe = |text: &str| if is_foreign { without_speakers(text).into_owned() } else { text.to_owned() };
    let content = output.content.into_iter().map(|part| match part {
        ResultPart::Text { text } => {
            ResultPart::Text { text: bound_text(&safe(&secrets.redact(&text)), limit).into_owned() }
        }
        image @ ResultPart::Image { .. } => image,
    });
    let result = ToolResult { call_id: call.id.clone(), content: content.collect(), is_error: output.is_error };
    let kind = ToolEvent::Ended {
        result: result.clone(),
        summary: output.summary,
        view: output.view,
        changes: output.changes.clone(),
    };
    run.emit(kind).await;
    (result, output.changes)
}
