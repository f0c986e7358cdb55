//! Reports of subagents as people read them.
//!
//! Owns the reading of the tags a report is written with. Leaves what the parent's model gets to `subagent`.
//! Invariant: a report without tags, or with broken ones, is shown whole.

/// Returns the summary of a report: what stands in `<summary>`, else all of it.
#[must_use]
pub fn summary_of(report: &str) -> &str {
    match tagged(report, "summary") {
        Some(summary) if !summary.is_empty() => summary,
        _ => report.trim(),
    }
}

/// Returns a report in Markdown, its tags as headings.
#[must_use]
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

/// Returns what stands between a tag and its end, or the end of the text.
fn tagged<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let open = format!("<{tag}>");
    let start = text.find(&open)? + open.len();
    let rest = &text[start..];
    Some(rest.split(&format!("</{tag}>")).next().unwrap_or(rest).trim())
}
