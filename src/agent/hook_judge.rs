//! Asking a model, or an agent that looks at files first, what a hook wants judged.
//!
//! Owns the request, its time, and counting what it takes. Leaves what is asked, and reading the answer, to `hook`.
//! Invariants: an agent that judges can change nothing and asks nobody; a question without an answer is not judged.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::aside::ask_aside;
use super::budget::Reserved;
use super::run::{Asides, Run};
use super::stream::ModelReply;
use super::{Agent, AtEnd, Cancel, Inbox, Limits, SideModel, Sink, Status, StopCause, run};
use crate::hook::{HookCommand, HookExit, HookJudge, HookProcess, HookQuestion, RunHook};
use crate::memory::GivenMemory;
use crate::message::{Effort, Message, Reasoning, Transcript, sanitize_line};
use crate::permission::{Answer, ApprovalRequest, Approver};
use crate::provider::{Model, Provider, Request};
use crate::tool::{BackgroundCommands, ToolSet};

/// The system prompt of a model that judges.
const JUDGE_PROMPT: &str = include_str!("../../assets/prompts/hook_judge.md");
/// The same of an agent.
const AGENT_PROMPT: &str = include_str!("../../assets/prompts/hook_agent.md");
/// Most tokens of a model's answer.
const ANSWER_TOKENS: u32 = 2_000;
/// Turns that an agent may take.
const MAX_TURNS: u32 = 50;

/// Finds the model that a hook names, or a small one; the hook may be the project's.
pub type FindHookModel = Arc<dyn Fn(Option<&str>, bool) -> SideModel + Send + Sync>;

/// Who answers the questions of an agent's hooks.
#[derive(Clone)]
pub struct HookJudges {
    pub find: FindHookModel,
    /// What an agent that judges looks with.
    pub tools: ToolSet,
}

impl Default for HookJudges {
    fn default() -> Self {
        let find: FindHookModel = Arc::new(|_, _| Err("no model answers here".to_owned()));
        Self { find, tools: ToolSet::default() }
    }
}

/// Returns what asks the models that hooks of an agent name, and counts what that takes.
pub(super) fn asker(agent: &Agent, asides: &Asides) -> RunHook {
    let (agent, asides) = (agent.clone(), asides.clone());
    Arc::new(move |process| {
        let (agent, asides) = (agent.clone(), asides.clone());
        async move { exit_of(&agent, asides, process).await }.boxed()
    })
}

async fn exit_of(agent: &Agent, asides: Asides, process: HookProcess) -> HookExit {
    let HookProcess { handler, input, stop, .. } = process;
    let HookCommand::Question(question) = &handler.command else {
        return HookExit::Unjudged("it asks no model".to_owned());
    };
    let (provider, model) = match (agent.judges.find)(question.model.as_deref(), handler.source.is_projects) {
        Ok(found) => found,
        Err(why) => return HookExit::Unjudged(sanitize_line(&why).into_owned()),
    };
    let judging = Judging { run: Run::beside(agent, asides), provider, model, cancel: agent.cancel.child() };
    let text = question.ask_about(&String::from_utf8_lossy(&input));
    let exit = tokio::select! {
        biased;
        () = stop.cancelled() => HookExit::Stopped,
        exit = judging.ask(question, text) => exit,
        () = sleep(handler.timeout) => {
            HookExit::Unjudged(format!("no answer within {} s", handler.timeout.as_secs_f32()))
        }
    };
    // An agent that judges has begun things of its own.
    judging.cancel.stop(StopCause::Hook);
    exit
}

/// One question on its way.
struct Judging<'a> {
    run: Run<'a>,
    provider: Arc<dyn Provider>,
    model: Arc<Model>,
    cancel: Cancel,
}

impl Judging<'_> {
    async fn ask(&self, question: &HookQuestion, text: String) -> HookExit {
        match question.judge {
            HookJudge::Model => self.ask_model(text).await,
            HookJudge::Agent => self.ask_agent(&text).await,
        }
    }

    async fn ask_model(&self, text: String) -> HookExit {
        let request = Request {
            model: self.model.id.clone(),
            system: JUDGE_PROMPT.into(),
            messages: vec![Arc::new(Message::user(text))],
            tools: Arc::default(),
            withheld: Arc::default(),
            max_output_tokens: ANSWER_TOKENS.min(self.model.max_output_tokens),
            effort: self.model.effort(Effort::Low),
            thinking_tokens: None,
            attachments: Arc::default(),
            waits_long: false,
            search: None,
        };
        let (reply, used) = ask_aside(&self.run, request, (&*self.provider, &self.model), &self.cancel).await;
        self.run.count_aside(used, self.model.price.map(|price| price.cost(&used))).await;
        match reply {
            Ok(ModelReply::Whole(turn)) => HookExit::Judged(turn.message.text()),
            Ok(ModelReply::Failed(error, _)) => HookExit::Unjudged(sanitize_line(&error.to_string()).into_owned()),
            Ok(ModelReply::Spent(_)) | Err(Reserved::Refused) => {
                HookExit::Unjudged("too little of the budget is left to ask a model".to_owned())
            }
            Ok(ModelReply::Cut(_)) | Err(_) => HookExit::Stopped,
        }
    }

    async fn ask_agent(&self, text: &str) -> HookExit {
        let (agent, task) = (self.agent(), Transcript::with_task(text));
        // A task of its own has a stack of its own: this runs within a call of the agent it judges.
        let work = AbortOnDropHandle::new(tokio::spawn(async move { run(&agent, task).await.0 }));
        let Ok(outcome) = work.await else {
            return HookExit::Unjudged("the agent that was to judge has crashed".to_owned());
        };
        self.run.count_aside(outcome.usage, outcome.cost_usd).await;
        match (outcome.status, outcome.reason) {
            (Status::Completed, _) => HookExit::Judged(outcome.text),
            (_, Some(why)) => HookExit::Unjudged(sanitize_line(&why).into_owned()),
            (_, None) => HookExit::Unjudged("the agent that was to judge has not answered".to_owned()),
        }
    }

    /// Returns an agent that looks with the rights of the one it judges, and is watched by the guards of its tools. Nobody
    /// sees it work; it has its answer for a trace.
    fn agent(&self) -> Agent {
        let judged = self.run.agent;
        Agent {
            depth: 0,
            system: AGENT_PROMPT.into(),
            provider: self.provider.clone(),
            model: self.model.clone(),
            fallbacks: Arc::default(),
            summarizer: None,
            judge: None,
            judges: HookJudges::default(),
            reasoning: Reasoning::default(),
            tools: judged.judges.tools.clone(),
            approver: Arc::new(NobodyAsked),
            freshness: Arc::default(),
            memory: GivenMemory::default(),
            hooks: judged.hooks.for_judging(),
            skills: None,
            spoken: None,
            limits: Limits { max_turns: Some(MAX_TURNS), max_tool_calls: None, ..judged.limits.clone() },
            external: None,
            sink: Sink::new(Vec::new(), judged.secrets.clone()),
            inbox: Inbox::default(),
            commands: BackgroundCommands::default(),
            at_end: AtEnd::Leave,
            cancel: self.cancel.clone(),
            work: self.cancel.child(),
            ..judged.clone()
        }
    }
}

/// Answers questions of an agent that judges.
struct NobodyAsked;

impl Approver for NobodyAsked {
    fn ask(&self, _: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let advice = "Nobody is asked while you judge. Judge without it.".to_owned();
        async move { Answer::Nobody { advice } }.boxed()
    }
}
