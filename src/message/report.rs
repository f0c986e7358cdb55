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
    /// Reads the tags of a final reply. A tag that is never closed runs to the next tag or the end; of two sections with the
    /// same tag the last one counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (findings, answer) =
            (section(text, "findings").map(str::to_owned), section(text, "answer").map(str::to_owned));
        let summary = section(text, "summary").map_or_else(
            || match (&findings, &answer) {
                (None, None) => text.trim().to_owned(),
                // An answer says what a summary would.
                (_, Some(answer)) if text.split('<').next().unwrap_or_default().trim().is_empty() => answer.clone(),
                _ => text.split('<').next().unwrap_or_default().trim().to_owned(),
            },
            str::to_owned,
        );
        Self { summary, findings, answer }
    }
}

/// Returns what stands in the last section with this tag, if anything does: what came before was a draft.
fn section<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    sections(text).into_iter().rev().find(|(name, body)| *name == tag && !body.is_empty()).map(|(_, body)| body)
}

/// Returns the sections of a report in their order. What one quotes of another's tag is no section.
fn sections(text: &str) -> Vec<(&'static str, &str)> {
    let mut found = Vec::new();
    let mut rest = text;
    let opens = |text: &str, tag: &str| text.find(&format!("<{tag}>"));
    while let Some((at, tag)) = REPORT_TAGS.into_iter().filter_map(|tag| Some((opens(rest, tag)?, tag))).min() {
        rest = &rest[at + tag.len() + 2..];
        let next = || REPORT_TAGS.into_iter().filter_map(|tag| opens(rest, tag)).min();
        let end = rest.find(&format!("</{tag}>")).or_else(next).unwrap_or(rest.len());
        let body = &rest[..end];
        rest = &rest[end..];
        // Begun anew before it was closed.
        let last = body.rsplit(&format!("<{tag}>")).next().unwrap_or(body);
        found.push((tag, last.trim()));
    }
    found
}

/// Returns what stands between a tag and its end, or the end of the text.
pub fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(body, _)| body).trim())
}

/// Returns the summary of a report: what stands in `<summary>`, else all of it.
pub fn summary_of(report: &str) -> &str {
    section(report, "summary").unwrap_or_else(|| report.trim())
}

/// Returns a report in Markdown, its tags as headings.
pub fn report_markdown(report: &str) -> String {
    let Some(summary) = section(report, "summary") else { return report.trim().to_owned() };
    let mut parts = Vec::new();
    let before = report.split("<summary>").next().unwrap_or_default().trim();
    parts.extend(Some(before.to_owned()).filter(|text| !text.is_empty()));
    parts.push(summary.to_owned());
    for (tag, title) in [("findings", "Findings"), ("answer", "Answer")] {
        if let Some(text) = section(report, tag) {
            parts.push(format!("**{title}**"));
            parts.push(text.to_owned());
        }
    }
    parts.join("\n\n")
}
