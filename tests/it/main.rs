//! All integration tests, as one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod app;
mod screens;
mod text;
