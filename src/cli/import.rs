//! `belvedere import`: what other agent programs have configured, shown, and taken over where it is chosen.
//!
//! Owns the choice and what is said. Leaves finding to `services`, and the text of our file to `config` and `mcp`.
//! Invariants: nothing is written unless it is asked for by name or with `--yes`; what is there already stays; nothing that
//! lies in the project is taken over.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use clap::Args;

use crate::cli::agents::CommandFailure;
use crate::cli::keys::say;
use crate::config::{Environment, edited, read_config_file};
use crate::headless::exit;
use crate::mcp::edit_own_file;
use crate::message::sanitize_line;
use crate::services::{Bootstrap, ForeignItem, ForeignKind, foreign_items};
use crate::whole_file::{FileRights, replace_whole};

/// What follows `belvedere import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ImportArgs {
    /// What to take over, as it is listed: codex:mcp:docs, codex:mcp, or codex for all of it
    pub items: Vec<String>,
    /// Take over all that is listed as new
    #[arg(long, conflicts_with = "items")]
    pub yes: bool,
}

const AFTER_HELP: &str = "\
Without a name and without --yes, nothing is written. Keys are never taken over, and nothing of yours is overwritten. What
lies in the folder you are in is listed, and not taken over: it is the word of whoever wrote it. To use a server of it, add it
yourself: belvedere mcp add.";

/// Does what is asked for, and returns the exit status.
///
/// # Errors
/// Returns the exit status and what to tell the user.
pub fn run(bootstrap: &Bootstrap, args: &ImportArgs) -> Result<u8, CommandFailure> {
    let folders = bootstrap.ground.folders(&bootstrap.place.cwd);
    let folders: Vec<_> = folders.filter(|_| bootstrap.ground.is_project).collect();
    let (items, unread) = foreign_items(&Environment::of_process(), &folders);
    let is_named = |item: &ForeignItem| args.items.iter().any(|wanted| covers(wanted, &item.id));
    let is_named_alone = |item: &ForeignItem| args.items.contains(&item.id);
    if let Some(nothing) = args.items.iter().find(|wanted| !items.iter().any(|item| covers(wanted, &item.id))) {
        let error = anyhow!("nothing is called {:?}; belvedere import lists what there is", sanitize_line(nothing));
        return Err((exit::USAGE, error));
    }
    let (mut out, mut failures) = (String::new(), 0_usize);
    for item in &items {
        let state = match &item.kind {
            ForeignKind::InUse { .. } => "in use".to_owned(),
            _ if item.is_folders => {
                failures += usize::from(is_named_alone(item));
                format!("this folder's ({}), not yours: not taken over", shown_path(&item.file))
            }
            _ if is_there(bootstrap, item) => "kept: you have one already".to_owned(),
            _ if item.loses_limit && !is_named_alone(item) => {
                "new: left out, for what limits it would stay behind; name it in full to take it over".to_owned()
            }
            _ if !args.yes && !is_named(item) => "new".to_owned(),
            _ => taken(bootstrap, item).map_or_else(
                |error| {
                    failures += 1;
                    format!("failed: {error:#}")
                },
                |()| "taken over".to_owned(),
            ),
        };
        let left = item.left.as_deref().map(|left| format!(" ({left})")).unwrap_or_default();
        let _ = writeln!(out, "{}  {}{left}: {state}", item.id, item.kind.words());
    }
    for why in unread {
        let _ = writeln!(out, "! {}", sanitize_line(&why));
    }
    if items.is_empty() {
        out.push_str("Nothing of Claude Code, Codex, Gemini CLI or Kode is configured here.\n");
    } else if !args.yes && args.items.is_empty() {
        out.push_str("Nothing was written. To take over: belvedere import NAME…, or --yes for all that is new.\n");
    }
    say(&out).map_err(|error| (exit::FAILED, error))?;
    Ok(if failures > 0 { exit::FAILED } else { exit::OK })
}

fn shown_path(path: &Path) -> String {
    sanitize_line(&path.to_string_lossy()).into_owned()
}

/// Returns `true` if a word stands for an item: for it alone, or for the beginning of its name.
fn covers(wanted: &str, id: &str) -> bool {
    id == wanted || id.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(':'))
}

/// Returns `true` if the user has something in its place.
fn is_there(bootstrap: &Bootstrap, item: &ForeignItem) -> bool {
    match &item.kind {
        ForeignKind::Server { name, .. } => {
            // One of the user's own counts even if it cannot be used as things are.
            bootstrap.config.mcp_servers.iter().any(|(own, _)| own == name)
                || bootstrap.known_mcp_servers().0.iter().any(|server| server.name == *name)
        }
        ForeignKind::Setting { name, .. } => {
            let text = own_text(bootstrap).ok().flatten().unwrap_or_default();
            toml::from_str::<toml::Table>(&text).is_ok_and(|table| table.contains_key(*name))
        }
        ForeignKind::InUse { .. } => true,
    }
}

fn own_text(bootstrap: &Bootstrap) -> anyhow::Result<Option<String>> {
    let Some(paths) = &bootstrap.paths else { return Ok(None) };
    read_config_file(&paths.config_file()).map_err(|why| anyhow!("{why}"))
}

fn taken(bootstrap: &Bootstrap, item: &ForeignItem) -> anyhow::Result<()> {
    let path = bootstrap.paths.as_ref().context("no folder for Belvedere's files; set HOME")?.config_file();
    let path = path.canonicalize().unwrap_or(path);
    let folder = path.parent().context("it has no folder")?;
    std::fs::create_dir_all(folder)?;
    match &item.kind {
        ForeignKind::Server { name, entry } => {
            let sources = &bootstrap.servers.sources;
            sources.check(name, entry).map_err(|why| anyhow!(why))?;
            edit_own_file(&path, name, Some(entry)).map(drop).map_err(|why| anyhow!(why))
        }
        ForeignKind::Setting { name, value } => {
            // Of two that name the same, the first has been taken.
            anyhow::ensure!(!is_there(bootstrap, item), "another one was taken over before");
            let old = own_text(bootstrap)?;
            let new = edited(old.as_deref().unwrap_or_default(), &path, (name, value), false);
            let rights = if old.is_none() { FileRights::Private } else { FileRights::AsBefore };
            replace_whole(&path, new.map_err(|why| anyhow!(why))?.as_bytes(), rights)?;
            Ok(())
        }
        ForeignKind::InUse { .. } => Ok(()),
    }
}
