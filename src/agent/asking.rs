//! Whether a call may be made: by decision, or by an answer that is waited for.
//!
//! Owns the question about one access, what becomes of its answer, and the words for a no. Leaves decisions to `permission`
//! and putting questions to its `Approver`. Invariant: `Ok` is returned only for what was allowed as it stands.

use std::path::PathBuf;

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::hooks::HookedCall;
use super::run::Run;
use super::{Agent, ToolEvent};
use crate::config::{Environment, obeyed_by_git};
use crate::hook::HookPermission;
use crate::message::{INTERRUPTED, without_speakers};
use crate::permission::{
    Access, AccessKind, Answer, ApprovalId, ApprovalRequest, Because, Decision, Evaluation, Preview,
};
use crate::tool::{Args, ToolOutput};

pub(super) struct AccessQuestion<'a> {
    pub(super) access: Access,
    pub(super) title: String,
    pub(super) preview: Option<Preview>,
    /// Why it is to run outside of the sandbox.
    pub(super) outside: Option<&'static str>,
    /// Whether that is because the sandbox has refused something to the call.
    pub(super) is_again: bool,
    /// The call, for hooks that may answer; `None` if it is no question of theirs.
    pub(super) call: Option<HookedCall<'a>>,
    /// Whether another input may be the answer.
    pub(super) may_change: bool,
    /// What hooks have said before.
    pub(super) by_hook: Option<HookPermission>,
    /// Why they want the user to be asked.
    pub(super) reason: Option<String>,
}

impl AccessQuestion<'_> {
    pub(super) fn new(access: Access, title: String, preview: Option<Preview>) -> Self {
        let (call, may_change, by_hook, reason) = (None, false, None, None);
        Self { access, title, preview, outside: None, is_again: false, call, may_change, by_hook, reason }
    }

    /// Returns `true` if hooks want the user to be asked.
    fn is_forced(&self) -> bool {
        self.by_hook == Some(HookPermission::Ask)
    }
}

/// Why a call is not made as it stands.
pub(super) enum NotAllowed {
    Refused(ToolOutput),
    Changed(ChangedInput),
}

/// What a hook, or who was asked, has put in the place of a call's input in answer to the question.
pub(super) struct ChangedInput {
    pub(super) input: Args,
    /// Whether the call is allowed with it.
    pub(super) is_allowed: bool,
}

impl From<ToolOutput> for NotAllowed {
    fn from(output: ToolOutput) -> Self {
        Self::Refused(output)
    }
}

/// Decides as rules and modes do, and then as hooks do: they may ask where nobody would, and allow what would only be asked
/// about, unless a rule asks.
fn decide(evaluation: &Evaluation, question: &AccessQuestion<'_>) -> Decision {
    match (&evaluation.decision, question.by_hook) {
        (Decision::Allow, Some(HookPermission::Ask)) => Decision::Ask,
        (Decision::Ask, Some(HookPermission::Allow)) if evaluation.hook_may_allow => Decision::Allow,
        (decision, _) => decision.clone(),
    }
}

/// Waits until the access is allowed, by decision or by answer.
pub(super) async fn permission(run: &Run<'_>, question: AccessQuestion<'_>, call_id: &str) -> Result<(), NotAllowed> {
    let agent = run.agent;
    if let AccessKind::Write { path } = &question.access.kind {
        guard(agent, path.clone()).await;
    }
    // From before the decision, so that no change after it is missed.
    let changes = agent.permissions.changes();
    let evaluation = agent.permissions.evaluate(&question.access);
    match decide(&evaluation, &question) {
        Decision::Allow => return Ok(()),
        Decision::Deny(reason) => {
            return Err(refused(run, question, reason).await.into());
        }
        Decision::Ask => {}
    }
    if let Some(call) = &question.call {
        let verdict = run.before_question(call).await;
        if let Some(why) = verdict.block.or(verdict.stop) {
            return Err(refused(run, question, format!("blocked by hook: {why}")).await.into());
        }
        let is_allowed = verdict.permission == Some(HookPermission::Allow) && !question.is_again;
        if let Some(input) = verdict.updated_input.filter(|_| question.may_change) {
            return Err(NotAllowed::Changed(ChangedInput { input, is_allowed: is_allowed && !question.is_forced() }));
        }
        if is_allowed && !question.is_forced() && evaluation.hook_may_allow {
            return Ok(());
        }
        if agent.work.cause().is_some() {
            return Err(ToolOutput::error(INTERRUPTED).into());
        }
    }
    let omitted = question.preview.as_ref().map_or(0, Preview::omitted);
    if omitted > 0 {
        return Err(refused(run, question, too_large(omitted)).await.into());
    }
    let id = ApprovalId::new(agent.id, call_id);
    let is_forced = question.is_forced();
    let grant = evaluation.offer.clone().filter(|_| !is_forced);
    let by_hook = is_forced.then(|| match question.reason.as_deref() {
        None | Some("") => "a hook asks".to_owned(),
        Some(why) => format!("a hook asks: {why}"),
    });
    let reason = reason(&question, &evaluation, by_hook.as_deref());
    let (access, may_change) = (question.access, question.may_change);
    let request = ApprovalRequest {
        id: id.clone(),
        access: access.clone(),
        title: question.title,
        preview: question.preview,
        grant: grant.clone(),
        reason,
    };
    let ask = agent.approver.ask(request.clone());
    run.emit(ToolEvent::ApprovalRequested { request }).await;
    run.notify_waiting(&format!("Belvedere needs your permission to use {}", access.tool));
    let answer = run.watchdog.paused(answer(agent, ask, (&access, is_forced), changes)).await;
    let resolved =
        ToolEvent::ApprovalResolved { id, answer: answer.told(), by_grant: matches!(answer, Waited::Granted) };
    match (&answer, grant) {
        (Waited::Answered(Answer::Always), Some(grant)) => agent.permissions.grant(grant),
        (Waited::Answered(Answer::Everyone), Some(grant)) => agent.permissions.grant_to_all(grant),
        (Waited::Answered(Answer::Project), Some(grant)) => agent.permissions.grant_for_project(grant),
        _ => {}
    }
    run.emit(resolved).await;
    outcome_of(answer, by_hook.as_deref(), may_change)
}

/// Returns what follows from an answer, to a question that a hook may have asked.
fn outcome_of(answer: Waited, by_hook: Option<&str>, may_change: bool) -> Result<(), NotAllowed> {
    match answer {
        Waited::Granted | Waited::Answered(Answer::Once | Answer::Always | Answer::Everyone | Answer::Project) => {
            Ok(())
        }
        Waited::Answered(Answer::No { comment }) => {
            let words = format!("{}{}", refusal(comment.as_deref()), told_by_hook(by_hook));
            Err(ToolOutput::error(words).into())
        }
        // No entry of a list answers a hook.
        Waited::Answered(Answer::Nobody { .. }) if by_hook.is_some() => {
            let why = told_by_hook(by_hook);
            Err(ToolOutput::error(format!("Nobody is there to approve this call.{why} Continue without it.")).into())
        }
        Waited::Answered(Answer::Nobody { advice: reason }) | Waited::Refused(reason) => {
            Err(ToolOutput::error(reason).into())
        }
        Waited::Answered(Answer::Changed { input }) if may_change => {
            Err(NotAllowed::Changed(ChangedInput { input, is_allowed: true }))
        }
        // No text and no choice can stand in the place of a call.
        Waited::Answered(_) => Err(ToolOutput::error(refusal(None)).into()),
        Waited::Stopped => Err(ToolOutput::error(INTERRUPTED).into()),
    }
}

/// Says why it is asked, for people: who or what asks, and what the heading of the question is about.
fn reason(question: &AccessQuestion<'_>, evaluation: &Evaluation, by_hook: Option<&str>) -> String {
    let because = &evaluation.because;
    let asker = match (by_hook, question.outside) {
        (Some(words), _) => Some(words.to_owned()),
        // That a mode asks about commands says less than where this one is to run.
        (None, Some(_)) if matches!(because, Because::Mode { .. }) => None,
        (None, _) => Some(because.words()),
    };
    let is_said = by_hook.is_none() && matches!(because, Because::Lasting(_));
    let lasting = question.access.lasting.clone().filter(|_| !is_said).map(|why| Because::Lasting(why).words());
    let parts = asker.into_iter().chain(question.outside.map(str::to_owned)).chain(lasting);
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns what a model reads of the hook that has asked.
fn told_by_hook(by_hook: Option<&str>) -> String {
    by_hook.map(|why| format!(" ({}.)", without_speakers(why.trim_end_matches('.')))).unwrap_or_default()
}

/// Says that an access is refused, to the user and to the model.
async fn refused(run: &Run<'_>, question: AccessQuestion<'_>, reason: String) -> ToolOutput {
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

impl Waited {
    /// Returns the answer as it is told; a changed call is told by itself.
    fn told(&self) -> Option<Answer> {
        match self {
            Self::Answered(Answer::Changed { .. }) => Some(Answer::Once),
            Self::Answered(answer) => Some(answer.clone()),
            Self::Granted | Self::Refused(_) | Self::Stopped => None,
        }
    }
}

async fn answer(
    agent: &Agent,
    mut ask: BoxFuture<'_, Answer>,
    (access, is_forced): (&Access, bool),
    mut changes: watch::Receiver<()>,
) -> Waited {
    loop {
        tokio::select! {
            biased;
            () = agent.work.cancelled() => return Waited::Stopped,
            answer = &mut ask => return Waited::Answered(answer),
            Ok(()) = changes.changed() => match agent.permissions.decide_again(access) {
                Decision::Deny(reason) => return Waited::Refused(reason),
                Decision::Allow if !is_forced => return Waited::Granted,
                Decision::Allow | Decision::Ask => {}
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
