//! All integration tests, as one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test says by panicking what went wrong")]

mod app;
mod screens;
