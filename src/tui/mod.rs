//! The full-screen front end: the terminal, its input, and the drawing.

pub mod files;
pub mod input;
pub mod terminal;
pub mod view;
