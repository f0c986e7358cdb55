//! The words by which whole-project requests, topics and requests beyond rules are told.
//!
//! Owns the word lists. Leaves the order in which they are asked to the module above. Invariant: a request is about the
//! whole project, or one side of it, only if it names nothing else.

use crate::offline::text::terms::Terms;

/// A side of a project that is always looked at in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Layout,
    Build,
    Tests,
    History,
    Version,
    License,
}

/// First words that ask for new text or for judgement, with what they are called when declined.
const BEYOND: [(&str, &str); 34] = [
    ("write", "Writing"),
    ("refactor", "Refactoring"),
    ("fix", "Fixing code"),
    ("implement", "Implementing"),
    ("add", "Changing code"),
    ("create", "Creating files"),
    ("rename", "Changing code"),
    ("change", "Changing code"),
    ("update", "Changing code"),
    ("delete", "Changing code"),
    ("remove", "Changing code"),
    ("replace", "Changing code"),
    ("edit", "Changing code"),
    ("modify", "Changing code"),
    ("make", "Changing code"),
    ("improve", "Improving code"),
    ("optimize", "Optimizing"),
    ("optimise", "Optimizing"),
    ("port", "Porting"),
    ("convert", "Converting"),
    ("migrate", "Migrating"),
    ("translate", "Translating"),
    ("review", "Reviewing"),
    ("critique", "Reviewing"),
    ("debug", "Debugging"),
    ("generate", "Generating text"),
    ("draft", "Writing"),
    ("design", "Designing"),
    ("suggest", "Giving advice"),
    ("recommend", "Giving advice"),
    ("should", "Giving advice"),
    ("why", "Explaining why"),
    ("upgrade", "Changing code"),
    ("rewrite", "Rewriting"),
];

pub(crate) fn beyond(lower: &str) -> Option<&'static str> {
    let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let first = words.next()?;
    if ["explain", "tell"].contains(&first) && lower.split_whitespace().take(4).any(|word| word == "why") {
        return Some("Explaining why");
    }
    // "Design of …" and "update history" name a thing, not a deed.
    let is_judgement = matches!(first, "why" | "should");
    if !is_judgement
        && words.next().is_some_and(|second| ["of", "overview", "history", "log", "is", "in"].contains(&second))
    {
        return None;
    }
    BEYOND.iter().find(|(word, _)| *word == first).map(|(_, what)| *what)
}

const PROJECT_WORDS: &str = " repo repository project codebase code-base code base crate package library workspace directory folder here program application app projekt \
 projet proyecto programm bibliothek sourcecode ";
const OVERVIEW_WORDS: &str = " explain map explore describe overview summarize summarise summary understand analyze analyse analysis tour walk through introduce introduction \
 structure structured architecture architectural organized organised organization laid high-level high level big picture general whole entire main purpose about brief short quick \
 overall modules components key does do doing look around onboard onboarding important areas parts macht erkläre beschreibe überblick übersicht aufbau explica describe \
 explique résume resume readme getting started familiarize onto in out whats what thorough thoroughly detail detailed details this current given full subagents parallel using me up ";

/// Words of other scripts that ask for the same.
const OVERVIEW_FOREIGN: [&str; 10] =
    ["这个项目", "项目", "仓库", "代码库", "プロジェクト", "リポジトリ", "프로젝트", "проект", "репозитор", "المشروع"];

pub(crate) fn is_overview(lower: &str) -> bool {
    if OVERVIEW_FOREIGN.iter().any(|word| lower.contains(word)) && Terms::of(lower).exact.is_empty() {
        return true;
    }
    let words: Vec<&str> =
        lower.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty()).collect();
    let known = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let speaks_of_project = words.iter().any(|word| known(PROJECT_WORDS, word))
        || ["what is this", "overview", "architecture", "give me a tour"]
            .iter()
            .any(|p| lower.trim_end_matches('?') == *p);
    let asks = words.iter().any(|word| known(OVERVIEW_WORDS, word))
        || lower.starts_with("what is")
        || lower.starts_with("what's");
    speaks_of_project && asks && leftover(lower, &[PROJECT_WORDS, OVERVIEW_WORDS]) == 0
}

/// Counts the terms that none of the vocabularies knows.
fn leftover(text: &str, vocabularies: &[&str]) -> usize {
    let terms = Terms::of(text);
    let unknown = |raw: &str| !vocabularies.iter().any(|list| list.split_whitespace().any(|known| known == raw));
    terms.exact.len() + terms.paths.len() + terms.words.iter().filter(|word| unknown(&word.raw)).count()
}

const FILLER: &str = " identify determine check examine inspect report return evidence shows showing run running runs start started needs needed latest \
 does do main important relevant various path number how-to currently provided together available out look tool tools library libraries whole ";

/// Topic, phrases that settle it, words that may go with it.
const TOPICS: [(Topic, &[&str], &str); 6] = [
    (
        Topic::Tests,
        &[
            "test framework",
            "testing framework",
            "test runner",
            "test suite",
            "run the tests",
            "run tests",
            "is this tested",
            "is it tested",
            "project tested",
            "unit tests",
            "the tests",
            "tests live",
            "tests are",
            "test setup",
            "look at the tests",
            "project is tested",
        ],
        " test tests testing tested framework frameworks runner suite unit integration setup dependencies kept live command commands configuration ",
    ),
    (
        Topic::History,
        &[
            "recent history",
            "git history",
            "recent commits",
            "recent changes",
            "changed recently",
            "changed lately",
            "last commit",
            "latest commit",
            "commit history",
            "who wrote this",
            "who works on",
            "who maintains",
            "contributors",
            "main authors",
            "recent history of this project",
        ],
        " recent history commits commit changes changed change recently lately latest last wrote maintains maintain contributors contributor authors author git log most often frequently changing hot ",
    ),
    (
        Topic::Build,
        &[
            "entry point",
            "entry points",
            "build system",
            "how is this built",
            "project built",
            "project is built",
            "build this",
            "build it",
            "dependencies",
            "how do i build",
            "compile this",
            "build and run",
            "depend on",
            "run this project",
            "build tool",
            "version of python",
            "python version",
            "rust version",
            "msrv",
            "node version",
            "version of rust",
            "version of node",
            "go version",
        ],
        " build built builds building system entry point points dependency dependencies depend depends compile compiled run start install manifest manifests binaries binary external third-party third party crates packages version python rust node go minimum required requires require supported supports msrv ",
    ),
    (
        Topic::Layout,
        &[
            "layout",
            "directory structure",
            "folder structure",
            "file structure",
            "which languages",
            "what languages",
            "what language",
            "programming language",
            "main modules",
            "main directories",
        ],
        " layout directory directories structure folders folder languages language programming written modules module counts count top-level top level map tree organized arranged ",
    ),
    (Topic::Version, &["version"], " version number current package it released set stored kept declared specified "),
    (
        Topic::License,
        &["license", "licence", "licensed"],
        " license licence licensed licensing package released declared specified kind under terms ",
    ),
];

/// Tells which side of the project a text is about, if it is about nothing else.
pub(crate) fn topic(lower: &str) -> Option<Topic> {
    let (topic, _, words) =
        TOPICS.iter().find(|(_, phrases, _)| phrases.iter().any(|phrase| lower.contains(phrase)))?;
    let settled = lower.contains("testing framework") || lower.contains("test framework");
    (settled || leftover(lower, &[words, PROJECT_WORDS, OVERVIEW_WORDS, FILLER]) == 0).then_some(*topic)
}
