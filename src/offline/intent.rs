//! What a request asks for.
//!
//! Owns the words by which requests are told apart. Leaves what to do about them to `lead` and `child`. Invariant: any
//! text has an intent; what is not understood is a question.

use super::delegation::delegation;
use super::plan::Call;
use super::terms::{Terms, is_path};
use super::vocabulary::{beyond, is_overview, topic};
use serde_json::json;

/// One request, understood.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Intent {
    /// Who are you, what can you do.
    Help,
    /// The whole project.
    Overview,
    /// One side of the project.
    Topic(Topic),
    /// What each file of a kind does.
    Files { glob: String },
    /// Several subagents, one for each item.
    Many(Vec<String>),
    /// So many subagents for one matter.
    Counted(usize, Box<Intent>),
    /// One tool call, named or described.
    Direct { call: Call, title: String },
    /// Something only a language model can do.
    Decline { what: &'static str },
    /// Everything else.
    Question(String),
}

/// A side of a project that is always looked at in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Layout,
    Build,
    Tests,
    History,
    Version,
    License,
}

/// Understands a request.
pub(super) fn read(request: &str) -> Intent {
    let text = polite(request.trim());
    let lower = text.to_lowercase();
    if is_greeting(&lower) {
        return Intent::Help;
    }
    if let Some(intent) = delegation(text) {
        return intent;
    }
    single(text, &lower)
}

pub(super) fn single(text: &str, lower: &str) -> Intent {
    if let Some(intent) = run(text, lower) {
        return intent;
    }
    if let Some(glob) = every_file(lower) {
        return Intent::Files { glob };
    }
    if let Some(intent) = direct(text, lower) {
        return intent;
    }
    if let Some(what) = beyond(lower) {
        return Intent::Decline { what };
    }
    if let Some(topic) = topic(lower) {
        return Intent::Topic(topic);
    }
    if is_overview(lower) {
        return Intent::Overview;
    }
    let terms = Terms::of(text);
    match terms.paths.as_slice() {
        [path] if terms.count() == 0 && !path.ends_with('/') && !path.starts_with('/') => {
            Intent::Files { glob: if path.contains('/') { path.clone() } else { format!("**/{path}") } }
        }
        _ => Intent::Question(text.to_owned()),
    }
}

/// Words that stand in a request for a change but name nothing to look for.
const VAGUE: &str = " it bug bugs issue issues problem problems error typo code test tests readme doc docs documentation comment comments new better clean \
 nicer faster simpler everything something anything feature features ";

/// Returns what a request for a change is about, where that can be searched for.
pub(super) fn subject(object: &str) -> Option<String> {
    let terms = Terms::of(object);
    let telling = terms.words.iter().any(|word| !VAGUE.split_whitespace().any(|vague| vague == word.raw));
    (telling || !terms.exact.is_empty() || terms.paths.iter().any(|path| path != "README")).then(|| object.to_owned())
}

/// Takes off the words that only make a request polite.
fn polite(text: &str) -> &str {
    let mut rest = text;
    loop {
        let before = rest;
        for phrase in [
            "please ",
            "can you ",
            "could you ",
            "would you ",
            "i want you to ",
            "i'd like you to ",
            "let's ",
            "now ",
            "ok, ",
            "hey, ",
            "hi, ",
            "bitte ",
        ] {
            if let Some(after) = strip(rest, phrase) {
                rest = after.trim_start();
            }
        }
        if rest == before {
            return rest;
        }
    }
}

/// Removes a beginning without regard to ASCII case.
pub(super) fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

fn is_greeting(lower: &str) -> bool {
    let bare = lower.trim_end_matches(['?', '!', '.', ' ']);
    let exact = [
        "",
        "help",
        "/help",
        "hello",
        "hi",
        "hey",
        "hallo",
        "hola",
        "bonjour",
        "你好",
        "who are you",
        "what are you",
        "what can you do",
        "what model are you",
        "are you an ai",
        "how do you work",
        "how do i connect a model",
    ];
    exact.contains(&bare) || bare.starts_with("who are you") || bare.starts_with("what can you")
}

const PROGRAMS: &str = " cargo npm npx yarn pnpm node python python3 pip pytest tox make cmake ninja go git ls cat echo pwd date rustc rustfmt mvn gradle \
 bundle rake ruby php composer docker deno bun uv ruff mypy black eslint tsc jest vitest grep rg find sed wc head tail du df env which uname sleep sh bash ";

fn run(text: &str, lower: &str) -> Option<Intent> {
    let rest =
        ["run:", "execute:", "run ", "execute ", "exec ", "$ ", "! "].iter().find_map(|verb| strip(text, verb))?.trim();
    let rest = ["the command ", "command ", "this: ", "this command: "]
        .iter()
        .find_map(|w| strip(rest, w))
        .unwrap_or(rest)
        .trim();
    let quoted = rest.strip_prefix('`').and_then(|inner| inner.split_once('`')).map(|(command, _)| command.trim());
    let first = rest.split_whitespace().next()?;
    let is_program = PROGRAMS.split_whitespace().any(|program| program == first) || first.starts_with("./");
    let stated = lower.starts_with("run:") || lower.starts_with("execute:") || lower.starts_with("$ ") || is_program;
    let command = quoted.or(stated.then_some(rest))?;
    let call = Call::bash(command, &super::source::clip(&format!("Run {command}"), 60));
    Some(Intent::Direct { call, title: format!("`{}`", command.replace('`', "'")) })
}

const KINDS: [(&str, &str); 12] = [
    ("python", "py"),
    ("rust", "rs"),
    ("javascript", "js"),
    ("typescript", "ts"),
    ("go", "go"),
    ("java", "java"),
    ("ruby", "rb"),
    ("markdown", "md"),
    ("shell", "sh"),
    ("toml", "toml"),
    ("c++", "cpp"),
    ("php", "php"),
];

/// Reads "read all .py files and summarize what each one does".
fn every_file(lower: &str) -> Option<String> {
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if !has(&["each", "all ", "every"])
        || !has(&["summar", "describe", "read ", "what each", "explain", "what every"])
        || !lower.contains("file")
    {
        return None;
    }
    let tokens =
        || lower.split(|c: char| c.is_whitespace() || ",;:()`\"'".contains(c)).map(|t| t.trim_end_matches(['.', '?']));
    let by_ext = tokens().find_map(|token| {
        let ext = token.rsplit_once('.').map(|(_, ext)| ext)?;
        let starred = token.starts_with('.') || token.contains('*');
        (starred && !ext.is_empty() && ext.len() <= 5 && ext.chars().all(|c| c.is_ascii_alphanumeric()))
            .then(|| ext.to_owned())
    });
    let by_name =
        || tokens().find_map(|token| KINDS.iter().find(|(name, _)| *name == token).map(|(_, ext)| (*ext).to_owned()));
    let ext = by_ext.or_else(by_name)?;
    let mut within = tokens().skip_while(|token| !["in", "under", "inside", "within"].contains(token)).skip(1);
    let dir = within.find(|token| {
        token.trim_end_matches('/').len() > 1
            && (token.contains('/') || ["src", "lib", "tests", "docs"].contains(token))
    });
    let dir = dir.map(|dir| format!("{}/", dir.trim_matches('/').trim_start_matches("./"))).unwrap_or_default();
    Some(format!("{dir}**/*.{ext}"))
}

fn direct(text: &str, lower: &str) -> Option<Intent> {
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
        return Some(Intent::Direct { call: Call::ls(&dir), title: format!("`{dir}`") });
    }
    if ["find", "list", "glob", "show", "locate"].contains(&first) {
        let named = ["files named ", "file named ", "files called ", "file called ", "files matching ", "files like "];
        let wanted = named.iter().find_map(|mark| lower.find(mark).and_then(|at| text.get(at + mark.len()..)));
        let starred = words.iter().map(|word| bare(word)).find(|word| word.contains('*'));
        let name = wanted.and_then(|rest| rest.split_whitespace().next()).map(bare).or(starred);
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let pattern = if name.contains('/') { name.clone() } else { format!("**/{name}") };
            return Some(Intent::Direct { call: Call::glob(&pattern), title: format!("Files named `{name}`") });
        }
    }
    let asks_for_notes = ["list", "find", "show", "where", "are", "any"].contains(&first) && words.len() <= 8;
    if asks_for_notes
        && words.iter().any(|word| ["todo", "todos", "fixme", "fixmes"].contains(&bare(word).to_lowercase().as_str()))
    {
        let call = Call::new(
            "Grep",
            json!({ "pattern": "\\b(TO-?DO|FIX-?ME)\\b", "output_mode": "content", "-n": true, "head_limit": 60 }),
        );
        return Some(Intent::Direct { call, title: "Notes of work left to do".to_owned() });
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

fn view(path: &str, line: Option<usize>) -> Intent {
    let (call, title) = match line {
        Some(line) => {
            (Call::read_part(path, line.saturating_sub(10).max(1), 40), format!("`{path}` around line {line}"))
        }
        None => (Call::read(path), format!("`{path}`")),
    };
    Intent::Direct { call, title }
}

fn search(text: &str, lower: &str) -> Option<Intent> {
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
    let literal = if verb.contains("search") { super::terms::escape(pattern) } else { pattern.to_owned() };
    let mut call =
        Call::new("Grep", json!({ "pattern": literal, "output_mode": "content", "-n": true, "head_limit": 60 }));
    if let Some(dir) = dir {
        call.input.insert("path".to_owned(), json!(dir));
    }
    Some(Intent::Direct { call, title: format!("`{}`", pattern.replace('`', "'")) })
}
