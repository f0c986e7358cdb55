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

    /// Reads what a user chooses: an effort, or `default`, which leaves it to files, settings and the service.
    ///
    /// # Errors
    /// Returns what can be chosen.
    pub fn choice(text: &str) -> Result<Option<Self>, String> {
        match text.trim().to_ascii_lowercase().as_str() {
            "default" | "auto" => Ok(None),
            word => word
                .parse()
                .map(Some)
                .map_err(|_| format!("`{word}` is not an effort; write low, medium, high, xhigh, max or default")),
        }
    }

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

/// A wish for an effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffortWish {
    pub level: Effort,
    /// Whether it is the user's word to this program. Then a model is told of which nobody knows whether it takes one.
    pub is_explicit: bool,
}

impl From<Effort> for EffortWish {
    fn from(level: Effort) -> Self {
        Self { level, is_explicit: false }
    }
}

/// How a model shall think: how hard, and with how many tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reasoning {
    pub effort: Option<EffortWish>,
    /// The tokens of one answer that may be thought, for models that are told their number; 0 for none, which stops others
    /// from thinking, too. `None` leaves it to the effort.
    pub tokens: Option<u32>,
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
