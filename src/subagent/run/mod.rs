//! One run of a subagent: it is supervised, ends once, and reports.
//!
//! Owns what a run comes to for those who wait for it. Leaves the loop to `agent`. Invariant: whatever happens to a run,
//! one end of it is emitted.

pub mod read_back;
pub mod report;
pub(super) mod review;
pub(super) mod run_guard;
