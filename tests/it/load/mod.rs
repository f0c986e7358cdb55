//! What must not grow: guards over work and memory, by counts and not by clocks.
//!
//! How long something takes is measured by `cargo bench`; here it is only checked that the cost of a frame does not
//! depend on what is out of sight, and that what is kept stays below its cap.

mod definitions;
mod frames;
mod memory;
mod storm;
