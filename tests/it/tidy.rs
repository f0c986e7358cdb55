//! The house rules, checked on the source itself: floors, sizes, headers, and what may not be written where.
//!
//! Owns the table of floors. Leaves what compiler and clippy can check to them. Invariant: a rule that is broken names
//! the file, the line, and what to do.

mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The floors, as in the crate's documentation. Imports go downwards only; rooms on one floor do not know each other.
const FLOORS: [&[&str]; 9] = [
    &["message", "network", "nofollow", "obeyed", "program", "temporary", "whole_file"],
    &["permission", "git", "sandbox", "launched"],
    &["provider", "tool", "definition", "external", "hook", "mcp", "memory", "session", "config", "worktree"],
    &["agent", "offline"],
    &["subagent", "export"],
    &["app", "services"],
    &["tui", "headless", "acp"],
    &["cli"],
    &["main"],
];
/// Files that name `tempfile`: the room for it, small files that are put in place, and a file that others may read like any new one.
const MAKERS: [&str; 3] = ["src/temporary.rs", "src/whole_file.rs", "src/definition/draft.rs"];
/// Rooms that may print: they own standard output.
const PRINTERS: [&str; 3] = ["headless", "main", "cli"];
/// The only file that names colours.
const THEME: &str = "src/tui/view/theme";
const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 80;

struct Source {
    /// Path below the repository's root, with `/`.
    path: String,
    text: String,
    /// The text without comments and literals.
    code: String,
}

impl Source {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { path: path.into(), code: scan::blank(&text), text }
    }

    fn is_program(&self) -> bool {
        self.path.starts_with("src/")
    }

    /// The path of its module: `src/tool/read.rs` is `[tool, read]`, `src/tool/mod.rs` is `[tool]`.
    fn module(&self) -> Vec<&str> {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let stem = inside.strip_suffix(".rs").unwrap_or(inside);
        stem.strip_suffix("/mod").unwrap_or(stem).split('/').collect()
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    for top in ["src", "tests/it", "benches"] {
        rust_files(&root().join(top), &mut paths);
    }
    paths
        .iter()
        .map(|path| {
            let inside = path.strip_prefix(root()).unwrap();
            let name = inside.components().map(|part| part.as_os_str().to_str().unwrap()).collect::<Vec<_>>().join("/");
            Source::new(name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

type Rule = fn(&Source) -> Vec<String>;

fn check(rule: Rule) {
    let sources = sources();
    assert!(sources.len() > 10, "the source was not found");
    let errors: Vec<String> = sources.iter().flat_map(rule).collect();
    assert!(errors.is_empty(), "\n{}\n", errors.join("\n"));
}

fn floors(source: &Source) -> Vec<String> {
    let module = source.module();
    if !source.is_program() || source.path == "src/lib.rs" {
        return Vec::new();
    }
    let Some(own) = floor(module[0]) else {
        return vec![format!("{}: `{}` has no floor; give it one in tests/it/tidy.rs", source.path, module[0])];
    };
    let mut errors = Vec::new();
    for named in scan::rooms_named(&source.code, module.len()) {
        let place = format!("{}:{}", source.path, named.line);
        match floor(&named.room) {
            _ if named.room == module[0] => {}
            None => errors.push(format!("{place}: `{}` is not a room of the crate", named.room)),
            Some(other) if other < own => {}
            Some(other) if other == own => {
                errors.push(format!("{place}: `{}` and `{}` share a floor and must not meet", module[0], named.room));
            }
            Some(_) => errors.push(format!("{place}: `{}` stands above `{}`", named.room, module[0])),
        }
    }
    errors
}

fn header(source: &Source) -> Vec<String> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    vec![format!("{}:1: opens without `//!`; say what the file owns and what it leaves to others", source.path)]
}

fn sizes(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let mut errors = Vec::new();
    if lines > MAX_FILE_LINES {
        errors.push(format!("{}: {lines} lines; at most {MAX_FILE_LINES}", source.path));
    }
    for function in scan::functions(&source.code) {
        if function.lines > MAX_FUNCTION_LINES {
            errors.push(format!(
                "{}:{}: `{}` has {} lines; at most {MAX_FUNCTION_LINES}",
                source.path, function.line, function.name, function.lines
            ));
        }
    }
    errors
}

fn unfinished(source: &Source) -> Vec<String> {
    // Put together here so that this file does not trip over itself.
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat()];
    let mut errors = Vec::new();
    for (line, text) in numbered(&source.text) {
        if source.is_program() && marks.iter().any(|mark| words(text).any(|word| word == mark)) {
            errors.push(format!("{}:{line}: unfinished; finish it or open an issue", source.path));
        }
    }
    for (line, text) in numbered(&source.code) {
        if ["todo!", "unimplemented!"].iter().any(|stub| text.contains(stub)) {
            errors.push(format!("{}:{line}: a stub; the next user would run into it", source.path));
        }
        if source.is_program() && text.contains("cfg(test)") {
            errors.push(format!("{}:{line}: a test that no build runs; tests stand below tests/it", source.path));
        }
    }
    errors
}

fn printing(source: &Source) -> Vec<String> {
    if !source.is_program() || PRINTERS.contains(&source.module()[0]) {
        return Vec::new();
    }
    numbered(&source.code)
        .filter(|(_, text)| words(text).any(|word| matches!(word, "print" | "println" | "eprint" | "eprintln")))
        .filter(|(_, text)| text.contains("print!") || text.contains("println!"))
        .map(|(line, _)| format!("{}:{line}: prints; it would tear the screen. Log it or send an event", source.path))
        .collect()
}

/// Returns who makes temporary folders and files in another way than through `temporary`, where their rights are seen to.
fn temporaries(source: &Source) -> Vec<String> {
    if !source.is_program() || MAKERS.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let makes = |text: &str| {
        let names =
            ["tempfile", "tempdir", "TempDir", "NamedTempFile", "mkdtemp", "mkstemp", "temp_file_in", "spooled"];
        words(text).any(|word| names.contains(&word)) || (text.contains("temp_dir()") && text.contains("create"))
    };
    numbered(&source.code)
        .filter(|(_, text)| makes(text))
        .map(|(line, _)| {
            format!("{}:{line}: makes something temporary; `temporary` does, for the user alone", source.path)
        })
        .collect()
}

fn colours(source: &Source) -> Vec<String> {
    if !source.is_program() || source.path.starts_with(THEME) {
        return Vec::new();
    }
    numbered(&source.code)
        .filter(|(_, text)| text.match_indices("Color::").any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric)))
        .map(|(line, _)| format!("{}:{line}: names a colour; ask the theme in {THEME}", source.path))
        .collect()
}

/// Words that say too little: a limit says what it limits, and what goes wrong is an error.
const VAGUE: [&str; 3] = ["PATIENCE", "fault", "faults"];

fn names(source: &Source) -> Vec<String> {
    if !source.is_program() {
        return Vec::new();
    }
    let mut errors = Vec::new();
    for (line, text) in numbered(&source.code) {
        let place = format!("{}:{line}", source.path);
        if let Some(word) = words(text).find(|word| VAGUE.contains(word)) {
            errors
                .push(format!("{place}: `{word}` says too little; a limit says what it limits, an error is an error"));
        }
        let predicate =
            text.split("fn ").nth(1).filter(|rest| ["is_", "has_", "can_"].iter().any(|a| rest.starts_with(a)));
        if predicate.is_some_and(|rest| rest.contains("(&mut self") || rest.contains("(mut self")) {
            errors.push(format!("{place}: a predicate that changes something; name it after what it does"));
        }
    }
    errors
}

/// Returns the types that are public in any way, in the crate or in their room.
fn public_types(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    numbered(&source.code).filter_map(|(line, text)| {
        let rest = text.trim_start().strip_prefix("pub")?;
        let rest = rest.strip_prefix('(').map_or(rest, |inside| inside.split_once(')').map_or("", |(_, rest)| rest));
        let mut rest = rest.split_whitespace();
        let is_type = matches!(rest.next()?, "struct" | "enum" | "trait" | "type");
        words(rest.next().filter(|_| is_type)?).next().map(|name| (line, name))
    })
}

fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// Returns every file that is reached from `file` through `mod` lines. `folder` is where its modules lie.
fn reached(file: &Path, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    found.insert(file.to_path_buf());
    for module in scan::modules(&scan::blank(&fs::read_to_string(file).unwrap())) {
        let inner = folder.join(&module);
        let flat = folder.join(format!("{module}.rs"));
        let nested = inner.join("mod.rs");
        reached(if flat.is_file() { &flat } else { &nested }, &inner, found);
    }
}

#[test]
fn imports_go_only_downwards() {
    check(floors);
}

#[test]
fn every_file_says_what_it_owns() {
    check(header);
}

#[test]
fn files_and_functions_stay_small() {
    check(sizes);
}

#[test]
fn nothing_is_left_unfinished() {
    check(unfinished);
}

#[test]
fn only_one_room_makes_what_is_temporary() {
    check(temporaries);
}

#[test]
fn only_front_ends_print() {
    check(printing);
}

#[test]
fn only_the_theme_names_colours() {
    check(colours);
}

#[test]
fn names_say_what_they_mean() {
    check(names);
}

#[test]
fn a_public_type_has_a_name_of_its_own() {
    let sources = sources();
    let mut known: BTreeMap<&str, String> = BTreeMap::new();
    let mut errors = String::new();
    for source in sources.iter().filter(|source| source.is_program()) {
        for (line, name) in public_types(source) {
            let place = format!("{}:{line}", source.path);
            if let Some(first) = known.insert(name, place.clone()) {
                let _ = writeln!(errors, "{place}: `{name}` is a type in {first} too; each says whose it is");
            }
        }
    }
    assert!(errors.is_empty(), "\n{errors}");
    assert!(known.len() > 300, "the types were not found");
}

#[test]
fn the_screen_is_made_of_parts() {
    let sources = sources();
    let app: Vec<&Source> = sources.iter().filter(|source| source.path.starts_with("src/app/")).collect();
    let routes: Vec<&str> =
        app.iter().filter(|source| source.code.contains("\nimpl App {")).map(|source| source.path.as_str()).collect();
    assert!((1..=6).contains(&routes.len()), "what only one part needs belongs to that part: {routes:?}");
    let entries: BTreeSet<&str> =
        app.iter().filter_map(|source| source.path.strip_prefix("src/app/")?.split('/').next()).collect();
    assert!(entries.len() <= 18, "a new file of the screen belongs to one of its parts: {entries:?}");
}

#[test]
fn each_word_of_the_glossary_is_in_use() {
    let sources = sources();
    let types: BTreeSet<String> = sources.iter().flat_map(public_types).map(|(_, name)| name.to_lowercase()).collect();
    let glossary = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let (_, glossary) = glossary.split_once("//! # Words").unwrap();
    let words: Vec<String> = glossary
        .lines()
        .skip(1)
        .take_while(|line| line.starts_with("//!"))
        .flat_map(|line| line.split("**").skip(1).step_by(2))
        .map(|word| word.to_lowercase().replace(' ', ""))
        .collect();
    assert!(words.len() > 30, "the glossary was not found");
    let unknown: Vec<&String> =
        words.iter().filter(|word| !types.iter().any(|name| name.contains(word.as_str()))).collect();
    assert!(unknown.is_empty(), "the glossary explains what no type is named after: {unknown:?}");
}

#[test]
fn a_module_with_parts_is_a_folder() {
    let mut paths = Vec::new();
    rust_files(&root().join("src"), &mut paths);
    for path in paths {
        let folder = path.with_extension("");
        assert!(!folder.is_dir(), "{} stands beside its folder; name it mod.rs and put it in", path.display());
        let alone = path.file_name().is_some_and(|name| name == "mod.rs")
            && fs::read_dir(path.parent().unwrap()).unwrap().count() == 1;
        assert!(!alone, "{} is a folder of one file", path.display());
    }
}

#[test]
fn no_file_is_forgotten() {
    for (folder, entries) in [("tests/it", &["main.rs"][..]), ("src", &["lib.rs", "main.rs"][..])] {
        let folder = root().join(folder);
        let (mut there, mut found) = (Vec::new(), BTreeSet::new());
        rust_files(&folder, &mut there);
        for entry in entries {
            reached(&folder.join(entry), &folder, &mut found);
        }
        let forgotten: Vec<&PathBuf> = there.iter().filter(|path| !found.contains(*path)).collect();
        assert!(forgotten.is_empty(), "no `mod` line leads to {forgotten:?}");
    }
}

#[test]
fn all_we_build_on_comes_from_the_registry() {
    const REGISTRY: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let others: Vec<&str> = lock.split("[[package]]").skip(1).filter(|package| !package.contains(REGISTRY)).collect();
    assert!(matches!(others.as_slice(), [own] if own.contains("name = \"belvedere\"")), "{others:#?}");
}

#[test]
fn rules_find_what_breaks_them() {
    let cases: [(Rule, &str, &str); 19] = [
        (names, "src/tool/read.rs", "const PATIENCE: u8 = 1;"),
        (names, "src/tool/read.rs", "fn f() -> Result<(), ()> { Err(fault) }"),
        (names, "src/tool/read.rs", "    pub(super) fn is_news(&mut self, warning: u8) -> bool {"),
        (floors, "src/message/id.rs", "use crate::agent::Agent;"),
        (floors, "src/tool/read.rs", "use crate::{message::Usage, provider::{Model, Price}};"),
        (floors, "src/tool/read.rs", "fn f() { let _ = super::super::session::read(); }"),
        (floors, "src/permission/mod.rs", "pub use super::tool::Tool;"),
        (floors, "src/tool/read.rs", "fn f<'a>(x: &'a str) -> char { '\"' } use crate::app::App; // \""),
        (floors, "src/attic/mod.rs", ""),
        (header, "src/tool/read.rs", "// no header\n"),
        (sizes, "src/tool/read.rs", &lines_of("fn f() {\n", "    g(\"}\", '}'); // }\n", 79)),
        (sizes, "src/tool/read.rs", &lines_of("", "// line\n", 501)),
        (unfinished, "src/tool/read.rs", &format!("// {}: later", ["TO", "DO"].concat())),
        (unfinished, "src/tool/read.rs", "fn f() { unimplemented!() }"),
        (printing, "src/tool/read.rs", "fn f() { eprintln!(); }"),
        (temporaries, "src/tool/read.rs", "fn f() { tempfile::tempdir(); }"),
        (temporaries, "src/tool/read.rs", "fn f() { std::fs::create_dir(std::env::temp_dir().join(x)); }"),
        (colours, "src/tui/view/pane.rs", "fn f() { Color::Red; }"),
        (colours, "src/app/mod.rs", "fn f() { ratatui::style::Color::Rgb(0, 0, 0); }"),
    ];
    for (rule, path, text) in cases {
        let errors = rule(&Source::new(path, text));
        assert_eq!(errors.len(), 1, "{path}: {text:.200}\n{errors:#?}");
    }
}

#[test]
fn rules_let_pass_what_keeps_them() {
    let cases: [(Rule, &str, &str); 10] = [
        (
            names,
            "src/tool/read.rs",
            "// a fault\nfn is_set(&self) { g(\"fault\"); default_fault(); } fn set(&mut self) {}",
        ),
        (floors, "src/agent/turn.rs", "use crate::{message::*, tool::{Tool, ToolSet}}; use super::Agent;"),
        (
            floors,
            "src/tool/read.rs",
            "/// [`crate::app`] \n fn f() { r#\"crate::app\"#; b\"crate::app\"; /* crate::app */ }",
        ),
        (floors, "src/tool/search/deep.rs", "use super::super::Args; use super::Query; pub(crate) struct A;"),
        (sizes, "src/tool/read.rs", &lines_of("fn f() {\n", "    g('{', r\"{\");\n", 78)),
        (sizes, "src/tool/mod.rs", &lines_of("trait T { fn f(&self, x: [u8; 3]) -> fn(u8) -> u8;\n", "// line\n", 90)),
        (unfinished, "src/app/mod.rs", "struct TodoItem; fn todo() {}"),
        (printing, "src/headless/text.rs", "fn f() { println!(); }"),
        (colours, "src/tui/view/theme.rs", "fn f() { Color::Red; }"),
        (colours, "src/tui/terminal.rs", "fn f() { SetColor::new(); }"),
    ];
    for (rule, path, text) in cases {
        let errors = rule(&Source::new(path, text));
        assert!(errors.is_empty(), "{path}: {text:.200}\n{errors:#?}");
    }
}

fn lines_of(open: &str, line: &str, count: usize) -> String {
    let mut text = open.to_owned();
    for _ in 0..count {
        let _ = write!(text, "{line}");
    }
    if !open.is_empty() {
        text.push_str("}\n");
    }
    text
}
