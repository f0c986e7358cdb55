//! Lists as people and models write them.

/// Splits a list where `cuts` says so, but never within brackets: the entries of many a list hold commas of their own.
/// Entries are trimmed, empty ones left out.
pub fn split_list(text: &str, [open, close]: [char; 2], cuts: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let entries = text.split(move |c: char| {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && cuts(c)
    });
    entries.map(str::trim).filter(|entry| !entry.is_empty())
}
