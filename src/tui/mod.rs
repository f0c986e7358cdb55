//! The full-screen front end: the terminal, its input, and the drawing.
//!
//! Owns everything between the terminal and the app. Leaves what is shown to `app`.

mod answer;
mod asked;
mod attributes;
mod effect_runner;
pub mod files;
pub mod input;
pub mod notifier;
mod outside;
mod pictures;
mod read_log;
pub mod remembered;
pub mod replay;
mod run;
mod setup;
mod status_line;
pub mod terminal;
pub mod view;

pub use outside::{edit, open_in_editor};
pub use read_log::read_log;
pub use run::{Farewell, ScreenSetup, replay_session, run};
pub use setup::{chosen_theme, screen_setup, theme_names};
