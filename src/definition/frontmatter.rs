//! The block of fields at the head of an agent file, read strictly or, failing that, piece by piece.
//!
//! Owns YAML and the recovery. Leaves cutting the file to `cut` and the meaning of fields to `fields`. One file in
//! twenty of those in circulation is not YAML (a `: ` or a dialogue inside an unquoted description), and its author
//! never noticed because other programs read it all the same. Invariants: a block with a known key at the start of a
//! line yields that key; and the work is bounded, whatever the block holds.

use serde_json::{Map, Value};

use super::keys::FieldKeys;
use crate::message::sanitize_line;

/// The fields of a block, by [`FieldKeys::canonical`] names where they are known.
pub(super) type Fields = Map<String, Value>;

/// Bytes that are read as YAML at once. Above, nothing is a description any more, and time would be lost on it.
const MAX_YAML: usize = 128 * 1024;
/// Characters of the description of a fault.
const MAX_WORDS: usize = 160;

#[derive(Default)]
pub(super) struct FrontmatterRead {
    pub(super) fields: Fields,
    /// Why the block is not YAML (with a line of the block, from 1), if it had to be recovered.
    pub(super) error: Option<(usize, String)>,
}

pub(super) fn read(block: &str, keys: FieldKeys) -> FrontmatterRead {
    let json = if block.starts_with('{') { serde_json::from_str(block).ok() } else { None };
    match json.map_or_else(|| strictly(block), Ok) {
        Ok(fields) => FrontmatterRead { fields: canonical(fields, keys), error: None },
        Err(error) => FrontmatterRead { fields: recovered(block, keys), error: Some(error) },
    }
}

/// Returns the text of a field as it stands in the block, where YAML makes something else of it than a text.
pub(super) fn raw_text(block: &str, key: &str, keys: FieldKeys) -> Option<String> {
    let piece = pieces(block, Place::Column0, keys).into_iter().find(|(found, _)| *found == key)?.1;
    Some(raw(piece)).filter(|text| !text.is_empty() && !matches!(text.as_str(), "~" | "null"))
}

/// Puts known keys in the place of other spellings of them; the right spelling wins.
pub(super) fn canonical(fields: Fields, keys: FieldKeys) -> Fields {
    if fields.keys().all(|key| keys.canonical(key).is_none_or(|known| known == key)) {
        return fields;
    }
    let (right, other): (Fields, Fields) =
        fields.into_iter().partition(|(key, _)| keys.canonical(key).is_none_or(|known| known == key));
    let mut fields = right;
    for (key, value) in other {
        if let Some(known) = keys.canonical(&key).filter(|known| !fields.contains_key(*known)) {
            fields.insert(known.to_owned(), value);
        }
    }
    fields
}

fn strictly(yaml: &str) -> Result<Fields, (usize, String)> {
    if yaml.trim().is_empty() {
        return Ok(Fields::new());
    }
    if yaml.len() > MAX_YAML {
        return Err((1, format!("longer than {} KiB", MAX_YAML / 1024)));
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 50_000, max_nodes: 20_000, max_aliases: 50, max_anchors: 50, max_merge_keys: 20,
            max_recorded_anchor_events: 1_000, max_recorded_anchor_bytes: 1 << 18, max_total_scalar_bytes: 1 << 20,
            max_depth: 32, flow_nesting_limit: 32, max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 1_000, max_replay_stack_depth: 8, max_alias_expansions_per_anchor: 100,
        },
        // `name: on` is a name.
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
        let line = error.location().map_or(1, |place| usize::try_from(place.line()).unwrap_or(1));
        let words = error.without_snippet().to_string();
        let words = sanitize_line(words.lines().next().unwrap_or_default()).chars().take(MAX_WORDS).collect();
        (line, words)
    })
}

/// Where keys are looked for.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// In the first column, as it should be.
    Column0,
    /// After blanks too, for a block that is indented.
    Anywhere,
}

/// Reads the block piece by piece.
fn recovered(block: &str, keys: FieldKeys) -> Fields {
    let at = |place| -> Fields {
        let pieces = pieces(block, place, keys).into_iter();
        pieces.map(|(key, piece)| (key.to_owned(), value_of(key, piece, keys))).collect()
    };
    let mut fields = at(Place::Column0);
    if !["name", "description"].iter().all(|key| fields.contains_key(*key)) {
        let mut indented = at(Place::Anywhere);
        for (key, value) in fields {
            indented.entry(key).or_insert(value);
        }
        fields = indented;
    }
    for (key, value) in limits(block, keys) {
        fields.entry(key).or_insert(value);
    }
    fields
}

/// Returns what a block that is no YAML says of its limits, wherever in a line and by whatever sign: a wish to restrict that
/// is not understood must not widen.
fn limits(block: &str, keys: FieldKeys) -> Vec<(String, Value)> {
    let lines: Vec<&str> = block.lines().collect();
    let limit = |line: &str| {
        let (word, rest) = FieldKeys::word_of(line)?;
        let known = keys.canonical(word).filter(|known| keys.is_limit(known)).or_else(|| keys.synonym(word));
        let unknown = || (keys.canonical(word).is_none() && keys.may_limit(word)).then(|| word.to_owned());
        known.map(str::to_owned).or_else(unknown).map(|key| (key, rest.to_owned()))
    };
    let is_next = |line: &&str| belongs(line) && keys.at_start_of(line.trim_start()).is_none() && limit(line).is_none();
    let found = lines.iter().enumerate().filter_map(|(at, line)| {
        let (key, rest) = limit(line)?;
        let more = lines[at + 1..].iter().copied().take_while(|line| is_next(line));
        let piece = std::iter::once(format!("{key}: {rest}")).chain(more.map(str::to_owned)).collect::<Vec<_>>();
        let value = value_of(&key, &(piece.join("\n") + "\n"), keys);
        // Nothing at all would be no limit.
        Some((key, if value.is_null() { Value::String(String::new()) } else { value }))
    });
    found.collect()
}

/// Cuts the block at the first occurrence of each known key.
fn pieces(block: &str, place: Place, keys: FieldKeys) -> Vec<(&'static str, &str)> {
    let mut starts: Vec<(&'static str, usize)> = Vec::new();
    let mut offset = 0;
    for line in block.split_inclusive('\n') {
        let indent = if place == Place::Anywhere { line.len() - line.trim_start().len() } else { 0 };
        let key = keys.at_start_of(&line[indent..]).map(|(_, known)| known);
        if let Some(key) = key.filter(|key| starts.iter().all(|(taken, _)| taken != key)) {
            starts.push((key, offset + indent));
        }
        offset += line.len();
    }
    let ends = starts.iter().skip(1).map(|(_, start)| *start).chain([block.len()]);
    starts.iter().zip(ends).map(|((key, start), end)| (*key, &block[*start..end])).collect()
}

/// Reads a piece as YAML if that yields its key and nothing else, else as the text it is. What follows the value of a
/// short field is none of it; what follows a text may well be.
fn value_of(key: &str, piece: &str, keys: FieldKeys) -> Value {
    if let Ok(fields) = strictly(piece)
        && fields.len() == 1
        && let Some((written, value)) = fields.into_iter().next()
        && keys.canonical(&written) == Some(key)
    {
        return value;
    }
    if keys.is_prose(key) {
        return Value::String(raw(piece));
    }
    let own: usize = piece
        .split_inclusive('\n')
        .enumerate()
        .take_while(|(at, line)| *at == 0 || belongs(line))
        .map(|(_, line)| line.len())
        .sum();
    let own = &piece[..own];
    let value = strictly(own).or_else(|_| strictly(&own.replace('\t', "  ")));
    match value.map(|fields| fields.into_iter().next()) {
        Ok(Some((_, value))) => value,
        _ => Value::String(raw(own)),
    }
}

/// Returns `true` if a line goes on with the value before it: it is indented, or an item of a list.
fn belongs(line: &str) -> bool {
    line.starts_with([' ', '\t', '-', ']', '}']) || line.trim().is_empty()
}

fn raw(piece: &str) -> String {
    let text = piece.split_once(':').map_or("", |(_, text)| text).trim();
    let text = match text.split_once('\n') {
        Some((first, rest)) if is_block_mark(first) => rest,
        None if is_block_mark(text) => "",
        _ => text,
    };
    let text = text.trim();
    let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    quoted.unwrap_or(text).trim().to_owned()
}

/// Returns `true` if a value begins as a block does: `|`, `>-`, `|2+` …
fn is_block_mark(first: &str) -> bool {
    let rest = first.trim_end().strip_prefix(['|', '>']);
    rest.is_some_and(|rest| rest.len() <= 2 && rest.chars().all(|c| c == '-' || c == '+' || c.is_ascii_digit()))
}
