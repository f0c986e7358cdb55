//! Addresses in a text, and where a label may lead.
//!
//! Owns what counts as an address, and which targets of a label are refused. Leaves cells to the module above.
//! Invariants: a target is an address of the web or of a mailbox without anything that could hide in it; a label that
//! reads like an address leads there or nowhere.

use std::net::Ipv4Addr;
use std::ops::Range;
use std::sync::Arc;

use memchr::memmem;

use crate::message::sanitize;

pub(in crate::tui::view) type Target = Arc<str>;

/// What an address in a text begins with.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// Longest address that is a link, in bytes.
pub(super) const LONGEST: usize = 2_000;
/// Ends of names of files that are no ends of domains.
const FILE_ENDS: [&str; 14] =
    ["c", "css", "h", "html", "js", "json", "lock", "toml", "ts", "tsx", "txt", "xml", "yaml", "yml"];
/// Signs that are read as a dot.
const DOTS: [char; 5] = ['.', '。', '．', '｡', '․'];

/// Returns `true` if an address may hold a byte.
pub(super) fn is_sign(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"<>\"`{}|\\^".contains(&byte)
}

/// Returns `true` if a text begins with an address.
pub(super) fn begins(text: &str) -> bool {
    SCHEMES.iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
}

/// Returns an address without the signs of the sentence around it.
pub(super) fn trimmed(text: &str) -> &str {
    let mut url = text;
    // How many brackets close more than was opened; counted once, so that a row of them costs no more than its length.
    let count = |sign: u8| url.bytes().filter(|byte| *byte == sign).count();
    let mut excess = count(b')').saturating_sub(count(b'('));
    loop {
        match url.strip_suffix(['.', ',', ':', ';', '!', '?', '\'', '*', '_', ']']) {
            Some(shorter) => url = shorter,
            None if excess > 0 && url.ends_with(')') => {
                url = &url[..url.len() - 1];
                excess -= 1;
            }
            None => return url,
        }
    }
}

pub(in crate::tui::view) fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memmem::find_iter(text.as_bytes(), "http") {
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let end = text[at..].bytes().position(|byte| !is_sign(byte)).map_or(text.len(), |length| at + length);
        let url = trimmed(&text[at..end]);
        if begins(&text[at..end]) && url.len() <= LONGEST {
            found.push(at..at + url.len());
        }
    }
    found
}

/// Returns where a label leads if a terminal may get it.
pub(in crate::tui::view) fn target_of(target: &str, label: &str) -> Option<Target> {
    let hidden = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if target.len() > LONGEST || target.contains(hidden) || sanitize(target) != target {
        return None;
    }
    let (scheme, rest) = target.split_once(':')?;
    let valid = match scheme.to_ascii_lowercase().as_str() {
        "https" | "http" => host(rest.strip_prefix("//")?).is_some(),
        // More than an address could fill in a letter.
        "mailto" => !rest.is_empty() && rest.is_ascii() && !rest.contains('?'),
        _ => false,
    };
    (valid && (says(label, target) || !claims_other(label, target))).then(|| Arc::from(target))
}

/// Returns `true` if a label is the address itself.
pub(in crate::tui::view) fn says(label: &str, target: &str) -> bool {
    let bare = |text: &str| text.strip_suffix('/').unwrap_or(text).len();
    let same = |target: &str| label[..bare(label)] == target[..bare(target)];
    same(target) || ["https://", "mailto:"].iter().any(|scheme| target.strip_prefix(scheme).is_some_and(same))
}

/// Returns the host of what follows `//`; names with signs beyond ASCII look like others too easily.
fn host(rest: &str) -> Option<&str> {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    (!host.is_empty() && authority.is_ascii()).then_some(host)
}

/// Returns `true` if a label reads like an address that is not on the target's host.
fn claims_other(label: &str, target: &str) -> bool {
    if label.contains("://") {
        return true;
    }
    let own = target.split_once("//").and_then(|(_, rest)| host(rest)).unwrap_or_default();
    let own = own.split(':').next().unwrap_or_default().to_lowercase();
    let bare = |name: &str| name.strip_prefix("www.").unwrap_or(name).to_owned();
    label.split(|c: char| !(c.is_alphanumeric() || c == '-' || DOTS.contains(&c))).any(|word| {
        let word = word.trim_matches(DOTS).to_lowercase().replace(DOTS, ".");
        let end = word.rsplit_once('.').map_or("", |(_, end)| end);
        let domain = end.chars().count() > 1 && end.chars().all(char::is_alphabetic) && !FILE_ENDS.contains(&end);
        let machine = word == "localhost" || word.parse::<Ipv4Addr>().is_ok();
        (domain || machine) && bare(&word) != bare(&own)
    })
}
