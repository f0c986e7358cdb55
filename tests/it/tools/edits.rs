//! Writing and editing: only what was read, as a whole or not at all.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use belvedere::message::LineKind;
use belvedere::permission::Preview;
use belvedere::tool::{ChangeKind, ToolView};
use serde_json::{Value, json};

use super::{Bench, text_of};

fn edit(name: &str, old: &str, new: &str) -> Value {
    json!({"file_path": name, "old_string": old, "new_string": new})
}

async fn seen(content: &str) -> Bench {
    let bench = Bench::new();
    bench.put("a.txt", content);
    bench.text("Read", json!({"file_path": "a.txt"})).await;
    bench
}

#[tokio::test]
async fn a_new_file_is_created_with_its_folders() {
    let bench = Bench::new();
    let input = json!({"file_path": "new/deep/a.txt", "content": "one\ntwo\n"});
    let plan = bench.plan("Write", input.clone()).await.unwrap();
    assert!(matches!(plan.preview, Some(Preview::Diff(diff)) if diff.added == 2));
    assert!(!bench.path("new").exists(), "planning touches nothing");
    let output = bench.run("Write", input).await;
    assert_eq!(output.summary, "+2 −0");
    assert_eq!(output.changes[0].kind, ChangeKind::Created);
    assert_eq!(output.changes[0].path, bench.path("new/deep/a.txt"));
    assert_eq!(bench.get("new/deep/a.txt"), "one\ntwo\n");
    // What the agent wrote itself it knows.
    bench.text("Edit", edit("new/deep/a.txt", "two", "2")).await;
    assert_eq!(bench.get("new/deep/a.txt"), "one\n2\n");
}

#[tokio::test]
async fn what_was_not_read_or_has_changed_is_left_alone() {
    let bench = Bench::new();
    bench.put("a.txt", "theirs\n");
    let write = json!({"file_path": "a.txt", "content": "mine\n"});
    for (tool, input) in [("Write", write.clone()), ("Edit", edit("a.txt", "theirs", "mine"))] {
        assert!(text_of(&bench.plan(tool, input.clone()).await.unwrap_err()).contains("has not been read"));
        assert!(bench.error(tool, input).await.contains("has not been read"));
    }
    bench.text("Read", json!({"file_path": "a.txt"})).await;
    bench.put("a.txt", "changed by someone\n");
    for (tool, input) in [("Write", write.clone()), ("Edit", edit("a.txt", "changed", "x"))] {
        assert!(bench.error(tool, input).await.contains("changed on disk"));
    }
    std::fs::remove_file(bench.path("a.txt")).unwrap();
    assert!(bench.error("Edit", edit("a.txt", "changed", "x")).await.contains("does not exist"));
    bench.text("Write", write).await;
    assert_eq!(bench.get("a.txt"), "mine\n");
}

#[tokio::test]
async fn an_edit_shows_and_reports_its_difference() {
    let bench = seen("one\ntwo\nthree\n").await;
    let input = edit("a.txt", "two", "2\n2.5");
    let plan = bench.plan("Edit", input.clone()).await.unwrap();
    let output = bench.run("Edit", input).await;
    assert_eq!(output.summary, "+2 −1");
    assert_eq!(output.changes[0].kind, ChangeKind::Modified);
    let (Some(Preview::Diff(before)), Some(ToolView::Diff(after))) = (plan.preview, output.view) else { panic!() };
    assert_eq!(before, after);
    assert_eq!(bench.get("a.txt"), "one\n2\n2.5\nthree\n");
}

#[tokio::test]
async fn a_passage_must_be_there_once() {
    let bench = seen("let a = 1;\nlet b = 1;\n    let total = a + b;\n").await;
    let words = bench.error("Edit", edit("a.txt", "= 1", "= 2")).await;
    assert!(
        words.contains("occurs 2 times") && words.contains("lines 1, 2") && words.contains("replace_all"),
        "{words}"
    );
    let words = bench.error("Edit", edit("a.txt", "let totals = a + b;", "x")).await;
    assert!(words.contains("closest line is 3") && words.contains("let total = a + b;"), "{words}");
    let words = bench.error("Edit", edit("a.txt", "let total = a + b;\nlet c", "x")).await;
    assert!(words.contains("begins like line 3 but differs at line 4, which is past the end"), "{words}");
    let words = bench.error("Edit", edit("a.txt", "let a = 1;\nlet b = 2;", "x")).await;
    assert!(words.contains("begins like line 1 but differs at line 2, which reads:\nlet b = 1;\n"), "{words}");
    for pasted in ["     1\tlet a = 1;", "     1→let a = 1;\n     2→let b = 1;"] {
        let words = bench.error("Edit", edit("a.txt", pasted, "x")).await;
        assert!(words.contains("line numbers") && words.contains("exactly:\nlet a = 1;"), "{words}");
    }
    assert!(bench.error("Edit", edit("a.txt", "same", "same")).await.contains("nothing to change"));
    assert!(bench.error("Edit", edit("a.txt", "", "x")).await.contains("use Write"));

    let all = json!({"file_path": "a.txt", "old_string": "= 1", "new_string": "= 2", "replace_all": true});
    assert_eq!(bench.run("Edit", all).await.summary, "+2 −2");
    assert!(bench.get("a.txt").starts_with("let a = 2;\nlet b = 2;\n"));
}

#[tokio::test]
async fn what_models_change_unawares_is_shown_as_it_is() {
    let bench = seen("\tsay(\u{201c}it\u{2019}s \u{2013} so\u{201d});\n\tend\n").await;
    let words = bench.error("Edit", edit("a.txt", "  say(\"it's - so\");\n  end", "x")).await;
    assert!(words.contains("lines 1–2") && words.ends_with("exactly:\n\tsay(“it’s – so”);\n\tend"), "{words}");
    let bench = seen(&"}\n".repeat(60_000)).await;
    let words = bench.error("Edit", edit("a.txt", &"}\n".repeat(60_001), "x")).await;
    assert!(words.len() < 10_000, "{}", words.len());
}

#[tokio::test]
async fn a_new_content_takes_over_what_read_does_not_show() {
    let bench = seen("\u{feff}one\r\ntwo\r\n").await;
    let words = bench.text("Write", json!({"file_path": "a.txt", "content": "1\n2\n3"})).await;
    assert_eq!(bench.get("a.txt"), "\u{feff}1\r\n2\r\n3");
    assert!(words.contains("stay CRLF"), "{words}");
    bench.text("Write", json!({"file_path": "a.txt", "content": "a\r\nb\nc\r\n"})).await;
    assert_eq!(bench.get("a.txt"), "\u{feff}a\r\nb\nc\r\n", "a content with line ends of its own keeps them");
}

#[tokio::test]
async fn what_was_allowed_is_what_is_written_and_read() {
    let bench = Bench::new();
    bench.put("inside/a.txt", "mine\n");
    std::fs::create_dir(bench.outside("elsewhere")).unwrap();
    std::fs::write(bench.outside("elsewhere/a.txt"), "secret\n").unwrap();
    let turn = || {
        std::fs::remove_file(bench.path("link")).unwrap();
        symlink(bench.outside("elsewhere"), bench.path("link")).unwrap();
    };
    for (tool, input) in [
        ("Write", json!({"file_path": "link/new.txt", "content": "x"})),
        ("Read", json!({"file_path": "link/a.txt"})),
        ("Grep", json!({"pattern": "secret", "path": "link", "output_mode": "content"})),
        ("Glob", json!({"pattern": "link/*"})),
        ("LS", json!({"path": "link"})),
    ] {
        let _ = std::fs::remove_file(bench.path("link"));
        symlink("inside", bench.path("link")).unwrap();
        let output = bench.run_after(tool, input, turn).await;
        assert!(
            output.is_error && text_of(&output).contains("a symbolic link in the path changed"),
            "{tool}: {output:?}"
        );
    }
    assert!(!bench.outside("elsewhere/new.txt").exists());
}

#[tokio::test]
async fn line_ends_and_a_missing_last_one_stay_as_they_are() {
    let bench = seen("one\r\ntwo\r\nthree").await;
    bench.text("Edit", edit("a.txt", "one\ntwo", "1\n1.5\n2")).await;
    assert_eq!(bench.get("a.txt"), "1\r\n1.5\r\n2\r\nthree");
    bench.text("Edit", edit("a.txt", "three", "3\n4")).await;
    assert_eq!(bench.get("a.txt"), "1\r\n1.5\r\n2\r\n3\r\n4");

    let bench = seen("a\nb\r\nc\nd\n").await;
    bench.text("Edit", edit("a.txt", "a\n", "A\n")).await;
    bench.text("Edit", edit("a.txt", "b\nc", "B\nC")).await;
    assert_eq!(bench.get("a.txt"), "A\nB\r\nC\nd\n", "mixed ends: the passage keeps its own");
}

#[tokio::test]
async fn bits_and_links_are_kept() {
    let bench = seen("#!/bin/sh\n").await;
    std::fs::set_permissions(bench.path("a.txt"), std::fs::Permissions::from_mode(0o751)).unwrap();
    symlink("a.txt", bench.path("link")).unwrap();
    let output = bench.run("Write", json!({"file_path": "link", "content": "#!/bin/bash\n"})).await;
    assert_eq!(output.changes[0].path, bench.path("a.txt"));
    assert_eq!(bench.get("a.txt"), "#!/bin/bash\n");
    assert!(bench.path("link").is_symlink());
    assert_eq!(std::fs::metadata(bench.path("a.txt")).unwrap().permissions().mode() & 0o777, 0o751);
    let left: Vec<_> = std::fs::read_dir(bench.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no temporary file is left: {left:?}");
}

#[tokio::test]
async fn a_refused_write_leaves_the_old_file() {
    let bench = seen("old\n").await;
    std::fs::set_permissions(bench.path("a.txt"), std::fs::Permissions::from_mode(0o444)).unwrap();
    let words = bench.error("Write", json!({"file_path": "a.txt", "content": "new\n"})).await;
    assert!(words.contains("write-protected"), "{words}");
    assert_eq!(bench.get("a.txt"), "old\n");
    let words = bench.error("Write", json!({"file_path": "a.txt/b", "content": "x"})).await;
    assert!(words.contains("a.txt/b"), "{words}");
    if std::path::Path::new("/proc/self").exists() {
        let words = bench.error("Write", json!({"file_path": "/proc/belvedere", "content": "x"})).await;
        assert!(words.contains("/proc/belvedere"), "{words}");
    }
}

#[tokio::test]
async fn a_read_only_folder_is_a_clear_result() {
    let bench = seen("old\n").await;
    let folder = bench.path("");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o555)).unwrap();
    // The superuser may write there all the same; then there is nothing to see.
    if std::fs::write(bench.path("probe"), "").is_err() {
        let words = bench.error("Write", json!({"file_path": "a.txt", "content": "new\n"})).await;
        assert!(words.contains("denied"), "{words}");
        assert_eq!(bench.get("a.txt"), "old\n");
    }
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn bytes_that_are_no_text_are_not_edited_but_can_be_replaced() {
    let bench = Bench::new();
    bench.put("a.txt", b"caf\xe9\n");
    bench.text("Read", json!({"file_path": "a.txt"})).await;
    assert!(bench.error("Edit", edit("a.txt", "caf", "x")).await.contains("not valid UTF-8"));
    let plan = bench.plan("Write", json!({"file_path": "a.txt", "content": "café\n"})).await.unwrap();
    let Some(Preview::Diff(diff)) = plan.preview else { panic!("{:?}", plan.preview) };
    let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| (line.kind, line.text.as_str()));
    let shown = [(LineKind::Removed, "5 bytes of binary data"), (LineKind::Added, "café")];
    assert!(lines.eq(shown), "what is asked for says what goes and shows all that comes");
    let output = bench.run("Write", json!({"file_path": "a.txt", "content": "café\n"})).await;
    assert_eq!((output.summary.as_str(), output.view), ("5 bytes replaced by 6 bytes", None));
    let again = bench.run("Write", json!({"file_path": "a.txt", "content": "café\n"})).await;
    assert_eq!((again.summary.as_str(), again.changes.len()), ("no change", 0));
}
