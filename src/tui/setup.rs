//! From the settings to what the screen needs.

use std::sync::Arc;

use anyhow::Result;
use tokio::sync::mpsc;

use super::view::theme::{Glyphs, Theme};
use super::{ScreenSetup, theme_for};
use crate::agent::AgentEvent;
use crate::app::keymap::Keymap;
use crate::app::layout::LayoutMode;
use crate::app::{Editing, MouseCapture, Movement};
use crate::config::Environment;
use crate::message::plain_line;
use crate::services::Settled;
use crate::subagent::Command;

/// Returns what the screen of a session needs. What is wrong with keys or theme becomes a notice.
///
/// # Errors
/// Returns an error if not even the built-in theme can be read.
pub fn screen_setup(
    settled: &Settled,
    events: mpsc::Receiver<Arc<AgentEvent>>,
    commands: mpsc::Sender<Command>,
) -> Result<ScreenSetup> {
    let environment = Environment::of_process();
    let ui = &settled.config.ui;
    let mut notices = Vec::new();
    let mut keymap = Keymap::builtin();
    let changed = toml::to_string(&settled.config.keys).unwrap_or_default();
    match keymap.apply(&changed) {
        Ok(faults) => notices.extend(faults),
        Err(fault) => notices.push(format!("The changed keys are left out: {fault:#}")),
    }
    let theme = theme(&ui.theme, &environment, &mut notices)?;
    let theme = if ui.ascii { theme.with_glyphs(Glyphs::ASCII) } else { theme };
    Ok(ScreenSetup {
        events,
        commands,
        cwd: settled.place.cwd.as_ref().clone(),
        folder: folder(settled, &environment),
        mode: settled.config.permission_mode,
        keymap,
        theme,
        library: Arc::clone(&settled.library),
        history: settled.history_file(),
        notices,
        mouse: if ui.mouse { MouseCapture::On } else { MouseCapture::Off },
        // The configuration has checked the name.
        layout: LayoutMode::from_name(&ui.layout).unwrap_or_default(),
        editing: if ui.editing == "vi" { Editing::Vi } else { Editing::Emacs },
        motion: if ui.reduced_motion { Movement::Reduced } else { Movement::Full },
    })
}

/// Returns the theme of the settings for the terminal that the environment describes.
///
/// # Errors
/// Returns an error if not even the built-in theme can be read.
pub fn settled_theme(settled: &Settled) -> Result<Theme> {
    theme(&settled.config.ui.theme, &Environment::of_process(), &mut Vec::new())
}

/// Returns the theme of this name, else, with a notice, the one that fits the terminal.
fn theme(name: &str, environment: &Environment, notices: &mut Vec<String>) -> Result<Theme> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let fitting = fitting_theme(environment.get("COLORFGBG"));
    if name == "auto" {
        return theme_for(fitting, variable);
    }
    theme_for(name, variable).or_else(|fault| {
        notices.push(format!("{fault:#}"));
        theme_for(fitting, variable)
    })
}

/// Returns the theme for the background that the terminal tells of: `COLORFGBG` ends in the number of its background
/// colour, and 7 and 15 are the whites. Asking the terminal itself would hold up the first frame.
fn fitting_theme(colorfgbg: Option<&str>) -> &'static str {
    match colorfgbg.and_then(|colors| colors.rsplit(';').next()) {
        Some("7" | "15") => "light",
        _ => "dark",
    }
}

/// Returns the working directory as people write it.
fn folder(settled: &Settled, environment: &Environment) -> String {
    let cwd = settled.place.cwd.as_ref();
    let shown = match environment.home().as_deref().and_then(|home| cwd.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => cwd.display().to_string(),
    };
    plain_line(&shown).into_owned()
}
