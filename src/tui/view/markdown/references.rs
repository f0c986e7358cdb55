//! Links by reference: `[text][name]` in one block, and `[name]: address` in any other.
//!
//! Owns the addresses of a whole text, and which of its parts looked one up. Leaves reading both to `blocks`.
//! Invariants: of several addresses of a name the first one holds; a part that looked up what has changed since is known
//! by where it begins, and all others stay as they are.

use std::collections::BTreeMap;

use super::Mark;

/// A name, in the spelling that all its spellings share, and the address that was found for it.
pub(super) type LookedUp = (String, Option<String>);

#[derive(Debug, Default)]
pub(super) struct References {
    /// Those in parts that are laid out for good.
    fixed: BTreeMap<String, String>,
    /// Those at the end of the text, which may still change.
    latest: BTreeMap<String, String>,
    /// What was looked up, in the order of the parts.
    uses: Vec<(Mark, LookedUp)>,
    /// Whether an address came, went or changed since parts were last asked for that it concerns.
    changed: bool,
}

impl References {
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.fixed(name).or_else(|| self.latest.get(name).map(String::as_str))
    }

    /// Returns the address of a name that no later text changes.
    pub(super) fn fixed(&self, name: &str) -> Option<&str> {
        self.fixed.get(name).map(String::as_str)
    }

    /// Takes in what a part that is laid out for good names and looked up.
    pub(super) fn fix(&mut self, part: Mark, defined: Vec<(String, String)>, looked_up: Vec<LookedUp>) {
        for (name, address) in defined {
            self.fixed.entry(name).or_insert_with(|| {
                self.changed = true;
                address
            });
        }
        self.uses.extend(looked_up.into_iter().map(|use_| (part, use_)));
    }

    pub(super) fn replace_latest(&mut self, defined: Vec<(String, String)>) {
        let mut latest = BTreeMap::new();
        for (name, address) in defined {
            latest.entry(name).or_insert(address);
        }
        self.changed |= latest != self.latest;
        self.latest = latest;
    }

    /// Returns where the first part begins that looked up something else than what holds now, and forgets what it and
    /// those behind it looked up.
    pub(super) fn outdated(&mut self) -> Option<Mark> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let is_old = |(_, (name, found)): &&(Mark, LookedUp)| self.find(name) != found.as_deref();
        let first = self.uses.iter().find(is_old).map(|(part, _)| *part)?;
        self.uses.truncate(self.uses.partition_point(|(part, _)| part.bytes < first.bytes));
        Some(first)
    }
}

/// Returns the spelling of a name that all its spellings share.
pub(super) fn name_of(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
