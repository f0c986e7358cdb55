//! The project as a whole: what it is, what it needs, how it is tested, what its files do.
//!
//! Owns which part looks at which side of a project. Leaves looking to its modules. Invariant: every topic has a part.

mod dependencies;
mod facts;
pub(crate) mod files;
mod manifest;
mod testing;

use dependencies::Dependencies;
use facts::StatedFacts;
use testing::Testing;

use super::report::AnswerPart;
use super::request::{Topic, beside};
use super::search::history::GitHistory;
use super::text::terms::Terms;

/// Returns the part that looks at one side of the project. `text` may name what is asked for in particular.
pub(super) fn part(topic: Topic, text: &str) -> Box<dyn AnswerPart> {
    match topic {
        Topic::Tests => Box::new(Testing::default()),
        Topic::TestRun => Box::new(Testing { run: Some(Terms::of(text).without("test tests run project")) }),
        Topic::GitHistory => Box::new(GitHistory::default()),
        Topic::Dependencies => Box::new(Dependencies { named: beside(topic, text) }),
        _ => Box::new(StatedFacts(topic)),
    }
}

/// The sides from which a project is looked at as a whole: what each is called, and what is asked.
pub(super) const SIDES: [(Topic, &str, &str); 4] = [
    (Topic::About, "What it is", "Find the description of this project"),
    (Topic::EntryPoints, "Entry points", "Find the entry points of this project"),
    (Topic::Tests, "Tests", "Find what testing framework this project uses"),
    (Topic::GitHistory, "Recent history", "Look at the recent history of this project"),
];

pub(super) fn overview() -> Vec<Box<dyn AnswerPart>> {
    SIDES.map(|(topic, ..)| part(topic, "")).into()
}
