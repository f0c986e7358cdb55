//! Which calls a hook is for, of those that its matcher covers: its `if`, in the grammar of rules.
//!
//! Owns what a rule means for a call as hooks know it. Leaves the grammar to `permission`. Everything here blocks. Invariant:
//! a condition that cannot be read, or not be told of a call, holds: the hook may be a guard.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::event::HookEvent;
use crate::message::{canonical_name, without_dots};
use crate::permission::{Access, AccessKind, Confinement, Places, Rule, ToolKind};

/// A condition, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HookCondition {
    text: String,
    /// Why it holds for everything.
    error: Option<String>,
}

impl HookCondition {
    pub(super) fn read(value: &Value, event: HookEvent) -> Self {
        let text = value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned());
        // One rule, and no list of them.
        let is_list = ["||", "&&", ")|", "),", ") "].iter().any(|end| text.contains(end));
        let error = match () {
            () if !event.is_about_tools() => Some("has no effect, as it is about no call of a tool".to_owned()),
            () if value.is_string() && !is_list => Rule::check(&text).err().map(|why| format!("cannot be read: {why}")),
            () => Some(format!("cannot be read: `{text}` is not one rule, such as `Bash(git *)`")),
        };
        Self { text, error }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns why it holds for everything; `None` if it does not.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns `true` if it holds for a call, as hooks are told of it.
    pub(super) fn holds(&self, fields: &Map<String, Value>, places: Places<'_>, cwd: &Path) -> bool {
        let tool = fields.get("tool_name").and_then(Value::as_str);
        let input = fields.get("tool_input").and_then(Value::as_object);
        let (Some(tool), Some(input), None) = (tool, input, &self.error) else { return true };
        let Some(access) = access(tool, input, cwd) else { return true };
        let rule = Rule::parse(&self.text, places, kind_of);
        if rule.is_meant_for(&access) {
            return true;
        }
        // A pattern may go through a link.
        rule.with_links_resolved(|path| path.canonicalize().ok()).is_some_and(|rule| rule.is_meant_for(&access))
    }
}

fn kind_of(tool: &str) -> ToolKind {
    match canonical_name(tool) {
        "Bash" => ToolKind::Execute,
        "Read" | "LS" => ToolKind::Read,
        "Glob" | "Grep" => ToolKind::Search,
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => ToolKind::Write,
        "WebFetch" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

/// Returns what a call would touch; `None` if its input does not say.
fn access(tool: &str, input: &Map<String, Value>, cwd: &Path) -> Option<Access> {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let kind = kind_of(tool);
    let named = || {
        let path = ["file_path", "notebook_path", "path"].into_iter().find_map(text);
        let is_search = matches!(tool, "Glob" | "Grep" | "LS");
        path.or(Some(".").filter(|_| is_search)).map(|path| without_dots(&cwd.join(path)))
    };
    let access = match kind {
        ToolKind::Execute => {
            let (command, confinement) = (text("command")?.to_owned(), Confinement::None);
            AccessKind::Execute { command, confinement }
        }
        ToolKind::Read | ToolKind::Search => AccessKind::Read { path: real(&named()?) },
        ToolKind::Write => AccessKind::Write { path: real(&named()?) },
        ToolKind::Fetch => {
            let url = reqwest::Url::parse(text("url")?).ok()?;
            let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
            AccessKind::Fetch { url: url.to_string(), host }
        }
        _ if tool == "WebSearch" => AccessKind::Search { query: text("query").unwrap_or_default().to_owned() },
        _ if tool == "Skill" => {
            AccessKind::Skill { name: ["skill", "name", "command"].into_iter().find_map(text)?.to_owned() }
        }
        _ if tool == "Agent" => AccessKind::Start { agent: text("subagent_type")?.to_owned(), program: String::new() },
        _ => AccessKind::Nothing,
    };
    let named = matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Write).then(named).flatten();
    Some(Access::new(tool, access).of_kind(kind).named(named))
}

/// Returns where a path leads that need not be there.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|part| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?)));
    known.map_or_else(|| path.to_path_buf(), |(real, rest)| real.components().chain(rest.components()).collect())
}
