//! Token counts.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

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
    /// Whether any of it is an estimate.
    #[serde(default, skip_serializing_if = "is_false")]
    pub estimated: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

impl Usage {
    /// Returns everything the model read: the size of the context of one request.
    pub fn context(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    pub fn total(&self) -> u64 {
        self.context() + self.output
    }

    /// Returns what stands before a figure that follows from it: `~` if any of it is an estimate.
    pub fn mark(&self) -> &'static str {
        if self.estimated { "~" } else { "" }
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            estimated: self.estimated || other.estimated,
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
