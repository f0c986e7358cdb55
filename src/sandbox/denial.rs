//! Telling a refusal of the sandbox from other failures.
//!
//! The kernel tells only the program, which says it in words of its own. Owns finding those words. Invariant: what is
//! found is a line of the command's own output, which may be anybody's text.

use super::places::data;

/// How many lines a program may say after the one that tells why it failed.
const LAST_WORDS: usize = 3;

/// A line of a command's output that sounds as if the sandbox had refused something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedLine<'a> {
    pub text: &'a str,
    /// What sounds so, in lower case.
    pub phrase: &'static str,
    /// Whether it is about the network, and not about files.
    pub is_network: bool,
    /// Whether it is among the last words of the output.
    pub is_last: bool,
}

/// Returns the last such line; of those about the network, if there is one.
pub fn refused_line(output: &str) -> Option<RefusedLine<'_>> {
    let refusals = &data().refusals;
    let find = |phrases: &'static [String], is_network| {
        let lines = output.lines().rev().filter(|line| !line.trim().is_empty()).enumerate();
        lines.into_iter().find_map(|(after, text)| {
            let line = text.to_ascii_lowercase();
            let phrase = phrases.iter().find(|phrase| line.contains(phrase.as_str()))?;
            Some(RefusedLine { text: text.trim(), phrase, is_network, is_last: after < LAST_WORDS })
        })
    };
    find(&refusals.network, true).or_else(|| find(&refusals.files, false))
}
