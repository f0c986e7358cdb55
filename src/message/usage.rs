//! Token counts.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens of one or more model requests, as the provider counted them.
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
}

impl Usage {
    /// Returns everything the model read: the size of the context of one request.
    #[must_use]
    pub fn context(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Returns the sum of all tokens.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.context() + self.output
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
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
