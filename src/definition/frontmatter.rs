//! The YAML block at the head of an agent file, read strictly or, failing that, piece by piece.
//!
//! Owns cutting the file and the recovery. Leaves the meaning of fields to `load`. One file in twenty of those in
//! circulation is not YAML (a `: ` or a dialogue inside an unquoted description), and its author never noticed because
//! other programs read it all the same. Invariant: a block with a known key in column 0 yields that key.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The fields of a block.
pub(super) type Fields = Map<String, Value>;

/// Keys at which a block that is not YAML is cut. Anything else in column 0 belongs to the text before it.
const KNOWN: [&str; 21] = [
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
];

/// A file cut in two.
pub(super) struct Cut<'a> {
    /// What stands between the rules.
    pub(super) block: &'a str,
    /// Lines of the file before the block.
    pub(super) lines_before: usize,
    /// What follows.
    pub(super) body: &'a str,
}

/// Strips a byte order mark and normalises line ends.
pub(super) fn normalise(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { Cow::Borrowed(text) }
}

/// Cuts a normalised file at the `---` lines around its block. The error says which one is missing, and where.
pub(super) fn cut(text: &str) -> Result<Cut<'_>, (usize, &'static str)> {
    let mut offset = 0;
    let mut opened: Option<(usize, usize)> = None;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        match (opened, line.trim_end()) {
            (None, "") => {}
            (None, "---") => opened = Some((end, index + 1)),
            (None, _) => break,
            (Some((start, lines_before)), "---") => {
                return Ok(Cut { block: &text[start..offset], lines_before, body: &text[end..] });
            }
            (Some(_), _) => {}
        }
        offset = end;
    }
    match opened {
        None => Err((1, "it does not start with a `---` line, so it is not an agent file")),
        Some((_, line)) => Err((line, "the `---` line that ends its frontmatter is missing")),
    }
}

/// What a block says.
pub(super) struct Read {
    /// The fields.
    pub(super) fields: Fields,
    /// Why the block is not YAML (with a line of the block, from 1), if it had to be recovered.
    pub(super) fault: Option<(usize, String)>,
}

/// Reads a block.
pub(super) fn read(block: &str) -> Read {
    match strictly(block) {
        Ok(fields) => Read { fields, fault: None },
        Err(fault) => Read { fields: in_pieces(block), fault: Some(fault) },
    }
}

fn strictly(yaml: &str) -> Result<Fields, (usize, String)> {
    if yaml.trim().is_empty() {
        return Ok(Fields::new());
    }
    serde_saphyr::from_str(yaml).map_err(|fault| {
        let line = fault.location().map_or(1, |place| usize::try_from(place.line()).unwrap_or(1));
        let words = fault.without_snippet().to_string();
        (line, words.lines().next().unwrap_or_default().to_owned())
    })
}

/// Cuts the block at the first occurrence of each known key and reads each piece by itself.
fn in_pieces(block: &str) -> Fields {
    let mut pieces: Vec<(&str, String)> = Vec::new();
    for line in block.split_inclusive('\n') {
        match known_key(line).filter(|key| pieces.iter().all(|(taken, _)| taken != key)) {
            Some(key) => pieces.push((key, line.to_owned())),
            None => {
                if let Some((_, piece)) = pieces.last_mut() {
                    piece.push_str(line);
                }
            }
        }
    }
    pieces.into_iter().map(|(key, piece)| (key.to_owned(), value_of(key, &piece))).collect()
}

fn known_key(line: &str) -> Option<&'static str> {
    let (key, rest) = line.split_once(':')?;
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    KNOWN.into_iter().find(|known| ends && *known == key.trim_end())
}

/// Reads a piece as YAML if that yields its key and nothing else, else as the text it is.
fn value_of(key: &str, piece: &str) -> Value {
    match strictly(piece) {
        Ok(mut fields) if fields.len() == 1 => fields.shift_remove(key).unwrap_or_default(),
        _ => Value::String(raw(piece)),
    }
}

fn raw(piece: &str) -> String {
    let text = piece.split_once(':').map_or("", |(_, text)| text).trim();
    let text = match text.split_once('\n') {
        Some((first, rest)) if matches!(first.trim_end(), "|" | "|-" | "|+" | ">" | ">-" | ">+") => rest,
        _ => text,
    };
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(text).trim().to_owned()
}
