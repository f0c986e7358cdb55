//! Scripts of sed that do nothing but print, leave out and replace text.
//!
//! Owns the small part of its language that is known to be harmless. Invariant: a script that is not understood to its
//! end counts as one that runs commands or writes files.

/// Returns `true` if what follows the `granted` words of sed keeps it to standard output. Scripts that were granted
/// themselves are not judged.
pub(super) fn is_harmless(granted: &[&str], rest: &[&str]) -> bool {
    let words = granted.iter().map(|word| (*word, true)).chain(rest.iter().map(|word| (*word, false)));
    let (mut has_script, mut is_next) = (false, false);
    for (word, is_granted) in words {
        let options = word.strip_prefix('-').filter(|letters| !letters.is_empty());
        if std::mem::take(&mut is_next) || (options.is_none() && !has_script) {
            if !is_granted && !is_known_script(word) {
                return false;
            }
            has_script = true;
        } else if let Some(letters) = options {
            let flags = letters.strip_suffix('e').unwrap_or(letters);
            is_next = letters.ends_with('e') && !letters.starts_with('-');
            if !is_granted && !flags.chars().all(|c| "nErsuz".contains(c)) {
                return false;
            }
            has_script |= is_granted && ["f", "-file", "-expression"].iter().any(|own| letters.starts_with(own));
        }
    }
    has_script && !is_next
}

fn is_known_script(script: &str) -> bool {
    script.split(';').all(|command| is_known_command(command).is_some())
}

/// Reads one command: `[address[,address]][!]` and `p`, `d`, `q`, `=` or `s/…/…/`.
fn is_known_command(text: &str) -> Option<()> {
    let text = text.trim_matches(' ');
    let mut rest = text;
    if let Some(after) = after_address(text)? {
        rest = after.trim_start();
        if let Some(second) = rest.strip_prefix(',') {
            rest = after_address(second.trim_start())??.trim_start();
        }
    }
    let rest = rest.strip_prefix('!').unwrap_or(rest).trim_start();
    match rest.strip_prefix("s/") {
        Some(replacement) => {
            let (pattern, rest) = replacement.split_once('/')?;
            let (_, flags) = rest.split_once('/')?;
            (is_plain_pattern(pattern) && flags.chars().all(|c| "gIip".contains(c) || c.is_ascii_digit())).then_some(())
        }
        None => matches!(rest, "p" | "d" | "q" | "=").then_some(()),
    }
}

/// Returns what follows an address, if the text begins with one; fails where the address is not understood.
#[allow(clippy::option_option, reason = "an odd address is another case than none")]
fn after_address(text: &str) -> Option<Option<&str>> {
    if let Some(after) = text.strip_prefix('$') {
        return Some(Some(after));
    }
    if let Some(pattern) = text.strip_prefix('/') {
        let (pattern, after) = pattern.split_once('/')?;
        let after = after.strip_prefix('I').unwrap_or(after);
        return is_plain_pattern(pattern).then_some(Some(after));
    }
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    Some((after.len() < text.len()).then_some(after))
}

/// Returns `true` if every sed agrees on where the pattern ends: no escapes, and no brackets around a slash.
fn is_plain_pattern(pattern: &str) -> bool {
    let opens = pattern.rfind('[');
    !pattern.contains(['\\', '\n'])
        && !["[]", "[^]", "[:", "[.", "[="].iter().any(|odd| pattern.contains(odd))
        && opens.is_none_or(|at| pattern[at..].contains(']'))
}
