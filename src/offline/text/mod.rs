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

/// Writes a text so that a regular expression takes it literally.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\.+*?()|[]{}^$#&-~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Splits an identifier, path or line into its parts, in lower case: `parseHTTPConfig` gives parse, http, config.
pub(crate) fn parts(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut all = Vec::new();
    let mut part = String::new();
    for (at, c) in chars.iter().enumerate() {
        let previous = at.checked_sub(1).and_then(|at| chars.get(at));
        let next = chars.get(at + 1);
        let boundary = c.is_uppercase()
            && (previous.is_some_and(|p| p.is_lowercase() || p.is_ascii_digit())
                || (previous.is_some_and(|p| p.is_uppercase()) && next.is_some_and(|n| n.is_lowercase())));
        if (boundary || !c.is_alphanumeric()) && !part.is_empty() {
            all.push(std::mem::take(&mut part));
        }
        if c.is_alphanumeric() {
            part.extend(c.to_lowercase());
        }
    }
    if !part.is_empty() {
        all.push(part);
    }
    all
}

/// Removes a beginning without regard to ASCII case.
pub(crate) fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}
