//! Identity of agents and of messages within one session.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of an agent: 0 is the main agent, subagents count from 1 in the order they were spawned.
///
/// Numbers are never reused within a session; they are what a pane shows and what `@3` addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentId(pub u32);

impl AgentId {
    pub const MAIN: Self = Self(0);

    #[must_use]
    pub fn is_main(self) -> bool {
        self == Self::MAIN
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_main() { f.write_str("main") } else { write!(f, "{}", self.0) }
    }
}

/// Number of a message of the user, by which the event that it was read is known to be about it: two messages may read
/// alike, and one may be contained in another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);
