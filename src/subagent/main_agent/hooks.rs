//! Hooks around the conversation with the user: at its beginning, before each message, while it rests, at its end.
//!
//! Owns when these run, and keeping what they say until the main agent works. Leaves running them to `agent`. Invariant: the
//! conversation obeys commands while hooks run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::agent::{EventKind, HookListener, context_words};
use crate::hook::{HookEvent, HookMoment, HookVerdict};
use crate::message::AgentId;
use crate::subagent::main_agent::MainAgentDefinition;
use crate::subagent::tree::Tree;

/// How long the conversation rests before hooks hear that it waits for the user.
const IDLE: Duration = Duration::from_mins(1);
/// How long a first request waits for hooks before that is said.
const SAID_AFTER: Duration = Duration::from_secs(2);

/// The hooks of a conversation; clones share what they have said.
#[derive(Clone, Default)]
pub(in crate::subagent) struct SessionHooks(Arc<Mutex<Greeting>>);

#[derive(Default)]
struct Greeting {
    /// Those that run at the beginning.
    running: Option<JoinHandle<Vec<String>>>,
    /// What has begun: `startup`, `resume` or `clear`; empty before anything has.
    source: &'static str,
    /// Which hooks have heard of that, by what is trusted of them.
    heard: Vec<String>,
    /// What they have said, until it is read.
    said: Vec<String>,
}

impl SessionHooks {
    /// Runs the hooks at the beginning of a conversation, beside everything else.
    pub(in crate::subagent) fn begin(&self, tree: &Tree, definition: &MainAgentDefinition, source: &'static str) {
        let listener = listener(tree, definition);
        let heard = listener.hooks.running_at(HookEvent::SessionStart);
        let has_hooks = !heard.is_empty() || listener.hooks.listen_to(HookEvent::SessionEnd);
        let running = has_hooks.then(|| {
            let tree = tree.clone();
            tokio::spawn(async move {
                if source == "clear" {
                    end(&listener, &tree, source).await;
                }
                greet(&listener, &tree, source).await
            })
        });
        let mut greeting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (greeting.source, greeting.heard, greeting.running) = (source, heard, running);
    }

    /// Runs the hooks at the beginning that the user has trusted since, and returns what they say.
    async fn greet_late(&self, tree: &Tree, definition: &MainAgentDefinition) -> Vec<String> {
        let mut late = listener(tree, definition);
        let source = {
            let mut greeting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let heard = std::mem::take(&mut greeting.heard);
            greeting.heard = late.hooks.running_at(HookEvent::SessionStart);
            late.hooks = late.hooks.without(heard);
            greeting.source
        };
        let has_hooks = !source.is_empty() && late.hooks.listen_to(HookEvent::SessionStart);
        if has_hooks { greet(&late, tree, source).await } else { Vec::new() }
    }

    /// Waits for the hooks at the beginning, and returns what they have said, once.
    pub(in crate::subagent) async fn take(&self, tree: &Tree, definition: &MainAgentDefinition) -> Vec<String> {
        let running = self.0.lock().unwrap_or_else(PoisonError::into_inner).running.take();
        if let Some(mut running) = running {
            let said = if let Ok(said) = timeout(SAID_AFTER, &mut running).await {
                said
            } else {
                let text = "waiting for the hooks of SessionStart".to_owned();
                tree.sink().emit_unhindered(AgentId::MAIN, EventKind::Notice { text }).await;
                running.await
            };
            self.put_back(said.unwrap_or_default());
        }
        let late = self.greet_late(tree, definition).await;
        let mut said = std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).said);
        said.extend(late);
        said
    }

    /// Keeps what was said for the next message.
    pub(in crate::subagent) fn put_back(&self, said: Vec<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).said.extend(said);
    }
}

/// Runs the hooks at the end of a session, waits for them, and ends those that nobody has waited for.
pub(in crate::subagent) async fn end_session(tree: &Tree, definition: &MainAgentDefinition, reason: &'static str) {
    end(&listener(tree, definition), tree, reason).await;
    tree.setup().hooks.end().await;
}

async fn greet(listener: &HookListener, tree: &Tree, source: &'static str) -> Vec<String> {
    let (event, fields) = ((HookEvent::SessionStart, source), json!({"source": source}));
    let verdict = fire(listener, tree, event, fields, tree.setup().hooks.stopping()).await;
    verdict.contexts.iter().map(|text| context_words(HookEvent::SessionStart, text)).collect()
}

async fn end(listener: &HookListener, tree: &Tree, reason: &'static str) {
    let (event, fields) = ((HookEvent::SessionEnd, reason), json!({"reason": reason}));
    fire(listener, tree, event, fields, CancellationToken::new()).await;
}

/// Notices when the conversation has waited for the user for a while.
pub(in crate::subagent) struct IdleClock {
    tree: Tree,
    definition: MainAgentDefinition,
    is_over: bool,
}

impl IdleClock {
    pub(in crate::subagent) fn of(tree: &Tree, definition: &MainAgentDefinition) -> Self {
        Self { tree: tree.clone(), definition: definition.clone(), is_over: false }
    }

    pub(in crate::subagent) fn reset(&mut self) {
        self.is_over = false;
    }

    /// Waits until hooks were told that the user is waited for; for ever if none wants to know. May be given up at any time.
    pub(in crate::subagent) async fn passed(&mut self) {
        let listener = listener(&self.tree, &self.definition);
        if self.is_over || !listener.hooks.listen_to(HookEvent::Notification) {
            return std::future::pending().await;
        }
        sleep(IDLE).await;
        self.is_over = true;
        let tree = self.tree.clone();
        self.tree.setup().hooks.go_on(async move {
            let fields = json!({"message": "Belvedere is waiting for your input", "notification_type": "idle_prompt"});
            let stop = tree.setup().hooks.stopping();
            fire(&listener, &tree, (HookEvent::Notification, "idle_prompt"), fields, stop).await;
        });
    }
}

fn listener(tree: &Tree, definition: &MainAgentDefinition) -> HookListener {
    let own = tree.main_capabilities(definition, None).map(|capabilities| capabilities.hooks).unwrap_or_default();
    let agent_type = definition.as_ref().map(|definition| definition.name.as_str());
    HookListener {
        hooks: tree.setup().hooks.of_agent(&own, None, agent_type),
        agent: AgentId::MAIN,
        sink: tree.sink().clone(),
        inbox: tree.inbox().clone(),
    }
}

async fn fire(
    listener: &HookListener,
    tree: &Tree,
    (event, about): (HookEvent, &str),
    fields: Value,
    stop: CancellationToken,
) -> HookVerdict {
    let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
    let (cwd, mode) = (tree.setup().place.cwd.clone(), tree.setup().permissions.mode().id());
    listener.fire(HookMoment { event, about, cwd: &cwd, mode, fields, stop, ask: None }).await
}
