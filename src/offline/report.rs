//! What is found, and how it is handed up: reports, and the places they cite.
//!
//! Owns the tags, the status line and the form of a citation. Leaves the content to the answers. Invariant: a report that was
//! cut short, failed or was cancelled is never taken for a complete one; what is quoted was in a tool result.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use super::evidence::{CitedPlace, Evidence, Exchange, NotYet};
use super::text::{clip, contains_any, paths, sentence};
use crate::message::{REPORT_TAGS, ReportParts};

/// Bytes of findings in one report; the program cuts reports a little later.
const MOST_FINDINGS: usize = 6800;

/// A report, once all is known that it takes.
pub(super) type Reported = Result<Report, NotYet>;

/// What was found: an answer, and lines that bear it out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) summary: String,
    pub(super) findings: Vec<String>,
}

impl Report {
    pub(super) fn new(summary: impl Into<String>, findings: Vec<String>) -> Self {
        Self { summary: summary.into(), findings }
    }

    /// Returns a sentence as a report.
    pub(super) fn say(summary: impl Into<String>) -> Self {
        Self::new(summary, Vec::new())
    }

    /// Writes the report with its tags, and with the failures of tools named.
    pub(super) fn render(&self, evidence: &Evidence) -> String {
        let mut summary = self.summary.trim().to_owned();
        // These are answers in themselves, and said elsewhere.
        let is_expected = |exchange: &&Exchange| {
            let expected = "not a git repository|unknown revision|does not have any commits";
            contains_any(&exchange.output.to_lowercase(), expected)
        };
        let failures = evidence.failures().filter(|exchange| !is_expected(exchange));
        let failed: Vec<String> = failures.take(3).map(Exchange::title).collect();
        if !failed.is_empty() {
            let _ = write!(summary, " Not everything could be looked at: {} failed.", failed.join(", "));
        }
        let mut room = MOST_FINDINGS;
        let fits = |line: &&String| {
            room = room.saturating_sub(line.len() + 1);
            room > 0
        };
        let mut findings: Vec<String> = self.findings.iter().take_while(fits).cloned().collect();
        let left = self.findings.len() - findings.len();
        findings.extend((left > 0).then(|| format!("({left} more left out)")));
        match findings.join("\n").trim_end() {
            "" => format!("<summary>{summary}</summary>"),
            findings => format!("<summary>{summary}</summary>\n<findings>\n{findings}\n</findings>"),
        }
    }

    /// Joins several reports into one. All of them ask before the first is waited for.
    pub(super) fn join(reports: impl IntoIterator<Item = Reported>) -> Reported {
        let reports: Vec<Reported> = reports.into_iter().collect();
        let mut joined = Self::default();
        for report in reports {
            let report = report?;
            let summary = format!("{} {}", joined.summary, report.summary.trim());
            summary.trim().clone_into(&mut joined.summary);
            // An excerpt has lines that another one has too.
            let is_news = |line: &String| !line.starts_with("- ") || !joined.findings.contains(line);
            let news: Vec<String> = report.findings.into_iter().filter(is_news).collect();
            joined.findings.extend(news);
        }
        Ok(joined)
    }
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
        let stated = exchange.output.lines().find_map(|line| line.strip_prefix("status:")?.split_whitespace().next());
        let status = stated.unwrap_or(if exchange.is_error { "refused" } else { "completed" }).to_owned();
        let parts = ReportParts::parse(&exchange.output);
        let findings = parts.findings.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
        Self { status, report: Report::new(parts.answer.unwrap_or(parts.summary), findings) }
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
        let why = match self.report.summary.lines().next() {
            Some(first) if self.status == "refused" => format!(" ({})", clip(first.trim().trim_end_matches('.'), 160)),
            _ => String::new(),
        };
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

impl CitedPlace {
    /// Leaves out a place that stands before already, whatever it was called there.
    pub(super) fn keep_first(places: &mut Vec<Self>) {
        let mut seen = HashSet::new();
        places.retain(|place| seen.insert((place.path.clone(), place.line)));
    }

    pub(super) fn cite(&self) -> String {
        format!("`{}:{}`", self.path, self.line)
    }

    /// Names what stands here.
    pub(super) fn label(&self) -> String {
        let is_named = self.kind != "file" && !self.name.is_empty();
        if is_named { format!("{} `{}`", self.kind, self.name) } else { self.kind.clone() }
    }

    /// Writes the place as one line of a report.
    pub(super) fn bullet(&self) -> String {
        let head = format!("- {} {}", self.cite(), self.label());
        // What is said of a definition or a file is a text put together from its lines, not one line as it stands.
        let is_told = self.kind == "file" || self.is_definition();
        match if is_told { &self.doc } else { &self.text } {
            text if text.is_empty() => head,
            text if is_told => format!("{head}: {}", safe(&clip(text, 200))),
            text => format!("{head}: `{}`", quotable(text)),
        }
    }

    /// Returns `true` if a definition begins here.
    fn is_definition(&self) -> bool {
        !self.name.is_empty() && self.kind != "file" && !self.kind.starts_with("use")
    }

    /// Says in one sentence what stands here, as far as its lines show.
    pub(super) fn statement(&self, lines: &BTreeMap<usize, String>) -> String {
        let (cite, label, told) = (self.cite(), self.label(), sentence(&self.doc, 240));
        match self.kind.as_str() {
            "file" if told.is_empty() => return format!("The file begins at {cite}."),
            "file" => return format!("{told} ({cite})."),
            "setting" => return format!("{cite} has `{}`.", quotable(&self.text)),
            _ if !self.is_definition() => return format!("The closest place is {cite}: `{}`.", quotable(&self.text)),
            _ => {}
        }
        let is_value = ["constant", "variable", "property", "field"].contains(&self.kind.as_str());
        let value = lines.get(&self.line).and_then(|line| line.split_once(" = ")).filter(|_| is_value);
        let value = value.map(|(_, value)| value.trim().trim_end_matches([';', ',']));
        let is_plain = |value: &&str| value.len() < 80 && !value.ends_with(['(', '{', '[', '\\']);
        let end = if told.is_empty() { ".".to_owned() } else { format!(": {told}.") };
        match value.filter(is_plain) {
            Some(value) => format!("`{}` is `{}` ({cite}){end}", self.name, quotable(value)),
            None if told.is_empty() => format!("The {label} is defined at {cite}."),
            None => format!("The {label} at {cite}{end}"),
        }
    }

    /// Returns the lines around the place as a fenced excerpt: of a definition its body, as far as it was read.
    pub(super) fn excerpt(&self, lines: &BTreeMap<usize, String>, most: usize) -> Vec<String> {
        let depth = |line: &str| line.len() - line.trim_start().len();
        let Some(indent) = lines.get(&self.line).map(|own| depth(own)) else { return Vec::new() };
        let is_definition = self.is_definition();
        let start = if is_definition { self.line } else { self.line.saturating_sub(2).max(1) };
        let mut shown: Vec<(usize, &str)> = Vec::new();
        for (number, line) in lines.range(start..).take(most) {
            let is_gap = shown.last().is_some_and(|(last, _)| *number != last + 1);
            let text = line.trim();
            let is_outside = *number > self.line && !text.is_empty() && depth(line) <= indent;
            let closes = text.starts_with(['}', ')', ']', '{']) || matches!(text, "end" | "where");
            let goes_on = text.ends_with(['{', ':', '(']) || text == "where";
            let is_past = if is_definition { is_outside && !closes } else { *number > self.line + 3 };
            if is_gap || is_past {
                break;
            }
            shown.push((*number, line));
            let ends = text.ends_with(';') || text.contains('{') && text.ends_with('}');
            let is_alone = ends && *number >= self.line && depth(line) <= indent;
            if is_definition && (is_outside && closes && !goes_on || is_alone) {
                break;
            }
        }
        while shown.last().is_some_and(|(_, line)| line.trim().is_empty()) {
            shown.pop();
        }
        let width = shown.last().map_or(0, |(number, _)| number.to_string().len());
        let fence = if shown.iter().any(|(_, line)| line.contains("```")) { "````" } else { "```" };
        let numbered = shown.into_iter().map(|(number, line)| format!("{number:>width$}  {}", clip(line, 140)));
        let head = format!("{fence}{}", paths::fence(&self.path));
        [head].into_iter().chain(numbered).chain([fence.to_owned()]).collect()
    }
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
