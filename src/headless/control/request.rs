//! What a line of standard input says.
//!
//! Owns its format. Leaves carrying it out to the session. Invariant: what is not understood is refused, in words.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Beginning;
use crate::definition::Catalog;
use crate::definition::skill::SkillCatalog;
use crate::hook::HookHandler;
use crate::message::{UserText, picture_mark};
use crate::session::PictureStore;

/// A line of the program.
#[derive(Debug)]
pub(super) enum ProgramLine {
    /// One that asks for nothing.
    Nothing,
    User(ProgramMessage),
    Control {
        request_id: String,
        request: ControlRequest,
    },
    /// The answer to a request of ours.
    Answer {
        request_id: String,
        response: Result<Value, String>,
    },
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    User { message: ProgramMessage },
    ControlRequest { request_id: String, request: ControlRequest },
    ControlResponse { response: Response },
    ControlCancelRequest,
    KeepAlive,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum ControlRequest {
    Initialize(Box<InitializeRequest>),
    Interrupt,
    SetPermissionMode {
        mode: String,
    },
    SetModel {
        #[serde(default)]
        model: Option<String>,
    },
    SetMaxThinkingTokens {
        #[serde(default)]
        max_thinking_tokens: Option<u32>,
    },
    /// Changes some of what settings files say.
    ApplyFlagSettings {
        settings: Map<String, Value>,
    },
    McpStatus,
    McpReconnect {
        #[serde(rename = "serverName")]
        server: String,
    },
    /// What a server of the program sends by itself.
    McpMessage {
        server_name: String,
        message: Value,
    },
    StopTask {
        task_id: String,
    },
    #[serde(other)]
    Unknown,
}

/// What a program brings, and what its conversation is to be.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct InitializeRequest {
    pub(super) hooks: Value,
    pub(super) agents: Option<Value>,
    /// The servers that live in it, and what is said of some of them.
    sdk_mcp_servers: Option<Vec<String>>,
    sdk_mcp_server_configs: Option<Map<String, Value>>,
    system_prompt: Option<Words>,
    append_system_prompt: Option<String>,
    json_schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl InitializeRequest {
    /// Returns what the session begins with.
    ///
    /// # Errors
    /// Returns what cannot be read.
    pub(super) fn beginning(self) -> Result<Beginning, String> {
        let (hooks, said) = HookHandler::callbacks(&self.hooks)?;
        let mut configs = self.sdk_mcp_server_configs.unwrap_or_default();
        let entry = |name: String| {
            let mut entry = configs.remove(&name).unwrap_or_else(|| json!({}));
            if let Some(entry) = entry.as_object_mut() {
                entry.insert("type".to_owned(), "sdk".into());
            }
            (name, entry)
        };
        Ok(Beginning {
            agents: self.agents.map(|agents| agents.to_string()),
            hooks,
            said,
            servers: self.sdk_mcp_servers.unwrap_or_default().into_iter().map(entry).collect(),
            prompt: self.system_prompt.map(|words| match words {
                Words::One(text) => text,
                Words::Several(texts) => texts.join("\n\n"),
            }),
            appended: self.append_system_prompt,
            schema: self.json_schema.map(|schema| schema.to_string()),
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
enum Response {
    Success {
        request_id: String,
        #[serde(default)]
        response: Value,
    },
    Error {
        request_id: String,
        #[serde(default)]
        error: String,
    },
}

/// A message of the user.
#[derive(Debug, Deserialize)]
pub(super) struct ProgramMessage {
    content: Content,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part {
    Text {
        text: String,
    },
    Image {
        source: Source,
    },
    Document {
        source: Source,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source {
    Base64 {
        data: String,
    },
    #[serde(other)]
    Other,
}

impl ProgramLine {
    /// Reads a line.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub(super) fn read(line: &[u8]) -> Result<Self, String> {
        if line.trim_ascii().is_empty() {
            return Ok(Self::Nothing);
        }
        let line: Line = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        Ok(match line {
            Line::User { message } => Self::User(message),
            Line::ControlRequest { request_id, request } => Self::Control { request_id, request },
            Line::ControlResponse { response: Response::Success { request_id, response } } => {
                Self::Answer { request_id, response: Ok(response) }
            }
            Line::ControlResponse { response: Response::Error { request_id, error } } => {
                Self::Answer { request_id, response: Err(error) }
            }
            Line::ControlCancelRequest | Line::KeepAlive => Self::Nothing,
        })
    }
}

impl ProgramMessage {
    /// Returns what it says, with the marks of its pictures, which are kept.
    ///
    /// # Errors
    /// Returns what of it cannot be sent.
    pub(super) async fn said(self, pictures: &PictureStore) -> Result<UserText, String> {
        let parts = match self.content {
            Content::Text(text) => return Ok(UserText::typed(text)),
            Content::Parts(parts) => parts,
        };
        let pictures = pictures.clone();
        let read = move || {
            let texts: Result<Vec<String>, String> = parts.into_iter().map(|part| part.text(&pictures)).collect();
            texts.map(|texts| UserText::typed(texts.join("\n\n")))
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

impl Part {
    fn text(self, pictures: &PictureStore) -> Result<String, String> {
        let data = match self {
            Self::Text { text } => return Ok(text),
            Self::Image { source: Source::Base64 { data } } | Self::Document { source: Source::Base64 { data } } => {
                data
            }
            _ => return Err("a message holds texts, and images and documents in base64".to_owned()),
        };
        let bytes = base64::engine::general_purpose::STANDARD.decode(data);
        let bytes = bytes.map_err(|error| format!("an image is not in base64: {error}"))?;
        pictures.attach(bytes).map(|(number, _)| picture_mark(number)).map_err(|why| format!("an image {why}"))
    }
}

/// Answers the first request of a program: what it can ask for.
pub(super) fn initialized(catalog: &Catalog, skills: &SkillCatalog, hooks_applied: bool) -> Value {
    let agents = catalog.names().into_iter().filter_map(|name| {
        let definition = catalog.get(&name)?;
        Some(json!({"name": definition.name, "description": definition.description}))
    });
    let commands = skills.all().into_iter().filter(|skill| skill.is_for_users).map(
        |skill| json!({"name": skill.name, "description": skill.description, "argumentHint": skill.argument_hint}),
    );
    json!({
        "commands": commands.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "models": [],
        "account": {},
        "output_style": "default",
        "available_output_styles": ["default"],
        "pid": std::process::id(),
        "hook_on_failure_supported": true,
        "hooks_applied": hooks_applied,
    })
}
