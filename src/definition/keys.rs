//! The names of the fields: which are known, in which spellings, and what an unknown one may be meant to be.
//!
//! Owns the list. Leaves values to `fields`. Invariant: a known key in its right spelling is never taken for another.

/// Keys that are understood. Anything else at the start of a line may belong to the text before it.
const KNOWN: [&str; 24] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "disallowed-tools",
    "disallowed_tools",
    "model",
    "model_name",
    "permissionMode",
    "maxTurns",
    "skills",
    "mcpServers",
    "hooks",
    "memory",
    "background",
    "effort",
    "isolation",
    "color",
    "initialPrompt",
    "forkContext",
    "maxExecutionTimeMs",
    "omitClaudeMd",
    "autoCompactWindow",
    "observer",
];
/// Keys of other programs that only look like a slip of the pen.
const FOREIGN: [&str; 2] = ["mode", "level"];
/// Bytes of the longest key that is compared.
const LONGEST: usize = 32;

/// Fields that are understood but that nothing acts on yet.
pub(super) const IDLE: [&str; 3] = ["skills", "forkContext", "observer"];

/// Returns the right spelling of a known key: case, quotes, `-` and `_` make no difference.
pub(super) fn canonical(written: &str) -> Option<&'static str> {
    let written = written.trim().trim_matches(['"', '\'']).trim();
    if written.len() > LONGEST {
        return None;
    }
    let exact = KNOWN.into_iter().find(|known| *known == written);
    exact.or_else(|| KNOWN.into_iter().find(|known| is_loosely(known, written)))
}

fn is_loosely(known: &str, written: &str) -> bool {
    let letters = |text: &str| -> Vec<u8> { text.bytes().filter(|c| !matches!(c, b'-' | b'_')).collect() };
    known.as_bytes()[0].eq_ignore_ascii_case(&written.bytes().next().unwrap_or_default())
        && letters(known).eq_ignore_ascii_case(&letters(written))
}

/// Returns the key that a line begins with, if it is a known one: as written, and in the right spelling.
pub(super) fn at_start_of(line: &str) -> Option<(&str, &'static str)> {
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '"' | '\'')) {
        return None;
    }
    let colon = line.bytes().take(LONGEST + 4).position(|c| c == b':')?;
    // A path or an address is no field: `name://`, `model::new`.
    let ends = !line[colon + 1..].starts_with([':', '/']);
    let written = &line[..colon];
    canonical(written).filter(|_| ends).map(|known| (written, known))
}

/// Returns `true` if the value is a text of any length.
pub(super) fn is_prose(key: &str) -> bool {
    matches!(key, "description" | "initialPrompt")
}

/// Returns the known key that an unknown one may be meant to be.
pub(super) fn meant(unknown: &str) -> Option<&'static str> {
    if matches!(canonical(&unknown.replace("allowed", "disallowed")), Some("disallowedTools")) {
        return Some("tools");
    }
    if unknown.len() > LONGEST || FOREIGN.contains(&unknown) {
        return None;
    }
    similar::get_close_matches(unknown, &KNOWN, 1, 0.85).first().copied()
}
