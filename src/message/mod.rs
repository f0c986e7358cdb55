//! The words every other part speaks: messages, tool calls and their results, ids, usage, transcripts.
//!
//! Owns the provider-neutral shape of a conversation. Leaves wire formats to `provider` and drawing to the
//! front ends. Invariant: nothing here does I/O or knows who reads it.

mod address;
mod attachment;
mod budget;
mod code_block;
pub mod columns;
mod diagnostic;
mod diff;
mod effort;
mod export_format;
mod external;
mod folder;
pub mod format;
mod host;
mod id;
mod json;
mod language_server;
mod launcher;
mod list;
mod look_alike;
mod mention;
mod nearly_json;
mod path;
mod pixels;
mod provider_row;
mod report;
mod sanitize;
mod search;
mod secret;
mod served;
mod server_lists;
mod shrinking;
mod skill;
mod speakers;
mod tool;
mod transcript;
mod transport;
mod url_pattern;
mod usage;
mod variables;

pub use address::is_near;
pub use attachment::{
    Attachment, Attachments, DOCUMENT_BYTES, PDF, PICTURE_FILE_BYTES, PictureFacts, attachment_type, checked_picture,
    picture_mark, picture_numbers, picture_type, too_large, without_picture_marks,
};
pub use budget::{BudgetLimit, Dollars, parse_tokens};
pub use code_block::{CodeBlocks, is_quoted};
pub use diagnostic::Diagnostic;
pub use diff::{DiffLine, FileDiff, Hunk, LineKind, line_end};
pub use effort::{Effort, EffortWish, Reasoning};
pub use export_format::ExportFormat;
pub use external::ExternalProgram;
pub use folder::{FolderState, MAX_PACK, extension};
pub use format::grouped;
pub use host::{HostError, HostPort, is_host_below, is_near_name};
pub use id::{AgentId, MessageId};
pub use json::escaped_json;
pub use language_server::LanguageServerSettings;
pub use launcher::{LauncherFolder, LauncherSettings, RsyncFolder};
pub use list::split_list;
pub use mention::{Mention, UserText, mentions};
pub use path::{serialize_path, serialize_paths, without_dots};
pub use provider_row::{CacheTtl, Dialect, ModelSetup, ModelSizes, ProviderRow, WireFormat, is_variable};
pub use report::{REPORT_TAGS, ReportParts, report_markdown, summary_of, tagged};
pub use sanitize::{reveal, reveal_line, sanitize, sanitize_line, shell_word, shown_name};
pub use search::{SearchEngineKind, SearchForm, SearchHit, SearchSettings, ServiceSearch};
pub use secret::{KeySettings, Secret};
pub use served::{ServedKind, ServedStep};
pub use server_lists::{ServerLists, ServerPattern, ServerPlace};
pub use shrinking::{FittedPicture, Thumbnail};
pub use skill::{LoadedSkill, SkillHooks, SkillPiece};
pub use speakers::{escape_tags, reminded, reminder, speaks, tag_name, without_speakers};
pub use tool::{ResultPart, ToolCall, ToolInput, ToolResult, bare_name, canonical_name, loose_name};
pub use transcript::{Counted, INTERRUPTED, Transcript};
pub use transport::{TransportSettings, is_key_header};
pub use url_pattern::allows_url;
pub use usage::{Spent, Usage, UsageTable};
pub use variables::expand_variables;

use serde::{Deserialize, Serialize};

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// What a user (or, for a subagent, its parent) said.
    User { text: String },
    /// What the model said, thought and asked for in one turn.
    Assistant(AssistantMessage),
    /// The results of all tool calls of the assistant message before it, in the order of the calls.
    ToolResults { results: Vec<ToolResult> },
}

impl Message {
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    pub content: Vec<Block>,
    /// Who gave it, if it holds more than text: what only that model can read goes back to no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ReplyOrigin>,
}

/// The model that gave a reply, and the service that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyOrigin {
    pub service: String,
    pub model: String,
}

impl AssistantMessage {
    #[must_use]
    pub fn new(content: Vec<Block>) -> Self {
        Self { content, origin: None }
    }

    /// Notes who gave the reply, where it holds more than text.
    pub fn set_origin(&mut self, service: &str, model: &str) {
        if self.content.iter().any(|block| !matches!(block, Block::Text { .. })) {
            self.origin = Some(ReplyOrigin { service: service.to_owned(), model: model.to_owned() });
        }
    }

    /// Returns the visible text of all text blocks, joined by blank lines.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|block| match block {
                Block::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
                _ => None,
            })
            .collect();
        texts.join("\n\n")
    }

    /// Returns the tool calls in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns `true` if the message holds nothing that a provider would accept back.
    pub fn is_empty(&self) -> bool {
        self.content.iter().all(|block| match block {
            Block::Text { text } => text.trim().is_empty(),
            Block::Thinking { .. } | Block::RedactedThinking { .. } => true,
            Block::ToolCall(_) | Block::Served(_) => false,
        })
    }
}

/// One part of an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Visible text, Markdown.
    Text {
        text: String,
    },
    /// The model's reasoning.
    Thinking {
        text: String,
        /// The provider's proof of origin; Anthropic refuses a thinking block that comes back without it.
        signature: Option<String>,
    },
    /// Reasoning that the provider encrypted; sent back unchanged.
    RedactedThinking {
        /// Opaque bytes, as the provider sent them.
        data: String,
    },
    ToolCall(ToolCall),
    /// What the service did itself.
    Served(ServedStep),
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name the model calls it by.
    pub name: String,
    /// What it does and when to use it, for the model.
    pub description: String,
    /// JSON Schema of the input, an object schema.
    pub input_schema: serde_json::Value,
}
