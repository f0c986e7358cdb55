//! All integration tests, as one binary.

mod app;
mod screens;
