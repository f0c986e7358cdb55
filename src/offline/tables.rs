//! What the model knows by heart: the words of requests, and what lines of projects look like.
//!
//! Owns reading the table `assets/offline.toml`, which says what each key means. Leaves using it to the modules above.
//! Invariant: a pattern that does not compile is left out instead of failing an answer.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer};

#[derive(Debug, Default, Deserialize)]
pub(super) struct Tables {
    pub(super) beyond: BTreeMap<String, String>,
    pub(super) overview: OverviewWords,
    #[serde(rename = "topic")]
    pub(super) topics: Vec<TopicRow>,
    pub(super) manifests: Manifests,
    #[serde(rename = "framework")]
    pub(super) frameworks: Vec<Framework>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct OverviewWords {
    pub(super) project: String,
    pub(super) words: String,
    pub(super) filler: String,
}

/// A side of a project that is always looked at in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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

#[derive(Debug, Deserialize)]
pub(super) struct TopicRow {
    pub(super) topic: Topic,
    pub(super) phrases: String,
    pub(super) words: String,
    #[serde(default)]
    pub(super) lines: Vec<StatedLines>,
    #[serde(default)]
    pub(super) lead: String,
    #[serde(default)]
    pub(super) nothing: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct StatedLines {
    pub(super) pattern: String,
    pub(super) files: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Manifests {
    /// Each with the usual command that tests.
    pub(super) names: Vec<(String, String)>,
    /// What stands around a line that names a dependency, and the line.
    pub(super) development: Vec<(Pattern, Pattern)>,
    pub(super) dependencies: Vec<(Pattern, Pattern)>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Framework {
    pub(super) name: String,
    #[serde(default)]
    pub(super) manifest: Pattern,
    pub(super) source: Pattern,
    #[serde(default)]
    pub(super) command: String,
    #[serde(default)]
    pub(super) beside: bool,
}

/// A pattern, which may be none.
#[derive(Debug, Default)]
pub(super) struct Pattern(pub(super) Option<Regex>);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let compiled = RegexBuilder::new(&String::deserialize(deserializer)?).case_insensitive(true).build();
        debug_assert!(compiled.is_ok(), "{compiled:?}");
        Ok(Self(compiled.ok()))
    }
}

/// Returns what the program knows.
pub(super) fn tables() -> &'static Tables {
    static TABLES: LazyLock<Tables> = LazyLock::new(|| {
        let read = toml::from_str(include_str!("../../assets/offline.toml"));
        debug_assert!(read.is_ok(), "{:?}", read.as_ref().err());
        read.unwrap_or_default()
    });
    &TABLES
}

/// Returns what is known of a topic.
pub(super) fn row(topic: Topic) -> Option<&'static TopicRow> {
    tables().topics.iter().find(|row| row.topic == topic)
}
