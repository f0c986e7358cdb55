//! Hooks at the beginning of a run and at its end.
//!
//! Owns when they are asked whether the agent may end. Leaves what they are told to `agent::hooks`. Invariant: they do not
//! keep an agent going for ever.

use serde_json::json;

use super::room::Cause;
use super::{Driver, InboxMessage};
use crate::agent::EventKind;
use crate::hook::HookEvent;

/// How often in a row hooks may keep an agent from ending.
const MAX_KEPT_GOING: u32 = 8;

impl Driver<'_> {
    /// Lets hooks know that a subagent begins, and takes in what they say to it.
    pub(super) async fn begin_with_hooks(&mut self) {
        if self.agent.depth == 0 {
            return;
        }
        let about = self.agent.hooks.agent_type().to_owned();
        for text in self.run.notify_hooks(HookEvent::SubagentStart, &about, json!({})).await {
            self.receive(InboxMessage::of_program(&text)).await;
        }
    }

    /// Returns `true` if hooks give an agent that has answered something more to do, which it has read then.
    pub(super) async fn must_go_on(&mut self) -> bool {
        let agent = self.agent;
        // What waits for it is read first; hooks are asked at its real end.
        if !agent.inbox.is_idle(agent.at_end) || agent.work.cause().is_some() {
            return false;
        }
        let (last, is_again) = (self.answer.join(""), self.kept_going > 0);
        let Some(words) = self.run.before_end(&last, is_again).await else {
            self.kept_going = 0;
            return false;
        };
        if agent.cancel.cause().is_some() {
            return false;
        }
        if self.kept_going == MAX_KEPT_GOING {
            self.kept_going = 0;
            let text = format!("hooks have kept this agent going {MAX_KEPT_GOING} times in a row; it ends now");
            self.run.emit(EventKind::Notice { text }).await;
            return false;
        }
        self.kept_going += 1;
        self.receive(InboxMessage::of_program(&words)).await;
        true
    }

    /// Asks hooks whether the conversation may be shortened. Returns why not.
    pub(super) async fn before_compacting(&self, cause: Cause<'_>) -> Option<String> {
        let (trigger, wish) = trigger(cause);
        let fields = json!({"trigger": trigger, "custom_instructions": wish});
        self.run.before_compacting(trigger, fields).await
    }

    /// Lets hooks know of a summary. What they say stands behind it, as at the beginning of a session.
    pub(super) async fn after_compacting(&mut self, cause: Cause<'_>, summary: &str) {
        let trigger = trigger(cause).0;
        let fields = json!({"trigger": trigger, "compact_summary": summary});
        let mut texts = self.run.notify_hooks(HookEvent::PostCompact, trigger, fields).await;
        if self.agent.depth == 0 {
            let fields = json!({"source": "compact", "model": self.agent.model.id});
            texts.extend(self.run.notify_hooks(HookEvent::SessionStart, "compact", fields).await);
        }
        for text in texts {
            self.receive(InboxMessage::of_program(&text)).await;
        }
    }
}

fn trigger(cause: Cause<'_>) -> (&'static str, &str) {
    match cause {
        Cause::Asked(wish) => ("manual", wish.unwrap_or_default()),
        Cause::Near | Cause::TooLong => ("auto", ""),
    }
}
