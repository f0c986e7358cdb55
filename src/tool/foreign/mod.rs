//! Calls as other programs' tools are called, put as calls of our own.
//!
//! Owns which of our tools does the same, and with what input. Leaves names of parameters to `input`, patches to `patch` and
//! words on what has no like to `advice`. Invariant: whatever is asked, looked at by hooks and carried out are the calls
//! that come out of here; what cannot be said in our tools is not done at all.

mod advice;
mod patch;

use std::path::Path;

use serde_json::{Value, json};

use self::advice::advice_on;
use self::patch::PatchChange;
use super::file::path::lexical;
use super::limit::bound_text;
use super::{Args, ToolOutput, ToolSet};
use crate::message::{ToolCall, ToolInput, bare_name, loose_name};

/// Calls that one call may stand for.
const MAX_STEPS: usize = 50;
/// What the folder is called that a command is to run in.
const FOLDERS: [&str; 7] = ["workdir", "cwd", "dir", "directory", "dir_path", "working_directory", "working_dir"];
/// Characters of an input that is shown as it came.
const SHOWN_CHARS: usize = 400;

/// What a call asks of our tools.
pub struct PlainCall {
    /// Calls of our tools under their own names, in order; at least one.
    pub steps: Vec<ToolCall>,
    /// What the model is to know of how it was read.
    pub notes: Vec<String>,
}

/// Puts a call as calls of the tools that are offered.
///
/// # Errors
/// Returns what is wrong with the call, and which tool to use instead.
pub fn plain_call(tools: &ToolSet, call: &ToolCall, cwd: &Path) -> Result<PlainCall, ToolOutput> {
    let ToolInput::Object(args) = &call.input else { return Err(why_not(tools, call)) };
    let is_own = tools.names().any(|name| name == call.name && name.starts_with("mcp__"));
    let steps = if is_own { vec![(call.name.clone(), args.clone())] } else { steps_of(tools, &call.name, args, cwd)? };
    let mut plain = PlainCall { steps: Vec::with_capacity(steps.len()), notes: Vec::new() };
    for (name, args) in steps {
        let tool = tools.find(&name).ok_or_else(|| unknown(tools, &call.name))?;
        let read = tool.plain(&args);
        for note in read.notes {
            if !plain.notes.contains(&note) {
                plain.notes.push(note);
            }
        }
        let input = ToolInput::Object(read.args.into_owned());
        plain.steps.push(ToolCall { id: call.id.clone(), name: tool.name().to_owned(), input });
    }
    Ok(plain)
}

/// Says why a call cannot be made: its tool is not there, or its input cannot be read.
pub fn why_not(tools: &ToolSet, call: &ToolCall) -> ToolOutput {
    let (Some(_), ToolInput::Malformed(text)) = (tools.find(&call.name), &call.input) else {
        return unknown(tools, &call.name);
    };
    ToolOutput::error(format!(
        "The input of {} is not a JSON object. Send it again, complete. What arrived: {}",
        call.name,
        bound_text(text, SHOWN_CHARS)
    ))
}

/// Says that a tool is not there, what to use instead, and which there are.
fn unknown(tools: &ToolSet, name: &str) -> ToolOutput {
    let offered: Vec<&str> = tools.offered_names().collect();
    let names = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
    let has = |tool: &str| offered.contains(&tool);
    let advice = advice_on(bare_name(name), has).map(|advice| format!("{advice} ")).unwrap_or_default();
    let hint = tools.hint(name).map(|hint| format!(" {hint}")).unwrap_or_default();
    ToolOutput::error(format!("{advice}There is no tool `{name}` here. Available: {names}.{hint}"))
}

fn refused(advice: &str) -> ToolOutput {
    ToolOutput::error(format!("{advice} Nothing was done."))
}

type Steps = Vec<(String, Args)>;

/// Returns the calls of ours that a call under this name stands for.
fn steps_of(tools: &ToolSet, name: &str, args: &Args, cwd: &Path) -> Result<Steps, ToolOutput> {
    let bare = bare_name(name);
    match loose_name(bare).as_str() {
        "applypatch" => {
            let keys = ["input", "patch", "patch_text", "patchText", "content", "command"];
            let text = keys.iter().find_map(|key| args.get(*key)?.as_str());
            return patched(
                text.ok_or_else(|| refused("Use Edit, or Write for a new file: apply_patch came without a patch."))?,
            );
        }
        "strreplaceeditor" | "strreplacebasededittool" | "texteditor" => return text_editor(args),
        _ => {}
    }
    let tool = tools.find(name).ok_or_else(|| unknown(tools, name))?.name().to_owned();
    let mut args = args.clone();
    match tool.as_str() {
        "Bash" => return commands(args, cwd),
        "Edit" => return edits(args),
        "Read" => lines(&mut args),
        "TodoWrite" => todos(&mut args),
        "Grep" => one_path(&mut args)?,
        _ => {}
    }
    Ok(vec![(tool, args)])
}

fn object(value: Value) -> Args {
    if let Value::Object(args) = value { args } else { Args::new() }
}

/// Reads a command that may be a list of words, or a patch.
fn commands(mut args: Args, cwd: &Path) -> Result<Steps, ToolOutput> {
    let key = ["command", "cmd"].into_iter().find(|key| args.contains_key(*key)).unwrap_or("command");
    if let Some(Value::Array(words)) = args.get(key) {
        let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
        let Some(words) = words.filter(|words| !words.is_empty()) else {
            return Err(refused("Send the command as one string."));
        };
        if let [program, text] = words.as_slice()
            && *program == "apply_patch"
        {
            return patched(text);
        }
        let line = line_of(&words);
        args.insert(key.to_owned(), line.into());
    }
    if let Some(patch) = args.get(key).and_then(Value::as_str).and_then(patch::in_command) {
        return patched(patch);
    }
    if let Some(Value::String(line)) = args.get(key).cloned()
        && let Some(folder) = folder_of(&mut args)?
        && lexical(&folder, cwd) != cwd
    {
        args.insert(key.to_owned(), in_folder(&line, &folder).into());
    }
    // Codex says in words where a command is to run.
    match args.shift_remove("sandbox_permissions").as_ref().and_then(Value::as_str) {
        Some("require_escalated") => drop(args.insert("dangerouslyDisableSandbox".to_owned(), true.into())),
        None | Some("use_default" | "") => {}
        Some(_) => return Err(refused("Leave sandbox_permissions out, or set dangerouslyDisableSandbox.")),
    }
    Ok(vec![("Bash".to_owned(), args)])
}

/// Takes out the folder that a command is to run in.
fn folder_of(args: &mut Args) -> Result<Option<String>, ToolOutput> {
    let mut folder = None;
    for name in FOLDERS {
        match args.shift_remove(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(path)) if path.trim().is_empty() => {}
            Some(Value::String(path)) if folder.is_none() => folder = Some(path),
            Some(_) => return Err(refused(&format!("Send `{name}` once, as the path of a folder."))),
        }
    }
    Ok(folder)
}

/// Returns the line that runs another one in a folder, and nothing if there is no such folder.
fn in_folder(line: &str, folder: &str) -> String {
    // A tilde in quotes would be a folder of that name.
    let (home, rest) = folder.strip_prefix("~/").map_or(("", folder), |rest| ("~/", rest));
    let folder = format!("{home}{}", if rest.is_empty() || folder == "~" { rest.to_owned() } else { quoted(rest) });
    let is_simple = !line.contains(['\n', ';', '&', '|']);
    if is_simple { format!("cd {folder} && {line}") } else { format!("cd {folder} || exit\n{line}") }
}

/// Returns the line that runs a program with these arguments; of a shell that is to run a line, the line.
fn line_of(words: &[&str]) -> String {
    let is_shell = |program: &str| matches!(program.rsplit('/').next(), Some("bash" | "sh" | "zsh"));
    match words {
        [program, "-c" | "-lc" | "-cl" | "-ilc", line] if is_shell(program) => (*line).to_owned(),
        [program, "-l", "-c", line] if is_shell(program) => (*line).to_owned(),
        words => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ',' | ':' | '=' | '@' | '%' | '+');
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Reads several edits of one file as one call for each.
fn edits(mut args: Args) -> Result<Steps, ToolOutput> {
    let list = match args.get("edits") {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        other => other.cloned(),
    };
    let Some(Value::Array(list)) = list else { return Ok(vec![("Edit".to_owned(), args)]) };
    args.shift_remove("edits");
    if list.is_empty() || list.len() > MAX_STEPS {
        return Err(refused(&format!("Use Edit, with 1 to {MAX_STEPS} edits.")));
    }
    let step = |edit: Value| {
        let Value::Object(edit) = edit else { return Err(refused("Use Edit: each of the edits is an object.")) };
        Ok(("Edit".to_owned(), args.clone().into_iter().chain(edit).collect()))
    };
    list.into_iter().map(step).collect()
}

/// Reads a first and a last line as where to begin and how many lines to read.
fn lines(args: &mut Args) {
    if let Some(Value::Array(range)) = args.get("view_range").cloned()
        && let [first, last] = range.as_slice()
    {
        args.shift_remove("view_range");
        args.insert("start_line".to_owned(), first.clone());
        args.insert("end_line".to_owned(), last.clone());
    }
    let number = |args: &Args, names: [&str; 3]| names.iter().find_map(|name| args.get(*name)?.as_i64());
    let ends = ["end_line", "endLine", "line_end"];
    let Some(last) = number(args, ends) else { return };
    let first = number(args, ["start_line", "startLine", "offset"]).unwrap_or(1);
    if last >= first.max(1) {
        args.insert("limit".to_owned(), (last - first.max(1) + 1).into());
    }
    // The end of the file is where reading ends anyway.
    if last >= first.max(1) || last == -1 {
        for name in ends {
            args.shift_remove(name);
        }
    }
}

/// Reads the entries of other to-do lists.
fn todos(args: &mut Args) {
    let key = ["todos", "plan", "items"].into_iter().find(|key| args.contains_key(*key)).unwrap_or("todos");
    let Some(Value::Array(list)) = args.get_mut(key) else { return };
    for entry in list.iter_mut().filter_map(Value::as_object_mut) {
        let words = ["content", "step", "description", "title", "task", "text"];
        let named = words.iter().find_map(|name| entry.get(*name).filter(|value| value.is_string()).cloned());
        if let Some(words) = named {
            entry.insert("content".to_owned(), words);
        }
        if !entry.contains_key("status") {
            entry.insert("status".to_owned(), "pending".into());
        }
    }
    if args.get("merge").is_some_and(|merge| merge == false) {
        args.shift_remove("merge");
    }
}

/// Reads a list of paths that holds one as that one, and whether case counts.
fn one_path(args: &mut Args) -> Result<(), ToolOutput> {
    if let Some(Value::Array(paths)) = args.get("paths").cloned() {
        let [path] = paths.as_slice() else {
            return Err(refused("Use Grep once for each path, or with the folder that holds them."));
        };
        args.shift_remove("paths");
        args.insert("path".to_owned(), path.clone());
    }
    if let Some(Value::Bool(counts)) = args.get("case_sensitive").cloned() {
        args.shift_remove("case_sensitive");
        args.insert("-i".to_owned(), (!counts).into());
    }
    Ok(())
}

/// Reads a call of the one tool that views, creates and edits.
fn text_editor(args: &Args) -> Result<Steps, ToolOutput> {
    let mut rest = args.clone();
    let command = rest.shift_remove("command");
    // Fields of the other commands come along empty.
    rest.retain(|_, value| !value.is_null());
    let tool = match command.as_ref().and_then(Value::as_str) {
        Some("view") => "Read",
        Some("create") => "Write",
        Some("str_replace") => "Edit",
        Some("insert") => {
            return Err(refused("Use Edit: put the line before the new ones into old_string and new_string."));
        }
        _ => return Err(refused("Use Read, Write or Edit. To take an edit back, use Edit the other way round.")),
    };
    if tool == "Edit" && !rest.contains_key("new_str") {
        rest.insert("new_str".to_owned(), "".into());
    }
    if tool == "Read" {
        lines(&mut rest);
    }
    Ok(vec![(tool.to_owned(), rest)])
}

/// Reads a patch as one call for each of its changes.
fn patched(text: &str) -> Result<Steps, ToolOutput> {
    let changes = patch::read(text).map_err(|why| refused(&why))?;
    if changes.len() > MAX_STEPS {
        return Err(refused(&format!("Use Edit: the patch holds more than {MAX_STEPS} changes; send it in parts.")));
    }
    let step = |change: PatchChange| match change {
        PatchChange::Add { path, content } => ("Write", json!({"file_path": path, "content": content})),
        PatchChange::Replace { path, old, new } => {
            ("Edit", json!({"file_path": path, "old_string": old, "new_string": new, "whole_lines": true}))
        }
    };
    Ok(changes.into_iter().map(step).map(|(tool, args)| (tool.to_owned(), object(args))).collect())
}
