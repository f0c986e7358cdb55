//! The request of one turn, with the pictures that the conversation names.
//!
//! Owns which pictures are sent. Leaves the bytes to `session`, and their form to `provider`. Invariants: a model that is
//! known to see nothing is sent none, and the user is told before; a request holds a bounded number.

use std::sync::Arc;

use super::Driver;
use crate::agent::EventKind;
use crate::agent::context::trim::is_report;
use crate::message::{
    AssistantMessage, Attachments, Message, ResultPart, picture_mark, picture_numbers, sanitize_line,
};
use crate::provider::Request;
use crate::tool::ToolSet;

/// Pictures of one request: services take less of each where there are more.
pub(in crate::agent) const MAX_PICTURES: usize = 20;
/// Documents among them: with 20 pages in each, as many pages as services take.
const MAX_DOCUMENTS: usize = 5;
/// Bytes of them all, in base64: services take requests of 32 MB, about.
const MAX_BYTES: usize = 24 << 20;

impl Driver<'_> {
    pub(super) async fn request(&self, tools: &ToolSet) -> Request {
        Request {
            model: self.agent.model.id.clone(),
            system: self.agent.system.clone(),
            messages: self.transcript.messages().to_vec(),
            withheld: if tools.is_empty() { self.agent.tools.specs() } else { Arc::default() },
            tools: self.refused.without_refused(tools.specs()),
            max_output_tokens: self.output_tokens,
            // One that the model does not know would be refused.
            effort: self.agent.reasoning.effort.and_then(|wish| self.agent.model.effort(wish)),
            thinking_tokens: self.agent.reasoning.tokens,
            attachments: self.attachments().await,
            waits_long: self.waits_for_agents(),
            search: None,
        }
    }

    /// Returns `true` if the agent has sent others out, and may wait for the next ones longer than services keep what they
    /// have read.
    fn waits_for_agents(&self) -> bool {
        let replies = self.transcript.messages().iter().filter_map(|message| match message.as_ref() {
            Message::Assistant(reply) => Some(reply),
            _ => None,
        });
        replies.flat_map(AssistantMessage::tool_calls).any(is_report)
    }

    /// Returns the pictures that the conversation names, the latest if they are many. Those of the last message that are not
    /// sent are said.
    async fn attachments(&self) -> Arc<Attachments> {
        let messages = self.transcript.messages();
        let mut numbers = Vec::new();
        for number in messages.iter().rev().flat_map(|message| named(message)) {
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        if numbers.is_empty() {
            return Arc::default();
        }
        let mut unsent = named_since_reply(messages);
        let is_blind = self.agent.model.sees == Some(false);
        let pictures = self.agent.pictures.clone();
        let load = move || {
            let found = pictures.load(&numbers[..numbers.len().min(MAX_PICTURES)]);
            unsent
                .retain(|number| found.contains_key(number) || numbers.iter().skip(MAX_PICTURES).any(|n| n == number));
            let sent = if is_blind { Attachments::new() } else { fitting(found, &numbers) };
            unsent.retain(|number| !sent.contains_key(number));
            (sent, unsent)
        };
        let (sent, mut unsent) = tokio::task::spawn_blocking(load).await.unwrap_or_default();
        if !unsent.is_empty() {
            unsent.sort_unstable();
            unsent.dedup();
            let marks: Vec<String> = unsent.into_iter().map(picture_mark).collect();
            let name = sanitize_line(&self.agent.model.display);
            let text = if is_blind {
                format!("{name} sees no images: {} is not sent. /model chooses another one.", marks.join(", "))
            } else {
                format!(
                    "Not sent: {}. A request holds {MAX_PICTURES} images, {MAX_DOCUMENTS} of them PDF documents, and 24 MB.",
                    marks.join(", ")
                )
            };
            self.run.emit(EventKind::Notice { text }).await;
        }
        Arc::new(sent)
    }
}

/// Returns those of the pictures that fit into a request, of these numbers the first.
pub(in crate::agent) fn fitting(mut found: Attachments, numbers: &[u32]) -> Attachments {
    let (mut bytes, mut documents) = (0, 0);
    let first = numbers.iter().take_while(|number| {
        if let Some(one) = found.get(number) {
            bytes += one.data.len();
            documents += usize::from(one.is_document());
        }
        bytes <= MAX_BYTES && documents <= MAX_DOCUMENTS
    });
    let first: Vec<u32> = first.copied().collect();
    found.retain(|number, _| first.contains(number));
    found
}

/// Returns the numbers of the pictures that messages after the last reply name.
pub(super) fn named_since_reply(messages: &[Arc<Message>]) -> Vec<u32> {
    let is_reply = |message: &&Arc<Message>| matches!(message.as_ref(), Message::Assistant(_));
    messages.iter().rev().take_while(|message| !is_reply(message)).flat_map(|message| named(message)).collect()
}

/// Returns the numbers of the pictures that a message names.
pub(super) fn named(message: &Message) -> Vec<u32> {
    match message {
        Message::User { text } => picture_numbers(text),
        Message::Assistant(_) => Vec::new(),
        Message::ToolResults { results } => {
            let parts = results.iter().flat_map(|result| &result.content);
            parts
                .filter_map(|part| match part {
                    ResultPart::Attached { number } => Some(*number),
                    ResultPart::Text { .. } | ResultPart::Image { .. } => None,
                })
                .collect()
        }
    }
}
