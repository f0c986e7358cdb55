//! Tool calls and their results, as the model sees them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::nearly_json;

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

    /// Reads the JSON text of a call that is known to have come to its end: what is nearly JSON counts as what it means.
    #[must_use]
    pub fn parse_whole(json: &str) -> Self {
        match Self::parse(json) {
            Self::Malformed(text) => nearly_json::read_object(&text).map_or(Self::Malformed(text), Self::Object),
            read @ Self::Object(_) => read,
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

/// Returns the name of a tool without what servers and models put around it: `functions.Read:0`, `default_api:Read`,
/// `Read<|channel|>commentary`.
pub fn bare_name(name: &str) -> &str {
    let name = name.split("<|").next().unwrap_or_default();
    let name = name.trim_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'')).trim_end_matches("()");
    let numbered = name.rsplit_once(':').filter(|(_, number)| number.chars().all(|c| c.is_ascii_digit()));
    let name = numbered.map_or(name, |(name, _)| name);
    let bare = NAMESPACES.iter().find_map(|space| name.strip_prefix(space)?.strip_prefix(['.', ':', '/']));
    bare.unwrap_or(name)
}

/// What servers and models put before the name of a tool.
const NAMESPACES: [&str; 6] = ["functions", "function", "default_api", "tools", "tool", "api"];

/// Names that tools once had here, or have in other programs.
#[rustfmt::skip]
const OTHER_NAMES: [(&str, &[&str]); 14] = [
    ("Agent", &["Task", "run_subagent", "runSubagent", "spawn_subtask", "spawn_agent", "delegate_task", "new_task"]),
    ("Read", &["FileRead", "read_file", "readFile", "read_many_files", "view", "view_file", "open_file", "cat", "NotebookRead"]),
    ("Write", &["FileWrite", "write_file", "writeFile", "create_file", "create", "write_to_file", "new_file"]),
    ("Edit", &[
        "MultiEdit", "multi_edit", "FileEdit", "edit_file", "editFiles", "replace", "str_replace", "replace_string_in_file",
        "search_replace", "file_edit", "replace_in_file",
    ]),
    ("LS", &["list_directory", "list_dir", "listDirectory", "list_files", "list"]),
    ("Bash", &[
        "shell", "run_shell_command", "runCommands", "run_in_terminal", "execute_command", "exec_command", "local_shell",
        "container.exec", "shell_command", "run_terminal_cmd", "run_terminal_command", "run_command", "terminal", "execute_bash",
        "run_bash", "exec",
    ]),
    ("Grep", &["search", "search_file_content", "grep_search", "textSearch", "search_files", "ripgrep", "rg", "grep_files"]),
    ("Glob", &["file_search", "find_files", "glob_file_search", "glob_search", "find_path"]),
    ("TodoWrite", &["update_plan", "write_todos", "todo_write", "update_todo_list", "manage_todo_list"]),
    ("WebFetch", &["fetch", "web_fetch", "fetch_webpage", "fetch_url", "read_url_content", "url_fetch"]),
    ("WebSearch", &["web_search", "google_web_search", "search_web"]),
    ("AskUserQuestion", &["ask_user", "ask_question", "request_user_input"]),
    ("TaskOutput", &["BashOutput", "get_terminal_output", "AgentOutputTool", "read_background_output"]),
    ("TaskStop", &["KillShell", "KillBash", "kill_terminal"]),
];

/// Returns the form in which names of agents are compared: without regard to case, blanks, `_` and `-`.
pub fn loose_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}
