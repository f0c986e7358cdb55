//! Which memory files there are, in which order, and what of each is read.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use belvedere::memory::{MemoryOwner, MemoryReader};

use super::{Place, put};

#[test]
fn from_the_organization_down_to_the_folder_worked_in() {
    let place = Place::with(&[
        ("~/managed/CLAUDE.md", "managed"),
        ("~/.config/belvedere/AGENTS.md", "own"),
        ("~/.claude/CLAUDE.md", "user"),
        ("~/.claude/rules/style.md", "user's rule"),
        ("~/CLAUDE.md", "home"),
        ("~/work/CLAUDE.md", "above"),
        ("CLAUDE.md", "project"),
        ("AGENTS.md", "not read: there is a CLAUDE.md"),
        ("CLAUDE.local.md", "local"),
        (".claude/CLAUDE.md", "second"),
        (".claude/rules/b/deep.md", "deep rule"),
        (".claude/rules/a.md", "rule"),
        ("src/AGENTS.md", "agents"),
        ("src/api/CLAUDE.md", "api"),
        ("src/other/CLAUDE.md", "not on the way"),
    ]);
    let read = place.read("src/api");
    let expected = [
        "~/managed/CLAUDE.md",
        "~/.config/belvedere/AGENTS.md",
        "~/.claude/CLAUDE.md",
        "~/.claude/rules/style.md",
        "~/CLAUDE.md",
        "~/work/CLAUDE.md",
        "CLAUDE.md",
        ".claude/CLAUDE.md",
        ".claude/rules/a.md",
        ".claude/rules/b/deep.md",
        "CLAUDE.local.md",
        "src/AGENTS.md",
        "src/api/CLAUDE.md",
    ];
    assert_eq!(place.names(&read), expected);
    assert_eq!(read.diagnostics, []);
    let owners: Vec<MemoryOwner> = read.files.iter().map(|file| file.owner).collect();
    assert!(owners.starts_with(&[MemoryOwner::Managed, MemoryOwner::User, MemoryOwner::User, MemoryOwner::User]));
    assert_eq!(owners[4..7], [MemoryOwner::Above, MemoryOwner::Above, MemoryOwner::Project]);
    assert_eq!(owners[10], MemoryOwner::Local);
}

#[test]
fn without_a_project_only_the_users_own_files_count() {
    let place = Place::with(&[("~/.claude/CLAUDE.md", "user"), ("CLAUDE.md", "project"), ("~/CLAUDE.md", "home")]);
    let mut reader = place.reader("");
    reader.sources.is_project = false;
    assert_eq!(place.names(&reader.read(&BTreeSet::new())), ["~/.claude/CLAUDE.md"]);
    let waiting = place.reader("");
    waiting.sources.trust.set(true, BTreeSet::new());
    assert_eq!(place.names(&waiting.read(&BTreeSet::new())), ["~/.claude/CLAUDE.md"], "the folder is not trusted yet");
}

#[test]
fn imports_follow_the_file_that_names_them() {
    let place = Place::with(&[
        (
            "CLAUDE.md",
            "See @docs/style.md, and @./docs/my\\ file.txt.\n- @README\n(no import: a@b.md, @alice, @types/node)",
        ),
        ("docs/style.md", "Style. @deeper/more.md"),
        ("docs/deeper/more.md", "More."),
        ("docs/my file.txt", "Spaces."),
        ("README", "Read me."),
        ("~/.claude/CLAUDE.md", "@~/notes/mine.md @/dev/null"),
        ("~/notes/mine.md", "Mine."),
    ]);
    let read = place.read("");
    let expected = [
        "~/.claude/CLAUDE.md",
        "~/notes/mine.md",
        "CLAUDE.md",
        "docs/style.md",
        "docs/deeper/more.md",
        "docs/my file.txt",
        "README",
    ];
    assert_eq!(place.names(&read), expected);
    assert_eq!(place.said(&read), ["~/.claude/CLAUDE.md:1:18: the import `@/dev/null` is not a file that is there."]);
}

#[test]
fn code_is_no_import_and_comments_are_left_out() {
    let text = "Use `@a.md` and\n\n```sh\n@a.md <!-- kept -->\n```\n\n    @a.md\n\n<!-- @a.md\nfor people -->\nShown <!-- kept -->\n";
    let place = Place::with(&[("CLAUDE.md", text), ("a.md", "never")]);
    let read = place.read("");
    assert_eq!(place.names(&read), ["CLAUDE.md"]);
    let text = &read.files[0].text;
    assert!(!text.contains("for people"), "{text}");
    assert!(text.contains("@a.md <!-- kept -->") && text.contains("Shown <!-- kept -->"), "{text}");
    assert_eq!(read.diagnostics, []);
}

#[test]
fn cycles_missing_files_and_too_many_hops_are_said() {
    let place = Place::with(&[
        ("CLAUDE.md", "first\n@a.md\n@gone.md"),
        ("a.md", "@b.md"),
        ("b.md", "@a.md @c.md"),
        ("c.md", "@d.md"),
        ("d.md", "@e.md"),
        ("e.md", "too far"),
    ]);
    let read = place.read("");
    assert_eq!(place.names(&read), ["CLAUDE.md", "a.md", "b.md", "c.md", "d.md"]);
    let expected = [
        "b.md:1:1: the import `@a.md`: it imports itself, by way of others. Read once.",
        "d.md:1:1: the import `@e.md` is more than 4 files away. Not read.",
        "CLAUDE.md:3:1: the import `@gone.md` is not a file that is there.",
    ];
    assert_eq!(place.said(&read), expected);
}

#[test]
fn a_file_is_given_once() {
    let place = Place::with(&[("AGENTS.md", "the same"), ("docs/a.md", "@../AGENTS.md")]);
    symlink("AGENTS.md", place.project.join("CLAUDE.md")).unwrap();
    put(&place.path("CLAUDE.local.md"), "@AGENTS.md @docs/a.md @docs/a.md");
    let read = place.read("");
    assert_eq!(place.names(&read), ["CLAUDE.md", "CLAUDE.local.md", "docs/a.md"]);
    assert_eq!(read.diagnostics, []);
}

#[test]
fn long_files_are_named_and_cut() {
    let long = "word ".repeat(10_000);
    let place = Place::with(&[("CLAUDE.md", &long), ("CLAUDE.local.md", &"é".repeat(120_000))]);
    let read = place.read("");
    let chars: Vec<usize> = read.files.iter().map(|file| file.text.chars().count()).collect();
    assert_eq!(chars, [49_999, 100_000]);
    let expected = [
        "CLAUDE.md: it has 50000 characters, and every request carries them. Shorten it.",
        "CLAUDE.local.md: only its first 100000 of 120000 characters are given to agents. Shorten it.",
    ];
    assert_eq!(place.said(&read), expected);
}

#[test]
fn rules_with_paths_and_nested_files_join_what_was_touched() {
    let place = Place::with(&[
        (".claude/rules/api.md", "---\npaths:\n  - \"src/api/**/*.{ts,tsx}\"\n---\nfor the api"),
        (".claude/rules/star.md", "---\npaths: *.md, docs\n---\nfor texts"),
        (".claude/rules/all.md", "---\nowner: me\n---\nfor all"),
        ("~/.claude/rules/py.md", "---\npaths: \"**/*.py\"\n---\nfor python"),
        ("src/CLAUDE.md", "for src: @extra.md"),
        ("src/extra.md", "more for src"),
        ("node_modules/x/CLAUDE.md", "never"),
    ]);
    let reader: MemoryReader = place.reader("");
    let names = |touched: &[&str]| {
        let touched: BTreeSet<_> = touched.iter().map(|path| place.path(path)).collect();
        place.names(&reader.read(&touched))
    };
    assert_eq!(names(&[]), [".claude/rules/all.md"]);
    let nested = ["src/CLAUDE.md", "src/extra.md"];
    assert_eq!(names(&["src/api/a/b.tsx"]), [&[".claude/rules/all.md", ".claude/rules/api.md"][..], &nested].concat());
    assert_eq!(names(&["src/api/a/b.rs"]), [&[".claude/rules/all.md"][..], &nested].concat());
    assert_eq!(names(&["README.md"]), [".claude/rules/all.md", ".claude/rules/star.md"]);
    assert_eq!(names(&["docs/deep/a.txt"]), [".claude/rules/all.md", ".claude/rules/star.md"]);
    assert_eq!(names(&["tool.py"]), ["~/.claude/rules/py.md", ".claude/rules/all.md"]);
    assert_eq!(names(&["node_modules/x/index.js"]), [".claude/rules/all.md"]);
    assert!(reader.read(&BTreeSet::from([place.path("src/x")])).files[1].is_nested);
}
