//! The offline model: real requests about real files, answers whose citations are opened and compared.

mod answers;
mod citations;
mod conversation;
mod questions;
mod ranking;
mod talk;
