//! The signals that reach the program, for every front end.
//!
//! Owns which of them ask for the end, and the exit status of each. Leaves ending and stopping to the front ends. Invariants: they are caught
//! from [`Signals::catch`] on, for as long as the program runs; each one that would end the program at once is among
//! them, but for KILL and those by which the processor reports a fault.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use nix::sys::signal::Signal;
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};

use Signal::{
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2, SIGVTALRM, SIGWINCH,
    SIGXCPU, SIGXFSZ,
};

/// What ends a program that does not catch it, and comes from outside.
const ENDING: [Signal; 12] =
    [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndSignal(Signal);

impl EndSignal {
    /// Returns `true` if it is the one that `ctrl+c` sends.
    #[must_use]
    pub fn is_interrupt(self) -> bool {
        self.0 == SIGINT
    }

    /// Returns `true` if it is the one that comes when the terminal is closed.
    #[must_use]
    pub fn is_hangup(self) -> bool {
        self.0 == SIGHUP
    }

    /// Returns the exit status: 128 and the signal's number, with that of SIGTERM for SIGHUP too.
    #[must_use]
    pub fn exit_status(self) -> u8 {
        let signal = if self.0 == SIGHUP { SIGTERM } else { self.0 };
        128 + u8::try_from(signal as i32).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalEvent {
    End(EndSignal),
    /// The program shall stop, as by `ctrl+z`. Only after [`Signals::catch_terminal`], as the next one.
    Stop,
    Resized,
}

#[derive(Debug)]
pub struct Signals(Vec<(Signal, Arrivals)>);

impl Signals {
    /// Begins to catch those that ask for the end. A file that grows beyond the limit for files is from now on an error
    /// where it is written. Fails if the system lets none be caught.
    pub fn catch() -> io::Result<Self> {
        drop(arrivals(SIGXFSZ)?);
        ENDING.into_iter().map(|signal| Ok((signal, arrivals(signal)?))).collect::<io::Result<_>>().map(Self)
    }

    /// Begins to catch those that concern a terminal too. Fails if the system lets them not be caught.
    pub fn catch_terminal(&mut self) -> io::Result<()> {
        for signal in [SIGTSTP, SIGWINCH] {
            self.0.push((signal, arrivals(signal)?));
        }
        Ok(())
    }

    /// Waits for the next one. May be given up and called again at any time.
    pub async fn next(&mut self) -> SignalEvent {
        let signal = poll_fn(|context| {
            let arrived = self
                .0
                .iter_mut()
                .find_map(|(signal, arrivals)| arrivals.poll_recv(context).is_ready().then_some(*signal));
            arrived.map_or(Poll::Pending, Poll::Ready)
        });
        match signal.await {
            SIGTSTP => SignalEvent::Stop,
            SIGWINCH => SignalEvent::Resized,
            signal => SignalEvent::End(EndSignal(signal)),
        }
    }

    /// Waits for the next one that asks for the end.
    pub async fn next_end(&mut self) -> EndSignal {
        loop {
            if let SignalEvent::End(signal) = self.next().await {
                return signal;
            }
        }
    }

    /// Forgets an interrupt and a stop that were meant for another program. Other signals that have asked for the end
    /// meanwhile still count. Fails if the system lets them not be caught.
    pub fn forget_keys(&mut self) -> io::Result<()> {
        for (signal, caught) in &mut self.0 {
            if matches!(*signal, SIGINT | SIGTSTP) {
                *caught = arrivals(*signal)?;
            }
        }
        Ok(())
    }
}

fn arrivals(kind: Signal) -> io::Result<Arrivals> {
    signal(SignalKind::from_raw(kind as i32))
}
