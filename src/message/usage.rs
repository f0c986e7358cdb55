//! Token counts, their cost, and the sums of a session.
//!
//! Owns that a price that is not known makes no sum look whole. Leaves which events count to `agent`, and how a sum is
//! spelled to the front ends.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use super::{AgentId, BudgetLimit};

/// Tokens of one or more model requests, as the provider counted them, or as they were estimated where it did not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from the provider's prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's prompt cache.
    pub cache_write: u64,
    /// Of these, tokens that the cache keeps for an hour, which cost more.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cache_write_hour: u64,
    /// Searches that the provider did itself.
    #[serde(default, skip_serializing_if = "is_none")]
    pub searches: u64,
    /// Whether any of it is an estimate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Whether more was used of which nothing is known: by another agent program that does not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference to the field")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Returns everything the model read: the size of the context of one request.
    pub fn context(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    pub fn total(&self) -> u64 {
        self.context().saturating_add(self.output)
    }

    /// Returns `true` if something was used and nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        self.unknown && self.total() == 0
    }

    /// Returns what stands before a figure that follows from it: `≥` if there is more that is not known, `~` if any of it is
    /// an estimate.
    pub fn mark(&self) -> &'static str {
        match (self.unknown, self.estimated) {
            (true, _) => "≥",
            (false, true) => "~",
            (false, false) => "",
        }
    }

    /// Spells all its tokens with their mark, such as `~5.4k`; `unknown` where nothing is known of them.
    pub fn spelled(&self, spell: impl FnOnce(u64) -> String) -> String {
        if self.is_unknown() { "unknown".to_owned() } else { format!("{}{}", self.mark(), spell(self.total())) }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            // Other programs may say any number.
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_hour: self.cache_write_hour.saturating_add(other.cache_write_hour),
            searches: self.searches.saturating_add(other.searches),
            estimated: self.estimated || other.estimated,
            unknown: self.unknown || other.unknown,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What was used, and what it cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    pub usage: Usage,
    /// US dollars of what has a known price; `None` if nothing of it has.
    pub cost_usd: Option<f64>,
    /// Tokens whose price is not known.
    pub unpriced: u64,
    /// Whether there is more of which neither tokens nor cost are known.
    pub uncounted: bool,
}

impl Spent {
    /// Returns what one request, or one run, has used.
    #[must_use]
    pub fn new(usage: Usage, cost_usd: Option<f64>) -> Self {
        let unpriced = if cost_usd.is_none() { usage.total() } else { 0 };
        Self { usage, cost_usd, unpriced, uncounted: usage.unknown && cost_usd.is_none() }
    }

    pub fn add(&mut self, other: &Self) {
        self.usage += other.usage;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (one, more) => Some(one.unwrap_or(0.0) + more.unwrap_or(0.0)),
        };
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.uncounted |= other.uncounted;
    }

    pub fn is_nothing(&self) -> bool {
        self.usage.total() == 0 && !self.usage.unknown
    }

    /// Returns `true` if the cost leaves something out.
    pub fn is_partly_priced(&self) -> bool {
        self.unpriced > 0 || self.uncounted
    }

    /// Returns the money where it is known of all that was used.
    pub fn whole_cost(&self) -> Option<f64> {
        self.cost_usd.filter(|_| !self.is_partly_priced())
    }

    /// Returns the tokens and the US dollars that are left of a limit, where there is one.
    pub fn left_of(&self, limit: BudgetLimit) -> (Option<u64>, Option<f64>) {
        let cost = self.cost_usd.unwrap_or(0.0);
        let tokens = limit.tokens.map(|limit| limit.saturating_sub(self.usage.total()));
        (tokens, limit.usd.map(|limit| (f64::from(limit) - cost).max(0.0)))
    }
}

/// What the agents of a session have used, and what they may use together.
#[derive(Debug, Clone, Default)]
pub struct UsageTable {
    begun: BTreeSet<AgentId>,
    agents: BTreeMap<AgentId, Spent>,
    total: Spent,
    limit: BudgetLimit,
}

impl UsageTable {
    pub fn begin(&mut self, agent: AgentId) {
        self.begun.insert(agent);
    }

    pub fn add(&mut self, agent: AgentId, spent: &Spent) {
        self.agents.entry(agent).or_default().add(spent);
        self.total.add(spent);
    }

    pub fn set_limit(&mut self, limit: BudgetLimit) {
        self.limit = limit;
    }

    /// Returns how many agents have begun.
    pub fn begun(&self) -> usize {
        self.begun.len()
    }

    /// Returns what each agent that has sent a request has used.
    pub fn agents(&self) -> impl Iterator<Item = (AgentId, &Spent)> {
        self.agents.iter().map(|(agent, spent)| (*agent, spent))
    }

    pub fn total(&self) -> &Spent {
        &self.total
    }

    pub fn limit(&self) -> BudgetLimit {
        self.limit
    }
}
