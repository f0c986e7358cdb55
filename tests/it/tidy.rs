//! The house rules, checked on the source itself: floors, sizes, headers, and what may not be written where.
//!
//! Owns the table of floors. Leaves what compiler and clippy can check to them. Invariant: a rule that is broken names
//! the file, the line, and what to do.

mod scan;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The floors, as in the crate's documentation. Imports go downwards only; rooms on one floor do not know each other.
const FLOORS: [&[&str]; 9] = [
    &["message", "program"],
    &["permission", "git"],
    &["provider", "tool", "definition", "session", "config", "worktree"],
    &["agent", "offline"],
    &["subagent"],
    &["app", "services"],
    &["tui", "headless"],
    &["cli"],
    &["main"],
];
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

fn colours(source: &Source) -> Vec<String> {
    if !source.is_program() || source.path.starts_with(THEME) {
        return Vec::new();
    }
    numbered(&source.code)
        .filter(|(_, text)| text.match_indices("Color::").any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric)))
        .map(|(line, _)| format!("{}:{line}: names a colour; ask the theme in {THEME}", source.path))
        .collect()
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
fn only_front_ends_print() {
    check(printing);
}

#[test]
fn only_the_theme_names_colours() {
    check(colours);
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
fn rules_find_what_breaks_them() {
    let cases: [(Rule, &str, &str); 14] = [
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
    let cases: [(Rule, &str, &str); 9] = [
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
