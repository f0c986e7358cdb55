//! The rows of the list of agents: by tier, and those that a search leaves.
//!
//! Owns what matches. Leaves the choice among the rows to `view`. Invariant: an agent stands below the heading of its
//! tier, and a tier without a row of its own has no agent that matches.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::definition::{Listed, Tier};
use crate::message::sanitize_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentFileRow {
    Tier(Tier),
    /// A tier without agents.
    Vacant(Tier),
    Agent {
        index: usize,
        /// Places of the sought letters in its name, counted in graphemes.
        matched: Vec<u32>,
    },
}

/// Rows, and the one that matches best.
#[derive(Debug, Default)]
pub(super) struct AgentFileMatch {
    pub(super) rows: Vec<AgentFileRow>,
    pub(super) best: Option<usize>,
}

/// What can be sought: every agent of a listing, read once.
#[derive(Debug, Default)]
pub(super) struct Index(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    tier: Tier,
    name: String,
    /// Name and description, in lower case.
    text: String,
}

impl Index {
    pub(super) fn new(listing: &[Listed]) -> Self {
        let entry = |listed: &Listed| {
            let name = sanitize_line(&listed.name()).into_owned();
            let about = listed.definition.as_ref().map(|definition| definition.description.as_str());
            let about = about.or_else(|| Some(listed.diagnostics.first()?.message.as_str())).unwrap_or_default();
            Entry { tier: listed.source.tier, text: format!("{name} {about}").to_lowercase(), name }
        };
        Self(listing.iter().map(entry).collect())
    }

    /// Returns the rows that match the query; all of them, and the vacant tiers, for an empty query.
    pub(super) fn find(&self, query: &str) -> AgentFileMatch {
        let mut sought = Sought::new(query);
        let mut found = AgentFileMatch::default();
        let mut best = None;
        for tier in Tier::ALL {
            let heading = found.rows.len();
            found.rows.push(AgentFileRow::Tier(tier));
            for (index, entry) in self.0.iter().enumerate().filter(|(_, entry)| entry.tier == tier) {
                let Some((score, matched)) = sought.look_at(entry) else { continue };
                if best.is_none_or(|best| score > best) {
                    best = Some(score);
                    found.best = Some(found.rows.len());
                }
                found.rows.push(AgentFileRow::Agent { index, matched });
            }
            if found.rows.len() == heading + 1 {
                found.rows.pop();
                if query.is_empty() && !matches!(tier, Tier::CommandLine | Tier::Plugin) {
                    found.rows.push(AgentFileRow::Vacant(tier));
                }
            }
        }
        found
    }
}

/// What is sought: its letters in their order in a name, or its words anywhere in name and description.
struct Sought {
    letters: Pattern,
    words: Vec<String>,
    matcher: Matcher,
}

impl Sought {
    fn new(query: &str) -> Self {
        let letters = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
        let words = query.split_whitespace().map(str::to_lowercase).collect();
        Self { letters, words, matcher: Matcher::new(Config::DEFAULT) }
    }

    /// Returns how well an agent matches, and where in its name: any match of a name weighs more than one of a
    /// description.
    fn look_at(&mut self, entry: &Entry) -> Option<(Option<u32>, Vec<u32>)> {
        let (mut buffer, mut matched) = (Vec::new(), Vec::new());
        let name = Utf32Str::new(&entry.name, &mut buffer);
        if let Some(score) = self.letters.indices(name, &mut self.matcher, &mut matched) {
            matched.sort_unstable();
            return Some((Some(score), matched));
        }
        self.words.iter().all(|word| entry.text.contains(word.as_str())).then_some((None, Vec::new()))
    }
}
