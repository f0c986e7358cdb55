//! All integration tests, as one binary.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test says by its panic what went wrong")]

mod permissions;
mod tools;
