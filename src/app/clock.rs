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

pub(super) struct Moving<'a> {
    pub(super) main: Phase,
    pub(super) phases: &'a [Phase],
    /// Whether they are shown as a timeline, which has no spinner: it moves by columns.
    pub(super) as_timeline: bool,
    pub(super) wizard: bool,
}

impl Clock {
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

    /// Returns how often something visible changes by the clock alone.
    pub(super) fn tick(&self, moving: &Moving<'_>) -> Option<Duration> {
        if !self.attended {
            return None;
        }
        let spins = |phase: &Phase| phase.spins();
        let counts = |phase: &Phase| phase.counts_down();
        let any = |is: fn(&Phase) -> bool| moving.phases.iter().any(is);
        let calm = moving.as_timeline && !spins(&moving.main) && (any(spins) || any(counts));
        if calm && !moving.wizard {
            Some(SECOND)
        } else if spins(&moving.main) || any(spins) || moving.wizard {
            Some(if self.movement == Movement::Reduced { SECOND } else { SPIN })
        } else if counts(&moving.main) || any(counts) {
            Some(SECOND)
        } else {
            None
        }
    }

    pub(super) fn next_tick(&self, every: Duration, now: Instant) -> Instant {
        let past = now.saturating_duration_since(self.born).as_millis() / every.as_millis();
        self.born + every * u32::try_from(past + 1).unwrap_or(u32::MAX)
    }
}
