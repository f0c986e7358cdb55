//! What standard error says of a panic.
//!
//! Leaves giving a terminal back, and the log, to `tui`. Invariant: a panic may quote what the program was at work on, so
//! its words are masked like any others.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fmt::Write as _;

use super::eprintln_line;
use crate::message::sanitize;
use crate::session::Secrets;

/// Reports panics of this process from now on as Rust does, with secrets masked.
pub fn report_panics(secrets: Secrets) {
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let mut report = format!("thread '{}' {panic}", thread.name().unwrap_or("<unnamed>"));
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            let _ = write!(report, "\nstack backtrace:\n{trace}");
        }
        eprintln_line(&sanitize(&secrets.mask(&report)));
    }));
}
