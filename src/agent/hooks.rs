//! The moments in an agent's run at which hooks have a word.
//!
//! Owns what hooks are told at each, that their runs are emitted, and that a stop is carried out. Leaves which run, and what
//! their answers mean, to `hook`. Invariants: an agent waits for a hook no longer than the hook's own time; whatever a hook
//! has said that blocks, fails or takes too long is emitted.

use std::path::Path;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::hook_judge;
use super::inbox::Inbox;
use super::run::{Asides, Run};
use super::{Agent, EventKind, InboxMessage, Sink, StopCause, Urgency};
use crate::hook::{AgentHooks, HookEvent, HookMoment, HookVerdict, hook_tool_input, hook_tool_response};
use crate::message::{AgentId, ToolCall, ToolInput, reminder};
use crate::tool::{Args, ToolOutput};

/// Returns what a hook has said to a model, as it stands in a conversation.
#[must_use]
pub fn context_words(event: HookEvent, text: &str) -> String {
    reminder(&format!("{} hook: {text}", event.name()))
}

/// Whose hooks run, and where what they say goes.
#[derive(Clone)]
pub struct HookListener {
    pub hooks: AgentHooks,
    pub agent: AgentId,
    pub sink: Sink,
    /// Where goes what hooks say that nobody waited for.
    pub inbox: Inbox,
}

impl HookListener {
    /// Runs the hooks of a moment, and emits what each of them did.
    pub async fn fire(&self, moment: HookMoment<'_>) -> HookVerdict {
        if !self.hooks.listen_to(moment.event) {
            return HookVerdict::default();
        }
        let event = moment.event;
        let result = self.hooks.fire(moment).await;
        for later in result.background {
            let listener = self.clone();
            self.hooks.session_hooks().go_on(async move {
                let verdict = later.await;
                listener.emit(&verdict).await;
                for text in verdict.contexts {
                    let message = InboxMessage::of_program(&context_words(event, &text));
                    // One that has ended reads nothing more.
                    let _ = listener.inbox.push(InboxMessage { urgency: Urgency::Later, ..message });
                }
            });
        }
        self.emit(&result.verdict).await;
        result.verdict
    }

    async fn emit(&self, verdict: &HookVerdict) {
        for ran in &verdict.runs {
            self.sink.emit(self.agent, EventKind::Hook { ran: ran.clone() }).await;
        }
        for text in &verdict.messages {
            self.sink.emit(self.agent, EventKind::Notice { text: text.clone() }).await;
        }
    }
}

impl Agent {
    fn listener(&self) -> HookListener {
        HookListener { hooks: self.hooks.clone(), agent: self.id, sink: self.sink.clone(), inbox: self.inbox.clone() }
    }

    /// Runs the hooks of a moment of this agent. One that wants the agent to stop stops it.
    async fn fire(
        &self,
        (event, about): (HookEvent, &str),
        fields: Value,
        (stop, asides): (CancellationToken, &Asides),
    ) -> HookVerdict {
        if !self.hooks.listen_to(event) {
            return HookVerdict::default();
        }
        let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
        let (cwd, mode) = (self.place.cwd.clone(), self.permissions.mode().id());
        let ask = Some(hook_judge::asker(self, asides));
        let verdict = self.listener().fire(HookMoment { event, about, cwd: &cwd, mode, fields, stop, ask }).await;
        if let Some(why) = &verdict.stop {
            let text = format!("a hook of {} stops this agent: {why}", event.name());
            self.sink.emit(self.id, EventKind::Notice { text }).await;
            self.cancel.stop(StopCause::Hook);
        }
        verdict
    }

    /// Has hooks look at a message of the user. `Err` says why it is not answered; `Ok` is what they have to add.
    ///
    /// # Errors
    /// Returns the reason of the hook that blocks it.
    pub async fn submit_prompt(&self, prompt: &str) -> Result<Vec<String>, String> {
        let event = HookEvent::UserPromptSubmit;
        let beside = (self.cancel.token(), &Asides::default());
        let verdict = self.fire((event, ""), json!({"prompt": prompt}), beside).await;
        match (verdict.block, verdict.stop) {
            (Some(why), _) | (None, Some(why)) => Err(format!("Blocked by hook: {why}")),
            (None, None) => Ok(verdict.contexts.iter().map(|text| context_words(event, text)).collect()),
        }
    }
}

/// A call as hooks know it.
pub(super) struct HookedCall<'a> {
    tool: &'a str,
    input: Map<String, Value>,
    id: &'a str,
}

impl<'a> HookedCall<'a> {
    /// Returns a call of a tool by its own name.
    pub(super) fn of(tool: &'a str, call: &'a ToolCall, cwd: &Path) -> Self {
        let empty = Args::new();
        let input = match &call.input {
            ToolInput::Object(args) => args,
            ToolInput::Malformed(_) => &empty,
        };
        Self { tool, input: hook_tool_input(tool, input, cwd), id: &call.id }
    }

    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("tool_name".to_owned(), self.tool.into());
        fields.insert("tool_input".to_owned(), self.input.clone().into());
        fields.insert("tool_use_id".to_owned(), self.id.into());
        fields
    }
}

impl Run<'_> {
    async fn fire(&self, event: HookEvent, about: &str, fields: Value) -> HookVerdict {
        // Hooks have time limits of their own.
        let beside = (self.agent.work.token(), &self.asides);
        self.watchdog.paused(self.agent.fire((event, about), fields, beside)).await
    }

    pub(super) async fn before_tool(&self, call: &HookedCall<'_>) -> HookVerdict {
        self.fire(HookEvent::PreToolUse, call.tool, call.fields().into()).await
    }

    /// Has hooks answer a question that the user would be asked.
    pub(super) async fn before_question(&self, call: &HookedCall<'_>) -> HookVerdict {
        let mut fields = call.fields();
        fields.remove("tool_use_id");
        self.fire(HookEvent::PermissionRequest, call.tool, fields.into()).await
    }

    /// Has hooks look at what a tool has answered, and adds what they say for the model.
    pub(super) async fn after_tool(&self, call: &HookedCall<'_>, output: &mut ToolOutput) {
        let event = if output.is_error { HookEvent::PostToolUseFailure } else { HookEvent::PostToolUse };
        if !self.agent.hooks.listen_to(event) {
            return;
        }
        let text = output.joined_text();
        let mut fields = call.fields();
        if output.is_error {
            fields.insert("error".to_owned(), text.into());
            fields.insert("is_interrupt".to_owned(), self.agent.work.cause().is_some().into());
        } else {
            let response = hook_tool_response(call.tool, &call.input, &text, output.is_error);
            fields.insert("tool_response".to_owned(), response);
        }
        let verdict = self.fire(event, call.tool, fields.into()).await;
        for text in verdict.block.iter().chain(&verdict.contexts) {
            output.add_text(format!("\n{}", context_words(event, text)));
        }
    }

    /// Runs hooks that only look on or add context.
    pub(super) async fn notify_hooks(&self, event: HookEvent, about: &str, fields: Value) -> Vec<String> {
        let verdict = self.fire(event, about, fields).await;
        verdict.contexts.iter().map(|text| context_words(event, text)).collect()
    }

    /// Asks hooks whether a conversation may be shortened. Returns why not.
    pub(super) async fn before_compacting(&self, trigger: &str, fields: Value) -> Option<String> {
        let verdict = self.fire(HookEvent::PreCompact, trigger, fields).await;
        verdict.block.or(verdict.stop)
    }

    /// Lets hooks know that something waits for the user. Nobody waits for them.
    pub(super) fn notify_waiting(&self, message: &str) {
        let agent = self.agent;
        if !agent.hooks.listen_to(HookEvent::Notification) {
            return;
        }
        let (listener, cwd, mode) = (agent.listener(), agent.place.cwd.clone(), agent.permissions.mode().id());
        let stop = agent.cancel.token();
        let fields = json!({"message": message, "notification_type": "permission_prompt"});
        agent.hooks.session_hooks().go_on(async move {
            let fields = if let Value::Object(fields) = fields { fields } else { Map::new() };
            let (event, about) = (HookEvent::Notification, "permission_prompt");
            listener.fire(HookMoment { event, about, cwd: &cwd, mode, fields, stop, ask: None }).await;
        });
    }

    /// Asks hooks whether the agent may end. Returns what it is to do instead.
    pub(super) async fn before_end(&self, last: &str, is_again: bool) -> Option<String> {
        let agent = self.agent;
        let event = if agent.depth == 0 { HookEvent::Stop } else { HookEvent::SubagentStop };
        let about = if agent.depth == 0 { "" } else { agent.hooks.agent_type() };
        let fields = json!({"stop_hook_active": is_again, "last_assistant_message": last});
        let verdict = self.fire(event, about, fields).await;
        let context = verdict.contexts.first().filter(|_| verdict.stop.is_none());
        verdict.block.as_ref().filter(|_| verdict.stop.is_none()).or(context).map(|why| context_words(event, why))
    }
}
