//! How many output tokens a refusal leaves, as its numbers tell.
//!
//! Owns the reading of numbers in the words of servers. Leaves what follows to `learned`. Invariant: a number is taken only
//! from words about the cap on output, and only if it is smaller than what was asked for.

use super::length::numbers;

/// The least room for a reply that is worth a request: below it, the conversation is too long.
const LEAST_ROOM: u64 = 1_024;
/// Numbers below this are no sizes: the beginning of a range, or a place in a list.
const LEAST_SIZE: u64 = 17;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OutputRoom {
    pub(super) tokens: u32,
    /// Whether it is what the conversation leaves of the context.
    pub(super) depends_on_input: bool,
}

/// Returns how many output tokens a request may ask for that asked for too many; `None` if the refusal, in lower case, is
/// about something else.
pub(super) fn output_room(words: &str, asked: u32) -> Option<OutputRoom> {
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let is_about_output = has(&["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens"])
        || has(&["max_new_tokens", "max output tokens", "output tokens", "completion tokens", "in the completion"]);
    let is_about_size = has(&["too large", "too high", "too big", "at most", "exceed", "greater than", "less than"])
        || has(&["maximum", "range", "<=", " > ", "larger than", "limit"]);
    if !is_about_output || !is_about_size {
        return None;
    }
    let asked = u64::from(asked);
    let mut others: Vec<u64> = numbers(words).into_iter().filter(|n| *n >= LEAST_SIZE && *n != asked).collect();
    others.sort_unstable();
    others.dedup();
    let room = |tokens: u64, depends_on_input: bool| {
        let is_enough = tokens < asked && (!depends_on_input || tokens >= LEAST_ROOM.min(asked / 2));
        let tokens = u32::try_from(tokens).ok().filter(|_| is_enough)?;
        Some(OutputRoom { tokens, depends_on_input })
    };
    if let Some((window, input)) = window_and_input(&others, asked) {
        return room(window - input, true);
    }
    let most = others.into_iter().rev().find(|number| *number < asked)?;
    room(if has(&["(exclusive)"]) && !words.contains(&format!("{most} (inclusive)")) { most - 1 } else { most }, false)
}

/// Returns the size of a context and of the input in it, where two of the numbers are these: together with what was asked
/// for, the input is more than the context.
fn window_and_input(numbers: &[u64], asked: u64) -> Option<(u64, u64)> {
    let is_total = |number: u64| number.checked_sub(asked).is_some_and(|input| numbers.contains(&input));
    let sizes: Vec<u64> = numbers.iter().copied().filter(|number| !is_total(*number)).collect();
    let [.., input, window] = sizes.as_slice() else { return None };
    (input + asked > *window).then_some((*window, *input))
}
