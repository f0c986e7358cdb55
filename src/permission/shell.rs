//! Which shell commands only read the project.
//!
//! A list of what is known to be harmless, not a hunt for what is harmful: anything not understood word for word
//! counts as harmful. Where a path leads, and what a repository's settings run, is judged by who runs the command.

/// Returns `true` if `command` is one simple command that does nothing but read inside the working directory.
///
/// Only git's history queries and directory listings count. Options that write a file, run a program or leave the
/// project are not on the list.
pub fn is_read_only(command: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_./=,:@^~%".contains(c);
    if !command.chars().all(plain) {
        return false;
    }
    let words: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        ["pwd" | "date"] => true,
        ["ls", flags @ ..] => flags.iter().all(|word| is_listing_flag(word)),
        ["git", "--no-pager", sub, rest @ ..] | ["git", sub, rest @ ..] => {
            is_free_query(sub) && rest.iter().all(|w| is_git_word(w))
        }
        _ => false,
    }
}

/// Returns `true` if a word cannot name a place outside the working directory. The shell also puts the home folder in the
/// place of a `~` behind `=` and `:`.
pub(super) fn stays_inside(word: &str) -> bool {
    !word.starts_with(['/', '~'])
        && !["=/", "=~", ":/", ":~"].iter().any(|way_out| word.contains(way_out))
        && word.split(['/', '=', ':']).all(|part| part != "..")
}

/// Paths are no part of it: where a link leads, only the LS tool can tell.
fn is_listing_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|flags| flags.chars().all(|c| "alhrtSRF1".contains(c)))
}

fn is_free_query(sub: &str) -> bool {
    matches!(sub, "log" | "show" | "status" | "shortlog" | "rev-parse" | "rev-list" | "ls-files" | "describe" | "blame")
}

fn is_git_word(word: &str) -> bool {
    #[rustfmt::skip]
    const LONG: [&str; 22] = [
        "--oneline", "--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--no-color",
        "--no-merges", "--no-decorate", "--decorate", "--summary", "--numbered", "--count", "--all", "--short",
        "--branch", "--porcelain", "--abbrev-ref", "--show-toplevel", "--tags", "--reverse", "--follow",
    ];
    #[rustfmt::skip]
    const VALUED: [&str; 9] = [
        "--format=", "--pretty=", "--date=", "--since=", "--until=", "--max-count=", "--diff-filter=", "--grep=",
        "--abbrev=",
    ];
    // Signatures are checked by a program that the repository's configuration names.
    if word.contains("%G") {
        return false;
    }
    if word == "--" || LONG.contains(&word) || VALUED.iter().any(|prefix| word.starts_with(prefix)) {
        return true;
    }
    match word.strip_prefix('-') {
        Some(flag) => {
            matches!(flag, "s" | "n" | "sn" | "sne" | "p" | "i") || flag.trim_start_matches('n').parse::<u32>().is_ok()
        }
        None => stays_inside(word),
    }
}
