//! All integration tests, as one binary.

mod screens;
mod text;
