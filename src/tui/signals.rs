//! What the operating system tells the program by signals while it has the terminal.
//!
//! Owns waiting for them. Leaves ending to the app, and stopping to `outside`. Invariant: they are caught from the moment
//! of [`Signals::catch`].

use std::io;

use nix::sys::signal::Signal as Kind;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::services::{EndSignal, EndSignals};

/// What a signal means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The program shall end.
    End(EndSignal),
    /// The program shall stop, as by `ctrl+z`.
    Stop,
    /// The terminal has another size.
    Resized,
}

/// Catches signals.
#[derive(Debug)]
pub(super) struct Signals<'a> {
    end: &'a mut EndSignals,
    stop: Signal,
    resize: Signal,
}

impl<'a> Signals<'a> {
    /// Begins to catch.
    pub(super) fn catch(end: &'a mut EndSignals) -> io::Result<Self> {
        Ok(Self { end, stop: stop()?, resize: signal(SignalKind::window_change())? })
    }

    /// Forgets an interrupt and a stop that were meant for another program. Whoever asked for the end meanwhile is still
    /// heard.
    pub(super) fn forget_keys(&mut self) -> io::Result<()> {
        self.stop = stop()?;
        self.end.forget_interrupts()
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            signal = self.end.next() => Told::End(signal),
            _ = self.stop.recv() => Told::Stop,
            _ = self.resize.recv() => Told::Resized,
        }
    }
}

fn stop() -> io::Result<Signal> {
    signal(SignalKind::from_raw(Kind::SIGTSTP as i32))
}
