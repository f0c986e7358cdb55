//! The offline model: real requests, real files, answers whose citations are checked.

mod executor;
mod probe;
