//! Reading: lines, pictures, and everything that only looks like a file.

use std::os::unix::fs::symlink;

use belvedere::message::ResultPart;
use belvedere::tool::{Knowledge, Stamp};
use serde_json::json;

use super::{Bench, lines, path_of, text_of};
use crate::support::png;

#[tokio::test]
async fn lines_are_numbered_and_pages_say_what_is_left() {
    let bench = Bench::new();
    bench.put("numbers", lines(1..=2_500, |n| n.to_string()));
    let output = bench.run("Read", json!({"file_path": "numbers"})).await;
    let shown = text_of(&output);
    assert!(shown.starts_with("     1\t1\n     2\t2\n"));
    assert!(
        shown.ends_with("[Lines 1–2000 of 2,500 lines. Continue with offset 2001, or search with Grep.]\n"),
        "{shown}"
    );
    assert_eq!(output.summary, "2,000 lines");

    let page = bench.text("Read", json!({"file_path": "numbers", "offset": 2_499, "limit": 10})).await;
    assert_eq!(page, "  2499\t2499\n  2500\t2500\n");
    let page = bench.text("Read", json!({"file_path": "numbers", "offset": 3, "limit": 1})).await;
    assert_eq!(page, "     3\t3\n[Lines 3–3 of 2,500 lines.]\n");
    let past = bench.text("Read", json!({"file_path": "numbers", "offset": 9_000})).await;
    assert!(past.contains("2,500 lines") && past.contains("past the end"), "{past}");
}

#[tokio::test]
async fn a_result_stays_below_what_a_result_may_hold() {
    let bench = Bench::new();
    bench.put("wide", format!("{}\n", "w".repeat(1_900)).repeat(1_000));
    let shown = bench.text("Read", json!({"file_path": "wide"})).await;
    assert!(shown.chars().count() < 50_000 && shown.contains("of 1,000 lines"));
}

#[tokio::test]
async fn long_lines_are_cut_between_characters() {
    let bench = Bench::new();
    bench.put("long", format!("{}\nnext\n", "€".repeat(100_000)));
    let shown = bench.text("Read", json!({"file_path": "long"})).await;
    assert_eq!(shown, format!("     1\t{} [… line cut]\n     2\tnext\n", "€".repeat(2_000)));
}

#[tokio::test]
async fn odd_texts_are_shown_as_well_as_can_be() {
    let bench = Bench::new();
    bench.put("windows", "\u{feff}a\r\nb\r\n");
    assert_eq!(bench.text("Read", json!({"file_path": "windows"})).await, "     1\ta\n     2\tb\n");
    bench.put("latin1", b"caf\xe9\n");
    let shown = bench.text("Read", json!({"file_path": "latin1"})).await;
    assert!(shown.starts_with("     1\tcaf\u{fffd}\n[Not valid UTF-8"), "{shown}");
    bench.put("empty", "");
    let output = bench.run("Read", json!({"file_path": "empty"})).await;
    assert_eq!((text_of(&output).as_str(), output.summary.as_str()), ("(empty is empty.)", "empty"));
}

#[tokio::test]
async fn a_picture_that_a_service_would_refuse_stays_out_of_the_conversation() {
    let bench = Bench::new();
    let webp = |rest: &[u8]| [b"RIFF".as_slice(), &u32::to_le_bytes(u32::try_from(rest.len()).unwrap()), rest].concat();
    for (name, bytes, summary) in [
        ("gif", b"GIF89a\x03\0\x02\0,;".to_vec(), "image/gif, 3×2, 12 bytes"),
        (
            "jpeg",
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08\0\x02\0\x03\xff\xda\xff\xd9".to_vec(),
            "image/jpeg, 3×2, 22 bytes",
        ),
        ("x.webp", webp(b"WEBPVP8X....\0\0\0\0\x02\0\0\x01\0\0"), "image/webp, 3×2, 30 bytes"),
        ("l.webp", webp(b"WEBPVP8L....\x2f\x02\x40\0\0"), "image/webp, 3×2, 25 bytes"),
        ("v.webp", webp(b"WEBPVP8 ....\0\0\0\x9d\x01\x2a\x03\0\x02\0"), "image/webp, 3×2, 30 bytes"),
    ] {
        bench.put(name, &bytes);
        assert_eq!(bench.run("Read", json!({"file_path": name})).await.summary, summary);
        bench.put("cut", &bytes[..bytes.len() - 1]);
        let refusal = bench.error("Read", json!({"file_path": "cut"})).await;
        assert!(
            refusal.contains("cut off or damaged") || refusal.contains("not a complete image"),
            "{name}: {refusal}"
        );
    }
    // What cannot be decoded is made no smaller.
    bench.put("wide.png", &png(8_001, 2)[..24]);
    assert!(bench.error("Read", json!({"file_path": "wide.png"})).await.contains("8001×2 pixels"));
    for broken in [b"\x89PNG\r\n\x1a\nrest".as_slice(), b"GIF89a", b"\xff\xd8\xff\xe0\xff\xff", b"RIFF....WEBPVP8X"] {
        bench.put("broken", broken);
        assert!(bench.error("Read", json!({"file_path": "broken"})).await.contains("not a complete image"));
    }
}

#[tokio::test]
async fn a_picture_is_a_picture_and_a_binary_is_named() {
    let bench = Bench::new();
    let png = png(3, 2);
    bench.put("a.txt", &png);
    let output = bench.run("Read", json!({"file_path": "a.txt"})).await;
    assert_eq!(output.summary, format!("image/png, 3×2, {} bytes", png.len()));
    let ResultPart::Image { media_type, data } = &output.content[1] else { panic!("{output:?}") };
    assert!(media_type == "image/png" && data.starts_with("iVBORw0KGgoAAAANSUhEUgAAAAMAAAAC"), "{data}");

    // What cannot be decoded is made no smaller.
    bench.put("b.png", [&png[..24], &vec![0; 4_000_000]].concat());
    assert!(bench.error("Read", json!({"file_path": "b.png"})).await.contains("image of 4.0 MB; the limit is 3.9 MB"));
    bench.put("d", b"a\0b");
    assert!(bench.error("Read", json!({"file_path": "d"})).await.contains("a binary file"));
}

#[tokio::test]
async fn a_file_of_10_gb_is_neither_loaded_nor_counted() {
    let bench = Bench::new();
    let path = bench.put("big", "first\n".repeat(3_000));
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(10 << 30).unwrap();
    let shown = bench.text("Read", json!({"file_path": "big", "limit": 2})).await;
    assert!(shown.starts_with("     1\tfirst\n     2\tfirst\n[Lines 1–2 of more than 3,00"), "{shown}");
}

#[tokio::test]
async fn what_is_no_regular_file_is_never_opened() {
    let bench = Bench::new();
    let status = std::process::Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap();
    assert!(status.success());
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    for (name, word) in [("pipe", "named pipe"), ("socket", "a socket"), ("/dev/zero", "a device"), (".", "folder")] {
        let words = bench.error("Read", json!({"file_path": name})).await;
        assert!(words.contains(word), "{words}");
        let words = bench.error("Write", json!({"file_path": name, "content": "x"})).await;
        assert!(words.contains(word), "{words}");
    }
    assert!(bench.error("Grep", json!({"pattern": "x", "path": "pipe"})).await.contains("named pipe"));
    assert!(bench.error("Read", json!({"file_path": "gone"})).await.contains("gone does not exist"));
    assert!(bench.error("Read", json!({"file_path": ""})).await.contains("empty"));
    assert!(bench.error("Read", json!({"file_path": "a\0b"})).await.contains("NUL"));
}

#[tokio::test]
async fn a_link_is_judged_by_where_it_leads() {
    let bench = Bench::new();
    std::fs::write(bench.outside("secret"), "key").unwrap();
    symlink(bench.outside("secret"), bench.path("innocent")).unwrap();
    symlink("..", bench.path("up")).unwrap();
    symlink(bench.outside("not-there-yet"), bench.path("dangling")).unwrap();
    symlink("loop", bench.path("loop")).unwrap();
    for (tool, name, target) in [
        ("Read", "innocent", "secret"),
        ("Read", "up/secret", "secret"),
        ("Read", "./src/../../secret", "secret"),
        ("Write", "dangling", "not-there-yet"),
        ("Write", "up/new/file", "new/file"),
    ] {
        let input =
            if tool == "Read" { json!({"file_path": name}) } else { json!({"file_path": name, "content": "x"}) };
        let plan = bench.plan(tool, input).await;
        let path = plan.as_ref().map_or_else(|failed| panic!("{}", text_of(failed)), path_of);
        assert_eq!(path, bench.outside(target), "{name}");
    }
    for (tool, input, target) in [
        ("Glob", json!({"pattern": "up/*"}), ""),
        ("Glob", json!({"pattern": "../**/x"}), ""),
        ("Grep", json!({"pattern": "x", "path": "up"}), ""),
        ("LS", json!({"path": "up"}), ""),
    ] {
        let plan = bench.plan(tool, input).await.unwrap();
        assert_eq!(path_of(&plan), bench.outside(target).components().collect::<std::path::PathBuf>());
    }
    assert!(bench.error("Read", json!({"file_path": "loop"})).await.contains("loop"));
}

#[tokio::test]
async fn reading_a_text_is_remembered_and_a_failed_reading_is_not() {
    let bench = Bench::new();
    let text = bench.put("a", "x\n");
    let binary = bench.put("b", b"\0");
    bench.run("Read", json!({"file_path": "a"})).await;
    bench.run("Read", json!({"file_path": "b"})).await;
    let knowledge =
        |path: &std::path::Path| bench.context.freshness.knowledge(path, Stamp::of(&std::fs::metadata(path).unwrap()));
    assert_eq!(knowledge(&text), Knowledge::Fresh);
    assert_eq!(knowledge(&binary), Knowledge::Unread(None));
}

#[tokio::test]
async fn a_cancelled_agent_starts_nothing() {
    let bench = Bench::new();
    bench.put("a", "x\n");
    bench.context.cancel.cancel();
    for (tool, input) in [
        ("Read", json!({"file_path": "a"})),
        ("Write", json!({"file_path": "b", "content": "x"})),
        ("Bash", json!({"command": "touch c"})),
        ("Glob", json!({"pattern": "*"})),
        ("Grep", json!({"pattern": "x"})),
        ("LS", json!({})),
    ] {
        assert_eq!(bench.error(tool, input).await, "interrupted");
    }
    assert!(!bench.path("b").exists() && !bench.path("c").exists());
}
