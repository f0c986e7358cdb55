//! Telling a refusal of the sandbox from other failures.
//!
//! The kernel tells only the program, which says it in words of its own. Owns finding those words. Invariant: what is
//! found is a line of the command's own output, which may be anybody's text.

use super::places::data;

/// Returns the last line of a failed command's output that sounds as if the sandbox had refused something.
pub fn refused_line(output: &str) -> Option<&str> {
    let refusals = &data().refusals;
    let said = |phrases: &[String]| {
        output.lines().rev().find(|line| {
            let line = line.to_ascii_lowercase();
            phrases.iter().any(|phrase| line.contains(phrase.as_str()))
        })
    };
    said(&refusals.network).or_else(|| said(&refusals.files)).map(str::trim)
}
