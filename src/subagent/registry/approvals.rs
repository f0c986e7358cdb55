//! The one queue of questions of a tree: from the agents that ask to the front end that answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::message::shell_word;
use crate::permission::{Answer, ApprovalId, ApprovalRequest, Approver, Grant};

/// Holds the questions that wait for a person. The front end sees them as events and answers by id.
#[derive(Debug, Clone, Default)]
pub struct ApprovalQueue {
    waiting: Arc<Mutex<HashMap<ApprovalId, oneshot::Sender<Answer>>>>,
}

impl ApprovalQueue {
    /// Answers a question. One that was withdrawn meanwhile is passed over.
    pub fn answer(&self, id: &ApprovalId, answer: Answer) {
        let asker = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(asker) = asker {
            let _ = asker.send(answer);
        }
    }
}

impl Approver for ApprovalQueue {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(request.id.clone(), sender);
        let place = Place { queue: self, id: request.id };
        async move {
            let _place = place;
            receiver.await.unwrap_or(Answer::No { comment: None })
        }
        .boxed()
    }
}

/// A question's place in the queue; leaving it withdraws the question.
struct Place<'a> {
    queue: &'a ApprovalQueue,
    id: ApprovalId,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.queue.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

/// Refuses every question, because nobody is there to answer it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unattended;

impl Approver for Unattended {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        let advice = unattended_advice(&request);
        async move { Answer::Nobody { advice } }.boxed()
    }
}

/// Returns what a model reads whose question nobody can answer.
pub fn unattended_advice(request: &ApprovalRequest) -> String {
    match request.rule() {
        Some(rule) => format!(
            "Nobody is there to approve this, and no --allowedTools entry outweighs what asks: {rule}. Continue without it."
        ),
        None => unattended_refusal(request.grant.as_ref()),
    }
}

/// Returns what a model reads about a grant that nobody can give. No entry is named that would allow more than was asked.
pub fn unattended_refusal(grant: Option<&Grant>) -> String {
    if let Some(Grant::Host(host)) = grant {
        return format!(
            "Nobody is there to let commands reach {host}. To allow it, start with \
             BELVEDERE_SANDBOX_HOSTS={host}, or add it to `hosts` under [sandbox] in the configuration. Continue \
             without it."
        );
    }
    match grant.and_then(Grant::as_rule) {
        Some(rule) => format!(
            "Nobody is there to approve this. To allow it, start with --allowedTools {} or another --permission-mode. \
             Continue without it.",
            shell_word(&rule)
        ),
        None => {
            "Nobody is there to approve this, and no --allowedTools entry allows exactly this. Continue without it."
                .to_owned()
        }
    }
}
