//! What models and other programs call the parameters of our tools.
//!
//! Owns the other names, and which parameters say nothing of what is done. Invariant: a name stands for one field of one
//! tool, and a parameter that may restrict is never one of those that are passed over.

use serde_json::Value;

use crate::message::loose_name;
use crate::tool::Args;

/// For each tool: a field, and what else it is called. Another spelling of a name, such as `filePath`, is the same name. Fields
/// that no schema shows stand here, too.
#[rustfmt::skip]
const OTHER_NAMES: &[(&str, &str, &[&str])] = &[
    ("Agent", "prompt", &["task", "instructions", "query", "message"]),
    ("Agent", "description", &["title", "task_name"]),
    ("Agent", "subagent_type", &["agent_type", "agent", "agent_name", "subagent", "subagent_name"]),
    ("Agent", "allowed_tools", &["tools"]),
    ("Agent", "run_in_background", &["background", "is_background"]),
    ("Bash", "command", &["cmd", "script", "bash_command", "shell_command", "command_line"]),
    ("Bash", "timeout", &["timeout_ms"]),
    ("Bash", "dangerouslyDisableSandbox", &["outside_sandbox", "with_escalated_permissions"]),
    ("Bash", "run_in_background", &["background", "is_background"]),
    ("Edit", "file_path", &["path", "file", "filename", "target_file", "absolute_path"]),
    ("Edit", "old_string", &["old_str", "old_text", "old", "search", "search_string"]),
    ("Edit", "new_string", &["new_str", "new_text", "new", "replacement", "replace_string"]),
    ("Edit", "replace_all", &["allow_multiple"]),
    ("Edit", "expected_replacements", &[]),
    ("Edit", "whole_lines", &[]),
    ("Glob", "pattern", &["glob", "glob_pattern", "file_pattern", "query"]),
    ("Glob", "path", &["dir", "directory", "dir_path", "folder", "target_directory", "cwd"]),
    ("Grep", "pattern", &["query", "regex", "search_term", "search_pattern", "pattern_to_search"]),
    ("Grep", "path", &["dir", "directory", "dir_path", "file_path", "folder", "search_path", "cwd"]),
    ("Grep", "glob", &["include", "include_pattern", "file_pattern", "glob_pattern"]),
    ("Grep", "type", &["file_type"]),
    ("Grep", "-A", &["after_context", "lines_after"]),
    ("Grep", "-B", &["before_context", "lines_before"]),
    ("Grep", "-C", &["context", "context_lines"]),
    ("Grep", "-i", &["ignore_case", "case_insensitive"]),
    ("Grep", "-n", &["line_numbers", "show_line_numbers"]),
    ("Grep", "head_limit", &["max_results", "limit"]),
    ("LS", "path", &["dir", "directory", "dir_path", "file_path", "folder", "target_directory"]),
    ("LS", "ignore", &["ignore_patterns", "exclude"]),
    ("Read", "file_path", &["path", "file", "filename", "target_file", "absolute_path", "notebook_path"]),
    ("Read", "offset", &["start_line", "line_start"]),
    ("Read", "limit", &["max_lines", "num_lines", "line_count"]),
    ("Skill", "skill", &["name", "command", "skill_name"]),
    ("Skill", "args", &["arguments"]),
    ("Symbols", "query", &["name", "symbol", "symbol_name"]),
    ("Symbols", "path", &["dir", "directory", "file_path"]),
    ("Symbols", "limit", &["head_limit", "max_results"]),
    ("TaskOutput", "task_id", &["bash_id", "shell_id", "id"]),
    ("TaskOutput", "timeout_ms", &["timeout"]),
    ("TaskStop", "task_id", &["bash_id", "shell_id", "id"]),
    ("TodoWrite", "todos", &["plan", "items", "tasks", "todo_list"]),
    ("WebFetch", "url", &["uri", "link"]),
    ("WebFetch", "prompt", &["description", "query"]),
    ("WebFetch", "offset", &["start_index"]),
    ("WebSearch", "query", &["q", "search_query", "search_term"]),
    ("WebSearch", "allowed_domains", &["domains", "include_domains"]),
    ("WebSearch", "blocked_domains", &["exclude_domains"]),
    ("Write", "file_path", &["path", "file", "filename", "target_file", "absolute_path"]),
    ("Write", "content", &["contents", "file_text", "text", "file_content", "code_content"]),
];

/// Words about a call, which nothing is done by.
const REMARKS: [&str; 18] = [
    "description",
    "explanation",
    "reason",
    "reasoning",
    "rationale",
    "justification",
    "thought",
    "thoughts",
    "thinking",
    "instruction",
    "summary",
    "purpose",
    "intent",
    "comment",
    "title",
    "goal",
    "tool_action",
    "tool_summary",
];

/// For each tool: parameters of other programs that say how a result is handed over, and not what is done.
#[rustfmt::skip]
const MANNERS: &[(&str, &[&str])] = &[
    ("Bash", &["yield_time_ms", "max_output_tokens", "max_output_length", "login", "shell", "tty"]),
    ("LS", &["depth", "max_depth", "recursive"]),
    ("Read", &["should_read_entire_file"]),
    ("WebFetch", &["format", "timeout", "max_length", "raw"]),
];

/// Names under which a whole input is sometimes wrapped.
const WRAPPERS: [&str; 6] = ["input", "arguments", "parameters", "params", "args", "tool_input"];
/// Letters of the shortest name that may be spelled otherwise: `-A` and `-a` are two.
const MIN_LETTERS: usize = 3;

/// Returns the fields of a tool, those that its schema does not show among them.
pub(super) fn fields_of<'a>(tool: &str, properties: &'a Value) -> Vec<&'a str> {
    let shown = properties.as_object().into_iter().flat_map(|all| all.keys().map(String::as_str));
    let hidden = OTHER_NAMES.iter().filter(|(of, field, _)| *of == tool && properties.get(*field).is_none());
    shown.chain(hidden.map(|(_, field, _)| *field)).collect()
}

/// Returns the field that a parameter means, if the call does not have that one as well; else its own name.
pub(super) fn meant<'a>(tool: &str, name: &'a str, args: &Args, fields: &[&'a str]) -> &'a str {
    if fields.contains(&name) {
        return name;
    }
    let letters = loose_name(name);
    let is_it = |other: &str| other == name || letters.len() >= MIN_LETTERS && loose_name(other) == letters;
    let others = || OTHER_NAMES.iter().find(|(of, _, names)| *of == tool && names.iter().any(|other| is_it(other)));
    let field = fields.iter().find(|field| is_it(field)).or_else(|| {
        let (_, field, _) = others()?;
        fields.iter().find(|known| *known == field)
    });
    field.filter(|field| !args.contains_key(**field)).map_or(name, |field| *field)
}

/// Returns the input that a call holds under one name in place of the parameters.
pub(super) fn wrapped(args: &Args, fields: &[&str]) -> Option<Args> {
    let (name, value) = args.iter().next().filter(|_| args.len() == 1)?;
    let is_wrapper = WRAPPERS.iter().any(|wrapper| loose_name(wrapper) == loose_name(name));
    if !is_wrapper || fields.contains(&name.as_str()) {
        return None;
    }
    match value {
        Value::Object(inner) => Some(inner.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    }
}

/// Returns `true` for a parameter that a tool does not have and that nothing of what it does could hang on.
pub(super) fn is_beside_the_point(tool: &str, name: &str, value: &Value) -> bool {
    let letters = loose_name(name);
    let is_one_of = |names: &[&str]| names.iter().any(|known| loose_name(known) == letters);
    let is_remark = value.is_string() && is_one_of(&REMARKS);
    let is_manner = MANNERS.iter().any(|(of, names)| *of == tool && is_one_of(names));
    // A name without a letter is a slip of the pen.
    is_remark || is_manner || !name.contains(char::is_alphanumeric)
}
