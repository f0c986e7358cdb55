//! Lines that give something a value that is written out: defaults, limits, names of environment variables.
//!
//! Owns telling such lines from others and their order. Leaves words to `query_words`. Invariant: a line is shown as it
//! stands, and only lines with a word of the query are.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::doc::bounded;
use super::index::{IndexedFile, IndexedFiles, text_of};
use super::query_words::QueryWords;
use super::rank::is_in_tests;
use super::standing::Standing;
use super::terms::{TermReader, terms_of};
use super::uses::{MAX_LINES, enclosing};
use super::word_counts::real;
use crate::tool::search::walk::Watch;

/// What a word counts for by where it stands: in the name that gets the value, elsewhere on the line, in the name of the
/// file, in that of the definition around it, in the lines above.
const IN_LEFT: f32 = 1.0;
const ON_LINE: f32 = 0.7;
const IN_FILE_NAME: f32 = 0.6;
const AROUND: f32 = 0.5;
const ABOVE: f32 = 0.35;
/// Lines above that may say what the value is for.
const LINES_ABOVE: usize = 3;
/// The same where the name of the value says only that it is a default or a limit, as in a table of options.
const ABOVE_ENTRY: f32 = 0.7;
const LINES_OF_ENTRY: usize = 8;
/// What a name counts for that stands on the line as the query writes it.
const VERBATIM: f32 = 3.0;
/// Longer lines hold data.
const MAX_LINE_BYTES: usize = 240;

/// A line that states a value.
pub(super) struct StatedValue {
    pub(super) file: usize,
    pub(super) line: u32,
    /// The definition that it is, or the one around it.
    pub(super) symbol: Option<usize>,
    pub(super) text: String,
    score: f32,
}

/// What is known of a line before it is compared with others: for each word of the query how much of it is there.
struct Candidate {
    value: StatedValue,
    fits: Vec<f32>,
    /// What its form counts for.
    form: f32,
}

/// What kind of value a query asks for.
struct WantedValue {
    /// Names in the query that no word of prose is, such as `escape-time`.
    names: Vec<String>,
    /// What reads variables of the environment, where one is asked for.
    reads: Option<&'static Regex>,
    number: bool,
    most: bool,
    default: bool,
}

impl WantedValue {
    fn of(query: &str) -> Self {
        let lower = query.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        let most =
            has(&["maxim", "most", "limit", "biggest", "largest", "how many", "how long", "how deep", "how large"]);
        let is_name = |word: &&str| {
            let inner = word.trim_matches(|sign: char| !sign.is_alphanumeric());
            inner.contains(['-', '_', '.']) || inner.len() > 2 && inner.chars().all(|sign| sign.is_ascii_uppercase())
        };
        let bare = |word: &str| word.trim_matches(|sign: char| !sign.is_alphanumeric()).to_owned();
        Self {
            names: query.split_whitespace().filter(is_name).map(bare).collect(),
            number: most || has(&["how ", "port", "second", "timeout", "size", "minim", "number of"]),
            reads: READS_ENVIRONMENT.as_ref().filter(|_| has(&["environment", "env var"])),
            most,
            default: has(&["default"]),
        }
    }

    /// Returns `true` for a line that names what it sets only as a default or a limit.
    fn is_entry(&self, line: &str) -> bool {
        let Some(at) = line.find(['=', ':', '(']).filter(|_| self.default || self.most) else { return false };
        let name = line[..at].to_lowercase();
        self.default && name.contains("default") || self.most && ["max", "limit"].iter().any(|word| name.contains(word))
    }
}

/// Modifiers, a name, perhaps a type, and a value that is a literal or a call with one.
static STATES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r#"^(?:\{\s*)?(?P<left>(?:#define\s+\w+|(?:pub(?:\(\w+\))?\s+)?[\w\s.$@"'&<>\[\]*/-]{1,70}?(?::\s[\w&<>'\[\]\s*?,;]+?)?\s*(?:=>|:=|=|:)))\s*(?P<right>\(?\s*(?:-?\d|["'`]|\[|&\[|%w|(?:new )?[\w:.]+\(\s*["'\d]).*)$"#;
    Regex::new(pattern).ok()
});
static READS_ENVIRONMENT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)getenv|environ|\benv[\[({.:]|env::var|lookupenv").ok());

/// What the lines of comments begin with.
const COMMENT_SIGNS: [char; 4] = ['*', '#', '/', '-'];

/// A comment that says what a default is.
static SAYS: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)^[/*#-].*\b(default (value )?is|defaults to|by default|default:)").ok());

/// What words say how a value is asked for, and stand in none.
const ASKING: &str = "default maximum most long many much large big deep value environment variable biggest largest often \
    wide number times may";

/// What is asked for.
pub(super) struct ValueQuery {
    wanted: WantedValue,
    words: QueryWords,
}

impl ValueQuery {
    pub(super) fn new(query: &str) -> Self {
        let wanted = WantedValue::of(query);
        // The name of a variable may have the word, as in `SHOP_DEFAULT_OPTIONS`.
        let asking = ASKING.split(' ').filter(|word| wanted.reads.is_none() || *word != "default");
        let asking: HashSet<u32> = asking.flat_map(terms_of).collect();
        Self { words: QueryWords::without(query, &asking), wanted }
    }
}

/// Returns the lines that state a value for words of a query, the best first.
pub(super) fn values(indexed: &IndexedFiles, query: &ValueQuery, project: &Path, watch: &Watch) -> Vec<StatedValue> {
    let ValueQuery { wanted, words } = query;
    let standings: Vec<Standing> = indexed.standings(project);
    let found = indexed.scan(Some(watch), MAX_LINES, |reader, at, path, file| {
        if standings[at].is_test { Vec::new() } else { in_file(at, path, file, words, wanted, reader) }
    });
    let count = words.all().len();
    let with = |word: usize| found.iter().filter(|one| one.fits[word] >= AROUND).count();
    let rarities: Vec<f32> =
        (0..count).map(|word| real(found.len() + 1) / real(with(word) + 1) + 1.0).map(f32::ln).collect();
    let mut values: Vec<StatedValue> = found
        .into_iter()
        .map(|one| {
            let told: f32 = one.fits.iter().zip(&rarities).map(|(fit, rarity)| fit * rarity).sum();
            let standing = standings[one.value.file].of_all.max(0.6);
            StatedValue { score: told * one.form * standing, ..one.value }
        })
        .collect();
    values.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (a.file, a.line).cmp(&(b.file, b.line))));
    values
}

fn in_file(
    number: usize,
    path: &Path,
    file: &IndexedFile,
    words: &QueryWords,
    wanted: &WantedValue,
    reader: &mut TermReader,
) -> Vec<Candidate> {
    let (Some(states), Some(says)) = (STATES.as_ref(), SAYS.as_ref()) else { return Vec::new() };
    let Some((text, _)) = text_of(path) else { return Vec::new() };
    let mut ids_of = |text: &str| -> Vec<usize> {
        let mut ids = Vec::new();
        reader.read(text, |term| ids.extend(words.id(term)));
        ids
    };
    let in_name = ids_of(&path.file_name().unwrap_or_default().to_string_lossy());
    let even = vec![1.0; words.ids()];
    let lines: Vec<&str> = text.split('\n').collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.len() <= MAX_LINE_BYTES) {
        let trimmed = line.trim();
        // Most lines are told by one look at their form, others by their words; a pattern takes longest to say so.
        let (may_state, may_say) = (may_state(trimmed), wanted.default && trimmed.starts_with(COMMENT_SIGNS));
        if !may_state && !may_say && wanted.reads.is_none() {
            continue;
        }
        let on_line = ids_of(trimmed);
        let is_entry = wanted.is_entry(trimmed);
        if on_line.is_empty() && !is_entry {
            continue;
        }
        let is_stated = may_state && states.is_match(trimmed);
        let is_read = wanted.reads.is_some_and(|reads| reads.is_match(trimmed));
        let is_said = may_say && says.is_match(trimmed);
        if !is_stated && !is_read && !is_said {
            continue;
        }
        let stated = if is_stated { states.captures(trimmed) } else { None };
        let of = |name: &str| stated.as_ref().and_then(|found| found.name(name)).map_or("", |part| part.as_str());
        let (left, right) = (of("left"), of("right"));
        let line_number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let own = file.symbols.iter().position(|symbol| symbol.line == line_number);
        let symbol = own.or_else(|| enclosing(file, line_number));
        if symbol.is_some_and(|symbol| is_in_tests(file, symbol)) {
            continue;
        }
        let in_left = ids_of(left);
        let (reach, above_weight) = if is_entry { (LINES_OF_ENTRY, ABOVE_ENTRY) } else { (LINES_ABOVE, ABOVE) };
        let above = ids_of(&lines[at.saturating_sub(reach)..at].join(" "));
        let around = symbol.map(|symbol| ids_of(&file.symbols[symbol].name)).unwrap_or_default();
        let places: [(&[usize], f32); 5] = [
            (&in_left, IN_LEFT),
            (&on_line, ON_LINE),
            (&in_name, IN_FILE_NAME),
            (&around, AROUND),
            (&above, above_weight),
        ];
        let best = |id: usize| {
            places.iter().filter(|(ids, _)| ids.contains(&id)).map(|(_, weight)| *weight).fold(0.0, f32::max)
        };
        let fits: Vec<f32> = words.all().iter().map(|word| word.best(&even, best)).collect();
        if fits.iter().all(|fit| *fit == 0.0) {
            continue;
        }
        let is_inside = symbol.is_some_and(|symbol| {
            let symbol = &file.symbols[symbol];
            symbol.line != line_number && symbol.kind.is_function()
        });
        let mut form = form(trimmed, left, right, is_read, wanted);
        // What is set on the way is seldom a default; what is handed on as `name: value` may be.
        if is_inside && !is_entry && !is_read && left.ends_with('=') && !trimmed.ends_with(',') {
            form *= 0.6;
        }
        let value = StatedValue { file: number, line: line_number, symbol, text: bounded(line, 200), score: 0.0 };
        found.push(Candidate { value, fits, form });
    }
    found
}

/// Returns `false` for a line that states no value for sure: the pattern takes a hundred times as long to say so.
fn may_state(line: &str) -> bool {
    let bytes = line.as_bytes();
    line.starts_with("#define") || memchr::memchr2_iter(b'=', b':', bytes).any(|at| is_literal(&bytes[at + 1..]))
}

/// Returns `true` if what is behind `=` or `:` begins with a literal, or with a call that takes one.
fn is_literal(text: &[u8]) -> bool {
    let text = text.strip_prefix(b">").unwrap_or(text).trim_ascii_start();
    let text = text.strip_prefix(b"(").unwrap_or(text).trim_ascii_start();
    match text {
        [b'-', next, ..] => next.is_ascii_digit(),
        [b'0'..=b'9' | b'"' | b'\'' | b'`' | b'[', ..] | [b'&', b'[', ..] | [b'%', b'w', ..] => true,
        _ => {
            let text = text.strip_prefix(b"new ").unwrap_or(text);
            let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | 0x80..);
            let name = text.iter().take_while(is_name).count();
            let arguments = text[name..].strip_prefix(b"(").map(<[u8]>::trim_ascii_start);
            name > 0 && matches!(arguments, Some([b'0'..=b'9' | b'"' | b'\'', ..]))
        }
    }
}

/// Returns `true` if a line has a name, and not as a part of a longer one.
fn has_name(line: &str, name: &str) -> bool {
    let is_part = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == '-';
    line.match_indices(name).any(|(at, _)| {
        let after = line[at + name.len()..].chars().next();
        !line[..at].ends_with(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns what the form of a line counts for.
fn form(line: &str, left: &str, right: &str, reads_environment: bool, wanted: &WantedValue) -> f32 {
    let mut form = 1.0;
    let value = right.trim_matches(['(', ')', ';', ',', ' ']);
    // A number may be written as a text, as in a table of options.
    let is_number = value.trim_start_matches(['-', '"', '\'']).starts_with(|sign: char| sign.is_ascii_digit());
    if wanted.number {
        form *= if is_number { 1.5 } else { 0.6 };
    }
    // What something begins with is seldom what it is by default.
    if value.starts_with("0x") {
        form *= 0.3;
    }
    if matches!(value, "0" | "1" | "-1" | "\"\"" | "''" | "[]" | "{}") {
        form *= 0.6;
    }
    let name = left.to_lowercase();
    if wanted.default && name.contains("default")
        || wanted.most && ["max", "limit"].iter().any(|word| name.contains(word))
    {
        form *= 1.4;
    }
    if wanted.reads.is_some() {
        form *= if reads_environment { 2.0 } else { 0.5 };
    }
    if wanted.names.iter().any(|name| has_name(line, name)) {
        form *= VERBATIM;
    }
    if line.starts_with(COMMENT_SIGNS) && !line.starts_with("#define") {
        form *= 0.5;
    }
    form
}
