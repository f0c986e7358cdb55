//! Playing a recorded session into the app.
//!
//! Owns where the replay is, and which records come when: the app takes in the events of a session as if it ran, with the
//! time at which they happened. Leaves the terminal and the clock on the wall to `run`, and what is shown to `app`.
//! Invariants: time goes as it was recorded, whatever the speed; an earlier moment is reached by taking in all events
//! again, so that every moment has one state only; records are read and nothing else is.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use jiff::Timestamp;

use crate::agent::LogEvent;
use crate::app::timeline::{Playback, PlaybackRequest, PlaybackSpeed};
use crate::app::{App, Event, Setup};
use crate::session::MergedRecords;

/// Time without an event that is not waited for, and what is left of it.
const SILENCE: Duration = Duration::from_secs(5);
const SHORTENED: Duration = Duration::from_secs(1);
/// The longest that one frame goes on: a terminal that was stopped does not jump.
const MAX_STEP: Duration = Duration::from_millis(250);

/// A recorded session, and where its replay is.
#[derive(Debug)]
pub struct Player {
    dir: PathBuf,
    /// What stands for the first event.
    base: Instant,
    start: Timestamp,
    records: MergedRecords,
    next: Option<(Duration, Arc<LogEvent>)>,
    playback: Playback,
}

impl Player {
    /// Opens the session in `dir` and shows its beginning. Blocks. Returns an error if there is nothing to play.
    pub fn open(dir: &Path, setup: Setup, speed: PlaybackSpeed) -> Result<(Self, App)> {
        let records = MergedRecords::of_session(dir)?;
        let playback = Playback { position: Duration::ZERO, length: Duration::ZERO, speed, is_playing: true };
        let mut player = Self {
            dir: dir.to_path_buf(),
            base: setup.now,
            start: Timestamp::UNIX_EPOCH,
            records,
            next: None,
            playback,
        };
        let first = player.records.by_ref().find_map(|found| found.line.record::<LogEvent>().ok());
        player.start = time_of(&first.context("nothing to replay: the session has no records")?.body);
        // What was done when is known from the beginning.
        player.reopen()?;
        let mut whole = App::new(setup.clone());
        player.fold_until(Duration::MAX, &mut whole);
        player.playback.length = player.playback.position;
        let timeline = whole.into_recorded_timeline();
        player.reopen()?;
        let mut app = App::new(setup).replaying(&timeline, player.playback);
        if speed == PlaybackSpeed::End {
            player.seek(player.playback.length, &mut app)?;
            player.playback.is_playing = false;
        }
        player.show(&mut app);
        Ok((player, app))
    }

    /// Returns the present of the replay.
    pub fn now(&self) -> Instant {
        self.base + self.playback.position
    }

    pub fn is_playing(&self) -> bool {
        self.playback.is_playing
    }

    pub fn playback(&self) -> Playback {
        self.playback
    }

    /// Plays on for a time by the clock on the wall. At any speed, a silence is passed over.
    pub fn advance(&mut self, passed: Duration, app: &mut App) {
        let Some(factor) = self.playback.speed.factor().filter(|_| self.playback.is_playing) else { return };
        let mut to = self.playback.position + passed.min(MAX_STEP) * factor;
        let next = self.next.as_ref().map_or(self.playback.length, |(at, _)| *at);
        if next.saturating_sub(self.playback.position) > SILENCE {
            to = to.max(next.saturating_sub(SHORTENED * factor));
        }
        self.fold_until(to.min(self.playback.length), app);
        if self.playback.position >= self.playback.length {
            self.playback.is_playing = false;
        }
        self.show(app);
    }

    /// Does what a key asked for. Returns an error if the session can no longer be read.
    pub fn obey(&mut self, request: PlaybackRequest, app: &mut App) -> Result<()> {
        let playback = &mut self.playback;
        match request {
            PlaybackRequest::Seek(to) => {
                playback.is_playing &= to < playback.length;
                self.seek(to, app)?;
            }
            PlaybackRequest::PlayOrPause if playback.is_playing => playback.is_playing = false,
            PlaybackRequest::PlayOrPause => {
                let is_over = playback.position >= playback.length;
                playback.is_playing = true;
                if is_over && playback.speed != PlaybackSpeed::End {
                    self.seek(Duration::ZERO, app)?;
                }
            }
            PlaybackRequest::NextSpeed => playback.speed = playback.speed.next(),
        }
        if self.playback.is_playing && self.playback.speed == PlaybackSpeed::End {
            self.playback.is_playing = false;
            self.seek(self.playback.length, app)?;
        }
        self.show(app);
        Ok(())
    }

    /// Shows another moment.
    fn seek(&mut self, to: Duration, app: &mut App) -> Result<()> {
        let to = to.min(self.playback.length);
        if to < self.playback.position {
            self.reopen()?;
            app.rewind(self.base);
        }
        self.fold_until(to, app);
        Ok(())
    }

    /// Begins with the first record again.
    fn reopen(&mut self) -> Result<()> {
        self.records = MergedRecords::of_session(&self.dir)?;
        self.playback.position = Duration::ZERO;
        self.next = None;
        self.read_next();
        Ok(())
    }

    /// Lets the app take in all events up to a moment, which is the present then.
    fn fold_until(&mut self, to: Duration, app: &mut App) {
        while let Some((at, event)) = self.next.take_if(|(at, _)| *at <= to) {
            self.playback.position = at;
            self.read_next();
            // What is asked for here was asked for, and answered, when it happened.
            let _ = app.update(self.base + at, Event::Log(event));
        }
        if to < Duration::MAX {
            self.playback.position = to;
        }
    }

    /// Reads the next event. One that this program does not know is passed over.
    fn read_next(&mut self) {
        let event = self.records.by_ref().find_map(|found| found.line.record::<LogEvent>().ok());
        self.next = event.map(|record| {
            let since = time_of(&record.body).duration_since(self.start);
            let at = Duration::try_from(since).unwrap_or_default();
            // A clock that was set back does not turn the order around.
            (at.max(self.playback.position), Arc::new(record.body))
        });
    }

    /// Lets the app know which moment is shown.
    fn show(&self, app: &mut App) {
        let _ = app.update(self.now(), Event::Playback(self.playback));
    }
}

fn time_of(event: &LogEvent) -> Timestamp {
    match event {
        LogEvent::Agent(event) => event.at,
        LogEvent::Session { at, .. } => *at,
    }
}
