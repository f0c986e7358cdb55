//! One call: prepared, asked about, run, and tried again where the sandbox has refused it something.
//!
//! Owns the order in which a command is tried: inside, inside with a way to hosts, outside. Leaves the questions to `asking`.
//! Invariants: a command runs again only after a yes, or if it was allowed in advance; each host is asked about once.

use std::borrow::Cow;
use std::time::Duration;

use tokio::time::timeout;

use super::asking::{AccessQuestion, ChangedInput, NotAllowed, permission};
use super::hooks::{HookedCall, context_words};
use super::run::Run;
use super::{Agent, EventKind, ToolEvent, skill};
use crate::hook::{HookEvent, HookPermission};
use crate::message::{HostPort, INTERRUPTED, ResultPart, ToolCall, ToolInput};
use crate::permission::{Access, AccessKind, Confinement, Decision, Preview};
use crate::tool::{
    AnyTool, Args, ParsedCall, PreparedCall, RefusedInside, SandboxUse, TakenDown, ToolContext, ToolOutput,
    asked_title, why_not,
};

/// How long a tool may take to clean up after a stop: a process group gets TERM, 2 s, then KILL.
const STOP_GRACE: Duration = Duration::from_secs(4);
/// How often a command is run again for hosts that it wants.
const MAX_REACHES: usize = 4;
/// How many hosts one call asks about.
const MAX_HOSTS: usize = 8;

/// A call whose tool was found and whose arguments were parsed.
pub(super) struct FoundCall<'a> {
    pub(super) tool: &'a dyn AnyTool,
    pub(super) call: Box<dyn ParsedCall<'a> + 'a>,
}

/// Finds the tool and parses the arguments, or says what is wrong with the call.
pub(super) fn find_call<'a>(agent: &'a Agent, call: &ToolCall) -> Result<FoundCall<'a>, ToolOutput> {
    match (agent.tools.find(&call.name), &call.input) {
        (Some(tool), ToolInput::Object(args)) => Ok(FoundCall { tool: tool.as_ref(), call: tool.parse(args) }),
        _ => Err(why_not(&agent.tools, call)),
    }
}

/// How far a call came.
enum Attempt {
    Ran(ToolOutput, Access),
    NotRun(ToolOutput),
    /// Nothing was done: a hook has answered the question with another input.
    Changed(ChangedInput),
    /// Nothing was done: what was granted lets it run outside of the sandbox.
    Outside,
}

/// A call on its way, and what hooks say of it.
struct HeardCall<'a> {
    call: Cow<'a, ToolCall>,
    /// What a screen shows behind the tool's name.
    title: String,
    permission: Option<HookPermission>,
    /// Why a hook wants the user to be asked.
    reason: Option<String>,
    /// Whether hooks may still change it.
    may_change: bool,
}

impl HeardCall<'_> {
    /// Puts another input in the place of the one before, and shows it.
    async fn change(&mut self, run: &Run<'_>, input: Args, context: &ToolContext) -> Result<(), ToolOutput> {
        let call = ToolCall { input: ToolInput::Object(input), ..self.call.clone().into_owned() };
        self.title = find_call(run.agent, &call)?.call.title(context);
        run.emit(ToolEvent::Changed { call: call.clone(), title: self.title.clone(), by_program: false }).await;
        self.call = Cow::Owned(call);
        Ok(())
    }
}

/// Does a call as far as hooks let it: they are asked first, may put another input in the place of the model's, which is
/// judged as if the model had sent it, and look at what came of it.
pub(super) async fn with_hooks(
    run: &Run<'_>,
    (call, first): (&ToolCall, FoundCall<'_>),
    context: ToolContext,
    title: String,
) -> ToolOutput {
    let tool = first.tool.name();
    let verdict = run.before_tool(&HookedCall::of(tool, call, &context.cwd)).await;
    if let Some(why) = verdict.block.or(verdict.stop) {
        return blocked(run, (tool, title), &why).await;
    }
    let (permission, reason) = (verdict.permission, verdict.ask_reason);
    let mut heard = HeardCall { call: Cow::Borrowed(call), title, permission, reason, may_change: true };
    let (mut first, mut input) = (Some(first), verdict.updated_input);
    let mut output = loop {
        if let Some(input) = input.take() {
            match heard.change(run, input, &context).await {
                Ok(()) => first = None,
                Err(output) => break output,
            }
        }
        let tried = match first.take() {
            Some(first) => bounded(run, (&heard, first), context.clone()).await,
            None => match find_call(run.agent, &heard.call) {
                Ok(again) => bounded(run, (&heard, again), context.clone()).await,
                Err(output) => Ok(output),
            },
        };
        match tried {
            Ok(output) => break output,
            // That the input before was allowed says nothing of this one; that the user is to be asked still holds.
            Err(other) => {
                heard.permission = match heard.permission {
                    Some(HookPermission::Ask) => Some(HookPermission::Ask),
                    _ => other.is_allowed.then_some(HookPermission::Allow),
                };
                (heard.may_change, input) = (false, Some(other.input));
            }
        }
    };
    output = skill::completed(run, &call.id, output).await;
    run.after_tool(&HookedCall::of(tool, &heard.call, &context.cwd), &mut output).await;
    for text in &verdict.contexts {
        output.add_text(format!("\n{}", context_words(HookEvent::PreToolUse, text)));
    }
    output
}

/// Says that a hook has blocked a call, to the user and to the model.
async fn blocked(run: &Run<'_>, (tool, title): (&str, String), why: &str) -> ToolOutput {
    let reason = format!("blocked by hook: {why}");
    run.emit(ToolEvent::Refused { tool: tool.to_owned(), title, reason: reason.clone() }).await;
    ToolOutput::error(reason)
}

/// What came before an attempt.
enum Before {
    Nothing,
    /// The sandbox has refused a way to hosts, which it has now.
    NoWay,
    /// The sandbox has refused this, and the command is to run outside.
    Refused(RefusedInside),
}

/// Does a call: a command in the sandbox where it can be, there again with a way to the hosts that it wanted, and outside
/// of it if that is allowed in advance, or once the sandbox has refused it something else. `Err` is another input for it.
async fn bounded(
    run: &Run<'_>,
    (heard, first): (&HeardCall<'_>, FoundCall<'_>),
    mut inside: ToolContext,
) -> Result<ToolOutput, ChangedInput> {
    // An agent that may only read has no business outside.
    let may_more = inside.sandbox == SandboxUse::ReadWrite;
    let (before, refused) = match attempt(run, first, &inside, heard, Before::Nothing).await {
        Attempt::Ran(output, access) if may_more => {
            let mut output = reach(run, heard, &mut inside, (output, access)).await;
            match output.refused_inside.take() {
                None | Some(RefusedInside::Hosts(_)) => return Ok(output),
                Some(why) => (Before::Refused(why), Some(output)),
            }
        }
        Attempt::Ran(output, _) | Attempt::NotRun(output) => return Ok(output),
        Attempt::Changed(input) => return Err(input),
        Attempt::Outside => (Before::Nothing, None),
    };
    let outside = ToolContext { sandbox: SandboxUse::Outside, ..inside };
    Ok(match (again(run, heard, &outside, before).await, refused) {
        (Attempt::Ran(output, _), _) | (Attempt::NotRun(output), None) => output,
        (Attempt::Changed(input), None) => return Err(input),
        (Attempt::NotRun(refusal), Some(mut output)) => {
            output.content.push(ResultPart::Text {
                text: "\n[The sandbox has refused this, and it was not run outside of it.] ".to_owned(),
            });
            output.content.extend(refusal.content);
            output
        }
        (Attempt::Outside | Attempt::Changed(_), _) => ToolOutput::error(INTERRUPTED),
    })
}

/// Asks about each host that a command in the sandbox wanted, and runs it again there with a way to those that are
/// allowed, until it wants no other. Returns what came of it last.
async fn reach(
    run: &Run<'_>,
    heard: &HeardCall<'_>,
    inside: &mut ToolContext,
    (mut output, access): (ToolOutput, Access),
) -> ToolOutput {
    let (mut asked_about, mut refusals) = (Vec::new(), Vec::new());
    for _ in 0..MAX_REACHES {
        let Some(RefusedInside::Hosts(hosts)) = &output.refused_inside else { return output };
        let before = inside.hosts.len();
        for host in hosts {
            if asked_about.contains(host) || asked_about.len() == MAX_HOSTS || run.agent.work.cause().is_some() {
                continue;
            }
            asked_about.push(host.clone());
            let Some(access) = access.reaching(host.clone()) else { continue };
            let preview = Some(Preview::Note { text: wanted(host) });
            let question = AccessQuestion::new(access, heard.title.clone(), preview);
            match permission(run, question, &inside.call_id).await {
                Ok(()) => inside.hosts.push(host.clone()),
                Err(NotAllowed::Refused(refusal)) => refusals.push((host.clone(), refusal)),
                Err(NotAllowed::Changed(_)) => {}
            }
        }
        if inside.hosts.len() == before {
            break;
        }
        match again(run, heard, inside, Before::NoWay).await {
            Attempt::Ran(next, _) => output = next,
            Attempt::NotRun(refusal) => {
                output.content.extend(refusal.content);
                break;
            }
            Attempt::Outside | Attempt::Changed(_) => return ToolOutput::error(INTERRUPTED),
        }
    }
    for (host, refusal) in refusals {
        let text = format!("\n[It was not run again with a way to {host}.] ");
        output.content.push(ResultPart::Text { text });
        output.content.extend(refusal.content);
    }
    output
}

/// Says what a command wants that the sandbox has refused, and what a yes does.
fn wanted(host: &HostPort) -> String {
    format!("wants to reach {}; a yes runs the command again, in the sandbox, with a way there", host.described())
}

/// Tries a call once more.
async fn again(run: &Run<'_>, heard: &HeardCall<'_>, context: &ToolContext, before: Before) -> Attempt {
    // What was shown of the first try is no output of the next one.
    context.progress.send_replace(String::new());
    match find_call(run.agent, &heard.call) {
        Ok(again) => attempt(run, again, context, heard, before).await,
        Err(output) => Attempt::NotRun(output),
    }
}

/// Prepares, asks, runs. A call that has not begun when the agent's work is stopped never does.
async fn attempt(
    run: &Run<'_>,
    FoundCall { tool, call }: FoundCall<'_>,
    context: &ToolContext,
    heard: &HeardCall<'_>,
    before: Before,
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
    let access = plan.access_of(tool);
    let is_first = matches!(before, Before::Nothing);
    if is_first && agent.permissions.outside_if_allowed(&access).is_some() {
        return Attempt::Outside;
    }
    if let Some(failure) = plan.failure
        && may_read(agent, &access)
    {
        return Attempt::NotRun(failure);
    }
    let is_inside = matches!(access.kind, AccessKind::Execute { confinement: Confinement::Sandbox, .. });
    // The answer about the host was about this run, too. If there is no sandbox any more, it was not.
    if !(is_inside && matches!(before, Before::NoWay)) {
        let title = asked_title(heard.title.clone(), &access.kind, &context.project);
        let is_again = matches!(before, Before::Refused(_));
        let (preview, outside) = match before {
            // The question shows what the command said inside, in place of what the model says of it.
            Before::Refused(why) => (Some(Preview::Note { text: why.words() }), Some(outside(&why))),
            Before::Nothing | Before::NoWay => (plan.preview, plan.unsandboxed),
        };
        let question = AccessQuestion {
            outside,
            is_again,
            call: Some(HookedCall::of(tool.name(), &heard.call, &context.cwd)),
            may_change: heard.may_change && is_first,
            // A hook has looked at the command, and not at where it runs.
            by_hook: heard.permission.filter(|said| *said == HookPermission::Ask || !is_again),
            reason: heard.reason.clone(),
            ..AccessQuestion::new(access.clone(), title, preview)
        };
        match permission(run, question, &context.call_id).await {
            Ok(()) => {}
            Err(NotAllowed::Refused(output)) => return Attempt::NotRun(output),
            Err(NotAllowed::Changed(input)) => return Attempt::Changed(input),
        }
    }
    if agent.work.cause().is_some() {
        return Attempt::NotRun(ToolOutput::error(INTERRUPTED));
    }
    if is_first {
        run.count_tool(tool.name());
    }
    run.watchdog.heartbeat();
    if tool.keeps_time() {
        // What it waits for is stopped with this agent, and has ended only when it says so.
        return Attempt::Ran(run.watchdog.paused(work).await, access);
    }
    let mut output = tokio::select! {
        output = &mut work => output,
        () = agent.work.cancelled() => {
            timeout(STOP_GRACE, work).await.unwrap_or_else(|_| ToolOutput::error(INTERRUPTED))
        }
    };
    if let Some(TakenDown { changes }) = output.taken_down.take() {
        run.emit(ToolEvent::TakenDown { call_id: context.call_id.clone(), changes }).await;
    }
    if let Some(why) = output.uncovered.take() {
        run.emit(EventKind::Notice { text: format!("/rewind cannot bring back what commands do here: {why}") }).await;
    }
    Attempt::Ran(output, access)
}

/// Says why a command is to run outside, for people.
fn outside(refused: &RefusedInside) -> &'static str {
    match refused {
        RefusedInside::Network(_) => "it runs again, outside the sandbox, as it wants the network without the proxy",
        RefusedInside::Hosts(_) | RefusedInside::Other(_) => "it runs again, outside the sandbox",
    }
}

/// Returns `true` if the agent may read the place of an access without a question.
fn may_read(agent: &Agent, access: &Access) -> bool {
    let AccessKind::Write { path } = &access.kind else { return true };
    let reading = Access::new("Read", AccessKind::Read { path: path.clone() }).named(access.named.clone());
    agent.permissions.decide(&reading) == Decision::Allow
}
