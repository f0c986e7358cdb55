//! Requests that describe one tool call: run a command, show a part of a file.
//!
//! Owns their words. Leaves showing the output to `plan`. Invariant: the command or path is exactly what the request says.

use crate::offline::evidence::PlannedCall;
use crate::offline::text::paths::is_path;
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
    let asks = lists("read show open cat view print display", &first.to_lowercase());
    let last = last.trim_matches(['`', '"', '\'', ',', '?', '!']);
    let (path, line) = last.split_once(':').unwrap_or((last, ""));
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
