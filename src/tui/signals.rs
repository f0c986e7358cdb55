//! What the operating system tells the program by signals.
//!
//! Owns waiting for them. Leaves ending to the app. Invariant: they are caught from the moment of [`Signals::catch`].

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The program shall end: termination, hang-up or interrupt.
    End,
    /// The terminal has another size.
    Resized,
}

/// Catches signals.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    hangup: Signal,
    interrupt: Signal,
    resize: Signal,
}

impl Signals {
    /// Begins to catch.
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            resize: signal(SignalKind::window_change())?,
        })
    }

    /// Forgets an interrupt that was meant for another program. Whoever asked for the end meanwhile is still heard.
    pub(super) fn forget_interrupts(&mut self) -> io::Result<()> {
        self.interrupt = signal(SignalKind::interrupt())?;
        Ok(())
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::End,
            _ = self.hangup.recv() => Told::End,
            _ = self.interrupt.recv() => Told::End,
            _ = self.resize.recv() => Told::Resized,
        }
    }
}
