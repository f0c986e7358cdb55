//! Faults on the way to a model, over real connections: each by itself, and many at random among eight subagents. The
//! server that makes them knows the truth: which answers it delivered whole, and which calls they held. Beside them, what
//! a panic costs.

mod chance;
mod clock;
mod fault;
mod once;
mod panics;
mod server;
