//! Running the hooks of one moment: which, with what on their standard input, and what they come to.
//!
//! Owns the order, what is left out, and the input that all events share. Leaves processes to whoever makes a [`RunHook`].
//! Invariants: a project's hook runs only as the user has seen it; one that cannot run has not judged.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::answer::{AsyncDeclaration, declared_async};
use super::command::HookCommand;
use super::event::HookEvent;
use super::handler::HookHandler;
use super::verdict::{HookExit, HookVerdict};
use super::{AgentHooks, HookSession};
use crate::permission::Places;

/// What is started for one hook.
#[derive(Debug)]
pub struct HookProcess {
    pub handler: Arc<HookHandler>,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The root of the session's project, for `CLAUDE_PROJECT_DIR`.
    pub project: PathBuf,
    /// What it reads on its standard input.
    pub input: Vec<u8>,
    /// Ends it with all that it has started.
    pub stop: CancellationToken,
    /// Where its first line of output goes as soon as it is there.
    pub first_line: oneshot::Sender<String>,
}

/// Runs one hook to its end.
pub type RunHook = Arc<dyn Fn(HookProcess) -> BoxFuture<'static, HookExit> + Send + Sync>;

/// What has come to pass.
pub struct HookMoment<'a> {
    pub event: HookEvent,
    /// What matchers are held against.
    pub about: &'a str,
    pub cwd: &'a Path,
    pub mode: &'static str,
    /// What only this event says.
    pub fields: Map<String, Value>,
    /// Gives the hooks up.
    pub stop: CancellationToken,
    /// Asks the models that hooks name; `None` where no model answers.
    pub ask: Option<RunHook>,
}

/// What came of a moment at once, and what goes on.
#[derive(Default)]
pub struct HookResult {
    pub verdict: HookVerdict,
    /// Hooks that nobody waits for.
    pub background: Vec<BoxFuture<'static, HookVerdict>>,
}

/// A hook that runs.
struct RunningHook {
    verdict: BoxFuture<'static, HookVerdict>,
    first_line: oneshot::Receiver<String>,
    stop: CancellationToken,
}

impl RunningHook {
    /// Waits for its answer. `Err` is the hook once it declares that nothing is to wait for it, and for how long it may go
    /// on.
    async fn wait(mut self, stop: &CancellationToken) -> Result<HookVerdict, (Self, Option<Duration>)> {
        let (mut is_stopped, mut is_silent) = (false, false);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    self.stop.cancel();
                }
                line = &mut self.first_line, if !is_silent => {
                    is_silent = true;
                    if let Some(AsyncDeclaration { within }) = line.ok().as_deref().and_then(declared_async) {
                        return Err((self, within));
                    }
                }
                verdict = &mut self.verdict => return Ok(verdict),
            }
        }
    }

    /// Lets it go on with nobody waiting, until all of them are to end or its own time is up.
    fn go_on(mut self, all: CancellationToken, within: Option<Duration>) -> BoxFuture<'static, HookVerdict> {
        async move {
            let is_over = async {
                match within {
                    Some(within) => tokio::select! { () = all.cancelled() => {}, () = sleep(within) => {} },
                    None => all.cancelled().await,
                }
            };
            tokio::select! {
                biased;
                verdict = &mut self.verdict => return verdict,
                () = is_over => self.stop.cancel(),
            }
            self.verdict.await
        }
        .boxed()
    }
}

impl AgentHooks {
    /// Returns `true` if something runs at this event.
    #[must_use]
    pub fn listen_to(&self, event: HookEvent) -> bool {
        !self.handlers(event).is_empty()
    }

    /// Lists what runs at this event, by what is trusted of it.
    #[must_use]
    pub fn running_at(&self, event: HookEvent) -> Vec<String> {
        self.handlers(event).iter().map(|handler| handler.trust_text()).collect()
    }

    fn handlers(&self, event: HookEvent) -> Vec<Arc<HookHandler>> {
        let is_left_out =
            |handler: &HookHandler| !self.left_out.is_empty() && self.left_out.contains(&handler.trust_text());
        let is_meant = move |handler: &&Arc<HookHandler>| {
            handler.event == event
                && self.hooks.lets_run(handler)
                && !is_left_out(handler)
                && !(self.is_judging && (!event.is_about_tools() || handler.command.asks_model()))
                && !self.hooks.is_spent(handler)
        };
        let of_session = self.hooks.handlers();
        let lent = self.lent.read().unwrap_or_else(PoisonError::into_inner);
        of_session.iter().chain(self.own.iter()).chain(lent.iter()).filter(is_meant).cloned().collect()
    }

    /// Runs the hooks of a moment, all at the same time, and the same command once.
    pub async fn fire(&self, moment: HookMoment<'_>) -> HookResult {
        let Some(session) = self.hooks.session() else { return HookResult::default() };
        let mut chosen: Vec<Arc<HookHandler>> = Vec::new();
        for handler in self.meant(session, &moment).await {
            if chosen.iter().all(|known| known.command != handler.command) && self.hooks.spend(&handler) {
                chosen.push(handler);
            }
        }
        if chosen.is_empty() {
            return HookResult::default();
        }
        let input = self.input(session, &moment);
        let started = |handler: &Arc<HookHandler>| {
            let (stop, (told, first_line)) = (CancellationToken::new(), oneshot::channel());
            let process = HookProcess {
                handler: handler.clone(),
                cwd: moment.cwd.to_path_buf(),
                project: session.project.clone(),
                input: input.clone(),
                stop: stop.clone(),
                first_line: told,
            };
            let run = match &handler.command {
                HookCommand::Question(_) => moment.ask.clone(),
                _ => Some(session.run.clone()),
            };
            let (handler, about) = (handler.clone(), moment.about.to_owned());
            let verdict = async move {
                let begun = Instant::now();
                let exit = match (&handler.command, run) {
                    (HookCommand::Unrunnable { why }, _) => HookExit::Unjudged(why.clone()),
                    (_, Some(run)) => run(process).await,
                    (_, None) => HookExit::Unjudged("no model answers here".to_owned()),
                };
                HookVerdict::of(&handler, &about, (exit, begun.elapsed()))
            };
            RunningHook { verdict: verdict.boxed(), first_line, stop }
        };
        let (later, now): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|handler| handler.is_async);
        let all = self.hooks.stopping();
        let mut background: Vec<_> = later.iter().map(|handler| started(handler).go_on(all.clone(), None)).collect();
        let mut verdict = HookVerdict::default();
        for ended in join_all(now.iter().map(|handler| started(handler).wait(&moment.stop))).await {
            match ended {
                Ok(answer) => verdict.add(answer),
                Err((running, within)) => background.push(running.go_on(all.clone(), within)),
            }
        }
        HookResult { verdict, background }
    }

    /// Returns the hooks that are for a moment, by their matchers and their conditions.
    async fn meant(&self, session: &HookSession, moment: &HookMoment<'_>) -> Vec<Arc<HookHandler>> {
        let handlers = self.handlers(moment.event).into_iter();
        let covering: Vec<_> = handlers.filter(|handler| handler.covers(moment.about)).collect();
        if covering.iter().all(|handler| handler.condition.is_none()) {
            return covering;
        }
        let (fields, cwd, project) = (moment.fields.clone(), moment.cwd.to_path_buf(), session.project.clone());
        let all = covering.clone();
        let judging = move || {
            let home = std::env::home_dir();
            let places = Places { project: &project, home: home.as_deref() };
            let holds = |handler: &Arc<HookHandler>| {
                handler.condition.as_ref().is_none_or(|condition| condition.holds(&fields, places, &cwd))
            };
            covering.into_iter().filter(holds).collect()
        };
        // What could not be judged may be meant.
        spawn_blocking(judging).await.unwrap_or(all)
    }

    /// Returns what hooks read on their standard input.
    fn input(&self, session: &HookSession, moment: &HookMoment<'_>) -> Vec<u8> {
        let text = |path: &Path| Value::from(path.to_string_lossy().into_owned());
        let mut input = Map::new();
        input.insert("session_id".to_owned(), session.id.clone().into());
        input.insert("transcript_path".to_owned(), text(&(session.transcript)(None)));
        input.insert("cwd".to_owned(), text(moment.cwd));
        input.insert("permission_mode".to_owned(), moment.mode.into());
        input.insert("hook_event_name".to_owned(), moment.event.name().into());
        if let Some(id) = &self.agent_id {
            input.insert("agent_id".to_owned(), id.to_string().into());
            if moment.event == HookEvent::SubagentStop {
                input.insert("agent_transcript_path".to_owned(), text(&(session.transcript)(Some(&**id))));
            }
        }
        if let Some(kind) = &self.agent_type {
            input.insert("agent_type".to_owned(), kind.to_string().into());
        }
        input.extend(moment.fields.clone());
        let mut bytes = serde_json::to_vec(&input).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}
