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
    let title = &direct.title;
    let Some(exchange) = evidence.find(&direct.call) else {
        return format!("{title} was not run: the tool {} is not on offer here.", direct.call.name);
    };
    let output = exchange.output.trim_end();
    if exchange.is_error && output.starts_with("The user said no") {
        let why = output.split_once(": ").map(|(_, why)| format!(" {why}")).unwrap_or_default();
        return format!("{title} was not run: the user said no.{why}");
    }
    if exchange.is_error && output.starts_with("Nobody is there to approve this") {
        return format!("{title} was not run. {}", output.trim_end_matches(" Continue without it."));
    }
    // The sentence above the output says how the command ended.
    let is_command = direct.call.name == "Bash";
    let code = output.lines().find_map(|line| line.strip_prefix("[exit ")?.split(']').next());
    let mut text = match (is_command, code, exchange.is_error) {
        (true, Some(code), _) => format!("{title} ended with exit code {}.", code.trim_start_matches("code ")),
        (true, None, false) => format!("{title} ended with exit code 0."),
        (_, _, true) => format!("{title} did not work."),
        _ => format!("{title}:"),
    };
    let lines: Vec<&str> = output.lines().filter(|line| !line.starts_with("[exit ")).collect();
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

impl AnswerPart for Direct {
    fn stage(&self, n: usize, _evidence: &Evidence) -> Option<Vec<PlannedCall>> {
        (n == 0).then(|| vec![self.call.clone()])
    }

    fn report(&self, evidence: &Evidence) -> Report {
        let text = text(self, evidence);
        let (summary, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
        let findings = rest.lines().map(str::to_owned).collect();
        Report { summary: summary.to_owned(), findings, answer: String::new() }
    }
}
