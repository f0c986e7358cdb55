//! The books of a budget: what was spent, what requests under way may still use, what is kept for last turns.
//!
//! Owns the decision whether a request may be sent. Leaves waiting to `reservation` and the size of requests to `estimator`.
//! Invariants: what is granted fits into what is left, so that spent, under way and kept together never pass a limit as
//! long as no request uses more than it asked for; who came first is served first; nobody waits for nothing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::message::{BudgetLimit, Usage};
use crate::provider::Price;

/// A reply shorter than this is not worth a request, in tokens.
pub const LEAST_OUTPUT: u64 = 1_000;
/// A reply may always be this long while others wait, in tokens. One that may be longer gets a share of what is left.
pub const AMPLE_OUTPUT: u64 = 8_000;
/// Kept for the report that an agent writes in its last turn, in tokens.
pub const LAST_OUTPUT: u64 = 2_000;
/// Kept for what tools still add before a last turn, in tokens.
pub const LAST_INPUT: u64 = 3_000;
/// One request gets at most one part in so many of what is left for its reply.
const SHARES: u64 = 4;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Amount {
    pub tokens: u64,
    pub usd: f64,
    /// Whether any of it is an estimate.
    pub estimated: bool,
    /// Whether there is more that nobody knows.
    pub unknown: bool,
}

impl Amount {
    /// Returns what stands before it, as [`crate::message::Usage::mark`] says.
    pub fn mark(&self) -> &'static str {
        Usage { estimated: self.estimated, unknown: self.unknown, ..Usage::default() }.mark()
    }

    fn add(&mut self, other: Self) {
        self.estimated |= other.estimated;
        self.unknown |= other.unknown;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.usd += other.usd;
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        let mut sum = Self::default();
        amounts.for_each(|amount| sum.add(amount));
        sum
    }
}

/// Which agent of the tree spends. It keeps its number for one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReservationId(u64);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To get on with the work. There has to be enough left for the agent's last turn as well.
    #[default]
    Work,
    LastTurn,
}

/// The size of a request before it is sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ask {
    /// Most tokens that it sends.
    pub input: u64,
    /// Most tokens of the reply, as the model allows.
    pub cap: u64,
    pub price: Option<Price>,
    pub purpose: Purpose,
}

impl Ask {
    fn amount(&self, output: u64) -> Amount {
        amount(self.input, output, self.price)
    }

    /// Returns the least that has to be left for it, with the report after it.
    pub fn least(&self) -> Amount {
        let output = self.least_output();
        [self.amount(output), self.kept(output)].into_iter().sum()
    }

    fn least_output(&self) -> u64 {
        self.cap.clamp(1, LEAST_OUTPUT)
    }

    /// Returns what is kept for the agent's last turn if the reply is this long.
    fn kept(&self, output: u64) -> Amount {
        match self.purpose {
            Purpose::Work => kept_after(self.input.saturating_add(output), self.price),
            Purpose::LastTurn => Amount::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetVerdict {
    Granted {
        /// Most tokens of the reply.
        output: u64,
    },
    /// It may fit once requests under way are done.
    Wait {
        /// How many requests are before it.
        ahead: u32,
    },
    /// It does not fit, whatever the others do.
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    /// Tokens; `None` without a limit.
    pub tokens: Option<u64>,
    /// US dollars; `None` without a limit.
    pub usd: Option<f64>,
}

/// A warning that the user gets once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// Four fifths are spent.
    Nearly,
    UsedUp,
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// By the request under way.
    request: Amount,
    last_turn: Amount,
}

/// The books of one session.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    limit: BudgetLimit,
    spent: Amount,
    seats: BTreeMap<ReservationId, Held>,
    queue: VecDeque<ReservationId>,
    next: u64,
    warned: BTreeSet<Warning>,
    /// Models whose price is not known, of which that was said.
    unpriced: BTreeSet<String>,
    /// Programs that do not say what they use, of which that was said.
    silent: BTreeSet<String>,
}

impl Ledger {
    #[must_use]
    pub fn new(limit: BudgetLimit) -> Self {
        Self { limit, ..Self::default() }
    }

    pub fn limit(&self) -> BudgetLimit {
        self.limit
    }

    pub fn spent(&self) -> Amount {
        self.spent
    }

    /// Counts what was used before the books were opened.
    pub fn set_spent(&mut self, spent: Amount) {
        self.spent = spent;
    }

    /// Counts what was used without asking.
    pub fn count(&mut self, used: Amount) {
        self.spent.add(used);
    }

    /// Returns what requests under way may use.
    pub fn reserved(&self) -> Amount {
        self.seats.values().map(|held| held.request).sum()
    }

    /// Returns what is kept for last turns.
    pub fn kept(&self) -> Amount {
        self.seats.values().map(|held| held.last_turn).sum()
    }

    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Returns what is not spent yet.
    pub fn left(&self) -> Left {
        Left {
            tokens: self.limit.tokens.map(|limit| limit.saturating_sub(self.spent.tokens)),
            usd: self.limit.usd.map(|limit| (f64::from(limit) - self.spent.usd).max(0.0)),
        }
    }

    /// Changes the limits. What was said about the old ones may be said again.
    pub fn set_limit(&mut self, limit: BudgetLimit) {
        self.limit = limit;
        self.warned.clear();
    }

    /// Gives an agent a place for one run.
    pub fn enter(&mut self) -> ReservationId {
        self.next += 1;
        let reservation = ReservationId(self.next);
        self.seats.insert(reservation, Held::default());
        reservation
    }

    /// Takes the place back, with all that is held for it.
    pub fn leave(&mut self, reservation: ReservationId) {
        self.seats.remove(&reservation);
        self.give_up(reservation);
    }

    /// Takes a request back that waits.
    pub fn give_up(&mut self, reservation: ReservationId) {
        self.queue.retain(|waiting| *waiting != reservation);
    }

    /// Decides about a request. One that has to wait asks again after each change.
    pub fn ask(&mut self, reservation: ReservationId, ask: &Ask) -> BudgetVerdict {
        let others = || self.seats.iter().filter(|(id, _)| **id != reservation).map(|(_, held)| held);
        let kept: Amount = others().map(|held| held.last_turn).sum();
        let under_way: Amount = others().map(|held| held.request).sum();
        let both: Amount = [kept, under_way].into_iter().sum();
        let (now, later) = (self.most_output(ask, both), self.most_output(ask, kept));
        let is_first = self.queue.front().is_none_or(|first| *first == reservation) || ask.purpose == Purpose::LastTurn;
        if is_first && now >= ask.cap.min(AMPLE_OUTPUT) {
            return self.grant(reservation, ask, ask.cap.min((now / SHARES).max(AMPLE_OUTPUT)));
        }
        if later < ask.least_output() {
            self.give_up(reservation);
            return BudgetVerdict::Refused;
        }
        if under_way.tokens > 0 || !is_first {
            return BudgetVerdict::Wait { ahead: self.wait(reservation, ask.purpose) };
        }
        self.grant(reservation, ask, now)
    }

    fn grant(&mut self, reservation: ReservationId, ask: &Ask, output: u64) -> BudgetVerdict {
        self.give_up(reservation);
        self.seats.insert(reservation, Held { request: ask.amount(output), last_turn: ask.kept(output) });
        BudgetVerdict::Granted { output }
    }

    /// Counts the request among those that wait and returns how many are before it.
    fn wait(&mut self, reservation: ReservationId, purpose: Purpose) -> u32 {
        let at = self.queue.iter().position(|waiting| *waiting == reservation);
        let at = at.unwrap_or_else(|| match purpose {
            Purpose::Work => {
                self.queue.push_back(reservation);
                self.queue.len() - 1
            }
            // What it needs was kept for it.
            Purpose::LastTurn => {
                self.queue.push_front(reservation);
                0
            }
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns the longest reply that fits if the others have taken this much.
    fn most_output(&self, ask: &Ask, taken: Amount) -> u64 {
        let of_tokens = self.limit.tokens.map(|limit| {
            let left = limit.saturating_sub(self.spent.tokens).saturating_sub(taken.tokens);
            match ask.purpose {
                // The reply is read once more in the last turn.
                Purpose::Work => {
                    let last = LAST_INPUT + LAST_OUTPUT;
                    left.saturating_sub(ask.input.saturating_mul(2)).saturating_sub(last) / 2
                }
                Purpose::LastTurn => left.saturating_sub(ask.input),
            }
        });
        let of_usd = self.limit.usd.zip(ask.price).map(|(limit, price)| {
            let left = f64::from(limit) - self.spent.usd - taken.usd;
            let fixed: Amount = [ask.amount(0), ask.kept(0)].into_iter().sum();
            let each = match ask.purpose {
                Purpose::Work => price.output + dearest_input(price),
                Purpose::LastTurn => price.output,
            };
            longest((left - fixed.usd) * 1e6, each)
        });
        [of_tokens, of_usd].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// Books what the request under way has used. `context` is the size that the conversation has now, in tokens.
    pub fn settle(&mut self, reservation: ReservationId, used: Amount, context: u64, ask: &Ask) {
        self.spent.add(used);
        let last_turn = match ask.purpose {
            Purpose::Work => kept_after(context, ask.price),
            Purpose::LastTurn => Amount::default(),
        };
        if let Some(held) = self.seats.get_mut(&reservation) {
            *held = Held { request: Amount::default(), last_turn };
        }
    }

    /// Books what a failed attempt has used, and holds as much as before for the next one if that still fits.
    pub fn again(&mut self, reservation: ReservationId, used: Amount) -> BudgetVerdict {
        self.spent.add(used);
        let all: Amount = [self.spent, self.reserved(), self.kept()].into_iter().sum();
        let fits = self.limit.tokens.is_none_or(|limit| all.tokens <= limit)
            && self.limit.usd.is_none_or(|limit| all.usd <= f64::from(limit) + ROUNDING);
        let Some(held) = self.seats.get_mut(&reservation) else { return BudgetVerdict::Refused };
        if fits || used == Amount::default() {
            return BudgetVerdict::Granted { output: 0 };
        }
        held.request = Amount::default();
        BudgetVerdict::Refused
    }

    /// Returns the warning that is due now and was not given before.
    pub fn warning(&mut self) -> Option<Warning> {
        let tokens = self.limit.tokens.is_some_and(|limit| self.spent.tokens >= limit - limit / 5);
        let usd = self.limit.usd.is_some_and(|limit| self.spent.usd >= f64::from(limit) * 0.8);
        ((tokens || usd) && self.mark_warned(Warning::Nearly)).then_some(Warning::Nearly)
    }

    /// Returns `true` if something was not said before, and notes that it is now.
    pub fn mark_warned(&mut self, warning: Warning) -> bool {
        self.warned.insert(warning)
    }

    /// Returns `true` at the first call for a model whose price is not known, which a limit in dollars cannot count.
    pub fn mark_uncounted(&mut self, model: &str) -> bool {
        self.limit.usd.is_some() && self.unpriced.insert(model.to_owned())
    }

    /// Returns `true` at the first call for a program that does not say what it uses, which no limit can count.
    pub fn mark_silent(&mut self, program: &str) -> bool {
        !self.limit.is_none() && self.silent.insert(program.to_owned())
    }
}

/// Far less than a token costs.
const ROUNDING: f64 = 1e-9;

fn amount(input: u64, output: u64, price: Option<Price>) -> Amount {
    let usd = price.map_or(0.0, |price| (float(input) * dearest_input(price) + float(output) * price.output) / 1e6);
    Amount { tokens: input.saturating_add(output), usd, ..Amount::default() }
}

/// Returns what is kept for the last turn of a conversation of this size.
fn kept_after(context: u64, price: Option<Price>) -> Amount {
    amount(context.saturating_add(LAST_INPUT), LAST_OUTPUT, price)
}

/// Whether a service finds a prompt in its cache is not known before.
fn dearest_input(price: Price) -> f64 {
    price.input.max(price.cache_read).max(price.cache_write)
}

/// Returns how many tokens this many millionths of a dollar pay for.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
fn longest(left: f64, each: f64) -> u64 {
    if each > 0.0 { (left / each) as u64 } else { u64::MAX }
}

#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
fn float(tokens: u64) -> f64 {
    tokens as f64
}
