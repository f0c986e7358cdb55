//! The tool calls of a program, as it tells of them.
//!
//! Owns which are open, and their events. Leaves the protocol's words to `external`. Invariants: each call that was begun is
//! ended once; what is said of an ended one is no news; no more than a bounded number is open.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Talk;
use crate::agent::ToolEvent;
use crate::external::{CallKind, CallStatus, CallUpdate, PlanStep};
use crate::message::format::{counted, line_changes};
use crate::message::{INTERRUPTED, ResultPart, ToolCall, ToolResult, sanitize_line, without_speakers};
use crate::tool::{ChangeKind, FileChange, Todo, TodoStatus, ToolView, bound_text, diff_files};

/// Calls that are open at a time.
const MAX_OPEN: usize = 256;
/// Calls of one run whose names are kept, to know what is said of them later.
const MAX_ENDED: usize = 20_000;
/// Bytes of an input that is kept.
const MAX_INPUT: usize = 64 << 10;
/// Characters of the output that a screen shows of one call.
const SHOWN_CHARS: usize = 20_000;
/// Characters of the tail that a screen shows while a call runs.
const TAIL_CHARS: usize = 2_000;
const SUMMARY_CHARS: usize = 120;
/// The tool that a plan is shown as.
const PLAN_TOOL: &str = "TodoWrite";

#[derive(Default)]
pub(super) struct OpenCalls {
    open: BTreeMap<String, OpenCall>,
    ended: HashSet<String>,
    /// How many were begun.
    pub(super) begun: u32,
    plans: u32,
}

struct OpenCall {
    call: ToolCall,
    title: String,
    known: CallUpdate,
}

impl OpenCalls {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns our id of an open call, and what is known of it.
    pub(super) fn open(&self, id: &str) -> Option<(&str, &CallUpdate)> {
        self.open.get(id).map(|open| (open.call.id.as_str(), &open.known))
    }
}

impl Talk<'_> {
    /// Takes in what the program says of a call.
    pub(super) async fn heed_call(&mut self, update: CallUpdate) {
        let id = update.id.clone();
        if self.calls.ended.contains(&id) {
            return self.run.emit_alive().await;
        }
        let has_room = self.calls.open.len() < MAX_OPEN;
        let status = match self.calls.open.get_mut(&id) {
            Some(open) => {
                let before = open.known.text.clone();
                open.known.merge(update);
                let title = title_of(&open.known, &self.agent.place.cwd);
                if title != open.title {
                    open.title.clone_from(&title);
                    open.call.input = input_of(&open.known);
                    let call = open.call.clone();
                    self.run.emit(ToolEvent::Changed { call, title, by_program: true }).await;
                } else if let Some(text) = open.known.text.as_ref().filter(|text| before.as_ref() != Some(text)) {
                    let (call_id, tail) = (open.call.id.clone(), tail_of(text));
                    self.run.emit(ToolEvent::Progress { call_id, tail }).await;
                } else {
                    self.run.emit_alive().await;
                }
                open.known.status
            }
            None if has_room => {
                let status = update.status;
                self.begin_call(update).await;
                status
            }
            None => return,
        };
        match status {
            Some(CallStatus::Completed) => self.end_call(&id, false).await,
            Some(CallStatus::Failed) => self.end_call(&id, true).await,
            Some(CallStatus::Running) | None => {}
        }
    }

    async fn begin_call(&mut self, known: CallUpdate) {
        let (name, title) = (name_of(&known), title_of(&known, &self.agent.place.cwd));
        let input = serde_json::to_string(&input_of(&known)).unwrap_or_default();
        let Some(call) = self.steps.call(known.id.clone(), name.clone(), input).await else { return };
        self.calls.begun += 1;
        self.run.count_tool(&name);
        self.run.emit(ToolEvent::Started { call: call.clone(), title: title.clone() }).await;
        self.calls.open.insert(known.id.clone(), OpenCall { call, title, known });
    }

    async fn end_call(&mut self, id: &str, is_error: bool) {
        let Some(OpenCall { call, known, .. }) = self.calls.open.remove(id) else { return };
        if self.calls.ended.len() < MAX_ENDED {
            self.calls.ended.insert(id.to_owned());
        }
        self.note_call(known.kind);
        let place = &self.agent.place;
        let paths = known.diffs.iter().map(|diff| (place.cwd.join(&diff.path), diff));
        let changes: Vec<FileChange> = paths
            .filter(|(path, _)| !is_error && self.is_of_files_here(path))
            .map(|(path, diff)| FileChange {
                path,
                // Some programs say of a new file that it was empty.
                kind: match diff.old.as_deref() {
                    None | Some("") => ChangeKind::Created,
                    Some(_) => ChangeKind::Modified,
                },
                versions: None,
            })
            .collect();
        for change in &changes {
            self.files.add(change);
        }
        let said = known.text.as_deref().unwrap_or_default();
        let safe = without_speakers(&self.agent.secrets.redact(said)).into_owned();
        let (view, summary) = match known.diffs.first() {
            Some(diff) => {
                let old = diff.old.as_deref().unwrap_or_default();
                let shown = diff_files(&place.cwd.join(&diff.path), old, &diff.new);
                let summary = line_changes(shown.added, shown.removed);
                (Some(ToolView::Diff(shown)), summary)
            }
            None if safe.trim().is_empty() => (None, if is_error { "failed" } else { "done" }.to_owned()),
            // As with our own tool: what a file holds is not shown.
            None if known.kind == Some(CallKind::Read) && !is_error => (None, summary_of(&safe, false)),
            None => {
                let text = bound_text(safe.trim_end(), SHOWN_CHARS).into_owned();
                let summary = summary_of(&text, is_error);
                (Some(ToolView::Output { text }), summary)
            }
        };
        let text = bound_text(&safe, self.agent.limits.result_chars).into_owned();
        let result = ToolResult { call_id: call.id, content: vec![ResultPart::Text { text }], is_error };
        self.steps.result(result.clone());
        self.run.emit(ToolEvent::Ended { result, summary, view, changes }).await;
    }

    /// Ends what is still open at the end of a prompt: as done if the program was, else as interrupted.
    pub(super) async fn settle_calls(&mut self, is_whole: bool) {
        if is_whole {
            let open: Vec<String> = self.calls.open.keys().cloned().collect();
            for id in open {
                self.end_call(&id, false).await;
            }
        } else {
            self.interrupt_calls().await;
        }
    }

    pub(super) async fn interrupt_calls(&mut self) {
        for (id, open) in std::mem::take(&mut self.calls.open) {
            self.calls.ended.insert(id);
            let result = ToolResult::error(open.call.id, INTERRUPTED);
            self.steps.result(result.clone());
            let summary = "interrupted".to_owned();
            self.run.emit(ToolEvent::Ended { result, summary, view: None, changes: Vec::new() }).await;
        }
    }

    /// Shows the plan of the program as a list of things to do.
    pub(super) async fn heed_plan(&mut self, plan: Vec<PlanStep>) {
        let items: Vec<Todo> = plan
            .into_iter()
            .map(|step| Todo {
                content: step.content,
                status: match step.is_done {
                    None => TodoStatus::Pending,
                    Some(false) => TodoStatus::InProgress,
                    Some(true) => TodoStatus::Completed,
                },
                active_form: String::new(),
            })
            .collect();
        self.calls.plans += 1;
        let id = format!("plan-{}", self.calls.plans);
        let input = json!({"todos": items}).to_string();
        let Some(call) = self.steps.call(id, PLAN_TOOL.to_owned(), input).await else { return };
        self.run.emit(ToolEvent::Started { call: call.clone(), title: counted(items.len(), "step") }).await;
        let done = items.iter().filter(|item| item.is_done()).count();
        let summary = format!("{done} of {} done", items.len());
        let result = ToolResult::text(call.id, &summary);
        self.steps.result(result.clone());
        let view = Some(ToolView::Todos { items });
        self.run.emit(ToolEvent::Ended { result, summary, view, changes: Vec::new() }).await;
    }
}

/// Returns the name of the tool of ours that does such a thing, or the program's own name for it.
pub(super) fn name_of(call: &CallUpdate) -> String {
    let own = match call.kind.unwrap_or(CallKind::Other) {
        CallKind::Read => "Read",
        CallKind::Edit => "Edit",
        CallKind::Delete => "Delete",
        CallKind::Move => "Move",
        CallKind::Search => "Grep",
        CallKind::Execute => "Bash",
        CallKind::Think => "Think",
        CallKind::Fetch => "WebFetch",
        CallKind::Other => {
            let named = call.name.as_deref().unwrap_or_default();
            let named: String = named.chars().filter(|c| c.is_alphanumeric() || "_-".contains(*c)).take(64).collect();
            return if named.is_empty() { "Tool".to_owned() } else { named };
        }
    };
    own.to_owned()
}

/// Returns what a screen shows behind the name.
pub(super) fn title_of(call: &CallUpdate, cwd: &Path) -> String {
    if let Some(command) = call.command() {
        return sanitize_line(&command).into_owned();
    }
    let title = call.title.as_deref().unwrap_or_default().trim().trim_matches('`');
    // Many titles begin with what the name says already.
    let name = name_of(call);
    let rest = title.split_once(' ').filter(|(first, _)| first.eq_ignore_ascii_case(&name)).map(|(_, rest)| rest);
    let title = rest.unwrap_or(title).trim().trim_matches('`');
    // Some programs give the name alone, and say the file elsewhere.
    let is_bare = title.is_empty() || title.eq_ignore_ascii_case(&name);
    let said = || {
        let input = call.input.as_ref()?;
        ["filePath", "file_path", "path", "pattern", "query", "url"].iter().find_map(|key| input.get(*key)?.as_str())
    };
    let title = match call.paths.first() {
        Some(path) if is_bare => sanitize_line(&path.to_string_lossy()).into_owned(),
        _ if is_bare => sanitize_line(said().unwrap_or(title)).into_owned(),
        _ => title.to_owned(),
    };
    title.replace(&format!("{}/", cwd.display()), "")
}

fn input_of(call: &CallUpdate) -> crate::message::ToolInput {
    let input = call
        .input
        .as_ref()
        .and_then(Value::as_object)
        .filter(|input| serde_json::to_string(input).is_ok_and(|text| text.len() <= MAX_INPUT));
    crate::message::ToolInput::Object(input.cloned().unwrap_or_else(Map::new))
}

fn summary_of(text: &str, is_error: bool) -> String {
    let lines = text.lines().count();
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    if lines > 1 && !is_error {
        return counted(lines, "line");
    }
    first.chars().take(SUMMARY_CHARS).collect()
}

fn tail_of(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(TAIL_CHARS);
    text.chars().skip(skipped).collect()
}
