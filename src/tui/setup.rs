//! From the settings to what the screen needs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

use super::asked::PictureQuestion;
use super::effect_runner::Storage;
use super::notifier::Notifier;
use super::remembered::RememberedChoices;
use super::terminal::program_status::{StatusReporter, is_kept};
use super::view::theme::{AUTO, ColorDepth, Glyphs, Theme, Themes};
use super::{ScreenSetup, files};
use crate::agent::LogEvent;
use crate::app::keymap::Keymap;
use crate::app::layout::LayoutMode;
use crate::app::{Arrangement, Editing, MouseCapture, Movement, Setup};
use crate::config::Environment;
use crate::message::sanitize_line;
use crate::program::SearchPath;
use crate::services::{Bootstrap, ModelOffers, SessionKind, StatusLineRunner};
use crate::subagent::Command;

/// Returns what the screen of a session needs, which begins with the command `first`. What is wrong with keys or theme becomes a notice. Returns an error if
/// not even the built-in theme can be read.
pub fn screen_setup(
    bootstrap: &Bootstrap,
    events: mpsc::Receiver<Arc<LogEvent>>,
    commands: mpsc::UnboundedSender<Command>,
    first: Option<&'static str>,
) -> Result<ScreenSetup> {
    let environment = Environment::of_process();
    let ui = &bootstrap.config.ui;
    let mut notices = Vec::new();
    let mut keymap = Keymap::builtin();
    let changed = toml::to_string(&bootstrap.config.keys).unwrap_or_default();
    match keymap.apply(&changed) {
        Ok(errors) => notices.extend(errors),
        Err(error) => notices.push(format!("Your key bindings were skipped: {error:#}")),
    }
    let memory = memory(bootstrap);
    let recalled = memory.as_ref().map(|memory| memory.recall(&mut notices)).unwrap_or_default();
    let ThemeSetup { themes, name, theme } = theme_setup(bootstrap, recalled.theme, &environment, &mut notices)?;
    // The configuration has checked the name.
    let configured = Arrangement { mode: LayoutMode::from_name(&ui.layout).unwrap_or_default(), split: None };
    let status_line = StatusLineRunner::of(bootstrap);
    let app = Setup {
        now: Instant::now(),
        size: (0, 0),
        folder: folder(bootstrap, &environment),
        mode: bootstrap.config.permission_mode,
        keymap,
        notices,
        mouse: if ui.mouse { MouseCapture::On } else { MouseCapture::Off },
        arrangement: recalled.arrangement.unwrap_or(configured),
        editing: if ui.editing == "vi" { Editing::Vi } else { Editing::Emacs },
        motion: if ui.reduced_motion { Movement::Reduced } else { Movement::Full },
        themes: themes.names(),
        theme: name,
        zone: jiff::tz::TimeZone::system(),
        has_status_command: status_line.is_some(),
        first,
    };
    let state_dir = bootstrap.paths.as_ref().map(|paths| paths.state_dir.clone());
    let search = SearchPath::of_process(&[&bootstrap.ground.root, &bootstrap.place.cwd]);
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    Ok(ScreenSetup {
        reporter: if ui.program_status {
            StatusReporter::of_terminal(variable, &search)
        } else {
            StatusReporter::new(false)
        },
        asks_for_status: ui.program_status && is_kept(variable),
        asks_for_pictures: PictureQuestion::of(variable).filter(|_| ui.pictures && !ui.ascii),
        app,
        saved: bootstrap.saved.clone(),
        events,
        commands,
        cwd: bootstrap.place.cwd.as_ref().clone(),
        theme,
        themes,
        storage: Storage {
            history: bootstrap.history_file(),
            memory,
            store: bootstrap.store.clone(),
            state_dir,
            memory_files: bootstrap.memory_reader(),
            status_line,
            watch: bootstrap.watch.clone(),
        },
        library: Arc::clone(&bootstrap.library),
        skills: Arc::clone(&bootstrap.skills),
        models: ModelOffers::of(bootstrap),
        notifier: Notifier::choose(&ui.notify, |name| environment.get(name).map(str::to_owned)),
    })
}

/// Returns the theme that the screen of a session would have. Returns an error if not even the built-in theme can be
/// read.
pub fn chosen_theme(bootstrap: &Bootstrap) -> Result<Theme> {
    let mut unread = Vec::new();
    let remembered = memory(bootstrap).map(|memory| memory.recall(&mut unread)).unwrap_or_default().theme;
    Ok(theme_setup(bootstrap, remembered, &Environment::of_process(), &mut unread)?.theme)
}

struct ThemeSetup {
    themes: Themes,
    name: String,
    theme: Theme,
}

fn theme_setup(
    bootstrap: &Bootstrap,
    remembered: Option<String>,
    environment: &Environment,
    notices: &mut Vec<String>,
) -> Result<ThemeSetup> {
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let depth = ColorDepth::detect(variable);
    let themes = themes(bootstrap, depth, environment, notices);
    let ui = &bootstrap.config.ui;
    let (name, theme) = theme(remembered.unwrap_or_else(|| ui.theme.clone()), &themes, depth, notices)?;
    let theme = theme.with_glyphs(if ui.ascii { Glyphs::ASCII } else { Glyphs::detect(variable) });
    Ok(ThemeSetup { themes, name, theme })
}

/// Returns what the choices of this project are kept in; the demonstration keeps none.
fn memory(bootstrap: &Bootstrap) -> Option<RememberedChoices> {
    let paths = bootstrap.paths.as_ref().filter(|_| bootstrap.options.kind == SessionKind::Live)?;
    Some(RememberedChoices::new(&paths.state_dir, &bootstrap.place.project, bootstrap.config.ui.clone()))
}

/// Returns the names of all themes, those of the user among them. Blocks.
#[must_use]
pub fn theme_names(bootstrap: &Bootstrap) -> Vec<String> {
    let environment = Environment::of_process();
    let depth = ColorDepth::detect(|name: &str| environment.get(name).map(str::to_owned));
    themes(bootstrap, depth, &environment, &mut Vec::new()).names()
}

/// Returns all themes, those of the user as far as they can be read.
fn themes(bootstrap: &Bootstrap, depth: ColorDepth, environment: &Environment, notices: &mut Vec<String>) -> Themes {
    let fitting = fitting_theme(depth, environment.get("COLORFGBG"));
    let Some(paths) = &bootstrap.paths else { return Themes::new(BTreeMap::new(), fitting) };
    let (files, errors) = files::load_themes(&paths.config_dir.join("themes"));
    notices.extend(errors);
    Themes::new(files, fitting)
}

/// Returns the theme of this name and its name, else, with a notice, the one that fits the terminal.
fn theme(name: String, themes: &Themes, depth: ColorDepth, notices: &mut Vec<String>) -> Result<(String, Theme)> {
    if let Some((theme, errors)) = themes.load(&name, depth) {
        notices.extend(errors.iter().map(ToString::to_string));
        return Ok((name, theme));
    }
    let all = themes.names().join(", ");
    notices.push(format!("No theme {name:?}. Choose one of {all}, or add it as a file in the folder themes."));
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

fn folder(bootstrap: &Bootstrap, environment: &Environment) -> String {
    let cwd = bootstrap.place.cwd.as_ref();
    let shown = match environment.home().as_deref().and_then(|home| cwd.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => cwd.display().to_string(),
    };
    sanitize_line(&shown).into_owned()
}
