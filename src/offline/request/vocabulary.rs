//! The words by which whole-project requests, topics and requests beyond rules are told.
//!
//! Owns the word lists. Leaves the order in which they are asked to the module above. Invariant: a request is about the
//! whole project, or one side of it, only if it names nothing else.

use crate::offline::text::terms::Terms;
use crate::offline::text::{contains_any, lists};

/// A side of a project that is always looked at in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    /// What it says of itself.
    About,
    EntryPoints,
    Tests,
    /// How the tests are run.
    TestRun,
    GitHistory,
    Version,
    License,
    /// Which version of a language or tool is needed.
    Toolchain,
    Dependencies,
}

/// What only a language model can do, and the first words that ask for it.
const BEYOND: [(&str, &str); 15] = [
    ("Writing", "write draft"),
    ("Rewriting", "rewrite"),
    ("Refactoring", "refactor"),
    ("Fixing code", "fix"),
    ("Implementing", "implement"),
    ("Creating files", "create"),
    ("Changing code", "add rename change update delete remove replace edit modify make upgrade"),
    ("Improving code", "improve optimize optimise"),
    ("Converting", "convert port migrate"),
    ("Translating", "translate"),
    ("Reviewing", "review critique"),
    ("Debugging", "debug"),
    ("Generating text", "generate design"),
    ("Giving advice", "suggest recommend should"),
    ("Explaining why", "why"),
];

/// Returns what a request asks for that only a language model can do.
pub(crate) fn beyond(lower: &str) -> Option<&'static str> {
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next()?;
    if ["explain", "tell"].contains(&first) && lower.split_whitespace().take(4).any(|word| word == "why") {
        return Some("Explaining why");
    }
    if first == "when" || contains_any(lower, "who added|who wrote|who introduced|who changed|who removed|which commit")
    {
        return Some("Telling when something came, and by whom,");
    }
    // "Design of …" and "update history" name a thing, not a deed.
    let is_judgement = matches!(first, "why" | "should");
    if !is_judgement && words.next().is_some_and(|second| lists("of overview history log is in", second)) {
        return None;
    }
    BEYOND.iter().find(|(_, list)| lists(list, first)).map(|(what, _)| *what)
}

/// What may stand between what rules can do and what they cannot. All but the first only before what is surely a deed.
const JOINTS: [&str; 4] = [" then ", ". ", "; ", " and "];
const DEEDS: &str = "refactor rewrite implement fix";

/// Splits off the end of a request that only a language model can do: "explore the code, then refactor it". Returns what
/// stands before it, and what the end asks for.
pub(crate) fn beyond_at_end(text: &str) -> Option<(&str, &'static str)> {
    let joint = |joint: &'static str| text.match_indices(joint).map(move |(at, _)| (at, joint));
    let mut joints: Vec<(usize, &str)> = JOINTS.into_iter().flat_map(joint).collect();
    joints.sort_unstable();
    joints.into_iter().find_map(|(at, joint)| {
        let rest = text[at + joint.len()..].to_lowercase();
        let what = beyond(rest.trim_start())?;
        let is_deed = rest.split_whitespace().next().is_some_and(|first| lists(DEEDS, first));
        let head = text[..at].trim_end_matches([' ', ',']);
        let head = head.strip_suffix(" and").unwrap_or(head).trim_end_matches(',');
        (is_deed || joint == " then ").then_some((head, what))
    })
}

const PROJECT_WORDS: &str = "repo repository project codebase code-base code base crate package library workspace directory folder here program application app";
const OVERVIEW_WORDS: &str = "explain map explore describe overview summarize summarise summary understand analyze analyse analysis tour walk through introduce introduction \
    structure structured architecture architectural organized organised organization laid high-level high level big picture general whole entire main purpose about brief short quick \
    overall modules components key does do doing look around onboard onboarding important areas parts readme getting started familiarize onto in out whats what thorough thoroughly \
    detail detailed details this current given full subagents parallel using me up";

/// Returns `true` if a request is about the whole project and nothing else.
pub(crate) fn is_overview(lower: &str) -> bool {
    let words: Vec<&str> =
        lower.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty()).collect();
    let speaks_of_project = words.iter().any(|word| lists(PROJECT_WORDS, word))
        || ["what is this", "overview", "architecture", "give me a tour"].contains(&lower.trim_end_matches('?'));
    let asks = words.iter().any(|word| lists(OVERVIEW_WORDS, word))
        || lower.starts_with("what is")
        || lower.starts_with("what's");
    speaks_of_project && asks && leftover(lower, &[PROJECT_WORDS, OVERVIEW_WORDS]) == 0
}

/// Counts the terms that none of the vocabularies knows.
fn leftover(text: &str, vocabularies: &[&str]) -> usize {
    let terms = Terms::of(text);
    let unknown = |raw: &str| !vocabularies.iter().any(|list| lists(list, raw));
    terms.exact.len() + terms.paths.len() + terms.words.iter().filter(|word| unknown(&word.raw)).count()
}

const FILLER: &str = "identify determine check examine inspect report return evidence shows showing run running runs start started needs needed latest \
    does do main important relevant various path number how-to currently provided together available out look tool tools library libraries whole";

/// Topic, phrases that settle it, words that may go with it.
const TOPICS: [(Topic, &str, &str); 9] = [
    (
        Topic::TestRun,
        "run the tests|run tests|run the unit tests|run the integration tests|run the test suite|run the specs|tests run|tests of this project are run",
        "test tests unit integration suite specs spec command commands locally",
    ),
    (
        Topic::Toolchain,
        "version of python|python version|rust version|msrv|node version|version of rust|version of node|go version|version of go|php version|\
         ruby version|java version|version of java|version of ruby|version of php|compiler version|toolchain",
        "version versions python rust node go php ruby java compiler toolchain language minimum msrv need required requires require supported supports needed",
    ),
    (
        Topic::Dependencies,
        "dependencies|depend on|depends on|libraries|third-party|third party|which packages|which crates|which gems|which library|which package|\
         which crate|which gem|library does it|package does it|crate does it|gem does it|module does it",
        "dependency dependencies depend depends library libraries third-party third party external package packages crate crates gem gems need \
         needs require requires required direct runtime build builds rely relies",
    ),
    (
        Topic::Tests,
        "test framework|testing framework|test runner|test suite|how many tests|is this tested|is it tested|project tested|unit tests|the tests|\
         tests live|tests are|test setup|project is tested",
        "many test tests testing tested framework frameworks runner suite unit integration setup dependencies kept live command commands configuration",
    ),
    (
        Topic::GitHistory,
        "recent history|git history|recent commits|recent changes|changed recently|changed lately|last commit|latest commit|commit history|who wrote this|\
         who works on|who maintains|contributors|main authors",
        "recent history commits commit changes changed change recently lately latest last wrote maintains maintain contributors contributor authors author \
         git log most often frequently changing hot",
    ),
    (
        Topic::EntryPoints,
        "entry point",
        "entry point points start starts begin begins run execution command line cli binary binaries main executable executables",
    ),
    (Topic::About, "description", "description says itself"),
    (Topic::Version, "version", "version number current package it released set stored kept declared specified"),
    (
        Topic::License,
        "license|licence",
        "license licence licensed licensing package released published declared specified kind under terms",
    ),
];

/// Returns the side of the project that a text is about, if it is about nothing else. What it depends on may be one thing
/// that has a name.
pub(crate) fn topic(lower: &str) -> Option<Topic> {
    let settled =
        contains_any(lower, "testing framework|test framework|dependencies of this project|tests of this project");
    let fits = |(topic, phrases, words): &&(Topic, &str, &str)| {
        let named = usize::from(*topic == Topic::Dependencies);
        contains_any(lower, phrases)
            && (settled || leftover(lower, &[words, PROJECT_WORDS, OVERVIEW_WORDS, FILLER]) <= named)
    };
    TOPICS.iter().find(fits).map(|row| row.0)
}

/// Returns the terms of a text that are not the words of a topic.
pub(crate) fn beside(topic: Topic, text: &str) -> Terms {
    let words = TOPICS.iter().find(|row| row.0 == topic).map_or("", |row| row.2);
    [words, PROJECT_WORDS, OVERVIEW_WORDS, FILLER].iter().fold(Terms::of(text), |terms, list| terms.without(list))
}
