//! What the user chooses on the screen and expects to find again: the theme, and the place of the agents.
//!
//! Owns when a choice is made, as opposed to tried. Leaves keeping it to `tui`, and what a theme looks like to the
//! views. Invariant: however the list of themes is left, but by taking one, the screen is drawn in the theme it had.

use crate::app::layout::LayoutMode;
use crate::app::lists::about_theme;
use crate::app::outbox::Outbox;
use crate::app::settings::effort::EffortChoice;
use crate::app::settings::skills::SkillChoices;
use crate::app::{Effect, MouseCapture};
use crate::mcp::McpFacts;
use crate::session::Unsent;

/// Something that was chosen for longer than this session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserChoice {
    Theme(String),
    Arrangement(Arrangement),
    /// What is written and not read, to be found again if the session goes on.
    Unsent(Unsent),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Arrangement {
    pub mode: LayoutMode,
    /// Their share of the room in per cent, where the border was dragged.
    pub split: Option<u16>,
}

#[derive(Debug)]
pub(in crate::app) struct Settings {
    themes: Vec<String>,
    theme: String,
    /// The theme that is drawn: the one in use, or the one that is tried.
    shown_theme: String,
    /// How the agents were placed when that was last handed on.
    arranged: Arrangement,
    mouse: MouseCapture,
    /// How hard the models think.
    pub(in crate::app) effort: EffortChoice,
    /// How the MCP servers are.
    pub(in crate::app) servers: Vec<McpFacts>,
    /// Which skills and commands there are.
    pub(in crate::app) skills: SkillChoices,
}

impl Settings {
    pub(in crate::app) fn new(themes: Vec<String>, theme: String, arranged: Arrangement, mouse: MouseCapture) -> Self {
        let (effort, servers, skills) = (EffortChoice::default(), Vec::new(), SkillChoices::default());
        Self { themes, shown_theme: theme.clone(), theme, arranged, mouse, effort, servers, skills }
    }

    pub(in crate::app) fn themes(&self) -> &[String] {
        &self.themes
    }

    pub(in crate::app) fn theme(&self) -> &str {
        &self.theme
    }

    pub(in crate::app) fn use_theme(&mut self, name: &str, out: &mut Outbox) {
        let about = about_theme(name).map(|words| format!(", {words}")).unwrap_or_default();
        out.inform(format!("theme: {name}{about}"));
        name.clone_into(&mut self.theme);
        out.push(Effect::Remember(UserChoice::Theme(name.to_owned())));
    }

    /// Draws the theme that is tried, else the one in use.
    pub(in crate::app) fn try_theme(&mut self, tried: Option<usize>, out: &mut Outbox) {
        let wanted = tried.and_then(|at| self.themes.get(at)).unwrap_or(&self.theme);
        if *wanted != self.shown_theme {
            self.shown_theme.clone_from(wanted);
            out.push(Effect::SetTheme(self.shown_theme.clone()));
        }
    }

    /// Hands on how the agents are placed, if that has changed.
    pub(in crate::app) fn keep_arrangement(&mut self, arrangement: Arrangement, out: &mut Outbox) {
        if arrangement != self.arranged {
            self.arranged = arrangement;
            out.push(Effect::Remember(UserChoice::Arrangement(arrangement)));
        }
    }

    pub(in crate::app) fn toggle_mouse(&mut self, out: &mut Outbox) {
        let (mouse, words) = match self.mouse {
            MouseCapture::On => (MouseCapture::Off, "mouse capture off: the terminal selects text"),
            MouseCapture::Off => (MouseCapture::On, "mouse capture on"),
        };
        self.mouse = mouse;
        out.push(Effect::CaptureMouse(mouse));
        out.inform(words);
    }
}
