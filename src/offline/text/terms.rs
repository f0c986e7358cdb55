//! What to search for: identifiers, phrases and words taken from a request.
//!
//! Owns stop words, stems and variants. Leaves the searching to `search`. Invariant: every term is safe inside a regular
//! expression once it went through [`escape`].

use super::paths::is_path;
use super::{escape, lists};

/// A word in the forms a search should accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TermWord {
    pub(crate) raw: String,
    /// Beginnings of identifier parts, in lower case.
    pub(crate) stems: Vec<String>,
}

impl TermWord {
    fn new(raw: &str) -> Self {
        let stem = stem(raw);
        let mut stems = vec![stem.clone()];
        for family in FAMILIES {
            let is_member = |member: &str| stem == member || (member.len() > 4 && stem.starts_with(member));
            if family.split(' ').any(is_member) {
                stems.extend(family.split(' ').filter(|member| *member != stem).map(str::to_owned));
            }
        }
        Self { raw: raw.to_owned(), stems }
    }

    /// Returns the beginnings to search for: one covers everything it begins.
    pub(crate) fn beginnings(&self) -> Vec<&str> {
        let covered = |long: &str| self.stems.iter().any(|short| short != long && long.starts_with(short.as_str()));
        self.stems.iter().map(String::as_str).filter(|stem| !covered(stem)).collect()
    }

    /// Returns `true` if a part of an identifier is a form of this word.
    pub(crate) fn matches(&self, part: &str) -> bool {
        self.stems.iter().any(|stem| part.strip_prefix(stem.as_str()).is_some_and(|rest| inflects(stem, rest)))
    }
}

/// What may follow the beginning of a word so that it is still the same word.
const ENDINGS: &str = " s es e ed d er ers ing ings ion ions ation ations able ably y yable ying yed ies ied ier ment ments al ive ate ates ated ating ator \
 ators ance ence ize izes ized izer izing ise ised n en ten te tes ted ting ity ure ures ured uring ";

/// Beginnings of the rest of long forms: auth-entication, init-ialize, env-ironment.
const LONG_ENDINGS: [&str; 10] =
    ["entic", "oriz", "oris", "ializ", "ialis", "ument", "ironment", "eter", "imum", "ectory"];

/// Returns `true` if a beginning and the rest are a form of one word. A short beginning has few of them: `add` is not in
/// `address`, nor `auth` in `author`.
fn inflects(stem: &str, rest: &str) -> bool {
    if rest.is_empty() || rest.bytes().all(|c| c.is_ascii_digit()) {
        return true;
    }
    if stem.len() >= 5 || !stem.is_ascii() {
        return rest.len() <= 8;
    }
    let agent = matches!(rest, "or" | "ors") && stem.ends_with(['t', 's']);
    let undoubled = rest.strip_prefix(|c| stem.ends_with(c)).unwrap_or(rest);
    agent
        || lists(ENDINGS, rest)
        || lists(ENDINGS, undoubled)
        || LONG_ENDINGS.iter().any(|ending| rest.starts_with(ending))
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
    /// Pairs of words that stood side by side.
    pub(crate) pairs: Vec<(usize, usize)>,
}

/// Stems that mean the same.
const FAMILIES: [&str; 19] = [
    "driv driven",
    "error err",
    "writ written",
    "build built",
    "send sent",
    "choos chosen choice",
    "limit maximum max",
    "config cfg setting",
    "auth login authentic authoriz authoris",
    "database db",
    "directory directori folder",
    "argument arg",
    "parameter param",
    "environment env",
    "message messag msg",
    "delete delet remov",
    "initial init",
    "execut exec",
    "command cmd",
];

const STOP: &str = " a an the this that these those it its is are was were be been being am do does did done can could should would will \
 shall may might must have has had of in on at to for from by with about into over as and or not no nor but if then than so such \
 where how what which who whom whose when why there here i you we they he she my your our their me us them any all some each every \
 please tell show find look explain describe give list get see know understand want need let lets project repository repo codebase code \
 file files defined define defines definition implemented implement implementation function functions method methods class classes \
 located location place places work works working used use uses using happen happens made exactly actually really just also \
 sort thing things way ways part parts used one ones like represented represents represent called name names named mean means program line lines \
 there's what's where's ";

/// Phrases that say what kind of thing is asked for, not what it is called.
const ASIDES: &str = "kind of |kinds of |sort of |source code|the value of |which type |which struct |which class |which function |\
    what type |what struct |what function |the type that |the function that |the struct that |the class that ";

impl Terms {
    pub(crate) fn of(request: &str) -> Self {
        let mut terms = Self::default();
        let mut plain = request.to_owned();
        for phrase in ASIDES.split('|') {
            while let Some(at) = plain.to_ascii_lowercase().find(phrase) {
                plain.replace_range(at..at + phrase.len(), " ");
            }
        }
        for (open, close) in [('`', '`'), ('"', '"'), ('“', '”')] {
            while let Some((start, end)) = span(&plain, open, close) {
                let inner = plain[start + open.len_utf8()..end].trim().to_owned();
                plain.replace_range(start..end + close.len_utf8(), " , ");
                terms.add(&inner);
            }
        }
        let mut previous: Option<usize> = None;
        for token in plain.split(|c: char| c.is_whitespace() || ",;!?()[]{}<>|".contains(c)) {
            let token = token.trim_matches(|c: char| ".:'’*&\"".contains(c));
            let token = token.trim_end_matches("'s").trim_end_matches("’s");
            if token.is_empty() {
                previous = None;
            } else if is_path(token) || is_identifier(token) {
                terms.add(token);
                previous = None;
            } else {
                let is_cased =
                    token.starts_with(|c: char| c.is_ascii_uppercase()) && !request.trim_start().starts_with(token);
                if is_cased && token.len() > 2 {
                    terms.cased.push(token.to_owned());
                }
                previous = terms.add_word(token, previous);
            }
        }
        terms
    }

    fn add(&mut self, token: &str) {
        let bare = token.trim_end_matches("()").trim();
        if bare.is_empty() {
            return;
        }
        let list = if is_path(bare) { &mut self.paths } else { &mut self.exact };
        if !list.iter().any(|known| known == bare) {
            list.push(bare.to_owned());
        }
    }

    fn add_word(&mut self, token: &str, previous: Option<usize>) -> Option<usize> {
        let mut last = previous;
        for piece in token.split(['-', '/']) {
            let lower = piece.to_lowercase();
            let is_word = lower.chars().count() >= 2 && lower.chars().any(char::is_alphabetic);
            if !is_word || lists(STOP, &lower) {
                last = None;
                continue;
            }
            let word = TermWord::new(&lower);
            let at = self.words.iter().position(|known| known.stems == word.stems).unwrap_or(self.words.len());
            if at == self.words.len() {
                self.words.push(word);
            }
            if let Some(before) = last.filter(|before| *before != at) {
                self.pairs.push((before, at));
            }
            last = Some(at);
        }
        last
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

    pub(crate) fn word_pattern(word: &TermWord) -> String {
        let stems: Vec<String> = word.beginnings().into_iter().map(escape).collect();
        if stems.len() == 1 { stems.concat() } else { format!("({})", stems.join("|")) }
    }

    /// Returns an alternative of all terms, or `None` without any.
    pub(crate) fn any_pattern(&self) -> Option<String> {
        let exact = self.exact.iter().map(|term| escape(last_segment(term)));
        let words = self.words.iter().take(6).map(Self::word_pattern);
        let all: Vec<String> = exact.chain(words).collect();
        (!all.is_empty()).then(|| all.join("|"))
    }

    /// Returns an alternative of every two of the first words, in both orders, with a pattern between them.
    pub(crate) fn pairs_pattern(&self, between: &str) -> Option<String> {
        let patterns: Vec<String> = self.words.iter().take(4).map(Self::word_pattern).collect();
        let mut all = Vec::new();
        for (at, a) in patterns.iter().enumerate() {
            for b in &patterns[at + 1..] {
                all.push(format!("{a}{between}{b}|{b}{between}{a}"));
            }
        }
        (!all.is_empty()).then(|| all.join("|"))
    }

    /// Returns an alternative of identifiers, and of neighbouring words as one identifier or phrase.
    pub(crate) fn phrase_pattern(&self) -> Option<String> {
        let exact = self.exact.iter().map(|term| escape(term));
        let pairs = self.pairs.iter().take(4).map(|(a, b)| {
            format!("{}\\w*[ _.-]?{}", Self::word_pattern(&self.words[*a]), Self::word_pattern(&self.words[*b]))
        });
        let all: Vec<String> = exact.chain(pairs).collect();
        (!all.is_empty()).then(|| all.join("|"))
    }
}

/// Returns the name behind `::` and `.`: `App::update` is defined as `update`.
pub(crate) fn last_segment(term: &str) -> &str {
    let after = term.rsplit("::").next().unwrap_or(term);
    after.rsplit('.').next().filter(|part| !part.is_empty()).unwrap_or(after)
}

fn span(text: &str, open: char, close: char) -> Option<(usize, usize)> {
    let start = text.find(open)?;
    let end = start + open.len_utf8() + text[start + open.len_utf8()..].find(close)?;
    Some((start, end))
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

/// Cuts a word down to the beginning that its relatives share.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 {
        return word.to_owned();
    }
    if let Some(rest) =
        ["ies", "ied"].iter().find_map(|ending| word.strip_suffix(ending)).filter(|rest| rest.len() >= 3)
    {
        return rest.to_owned();
    }
    for (ending, least) in [("ations", 4), ("ation", 4), ("ions", 5), ("ion", 5), ("ings", 4), ("ing", 4), ("ed", 3)] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= least || ending.starts_with("ing")) {
            // The `ed` of `speed` belongs to the word.
            if rest.len() < 3 || (ending == "ed" && rest.ends_with('e')) {
                continue;
            }
            let mut letters = rest.bytes().rev();
            let (last, before) = (letters.next(), letters.next());
            let doubled = rest.len() > 3 && last == before && last.is_some_and(|c| !b"aeiouls".contains(&c));
            return rest[..rest.len() - usize::from(doubled)].to_owned();
        }
    }
    let singular =
        word.strip_suffix('s').filter(|rest| !rest.ends_with(['s', 'u', 'i']) && rest.len() >= 3).unwrap_or(word);
    if let Some(rest) = singular.strip_suffix('y').filter(|rest| rest.len() >= 3) {
        return rest.to_owned();
    }
    let cut = singular.strip_suffix('e').filter(|rest| rest.len() >= 4).unwrap_or(singular);
    cut.to_owned()
}
