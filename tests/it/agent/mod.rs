//! The loop and the tree, driven as their callers drive them.

mod delegation;
mod report;
mod transcript;
mod turn;
mod wire;
