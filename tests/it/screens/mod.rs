//! Pictures of the screen.

pub(crate) mod svg;
