//! The clock of the screen: how often something visible changes by time alone.
//!
//! Owns ticks and the frame of spinners. Leaves sleeping to `tui`. Invariant: while nothing moves and nothing waits to
//! pass, there is no tick at all.

use std::time::{Duration, Instant};

use super::{Movement, Phase};

/// Between two frames of a spinner.
const SPIN: Duration = Duration::from_millis(120);
/// Between two steps of a clock.
pub(super) const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Clock {
    /// When the program began; spinners count from here.
    born: Instant,
    movement: Movement,
    /// Whether the user looks at the terminal.
    attended: bool,
}

/// How something on the screen changes by time alone; of several the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ticking {
    Still,
    /// A time is shown that passes.
    Counts,
    Spins,
}

impl Ticking {
    pub(super) fn of(phase: Phase) -> Self {
        match phase {
            phase if phase.spins() => Self::Spins,
            phase if phase.counts_down() => Self::Counts,
            _ => Self::Still,
        }
    }
}

impl Clock {
    /// Returns how long the program runs.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.born)
    }

    pub(super) fn new(born: Instant, movement: Movement) -> Self {
        Self { born, movement, attended: true }
    }

    pub(super) fn is_attended(&self) -> bool {
        self.attended
    }

    pub(super) fn set_attended(&mut self, attended: bool) {
        self.attended = attended;
    }

    /// Returns the present frame of every spinner, which with reduced motion is always the same.
    pub(super) fn spinner_frame(&self, now: Instant) -> usize {
        if self.movement == Movement::Reduced {
            return 0;
        }
        let frame = now.saturating_duration_since(self.born).as_millis() / SPIN.as_millis();
        usize::try_from(frame).unwrap_or(0)
    }

    /// Returns how often something visible changes by the clock alone: at most once a second while the user works in
    /// another window.
    pub(super) fn tick(&self, ticking: Ticking) -> Option<Duration> {
        match ticking {
            Ticking::Still => None,
            Ticking::Spins if self.movement == Movement::Full && self.attended => Some(SPIN),
            // The screen may still be watched, beside an editor.
            Ticking::Counts | Ticking::Spins => Some(SECOND),
        }
    }

    pub(super) fn next_tick(&self, every: Duration, now: Instant) -> Instant {
        let past = now.saturating_duration_since(self.born).as_millis() / every.as_millis();
        self.born + every * u32::try_from(past + 1).unwrap_or(u32::MAX)
    }
}
