//! The full-screen front end: the terminal, its input, and the drawing.
//!
//! Owns everything between the terminal and the app. Leaves what is shown to `app`.

pub mod files;
pub mod input;
mod outside;
mod perform;
mod run;
mod setup;
mod signals;
pub mod terminal;
pub mod view;

pub use outside::edit;
pub use run::{Farewell, ScreenSetup, run};
pub use setup::{screen_setup, settled_theme};

use self::view::theme::{ColorDepth, Glyphs, Theme};

/// Returns a theme of the program for the terminal that the environment describes; `variable` returns an
/// environment variable's value.
///
/// # Errors
/// There is no theme of this name.
pub fn theme_for(name: &str, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Theme> {
    Ok(Theme::load(name, ColorDepth::detect(&variable))?.with_glyphs(Glyphs::detect(&variable)))
}
