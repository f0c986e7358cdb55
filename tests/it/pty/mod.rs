//! The real binary on a real terminal.

mod terminal;
