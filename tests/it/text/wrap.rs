//! Columns: nothing is too wide, nothing gets lost.

use belvedere::tui::view::wrap::{
    TextEnd, end_of, fit, fit_line, pad, pad_left, tail, width, wrap_indented, wrap_line,
};
use proptest::prelude::*;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

fn rows(text: &str, columns: u16) -> Vec<String> {
    wrap_line(&Line::from(text.to_owned()), columns).iter().map(ToString::to_string).collect()
}

#[test]
fn words_stay_whole_where_they_can() {
    assert_eq!(rows("the quick brown fox", 10), ["the quick", "brown fox"]);
    assert_eq!(rows("  indented text here", 10), ["  indented", "text here"]);
    assert_eq!(rows("extraordinarily", 5), ["extra", "ordin", "arily"]);
    assert_eq!(rows("a extraordinarily", 6), ["a", "extrao", "rdinar", "ily"]);
    assert_eq!(rows("", 5), [""]);
}

#[test]
fn wide_characters_and_tabs_keep_columns_straight() {
    assert_eq!(rows("日本語のテキスト", 6), ["日本語", "のテキ", "スト"]);
    assert_eq!(rows("a日本b", 3), ["a日", "本b"]);
    assert_eq!(rows("日本。語", 4), ["日", "本。", "語"]);
    assert_eq!(rows("a\tb", 20), ["a   b"]);
    assert_eq!(rows("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 2), ["👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"]);
}

#[test]
fn a_hanging_indent_stands_before_every_row() {
    let line = Line::from("one two three");
    let wrapped = wrap_indented(&line, 9, &Line::from("1. "), &Line::from("   "));
    let rows: Vec<String> = wrapped.iter().map(ToString::to_string).collect();
    assert_eq!(rows, ["1. one", "   two", "   three"]);
}

#[test]
fn a_word_in_two_styles_is_one_word() {
    let red = Style::new().crossed_out();
    let line = Line::from(vec![Span::raw("aaa bb"), Span::styled("bb", red), Span::raw(" c")]);
    let rows = wrap_line(&line, 5);
    assert_eq!(rows[1].spans[..2], [Span::raw("bb"), Span::styled("bb", red)]);
    assert_eq!(rows[2].to_string(), "c");
}

#[test]
fn cutting_shows_that_something_was_cut() {
    assert_eq!(fit("hello", 5), "hello");
    assert_eq!(fit("hello!", 5), "hell…");
    assert_eq!(fit("日本語", 4), "日…");
    assert_eq!(fit("anything", 0), "");
    assert_eq!(pad("ab", 4), "ab  ");
    assert_eq!(pad_left("ab", 4), "  ab");
    assert_eq!(pad("日本語", 4), "日… ");
    assert_eq!(tail("a日本", 3), "本");
    let line = Line::from(vec![Span::raw("abc"), Span::raw("def")]);
    assert_eq!(fit_line(&line, 6).to_string(), "abcdef");
    assert_eq!(fit_line(&line, 5).to_string(), "abcd…");
    assert_eq!(fit_line(&line, 3).to_string(), "ab…");
}

#[test]
fn ten_thousand_columns_and_none_are_fine() {
    let long = "x".repeat(10_000);
    assert_eq!(rows(&long, 100).len(), 100);
    assert_eq!(rows("abc", 0), ["a", "b", "c"]);
}

proptest! {
    #[test]
    fn rows_fit_and_hold_every_word(text in "[a-z \t日本👍é、]{0,80}", columns in 2_u16..30) {
        let rows = rows(&text, columns);
        for row in &rows {
            prop_assert!(width(row) <= usize::from(columns), "{row:?} is wider than {columns}");
        }
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(letters(&rows.concat()), letters(&text));
    }

    #[test]
    fn cut_text_has_exactly_the_columns_asked_for(text in "[a-z \t日本👍é]{0,40}", columns in 0_usize..30) {
        prop_assert!(width(&fit(&text, columns)) <= columns);
        prop_assert_eq!(width(&pad(&text, columns)), columns);
        let line = Line::from(text.split('b').map(|part| Span::raw(part.to_owned())).collect::<Vec<_>>());
        prop_assert!(width(&fit_line(&line, columns).to_string()) <= columns);
    }
}

#[test]
fn a_row_tells_how_its_line_goes_on() {
    let ends =
        |text: &str, columns| -> Vec<TextEnd> { wrap_line(&Line::raw(text), columns).iter().map(end_of).collect() };
    assert_eq!(ends("one two", 5), [TextEnd::Spaced, TextEnd::Hard]);
    assert_eq!(ends("onetwothree", 5), [TextEnd::Joined, TextEnd::Joined, TextEnd::Hard]);
    assert_eq!(ends("漢字漢字", 5), [TextEnd::Joined, TextEnd::Hard]);
    assert_eq!(ends("one", 5), [TextEnd::Hard]);
    assert_eq!(ends("", 5), [TextEnd::Hard]);
}

#[test]
fn a_line_of_wide_signs_is_wrapped_in_time_that_follows_its_length() {
    // Looking at the rest of the line for each sign, as was done once, takes minutes here.
    for (text, row) in [("中".repeat(200_000), "中".repeat(60)), ("中a".repeat(60_000), "中a".repeat(40))] {
        let wrapped = rows(&text, 120);
        assert_eq!(wrapped[0], row);
        assert_eq!(wrapped.len(), text.chars().count().div_ceil(row.chars().count()));
    }
}
