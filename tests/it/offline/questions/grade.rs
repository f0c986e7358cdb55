//! What an answer is worth: the places that it cites, in their order, and what it says.

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use super::Question;

/// Phrases by which an answer declines or warns, in its first lines and in lower case.
const WARNINGS: [&str; 11] = [
    "needs a language model",
    "nothing certain",
    "not certain",
    "nothing found",
    "nothing in the files",
    "no place matches",
    "names nothing that can be searched for",
    "none that i know",
    "no manifest and no constant",
    "no framework that is known",
    "there is no `",
];
/// How many lines of an answer may hold a warning: what stands further down is not seen as one.
const WARNING_LINES: usize = 3;

/// A file and lines in it, from `path:4` or `path:4-9`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Place {
    path: String,
    first: usize,
    last: usize,
}

impl TryFrom<String> for Place {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not `path:line` or `path:line-line`");
        let (path, lines) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        match (first.parse(), last.parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Self { path: path.to_owned(), first, last }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.path, self.first)
    }
}

impl Place {
    fn holds(&self, cited: &Self) -> bool {
        self.path == cited.path && (self.first..=self.last).contains(&cited.first)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Grade {
    /// How many other places come before the first right one, if there is a right one.
    pub(super) before: Option<usize>,
    /// Whether it declines or warns.
    pub(super) warns: bool,
    /// What had to be said and was not.
    pub(super) unsaid: Vec<String>,
    /// The place cited first.
    pub(super) cited: Option<String>,
}

impl Grade {
    /// Whether a right place is among so many.
    pub(super) fn within(&self, places: usize) -> bool {
        self.before.is_some_and(|before| before < places)
    }

    /// Whether it is not right at once, and does not say that it may be wrong.
    pub(super) fn misleads(&self) -> bool {
        !self.within(1) && !self.warns
    }
}

/// Grades an answer about a repository.
///
/// Where something has to be said, a place counts only if it is. Where nothing but that is asked for, saying it is right.
pub(super) fn grade(repository: &Path, question: &Question, answer: &str) -> Grade {
    let start: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).take(WARNING_LINES).collect();
    let start = start.join("\n").to_lowercase();
    let warns = WARNINGS.iter().any(|phrase| start.contains(phrase));
    let is_right = |place: &Place| question.places.iter().any(|right| right.holds(place));
    let is_aside = |place: &Place| question.aside.iter().any(|aside| aside.holds(place));
    let cited = cited(repository, answer);
    // A file without a line is right where its beginning is, and says too little to be wrong anywhere else.
    let counts = |one: &&Cited| !is_aside(&one.place) && (one.has_line || is_right(&one.place));
    let counted = || cited.iter().filter(counts).map(|one| &one.place);
    let unsaid: Vec<String> = question.says.iter().filter(|fact| !says(answer, fact)).cloned().collect();
    let before = if question.decline {
        warns.then_some(0)
    } else if !unsaid.is_empty() {
        None
    } else if question.places.is_empty() {
        Some(0)
    } else {
        counted().position(is_right)
    };
    Grade { before, warns, unsaid, cited: counted().next().map(Place::to_string) }
}

/// Whether one of the alternatives stands in an answer as a word or words of its own.
fn says(answer: &str, fact: &str) -> bool {
    let answer = answer.to_lowercase();
    let goes_on = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
    fact.to_lowercase().split('|').any(|fact| {
        answer.match_indices(fact).any(|(at, _)| {
            let (before, after) = (&answer[..at], &answer[at + fact.len()..]);
            !goes_on(before.chars().next_back()) && !goes_on(after.chars().next())
        })
    })
}

/// A place that an answer cites; a file without a line is cited as its first line.
#[derive(PartialEq, Eq)]
struct Cited {
    place: Place,
    has_line: bool,
}

/// Returns what an answer cites outside excerpts, each place once, in their order.
fn cited(repository: &Path, answer: &str) -> Vec<Cited> {
    static CITED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^([\w.@+/-]*[\w+-])(?::(\d+))?").unwrap());
    let mut found: Vec<Cited> = Vec::new();
    let mut fenced = false;
    for line in answer.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            // In backquotes stand places and quoted lines; a quoted line holds blanks.
            let pieces = line.split('`').skip(1).step_by(2).filter(|piece| !piece.contains(' '));
            for parts in pieces.filter_map(|piece| CITED.captures(piece)) {
                let line = parts.get(2).and_then(|line| line.as_str().parse().ok());
                let number = line.unwrap_or(1);
                let place = Place { path: parts[1].to_owned(), first: number, last: number };
                let one = Cited { place, has_line: line.is_some() };
                if repository.join(&one.place.path).is_file() && !found.contains(&one) {
                    found.push(one);
                }
            }
        }
    }
    found
}

fn place(text: &str) -> Place {
    Place::try_from(text.to_owned()).unwrap()
}

fn graded(question: &Question, answer: &str) -> Grade {
    grade(Path::new(env!("CARGO_MANIFEST_DIR")), question, answer)
}

#[test]
fn places_count_in_their_order_and_once() {
    let question =
        Question { places: vec![place("src/lib.rs:4-9")], aside: vec![place("Cargo.toml:1-3")], ..Question::default() };
    let answer = "It is `Cargo.toml:2`, see `LICENSE-MIT`.\n\n`src/lib.rs:5` (function)\n```\n`src/main.rs:1`\n```\n";
    assert_eq!(graded(&question, answer).before, Some(0));
    let answer = answer.replace("-MIT`", "-MIT:1`");
    assert_eq!(graded(&question, &answer).before, Some(1));
    assert!(graded(&question, &answer).misleads());
    assert_eq!(graded(&question, "`src/lib.rs:10`").before, None);
    assert!(!graded(&question, "Nothing found for `x`.").misleads());
}

#[test]
fn a_fact_stands_for_itself_and_between_edges() {
    let question = Question { says: vec!["60|a minute".to_owned()], ..Question::default() };
    assert!(graded(&question, "It is `60`.").within(1));
    assert!(graded(&question, "It is A minute.").within(1));
    assert_eq!(graded(&question, "It is 600.").unsaid, ["60|a minute"]);
}
