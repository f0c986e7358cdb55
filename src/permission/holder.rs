//! Whom a grant holds for.

use serde::{Deserialize, Serialize};

use crate::message::sanitize_line;

/// Whom a grant holds for. An answer holds for the kind of agent that asked, in this session and its children spawned
/// later; what the user names in advance holds for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Holder {
    #[default]
    Everyone,
    /// The main agent, where it works as no definition.
    Main,
    Agents {
        name: String,
        /// Its file, or what it is part of: a file of the same name elsewhere is another definition.
        source: String,
    },
}

impl Holder {
    pub(super) fn includes(&self, asker: &Self) -> bool {
        *self == Self::Everyone || self == asker
    }

    pub fn is_everyone(&self) -> bool {
        *self == Self::Everyone
    }

    pub fn words(&self) -> String {
        match self {
            Self::Everyone => "all agents".to_owned(),
            Self::Main => "the main agent".to_owned(),
            Self::Agents { name, .. } => format!("{} agents", sanitize_line(name)),
        }
    }
}
