//! The project as a whole: what it is, how it is built and tested, what its files do.
//!
//! Owns which part looks at which side of a project. Leaves looking to its modules. Invariant: every topic has a part.

mod build;
pub(crate) mod files;
mod layout;
mod manifest;
mod testing;

use build::{Build, Package};
use layout::Layout;
use manifest::Kind;
use testing::Testing;

use super::report::Part;
use super::request::Topic;
use super::search::history::History;

/// Returns the part that looks at one side of the project.
pub(super) fn part(topic: Topic) -> Box<dyn Part> {
    match topic {
        Topic::Layout => Box::new(Layout),
        Topic::Build => Box::new(Build),
        Topic::Tests => Box::new(Testing),
        Topic::History => Box::new(History { terms: None }),
        Topic::Version => Box::new(Package { asked: Kind::Version }),
        Topic::License => Box::new(Package { asked: Kind::License }),
    }
}

/// Returns the parts that give an overview together.
pub(super) fn overview() -> Vec<Box<dyn Part>> {
    [Topic::Layout, Topic::Build, Topic::Tests, Topic::History].into_iter().map(part).collect()
}
