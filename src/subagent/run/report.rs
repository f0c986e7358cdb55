//! What a parent's model gets of a child: the report, and nothing else.
//!
//! Pure. The child's last words are cut into summary, findings and answer; for a child that was cut short the program
//! writes the summary. Invariant: nothing in a report can be taken for a role, a reminder, or a second report.

use std::fmt::Write as _;
use std::path::Path;

use crate::agent::Outcome;
use crate::message::format::{grouped, seconds};
use crate::message::{REPORT_TAGS, ReportParts, escape_tags, sanitize, sanitize_line, speaks, tag_name};

#[derive(Debug)]
pub struct ReportSource<'a> {
    /// The child's name, such as `explore-2`.
    pub name: &'a str,
    pub agent_type: &'a str,
    pub outcome: &'a Outcome,
    /// Root of the project, to show paths relative to it.
    pub project: &'a Path,
    /// What became of its worktree, if it had one of its own.
    pub worktree: Option<&'a str>,
}

/// Returns the whole report, not yet cut to any length.
pub fn report(source: &ReportSource<'_>) -> String {
    let outcome = source.outcome;
    let mut text = head(source);
    let parts = ReportParts::parse(&outcome.text);
    let summary = if outcome.is_broken_off() { partial_summary(source, &parts) } else { parts.summary };
    let summary = if summary.is_empty() { "(no summary)".to_owned() } else { summary };
    for (tag, body) in REPORT_TAGS.iter().zip([Some(summary), parts.findings, parts.answer]) {
        if let Some(body) = body {
            let _ = write!(text, "<{tag}>\n{}\n</{tag}>\n", escape(&body));
        }
    }
    text
}

fn head(source: &ReportSource<'_>) -> String {
    let outcome = source.outcome;
    let mut text = format!(
        "status: {}\nagent: {} ({})   tools: {}   time: {}   tokens: {}\n",
        outcome.status.name(),
        line(source.name),
        line(source.agent_type),
        outcome.tool_calls,
        seconds(outcome.elapsed_ms),
        outcome.usage.spelled(grouped),
    );
    if let Some(reason) = &outcome.reason {
        let _ = writeln!(text, "reason: {}", line(reason));
    }
    for worktree in source.worktree.iter().flat_map(|text| text.lines()) {
        let _ = writeln!(text, "{}", line(worktree));
    }
    let lists = [("files created", &outcome.files.created), ("files modified", &outcome.files.modified)];
    let files: Vec<String> = lists
        .iter()
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(label, paths)| {
            let names: Vec<String> = paths
                .iter()
                .map(|path| line(&path.strip_prefix(source.project).unwrap_or(path).display().to_string()))
                .collect();
            format!("{label}: {}", names.join(", "))
        })
        .collect();
    if !files.is_empty() {
        let _ = writeln!(text, "{}", files.join("    "));
    }
    text
}

/// Writes the summary of a child that could not: its last text, the tools it ran, and what is missing.
fn partial_summary(source: &ReportSource<'_>, parts: &ReportParts) -> String {
    let mut text = String::from("This run was cut short; what follows is partial.\n");
    match tools_run(source.outcome) {
        tools if tools.is_empty() => text.push_str("No tools ran.\n"),
        tools => {
            let _ = writeln!(text, "Tools run: {tools}.");
        }
    }
    if parts.summary.is_empty() {
        text.push_str("No text was written yet.");
    } else {
        let _ = write!(text, "Last text: {}", parts.summary);
    }
    text
}

fn tools_run(outcome: &Outcome) -> String {
    let entries: Vec<String> = outcome.tools_run.iter().map(|(name, count)| format!("{name} ×{count}")).collect();
    entries.join(", ")
}

/// What lines of the head begin with that name files.
pub(in crate::subagent) const FILE_LINES: [&str; 3] = ["files created: ", "files modified: ", "worktree files: "];

/// What a line begins with, before a colon, that a model could take for another speaker or for a report's own head.
const HEADS: [&str; 12] = [
    "human",
    "user",
    "assistant",
    "system",
    "tool",
    "status",
    "agent",
    "reason",
    "worktree",
    "worktree files",
    "files created",
    "files modified",
];

/// Makes text harmless that imitates the frame around it: report tags, roles, and reminders. Marks that nobody sees
/// are taken out first, because they could hide an imitation from this and not from a model.
pub(in crate::subagent) fn escape(text: &str) -> String {
    let text = sanitize(text);
    let mut safe = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            safe.push('\n');
        }
        if imitates_a_head(line) {
            safe.push('\\');
        }
        safe.push_str(&escape_frame(line));
    }
    safe
}

/// Makes a text of a stranger harmless within one line of the head.
fn line(text: &str) -> String {
    escape_frame(&sanitize_line(text))
}

/// Returns `true` if a line begins like one of the head's, also in Markdown's emphasis, quotes and lists.
fn imitates_a_head(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "*_#>`-[".contains(c));
    let Some((word, _)) = line.split_once([':', '：', ']']) else { return false };
    let word = word.trim_end_matches(|c: char| c.is_whitespace() || "*_`".contains(c));
    HEADS.iter().any(|head| word.eq_ignore_ascii_case(head))
}

/// Tags that a model could take for the program's own, beside those of speakers.
const FRAME_TAGS: [&str; 9] =
    ["memory", "summary", "findings", "answer", "context", "project_agents", "system", "user", "result"];

fn escape_frame(line: &str) -> String {
    // A bar begins the control words of many local models, such as `<|im_start|>`.
    escape_tags(line, |piece| {
        let name = tag_name(piece);
        piece.starts_with('|') || speaks(piece) || FRAME_TAGS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
    })
}

/// Cuts a report to `limit` characters, at a line end if that keeps at least half of them, and says where the whole lies.
pub fn cut(report: &str, limit: usize, whole: Option<&Path>) -> String {
    let Some((end, _)) = report.char_indices().nth(limit) else { return report.to_owned() };
    let kept = match report[..end].rfind('\n') {
        Some(line_end) if line_end >= end / 2 => &report[..line_end],
        _ => &report[..end],
    };
    let rest = report.chars().count() - kept.chars().count();
    let place = whole.map_or_else(
        || "The full report could not be saved.".to_owned(),
        |path| format!("Read the full report: {}", path.display()),
    );
    format!("{kept}\n[cut here: {} more characters. {place}]\n", grouped(rest as u64))
}
