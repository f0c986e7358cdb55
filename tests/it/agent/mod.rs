//! The loop and the tree, driven as their callers drive them.

mod delegation;
mod draft;
mod loop_limits;
mod report;
mod stops;
mod transcript;
mod turn;
mod wire;
