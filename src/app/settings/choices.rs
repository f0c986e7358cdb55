//! What the user chooses on the screen and expects to find again: the theme, and the place of the agents.
//!
//! Owns when a choice is made, as opposed to tried. Leaves keeping it to `tui`, and what a theme looks like to the
//! views. Invariant: however the list of themes is left, but by taking one, the screen is drawn in the theme it had.

use crate::app::layout::LayoutMode;
use crate::app::mouse::Dragging;
use crate::app::{App, Effect, Popup};

/// Something that was chosen for longer than this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserChoice {
    /// The theme of this name.
    Theme(String),
    /// How the agents are placed.
    Arrangement(Arrangement),
}

/// How the agents are placed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrangement {
    /// On which side.
    pub mode: LayoutMode,
    /// Their share of the room in per cent, where the border was dragged.
    pub split: Option<u16>,
}

/// The themes of the screen.
#[derive(Debug)]
pub(in crate::app) struct Theming {
    /// All names.
    pub(in crate::app) names: Vec<String>,
    /// The one in use.
    pub(in crate::app) used: String,
    /// The one that is drawn: the one in use, or the one that is tried.
    shown: String,
}

impl Theming {
    pub(in crate::app) fn new(names: Vec<String>, used: String) -> Self {
        Self { names, shown: used.clone(), used }
    }
}

impl App {
    /// Returns the names of the themes to choose from.
    #[must_use]
    pub fn themes(&self) -> &[String] {
        &self.theming.names
    }

    /// Returns the name of the theme in use.
    #[must_use]
    pub fn theme(&self) -> &str {
        &self.theming.used
    }

    pub(in crate::app) fn slash_theme(&mut self, argument: &str, effects: &mut Vec<Effect>) {
        let Theming { names, used, .. } = &self.theming;
        if argument.is_empty() {
            let chosen = names.iter().position(|name| name == used).unwrap_or(0);
            self.popup = Some(Popup::Themes { chosen });
        } else if names.iter().any(|name| name == argument) {
            self.use_theme(argument.to_owned(), effects);
        } else {
            self.warn(format!("choose /theme {}", names.join(", ")));
        }
    }

    pub(in crate::app) fn use_theme(&mut self, name: String, effects: &mut Vec<Effect>) {
        self.inform(format!("theme: {name}"));
        self.theming.used.clone_from(&name);
        effects.push(Effect::Remember(UserChoice::Theme(name)));
    }

    pub(in crate::app) fn slash_layout(&mut self, argument: &str) {
        let mode = match argument {
            "" => Some(self.layout_mode.next()),
            name => LayoutMode::from_name(name),
        };
        match mode {
            Some(mode) => {
                if mode == LayoutMode::Auto {
                    // The one way back from a dragged border.
                    self.split = None;
                }
                self.layout_mode = mode;
                self.inform(format!("layout: {}", mode.name()));
            }
            None => self.warn("choose /layout auto, side, below, rail or hidden"),
        }
    }

    /// Shows the theme that is tried, and hands on how the agents are placed once that was changed and let go of.
    pub(in crate::app) fn follow_choices(&mut self, effects: &mut Vec<Effect>) {
        let tried = match &self.popup {
            Some(Popup::Themes { chosen }) => self.theming.names.get(*chosen),
            _ => None,
        };
        let wanted = tried.unwrap_or(&self.theming.used);
        if *wanted != self.theming.shown {
            self.theming.shown = wanted.clone();
            effects.push(Effect::SetTheme(self.theming.shown.clone()));
        }
        let arrangement = Arrangement { mode: self.layout_mode, split: self.split };
        if arrangement != self.arranged && self.dragging == Dragging::Nothing {
            self.arranged = arrangement;
            effects.push(Effect::Remember(UserChoice::Arrangement(arrangement)));
        }
    }
}
