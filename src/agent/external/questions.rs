//! What a program asks before it makes a call, as a question like any other.
//!
//! Owns what a call would touch, as far as the program says so. Leaves deciding to `asking`. Invariants: what the program says
//! is a stranger's word: it is what rules are held against and what the user is shown, and it keeps the program from nothing
//! that it does not ask about; a call of which it is not clear what it touches is no access that a rule on paths allows.

use std::path::{Path, PathBuf};

use super::RemoteAgent;
use super::calls::{name_of, title_of};
use super::remote::is_of_files_here;
use crate::agent::Agent;
use crate::agent::asking::{AccessQuestion, permission};
use crate::agent::run::Run;
use crate::external::{CallKind, CallUpdate};
use crate::message::{sanitize, sanitize_line, without_dots};
use crate::permission::{Access, AccessKind, Confinement, Preview};
use crate::tool::{bound_text, diff_files};

/// Files that a question names.
const NAMED: usize = 3;
/// Characters of a call that a question shows.
const SHOWN_CHARS: usize = 6_000;

/// Decides whether a call may be made, asking the user where that is needed; `None` if the agent was stopped meanwhile.
pub(super) async fn may(run: &Run<'_>, remote: Option<&RemoteAgent>, call: &CallUpdate, call_id: &str) -> Option<bool> {
    let agent = run.agent;
    let (named, paths) = (name_of(call), paths_of(agent, call).await);
    let other = || AccessKind::Call { server: agent.hooks.agent_type().to_owned(), only_reads: false };
    let kind = match (call.kind.unwrap_or(CallKind::Other), paths.as_slice()) {
        (CallKind::Execute, _) if let Some(command) = call.command() => {
            AccessKind::Execute { command, confinement: Confinement::None }
        }
        // A path on another machine is none that a rule is about.
        (_, [path]) if !is_of_files_here(remote, path) => other(),
        (CallKind::Edit | CallKind::Delete, [path]) => AccessKind::Write { path: path.clone() },
        (CallKind::Read, [path]) => AccessKind::Read { path: path.clone() },
        _ => other(),
    };
    let tool = match kind {
        AccessKind::Call { .. } => format!("{}-{named}", agent.hooks.agent_type()),
        _ => named,
    };
    let title = asked_title(remote, call, &agent.place.cwd);
    let question = AccessQuestion::new(Access::new(tool, kind), title, preview(agent, call));
    let allowed = permission(run, question, call_id).await.is_ok();
    (allowed || agent.work.cause().is_none()).then_some(allowed)
}

/// Returns what a question is about: what the program calls it, the files that it names, and the machine they lie on.
fn asked_title(remote: Option<&RemoteAgent>, call: &CallUpdate, cwd: &Path) -> String {
    let title = title_of(call, cwd);
    let mut names: Vec<String> = Vec::new();
    for path in call.diffs.iter().map(|diff| &diff.path).chain(&call.paths) {
        let name = sanitize_line(&path.to_string_lossy()).replace(&format!("{}/", cwd.display()), "");
        if !title.contains(&name) && !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let names = names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() };
    let about = match (names.is_empty(), title.is_empty()) {
        (true, _) => title,
        (false, true) => names,
        (false, false) => format!("{names} ({title})"),
    };
    match remote {
        Some(remote) => format!("{about} on {}", sanitize_line(&remote.launcher)),
        None => about,
    }
}

fn preview(agent: &Agent, call: &CallUpdate) -> Option<Preview> {
    if let Some(diff) = call.diffs.first() {
        let old = diff.old.as_deref().unwrap_or_default();
        return Some(Preview::Diff(diff_files(&agent.place.cwd.join(&diff.path), old, &diff.new)));
    }
    let said = call.text.clone().filter(|text| !text.trim().is_empty());
    let text = said.or_else(|| {
        let input = call.input.as_ref().filter(|_| call.command().is_none())?;
        serde_json::to_string_pretty(input).ok()
    })?;
    Some(Preview::Note { text: bound_text(&sanitize(&text), SHOWN_CHARS).into_owned() })
}

/// Returns the files that a call names, with links resolved, each once.
async fn paths_of(agent: &Agent, call: &CallUpdate) -> Vec<PathBuf> {
    let named = call.diffs.iter().map(|diff| &diff.path).chain(&call.paths);
    let named: Vec<PathBuf> = named.map(|path| without_dots(&agent.place.cwd.join(path))).collect();
    let resolving = move || {
        let mut all: Vec<PathBuf> = named.iter().map(|path| resolved(path)).collect();
        all.sort();
        all.dedup();
        all
    };
    tokio::task::spawn_blocking(resolving).await.unwrap_or_default()
}

/// Returns where a path leads, also if its last parts do not exist yet.
fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = existing.canonicalize() {
            return rest.iter().rev().fold(real, |whole, part| whole.join(part));
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                existing = parent;
            }
            _ => return path.to_path_buf(),
        }
    }
}
