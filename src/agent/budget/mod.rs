//! The budget of a session: what all its agents together may use, in tokens and in US dollars.
//!
//! Owns the shared books and what is said about them. Leaves the decision about each request to `ledger`, its size to
//! `estimator` and the waiting to `reservation`. Invariant: a request that would pass a limit is not sent, as far as its size can be
//! known before; what the books call spent is what the events of the session say.

pub(super) mod estimator;
pub mod ledger;
mod reservation;
mod spent;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::message::{BudgetLimit, Dollars, Spent, grouped, sanitize_line};
use ledger::{Amount, Ask, Ledger, Left};
pub(super) use reservation::{BudgetReservation, Reserved};

const HOW_TO_RAISE: &str = "/budget, --budget-tokens or --budget-usd";

/// The budget of a session; clones share it. Without limits it only counts.
#[derive(Debug, Clone, Default)]
pub struct Budget(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    ledger: Mutex<Ledger>,
    /// Notified of each change that may let a request go.
    changed: Notify,
}

impl Budget {
    /// Returns a budget of which nothing is spent.
    #[must_use]
    pub fn new(limit: BudgetLimit) -> Self {
        Self(Arc::new(Shared { ledger: Mutex::new(Ledger::new(limit)), changed: Notify::new() }))
    }

    pub fn limit(&self) -> BudgetLimit {
        self.ledger().limit()
    }

    pub fn spent(&self) -> Amount {
        self.ledger().spent()
    }

    /// Counts what was used before the program began.
    pub fn set_spent(&self, spent: &Spent) {
        self.ledger().set_spent(amount_of(spent));
    }

    /// Counts what another program has used without asking. Returns what the user has to know: that a limit is near, or that
    /// this program is not counted.
    pub(super) fn count(&self, program: &str, spent: &Spent) -> Vec<String> {
        let (warning, is_new) = {
            let mut ledger = self.ledger();
            ledger.count(amount_of(spent));
            (ledger.warning(), spent.usage.unknown && ledger.mark_silent(program))
        };
        self.0.changed.notify_waiters();
        let program = sanitize_line(program);
        let silent = || format!("What {program} has used is not known, and no budget counts it.");
        warning.map(|_| self.nearly()).into_iter().chain(is_new.then(silent)).collect()
    }

    /// Says that nothing is left, if so, and what to do about it.
    pub(super) fn used_up(&self) -> Option<String> {
        let Left { tokens, usd } = self.left();
        let is_over = tokens == Some(0) || usd.is_some_and(|usd| usd <= 0.0);
        let words = || format!("No budget left: {} spent. Raise it with {HOW_TO_RAISE}.", self.account());
        is_over.then(words)
    }

    pub fn left(&self) -> Left {
        self.ledger().left()
    }

    /// Changes the limits, for every request from now on, those that wait too.
    pub fn set_limit(&self, limit: BudgetLimit) {
        self.ledger().set_limit(limit);
        self.0.changed.notify_waiters();
    }

    /// Says why a request of this size was refused, and what to do about it.
    fn refusal(&self, ask: &Ask) -> String {
        let (limit, least) = (self.limit(), ask.least());
        let tokens = limit.tokens.map(|_| format!("{} tokens", grouped(least.tokens.next_multiple_of(100))));
        let usd = limit.usd.map(|_| Dollars::from((least.usd * 100.0).ceil() / 100.0).to_string());
        let needs: Vec<String> = [tokens, usd].into_iter().flatten().collect();
        let needs = match needs.as_slice() {
            [] => String::new(),
            needs => format!(", the next one needs about {}", needs.join(" and ")),
        };
        let held = if self.ledger().reserved().tokens > 0 { ", running requests hold the rest" } else { "" };
        format!(
            "Not enough budget left for another request: {} spent{held}{needs}. Raise it with {HOW_TO_RAISE}.",
            self.account()
        )
    }

    /// Says that the limit is near, or behind.
    fn nearly(&self) -> String {
        let account = self.account();
        match self.percent() {
            0..=100 => format!(
                "Over 80% of the budget is used: {account}. At the limit every agent reports in one last turn and \
                 stops; /budget raises it."
            ),
            percent => format!("Over budget ({percent}%): {account}. Every agent stops; /budget raises it."),
        }
    }

    /// Returns how much of the limit that is nearer is spent, in whole percent.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    fn percent(&self) -> u64 {
        let ledger = self.ledger();
        let (limit, spent) = (ledger.limit(), ledger.spent());
        let tokens = limit.tokens.map(|limit| spent.tokens as f64 / limit as f64);
        let usd = limit.usd.map(|limit| spent.usd / f64::from(limit));
        (tokens.into_iter().chain(usd).fold(0.0, f64::max) * 100.0) as u64
    }

    /// Says what was spent of each limit, such as `161,200 of 200,000 tokens`.
    fn account(&self) -> String {
        let (limit, spent) = {
            let ledger = self.ledger();
            (ledger.limit(), ledger.spent())
        };
        let mark = spent.mark();
        let tokens = limit.tokens.map(|limit| format!("{mark}{} of {} tokens", grouped(spent.tokens), grouped(limit)));
        let usd = limit.usd.map(|limit| format!("{mark}{} of {limit}", Dollars::from(cents(spent.usd))));
        let parts: Vec<String> = [tokens, usd].into_iter().flatten().collect();
        if parts.is_empty() { format!("{mark}{} tokens", grouped(spent.tokens)) } else { parts.join(" and ") }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.0.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn amount_of(spent: &Spent) -> Amount {
    let Spent { usage, cost_usd, .. } = spent;
    Amount { tokens: usage.total(), usd: cost_usd.unwrap_or(0.0), estimated: usage.estimated, unknown: usage.unknown }
}

fn cents(amount: f64) -> f64 {
    (amount * 100.0).round() / 100.0
}
