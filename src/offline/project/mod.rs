//! The project as a whole: what it is, how it is built and tested, what its files do.
//!
//! Owns which part looks at which side of a project. Leaves looking to its modules. Invariant: every topic has a part.

mod build;
mod dependencies;
pub(crate) mod files;
mod layout;
mod manifest;
mod package;
mod testing;

use build::{Build, EntryPoints};
use dependencies::Dependencies;
use layout::LayoutPart;
use manifest::Kind;
use package::Package;
use testing::Testing;

use super::report::AnswerPart;
use super::request::{Topic, beside};
use super::search::history::GitHistory;
use super::text::terms::Terms;

/// Returns the part that looks at one side of the project. `text` may name what is asked for in particular.
pub(super) fn part(topic: Topic, text: &str) -> Box<dyn AnswerPart> {
    match topic {
        Topic::LayoutPart => Box::new(LayoutPart),
        Topic::Build => Box::new(Build),
        Topic::EntryPoints => Box::new(EntryPoints),
        Topic::Tests => Box::new(Testing::default()),
        Topic::TestRun => Box::new(Testing { run: Some(Terms::of(text).without("test tests run project")) }),
        Topic::GitHistory => Box::new(GitHistory { terms: None }),
        Topic::Version => Box::new(Package { asked: Kind::Version }),
        Topic::License => Box::new(Package { asked: Kind::License }),
        Topic::Toolchain => Box::new(Package { asked: Kind::Toolchain }),
        Topic::Dependencies => Box::new(Dependencies { named: beside(topic, text) }),
    }
}

pub(super) fn overview() -> Vec<Box<dyn AnswerPart>> {
    [Topic::LayoutPart, Topic::Build, Topic::Tests, Topic::GitHistory].map(|topic| part(topic, "")).into()
}
