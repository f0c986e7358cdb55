//! Glob, Grep and LS: what they find, what they leave out, and where they stop.

use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{Bench, text_of};

fn shop() -> Bench {
    let bench = Bench::new();
    bench.put("src/main.rs", "fn main() {\n    login();\n}\n");
    bench.put("src/auth/login.rs", "fn login() {\n    verify(\"a\");\n    verify(\"b\");\n}\n");
    bench.put("src/auth/deep/token.ts", "export function verify() {}\n");
    bench.put("README.md", "verify\n");
    bench.put(".gitignore", "target/\n*.log\n");
    bench.put("target/out.rs", "verify\n");
    bench.put("debug.log", "verify\n");
    bench.put(".git/config", "verify\n");
    bench.put(".github/ci.yml", "run: verify\n");
    bench.put("data.bin", b"verify\0verify\n");
    bench
}

/// Returns a result without what it says of ignored entries.
fn without_ignored(text: &str) -> &str {
    text.split_once("\n[not looked into").map_or(text, |(before, _)| before)
}

#[tokio::test]
async fn glob_finds_by_name_and_the_newest_comes_first() {
    let bench = shop();
    let hour = Duration::from_hours(1);
    for (age, name) in [(1, "src/main.rs"), (2, "src/auth/login.rs")] {
        let file = std::fs::File::options().write(true).open(bench.path(name)).unwrap();
        file.set_modified(SystemTime::now() - hour * age).unwrap();
    }
    for (pattern, found) in [
        ("*.rs", "src/main.rs\nsrc/auth/login.rs"),
        ("**/*.rs", "src/main.rs\nsrc/auth/login.rs"),
        ("src/*.rs", "src/main.rs"),
        ("./src/**/*.{ts,js}", "src/auth/deep/token.ts"),
        ("src/main.rs", "src/main.rs"),
        (".github/*", ".github/ci.yml"),
        ("target/*", "target/out.rs"),
        ("*.log", "No files found."),
        ("config", "No files found."),
    ] {
        let text = bench.text("Glob", json!({"pattern": pattern})).await;
        assert_eq!(without_ignored(&text), found, "{pattern}");
    }
    let absolute = format!("{}/*.md", bench.path("").display());
    assert_eq!(bench.text("Glob", json!({"pattern": absolute})).await, "README.md");
    let output = bench.run("Glob", json!({"pattern": "*.rs", "path": "src/auth"})).await;
    assert_eq!((text_of(&output).as_str(), output.summary.as_str()), ("src/auth/login.rs", "1 file"));
    assert!(bench.error("Glob", json!({"pattern": "src/[a"})).await.contains("Invalid pattern"));
    assert!(bench.error("Glob", json!({"pattern": "*", "path": "nowhere"})).await.contains("nowhere"));
    assert!(bench.error("Glob", json!({"pattern": "*", "path": "README.md"})).await.contains("not a folder"));
}

#[tokio::test]
async fn glob_shows_a_hundred_and_counts_the_rest() {
    let bench = Bench::new();
    for number in 0..130 {
        bench.put(&format!("f{number}"), "");
    }
    let output = bench.run("Glob", json!({"pattern": "f*"})).await;
    assert_eq!(output.summary, "130 files");
    assert_eq!(text_of(&output).lines().count(), 101);
    assert!(text_of(&output).ends_with("[30 more; narrow the pattern or the path]"));
}

#[tokio::test]
async fn grep_has_three_modes() {
    let bench = shop();
    let files = bench.run("Grep", json!({"pattern": "verify"})).await;
    assert_eq!(
        text_of(&files),
        "Found 4 files\n.github/ci.yml\nREADME.md\nsrc/auth/deep/token.ts\nsrc/auth/login.rs\n"
    );
    assert_eq!(files.summary, "4 files");
    let counts = bench.run("Grep", json!({"pattern": "verify", "path": "src", "output_mode": "count"})).await;
    assert_eq!(text_of(&counts), "src/auth/deep/token.ts:1\nsrc/auth/login.rs:2\n");
    assert_eq!(counts.summary, "3 hits in 2 files");
    let lines = json!({"pattern": "verify", "path": "src/auth/login.rs", "output_mode": "content"});
    assert_eq!(
        bench.text("Grep", lines).await,
        "src/auth/login.rs:2:    verify(\"a\");\nsrc/auth/login.rs:3:    verify(\"b\");\n"
    );
    let none = bench.run("Grep", json!({"pattern": "nothing like it"})).await;
    let words = "No matches found.\n[1 binary file was not searched]";
    assert_eq!((without_ignored(&text_of(&none)), none.is_error), (words, false));
}

#[tokio::test]
async fn grep_obeys_its_parameters() {
    let bench = shop();
    let grep = |more: Value| {
        let mut input = json!({"pattern": "LOGIN\\(", "-i": true, "output_mode": "content"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        bench.text("Grep", input)
    };
    assert_eq!(grep(json!({"-n": false})).await, "src/auth/login.rs:fn login() {\nsrc/main.rs:    login();\n");
    assert_eq!(without_ignored(&grep(json!({"type": "ts"})).await), "No matches found.");
    assert_eq!(grep(json!({"glob": "main.*, *.md"})).await, "src/main.rs:2:    login();\n");
    assert_eq!(grep(json!({"glob": "!**/auth/**"})).await, "src/main.rs:2:    login();\n");
    assert_eq!(
        grep(json!({"glob": "main.rs", "-C": 1})).await,
        "src/main.rs-1-fn main() {\nsrc/main.rs:2:    login();\nsrc/main.rs-3-}\n"
    );
    assert_eq!(
        grep(json!({"-A": 1, "-B": 0})).await,
        "src/auth/login.rs:1:fn login() {\nsrc/auth/login.rs-2-    verify(\"a\");\n--\nsrc/main.rs:2:    login();\n\
         src/main.rs-3-}\n"
    );
    let across = json!({"pattern": "main\\(\\) \\{.*login", "multiline": true, "output_mode": "content"});
    assert_eq!(bench.text("Grep", across).await, "src/main.rs:1:fn main() {\nsrc/main.rs:2:    login();\n");
    assert_eq!(grep(json!({"type": "rs"})).await, grep(json!({"type": "rust"})).await);
    for glob in ["src/*.rs", "./src/*.rs", "*.rs, !src/auth/", &format!("{}/src/*.rs", bench.context.cwd.display())] {
        for path in [".", "src"] {
            let found = grep(json!({"glob": glob, "path": path})).await;
            assert_eq!(found, "src/main.rs:2:    login();\n", "{glob} in {path}");
        }
    }
    let far = grep(json!({"offset": usize::MAX, "head_limit": 3})).await;
    assert!(far.contains("is past the end"), "{far}");
    let words = bench.error("Grep", json!({"pattern": "(?<!x)login"})).await;
    assert!(words.contains("simpler pattern") && !words.contains("escape it"), "{words}");
    let words = bench.error("Grep", json!({"pattern": "x", "type": "cobolish"})).await;
    assert!(words.contains("not a known file type"), "{words}");
}

#[tokio::test]
async fn grep_says_what_it_could_not_search() {
    let bench = Bench::new();
    bench.put("small", "a\nb\n");
    bench.put("large", "\n".repeat(65 << 20));
    let input = json!({"pattern": "a\\nb", "multiline": true});
    let told = "[1 place could not be searched: no permission, or too large]";
    assert_eq!(bench.text("Grep", input).await, format!("Found 1 file\nsmall\n{told}\n"));
    let input = json!({"pattern": "c\\nd", "multiline": true});
    assert_eq!(bench.text("Grep", input).await, format!("No matches found.\n{told}"));
}

#[tokio::test]
async fn grep_pages_through_a_long_result() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.put(name, "hit\n".repeat(200));
    }
    let page = |offset: usize, limit: usize| {
        bench.text("Grep", json!({"pattern": "hit", "output_mode": "content", "offset": offset, "head_limit": limit}))
    };
    assert_eq!(
        page(199, 2).await,
        "a:200:hit\nb:1:hit\n[600 hits in 3 files in total; continue with offset 201, or narrow the search]\n"
    );
    assert_eq!(page(599, 2).await, "c:200:hit\n");
    assert!(page(700, 2).await.contains("past the end"));
    assert_eq!(page(0, 0).await.lines().count(), 600);
    let default = bench.text("Grep", json!({"pattern": "hit", "output_mode": "content"})).await;
    assert_eq!(default.lines().count(), 251);
}

#[tokio::test]
async fn a_bad_pattern_is_explained() {
    let bench = shop();
    let words = bench.error("Grep", json!({"pattern": "login("})).await;
    assert!(words.contains("unclosed group") && words.contains(r"login\("), "{words}");
    let words = bench.error("Grep", json!({"pattern": "interface{}"})).await;
    assert!(words.contains(r"interface\{\}"), "{words}");
    let words = bench.error("Grep", json!({"pattern": "a\\nb"})).await;
    assert!(words.contains("multiline"), "{words}");
    assert!(bench.plan("Grep", json!({"pattern": "["})).await.is_err());
}

#[tokio::test]
async fn odd_files_do_not_disturb_a_search() {
    let bench = Bench::new();
    bench.put("windows.txt", "hit\r\nmiss\r\n");
    bench.put("latin1.txt", b"caf\xe9 hit\n");
    bench.put("min.js", format!("{}hit{}\n", "x".repeat(5_000), "y".repeat(5_000)));
    bench.put("late.bin", [b"hit\n".repeat(10).as_slice(), b"\0"].concat());
    bench.put("odd\nname", "hit\n");
    std::process::Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap();
    symlink(bench.outside(""), bench.path("up")).unwrap();
    symlink(".", bench.path("round")).unwrap();
    std::fs::write(bench.outside("secret"), "hit\n").unwrap();
    let found = bench.text("Grep", json!({"pattern": "hit$|hity", "output_mode": "content"})).await;
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 4, "{found}");
    assert_eq!(lines[0], "latin1.txt:1:caf\u{fffd} hit");
    assert!(lines[1].starts_with("min.js:1:… xxx") && lines[1].contains("xhity") && lines[1].len() < 600);
    assert_eq!(lines[2..], ["odd\\nname:1:hit", "windows.txt:1:hit"]);
}

#[tokio::test]
async fn ls_draws_a_tree_that_follows_no_link() {
    let bench = shop();
    symlink("..", bench.path("src/up")).unwrap();
    std::fs::create_dir(bench.path("void")).unwrap();
    let output = bench.run("LS", json!({"ignore": ["auth", "*.bin"]})).await;
    let tree = format!(
        "- {}/\n  - .github/\n    - ci.yml\n  - .gitignore\n  - README.md\n  - src/\n    - main.rs\n    - up -> ..\n  - void/\n",
        bench.context.cwd.display()
    );
    assert_eq!((text_of(&output), output.summary.as_str()), (tree, "8 entries"));
    assert!(bench.text("LS", json!({"path": "void"})).await.ends_with("(empty)\n"));
    assert!(bench.error("LS", json!({"path": "README.md"})).await.contains("not a folder"));
    assert!(bench.error("LS", json!({"path": "nowhere"})).await.contains("nowhere"));
}

#[tokio::test]
async fn ls_shows_upper_levels_before_deep_ones() {
    let bench = Bench::new();
    for number in 0..1_200 {
        bench.put(&format!("a/b/{number}"), "");
    }
    bench.put("z/last", "");
    let output = bench.run("LS", json!({})).await;
    let text = text_of(&output);
    assert_eq!(output.summary, "1000+ entries");
    assert!(text.contains("\n  - z/\n    - last\n") && text.contains("Only 1000 entries"), "{text}");
}

#[tokio::test]
async fn ignore_files_count_as_git_has_them_and_change_with_their_file() {
    let bench = Bench::new();
    bench.put(".gitignore", "\u{feff}*.log\nbuild/\n/only-here\n!keep.log\r\n");
    bench.put(".ignore", "secret.txt\n");
    bench.put("sub/.gitignore", "!*.log\n*.tmp\n");
    bench.put("sub/inner/.gitignore", "x.log\n");
    std::fs::create_dir_all(bench.path(".git/info")).unwrap();
    bench.put(".git/info/exclude", "private\n");
    std::fs::write(bench.outside(".gitignore"), "*\n").unwrap();
    for name in ["a.log", "keep.log", "build/b", "only-here", "sub/only-here", "secret.txt", "sub/secret.txt"] {
        bench.put(name, "here");
    }
    for name in ["sub/a.log", "sub/a.tmp", "sub/inner/x.log", "sub/inner/y.log", "private", "sub/private"] {
        bench.put(name, "here");
    }
    let found = async || {
        let text = bench.text("Grep", json!({"pattern": "here"})).await;
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let expected = [".gitignore", "keep.log", "sub/a.log", "sub/inner/y.log", "sub/only-here"];
    assert_eq!(found().await, expected);
    let tools = crate::support::standard_tools();
    let glob = async || super::text_of(&super::run(&tools, "Glob", json!({"pattern": "*.tmp"}), &bench.context).await);
    assert_eq!(without_ignored(&glob().await), "No files found.");
    bench.put("sub/.gitignore", "!*.log\n");
    assert_eq!(glob().await, "sub/a.tmp", "compiled anew when the file changes");
    // What is named is found, ignored or not, unless its folder is ignored.
    let named = bench.text("Grep", json!({"pattern": "here", "glob": "a.log"})).await;
    assert_eq!(named, "Found 2 files\na.log\nsub/a.log\n");
}

#[tokio::test]
async fn an_ignore_file_of_twenty_thousand_patterns_counts_to_its_last_line() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    let patterns: String = (0..20_000).map(|at| format!("build{at}*\n")).collect();
    bench.put(".gitignore", format!("{patterns}!build7.txt\n"));
    for name in ["build7.txt", "build8.txt", "build19999", "src.txt"] {
        bench.put(name, "here");
    }
    let found = bench.text("Grep", json!({"pattern": "here"})).await;
    assert_eq!(found, "Found 2 files\nbuild7.txt\nsrc.txt\n");
}

#[tokio::test]
async fn what_is_not_looked_into_is_said() {
    let bench = Bench::new();
    assert!(bench.text("LS", json!({})).await.ends_with("(empty)\n"));
    bench.put("early.bin", b"needle\0");
    bench.put("late.bin", [b"needle\n".repeat(4_000), vec![0]].concat());
    let words = bench.text("Grep", json!({"pattern": "needle", "path": "early.bin"})).await;
    assert_eq!(words, "No matches found.\n[1 binary file was not searched]");
    let words = bench.text("Grep", json!({"pattern": "needle", "output_mode": "count"})).await;
    assert_eq!(words, "No matches found.\n[2 binary files were not searched]");
    bench.put(".gitignore", "*\n");
    assert!(bench.text("LS", json!({})).await.ends_with("(all entries are ignored or left out)\n"));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn glob_says_what_it_could_not_look_into() {
    let bench = Bench::new();
    // A path longer than the system takes cannot be listed by its name.
    let name = "d".repeat(200);
    let mut folder = std::fs::File::open(bench.path("")).unwrap();
    for _ in 0..25 {
        rustix::fs::mkdirat(&folder, &*name, rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::RDONLY;
        folder = rustix::fs::openat(&folder, &*name, flags, rustix::fs::Mode::empty()).unwrap().into();
    }
    let words = bench.text("Glob", json!({"pattern": "**/x"})).await;
    assert_eq!(words, "No files found.\n[1 place could not be searched: no permission, or too deep]");
}

#[tokio::test]
async fn patterns_that_grow_without_bound_are_refused() {
    let bench = Bench::new();
    bench.put("a.txt", "aaaa\n");
    let words = bench.error("Grep", json!({"pattern": "(a{1000}){1000}"})).await;
    assert!(words.contains("compiles too large"), "{words}");
    let words = bench.error("Glob", json!({"pattern": "{a,".repeat(1_000)})).await;
    assert!(words.contains("Invalid pattern"), "{words}");
    let words = bench.error("Glob", json!({"pattern": format!("{}b{}", "{a,".repeat(1_000), "}".repeat(1_000))})).await;
    assert!(words.contains("Invalid pattern"), "{words}");
    // A costly pattern is not looked for in a long line, which nothing could interrupt; a plain one is.
    bench.put("long.txt", "ab".repeat(400_000));
    let costly = bench.text("Grep", json!({"pattern": "(a|b)*a(a|b){2000}c", "path": "long.txt"})).await;
    assert!(costly.contains("1 place could not be searched"), "{costly}");
    assert!(bench.text("Grep", json!({"pattern": "abab$", "path": "long.txt"})).await.contains("long.txt"));
}
