//! Whether a refusal says that a request is too long, in whose words it may be.
//!
//! Owns the words of services and the signs in their numbers. Leaves what follows to `agent`. Invariant: a rate, a cap on
//! output, a name or a picture that is too large says nothing of the conversation.

/// The smallest number that can be the size of a conversation.
const LEAST_SIZE: u64 = 500;

/// Returns `true` if a refusal of this kind, with these words in lower case, is about the length of the conversation.
pub(super) fn is_about_length(kind: &str, words: &str) -> bool {
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let is_kind = ["context_length", "exceed_context_size", "max_prompt_tokens", "prompt_too_long", "1261"];
    if is_kind.iter().any(|known| kind.contains(known)) {
        return true;
    }
    let is_other = has(&["per minute", "per min", "per day", "rate limit", "tool_call", "array too long", "nesting"])
        || has(&["image", "picture", "pixel", "pdf", "pages", ".name'", "stop sequence"]);
    // "context deadline exceeded" is a server that waited too long.
    let is_said = has(&["context length", "context window", "context size", "context limit", "context overflow"])
        || has(&["maximum context", "context_length", "n_ctx", "exceeds the maximum number of tokens"])
        || has(&["model token limit", "prompt length", "exceeds max length", "range of input length"])
        || has(&["reduce the length", "payload size exceeds", "maximum model length", "max_model_len"])
        || has(&["input length exceeds", "input tokens exceed", "exceeds the maximum allowed input"])
        || has(&["too long", "too many tokens"])
            && has(&["prompt", "input", "request", "conversation", "message", "token"])
        || is_limited(words);
    is_said && !is_other
}

/// Returns `true` if a size of the input is named together with a smaller one that limits it.
fn is_limited(words: &str) -> bool {
    let has = |list: &[&str]| list.iter().any(|word| words.contains(word));
    let is_about_input = has(&["prompt", "input", "request", "conversation", "message", "context", "sequence"]);
    let is_measured = has(&["token", "length", "context"]);
    let is_bounded = has(&["exceed", "limit", "maximum", "longer than", "larger than", "greater than", "less than"])
        || has(&["more than", "at most", "<=", " > ", "should be [", "allowed"]);
    let mut sizes = numbers(words).into_iter().filter(|number| *number >= LEAST_SIZE);
    let are_two = sizes.next().is_some_and(|first| sizes.any(|other| other != first));
    is_about_input && is_measured && is_bounded && are_two
}

/// Returns the numbers in a text that stand by themselves, and not in a name such as `gpt-5.2`.
pub(super) fn numbers(words: &str) -> Vec<u64> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ',');
    let words = words.split(|c: char| !is_part(c)).map(|word| word.trim_matches([',', '.']));
    words.filter_map(|word| word.replace([',', '_'], "").parse().ok()).collect()
}
