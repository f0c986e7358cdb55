//! The project as a whole: what it is, what it needs, how it is tested, what its files do.
//!
//! Owns which module looks at which side of a project. Leaves looking to its modules. Invariant: every topic has an answer.

mod dependencies;
mod facts;
pub(crate) mod files;
mod manifest;
mod testing;

use super::evidence::Evidence;
use super::report::Reported;
use super::request::beside;
use super::search::history;
use super::tables::Topic;
use super::text::terms::Terms;

/// Looks at one side of the project. `text` may name what is asked for in particular.
pub(super) fn answer(topic: Topic, text: &str, evidence: &Evidence) -> Reported {
    match topic {
        Topic::Tests => testing::answer(None, evidence),
        Topic::TestRun => testing::answer(Some(&Terms::of(text).without("test tests run project")), evidence),
        Topic::GitHistory => history::log(None, evidence),
        Topic::Dependencies => dependencies::answer(&beside(topic, text), evidence),
        _ => facts::answer(topic, evidence),
    }
}

/// The sides from which a project is looked at as a whole: what each is called, and what is asked.
pub(super) const SIDES: [(Topic, &str, &str); 4] = [
    (Topic::About, "What it is", "Find the description of this project"),
    (Topic::EntryPoints, "Entry points", "Find the entry points of this project"),
    (Topic::Tests, "Tests", "Find what testing framework this project uses"),
    (Topic::GitHistory, "Recent history", "Look at the recent history of this project"),
];
