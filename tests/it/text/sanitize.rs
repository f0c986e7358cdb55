//! Hostile text comes out harmless and readable.

use belvedere::message::{reveal, sanitize, sanitize_line, shown_name};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

#[test]
fn escape_sequences_leave_nothing_behind() {
    for (hostile, safe) in [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mrgb\x1b[K", "rgb"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://x.y\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1;2|data\x1b\\after", "after"),
        ("\x1b_app\x1b\\after", "after"),
        ("\u{9b}31mred", "red"),
        ("\x1b(Bcharset", "charset"),
        ("\x1bcreset", "reset"),
        ("\x1b", "␛"),
        ("bell\x07 nul\0", "bell nul"),
        ("bo\x08old", "bold"),
    ] {
        assert_eq!(sanitize(hostile), safe, "{hostile:?}");
    }
}

#[test]
fn an_unterminated_sequence_swallows_nothing_that_can_be_read() {
    assert_eq!(sanitize("\x1b]0;never ends\nnext line"), "0;never ends\nnext line");
    assert_eq!(sanitize("\x1bPabc"), "abc");
    assert_eq!(sanitize("\x1b[31"), "");
}

#[test]
fn a_carriage_return_hides_nothing() {
    assert_eq!(sanitize("a\r\nb\r\n"), "a\nb\n");
    assert_eq!(sanitize("10 %\r50 %\r100 %\nnext"), "10 %\n50 %\n100 %\nnext");
    assert_eq!(sanitize("touch x #\rls -la"), "touch x #\nls -la");
    assert_eq!(sanitize("50 %\r\r"), "50 %");
    assert_eq!(sanitize("\r\ra\r\r\rb"), "a\nb");
    assert_eq!(sanitize(&format!("a{}b", "\r".repeat(1 << 20))), "a\nb", "and not in quadratic time");
}

#[test]
fn marks_do_not_heap_up() {
    let heap = format!("z{}y", "\u{301}".repeat(200_000));
    assert_eq!(sanitize(&heap), format!("z{}y", "\u{301}".repeat(16)));
    assert_eq!(
        reveal(&heap).chars().filter(|c| *c == '⍰').count(),
        200_000 - 16,
        "none is taken out of what is judged"
    );
    for word in ["Việt Nam", "שָׁלוֹם", "สวัสดี", "हिन्दी", "e\u{301}\u{302}\u{303}"] {
        assert_eq!((sanitize(word), reveal(word)), (word.into(), word.into()));
    }
}

#[test]
fn what_is_judged_shows_what_hides_and_what_poses() {
    for (hostile, shown) in [
        ("touch x #\rls", "touch x #␍ls"),
        ("touch x #\u{8}\u{8}ls", "touch x #␈␈ls"),
        ("\u{1b}]0;x\u{7}\u{1b}P1\u{1b}\\\u{9b}31m\u{9d}y\u{9c}", "␛]0;x␇␛P1␛\\⍰31m⍰y⍰"),
        ("src/ma\u{200b}in.rs", "src/ma⍰in.rs"),
        ("r\u{435}viewer", "r⍰viewer"),
        ("\u{441}at \u{410}\u{412}\u{421}", "⍰at ⍰⍰⍰"),
        ("\u{440}\u{430}\u{441}\u{441}", "⍰⍰⍰⍰"),
        ("\u{391}pple \u{212a}ode", "⍰pple ⍰ode"),
        ("a\u{2800}b\u{3000}c\u{a0}d\u{2009}e", "a⍰b⍰c⍰d⍰e"),
        ("a\u{2215}b\u{2024}c\u{37e}d", "a⍰b⍰c⍰d"),
        ("rm\u{fe0f}", "rm⍰"),
    ] {
        assert_eq!(reveal(hostile), shown, "{hostile:?}");
    }
    for honest in [
        "git commit -m 'с новой строки'",
        "μs Δx λ-calculus",
        "naïve café",
        "设置 の 한국어",
        "src/Größe.rs",
        "❤️ 1️⃣ 👍🏽",
    ] {
        assert_eq!(reveal(honest), honest);
    }
}

#[test]
fn a_name_passes_for_nothing_else() {
    for (name, shown) in [
        ("explore-1", "explore-1"),
        ("设置-2", "设置-2"),
        ("you: y", "“you: y”"),
        ("main › you", "“main ' you”"),
        ("r\u{435}viewer-1", "“r⍰viewer-1”"),
        ("", "“”"),
    ] {
        assert_eq!(shown_name(name), shown);
    }
    assert_eq!(shown_name(&"a".repeat(500)).chars().count(), 43);
}

#[test]
fn reordering_shows_and_hidden_text_goes() {
    assert_eq!(sanitize("a\u{202e}b\u{2066}c"), "a⍰b⍰c");
    assert_eq!(sanitize("pass\u{200b}word\u{feff}"), "password");
    assert_eq!(sanitize("x\u{e0041}\u{e0042}"), "x");
    assert_eq!(sanitize("a\u{200d}b"), "ab");
}

#[test]
fn emoji_stay_whole() {
    for emoji in ["👩‍👩‍👧‍👦", "❤️", "👍🏽", "🏳️‍🌈", "👩🏽‍💻"] {
        assert_eq!(sanitize(emoji), emoji);
    }
}

#[test]
fn one_line_stays_one_line() {
    assert_eq!(sanitize_line("a\n\tb\n"), "a ⏎  b");
    assert_eq!(sanitize_line("clean"), "clean");
}

#[test]
fn a_megabyte_of_introducers_is_linear() {
    // Quadratic work on this would not end within the life of the test run.
    let hostile = "\x1b]".repeat(1 << 20);
    assert_eq!(sanitize(&hostile), "");
}

proptest! {
    #[test]
    fn no_control_character_survives(text in "([a-z \t\r\n\u{1b}\\[\\]0-9;m\u{7}\\\\P_(\u{9b}\u{9c}\u{200d}\u{202e}👩💻]|\\PC){0,60}") {
        let clean = sanitize(&text);
        prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{clean:?}");
        prop_assert_eq!(sanitize(&clean), clean.as_ref());
        let by_line: Vec<String> = text.split('\n').map(|line| sanitize(line).into_owned()).collect();
        prop_assert_eq!(by_line.join("\n"), clean.as_ref());
        prop_assert!(!sanitize_line(&text).contains('\n'));
    }
}

#[test]
fn a_sign_carries_no_more_marks_than_a_cell_can_show() {
    let marks = |count| "\u{301}".repeat(count);
    let families = |count| "👩\u{200d}".repeat(count) + "👦";
    assert_eq!(sanitize(&format!("a{}b", marks(200_000))), format!("a{}b", marks(16)));
    assert_eq!(sanitize(&format!("a{}b{}", marks(16), marks(16))), format!("a{}b{}", marks(16), marks(16)));
    assert_eq!(sanitize(&families(3)), families(3));
    for hostile in
        [families(50_000), "👍\u{fe0f}".to_owned() + &"\u{fe0f}".repeat(50_000), "\u{1160}\u{0e49}".repeat(20_000)]
    {
        let shown = sanitize(&hostile);
        let longest = shown.graphemes(true).map(str::len).max().unwrap();
        assert!(longest <= 200, "{longest} bytes in one cell");
    }
    // What has to be judged shows that there is more.
    assert_eq!(reveal(&format!("a{}b", marks(18))), format!("a{}⍰⍰b", marks(16)));
}

#[test]
fn nothing_between_two_marks_hides_how_many_there_are() {
    let marks = |count| "\u{301}".repeat(count);
    let heap = format!("z{}", marks(16));
    for between in ["\u{5}", "\u{1b}[0m", "x\u{8}", "\u{1b}]0;t\u{7}", "\u{7f}"] {
        let hostile = format!("z{}", format!("{}{between}", marks(16)).repeat(50));
        assert_eq!(sanitize(&hostile), heap, "{between:?}");
    }
    // A joiner whose other half is taken back joins nothing.
    assert_eq!(sanitize("👩\u{200d}👧\u{8}x"), "👩x");
    assert_eq!(sanitize("👩\u{200d}\u{5}👧"), "👩\u{200d}👧");
}

#[test]
fn what_unicode_calls_invisible_is_neither_shown_nor_overlooked() {
    for invisible in ['\u{1D173}', '\u{1D17A}', '\u{1BCA0}', '\u{FFF0}', '\u{FFF8}', '\u{E0FFF}'] {
        let hostile = format!("a{invisible}b");
        assert_eq!((&*sanitize(&hostile), &*reveal(&hostile)), ("ab", "a⍰b"), "{invisible:?}");
    }
}
