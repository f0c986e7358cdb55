//! How hard a model shall think.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How hard a model shall think, as the services name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    Low,
    Medium,
    High,
    /// More than thorough.
    XHigh,
    /// As much as the model can.
    Max,
}

impl Effort {
    /// All, from the least to the most.
    pub const ALL: [Self; 5] = [Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max];

    /// Returns the name that files and services use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl FromStr for Effort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|effort| effort.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| format!("`{text}` is not an effort; write low, medium, high, xhigh or max"))
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
