//! `belvedere config`: what the settings are, and changing one.
//!
//! Owns its flags and what it prints. Leaves names, values and the text of the file to `config`. Invariants: a file is
//! replaced whole or stays as it is; a new one is for the user alone; no secret is printed or put where others can read it.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::cli::agents::CommandFailure;
use crate::cli::keys::say;
use crate::config::{
    Environment, SettingPlace, config_schema, edited, may_be_secret, nearest_setting, read_config_file, setting_names,
    setting_place, setting_value,
};
use crate::headless::{eprintln_line, exit};
use crate::message::sanitize_line;
use crate::services::Bootstrap;
use crate::tui;
use crate::whole_file::{FileRights, replace_whole};

/// What follows `belvedere config`.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub act: ConfigAct,
}

#[derive(Debug, Clone, Subcommand)]
pub enum ConfigAct {
    /// Print a setting as it is in force, or all of them with where each is from
    Get {
        /// Its name, such as limits.max_turns
        name: Option<String>,
    },
    /// Change a setting in your config.toml; comments stay
    Set {
        /// Its name, such as limits.max_turns
        name: String,
        /// Its value: a word, a number, true or false, or a list with commas
        value: String,
        /// Change it in the project's .belvedere/config.toml instead
        #[arg(long)]
        project: bool,
    },
    /// Open your config.toml in $EDITOR, and say what is wrong with it afterwards
    Edit,
    /// Print where the configuration files lie
    Path,
    /// Print the JSON Schema of the configuration, for editors
    Schema,
}

/// Does what is asked for, and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub async fn run(bootstrap: Bootstrap, args: ConfigArgs) -> Result<u8, CommandFailure> {
    let failed = |error| (exit::FAILED, error);
    if matches!(args.act, ConfigAct::Get { .. }) {
        // What is printed is in force. What was to be, and why it is not, is for people.
        bootstrap.diagnostics.iter().for_each(|known| eprintln_line(&sanitize_line(&known.to_string())));
    }
    match args.act {
        ConfigAct::Get { name: None } => say(&listing(&bootstrap)).map_err(failed),
        ConfigAct::Get { name: Some(name) } => {
            let value = setting_value(&bootstrap.config, &name).ok_or_else(|| (exit::USAGE, unknown(&name)))?;
            say(&format!("{}\n", shown(&value))).map_err(failed)
        }
        ConfigAct::Set { name, value, project } => {
            set(&bootstrap, (&name, &value), project).map_err(|error| (exit::USAGE, error))
        }
        ConfigAct::Edit => edit(&bootstrap).await.map_err(failed),
        ConfigAct::Path => {
            let paths = files(&bootstrap).map(|(path, whose)| format!("{}  ({whose})\n", path.display()));
            say(&paths.collect::<String>()).map_err(failed)
        }
        ConfigAct::Schema => {
            let text = serde_json::to_string_pretty(&config_schema()).map_err(|error| failed(error.into()))?;
            say(&(text + "\n")).map_err(failed)
        }
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let near = nearest_setting(name).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    anyhow!("no setting `{}`{near} (belvedere config get lists all)", sanitize_line(name))
}

fn files(bootstrap: &Bootstrap) -> impl Iterator<Item = (PathBuf, &'static str)> {
    let own = bootstrap.paths.as_ref().map(|paths| (paths.config_file(), "yours"));
    let project = bootstrap.ground.is_project.then(|| (project_file(&bootstrap.ground.root), "the project's"));
    own.into_iter().chain(project)
}

fn project_file(root: &Path) -> PathBuf {
    root.join(".belvedere/config.toml")
}

fn listing(bootstrap: &Bootstrap) -> String {
    let read = |path: Option<PathBuf>| -> toml::Table {
        let text = path.and_then(|path| read_config_file(&path).ok().flatten()).unwrap_or_default();
        toml::from_str(&text).unwrap_or_default()
    };
    let user = read(bootstrap.paths.as_ref().map(crate::config::Paths::config_file));
    let project = read(Some(project_file(&bootstrap.ground.root)));
    let environment = Environment::of_process();
    let mut out = String::new();
    for name in setting_names() {
        let Some(value) = setting_value(&bootstrap.config, name) else { continue };
        let place = setting_place(name, (&user, &project), &environment);
        let value = if value.is_null() { "\"\"".to_owned() } else { value.to_string() };
        let from = if place == SettingPlace::Default { String::new() } else { format!("  # {}", place.word()) };
        let _ = writeln!(out, "{name} = {}{from}", sanitize_line(&value));
    }
    out
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => sanitize_line(text).into_owned(),
        value => sanitize_line(&value.to_string()).into_owned(),
    }
}

fn set(bootstrap: &Bootstrap, setting: (&str, &str), project: bool) -> anyhow::Result<u8> {
    if setting.0.trim() == "ui.theme" {
        let (themes, wanted) = (tui::theme_names(bootstrap), setting.1.trim().trim_matches(['"', '\'']));
        let known = themes.join(", ");
        ensure!(themes.iter().any(|name| name == wanted), "no theme `{}`; one of {known}", sanitize_line(wanted));
    }
    let path = if project {
        ensure!(bootstrap.ground.is_project, "there is no project here");
        project_file(&bootstrap.ground.root)
    } else {
        bootstrap.paths.as_ref().context("no folder for Belvedere's files; set HOME")?.config_file()
    };
    // What a link leads to is the file that counts.
    let path = path.canonicalize().unwrap_or(path);
    let old = read_config_file(&path).map_err(|why| anyhow!("{why} Nothing was set: move it away first."))?;
    let new = edited(old.as_deref().unwrap_or_default(), &path, setting, project).map_err(|why| anyhow!("{why}"))?;
    if may_be_secret(setting.0, setting.1) {
        let is_open = path.metadata().is_ok_and(|facts| facts.permissions().mode() & 0o077 != 0);
        let file = path.display();
        ensure!(!project && !is_open, "others can read {file}, and this may be a secret: run chmod 600 {file} first");
    }
    let folder = path.parent().context("it has no folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let rights = if old.is_none() && !project { FileRights::Private } else { FileRights::AsBefore };
    replace_whole(&path, new.as_bytes(), rights).with_context(|| format!("cannot write {}", path.display()))?;
    say(&format!("Set {} in {}.\n", sanitize_line(setting.0), path.display()))
}

async fn edit(bootstrap: &Bootstrap) -> anyhow::Result<u8> {
    let path = bootstrap.paths.as_ref().context("no folder for Belvedere's files; set HOME")?.config_file();
    let folder = path.parent().context("it has no folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    tui::open_in_editor(&path).await.context("set $EDITOR to a text editor")?;
    let errors = crate::config::config_errors(&path);
    for error in &errors {
        eprintln_line(&sanitize_line(&error.to_string()));
    }
    Ok(if errors.is_empty() { exit::OK } else { exit::FAILED })
}
