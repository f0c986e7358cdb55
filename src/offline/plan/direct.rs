//! Showing what one tool call gave, for requests that describe one.
//!
//! Owns how the output is shown. Leaves reading the request to `request`, and approval to the program. Invariant: what is
//! not shown of the output is counted.

use std::fmt::Write as _;

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{AnswerPart, Report};
use crate::offline::request::Direct;
use crate::offline::text::clip;
use crate::offline::text::paths;

/// Lines of output shown; the tool's own result holds the rest.
const MOST_LINES: usize = 60;

pub(crate) fn text(direct: &Direct, evidence: &Evidence) -> String {
    let Some(exchange) = evidence.find(&direct.call) else {
        return format!("{} was not run: the tool {} is not on offer here.", direct.title, direct.call.name);
    };
    let output = exchange.output.trim_end();
    if exchange.is_error && output.starts_with("The user said no") {
        let why = output.split_once(": ").map(|(_, why)| format!(" {why}")).unwrap_or_default();
        return format!("{} was not run: the user said no.{why}", direct.title);
    }
    if exchange.is_error && output.starts_with("Nobody is there to ask") {
        return format!("{} was not run. {}", direct.title, output.trim_end_matches(" Go on without it."));
    }
    // The sentence above the output says how the command ended.
    let lines: Vec<&str> = output.lines().filter(|line| !line.starts_with("[exit ")).collect();
    let code = exit_code(output);
    let mut text = match (direct.call.name.as_str(), exchange.is_error) {
        ("Bash", _) if code.is_some() => {
            format!("{} ended with exit code {}.", direct.title, code.unwrap_or_default())
        }
        (_, true) => format!("{} did not work.", direct.title),
        ("Bash", false) => format!("{} ended with exit code 0.", direct.title),
        ("Grep" | "Glob", false) => format!("{}: {}.", direct.title, tally(direct, evidence)),
        _ => format!("{}:", direct.title),
    };
    if direct.call.name == "Grep" && !exchange.is_error && evidence.hits(&direct.call).is_empty() {
        return text;
    }
    if lines.is_empty() {
        text.push_str(" It printed nothing.");
        return text;
    }
    let path = direct.call.argument("file_path");
    let tag = if path.is_empty() { "text".to_owned() } else { paths::fence(path) };
    let shown: Vec<String> = lines.iter().take(MOST_LINES).map(|line| clip(line, 240).replace("```", "'''")).collect();
    let _ = write!(text, "\n\n```{tag}\n{}\n```", shown.join("\n"));
    if lines.len() > MOST_LINES {
        let _ = write!(text, "\n\n{} more lines are in the tool's result.", lines.len() - MOST_LINES);
    }
    text
}

fn tally(direct: &Direct, evidence: &Evidence) -> String {
    let hits = evidence.hits(&direct.call);
    if direct.call.name == "Glob" {
        return counted(evidence.paths(&direct.call).len(), "file");
    }
    let mut files: Vec<&str> = hits.iter().map(|hit| hit.path.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    if hits.is_empty() {
        "no hits".to_owned()
    } else {
        format!("{} in {}", counted(hits.len(), "hit"), counted(files.len(), "file"))
    }
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn exit_code(output: &str) -> Option<i32> {
    output.lines().rev().chain(output.lines().take(1)).find_map(|line| {
        let lower = line.to_ascii_lowercase();
        let mark = ["exit code", "[exit"].into_iter().find(|mark| lower.contains(mark))?;
        let rest = &lower[lower.find(mark)? + mark.len()..];
        let number: String =
            rest.chars().skip_while(|c| " :=".contains(*c)).take_while(|c| c.is_ascii_digit() || *c == '-').collect();
        number.parse().ok()
    })
}

impl AnswerPart for Direct {
    fn stage(&self, n: usize, _evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        (n == 0).then(|| vec![self.call.clone()])
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let text = text(self, evidence);
        let (summary, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
        Report {
            summary: summary.to_owned(),
            findings: rest.lines().map(str::to_owned).collect(),
            answer: String::new(),
        }
    }
}
