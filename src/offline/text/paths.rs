//! What a path tells of its file: language, use, whether a person wrote it.
//!
//! Owns the tables of extensions and folder names. Leaves the text of files to `source`. Invariant: looks at the path
//! alone.

use super::{contains_any, lists};

/// What a file is for, by its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    Source,
    Setting,
    Test,
    Example,
    Doc,
    Foreign,
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns a file name's extension, in lower case.
pub(crate) fn extension(path: &str) -> String {
    file_name(path).rsplit_once('.').map(|(_, ext)| ext.to_ascii_lowercase()).unwrap_or_default()
}

/// Languages with the extensions of their files, the usual one first.
const LANGUAGES: &str = "rust:rs python:py,pyi javascript:js,mjs,cjs,jsx typescript:ts,tsx go:go java:java kotlin:kt scala:scala c:c,h \
    c++:cc,cpp,hpp c#:cs ruby:rb php:php swift:swift lua:lua elixir:ex,exs haskell:hs zig:zig dart:dart julia:jl shell:sh,bash sql:sql \
    html:html css:css vue:vue svelte:svelte perl:pl";

fn languages() -> impl Iterator<Item = (&'static str, &'static str)> {
    LANGUAGES.split_whitespace().filter_map(|row| row.split_once(':'))
}

/// Returns `true` if a file is a program, by its extension.
pub(crate) fn is_source(path: &str) -> bool {
    let ext = extension(path);
    languages().any(|(_, all)| all.split(',').any(|one| one == ext))
}

/// Returns the usual extension of files in what a text calls Python, markdown or the like.
pub(crate) fn extension_of(kind: &str) -> Option<&'static str> {
    let kind = kind.to_lowercase();
    let (_, all) = languages().chain([("markdown", "md"), ("toml", "toml")]).find(|(name, _)| *name == kind)?;
    all.split(',').next()
}

/// Returns the tag for a code fence around lines of a file: its extension, if files of that kind hold text.
pub(crate) fn fence(path: &str) -> String {
    let ext = extension(path);
    if is_source(path) || lists("toml json yml yaml md", &ext) { ext } else { "text".to_owned() }
}

const FOREIGN: &str = "node_modules vendor third_party target dist __pycache__ site-packages venv";
const TESTS: &str = "tests test __tests__ spec specs testing testdata fixtures fuzz";
const EXAMPLES: &str = "examples example benches bench benchmarks demo samples";
/// Parts of the names of files that a program wrote, and of files that test.
const GENERATED: &str =
    ".min.|.pb.|_pb2.|.g.dart|.generated.|-bundle.|.bundle.|package-lock.json|go.sum|.toml.orig|.cargo_vcs_info";
const TESTING: &str = ".test.|.spec.|_test.|_spec.|tests.rs|test.rs";

pub(crate) fn area(path: &str) -> Area {
    let lower = path.to_ascii_lowercase();
    let (dirs, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let ext = extension(&lower);
    let within = |names: &str| dirs.split('/').any(|dir| lists(names, dir));
    let is_test = name.starts_with("test_") || name.starts_with("conftest") || contains_any(name, TESTING);
    match () {
        () if within(FOREIGN) || contains_any(name, GENERATED) || lists("lock map snap", &ext) => Area::Foreign,
        () if within(TESTS) || is_test => Area::Test,
        () if within(EXAMPLES) => Area::Example,
        () if within("docs doc") || ext.is_empty() || lists("md rst txt adoc", &ext) => Area::Doc,
        () if is_source(&lower) => Area::Source,
        () => Area::Setting,
    }
}

/// Returns `true` if a file only declares what another one holds, as a TypeScript compiler writes it.
pub(crate) fn is_declaration(path: &str) -> bool {
    [".d.ts", ".d.cts", ".d.mts"].iter().any(|end| path.ends_with(end))
}

/// Returns `true` if a file is there for tests to read, so that it says nothing of the project itself.
pub(crate) fn is_fixture(path: &str) -> bool {
    path.split('/')
        .any(|dir| matches!(dir, "fixtures" | "fixture" | "testdata" | "test_data" | "snapshots" | "__snapshots__"))
}

pub(crate) fn is_path(token: &str) -> bool {
    let plain = token.chars().all(|c| c.is_alphanumeric() || "_-./*@+".contains(c));
    let ext = extension(token);
    let has_ext = token.contains('.') && fence(token) != "text" && token.len() > ext.len() + 1;
    let is_known = matches!(token, "Makefile" | "Dockerfile" | "LICENSE" | "README");
    plain && (has_ext || is_known || (token.contains('/') && token.len() > 4))
}
