//! When the screen has to look at the clock: while something visible moves, and when something passes by itself.
//!
//! Owns every timer of the screen, as data. Leaves sleeping to `tui`. Invariant: while nothing moves and nothing
//! waits to pass, there is no wakeup at all.

use std::time::{Duration, Instant};

use super::{App, Attention, Movement, Phase};

/// Between two frames of a spinner.
const SPIN: Duration = Duration::from_millis(120);
/// Between two steps of a clock.
const SECOND: Duration = Duration::from_secs(1);

impl App {
    /// Returns when `Event::Wakeup` is due; `None` while nothing moves.
    #[must_use]
    pub fn next_wakeup(&self) -> Option<Instant> {
        let ticks = self.tick().map(|every| self.next_tick(every));
        let flash = self.flash.as_ref().map(|flash| flash.until);
        let armed = self.armed.map(|(_, until)| until);
        let chord = (!self.chord.is_empty()).then(|| self.chord_at + super::status::CONFIRM);
        let waiting = [self.typing.due(), self.approvals.guard.due()];
        [ticks, flash, armed, chord, self.next_fold()].into_iter().chain(waiting).flatten().min()
    }

    /// Returns the present frame of every spinner, which with reduced motion is always the same.
    #[must_use]
    pub fn spinner_frame(&self) -> usize {
        if self.motion == Movement::Reduced {
            return 0;
        }
        let frame = self.now.saturating_duration_since(self.born).as_millis() / SPIN.as_millis();
        usize::try_from(frame).unwrap_or(0)
    }

    /// Returns how often something visible changes by the clock alone.
    fn tick(&self) -> Option<Duration> {
        if self.attention == Attention::Elsewhere {
            return None;
        }
        let moving = |phase: Phase| matches!(phase, Phase::Starting | Phase::Thinking | Phase::Tool | Phase::Stopping);
        let counting = |phase: Phase| matches!(phase, Phase::RateLimited { .. } | Phase::Retrying { .. });
        let main = self.agents.main().phase;
        let phases = || self.agents.running().map(|agent| agent.phase);
        // A timeline has no spinner of its own: it moves by columns.
        let calm = self.shows_timeline() && !moving(main) && (phases().any(moving) || phases().any(counting));
        if calm && !self.wizard_waits() {
            Some(SECOND)
        } else if moving(main) || phases().any(moving) || self.wizard_waits() {
            Some(if self.motion == Movement::Reduced { SECOND } else { SPIN })
        } else if counting(main) || phases().any(counting) {
            Some(SECOND)
        } else {
            None
        }
    }

    fn next_tick(&self, every: Duration) -> Instant {
        let past = self.now.saturating_duration_since(self.born).as_millis() / every.as_millis();
        self.born + every * u32::try_from(past + 1).unwrap_or(u32::MAX)
    }

    /// Lets pass what passes by itself.
    pub(super) fn on_wakeup(&mut self) {
        let now = self.now;
        self.dirty |= self.tick().is_some();
        if self.flash.take_if(|flash| flash.until <= now).is_some() {
            self.dirty = true;
        }
        self.armed.take_if(|(_, until)| *until <= now);
        if !self.chord.is_empty() && self.chord_at + super::status::CONFIRM <= now {
            self.chord.clear();
            self.dirty = true;
        }
        // Panes whose time has come fold in the next frame.
        let linger = super::pane_state::LINGER;
        let folds = |at: Instant| at + linger <= now && now < at + linger + SECOND;
        self.dirty |= self.panes.values().filter_map(|state| state.seen_at).any(folds);
    }
}
