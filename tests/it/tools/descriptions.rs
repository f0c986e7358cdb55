//! What the descriptions of tools promise to models, held against what the tools do. Each sentence is either checked
//! here by a call, or named as advice, or as a promise that another test holds: a new sentence fails until it is.

use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Bench, lines, text_of};
use crate::support::standard_tools;

/// A description from which the sentences that were dealt with are taken away.
struct Claims {
    tool: &'static str,
    left: String,
}

impl Claims {
    fn of(tool: &'static str) -> Self {
        let left = standard_tools().find(tool).unwrap().spec().description.trim_end().replace('\n', " ");
        Self { tool, left }
    }

    /// Takes a sentence away; it is checked by what follows, elsewhere, or is advice that promises nothing.
    fn take(&mut self, sentence: &str) {
        assert!(self.left.contains(sentence), "{} no longer says “{sentence}”: {}", self.tool, self.left);
        self.left = self.left.replacen(sentence, "", 1);
    }

    fn end(&self) {
        assert_eq!(self.left.trim(), "", "{}: hold this against what the tool does", self.tool);
    }
}

async fn fails(bench: &Bench, tool: &str, input: Value, words: &str) {
    let error = bench.error(tool, input).await;
    assert!(error.contains(words), "{error}");
}

#[tokio::test]
async fn what_read_promises_is_so() {
    let (bench, mut read) = (Bench::new(), Claims::of("Read"));
    bench.put("long.txt", lines(1..=2_500, |n| format!("l{n}")));
    bench.put("wide.txt", "x".repeat(2_100) + "\n");
    read.take("Reads a file. Text comes with line numbers (`     1<tab>line`), up to 2,000 lines, fewer if long; offset and limit give a part of a large file.");
    let whole = bench.text("Read", json!({"file_path": "long.txt"})).await;
    assert!(whole.starts_with("     1\tl1\n") && whole.contains("\tl2000") && !whole.contains("\tl2001"));
    bench.put("full.txt", lines(1..=1_000, |_| "y".repeat(100)));
    let full = bench.text("Read", json!({"file_path": "full.txt"})).await;
    assert!(full.contains("ontinue with offset") && !full.contains("  1000\t"), "{}", &full[full.len() - 200..]);
    let part = bench.text("Read", json!({"file_path": "long.txt", "offset": 2_400, "limit": 2})).await;
    assert!(part.starts_with("  2400\tl2400\n  2401\tl2401") && !part.contains("l2402"), "{part}");
    read.take("Lines over 2,000 characters are cut.");
    let wide = bench.text("Read", json!({"file_path": "wide.txt"})).await;
    assert!(wide.contains(&"x".repeat(2_000)) && !wide.contains(&"x".repeat(2_001)));
    read.take("PNG, JPEG, GIF and WebP files are shown as images, PDF files as documents (20 pages a call).");
    read.take("For folders use LS.");
    fails(&bench, "Read", json!({"file_path": "."}), "LS").await;
    read.end();
}

#[tokio::test]
async fn what_write_and_edit_promise_is_so() {
    let (bench, mut write, mut edit) = (Bench::new(), Claims::of("Write"), Claims::of("Edit"));
    write.take("Writes a whole file and creates missing folders.");
    bench.text("Write", json!({"file_path": "a/b/c.txt", "content": "one\ntwo\none\n"})).await;
    assert_eq!(bench.get("a/b/c.txt"), "one\ntwo\none\n");
    write.take("An existing file is replaced only if you have read it and it has not changed since.");
    bench.put("old.txt", "old\n");
    fails(&bench, "Write", json!({"file_path": "old.txt", "content": "new\n"}), "Read").await;
    bench.text("Read", json!({"file_path": "old.txt"})).await;
    bench.put("old.txt", "of another\n");
    bench.error("Write", json!({"file_path": "old.txt", "content": "new\n"})).await;
    assert_eq!(bench.get("old.txt"), "of another\n");
    write.take("To change part of a file use Edit.");
    write.end();

    edit.take("Replaces old_string with new_string in a file that you have read and that no other agent or program has changed since.");
    bench.put("new.txt", "a\n");
    fails(&bench, "Edit", json!({"file_path": "new.txt", "old_string": "a", "new_string": "b"}), "Read").await;
    edit.take("old_string must match the file exactly, with its indentation and without the line numbers of Read, and must occur once; add surrounding lines to make it unique, or set replace_all to replace every occurrence.");
    let change = |old: &str| json!({"file_path": "a/b/c.txt", "old_string": old, "new_string": "1"});
    for wrong in ["     1\tone", " one", "one"] {
        bench.error("Edit", change(wrong)).await;
    }
    bench.text("Edit", change("one\ntwo")).await;
    assert_eq!(bench.get("a/b/c.txt"), "1\none\n");
    bench
        .text("Edit", json!({"file_path": "a/b/c.txt", "old_string": "\n", "new_string": ".\n", "replace_all": true}))
        .await;
    assert_eq!(bench.get("a/b/c.txt"), "1.\none.\n");
    edit.end();
}

#[tokio::test]
async fn what_glob_and_ls_promise_is_so() {
    let (bench, mut glob, mut ls) = (Bench::new(), Claims::of("Glob"), Claims::of("LS"));
    bench.put(".gitignore", "out/\n");
    for number in 0..120 {
        bench.put(&format!("src/f{number}.ts"), "");
    }
    for name in ["src/deep/x.tsx", "src/a.rs", "Cargo.toml", "crates/one/Cargo.toml", "out/made.rs"] {
        bench.put(name, "");
    }
    let old = std::fs::File::options().write(true).open(bench.path("src/a.rs")).unwrap();
    old.set_modified(SystemTime::now() - Duration::from_hours(1)).unwrap();
    bench.put("b.rs", "");
    glob.take("Finds files by name, most recently changed first, at most 100. Patterns: `**/*.rs`, `src/**/*.{ts,tsx}`, `Cargo.toml` (at any depth).");
    let find = async |pattern: &str| bench.text("Glob", json!({"pattern": pattern})).await;
    assert_eq!(find("**/*.rs").await, "b.rs\nsrc/a.rs");
    assert_eq!(find("src/**/*.{ts,tsx}").await.lines().filter(|line| line.starts_with("src/")).count(), 100);
    assert_eq!(find("Cargo.toml").await.lines().count(), 2);
    glob.take("Files that .gitignore excludes are left out unless path names their folder.");
    assert_eq!(bench.text("Glob", json!({"pattern": "*.rs", "path": "out"})).await, "out/made.rs");
    glob.take("For text inside files use Grep.");
    glob.end();

    ls.take("Lists a folder and everything below it as a tree, up to 1,000 entries, upper levels first.");
    for number in 0..1_100 {
        bench.put(&format!("many/deep/er/g{number}"), "");
    }
    symlink(bench.path("src"), bench.path("link")).unwrap();
    let tree = bench.text("LS", json!({"path": "."})).await;
    let names = tree.lines().skip(1).filter(|line| line.trim_start().starts_with("- ")).count();
    assert!(names == 1_000 && tree.contains("Cargo.toml"), "{names} of {tree}");
    ls.take(
        "Entries that .gitignore excludes are left out, symbolic links are shown but not followed. ignore takes globs.",
    );
    assert!(!tree.contains("made.rs") && tree.contains("link") && tree.matches("a.rs").count() == 1);
    let less = bench.text("LS", json!({"path": "src", "ignore": ["*.ts"]})).await;
    assert!(!less.contains("f7.ts") && less.contains("x.tsx"), "{less}");
    ls.take("When you know what you are looking for, use Glob or Grep.");
    ls.end();
}

#[tokio::test]
async fn what_grep_promises_is_so() {
    let (bench, mut grep) = (Bench::new(), Claims::of("Grep"));
    for (name, text) in [
        ("b.rs", "fn here() {}\n"),
        ("a.rs", "one\nfn here() {}\nfn here() {}\n"),
        (".gitignore", "out/\n"),
        ("out/c.rs", "fn here\n"),
        ("d.bin", "fn here\0"),
    ] {
        bench.put(name, text);
    }
    let find = async |mode: &str| bench.text("Grep", json!({"pattern": r"here\(\) \{", "output_mode": mode})).await;
    grep.take("Searches the contents of files with a regular expression (ripgrep's). output_mode: \"files_with_matches\" (paths), \"content\" (`path:line:text`, with -A -B -C for context), \"count\" (`path:hits`).");
    grep.take("Results are sorted by path. Binary files and files that .gitignore excludes are left out.");
    assert_eq!(find("files_with_matches").await, "Found 2 files\na.rs\nb.rs\n");
    assert_eq!(find("count").await, "a.rs:2\nb.rs:1\n");
    assert_eq!(find("content").await, "a.rs:2:fn here() {}\na.rs:3:fn here() {}\nb.rs:1:fn here() {}\n");
    let around = json!({"pattern": "fn here", "path": "a.rs", "output_mode": "content", "-B": 1, "head_limit": 2});
    assert!(bench.text("Grep", around).await.contains("one"));
    grep.take("Literal braces, brackets and parentheses need a backslash.");
    let bare = bench.run("Grep", json!({"pattern": "here() {"})).await;
    assert!(!text_of(&bare).contains("a.rs\n"), "{}", text_of(&bare));
    grep.take("Use this instead of grep or rg in Bash.");
    grep.end();
}

#[tokio::test]
async fn what_bash_promises_is_so() {
    let (bench, mut bash) = (Bench::new(), Claims::of("Bash"));
    bench.put("sub/x", "");
    let run = async |command: &str| text_of(&bench.run("Bash", json!({"command": command})).await);
    bash.take("Runs a command with `bash -c` in the working directory. Each call is a new shell: a `cd` or a variable does not carry over; chain with `&&`.");
    run("cd sub && X=1").await;
    assert_eq!(run("ls; echo \"[$X]\"").await, "sub\n[]\n[exit 0]");
    // By `tools::commands::what_no_list_names_stays_out_of_the_environment_of_commands`.
    bash.take("Keys and tokens in variables are withheld.");
    bash.take("There is no terminal and no standard input: pass flags that avoid questions and pagers. Standard output, error and exit code are returned; the middle of long output is omitted.");
    let said = run("test -t 0 || cat; echo out; echo err >&2; exit 3").await;
    assert!(["out", "err", "3"].iter().all(|word| said.contains(word)), "{said}");
    let long = run("seq 1 100000").await;
    assert!(long.starts_with("1\n") && long.contains("100000") && !long.contains("\n50000\n"));
    // The tests of commands and of commands in the background hold these two.
    bash.take("At the timeout, and when the command ends, every process it started is killed. For a server or a watcher, set run_in_background (not `&`): TaskOutput returns what it prints, TaskStop stops it, and notify_on has you told of a line you wait for.");
    // The tests of the sandbox hold this.
    bash.take("Where there is a sandbox, commands run in it without approval: they can write only in the project and in $TMPDIR (/tmp is theirs alone), and have no network. If one wants a host, the user is asked whether it may reach that host, and it runs again; if one fails for something else, the user is asked whether it may run again outside.");
    bash.take("Set dangerouslyDisableSandbox only for what you know has to run there, such as a push over SSH.");
    bash.take("For files, use Read, Edit, Write, Grep, Glob and LS instead of cat, sed, grep, find and ls: they need no approval inside the project. Quote paths with spaces. Commit or push only if the user asks for it.");
    bash.end();
}
