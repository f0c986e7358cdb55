//! A subagent's report: written by the child, read by the agent above it.
//!
//! Owns the tags and the status line. Leaves the content to the plans. Invariant: a report that was cut short, failed
//! or was cancelled is never taken for a complete one.

use std::fmt::Write as _;

use super::evidence::{Evidence, Exchange};

/// Bytes of findings in one report; the program cuts reports a little later.
const MOST_FINDINGS: usize = 6800;

/// What a child hands up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) summary: String,
    pub(super) findings: Vec<String>,
    pub(super) answer: String,
}

impl Report {
    /// Writes the report with its tags, and with the failures of tools named.
    pub(super) fn render(&self, evidence: &Evidence) -> String {
        let mut summary = self.summary.trim().to_owned();
        let failed: Vec<String> =
            evidence.failures().filter(|e| !is_expected(e)).take(3).map(Exchange::title).collect();
        if !failed.is_empty() {
            let _ = write!(summary, " Not everything could be looked at: {} failed.", failed.join(", "));
        }
        let mut out = format!("<summary>{summary}</summary>");
        let (mut findings, mut left) = (String::new(), 0);
        for line in &self.findings {
            if findings.len() + line.len() > MOST_FINDINGS {
                left += 1;
            } else {
                findings.push_str(line);
                findings.push('\n');
            }
        }
        if left > 0 {
            let _ = writeln!(findings, "({left} more left out)");
        }
        if !findings.trim().is_empty() {
            let _ = write!(out, "\n<findings>\n{findings}</findings>");
        }
        if !self.answer.trim().is_empty() {
            let _ = write!(out, "\n<answer>{}</answer>", self.answer.trim());
        }
        out
    }

    /// Joins the reports of several plans into one.
    pub(super) fn join(reports: Vec<Self>) -> Self {
        let mut joined = Self::default();
        for report in reports {
            if !report.summary.trim().is_empty() {
                joined.summary.push_str(report.summary.trim());
                joined.summary.push(' ');
            }
            for line in report.findings {
                if !joined.findings.contains(&line) {
                    joined.findings.push(line);
                }
            }
            if joined.answer.is_empty() {
                joined.answer = report.answer;
            }
        }
        joined
    }
}

/// Tells whether a failure is an answer in itself, and said elsewhere.
fn is_expected(exchange: &Exchange) -> bool {
    let lower = exchange.output.to_lowercase();
    lower.contains("not a git repository")
        || lower.contains("unknown revision")
        || lower.contains("does not have any commits")
}

/// A report as it came back through the `Agent` tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Received {
    /// The word behind `status:`; `refused` where the tool itself said no.
    pub(super) status: String,
    pub(super) report: Report,
}

impl Received {
    /// Reads a report, whatever its form.
    pub(super) fn read(exchange: &Exchange) -> Self {
        let text = &exchange.output;
        let status = text.lines().find_map(|line| line.strip_prefix("status:")).map(|rest| rest.trim().to_owned());
        let summary = tag(text, "summary");
        let is_plain = summary.is_none() && tag(text, "findings").is_none() && status.is_none();
        let status = match status {
            Some(status) => status.split_whitespace().next().unwrap_or_default().to_owned(),
            None if exchange.is_error => "refused".to_owned(),
            None => "completed".to_owned(),
        };
        let report = Report {
            summary: summary.unwrap_or_else(|| if is_plain { text.trim().to_owned() } else { String::new() }),
            findings: tag(text, "findings").map(|inner| inner.lines().map(str::to_owned).collect()).unwrap_or_default(),
            answer: tag(text, "answer").unwrap_or_default(),
        };
        Self { status, report }
    }

    /// Tells whether the child said all it had to say.
    pub(super) fn is_complete(&self) -> bool {
        self.status == "completed"
    }

    /// Returns a sentence on a run that did not end well.
    pub(super) fn note(&self, title: &str) -> Option<String> {
        let how = match self.status.as_str() {
            "completed" => return None,
            "cancelled" => "was stopped",
            "timed_out" => "ran out of time",
            "turn_limit" | "tool_limit" => "reached its limit",
            "budget" => "ran out of budget",
            "empty" => "ended without a word",
            "refused" => "was not started",
            _ => "failed",
        };
        let partial = !self.report.findings.is_empty();
        let rest = if partial { "; what it had found is used above" } else { "; this answer does without its part" };
        let why =
            if self.status == "refused" { format!(" ({})", first_line(&self.report.summary)) } else { String::new() };
        Some(format!("The subagent \"{title}\" {how}{why}{rest}."))
    }
}

fn first_line(text: &str) -> String {
    super::source::clip(text.lines().next().unwrap_or_default().trim().trim_end_matches('.'), 160)
}

/// Returns what stands between a tag and its end; without an end, all that follows.
fn tag(text: &str, name: &str) -> Option<String> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let rest = &text[start..];
    let end = rest.find(&format!("</{name}>")).unwrap_or(rest.len());
    Some(rest[..end].trim().to_owned())
}
