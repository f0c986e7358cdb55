//! What is found, and how it is handed up: reports, the parts that end in one, and the places they cite.
//!
//! Owns the tags, the status line and the form of a citation. Leaves the content to the parts. Invariant: a report that was
//! cut short, failed or was cancelled is never taken for a complete one; what is quoted was in a tool result.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::evidence::{Evidence, Exchange, PlannedCall};
use super::text::{clip, paths, sentence};
use crate::message::{REPORT_TAGS, tagged};

/// Bytes of findings in one report; the program cuts reports a little later.
const MOST_FINDINGS: usize = 6800;

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

/// Returns `true` if a failure is an answer in itself, and said elsewhere.
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
        let summary = tagged(text, "summary").map(str::to_owned);
        let is_plain = summary.is_none() && tagged(text, "findings").is_none() && status.is_none();
        let status = match status {
            Some(status) => status.split_whitespace().next().unwrap_or_default().to_owned(),
            None if exchange.is_error => "refused".to_owned(),
            None => "completed".to_owned(),
        };
        let report = Report {
            summary: summary.unwrap_or_else(|| if is_plain { text.trim().to_owned() } else { String::new() }),
            findings: tagged(text, "findings")
                .map(|inner| inner.lines().map(str::to_owned).collect())
                .unwrap_or_default(),
            answer: tagged(text, "answer").unwrap_or_default().to_owned(),
        };
        Self { status, report }
    }

    /// Returns `true` if the subagent said all it had to say.
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

/// Cuts a list of lines, and counts what is left out.
pub(super) fn shorten(lines: &mut Vec<String>, most: usize) {
    if lines.len() > most {
        let left = lines.len() - most;
        lines.truncate(most);
        lines.push(format!("- and {left} more"));
    }
}

fn first_line(text: &str) -> String {
    clip(text.lines().next().unwrap_or_default().trim().trim_end_matches('.'), 160)
}

/// One line of inquiry that ends in a report.
pub(super) trait AnswerPart {
    /// Returns the calls of stage `n`, as in [`AnswerPlan::stage`].
    fn stage(&self, n: usize, evidence: &Evidence) -> Option<Vec<PlannedCall>>;

    fn report(&self, evidence: &Evidence) -> Report;
}

/// A line worth opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CitedPlace {
    pub(super) path: String,
    pub(super) line: usize,
    /// What stands there, such as `function` or `use`.
    pub(super) label: String,
    pub(super) text: String,
}

impl CitedPlace {
    /// Leaves out a place that stands before already, whatever it was called there.
    pub(super) fn keep_first(places: &mut Vec<Self>) {
        let mut seen = HashSet::new();
        places.retain(|place| seen.insert((place.path.clone(), place.line)));
    }

    /// Writes the place as one line of a report.
    pub(super) fn bullet(&self) -> String {
        let head = format!("- `{}:{}` {}", self.path, self.line, self.label);
        match (self.text.is_empty(), self.is_told()) {
            (true, _) => head,
            // What is said of a definition or a file is a text put together from its lines, not one line as it stands.
            (false, true) => format!("{head}: {}", safe(&clip(&self.text, 200))),
            (false, false) => format!("{head}: `{}`", quotable(&self.text)),
        }
    }

    /// Returns `true` if the text tells of the place in words and does not quote its line.
    fn is_told(&self) -> bool {
        self.label == "file" || self.is_definition()
    }

    /// Returns `true` if a definition begins here.
    fn is_definition(&self) -> bool {
        self.label.ends_with('`') && !self.label.starts_with("use")
    }

    /// Says in one sentence what stands here, as far as its lines show.
    pub(super) fn statement(&self, lines: &BTreeMap<usize, String>) -> String {
        let cite = format!("`{}:{}`", self.path, self.line);
        if self.label == "file" {
            let told = sentence(&self.text, 240);
            return if told.is_empty() { format!("The file begins at {cite}.") } else { format!("{told} ({cite}).") };
        }
        if !self.is_definition() {
            return match self.label.as_str() {
                "setting" => format!("{cite} has `{}`.", quotable(&self.text)),
                _ => format!("The closest place is {cite}: `{}`.", quotable(&self.text)),
            };
        }
        let label = &self.label;
        let doc = sentence(&self.text, 240);
        let told = if doc.is_empty() { ".".to_owned() } else { format!(": {doc}.") };
        let value = lines.get(&self.line).and_then(|line| line.split_once(" = ")).map(|(_, value)| value.trim());
        let value = value.map(|value| value.trim_end_matches([';', ',']));
        let is_plain = |value: &&str| value.len() < 80 && !value.ends_with(['(', '{', '[', '\\']);
        let is_value = ["constant ", "variable ", "property ", "field "].iter().any(|kind| label.starts_with(kind));
        match value.filter(is_plain).filter(|_| is_value) {
            Some(value) => {
                let name = label.split('`').nth(1).unwrap_or_default();
                format!("`{name}` is `{}` ({cite}){told}", quotable(value))
            }
            None if doc.is_empty() => format!("The {label} is defined at {cite}."),
            None => format!("The {label} at {cite}{told}"),
        }
    }

    /// Returns the lines around the place as a fenced excerpt: its line, the beginning of its body.
    pub(super) fn excerpt(&self, lines: &BTreeMap<usize, String>, most: usize) -> Option<String> {
        let own = lines.get(&self.line)?;
        let is_definition = self.is_definition();
        let start = if is_definition { self.line } else { self.line.saturating_sub(2).max(1) };
        let indent = own.len() - own.trim_start().len();
        let mut shown: Vec<(usize, &str)> = Vec::new();
        for (number, line) in lines.range(start..) {
            let is_gap = shown.last().is_some_and(|(last, _)| *number != last + 1);
            if is_gap || shown.len() >= most || (!is_definition && *number > self.line + 3) {
                break;
            }
            let depth = line.len() - line.trim_start().len();
            let outside = *number > self.line && is_definition && !line.trim().is_empty() && depth <= indent;
            let closes = line.trim_start().starts_with(['}', ')', ']']) || matches!(line.trim(), "{" | "where");
            if outside && !closes {
                break;
            }
            shown.push((*number, line));
            let ends = *number >= self.line && is_definition && ends_alone(line);
            if (outside && closes && !line.trim_end().ends_with(['{', ':', 'e'])) || (ends && depth <= indent) {
                break;
            }
        }
        while shown.last().is_some_and(|(_, line)| line.trim().is_empty()) {
            shown.pop();
        }
        let width = shown.last()?.0.to_string().len();
        let fence = if shown.iter().any(|(_, line)| line.contains("```")) { "````" } else { "```" };
        let mut out = format!("{fence}{}\n", paths::fence(&self.path));
        for (number, line) in shown {
            let _ = writeln!(out, "{number:>width$}  {}", clip(line, 140));
        }
        out.push_str(fence);
        Some(out)
    }
}

/// Returns `true` if a definition ends on its first line.
fn ends_alone(line: &str) -> bool {
    let line = line.trim_end();
    line.ends_with(';') || (line.ends_with('}') && line.contains('{'))
}

/// Makes a source line safe inside a report and inside backquotes.
pub(super) fn quotable(text: &str) -> String {
    safe(&clip(text.trim(), 160)).replace('`', "'")
}

/// Makes a text safe inside a report: it cannot end or begin a part of it.
pub(super) fn safe(text: &str) -> String {
    let mut text = text.to_owned();
    for tag in REPORT_TAGS {
        text =
            text.replace(&format!("<{tag}>"), &format!("‹{tag}›")).replace(&format!("</{tag}>"), &format!("‹/{tag}›"));
    }
    text
}
