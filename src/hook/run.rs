//! Running the hooks of one moment: which, with what on their standard input, and what they come to.
//!
//! Owns the order, what is left out, and the input that all events share. Leaves processes to whoever makes a [`RunHook`].
//! Invariant: a project's hook runs only as the user has seen it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::event::HookEvent;
use super::handler::{HookCommand, HookHandler};
use super::verdict::{HookExit, HookVerdict};
use super::{AgentHooks, HookSession};

/// What is started for one hook.
#[derive(Debug, Clone)]
pub struct HookProcess {
    pub command: HookCommand,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The root of the session's project, for `CLAUDE_PROJECT_DIR`.
    pub project: PathBuf,
    /// The folder of its plugin, for `CLAUDE_PLUGIN_ROOT`.
    pub plugin: Option<Arc<Path>>,
    /// What it reads on its standard input.
    pub input: Vec<u8>,
    pub timeout: Duration,
    /// Ends it with all that it has started.
    pub stop: CancellationToken,
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
}

/// What came of a moment at once, and what goes on.
#[derive(Default)]
pub struct HookResult {
    pub verdict: HookVerdict,
    /// Hooks that nobody waits for.
    pub background: Vec<BoxFuture<'static, HookVerdict>>,
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
                && !self.hooks.is_spent(handler)
        };
        let of_session = self.hooks.handlers();
        let lent = self.lent.read().unwrap_or_else(PoisonError::into_inner);
        of_session.iter().chain(self.own.iter()).chain(lent.iter()).filter(is_meant).cloned().collect()
    }

    /// Runs the hooks of a moment, all at the same time, and the same command once.
    pub async fn fire(&self, moment: HookMoment<'_>) -> HookResult {
        let mut chosen: Vec<Arc<HookHandler>> = Vec::new();
        for handler in self.handlers(moment.event).into_iter().filter(|handler| handler.covers(moment.about)) {
            if chosen.iter().all(|known| known.command != handler.command) && self.hooks.spend(&handler) {
                chosen.push(handler);
            }
        }
        let (Some(session), false) = (self.hooks.session(), chosen.is_empty()) else { return HookResult::default() };
        let input = self.input(session, &moment);
        let (later, now): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|handler| handler.is_async);
        let process = |handler: &HookHandler, stop: CancellationToken| HookProcess {
            command: handler.command.clone(),
            cwd: moment.cwd.to_path_buf(),
            project: session.project.clone(),
            plugin: handler.source.plugin.clone(),
            input: input.clone(),
            timeout: handler.timeout,
            stop,
        };
        let started = |handler: Arc<HookHandler>, stop| {
            let (process, run, about) = (process(&handler, stop), session.run.clone(), moment.about.to_owned());
            async move {
                let begun = Instant::now();
                let exit = run(process).await;
                HookVerdict::of(&handler, &about, (exit, begun.elapsed()))
            }
        };
        let background = later.into_iter().map(|handler| started(handler, self.hooks.stopping()).boxed());
        let background = background.collect();
        let mut verdict = HookVerdict::default();
        let answers = join_all(now.into_iter().map(|handler| started(handler, moment.stop.clone()))).await;
        for answer in answers {
            verdict.add(answer);
        }
        HookResult { verdict, background }
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
