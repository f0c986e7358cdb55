//! `belvedere agents check`: what is wrong with agent files.
//!
//! Invariant: every file that was looked at is counted, and each fault of each stands on a line of its own that an
//! editor can jump to.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde::Serialize;

use super::facts::{Facts, severity};
use super::page::Page;
use super::{CommandFailure, Form, put, read};
use crate::definition::{AgentDir, AgentDirs, DefinitionState, Library, Listed, Parsed, Source, Tier, read_file};
use crate::headless::exit;
use crate::message::sanitize_line;
use crate::services::{Bootstrap, known_names};

/// The JSON form.
#[derive(Serialize)]
struct Checked {
    files: usize,
    /// Without a fault.
    usable: usize,
    with_warnings: usize,
    unusable: usize,
    agents: Vec<Facts>,
}

pub(super) fn run(bootstrap: &Bootstrap, path: Option<&Path>, form: Form) -> Result<u8, CommandFailure> {
    let all = match path {
        Some(path) => read_path(bootstrap, path).map_err(|error| (exit::FAILED, error))?,
        None => read(bootstrap).to_vec(),
    };
    let files: Vec<Listed> = all.into_iter().filter(|listed| listed.source.tier != Tier::BuiltIn).collect();
    let mut page = Page::new(bootstrap);
    for listed in &files {
        errors(&mut page, listed);
        if let Some(by) = rival(&page, listed) {
            let note = match path {
                Some(_) => format!("has the same name as {by}; only one of them can be active."),
                None => format!("shadowed by {by}. Rename one to have both."),
            };
            page.line(&format!("{}: note: {note}", page.place(&listed.source)));
        }
    }
    let unusable = files.iter().filter(|listed| listed.definition.is_none()).count();
    let warned = |listed: &&Listed| listed.definition.is_some() && !listed.diagnostics.is_empty();
    let with_warnings = files.iter().filter(warned).count();
    let checked = Checked {
        files: files.len(),
        usable: files.len() - unusable - with_warnings,
        with_warnings,
        unusable,
        agents: files.iter().map(Facts::of).collect(),
    };
    page.line(&summary(&checked));
    put(form, &checked, page, if unusable > 0 { exit::FAILED } else { exit::OK })
}

/// Reads a file, or all agent files below a folder, as if they were the only ones.
fn read_path(bootstrap: &Bootstrap, path: &Path) -> anyhow::Result<Vec<Listed>> {
    // Their tier makes no difference, as long as it is none of the program's own.
    let tier = Tier::CommandLine;
    let wanted = bootstrap.options.directory.join(path);
    let missing = || format!("{} cannot be checked; name an agent file or a folder", wanted.display());
    let path = std::fs::canonicalize(&wanted).with_context(missing)?;
    let names = known_names(&bootstrap.config, &bootstrap.services);
    let library = if path.is_dir() {
        Library::new(AgentDirs::from(vec![AgentDir { tier, path, bounds: None }]), Vec::new(), names)
    } else if path.is_file() {
        let parsed = read_file(Source { tier, path: Some(path) });
        Library::new(AgentDirs::default(), vec![parsed], names)
    } else {
        return Err(anyhow!("{} is neither a file nor a folder", path.display()));
    };
    library.reload();
    Ok(library.catalog().listing().to_vec())
}

/// Checks one agent as if it were the only one.
pub(super) fn alone(bootstrap: &Bootstrap, parsed: Parsed) -> Vec<String> {
    let library = Library::new(AgentDirs::default(), vec![parsed], known_names(&bootstrap.config, &bootstrap.services));
    library.reload();
    let listing = library.catalog().listing();
    let given = listing.iter().filter(|listed| listed.source.tier != Tier::BuiltIn);
    given.flat_map(|listed| &listed.diagnostics).map(|error| sanitize_line(&error.message).into_owned()).collect()
}

/// Adds a line for each fault of a file.
fn errors(page: &mut Page, listed: &Listed) {
    let place = page.place(&listed.source);
    let severity = severity(listed);
    let painted = page.paint(severity, |theme| if severity == "error" { theme.error } else { theme.warning });
    for error in &listed.diagnostics {
        let line = error.line.map(|line| format!("{line}:")).unwrap_or_default();
        page.line(&format!("{place}:{line} {painted}: {}", sanitize_line(&error.message)));
    }
}

/// Returns the file that takes the place of this one.
fn rival(page: &Page, listed: &Listed) -> Option<String> {
    match &listed.standing {
        DefinitionState::Shadowed { by } => Some(page.place(by)),
        DefinitionState::InForce | DefinitionState::Broken => None,
    }
}

fn summary(checked: &Checked) -> String {
    if checked.files == 0 {
        return "no agent files".to_owned();
    }
    let files = if checked.files == 1 { "1 file".to_owned() } else { format!("{} files", checked.files) };
    let mut parts = vec![format!("{} usable", checked.usable)];
    let more = [(checked.with_warnings, "with warnings"), (checked.unusable, "unusable")];
    parts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    format!("{files}: {}", parts.join(", "))
}
