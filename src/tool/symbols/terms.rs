//! Words of names and prose as numbers: split at case and underscores, stemmed, hashed.
//!
//! Owns what counts as the same word. Leaves what a word weighs to `rank`. Invariant: text and question go through the
//! same function, so they agree on each word; two words share a number about once in 250 million.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};

use rust_stemmers::{Algorithm, Stemmer};

/// Bits of a term that say where it occurs.
pub(super) const FIELD_BITS: u32 = 4;
pub(super) const IN_NAME: u32 = 1;
pub(super) const IN_DOC: u32 = 2;
pub(super) const IN_BODY: u32 = 4;
/// Three times or more.
pub(super) const OFTEN: u32 = 8;

/// Counts the terms of a text: a long name is no long text.
pub(super) fn text_length(terms: &[u32]) -> usize {
    terms.iter().filter(|term| **term & (IN_DOC | IN_BODY) != 0).count()
}

/// Bytes of a word; longer ones are no words.
const MAX_WORD: usize = 40;
/// Words remembered with their numbers, and places for those that came last, which are looked at first.
const MAX_KNOWN: usize = 200_000;
const RECENT: usize = 16_384;
const SEEN: usize = 4_096;
const MAX_AT_REST: usize = 4;

/// Words that every text has.
const STOP: [&str; 62] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does", "else", "for", "from", "get",
    "has", "have", "how", "i", "if", "in", "is", "it", "its", "let", "me", "my", "not", "of", "on", "or", "our",
    "return", "returns", "self", "should", "show", "that", "the", "their", "them", "then", "there", "these", "this",
    "to", "was", "we", "were", "what", "when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Words that look like what does something, and are not.
const NO_DEEDS: [&str; 12] = [
    "header", "folder", "letter", "number", "member", "corner", "order", "other", "under", "after", "matter", "proper",
];

/// Forms of verbs that no ending tells, behind the verb.
const IRREGULAR: [&str; 34] = [
    "begin began begun",
    "break broke broken",
    "build built",
    "catch caught",
    "choose chose chosen",
    "deal dealt",
    "draw drew drawn",
    "find found",
    "forget forgot forgotten",
    "freeze froze frozen",
    "give gave given",
    "go went gone",
    "grow grew grown",
    "hide hid hidden",
    "hold held",
    "keep kept",
    "know knew known",
    "lose lost",
    "make made",
    "meet met",
    "run ran",
    "seek sought",
    "send sent",
    "shake shook shaken",
    "show shown",
    "shrink shrank shrunk",
    "speak spoke spoken",
    "spend spent",
    "take took taken",
    "tell told",
    "throw threw thrown",
    "understand understood",
    "wake woke woken",
    "write wrote written",
];

/// Turns text into terms. One for each thread: it remembers the words that it has met.
pub(super) struct TermReader {
    stemmer: Stemmer,
    /// By the hash of the word as it is written; 0 for a stop word.
    known: HashMap<u64, u32, BuildHasherDefault<HashedKey>>,
    /// Some of them, each in the place that its hash says.
    recent: Vec<(u64, u32)>,
    /// Words of one text, each in the place that its hash says.
    seen: Vec<u64>,
}

/// A hasher for keys that are hashes already.
#[derive(Default)]
struct HashedKey(u64);

impl Hasher for HashedKey {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Default for TermReader {
    fn default() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
            known: HashMap::default(),
            recent: vec![(hash(""), 0); RECENT],
            seen: Vec::new(),
        }
    }
}

/// Readers at rest: what they have learned is of use to the next who reads.
static AT_REST: Mutex<Vec<TermReader>> = Mutex::new(Vec::new());

impl TermReader {
    /// Lends a reader.
    pub(super) fn lend<T>(work: impl FnOnce(&mut Self) -> T) -> T {
        let at_rest = AT_REST.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut reader = at_rest.unwrap_or_default();
        let done = work(&mut reader);
        let mut at_rest = AT_REST.lock().unwrap_or_else(PoisonError::into_inner);
        if at_rest.len() < MAX_AT_REST {
            at_rest.push(reader);
        }
        done
    }

    /// Calls `found` with the number of each word, without those that every text has.
    pub(super) fn read(&mut self, text: &str, mut found: impl FnMut(u32)) {
        for_each_word(text, |word, key| {
            if let Some(term) = self.term(word, key) {
                found(term);
            }
        });
    }

    /// Returns the numbers of the words of a text, most of them once, in no order.
    pub(super) fn distinct(&mut self, text: &str) -> Vec<u32> {
        let mut seen = std::mem::take(&mut self.seen);
        seen.clear();
        seen.resize(SEEN, 0);
        let mut found = Vec::new();
        for_each_word(text, |word, key| {
            let last = &mut seen[usize::try_from(key).unwrap_or_default() % SEEN];
            if std::mem::replace(last, key) != key {
                found.extend(self.term(word, key));
            }
        });
        self.seen = seen;
        found
    }

    /// Returns the number of a word with the given hash; none for a stop word.
    fn term(&mut self, word: &str, key: u64) -> Option<u32> {
        if word.len() < 2 || word.len() > MAX_WORD {
            return None;
        }
        let place = usize::try_from(key).unwrap_or_default() % RECENT;
        let term = match self.recent[place] {
            (recent, term) if recent == key => term,
            _ => self.known.get(&key).copied().unwrap_or_else(|| self.learn(key, word)),
        };
        self.recent[place] = (key, term);
        (term != 0).then_some(term)
    }

    fn learn(&mut self, key: u64, word: &str) -> u32 {
        let lower = word.to_lowercase();
        let is_number = lower.bytes().all(|byte| byte.is_ascii_digit());
        let form = if lower.len() > LONGEST_FORM { None } else { FORMS.get(lower.as_str()).copied() };
        let term = match form {
            Some("") => 0,
            _ if is_number => 0,
            verb => number(&self.stem(verb.unwrap_or(&lower))),
        };
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(key, term);
        term
    }
}

impl TermReader {
    /// Returns what a word shares with its forms. What does something is a form of what it does, as a cleaner cleans.
    fn stem(&self, lower: &str) -> String {
        if lower.bytes().any(|byte| byte.is_ascii_digit()) {
            return lower.to_owned();
        }
        let verb = deed(lower.strip_suffix('s').unwrap_or(lower));
        self.stemmer.stem(verb.as_deref().unwrap_or(lower)).into_owned()
    }
}

/// Bytes of the longest form.
const LONGEST_FORM: usize = 10;

/// For each irregular form its verb, and for each word that counts for nothing an empty text.
static FORMS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let verbs = IRREGULAR.iter().filter_map(|forms| Some((forms.split(' ').next()?, forms)));
    let verbs = verbs.flat_map(|(verb, forms)| forms.split(' ').map(move |form| (form, verb)));
    verbs.chain(STOP.iter().map(|word| (*word, ""))).collect()
});

/// Returns the verb of a noun such as `cleaner`, `formatter` or `generator`.
fn deed(noun: &str) -> Option<String> {
    if noun.len() < 5 || NO_DEEDS.contains(&noun) {
        return None;
    }
    let endings = ["ator", "itor", "ctor", "ssor"];
    let verb = if endings.iter().any(|ending| noun.ends_with(ending)) {
        noun.strip_suffix("or")
    } else {
        noun.strip_suffix("er")
    }?;
    let mut letters = verb.bytes().rev();
    let (last, before) = (letters.next()?, letters.next()?);
    // `format` doubles its last letter, `install` and `process` do not.
    let is_doubled = last == before && last.is_ascii_lowercase() && !matches!(last, b'l' | b's' | b'e');
    Some(if is_doubled { verb[..verb.len() - 1].to_owned() } else { format!("{verb}e") })
}

/// Returns the number of each word of a short text.
pub(super) fn terms_of(text: &str) -> Vec<u32> {
    let mut found = Vec::new();
    TermReader::lend(|reader| reader.read(text, |term| found.push(term)));
    found
}

/// What a byte is in a word. Letters beyond ASCII count by their bytes.
const NONE: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const OTHER: u8 = 3;
static CLASSES: [u8; 256] = {
    let mut classes = [NONE; 256];
    let mut byte = 0_u8;
    loop {
        classes[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' | 0x80.. => OTHER,
            _ => NONE,
        };
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

/// Calls `found` with each word of `text` and its hash: runs of letters and digits, cut where case changes as in
/// `parseHTMLFile`. A hash on the way costs less than a second look at the word.
fn for_each_word<'t>(text: &'t str, mut found: impl FnMut(&'t str, u64)) {
    let class = |at: usize| text.as_bytes().get(at).map_or(NONE, |byte| CLASSES[usize::from(*byte)]);
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let mut last = class(at);
        let mut state = mixed(NO_BYTES, text.as_bytes()[at]);
        at += 1;
        if last == NONE {
            continue;
        }
        loop {
            let sign = class(at);
            if sign == NONE || sign == UPPER && (last != UPPER || class(at + 1) == LOWER) {
                break;
            }
            last = sign;
            state = mixed(state, text.as_bytes()[at]);
            at += 1;
        }
        if let Some(word) = text.get(start..at) {
            found(word, finished(state));
        }
    }
}

/// Returns a number of 28 bits that is not 0.
fn number(word: &str) -> u32 {
    u32::try_from(hash(word) & 0x0fff_ffff).unwrap_or(1).max(1)
}

/// FNV-1a, with its upper bits mixed into the lower ones.
fn hash(word: &str) -> u64 {
    finished(word.bytes().fold(NO_BYTES, mixed))
}

/// The hash before the first byte, after one more, and at the end.
const NO_BYTES: u64 = 0xcbf2_9ce4_8422_2325;

fn mixed(state: u64, byte: u8) -> u64 {
    (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

fn finished(state: u64) -> u64 {
    state ^ (state >> 29)
}
