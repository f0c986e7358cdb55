//! `/trust` in an editor: what the folder brings is shown, and used once the user says yes.
//!
//! Invariant: a yes is for what was shown, and for nothing that has come since.

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::approvals::selected;
use super::client::Client;
use super::schema::{
    CLIENT_METHOD_NAMES, Error, PermissionOption, PermissionOptionKind, RequestId, RequestPermissionRequest, SessionId,
    SessionUpdate, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use super::shown;
use super::updates::{Updates, updated};
use crate::agent::{LogEvent, SessionEvent};
use crate::message::sanitize_line;
use crate::permission::{BroughtItem, FolderTrust};

const YES: &str = "trust";
const NO: &str = "no";

type Answered = Result<Box<RawValue>, Error>;

/// A question that is not answered.
struct OpenQuestion {
    request: RequestId,
    call: ToolCallId,
    shown: Vec<BroughtItem>,
    answer: oneshot::Receiver<Answered>,
}

/// What is known of the folder.
#[derive(Default)]
pub(super) struct Trusting {
    trust: Option<FolderTrust>,
    open: Option<OpenQuestion>,
}

impl Trusting {
    pub(super) fn apply(&mut self, event: &LogEvent) {
        if let Some(SessionEvent::FolderTrust { trust }) = event.of_session() {
            self.trust = Some(trust.clone());
        }
    }

    /// Asks. Returns what shows the folder, and the line that asks; `Err` says why there is nothing to ask.
    pub(super) fn ask(
        &mut self,
        request: RequestId,
        (client, session): (&Client, SessionId),
        updates: &mut Updates,
    ) -> Result<(SessionUpdate, String), String> {
        let nothing = "This folder brings nothing that needs your trust.";
        let trust = self.trust.as_ref().filter(|trust| !trust.brings.is_empty()).ok_or(nothing)?;
        let lines: Vec<String> = trust.lines().map(|line| format!("- {}", sanitize_line(&line))).collect();
        let words = format!("{} · {}\n\n{}", trust.summary(), trust.state(), lines.join("\n"));
        if trust.waiting().is_empty() {
            return Err(words);
        }
        if self.open.is_some() {
            return Err("You are asked already.".to_owned());
        }
        let call = updates.next_id("trust");
        let title = "Use what this folder brings?";
        let told = ToolCall::new(call.clone(), title)
            .kind(ToolKind::Other)
            .status(ToolCallStatus::Pending)
            .content(vec![shown::text(words)]);
        let fields = ToolCallUpdateFields::new().title(title.to_owned()).content(told.content.clone());
        let options = vec![
            PermissionOption::new(YES, "Trust it, now and later", PermissionOptionKind::AllowAlways),
            PermissionOption::new(NO, "Do not use it", PermissionOptionKind::RejectOnce),
        ];
        let asked = RequestPermissionRequest::new(session, ToolCallUpdate::new(call.clone(), fields), options);
        let (_, line, answer) = client.ask(CLIENT_METHOD_NAMES.session_request_permission, &asked);
        self.open = Some(OpenQuestion { request, call, shown: trust.brings.clone(), answer });
        Ok((SessionUpdate::ToolCall(told), line))
    }

    /// Waits for the answer; `None` if the client is gone. Waits for ever if nothing was asked.
    pub(super) async fn answered(&mut self) -> Option<Answered> {
        match &mut self.open {
            Some(open) => (&mut open.answer).await.ok(),
            None => std::future::pending().await,
        }
    }

    /// Takes the answer: the request that it ends, what the client is told, and what the user trusts from now on.
    pub(super) fn take(
        &mut self,
        answer: Option<Answered>,
    ) -> Option<(RequestId, SessionUpdate, Option<Vec<BroughtItem>>)> {
        let open = self.open.take()?;
        let is_yes =
            answer.is_some_and(|answer| selected(answer.as_deref()).is_ok_and(|id| id.as_deref() == Some(YES)));
        let status = if is_yes { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let update = updated(&open.call, ToolCallUpdateFields::new().status(status));
        Some((open.request, update, is_yes.then_some(open.shown)))
    }
}
