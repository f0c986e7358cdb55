//! The rows of the list of agents: by tier, and those that a search leaves.
//!
//! Owns what matches. Leaves the choice among the rows to `view`. Invariant: an agent stands below the heading of its
//! tier, and a tier without a row of its own has no agent that matches.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use crate::definition::{Listed, Tier};
use crate::message::plain_line;

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// The heading of a tier.
    Tier(Tier),
    /// A tier without agents.
    Vacant(Tier),
    /// An agent.
    Agent {
        /// Its place in the listing.
        index: usize,
        /// Places of the sought letters in its name, counted in graphemes.
        matched: Vec<u32>,
    },
}

/// Rows, and the one that matches best.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    pub(super) best: Option<usize>,
}

/// Returns the rows that match the query; all of them, and the vacant tiers, for an empty query.
pub(super) fn find(listing: &[Listed], query: &str) -> Found {
    let mut sought = Sought::new(query);
    let mut found = Found::default();
    let mut best = None;
    for tier in Tier::ALL {
        let heading = found.rows.len();
        found.rows.push(Row::Tier(tier));
        for (index, listed) in listing.iter().enumerate().filter(|(_, listed)| listed.source.tier == tier) {
            let Some((score, matched)) = sought.look_at(listed) else { continue };
            if best.is_none_or(|best| score > best) {
                best = Some(score);
                found.best = Some(found.rows.len());
            }
            found.rows.push(Row::Agent { index, matched });
        }
        if found.rows.len() == heading + 1 {
            found.rows.pop();
            if query.is_empty() && tier != Tier::CommandLine {
                found.rows.push(Row::Vacant(tier));
            }
        }
    }
    found
}

/// What is sought: its letters in order in a name, or its words anywhere in name and description.
struct Sought {
    name: Pattern,
    words: Pattern,
    matcher: Matcher,
}

/// How well an agent matches: a name weighs more than a description.
type Score = (u8, u32);

impl Sought {
    fn new(query: &str) -> Self {
        let words = Pattern::new(query, CaseMatching::Ignore, Normalization::Smart, AtomKind::Substring);
        let name = Pattern::parse(query, CaseMatching::Ignore, Normalization::Smart);
        Self { name, words, matcher: Matcher::new(Config::DEFAULT) }
    }

    fn look_at(&mut self, listed: &Listed) -> Option<(Score, Vec<u32>)> {
        let name = listed.name();
        let name = plain_line(&name);
        let (mut buffer, mut matched) = (Vec::new(), Vec::new());
        let text = Utf32Str::new(&name, &mut buffer);
        if let Some(score) = self.name.indices(text, &mut self.matcher, &mut matched) {
            matched.sort_unstable();
            return Some(((1, score), matched));
        }
        let about = listed.definition.as_ref().map(|definition| definition.description.as_str());
        let about = about.or_else(|| Some(listed.diagnostics.first()?.message.as_str())).unwrap_or_default();
        let whole = format!("{name} {about}");
        let score = self.words.score(Utf32Str::new(&whole, &mut buffer), &mut self.matcher)?;
        Some(((0, score), Vec::new()))
    }
}
