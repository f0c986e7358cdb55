//! Tool calls and their results, as the model sees them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, or one made up where the provider sends none; unique in a transcript.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    pub input: ToolInput,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolInput {
    /// A JSON object, the only shape a tool accepts.
    Object(Map<String, Value>),
    /// What the model sent instead; kept so that the error can show it and the model can mend it.
    Malformed(String),
}

impl ToolInput {
    /// Reads the accumulated JSON text of a call; no text at all counts as `{}`.
    #[must_use]
    pub fn parse(json: &str) -> Self {
        if json.trim().is_empty() {
            return Self::Object(Map::new());
        }
        match serde_json::from_str::<Value>(json) {
            Ok(Value::Object(map)) => Self::Object(map),
            _ => Self::Malformed(json.to_owned()),
        }
    }

    pub fn str(&self, key: &str) -> Option<&str> {
        match self {
            Self::Object(map) => map.get(key).and_then(Value::as_str),
            Self::Malformed(_) => None,
        }
    }
}

/// What came of one tool call, as the model reads it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub call_id: String,
    pub content: Vec<ResultPart>,
    #[serde(default)]
    pub is_error: bool,
}

impl ToolResult {
    /// Returns a successful result of one text.
    #[must_use]
    pub fn text(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { call_id: call_id.into(), content: vec![ResultPart::Text { text: text.into() }], is_error: false }
    }

    /// Returns a failed result that tells the model what to do next.
    #[must_use]
    pub fn error(call_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(call_id, text) }
    }

    /// Returns all text parts joined by line ends.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> = self.content.iter().filter_map(ResultPart::text).collect();
        texts.join("\n")
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultPart {
    Text {
        text: String,
    },
    /// A picture, or a PDF document, for models that see.
    Image {
        /// MIME type, such as `image/png`.
        media_type: String,
        /// The file's bytes in base64.
        data: String,
    },
    /// A picture that the session keeps, by its number.
    Attached {
        number: u32,
    },
}

impl ResultPart {
    /// Returns its text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image { .. } | Self::Attached { .. } => None,
        }
    }
}

/// Returns today's name of a tool that was once, or is elsewhere, called otherwise, without regard to case.
pub fn canonical_name(name: &str) -> &str {
    let name = name.trim();
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
    OTHER_NAMES.iter().find(|(_, names)| is_one_of(names)).map_or(name, |(today, _)| today)
}

/// Names that tools once had here, or have in other programs.
const OTHER_NAMES: [(&str, &[&str]); 9] = [
    ("Agent", &["Task", "run_subagent", "runSubagent", "spawn_subtask"]),
    ("Read", &["FileRead", "read_file", "readFile", "read_many_files"]),
    ("Write", &["FileWrite", "write_file", "writeFile", "create_file"]),
    ("Edit", &["MultiEdit", "FileEdit", "edit_file", "editFiles", "replace", "str_replace", "replace_string_in_file"]),
    ("LS", &["list_directory", "list_dir", "listDirectory"]),
    ("Bash", &["shell", "run_shell_command", "runCommands", "run_in_terminal", "execute_command"]),
    ("Grep", &["search", "search_file_content", "grep_search", "textSearch"]),
    ("TaskOutput", &["BashOutput"]),
    ("TaskStop", &["KillShell", "KillBash"]),
];

/// Returns the form in which names of agents are compared: without regard to case, blanks, `_` and `-`.
pub fn loose_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
