//! What is said where nothing was found: only of what was looked at, and with what may be meant.

use serde_json::json;

use super::{Bench, text_of};

#[tokio::test]
async fn a_search_names_what_ignore_files_kept_from_it() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.put(".gitignore", "scripts/*\ntarget/\n");
    bench.put("scripts/deploy.py", "needle\n");
    bench.put("target/x.rs", "needle\n");
    bench.put("src/a.rs", "fn a() {}\n");
    for (tool, input, named) in [
        ("Grep", json!({"pattern": "needle"}), ["scripts/deploy.py", "target"]),
        ("Grep", json!({"pattern": "needle", "path": "scripts"}), ["scripts/deploy.py", "ignore files"]),
        ("Grep", json!({"pattern": "needle", "output_mode": "count"}), ["scripts/deploy.py", "target"]),
        ("Glob", json!({"pattern": "scripts/*.py"}), ["scripts/deploy.py", "ignore files"]),
        ("Glob", json!({"pattern": "**/*.py"}), ["scripts/deploy.py", "target"]),
    ] {
        let text = bench.text(tool, input.clone()).await;
        assert!(text.contains("found.") && text.contains("not looked into"), "{tool} {input}: {text}");
        assert!(named.iter().all(|named| text.contains(named)), "{tool} {input}: {text}");
    }
    let text = bench.text("Grep", json!({"pattern": "needle", "path": "src"})).await;
    assert_eq!(text, "No matches found.", "all of it was looked at");
    let found = bench.text("Grep", json!({"pattern": "fn a"})).await;
    assert!(!found.contains("not looked into"), "{found}");
}

#[tokio::test]
async fn many_ignored_entries_are_named_in_short() {
    let bench = Bench::new();
    bench.put(".ignore", "*.log\n");
    for number in 0..40 {
        bench.put(&format!("{number:02}.log"), "x");
    }
    let text = bench.text("Grep", json!({"pattern": "needle"})).await;
    assert!(text.contains("00.log") && text.contains("07.log and more") && !text.contains("08.log"), "{text}");
}

#[tokio::test]
async fn a_bar_of_another_syntax_is_named() {
    let bench = Bench::new();
    bench.put("a.txt", "foo\n");
    let text = bench.text("Grep", json!({"pattern": r"foo\|bar"})).await;
    assert!(text.starts_with("No matches found.\n[`\\|` is a bar itself"), "{text}");
    let text = bench.text("Grep", json!({"pattern": "nope|bar"})).await;
    assert_eq!(text, "No matches found.");
}

#[tokio::test]
async fn symbols_names_the_languages_it_does_not_read() {
    let bench = Bench::new();
    bench.put("src/api.ts", "export function load(x: number) { return x }\n");
    bench.put("src/App.vue", "<script>load(1)</script>\n");
    bench.put("lib/shop.ex", "def total(x), do: load(x)\n");
    bench.put("Makefile", "load:\n");
    bench.put("README.md", "load\n");
    for (input, said) in [
        (json!({"query": "load", "mode": "references"}), "No uses of `load` were found in the languages"),
        (json!({"query": "total", "mode": "references"}), "Nothing is named `total`"),
        (json!({"query": "frobnicate"}), "No definition"),
        (json!({"query": "default timeout", "mode": "values"}), "No line states a value for this in the languages"),
    ] {
        let text = bench.text("Symbols", input.clone()).await;
        assert!(text.contains(said), "{input}: {text}");
        for named in ["1 .ex", "1 .vue", "1 Makefile", "use Grep for them"] {
            assert!(text.contains(named), "{input}: {text}");
        }
        assert!(!text.contains(".md"), "{input}: {text}");
    }
    let known = bench.text("Symbols", json!({"query": "load"})).await;
    assert!(!known.contains("not looked into"), "{known}");
    std::fs::remove_file(bench.path("src/App.vue")).unwrap();
    std::fs::remove_file(bench.path("lib/shop.ex")).unwrap();
    std::fs::remove_file(bench.path("Makefile")).unwrap();
    let text = bench.text("Symbols", json!({"query": "total", "mode": "references"})).await;
    assert_eq!(text.lines().next(), Some("Nothing is named `total` outside comments and strings."), "{text}");
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_answered_with_the_one_that_is_meant() {
    let bench = Bench::new();
    bench.put("src/a.txt", "ALPHA\n");
    bench.put("with\u{202f}blank.txt", "x\n");
    let root = bench.path("").to_string_lossy().into_owned();
    for written in [
        "/src/a.txt",
        "/home/somebody/project/src/a.txt",
        "@src/a.txt",
        "\"src/a.txt\"",
        "`src/a.txt`",
        "src/a.txt\n",
        "file:///src/a.txt",
        &format!("file://{root}src/a.txt"),
        "src/A.TXT",
    ] {
        let said = bench.error("Read", json!({"file_path": written})).await;
        assert!(
            said.contains("Did you mean src/a.txt?") && said.contains("The working directory is"),
            "{written}: {said}"
        );
    }
    let said = bench.error("Read", json!({"file_path": "with blank.txt"})).await;
    assert!(said.contains("Did you mean with\u{202f}blank.txt?"), "{said}");
    let said = bench.error("Read", json!({"file_path": "gone.txt"})).await;
    assert!(said.contains("Find the right path with Glob or LS."), "{said}");
    for (tool, input) in [
        ("Grep", json!({"pattern": "x", "path": "/src"})),
        ("Glob", json!({"pattern": "*", "path": "/src"})),
        ("LS", json!({"path": "@src"})),
        ("Symbols", json!({"query": "x", "path": "/src"})),
    ] {
        let said = bench.error(tool, input).await;
        assert!(said.contains("Did you mean src?"), "{tool}: {said}");
    }
}

#[tokio::test]
async fn a_command_that_ends_elsewhere_says_where_the_next_one_starts() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("sub")).unwrap();
    for (line, is_said) in [
        ("cd sub", true),
        ("cd sub && pwd", true),
        ("cd sub\npwd", true),
        ("cd sub && cd ..", false),
        ("cd .", false),
        ("(cd sub && pwd)", false),
        ("echo cd sub", false),
        ("pwd", false),
    ] {
        let text = text_of(&bench.run("Bash", json!({"command": line})).await);
        assert_eq!(text.contains("[The next command starts in "), is_said, "{line}: {text}");
    }
}

/// Run by the test below in a process whose environment holds keys.
#[tokio::test]
async fn a_failure_names_the_variables_that_were_withheld() {
    if std::env::var_os("GH_TOKEN").is_none() {
        return;
    }
    let bench = Bench::new();
    bench.put("gh", "#!/bin/sh\necho 'To get started, please run: gh auth login'\nexit 4\n");
    bench.put("npm", "#!/bin/sh\necho ok\n");
    let run = |line: &'static str| bench.run("Bash", json!({"command": line}));
    let output = run("sh ./gh pr list").await;
    let text = text_of(&output);
    assert!(text.contains("[GH_TOKEN is set, but withheld") && text.contains("tools.environment"), "{text}");
    assert!(output.summary.contains("GH_TOKEN is withheld"), "the user sees it, too: {}", output.summary);
    assert!(text_of(&run("sh ./gh pr list | cat").await).contains("GH_TOKEN"), "the pipe hides the status");
    assert!(text_of(&run("test -n \"$MY_SECRET\"").await).contains("MY_SECRET is set"), "the line names it");
    for line in ["sh ./npm publish", "gh-is-not-here; gh_is_not_here", "false", "grep -r gh_token ."] {
        let text = text_of(&run(line).await);
        assert!(!text.contains("withheld") && !text.contains("canary"), "{line}: {text}");
    }
}

#[test]
fn withheld_variables_are_named_where_a_program_fails_for_them() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::absence::a_failure_names_the_variables_that_were_withheld"])
        .envs([("GH_TOKEN", "canary"), ("NPM_TOKEN", "canary"), ("MY_SECRET", "canary"), ("OPENAI_API_KEY", "canary")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
