//! The loop and the tree, driven as their callers drive them.

mod report;
mod transcript;
mod turn;
