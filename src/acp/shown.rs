//! Tool calls as an editor shows them: kind, title, places, diffs, output.
//!
//! Pure. Owns the bounds of what is shown of one call. Invariants: text of models and tools is cleaned, for editors in a
//! terminal; what a diff shows is as it is, and says what it leaves out.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::schema::{
    Diff, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, ToolCallContent, ToolCallLocation, ToolKind,
};
use crate::message::{DiffLine, FileDiff, Hunk, LineKind, ToolCall, ToolInput, ToolResult, sanitize, sanitize_line};
use crate::tool::{Todo, ToolView};

/// Bytes that are shown of what a tool returned.
const MAX_OUTPUT: usize = 16 << 10;
/// Bytes of an input that is shown as it is.
const MAX_INPUT: usize = 8 << 10;

pub(super) fn kind_of(tool: &str) -> ToolKind {
    match tool {
        "Read" | "LS" => ToolKind::Read,
        "Edit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Glob" | "Grep" | "Symbols" => ToolKind::Search,
        "Bash" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Agent" | "TodoWrite" | "Skill" => ToolKind::Think,
        "ExitPlanMode" | "EnterPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// Returns the title of a call, with the name of the subagent that makes it.
pub(super) fn title_of(agent: Option<&str>, tool: &str, title: &str) -> String {
    let words: Vec<&str> = [tool, title].into_iter().filter(|word| !word.is_empty()).collect();
    let title = sanitize_line(&words.join(" ")).into_owned();
    match agent {
        Some(agent) => format!("{}: {title}", sanitize_line(agent)),
        None => title,
    }
}

/// Returns the file that a call is about.
pub(super) fn locations_of(call: &ToolCall, cwd: &Path) -> Vec<ToolCallLocation> {
    let path = ["file_path", "notebook_path", "path"].iter().find_map(|key| call.input.str(key));
    let line = match &call.input {
        ToolInput::Object(input) => input.get("offset").and_then(Value::as_u64),
        ToolInput::Malformed(_) => None,
    };
    let location =
        |path: &str| ToolCallLocation::new(cwd.join(path)).line(line.and_then(|line| u32::try_from(line).ok()));
    path.filter(|path| !path.is_empty()).map(location).into_iter().collect()
}

/// Returns the input of a call, unless it is large, or a diff shows it.
pub(super) fn raw_input_of(call: &ToolCall) -> Option<Value> {
    let ToolInput::Object(input) = &call.input else { return None };
    let is_small = serde_json::to_string(input).is_ok_and(|text| text.len() <= MAX_INPUT);
    (is_small && kind_of(&call.name) != ToolKind::Edit).then(|| Value::Object(input.clone()))
}

pub(super) fn text(text: impl Into<String>) -> ToolCallContent {
    let text: String = text.into();
    ToolCallContent::from(text)
}

/// Returns the end of an output, as a block of Markdown.
pub(super) fn block(output: &str) -> ToolCallContent {
    fenced(&bounded(output))
}

/// Returns what would be done, whole, as a block of Markdown.
pub(super) fn act(words: &str) -> ToolCallContent {
    fenced(words)
}

fn fenced(words: &str) -> ToolCallContent {
    // A fence is longer than any row of such signs in it.
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    text(format!("{fence}\n{}\n{fence}", words.trim_end_matches('\n')))
}

/// Returns the end of an output that is too long, cleaned.
fn bounded(output: &str) -> String {
    let mut from = output.len().saturating_sub(MAX_OUTPUT);
    while !output.is_char_boundary(from) {
        from += 1;
    }
    let left_out = if from > 0 { "…\n" } else { "" };
    format!("{left_out}{}", sanitize(&output[from..]))
}

/// Returns what is shown of a call that has ended.
pub(super) fn content_of(
    call: Option<&ToolCall>,
    result: &ToolResult,
    view: Option<&ToolView>,
) -> Vec<ToolCallContent> {
    match view {
        Some(ToolView::Diff(diff)) if !result.is_error => diffs(diff),
        Some(ToolView::Output { text }) => vec![block(text)],
        _ if result.is_error => vec![block(&result.joined_text())],
        // The plan shows them.
        Some(ToolView::Todos { .. }) => Vec::new(),
        _ => {
            // Of a file that was read, the place says enough.
            let is_read = call.is_some_and(|call| kind_of(&call.name) == ToolKind::Read);
            let output = result.joined_text();
            if is_read || output.trim().is_empty() { Vec::new() } else { vec![block(&output)] }
        }
    }
}

/// Returns a diff for each changed place, with the lines around it, and what is left out.
pub(super) fn diffs(diff: &FileDiff) -> Vec<ToolCallContent> {
    let mut shown: Vec<ToolCallContent> = diff.hunks.iter().map(|hunk| of_hunk(&diff.path, hunk).into()).collect();
    if diff.omitted > 0 {
        shown.push(text(format!("… and {} more changed lines, too many to show", diff.omitted)));
    }
    shown
}

fn of_hunk(path: &Path, hunk: &Hunk) -> Diff {
    let side = |kind: LineKind| {
        let lines = hunk.lines.iter().filter(|line| line.kind == kind || line.kind == LineKind::Context);
        lines.map(row).collect::<String>()
    };
    let is_new = hunk.lines.iter().all(|line| line.kind == LineKind::Added);
    let old = (!is_new).then(|| side(LineKind::Removed));
    Diff::new(PathBuf::from(path), side(LineKind::Added)).old_text(old)
}

/// Returns a line with its end, which it has only where that changes.
fn row(line: &DiffLine) -> String {
    if line.text.ends_with(['\n', '\r']) { line.text.clone() } else { format!("{}\n", line.text) }
}

pub(super) fn plan(todos: &[Todo]) -> Plan {
    let entry = |todo: &Todo| {
        let status = match (todo.is_done(), todo.is_active()) {
            (true, _) => PlanEntryStatus::Completed,
            (false, true) => PlanEntryStatus::InProgress,
            (false, false) => PlanEntryStatus::Pending,
        };
        PlanEntry::new(sanitize_line(todo.words()).into_owned(), PlanEntryPriority::Medium, status)
    };
    Plan::new(todos.iter().map(entry).collect())
}
