//! Hostile text comes out harmless and readable.

use belvedere::message::{plain, plain_line};
use proptest::prelude::*;

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
        assert_eq!(plain(hostile), safe, "{hostile:?}");
    }
}

#[test]
fn an_unterminated_sequence_swallows_nothing_that_can_be_read() {
    assert_eq!(plain("\x1b]0;never ends\nnext line"), "0;never ends\nnext line");
    assert_eq!(plain("\x1bPabc"), "abc");
    assert_eq!(plain("\x1b[31"), "");
}

#[test]
fn carriage_returns_overwrite_as_a_terminal_does() {
    assert_eq!(plain("a\r\nb\r\n"), "a\nb\n");
    assert_eq!(plain("10 %\r50 %\r100 %\nnext"), "100 %\nnext");
    assert_eq!(plain("50 %\r"), "50 %");
}

#[test]
fn reordering_shows_and_hidden_text_goes() {
    assert_eq!(plain("a\u{202e}b\u{2066}c"), "a⍰b⍰c");
    assert_eq!(plain("pass\u{200b}word\u{feff}"), "password");
    assert_eq!(plain("x\u{e0041}\u{e0042}"), "x");
    assert_eq!(plain("a\u{200d}b"), "ab");
}

#[test]
fn emoji_stay_whole() {
    for emoji in ["👩‍👩‍👧‍👦", "❤️", "👍🏽", "🏳️‍🌈", "👩🏽‍💻"] {
        assert_eq!(plain(emoji), emoji);
    }
}

#[test]
fn one_line_stays_one_line() {
    assert_eq!(plain_line("a\n\tb\n"), "a ⏎  b");
    assert_eq!(plain_line("clean"), "clean");
}

#[test]
fn a_megabyte_of_introducers_is_linear() {
    // Quadratic work on this would not end within the life of the test run.
    let hostile = "\x1b]".repeat(1 << 20);
    assert_eq!(plain(&hostile), "");
}

proptest! {
    #[test]
    fn no_control_character_survives(text in "([a-z \t\r\n\u{1b}\\[\\]0-9;m\u{7}\\\\P_(\u{9b}\u{9c}\u{200d}\u{202e}👩💻]|\\PC){0,60}") {
        let clean = plain(&text);
        prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n' && c != '\t'), "{clean:?}");
        prop_assert_eq!(plain(&clean), clean.as_ref());
        let by_line: Vec<String> = text.split('\n').map(|line| plain(line).into_owned()).collect();
        prop_assert_eq!(by_line.join("\n"), clean.as_ref());
        prop_assert!(!plain_line(&text).contains('\n'));
    }
}
