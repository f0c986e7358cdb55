//! All integration tests, as one binary.
