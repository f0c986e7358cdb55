//! A call as hooks know it: under the names that Claude Code gives to tools and to what they are called with.
//!
//! Pure. Owns the other spellings that our tools take. Invariant: a guard that looks for a field finds it, however the
//! model has spelled it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::message::loose_name;

/// For each tool: a field, and what it may be called in a call.
#[rustfmt::skip]
const FIELDS: &[(&str, &str, &[&str])] = &[
    ("Bash", "command", &["cmd"]),
    ("Bash", "timeout", &[]),
    ("Bash", "description", &[]),
    ("Bash", "dangerouslyDisableSandbox", &["outside_sandbox"]),
    ("Read", "file_path", &["path", "filePath", "file"]),
    ("Read", "offset", &[]),
    ("Read", "limit", &[]),
    ("Write", "file_path", &["path", "filePath", "file"]),
    ("Write", "content", &["contents"]),
    ("Edit", "file_path", &["path", "filePath", "file"]),
    ("Edit", "old_string", &["oldString", "old_str"]),
    ("Edit", "new_string", &["newString", "new_str"]),
    ("Edit", "replace_all", &["replaceAll"]),
    ("Glob", "pattern", &[]),
    ("Glob", "path", &["dir", "directory"]),
    ("Grep", "pattern", &[]),
    ("Grep", "path", &["dir", "directory", "file_path"]),
    ("Grep", "glob", &["include"]),
    ("Grep", "output_mode", &[]),
    ("Grep", "multiline", &[]),
    ("Grep", "head_limit", &[]),
    ("Grep", "-C", &["context"]),
    ("LS", "path", &["dir", "directory", "file_path"]),
    ("LS", "ignore", &[]),
    ("WebFetch", "url", &["uri", "link"]),
    ("WebFetch", "prompt", &["description"]),
    ("Agent", "prompt", &["task"]),
    ("Agent", "description", &[]),
    ("Agent", "subagent_type", &["agent_type"]),
    ("Agent", "model", &[]),
    ("Agent", "context", &[]),
    ("Agent", "allowed_tools", &[]),
    ("Agent", "run_in_background", &[]),
    ("Agent", "isolation", &[]),
    ("Agent", "resume", &[]),
    ("TaskOutput", "task_id", &[]),
    ("TaskStop", "task_id", &[]),
];

/// Letters of the shortest field that may be spelled otherwise.
const MIN_LETTERS: usize = 3;

/// Returns what a tool is called with as hooks read it. Paths of files are absolute.
#[must_use]
pub fn hook_tool_input(tool: &str, input: &Map<String, Value>, cwd: &Path) -> Map<String, Value> {
    let fields: Vec<_> = FIELDS.iter().filter(|(of, ..)| *of == tool).collect();
    let meant = |name: &str| {
        let exactly = || fields.iter().find(|(_, field, _)| *field == name);
        let other = || fields.iter().find(|(_, field, names)| names.contains(&name) && !input.contains_key(*field));
        let loosely = || {
            let letters = loose_name(name);
            let is_it = |field: &str| letters.len() >= MIN_LETTERS && loose_name(field) == letters;
            fields.iter().find(|(_, field, _)| is_it(field) && !input.contains_key(*field))
        };
        exactly().or_else(other).or_else(loosely).map_or(name, |(_, field, _)| *field).to_owned()
    };
    let given = input.iter().filter(|(_, value)| !value.is_null());
    let mut read: Map<String, Value> = given.map(|(name, value)| (meant(name), value.clone())).collect();
    if let (Some(Value::String(path)), "Read" | "Write" | "Edit") = (read.get_mut("file_path"), tool) {
        *path = cwd.join(&*path).to_string_lossy().into_owned();
    }
    read
}

/// Returns what a tool has answered, in the shape that hooks know of this tool.
#[must_use]
pub fn hook_tool_response(tool: &str, input: &Map<String, Value>, text: &str, is_error: bool) -> Value {
    match tool {
        "Bash" => json!({"stdout": text, "stderr": "", "interrupted": false, "isImage": false}),
        "Read" | "Write" | "Edit" => {
            json!({"filePath": input.get("file_path"), "success": !is_error, "content": text})
        }
        _ => json!({"content": text, "success": !is_error}),
    }
}
