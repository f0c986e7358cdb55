//! The project as a whole: what it is, how it is built and tested, what its files do.
//!
//! Owns which part looks at which side of a project. Leaves looking to its modules. Invariant: every topic has a part.

mod build;
pub(crate) mod files;
mod layout;
mod manifest;
mod testing;

use build::{Build, Package};
use layout::LayoutPart;
use manifest::Kind;
use testing::Testing;

use super::report::AnswerPart;
use super::request::Topic;
use super::search::history::GitHistory;

/// Returns the part that looks at one side of the project.
pub(super) fn part(topic: Topic) -> Box<dyn AnswerPart> {
    match topic {
        Topic::LayoutPart => Box::new(LayoutPart),
        Topic::Build => Box::new(Build),
        Topic::Tests => Box::new(Testing),
        Topic::GitHistory => Box::new(GitHistory { terms: None }),
        Topic::Version => Box::new(Package { asked: Kind::Version }),
        Topic::License => Box::new(Package { asked: Kind::License }),
    }
}

pub(super) fn overview() -> Vec<Box<dyn AnswerPart>> {
    [Topic::LayoutPart, Topic::Build, Topic::Tests, Topic::GitHistory].into_iter().map(part).collect()
}
