//! Numbers, durations and long texts on a line.
//!
//! Pure. Owns every spelling of them that is needed in more than one place. Invariant: a number is never rounded to
//! nothing.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use ring::digest::{SHA256, digest};

/// Writes a number with a comma between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a count with its noun: `1 line`, `2 lines`.
pub fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number as u64))
}

/// Writes the words of a text on one line of at most `max` characters, and `…` where it is cut.
pub fn words_of(text: &str, max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    let mut line = words.collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(max) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

/// Writes added and removed lines as `+9 −2`.
pub fn line_changes(added: usize, removed: usize) -> String {
    format!("+{added} −{removed}")
}

/// Writes a count of tokens in at most five columns.
pub fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..99_950 => format!("{}.{}k", count / 1000, count % 1000 / 100),
        99_950..999_500 => format!("{}k", (count + 500) / 1000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Writes a duration as `5.1s`, or `1m04s` from a minute on.
pub fn seconds(ms: u64) -> String {
    let total = ms / 1000;
    if total < 60 { format!("{}.{}s", total, ms % 1000 / 100) } else { format!("{}m{:02}s", total / 60, total % 60) }
}

/// Writes a duration in at most six columns: tenths only below ten seconds.
pub fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{}.{}s", seconds, time.subsec_millis() / 100),
        10..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Writes a running time in whole seconds, which change once a second and not with each frame.
pub fn clock(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        _ => elapsed(time),
    }
}

/// Returns a duration in milliseconds, as events carry it.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a word as a shell would have to be given it: what is shown of a command then means that command alone.
#[must_use]
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-".contains(c) || c == '=' && word.starts_with('-');
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
}

/// Returns the SHA-256 of something, in hexadecimal.
#[must_use]
pub fn sha256_hex(content: &[u8]) -> String {
    digest(&SHA256, content).as_ref().iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
