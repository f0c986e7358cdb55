//! Requests that describe one tool call: run a command, show a part of a file.
//!
//! Owns their words, and showing what the call gave. Leaves approval to the program. Invariants: the command or path is
//! exactly what the request says; what is not shown of the output is counted.

use crate::offline::evidence::{Evidence, PlannedCall};
use crate::offline::report::{Report, Reported};
use crate::offline::text::paths::{self, is_path};
use crate::offline::text::{clip, lists, strip};

/// One tool call, made as asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Direct {
    pub(crate) call: PlannedCall,
    /// What is shown above the output, such as `src/main.rs` around line 10.
    pub(crate) title: String,
}

const PROGRAMS: &str = " cargo npm npx yarn pnpm node python python3 pip pytest tox make cmake ninja go git ls cat echo pwd date rustc rustfmt mvn gradle \
 bundle rake ruby php composer docker deno bun uv ruff mypy black eslint tsc jest vitest grep rg find sed wc head tail du df env which uname sleep sh bash ";

pub(crate) fn direct(text: &str) -> Option<Direct> {
    run(text).or_else(|| view(text))
}

fn run(text: &str) -> Option<Direct> {
    let (verb, rest) = ["run:", "execute:", "$ ", "run ", "execute ", "exec ", "! "]
        .into_iter()
        .find_map(|verb| Some((verb, strip(text, verb)?)))?;
    let named = ["the command ", "command ", "this: ", "this command: "].iter().find_map(|words| strip(rest, words));
    let rest = named.unwrap_or(rest).trim();
    let quoted = rest.strip_prefix('`').and_then(|inner| inner.split_once('`')).map(|(command, _)| command.trim());
    let first = rest.split_whitespace().next()?;
    let is_stated = verb.ends_with(':') || verb == "$ " || lists(PROGRAMS, first) || first.starts_with("./");
    let command = quoted.or(is_stated.then_some(rest))?;
    let call = PlannedCall::bash(command, &clip(&format!("Run {command}"), 60));
    Some(Direct { call, title: format!("`{}`", command.replace('`', "'")) })
}

/// Reads "show src/main.rs:10".
fn view(text: &str) -> Option<Direct> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [first, .., last] = words.as_slice() else { return None };
    let last = last.trim_matches(['`', '"', '\'', ',', '?', '!']);
    let (path, line) = last.split_once(':').unwrap_or((last, ""));
    let asks = lists("read show open cat view print display", &first.to_lowercase());
    if !asks || words.len() > 5 || !is_path(path) || path.contains('*') || path.ends_with('/') {
        return None;
    }
    Some(match line.split(['-', ':']).next().and_then(|line| line.parse::<usize>().ok()) {
        Some(line) => {
            let call = PlannedCall::read_part(path, line.saturating_sub(10).max(1), 40);
            Direct { call, title: format!("`{path}` around line {line}") }
        }
        None => Direct { call: PlannedCall::read(path), title: format!("`{path}`") },
    })
}

/// Lines of output shown; the tool's own result holds the rest.
const MOST_LINES: usize = 60;

impl Direct {
    /// Shows what the call gave.
    pub(crate) fn answer(&self, evidence: &Evidence) -> Reported {
        let (title, call) = (&self.title, &self.call);
        evidence.ask([call.clone()])?;
        let say = |text: String| Ok(Report::say(format!("{title} {text}")));
        let Some(exchange) = evidence.find(call) else {
            return say(format!("was not run: the tool {} is not on offer here.", call.name));
        };
        let output = exchange.output.trim_end();
        if exchange.is_error && output.starts_with("The user said no") {
            let why = output.split_once(": ").map(|(_, why)| format!(" {why}")).unwrap_or_default();
            return say(format!("was not run: the user said no.{why}"));
        }
        if exchange.is_error && output.starts_with("Nobody is there to approve this") {
            return say(format!("was not run. {}", output.trim_end_matches(" Continue without it.")));
        }
        // The sentence above the output says how the command ended.
        let code = output.lines().find_map(|line| line.strip_prefix("[exit ")?.split(']').next());
        let mut summary = match (call.name == "Bash", exchange.is_error) {
            (true, is_error) if code.is_some() || !is_error => {
                format!("{title} ended with exit code {}.", code.unwrap_or("0").trim_start_matches("code "))
            }
            (_, true) => format!("{title} did not work."),
            _ => format!("{title}:"),
        };
        let lines: Vec<&str> = output.lines().filter(|line| !line.starts_with("[exit ")).collect();
        if lines.is_empty() {
            summary.push_str(" It printed nothing.");
            return Ok(Report::say(summary));
        }
        let path = call.argument("file_path");
        let tag = if path.is_empty() { "text".to_owned() } else { paths::fence(path) };
        let shown = lines.iter().take(MOST_LINES).map(|line| clip(line, 240).replace("```", "'''"));
        let mut findings: Vec<String> = [format!("```{tag}")].into_iter().chain(shown).collect();
        findings.push("```".to_owned());
        if let left @ 1.. = lines.len().saturating_sub(MOST_LINES) {
            findings.push(format!("\n{left} more lines are in the tool's result."));
        }
        Ok(Report::new(summary, findings))
    }
}
