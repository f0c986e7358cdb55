//! The tags of a subagent's report, which it writes, its parent reads, and people see as headings.

/// The parts of a report, in their order.
pub const REPORT_TAGS: [&str; 3] = ["summary", "findings", "answer"];

/// A subagent's last words in their parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportParts {
    /// The whole text where there are no tags.
    pub summary: String,
    pub findings: Option<String>,
    pub answer: Option<String>,
}

impl ReportParts {
    /// Reads the tags of a final reply. A tag that is never closed runs to the next tag or the end.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (findings, answer) = (section(text, "findings"), section(text, "answer"));
        let summary = section(text, "summary").unwrap_or_else(|| match (&findings, &answer) {
            (None, None) => text.trim().to_owned(),
            // An answer says what a summary would.
            (_, Some(answer)) if text.split('<').next().unwrap_or_default().trim().is_empty() => answer.clone(),
            _ => text.split('<').next().unwrap_or_default().trim().to_owned(),
        });
        Self { summary, findings, answer }
    }
}

fn section(text: &str, tag: &str) -> Option<String> {
    let body = tagged(text, tag)?;
    let end = REPORT_TAGS.iter().filter_map(|other| body.find(&format!("<{other}>"))).min();
    Some(body[..end.unwrap_or(body.len())].trim().to_owned()).filter(|body| !body.is_empty())
}

/// Returns what stands between a tag and its end, or the end of the text.
pub fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(body, _)| body).trim())
}

/// Returns the summary of a report: what stands in `<summary>`, else all of it.
pub fn summary_of(report: &str) -> &str {
    match tagged(report, "summary") {
        Some(summary) if !summary.is_empty() => summary,
        _ => report.trim(),
    }
}

/// Returns a report in Markdown, its tags as headings.
pub fn report_markdown(report: &str) -> String {
    let Some(summary) = tagged(report, "summary") else { return report.trim().to_owned() };
    let mut parts = Vec::new();
    let before = report.split("<summary>").next().unwrap_or_default().trim();
    parts.extend(Some(before.to_owned()).filter(|text| !text.is_empty()));
    parts.push(summary.to_owned());
    for (tag, title) in [("findings", "Findings"), ("answer", "Answer")] {
        if let Some(text) = tagged(report, tag).filter(|text| !text.is_empty()) {
            parts.push(format!("**{title}**"));
            parts.push(text.to_owned());
        }
    }
    parts.join("\n\n")
}
