//! The ways the operating system asks the program to end.
//!
//! Owns waiting for them. Leaves ending to the app. Invariant: they are caught from the moment of [`Signals::catch`].

use std::io;

/// Catches termination, hang-up and interrupt.
#[derive(Debug)]
pub(super) struct Signals {
    #[cfg(unix)]
    streams: [tokio::signal::unix::Signal; 3],
}

impl Signals {
    /// Begins to catch.
    #[cfg(unix)]
    pub(super) fn catch() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            streams: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::interrupt())?,
            ],
        })
    }

    /// Begins to catch.
    #[cfg(not(unix))]
    pub(super) fn catch() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(super) async fn next(&mut self) {
        let [terminate, hangup, interrupt] = &mut self.streams;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = interrupt.recv() => {}
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(super) async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
