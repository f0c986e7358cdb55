//! Text for standard output: widths, colours, and paths as the user would write them.
//!
//! Owns what depends on the terminal. Leaves colours to the theme. Invariants: without a terminal, or with `NO_COLOR`,
//! there is no escape sequence; what files say is made safe before it is added.

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use crossterm::style::ContentStyle;
use ratatui::backend::IntoCrossterm as _;
use ratatui::style::Style;

use crate::definition::{AgentDefinition, Source, Tier};
use crate::message::sanitize_line;
use crate::services::Bootstrap;
use crate::tui;
use crate::tui::view::theme::Theme;

/// Columns of a text that goes to no terminal.
const COLUMNS: usize = 120;
/// The narrowest text that is still worth reading.
const MIN_COLUMNS: usize = 40;

/// A text that grows.
pub(super) struct Page {
    text: String,
    /// The colours, if there are to be any.
    theme: Option<Theme>,
    pub(super) columns: usize,
    /// Where the user is: what lies below is shown relative to it.
    here: Option<PathBuf>,
}

impl Page {
    /// Returns an empty page that fits standard output.
    pub(super) fn new(bootstrap: &Bootstrap) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let colourless = set("NO_COLOR").is_some() || set("TERM").is_none_or(|term| term == "dumb");
        let size = crossterm::terminal::size().ok().filter(|(columns, _)| is_terminal && *columns > 0);
        Self {
            text: String::new(),
            theme: if is_terminal && !colourless { tui::chosen_theme(bootstrap).ok() } else { None },
            columns: size.map_or(COLUMNS, |(columns, _)| usize::from(columns)).max(MIN_COLUMNS),
            here: std::env::current_dir().ok(),
        }
    }

    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Returns a text in a style of the theme.
    pub(super) fn paint(&self, text: &str, style: impl FnOnce(&Theme) -> Style) -> String {
        match &self.theme {
            Some(theme) if !text.is_empty() => {
                let style: ContentStyle = style(theme).into_crossterm();
                style.apply(text).to_string()
            }
            _ => text.to_owned(),
        }
    }

    /// Returns a text, which names or marks an agent, in the agent's colour.
    pub(super) fn in_its_colour(&self, text: &str, agent: &AgentDefinition) -> String {
        self.paint(text, |theme| theme.agent(agent.color.as_deref(), &agent.name))
    }

    /// Returns a path as the user would write it.
    pub(super) fn path(&self, path: &Path) -> String {
        let below = self.here.as_deref().and_then(|here| path.strip_prefix(here).ok());
        let shown = below.filter(|path| !path.as_os_str().is_empty()).unwrap_or(path);
        sanitize_line(&shown.to_string_lossy()).into_owned()
    }

    /// Returns where an agent comes from, and how much that weighs.
    pub(super) fn origin(&self, source: &Source) -> String {
        match &source.path {
            Some(path) => format!("{}, {}", source.tier.label(), self.path(path)),
            None => source.tier.label().to_owned(),
        }
    }

    /// Returns an agent's file, or what stands in the place of one.
    pub(super) fn place(&self, source: &Source) -> String {
        match (&source.path, source.tier) {
            (Some(path), _) => self.path(path),
            (None, Tier::CommandLine) => "--agents".to_owned(),
            (None, tier) => tier.label().to_owned(),
        }
    }
}
