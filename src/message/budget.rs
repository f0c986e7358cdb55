//! The most that the agents of a session may use together, and how people write and read it.
//!
//! Owns the two limits and their spelling. Leaves keeping them to `agent`. Invariant: a limit that is set is more than
//! nothing; no limit is `None`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most that can be written, far more than anyone pays for.
const MOST: f64 = 1e12;

/// The most that all agents of a session may use together. `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLimit {
    /// Tokens, read and written, cached ones included.
    pub tokens: Option<u64>,
    pub usd: Option<Dollars>,
}

impl BudgetLimit {
    /// Returns the limits that the words ask for, given what is spent: `500k` or `$2` sets one, both may be named,
    /// `+200k` or `+$1` is that much from now on, and `off` lifts both. On failure, returns what can be written
    /// instead.
    pub fn changed(self, words: &str, spent_tokens: u64, spent_usd: f64) -> Result<Self, String> {
        if matches!(words.trim(), "off" | "none" | "unlimited") {
            return Ok(Self::default());
        }
        let mut changed = self;
        for word in words.split_whitespace() {
            let (more, amount) = word.strip_prefix('+').map_or((None, word), |amount| (Some(()), amount));
            if amount.starts_with('$') {
                let usd: Dollars = amount.parse()?;
                changed.usd = Some(more.map_or(usd, |()| Dollars::from(f64::from(usd) + spent_usd)));
            } else {
                let tokens = parse_tokens(amount)?;
                changed.tokens = Some(more.map_or(tokens, |()| tokens + spent_tokens));
            }
        }
        Ok(changed)
    }

    pub fn is_none(&self) -> bool {
        self.tokens.is_none() && self.usd.is_none()
    }
}

/// An amount of US dollars, exact to a millionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Dollars(u64);

impl Dollars {
    #[must_use]
    pub fn millionths(self) -> u64 {
        self.0
    }
}

impl From<f64> for Dollars {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    fn from(amount: f64) -> Self {
        Self((amount.clamp(0.0, MOST) * 1e6).round() as u64)
    }
}

impl From<Dollars> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 for what anyone pays")]
    fn from(amount: Dollars) -> Self {
        amount.0 as Self / 1e6
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = f64::from(*self);
        // Less than a cent is more than nothing.
        if self.0.is_multiple_of(10_000) { write!(f, "${amount:.2}") } else { write!(f, "${amount}") }
    }
}

impl FromStr for Dollars {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim();
        let digits = digits.strip_prefix('$').unwrap_or(digits).trim();
        match number(digits).map(Self::from) {
            Some(amount) if amount.0 > 0 => Ok(amount),
            _ => Err(format!("`{text}` is not an amount of US dollars above 0; write 5, 2.50 or $0.75")),
        }
    }
}

/// Reads a number of tokens such as `200000`, `200_000`, `200k` or `1.5M`. On failure, returns what can be written
/// instead.
pub fn parse_tokens(text: &str) -> Result<u64, String> {
    let digits = text.trim();
    let (digits, times) = match digits.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&digits[..at], 1e3),
        Some((at, 'm' | 'M')) => (&digits[..at], 1e6),
        _ => (digits, 1.0),
    };
    match number(digits.trim_end()).map(|number| (number * times).round()) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 1 and 10^12")]
        Some(tokens) if (1.0..=MOST).contains(&tokens) => Ok(tokens as u64),
        _ => Err(format!("`{text}` is not a number of tokens above 0; write 200000, 200k or 1.5M")),
    }
}

/// Reads digits with at most one point, and `_` between them.
fn number(digits: &str) -> Option<f64> {
    let is_plain = digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '_'));
    let digits = digits.replace('_', "");
    digits.parse().ok().filter(|number: &f64| is_plain && *number <= MOST)
}
