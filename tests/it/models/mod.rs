//! Models as people run them: shapes of their answers, played through the four wire formats, the real loop and the tree; and
//! the services that run them, with what each refuses.
//!
//! Owns the server that speaks each format. Leaves what is played to the files of `tests/fixtures/models`.

mod answers;
mod calls;
mod limits;
mod refusals;
pub(crate) mod schemas;
mod services;
mod wires;
