//! From the settings to what the screen needs.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

use super::notifier::Notifier;
use super::remembered::Memory;
use super::view::theme::{AUTO, ColorDepth, Glyphs, Theme, Themes};
use super::{ScreenSetup, files};
use crate::agent::AgentEvent;
use crate::app::keymap::Keymap;
use crate::app::layout::LayoutMode;
use crate::app::{Arrangement, Editing, MouseCapture, Movement};
use crate::config::Environment;
use crate::message::plain_line;
use crate::services::{Play, Settled};
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
    let memory = memory(settled);
    let recalled = memory.as_ref().map(|memory| memory.recall(&mut notices)).unwrap_or_default();
    let ThemeSetup { themes, name: theme_name, theme } =
        theme_setup(settled, recalled.theme, &environment, &mut notices)?;
    // The configuration has checked the name.
    let configured = Arrangement { mode: LayoutMode::from_name(&ui.layout).unwrap_or_default(), split: None };
    Ok(ScreenSetup {
        events,
        commands,
        cwd: settled.place.cwd.as_ref().clone(),
        folder: folder(settled, &environment),
        mode: settled.config.permission_mode,
        keymap,
        theme,
        theme_name,
        themes,
        memory,
        library: Arc::clone(&settled.library),
        store: settled.store.clone(),
        history: settled.history_file(),
        notices,
        mouse: if ui.mouse { MouseCapture::On } else { MouseCapture::Off },
        arrangement: recalled.arrangement.unwrap_or(configured),
        editing: if ui.editing == "vi" { Editing::Vi } else { Editing::Emacs },
        motion: if ui.reduced_motion { Movement::Reduced } else { Movement::Full },
        notifier: Notifier::choose(&ui.notify, |name| environment.get(name).map(str::to_owned)),
    })
}

/// Returns the theme that the screen of a session would have.
///
/// # Errors
/// Returns an error if not even the built-in theme can be read.
pub fn settled_theme(settled: &Settled) -> Result<Theme> {
    let mut unread = Vec::new();
    let remembered = memory(settled).map(|memory| memory.recall(&mut unread)).unwrap_or_default().theme;
    Ok(theme_setup(settled, remembered, &Environment::of_process(), &mut unread)?.theme)
}

struct ThemeSetup {
    themes: Themes,
    name: String,
    theme: Theme,
}

fn theme_setup(
    settled: &Settled,
    remembered: Option<String>,
    environment: &Environment,
    notices: &mut Vec<String>,
) -> Result<ThemeSetup> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let depth = ColorDepth::detect(variable);
    let themes = themes(settled, depth, environment, notices);
    let ui = &settled.config.ui;
    let (name, theme) = theme(remembered.unwrap_or_else(|| ui.theme.clone()), &themes, depth, notices)?;
    let theme = theme.with_glyphs(if ui.ascii { Glyphs::ASCII } else { Glyphs::detect(variable) });
    Ok(ThemeSetup { themes, name, theme })
}

/// Returns what the choices of this project are kept in; the demonstration keeps none.
fn memory(settled: &Settled) -> Option<Memory> {
    let paths = settled.paths.as_ref().filter(|_| settled.wanted.play == Play::Work)?;
    Some(Memory::new(&paths.state_dir, &settled.place.project, settled.config.ui.clone()))
}

/// Returns all themes, those of the user as far as they can be read.
fn themes(settled: &Settled, depth: ColorDepth, environment: &Environment, notices: &mut Vec<String>) -> Themes {
    let fitting = fitting_theme(depth, environment.get("COLORFGBG"));
    let Some(paths) = &settled.paths else { return Themes::new(BTreeMap::new(), fitting) };
    let (files, faults) = files::load_themes(&paths.config_dir.join("themes"));
    notices.extend(faults);
    Themes::new(files, fitting)
}

/// Returns the theme of this name and its name, else, with a notice, the one that fits the terminal.
fn theme(name: String, themes: &Themes, depth: ColorDepth, notices: &mut Vec<String>) -> Result<(String, Theme)> {
    if let Some((theme, faults)) = themes.load(&name, depth) {
        notices.extend(faults.iter().map(ToString::to_string));
        return Ok((name, theme));
    }
    let all = themes.names().join(", ");
    notices
        .push(format!("There is no theme {name:?}. Choose one of {all}, or write it to a file in the folder themes."));
    let (theme, _) = themes.load(AUTO, depth).context("the program has lost its own themes")?;
    Ok((AUTO.to_owned(), theme))
}

/// Returns the theme for what is known of the terminal: `COLORFGBG` ends in the number of its background colour, and 7
/// and 15 are the whites. Asking the terminal itself would hold up the first frame. One with sixteen colours has its
/// own idea of each, so that only its own theme is sure to be readable there.
fn fitting_theme(depth: ColorDepth, colorfgbg: Option<&str>) -> &'static str {
    match colorfgbg.and_then(|colors| colors.rsplit(';').next()) {
        _ if depth == ColorDepth::Ansi16 => "terminal-16",
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
