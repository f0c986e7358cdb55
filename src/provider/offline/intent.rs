//! What a request asks for.
//!
//! Owns the words by which requests are told apart. Leaves what to do about them to `lead` and `child`. Invariant: any
//! text has an intent; what is not understood is a question.

use super::plan::Call;
use super::terms::{Terms, is_path};
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

fn single(text: &str, lower: &str) -> Intent {
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
    if is_overview(lower) {
        return Intent::Overview;
    }
    topic(lower).map_or_else(|| Intent::Question(text.to_owned()), Intent::Topic)
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
fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
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

const NUMBERS: [&str; 9] = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight"];
const AGENT_WORDS: [&str; 12] = [
    "subagents",
    "subagent",
    "sub-agents",
    "sub-agent",
    "agents",
    "agent",
    "subtasks",
    "subtask",
    "sub-task",
    "tasks",
    "children",
    "workers",
];

/// Reads requests that say how to delegate.
fn delegation(text: &str) -> Option<Intent> {
    for prefix in ["delegate:", "delegate to a subagent:", "subagent:", "subtask:", "delegate "] {
        if let Some(rest) = strip(text, prefix) {
            return Some(Intent::Many(vec![rest.trim().to_owned()]));
        }
    }
    let verb = ["use ", "spawn ", "start ", "launch ", "run ", "with ", "send ", "have "]
        .into_iter()
        .find_map(|verb| strip(text, verb))?;
    let head_end = verb.char_indices().nth(48).map_or(verb.len(), |(at, _)| at);
    let mut count = None;
    let mut at = 0;
    for word in verb[..head_end].split_inclusive([' ', ':', '\n', ',']) {
        at += word.len();
        let bare = word.trim_matches([' ', ':', '\n', ',']).to_lowercase();
        if let Some(number) = bare.parse().ok().or_else(|| NUMBERS.iter().position(|name| *name == bare)) {
            count = Some(number);
        } else if AGENT_WORDS.contains(&bare.as_str()) {
            return Some(assigned(count, verb[at..].trim_start()));
        } else if !["a", "an", "some", "several", "parallel", "explore", "different", "separate"]
            .contains(&bare.as_str())
        {
            return None;
        }
    }
    None
}

fn assigned(count: Option<usize>, rest: &str) -> Intent {
    let rest = ["in parallel", ":", "to ", "for ", "and have them ", "that ", "which ", "who ", "-"]
        .iter()
        .fold(rest, |rest, word| strip(rest, word).unwrap_or(rest).trim_start());
    let mut items = items(rest);
    if let (1, Some(count)) = (items.len(), count.filter(|count| *count > 1)) {
        let parts = split_into(rest, count);
        if parts.len() != count {
            return Intent::Counted(count.min(8), Box::new(single(rest, &rest.to_lowercase())));
        }
        items = parts;
    }
    items.truncate(20);
    Intent::Many(items)
}

/// Splits a list: by semicolons, or by lines that begin with a number or a mark.
pub(super) fn items(text: &str) -> Vec<String> {
    let marked: Vec<&str> = text.lines().filter_map(list_item).collect();
    if marked.len() > 1 {
        return marked.into_iter().map(str::to_owned).collect();
    }
    let inline = numbered_inline(text);
    if inline.len() > 1 {
        return inline;
    }
    let parts: Vec<&str> = text.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
    parts.into_iter().map(|part| strip(part, "and ").unwrap_or(part).trim_end_matches('.').to_owned()).collect()
}

fn list_item(line: &str) -> Option<&str> {
    let line = line.trim();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if digits > 0 { line[digits..].strip_prefix(['.', ')'])? } else { line.strip_prefix(['-', '*'])? };
    rest.starts_with(' ').then(|| rest.trim()).filter(|rest| !rest.is_empty())
}

/// Reads `1. a 2. b` and `(1) a, (2) b` in one line.
fn numbered_inline(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    for number in 1..20 {
        let marks = [format!("({number}) "), format!("{number}) "), format!("{number}. ")];
        let Some((at, mark)) = marks.iter().find_map(|mark| rest.find(mark.as_str()).map(|at| (at, mark.len()))) else {
            break;
        };
        if number > 1 {
            found.push(rest[..at].trim().trim_end_matches([',', ';', '.']).trim_end_matches(" and").to_owned());
        }
        rest = &rest[at + mark..];
    }
    if !found.is_empty() {
        found.push(rest.trim().to_owned());
    }
    found
}

/// Splits at commas and "and" when that gives just as many parts as were asked for.
fn split_into(text: &str, count: usize) -> Vec<String> {
    let clean = |part: &str| strip(part.trim(), "and ").unwrap_or(part.trim()).trim_end_matches('.').to_owned();
    for separator in [", ", " and "] {
        let parts: Vec<String> = text.split(separator).map(clean).filter(|part| !part.is_empty()).collect();
        if parts.len() == count {
            return parts;
        }
    }
    text.split(", ").flat_map(|part| part.split(" and ")).map(clean).filter(|part| !part.is_empty()).collect()
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

/// First words that ask for new text or for judgement, with what they are called when declined.
const BEYOND: [(&str, &str); 34] = [
    ("write", "Writing"),
    ("refactor", "Refactoring"),
    ("fix", "Fixing code"),
    ("implement", "Implementing"),
    ("add", "Changing code"),
    ("create", "Creating files"),
    ("rename", "Changing code"),
    ("change", "Changing code"),
    ("update", "Changing code"),
    ("delete", "Changing code"),
    ("remove", "Changing code"),
    ("replace", "Changing code"),
    ("edit", "Changing code"),
    ("modify", "Changing code"),
    ("make", "Changing code"),
    ("improve", "Improving code"),
    ("optimize", "Optimizing"),
    ("optimise", "Optimizing"),
    ("port", "Porting"),
    ("convert", "Converting"),
    ("migrate", "Migrating"),
    ("translate", "Translating"),
    ("review", "Reviewing"),
    ("critique", "Reviewing"),
    ("debug", "Debugging"),
    ("generate", "Generating text"),
    ("draft", "Writing"),
    ("design", "Designing"),
    ("suggest", "Giving advice"),
    ("recommend", "Giving advice"),
    ("should", "Giving advice"),
    ("why", "Explaining why"),
    ("upgrade", "Changing code"),
    ("rewrite", "Rewriting"),
];

fn beyond(lower: &str) -> Option<&'static str> {
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next()?;
    if ["explain", "tell"].contains(&first) && lower.split_whitespace().take(4).any(|word| word == "why") {
        return Some("Explaining why");
    }
    BEYOND.iter().find(|(word, _)| *word == first).map(|(_, what)| *what)
}

const PROJECT_WORDS: &str = " repo repository project codebase code-base code base crate package library workspace directory folder here program application app projekt \
 projet proyecto programm bibliothek sourcecode ";
const OVERVIEW_WORDS: &str = " explain map explore describe overview summarize summarise summary understand analyze analyse analysis tour walk through introduce introduction \
 structure structured architecture architectural organized organised organization laid high-level high level big picture general whole entire main purpose about brief short quick \
 overall modules components key does do doing look around onboard onboarding important areas parts macht erkläre beschreibe überblick übersicht aufbau explica describe \
 explique résume resume readme getting started familiarize onto in out whats what thorough thoroughly detail detailed details this current given full subagents parallel using me up ";

/// Words of other scripts that ask for the same.
const OVERVIEW_FOREIGN: [&str; 10] =
    ["这个项目", "项目", "仓库", "代码库", "プロジェクト", "リポジトリ", "프로젝트", "проект", "репозитор", "المشروع"];

fn is_overview(lower: &str) -> bool {
    if OVERVIEW_FOREIGN.iter().any(|word| lower.contains(word)) && Terms::of(lower).exact.is_empty() {
        return true;
    }
    let words: Vec<&str> =
        lower.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty()).collect();
    let known = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let speaks_of_project = words.iter().any(|word| known(PROJECT_WORDS, word))
        || ["what is this", "overview", "architecture", "give me a tour"]
            .iter()
            .any(|p| lower.trim_end_matches('?') == *p);
    let asks = words.iter().any(|word| known(OVERVIEW_WORDS, word))
        || lower.starts_with("what is")
        || lower.starts_with("what's");
    speaks_of_project && asks && leftover(lower, &[PROJECT_WORDS, OVERVIEW_WORDS]) == 0
}

/// Counts the terms that none of the vocabularies knows.
fn leftover(text: &str, vocabularies: &[&str]) -> usize {
    let terms = Terms::of(text);
    let unknown = |raw: &str| !vocabularies.iter().any(|list| list.split_whitespace().any(|known| known == raw));
    terms.exact.len() + terms.paths.len() + terms.words.iter().filter(|word| unknown(&word.raw)).count()
}

const FILLER: &str = " identify determine check examine inspect report return evidence shows showing run running runs start started needs needed latest \
 does do main important relevant various path number how-to currently provided together available out look tool tools library libraries whole ";

/// Topic, phrases that settle it, words that may go with it.
const TOPICS: [(Topic, &[&str], &str); 4] = [
    (
        Topic::Tests,
        &[
            "test framework",
            "testing framework",
            "test runner",
            "test suite",
            "run the tests",
            "run tests",
            "is this tested",
            "project tested",
            "unit tests",
            "are the tests",
            "tests live",
            "tests are",
            "test setup",
            "look at the tests",
            "project is tested",
        ],
        " test tests testing tested framework frameworks runner suite unit integration setup dependencies kept live command commands configuration ",
    ),
    (
        Topic::History,
        &[
            "recent history",
            "git history",
            "recent commits",
            "recent changes",
            "changed recently",
            "changed lately",
            "last commit",
            "latest commit",
            "commit history",
            "who wrote this",
            "who works on",
            "who maintains",
            "contributors",
            "main authors",
            "recent history of this project",
        ],
        " recent history commits commit changes changed change recently lately latest last wrote maintains maintain contributors contributor authors author git log most often frequently changing hot ",
    ),
    (
        Topic::Build,
        &[
            "entry point",
            "entry points",
            "build system",
            "how is this built",
            "project built",
            "project is built",
            "build this",
            "build it",
            "dependencies",
            "how do i build",
            "compile this",
            "build and run",
            "depend on",
            "run this project",
            "build tool",
            "version of python",
            "python version",
            "rust version",
            "msrv",
            "node version",
            "version of rust",
            "version of node",
            "go version",
        ],
        " build built builds building system entry point points dependency dependencies depend depends compile compiled run start install manifest manifests binaries binary external third-party third party crates packages version python rust node go minimum required requires require supported supports msrv ",
    ),
    (
        Topic::Layout,
        &[
            "layout",
            "directory structure",
            "folder structure",
            "file structure",
            "which languages",
            "what languages",
            "what language",
            "programming language",
            "main modules",
            "main directories",
        ],
        " layout directory directories structure folders folder languages language programming written modules module counts count top-level top level map tree organized arranged ",
    ),
];

/// Tells which side of the project a text is about, if it is about nothing else.
pub(super) fn topic(lower: &str) -> Option<Topic> {
    let (topic, _, words) =
        TOPICS.iter().find(|(_, phrases, _)| phrases.iter().any(|phrase| lower.contains(phrase)))?;
    let settled = lower.contains("testing framework") || lower.contains("test framework");
    (settled || leftover(lower, &[words, PROJECT_WORDS, OVERVIEW_WORDS, FILLER]) == 0).then_some(*topic)
}
