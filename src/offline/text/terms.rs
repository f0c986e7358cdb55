//! What to search for: identifiers, phrases and words taken from a request.
//!
//! Owns stop words and stems. Leaves the searching to `search`.

use rust_stemmers::{Algorithm, Stemmer};

use super::paths::is_path;
use super::{lists, parts};

/// A plain word of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TermWord {
    /// As it was written, in lower case.
    pub(crate) raw: String,
    /// What its relatives share.
    pub(crate) stem: String,
}

impl TermWord {
    pub(crate) fn new(raw: &str) -> Self {
        let stem = Stemmer::create(Algorithm::English).stem(raw).into_owned();
        // The stem of `history` ends as no word does.
        let stem = stem.strip_suffix('i').filter(|stem| stem.len() >= 3).unwrap_or(&stem).to_owned();
        Self { raw: raw.to_owned(), stem }
    }

    /// Returns `true` if a part of an identifier or text is a form of this word.
    pub(crate) fn matches(&self, part: &str) -> bool {
        // `auth` is not in `author`, but in `authenticate`.
        let is_long_form = self.raw.len() >= 4 && part.len() > self.raw.len() + 4 && part.starts_with(&self.raw);
        part == self.raw || is_long_form || Self::new(part).stem == self.stem
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Identifiers and quoted pieces, as written.
    pub(crate) exact: Vec<String>,
    /// Paths and file names, as written.
    pub(crate) paths: Vec<String>,
    /// Plain words, most telling first as they came.
    pub(crate) words: Vec<TermWord>,
    /// Words written with a capital inside the request: names of types in most languages.
    pub(crate) cased: Vec<String>,
}

/// Words that need not stand where the rest does.
const BLAND: &str = "default maximum most long many much large big deep value environment variable variables biggest number handled add \
    handling";

const STOP: &str = " a an the this that these those it its is are was were be been being am do does did done can could should would will \
 shall may might must have has had of in on at to for from by with about into over as and or not no nor but if then than so such \
 where how what which who whom whose when why there here i you we they he she my your our their me us them any all some each every \
 please tell show find look investigate explain describe give list get see know understand want need let lets project repository repo codebase code \
 file files defined define defines definition implemented implement implementation function functions method methods class classes \
 located location place places work works working used use uses using happen happens made exactly actually really just also \
 sort thing things way ways part parts used one ones like represented represents represent called name names named mean means program \
kind kinds type struct there's what's where's ";

impl Terms {
    pub(crate) fn of(request: &str) -> Self {
        let mut terms = Self::default();
        // What stands in quotes is one term; of three marks that open one, each has its own that closes it.
        let mut plain = String::new();
        let mut rest = request;
        while let Some((at, open)) = rest.char_indices().find(|(_, sign)| matches!(sign, '`' | '"' | '“')) {
            let close = if open == '“' { '”' } else { open };
            let inside = &rest[at + open.len_utf8()..];
            plain.push_str(&rest[..at]);
            rest = inside;
            if let Some((inner, after)) = inside.split_once(close) {
                terms.add(inner);
                plain.push_str(" , ");
                rest = after;
            }
        }
        plain.push_str(rest);
        for token in plain.split(|c: char| c.is_whitespace() || ",;!?()[]{}<>|".contains(c)) {
            let token = token.trim_matches(|c: char| ".:'’*&\"".contains(c));
            let token = token.trim_end_matches("'s").trim_end_matches("’s");
            if is_path(token) || is_identifier(token) {
                terms.add(token);
            } else {
                let is_first = request.trim_start().starts_with(token);
                if token.len() > 2 && token.starts_with(|c: char| c.is_ascii_uppercase()) && !is_first {
                    terms.cased.push(token.to_owned());
                }
                terms.add_word(token);
            }
        }
        terms
    }

    fn add(&mut self, token: &str) {
        let bare = token.trim().trim_end_matches("()").trim();
        let list = if is_path(bare) { &mut self.paths } else { &mut self.exact };
        if !bare.is_empty() && !list.iter().any(|known| known == bare) {
            list.push(bare.to_owned());
        }
    }

    fn add_word(&mut self, token: &str) {
        for lower in token.split(['-', '/']).map(str::to_lowercase) {
            let is_word = lower.chars().count() >= 2 && lower.chars().any(char::is_alphabetic);
            let word = TermWord::new(&lower);
            if is_word && !lists(STOP, &lower) && !self.words.iter().any(|known| known.stem == word.stem) {
                self.words.push(word);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.words.is_empty() && self.paths.is_empty()
    }

    /// Returns the number of terms that a place can match.
    pub(crate) fn count(&self) -> usize {
        self.exact.len() + self.words.len()
    }

    /// Returns all terms as written, for a sentence.
    pub(crate) fn names(&self) -> String {
        let words = self.words.iter().map(|word| &word.raw);
        let all: Vec<String> =
            self.exact.iter().chain(&self.paths).chain(words).take(8).map(|term| format!("`{term}`")).collect();
        all.join(", ")
    }

    /// Returns what to ask `Symbols` for.
    pub(crate) fn query(&self) -> String {
        let exact = self.exact.iter().map(|term| {
            let is_alone = self.words.is_empty() && self.exact.len() == 1;
            if is_alone { term.clone() } else { format!("`{term}`") }
        });
        exact.chain(self.words.iter().map(|word| word.raw.clone())).collect::<Vec<_>>().join(" ")
    }

    /// Counts the terms that a text has a form of.
    pub(crate) fn told(&self, text: &str) -> usize {
        let all = parts(text);
        let lower = text.to_lowercase();
        let exact = self.exact.iter().filter(|term| lower.contains(&last_segment(term).to_lowercase())).count();
        // `websocket` is written as two words in `WebSocketUpgrade`.
        let joined = all.concat();
        let has = |word: &&TermWord| {
            all.iter().any(|part| word.matches(part)) || word.raw.len() > 7 && joined.contains(&word.raw)
        };
        exact + self.words.iter().filter(has).count()
    }

    /// Returns the terms without words that say how much or how, and need not stand where the rest does.
    pub(crate) fn telling(&self) -> Self {
        let terms = self.clone().without(BLAND);
        if terms.is_empty() { self.clone() } else { terms }
    }

    /// Returns the terms but for some words, which `list` has as they are or as stems, with blanks between them.
    pub(crate) fn without(mut self, list: &str) -> Self {
        self.words.retain(|word| !lists(list, &word.raw) && !lists(list, &word.stem));
        self
    }
}

/// Returns the name behind `::`, `.` and `#`: `App::update` is defined as `update`.
pub(crate) fn last_segment(term: &str) -> &str {
    let after = term.rsplit("::").next().unwrap_or(term);
    after.rsplit(['.', '#']).next().filter(|part| !part.is_empty()).unwrap_or(after)
}

/// Returns `true` if a token looks like a name in a program.
fn is_identifier(token: &str) -> bool {
    let valid = token.chars().all(|c| c.is_ascii_alphanumeric() || "_:.$()@".contains(c));
    let inner: Vec<char> = token.chars().skip(1).collect();
    let camel = inner.iter().any(char::is_ascii_uppercase) && token.chars().any(|c| c.is_ascii_lowercase());
    let shouted = token.len() > 3 && token.contains('_');
    let dotted = token.contains('.')
        && token.split('.').all(|part| part.len() > 1 && !part.starts_with(|c: char| c.is_ascii_digit()));
    valid && (dotted || token.contains('_') || camel || token.contains("::") || shouted || token.ends_with("()"))
}
