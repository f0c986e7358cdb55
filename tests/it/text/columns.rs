//! How wide text is, and where it is cut.

use belvedere::agent::Status;
use belvedere::app::AgentState;
use belvedere::message::columns::{fit, head, tail, width};

/// One sign on the screen, of seven characters.
const FAMILY: &str = "👨\u{200d}👩\u{200d}👧\u{200d}👦";

#[test]
fn no_sign_of_several_characters_is_split() {
    let text = format!("ab{FAMILY}cd");
    for columns in 0..=width(&text) {
        for part in [fit(&text, columns), head(&text, columns).to_owned(), tail(&text, columns).to_owned()] {
            assert!(width(&part) <= columns, "{part:?} in {columns}");
            assert!(part.contains(FAMILY) || !part.contains('\u{200d}'), "{part:?} in {columns}");
        }
    }
    assert_eq!((fit(&text, width(&text)), fit(&text, 4)), (text.clone(), "ab…".to_owned()));
}

#[test]
fn what_a_tool_works_on_is_cut_between_signs() {
    let state = AgentState::Tool {
        name: "Bash".to_owned(),
        object: format!("echo {FAMILY}{FAMILY}{FAMILY} and more"),
        lasting: std::time::Duration::ZERO,
    };
    for columns in 10..24 {
        let word = state.word_within(columns);
        assert!(width(&word) <= columns && !word.trim_end_matches('…').ends_with('\u{200d}'), "{word:?} in {columns}");
        assert_eq!(word.matches('\u{200d}').count() % 3, 0, "{word:?} in {columns}");
    }
    assert_eq!(AgentState::Ended(Status::WrappedUp).word_within(8), "wrapped");
}
