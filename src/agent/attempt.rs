//! One call: prepared, asked about, run, and tried again where the sandbox has refused it something.
//!
//! Owns the order in which a command is tried: inside, inside with a way to hosts, outside. Leaves the questions to `asking`.
//! Invariants: a command runs again only after a yes, or if it was allowed in advance; each host is asked about once.

use std::time::Duration;

use tokio::time::timeout;

use super::Agent;
use super::asking::{AccessQuestion, permission};
use super::run::Run;
use crate::message::{HostPort, INTERRUPTED, ResultPart, ToolCall, ToolInput};
use crate::permission::{Access, AccessKind, Confinement, Decision, Preview};
use crate::tool::{
    AnyTool, ParsedCall, PreparedCall, RefusedInside, SandboxUse, ToolContext, ToolOutput, asked_title, bound_text,
};

/// How long a tool may take to clean up after a stop: a process group gets TERM, 2 s, then KILL.
const STOP_GRACE: Duration = Duration::from_secs(4);
/// How often a command is run again for hosts that it wants.
const MAX_REACHES: usize = 4;
/// How many hosts one call asks about.
const MAX_HOSTS: usize = 8;

/// A call whose tool was found and whose arguments were parsed.
pub(super) struct FoundCall<'a> {
    tool: &'a dyn AnyTool,
    pub(super) call: Box<dyn ParsedCall<'a> + 'a>,
}

/// Finds the tool and parses the arguments, or says what is wrong with the call.
pub(super) fn find_call<'a>(agent: &'a Agent, call: &ToolCall) -> Result<FoundCall<'a>, ToolOutput> {
    let tool = agent.tools.find(&call.name).ok_or_else(|| {
        let names: Vec<&str> = agent.tools.names().collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        ToolOutput::error(format!("There is no tool `{}` here. Available: {names}.", call.name))
    })?;
    match &call.input {
        ToolInput::Object(args) => Ok(FoundCall { tool: tool.as_ref(), call: tool.parse(args) }),
        ToolInput::Malformed(text) => Err(ToolOutput::error(format!(
            "The input of {} is not a JSON object. Send it again, complete. What arrived: {}",
            call.name,
            bound_text(text, 400)
        ))),
    }
}

/// How far a call came.
enum Attempt {
    Ran(ToolOutput, Access),
    NotRun(ToolOutput),
    /// Nothing was done: what was granted lets it run outside of the sandbox.
    Outside,
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
/// of it if that is allowed in advance, or once the sandbox has refused it something else.
pub(super) async fn bounded(
    run: &Run<'_>,
    (call, first): (&ToolCall, FoundCall<'_>),
    mut inside: ToolContext,
    title: String,
) -> ToolOutput {
    // An agent that may only read has no business outside.
    let may_more = inside.sandbox == SandboxUse::ReadWrite;
    let (before, refused) = match attempt(run, first, &inside, title.clone(), Before::Nothing).await {
        Attempt::Ran(output, access) if may_more => {
            let mut output = reach(run, call, (&mut inside, &title), (output, access)).await;
            match output.refused_inside.take() {
                None | Some(RefusedInside::Hosts(_)) => return output,
                Some(why) => (Before::Refused(why), Some(output)),
            }
        }
        Attempt::Ran(output, _) | Attempt::NotRun(output) => return output,
        Attempt::Outside => (Before::Nothing, None),
    };
    let outside = ToolContext { sandbox: SandboxUse::Outside, ..inside };
    match (again(run, call, &outside, title, before).await, refused) {
        (Attempt::Ran(output, _), _) | (Attempt::NotRun(output), None) => output,
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

/// Asks about each host that a command in the sandbox wanted, and runs it again there with a way to those that are
/// allowed, until it wants no other. Returns what came of it last.
async fn reach(
    run: &Run<'_>,
    call: &ToolCall,
    (inside, title): (&mut ToolContext, &str),
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
            let question = AccessQuestion { access, title: title.to_owned(), preview, outside: None };
            match permission(run, question, &inside.call_id).await {
                Ok(()) => inside.hosts.push(host.clone()),
                Err(refusal) => refusals.push((host.clone(), refusal)),
            }
        }
        if inside.hosts.len() == before {
            break;
        }
        match again(run, call, inside, title.to_owned(), Before::NoWay).await {
            Attempt::Ran(next, _) => output = next,
            Attempt::NotRun(refusal) => {
                output.content.extend(refusal.content);
                break;
            }
            Attempt::Outside => return ToolOutput::error(INTERRUPTED),
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
async fn again(run: &Run<'_>, call: &ToolCall, context: &ToolContext, title: String, before: Before) -> Attempt {
    // What was shown of the first try is no output of the next one.
    context.progress.send_replace(String::new());
    match find_call(run.agent, call) {
        Ok(again) => attempt(run, again, context, title, before).await,
        Err(output) => Attempt::NotRun(output),
    }
}

/// Prepares, asks, runs. A call that has not begun when the agent's work is stopped never does.
async fn attempt(
    run: &Run<'_>,
    FoundCall { tool, call }: FoundCall<'_>,
    context: &ToolContext,
    title: String,
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
    let access = Access::new(tool.name(), plan.access).of_kind(tool.kind()).named(plan.named);
    let is_first = matches!(before, Before::Nothing);
    if is_first && access.unconfined().is_some_and(|open| agent.permissions.decide(&open) == Decision::Allow) {
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
        let title = asked_title(title, &access.kind, &context.project);
        let (preview, outside) = match before {
            // The question shows what the command said inside, in place of what the model says of it.
            Before::Refused(why) => (Some(Preview::Note { text: why.words() }), Some(outside(&why))),
            Before::Nothing | Before::NoWay => (plan.preview, None),
        };
        let question = AccessQuestion { access: access.clone(), title, preview, outside };
        if let Err(output) = permission(run, question, &context.call_id).await {
            return Attempt::NotRun(output);
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
    let output = tokio::select! {
        output = &mut work => output,
        () = agent.work.cancelled() => {
            timeout(STOP_GRACE, work).await.unwrap_or_else(|_| ToolOutput::error(INTERRUPTED))
        }
    };
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
