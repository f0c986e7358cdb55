//! Rows that belong to the line before them, or after: what else was said, and the lines of a change.
//!
//! Invariant: each begins with blanks, as no line of the program does, so that nothing in it can pass for one.

use crate::app::skill_state;
use crate::definition::skill::ListedSkill;
use crate::definition::{DefinitionState, Listed};
use crate::memory::MemoryReader;
use crate::message::format::{counted, millis, seconds};
use crate::message::{Diagnostic, DiffLine, FileDiff, LineKind, reveal_line, sanitize_line};
use crate::permission::{ApprovalRequest, Preview};
use crate::session::SessionSummary;

/// Stands before each row.
pub(super) const SET_IN: &str = "  ";

/// Returns what was said as lines to be written.
pub(super) fn lines(texts: Vec<String>) -> impl Iterator<Item = String> {
    texts.into_iter().map(|text| text + "\n")
}

/// Returns a further row of what was said.
pub(super) fn set_in(row: &str) -> String {
    if row.is_empty() { String::new() } else { format!("{SET_IN}{row}") }
}

/// Returns the memory files, or that there are none to know of.
pub(super) fn memory_rows(reader: Option<&MemoryReader>) -> Result<Vec<String>, &'static str> {
    let listed = reader.ok_or("there are no memory files here")?.list();
    let rows = listed.iter().filter_map(|listed| {
        let (shown, whose) = (sanitize_line(&listed.shown), listed.owner.words());
        Some(format!("{SET_IN}{shown}: {} characters, {whose}", listed.chars?))
    });
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() { Err("no memory files; see docs/memory.md") } else { Ok(rows) }
}

/// Returns the lines of the change, of the report or of the plan that a question is about.
pub(super) fn diff_rows(request: &ApprovalRequest) -> impl Iterator<Item = String> {
    rows(diff_of(request), |_| true).chain(report_rows(request))
}

/// Returns those of them that are changed, or all of a report.
pub(super) fn changed_rows(request: &ApprovalRequest) -> impl Iterator<Item = String> {
    changed(diff_of(request)).chain(report_rows(request))
}

fn report_rows(request: &ApprovalRequest) -> Vec<String> {
    let Some(Preview::Report { text } | Preview::Plan { text }) = &request.preview else { return Vec::new() };
    text.lines().map(|line| format!("{SET_IN}{}", reveal_line(line))).collect()
}

/// Returns the lines that are changed in a file.
pub(super) fn changed(diff: Option<&FileDiff>) -> impl Iterator<Item = String> {
    rows(diff, |line| line.kind != LineKind::Context)
}

fn diff_of(request: &ApprovalRequest) -> Option<&FileDiff> {
    match &request.preview {
        Some(Preview::Diff(diff)) => Some(diff),
        _ => None,
    }
}

fn rows(diff: Option<&FileDiff>, wanted: impl Fn(&DiffLine) -> bool) -> impl Iterator<Item = String> {
    let row = |line: &DiffLine| format!("{SET_IN}{} {}", line.kind.sign(), line.revealed());
    let omitted = diff.map_or(0, |diff| diff.omitted);
    let more = (omitted > 0).then(|| format!("{SET_IN}… and {omitted} more changed lines, too many to show"));
    let lines = diff.into_iter().flat_map(|diff| &diff.hunks).flat_map(|hunk| &hunk.lines);
    lines.filter(move |line| wanted(line)).map(row).chain(more)
}

/// Returns the rows of an agent file or a built-in agent: what it is for, or why it is not used, and what else is wrong.
pub(super) fn agent_file(listed: &Listed) -> Vec<String> {
    let name = listed.name();
    let words = match (&listed.definition, &listed.standing) {
        (_, DefinitionState::Shadowed { by }) => format!("shadowed by one of {}", by.tier.label()),
        (Some(definition), _) => definition.description.split_whitespace().collect::<Vec<_>>().join(" "),
        (None, _) => "cannot be used".to_owned(),
    };
    let head = format!("{SET_IN}{} ({}): {}", sanitize_line(&name), listed.source.tier.label(), sanitize_line(&words));
    let wrong = |error: &Diagnostic| {
        let line = error.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{SET_IN}{SET_IN}! {line}{}", sanitize_line(&error.message))
    };
    std::iter::once(head).chain(listed.diagnostics.iter().map(wrong)).collect()
}

/// Returns the row of a skill or command: what it does, or why it is not used, and what else is wrong.
pub(super) fn skill_row(listed: &ListedSkill) -> String {
    let (name, whose) = (sanitize_line(&listed.name), listed.origin.label());
    format!("{SET_IN}/{name} ({whose} {}): {}", listed.kind.word(), skill_state(listed))
}

/// Returns the row of a session that can go on.
pub(super) fn session_row(session: &SessionSummary) -> String {
    let agents = if session.agents == 0 { String::new() } else { format!(", {}", counted(session.agents, "agent")) };
    format!("{SET_IN}{}  {} ago{agents}: {}", session.short_id(), seconds(millis(session.age)), session.title)
}
