//! `belvedere agents new`: from flags and questions to a file.
//!
//! Owns what is asked and what is warned of. Leaves the file to `definition::draft`. Invariant: no file is ever
//! overwritten, and nothing is written before all of it is known.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::ask::{ask, can_ask};
use super::facts::{Facts, PlaceFacts, shadowed_by};
use super::page::Page;
use super::{CommandFailure, Form, check, put, read};
use crate::definition::{AgentDraft, DefinitionState, DraftError, Listed, Source, Tier, ToolsField, parse};
use crate::headless::{self, eprintln_line, exit};
use crate::message::{sanitize_line, split_list};
use crate::services::Bootstrap;
use crate::tui;

/// What a new agent is made of. What is missing is asked for on a terminal.
#[derive(Debug, Clone, Args)]
pub struct NewArgs {
    /// Its name: lowercase letters, digits and dashes.
    pub name: Option<String>,

    /// When to use it; the model reads this to decide.
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,

    /// Its tools, separated by commas (default: all).
    #[arg(long, value_name = "LIST")]
    pub tools: Option<String>,

    /// Its model: an alias such as haiku, or an id (default: same as parent).
    #[arg(long)]
    pub model: Option<String>,

    /// Its color, such as blue or #8040c0.
    #[arg(long)]
    pub color: Option<String>,

    /// Where to save the file.
    #[arg(long = "in", value_enum, value_name = "WHERE")]
    pub place: Option<Where>,

    /// Its system prompt.
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
}

/// Where an agent file belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Where {
    /// ~/.claude/agents
    User,
    /// ~/.kode/agents
    UserKode,
    /// .claude/agents of the project (the default)
    Project,
    /// .kode/agents of the project
    ProjectKode,
}

impl From<Where> for Tier {
    fn from(place: Where) -> Self {
        match place {
            Where::User => Self::UserClaude,
            Where::UserKode => Self::UserKode,
            Where::Project => Self::ProjectClaude,
            Where::ProjectKode => Self::ProjectKode,
        }
    }
}

/// The JSON form: what the list says of it, and what it shadows.
#[derive(Serialize)]
struct Made {
    #[serde(flatten)]
    facts: Facts,
    shadows: Vec<PlaceFacts>,
}

pub(super) async fn run(bootstrap: &Bootstrap, mut args: NewArgs, form: Form) -> Result<u8, CommandFailure> {
    let usage = |error: anyhow::Error| (exit::USAGE, error);
    let failed = |error: anyhow::Error| (exit::FAILED, error);
    let dirs = bootstrap.library.dirs();
    // A project that is the home folder has the folders of the user and no others.
    let usual = if dirs.home_of(Tier::ProjectClaude).is_some() { Where::Project } else { Where::User };
    if args.name.is_none() || args.description.is_none() {
        if !can_ask() {
            let how = "an agent needs a name and a description: belvedere agents new NAME --description TEXT";
            return Err(usage(anyhow!(how)));
        }
        complete(&mut args, usual).map_err(usage)?;
    }
    let mut draft = draft(args.clone()).map_err(usage)?;
    let tier = Tier::from(args.place.unwrap_or(usual));
    let folder = dirs.home_of(tier).ok_or_else(|| usage(no_folder(tier)))?;
    let path = folder.join(format!("{}.md", draft.name));
    // Asked before the prompt is written, which would be lost otherwise.
    if path.exists() {
        return Err(failed(DraftError::Exists(path).into()));
    }
    draft.prompt = prompt(args.prompt, &draft).await.map_err(usage)?;
    let parsed = parse(&draft.to_text(), Source { tier, path: Some(path) });
    for error in check::alone(bootstrap, parsed) {
        eprintln_line(&format!("warning: {error}"));
    }
    let path = draft.create_in(folder).map_err(|error| failed(error.into()))?.path;
    tell(bootstrap, &path, form)
}

/// Asks for what is missing.
fn complete(args: &mut NewArgs, usual: Where) -> anyhow::Result<()> {
    let anything = |_: &str| Ok(());
    if args.name.is_none() {
        args.name = Some(ask("Name", "", |name| AgentDraft::check_name(name).map_err(str::to_owned))?);
    }
    if args.description.is_none() {
        let some = |text: &str| if text.is_empty() { Err("Say when to use it.".to_owned()) } else { Ok(()) };
        args.description = Some(ask("When to use it", "", some)?);
    }
    if args.tools.is_none() {
        args.tools = Some(ask("Tools, separated by commas", "all", anything)?);
    }
    if args.model.is_none() {
        args.model = Some(ask("Model", "inherit", anything)?);
    }
    if args.place.is_none() {
        let name =
            |place: Where| place.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let names: Vec<String> = Where::value_variants().iter().map(|place| name(*place)).collect();
        let names = names.join(", ");
        let known = |name: &str| Where::from_str(name, true).map(drop).map_err(|_| format!("One of {names}."));
        let place = ask(&format!("Where ({names})"), &name(usual), known)?;
        args.place = Where::from_str(&place, true).ok();
    }
    Ok(())
}

/// Returns the draft, which has no prompt yet.
fn draft(args: NewArgs) -> anyhow::Result<AgentDraft> {
    let NewArgs { name, description, tools, model, color, .. } = args;
    let name = name.unwrap_or_default();
    AgentDraft::check_name(&name)
        .map_err(|error| anyhow!("`{}` is not an agent name. {error}", sanitize_line(&name)))?;
    let description = description.unwrap_or_default().trim().to_owned();
    anyhow::ensure!(!description.is_empty(), "the description is empty; say when to use the agent");
    let tools = match tools.as_deref().map(str::trim) {
        None | Some("*" | "all") => ToolsField::All,
        Some(names) => ToolsField::List(split_list(names, ['(', ')'], |c| c == ',').map(str::to_owned).collect()),
    };
    let model = model.filter(|model| !model.is_empty() && model != "inherit");
    let color = color.map(|color| color.trim().to_owned()).filter(|color| !color.is_empty());
    if let Some(color) = &color {
        AgentDraft::check_color(color)
            .map_err(|error| anyhow!("`{}` is not a color. {error}", sanitize_line(color)))?;
    }
    Ok(AgentDraft { name, description, tools, model, color, prompt: String::new() })
}

fn no_folder(tier: Tier) -> anyhow::Error {
    match tier {
        Tier::UserClaude | Tier::UserKode => anyhow!("no home folder is known; set HOME, or write to the project"),
        _ => anyhow!("no project here; write to `--in user` or `--in user-kode`, or start in the folder of a project"),
    }
}

/// Returns the prompt: the one of the flag, else what is piped in, else what the user writes in the editor.
async fn prompt(given: Option<String>, draft: &AgentDraft) -> anyhow::Result<String> {
    let prompt = match given {
        Some(text) => text,
        None if io::stdin().is_terminal() => {
            let start = format!("You are {}. {}\n", draft.name, draft.description);
            let edited = tui::edit(&start).await;
            edited.map_err(|error| error.context("the editor failed; set $EDITOR, or use --prompt TEXT"))?
        }
        None => headless::with_piped(None, Some(io::stdin()), headless::FIRST_BYTE_TIMEOUT).unwrap_or_default().text,
    };
    anyhow::ensure!(!prompt.trim().is_empty(), "the agent has no prompt: use --prompt TEXT, or pipe it in");
    Ok(prompt)
}

/// Tells where the file is, and what it means for others of its name.
fn tell(bootstrap: &Bootstrap, path: &Path, form: Form) -> Result<u8, CommandFailure> {
    let listing = read(bootstrap);
    let mut page = Page::new(bootstrap);
    let written = listing.iter().find(|listed| listed.source.path.as_deref() == Some(path));
    let Some(written) = written else {
        return Err((exit::FAILED, anyhow!("{} was written, but cannot be found again", path.display())));
    };
    let shadowed: Vec<&Listed> = match written.standing {
        DefinitionState::InForce => shadowed_by(written, &listing).collect(),
        DefinitionState::Shadowed { .. } | DefinitionState::Broken => Vec::new(),
    };
    for other in &shadowed {
        eprintln_line(&format!("warning: it shadows the one from {}", page.origin(&other.source)));
    }
    if let DefinitionState::Shadowed { by } = &written.standing {
        eprintln_line(&format!("warning: it is not active: the one from {} wins", page.origin(by)));
    }
    let shadows = shadowed.iter().map(|listed| PlaceFacts::of(&listed.source)).collect();
    page.line(&path.display().to_string());
    put(form, &Made { facts: Facts::of(written), shadows }, page, exit::OK)
}
