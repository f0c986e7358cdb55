//! Text: what can be told of words, paths and source lines by their looks alone.
//!
//! Owns cutting and splitting text. Leaves paths to `paths`, the words of a request to `terms`. Invariant: nothing here knows of tools, conversations or agents.

pub(crate) mod paths;
pub(crate) mod terms;

/// Returns the first sentence of a text, at most `limit` characters long.
pub(crate) fn sentence(text: &str, limit: usize) -> String {
    let end = text.match_indices(". ").map(|(at, _)| at).find(|at| {
        let word = text[..*at].rsplit(' ').next().unwrap_or_default();
        !matches!(word, "e.g" | "i.e" | "etc" | "vs" | "cf")
    });
    let text = end.map_or(text, |at| &text[..at]).trim().trim_end_matches('.');
    clip(text, limit)
}

/// Cuts a text at a number of characters, marking the cut.
pub(crate) fn clip(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let head: String = text.chars().take(limit.saturating_sub(1)).collect();
    format!("{}…", head.trim_end())
}

/// Returns `true` if a list, with blanks between its words, has the word.
pub(crate) fn lists(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// Returns `true` if a text contains one of the phrases, which have bars between them.
pub(crate) fn contains_any(text: &str, phrases: &str) -> bool {
    phrases.split('|').any(|phrase| text.contains(phrase))
}

/// Splits an identifier, path or line into its parts, in lower case: `parseHTTPConfig` gives parse, http, config.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let mut marked = String::new();
    let mut signs = text.chars().peekable();
    let mut previous = ' ';
    while let Some(sign) = signs.next() {
        let after_small = previous.is_lowercase() || previous.is_ascii_digit();
        let before_small = previous.is_uppercase() && signs.peek().is_some_and(|next| next.is_lowercase());
        if !sign.is_alphanumeric() || sign.is_uppercase() && (after_small || before_small) {
            marked.push(' ');
        }
        if sign.is_alphanumeric() {
            marked.extend(sign.to_lowercase());
        }
        previous = sign;
    }
    marked.split(' ').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Removes a beginning without regard to ASCII case.
pub(crate) fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}
