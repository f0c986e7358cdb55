//! Requests that describe one tool call: run, read, list, find, search.
//!
//! Owns their words. Leaves showing the output to `plan`. Invariant: the command, path or pattern is exactly what the
//! request says.

use serde_json::json;

use crate::offline::evidence::PlannedCall;
use crate::offline::text::paths::is_path;
use crate::offline::text::{clip, escape, lists, strip};

/// One tool call, made as asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Direct {
    pub(crate) call: PlannedCall,
    /// What is shown above the output, such as `src/main.rs` around line 10.
    pub(crate) title: String,
}

const PROGRAMS: &str = " cargo npm npx yarn pnpm node python python3 pip pytest tox make cmake ninja go git ls cat echo pwd date rustc rustfmt mvn gradle \
 bundle rake ruby php composer docker deno bun uv ruff mypy black eslint tsc jest vitest grep rg find sed wc head tail du df env which uname sleep sh bash ";

pub(crate) fn run(text: &str, lower: &str) -> Option<Direct> {
    let rest =
        ["run:", "execute:", "run ", "execute ", "exec ", "$ ", "! "].iter().find_map(|verb| strip(text, verb))?.trim();
    let rest = ["the command ", "command ", "this: ", "this command: "]
        .iter()
        .find_map(|w| strip(rest, w))
        .unwrap_or(rest)
        .trim();
    let quoted = rest.strip_prefix('`').and_then(|inner| inner.split_once('`')).map(|(command, _)| command.trim());
    let first = rest.split_whitespace().next()?;
    let is_program = lists(PROGRAMS, first) || first.starts_with("./");
    let stated = lower.starts_with("run:") || lower.starts_with("execute:") || lower.starts_with("$ ") || is_program;
    let command = quoted.or(stated.then_some(rest))?;
    let call = PlannedCall::bash(command, &clip(&format!("Run {command}"), 60));
    Some(Direct { call, title: format!("`{}`", command.replace('`', "'")) })
}

pub(crate) fn direct(text: &str, lower: &str) -> Option<Direct> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bare = |word: &str| word.trim_matches(['`', '"', '\'', ',', '?', '!']).to_owned();
    let (first, rest) = lower.split_once(' ').unwrap_or((lower, ""));
    let last = bare(words.last().copied().unwrap_or_default());
    if ["read", "show", "open", "cat", "view", "print", "display"].contains(&first) && words.len() <= 5 {
        let (path, line) = split_line(&last);
        if is_path(&path) && !path.contains('*') && !path.ends_with('/') {
            return Some(view(&path, line));
        }
    }
    if first == "ls"
        || lower == "list"
        || ((first == "list" || first == "show")
            && ["files", "the files", "all files", "files in", "directory", "the directory", "dir"]
                .iter()
                .any(|w| rest.starts_with(w))
            && words.len() <= 6)
    {
        let dir = if words.len() > 1 && !["files", "list", "here", "directory"].contains(&last.as_str()) {
            last
        } else {
            ".".to_owned()
        };
        return Some(Direct { call: PlannedCall::ls(&dir), title: format!("`{dir}`") });
    }
    if ["find", "list", "glob", "show", "locate"].contains(&first) {
        let named = ["files named ", "file named ", "files called ", "file called ", "files matching ", "files like "];
        let wanted = named.iter().find_map(|mark| lower.find(mark).and_then(|at| text.get(at + mark.len()..)));
        let starred = words.iter().map(|word| bare(word)).find(|word| word.contains('*'));
        let name = wanted.and_then(|rest| rest.split_whitespace().next()).map(bare).or(starred);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let pattern = if name.contains('/') { name.clone() } else { format!("**/{name}") };
            return Some(Direct { call: PlannedCall::glob(&pattern), title: format!("Files named `{name}`") });
        }
    }
    let asks_for_notes = ["list", "find", "show", "where", "are", "any"].contains(&first) && words.len() <= 8;
    if asks_for_notes
        && words.iter().any(|word| ["todo", "todos", "fixme", "fixmes"].contains(&bare(word).to_lowercase().as_str()))
    {
        let call = PlannedCall::new(
            "Grep",
            json!({ "pattern": "\\b(TO-?DO|FIX-?ME)\\b", "output_mode": "content", "-n": true, "head_limit": 60 }),
        );
        return Some(Direct { call, title: "Notes of work left to do".to_owned() });
    }
    search(text, lower)
}

/// Splits the line off `path:line`.
fn split_line(text: &str) -> (String, Option<usize>) {
    match text.split_once(':') {
        Some((path, line)) => (path.to_owned(), line.split(['-', ':']).next().and_then(|line| line.parse().ok())),
        None => (text.to_owned(), None),
    }
}

fn view(path: &str, line: Option<usize>) -> Direct {
    let (call, title) = match line {
        Some(line) => {
            (PlannedCall::read_part(path, line.saturating_sub(10).max(1), 40), format!("`{path}` around line {line}"))
        }
        None => (PlannedCall::read(path), format!("`{path}`")),
    };
    Direct { call, title }
}

fn search(text: &str, lower: &str) -> Option<Direct> {
    let verb = ["grep for ", "grep ", "search for ", "search the code for ", "rg "]
        .into_iter()
        .find(|verb| lower.starts_with(verb))?;
    let rest = text.get(verb.len()..)?.trim();
    let (wanted, dir) = match rest.rsplit_once(" in ") {
        Some((wanted, dir)) if is_path(dir.trim_matches('`')) || dir == "src" || dir == "tests" => {
            (wanted, Some(dir.trim_matches('`')))
        }
        _ => (rest, None),
    };
    let pattern = wanted.trim_matches(['`', '"', '\'', '?']);
    if pattern.is_empty() {
        return None;
    }
    // What is not a valid pattern is meant literally; quotes around words mean so too.
    let literal = if verb.contains("search") { escape(pattern) } else { pattern.to_owned() };
    let mut call =
        PlannedCall::new("Grep", json!({ "pattern": literal, "output_mode": "content", "-n": true, "head_limit": 60 }));
    if let Some(dir) = dir {
        call.input.insert("path".to_owned(), json!(dir));
    }
    Some(Direct { call, title: format!("`{}`", pattern.replace('`', "'")) })
}
