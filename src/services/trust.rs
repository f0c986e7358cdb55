//! Whether the user trusts what a folder brings: found at the start, kept when an answer says so.
//!
//! Owns what it takes to believe a folder. Leaves the file to `session`. Invariant: what a folder brings acts only once
//! the user has seen it in a list and said yes, or started with `--trust`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::rules::SessionRules;
use super::{Bootstrap, Options, SessionHandles};
use crate::agent::{Place, SessionEvent, Sink};
use crate::config::Paths;
use crate::definition::Library;
use crate::memory::{MemoryReader, MemorySources, MemoryTrust};
use crate::message::sanitize_line;
use crate::permission::{BroughtItem, BroughtKind, FolderTrust, Permissions, RuleSet};
use crate::session::TrustedItems;

/// Finds out what the folder brings, and whether the user trusts all of it.
pub(super) fn look(
    options: &Options,
    rules: &SessionRules,
    library: &Library,
    (paths, place): (Option<&Paths>, &Place),
    memory: &MemorySources,
) -> FolderTrust {
    let found = agents(library, &place.project).chain(rules.brought()).chain(imports(memory, place));
    let mut brings: Vec<BroughtItem> = found.collect();
    brings.sort();
    brings.dedup();
    let is_known = || {
        let trusted = paths.map(|paths| kept(paths, place).read()).unwrap_or_default();
        brings.iter().all(|item| trusted.contains(item))
    };
    let is_trusted = options.trust || is_known();
    let trust = FolderTrust { folder: place.project.to_string_lossy().into_owned(), brings, is_trusted };
    put_in_force(&trust, &memory.trust);
    trust
}

/// Returns what memory files of the project would import from outside. Blocks.
fn imports(memory: &MemorySources, place: &Place) -> Vec<BroughtItem> {
    let (cwd, project) = (place.cwd.clone(), place.project.clone());
    let read = MemoryReader::under(memory.clone(), cwd, project, RuleSet::default()).read(&BTreeSet::new());
    let item = |path: PathBuf| BroughtItem { kind: BroughtKind::Import, text: path.to_string_lossy().into_owned() };
    read.outside.into_iter().map(item).collect()
}

/// Lets memory files be read as far as the folder is trusted: those of a folder that brings what acts wait for the answer,
/// and imports from outside do everywhere.
fn put_in_force(trust: &FolderTrust, memory: &MemoryTrust) {
    let imports = trust.brings.iter().filter(|item| item.kind == BroughtKind::Import && trust.is_trusted);
    memory.set(!trust.is_trusted && trust.acts(), imports.map(|item| PathBuf::from(&item.text)).collect());
}

/// Returns the agent files of the project. Blocks.
fn agents(library: &Library, project: &Path) -> impl Iterator<Item = BroughtItem> {
    library.project_files().into_iter().map(move |path| {
        let inside = path.strip_prefix(project).unwrap_or(&path);
        BroughtItem { kind: BroughtKind::Agent, text: inside.to_string_lossy().into_owned() }
    })
}

fn kept(paths: &Paths, place: &Place) -> TrustedItems {
    TrustedItems::new(&paths.state_dir, &place.project)
}

/// Checks that a run without anybody to ask may begin.
///
/// # Errors
/// Returns what the folder brings, and what to do.
pub fn check_trust(bootstrap: &Bootstrap) -> anyhow::Result<()> {
    let trust = &bootstrap.trust;
    // Without a yes, imports are left out, and that is said.
    if trust.is_trusted || !trust.acts() {
        return Ok(());
    }
    bail!(
        "{} brings {} that you have not trusted. Start `belvedere` there once to look, or pass --trust.",
        sanitize_line(&trust.folder),
        trust.summary()
    )
}

/// Says what the folder brings, and starts to carry out what the user says of that. Returns where their word goes; `None`
/// if the folder brings nothing.
pub(super) async fn attend(
    (mut trust, rules, library, memory): (FolderTrust, SessionRules, Arc<Library>, MemoryTrust),
    place: (Option<&Paths>, &Place),
    (permissions, sink): (&Permissions, &Sink),
    handles: &mut SessionHandles,
) -> Option<mpsc::UnboundedSender<bool>> {
    if trust.brings.is_empty() {
        return None;
    }
    sink.emit_session(SessionEvent::FolderTrust { trust: trust.clone() }).await;
    if !trust.is_trusted {
        sink.notify(format!("This folder brings {}, not used until you trust it: /trust", trust.summary())).await;
    }
    let kept = place.0.map(|paths| kept(paths, place.1));
    let (permissions, sink, project) = (permissions.clone(), sink.clone(), place.1.project.clone());
    let (words, mut waiting) = mpsc::unbounded_channel();
    handles.trusting = Some(tokio::spawn(async move {
        while let Some(is_trusted) = waiting.recv().await {
            // A yes is for what was listed: what has come since is listed first.
            let (looking, root) = (library.clone(), project.clone());
            let found = spawn_blocking(move || agents(&looking, &root).collect::<Vec<_>>()).await.unwrap_or_default();
            let unseen: Vec<BroughtItem> = found.into_iter().filter(|item| !trust.brings.contains(item)).collect();
            if is_trusted && !unseen.is_empty() {
                trust.brings.extend(unseen);
                trust.brings.sort();
                sink.emit_session(SessionEvent::FolderTrust { trust: trust.clone() }).await;
                sink.notify("More has come into the folder since it was listed: /trust lists it.".to_owned()).await;
                continue;
            }
            trust.is_trusted = is_trusted;
            put_in_force(&trust, &memory);
            let brings = if is_trusted { trust.brings.clone() } else { Vec::new() };
            let (library, kept) = (library.clone(), kept.clone());
            let written = spawn_blocking(move || {
                library.trust_project(is_trusted);
                library.reload();
                kept.map_or(Ok(()), |kept| kept.write(brings))
            });
            permissions.set_ruleset(rules.ruleset(is_trusted));
            permissions.open_directories(rules.directories(is_trusted));
            if let Ok(Err(error)) = written.await {
                sink.notify(format!("Trusted for this session only: {error}.")).await;
            }
            sink.emit_session(SessionEvent::FolderTrust { trust: trust.clone() }).await;
        }
    }));
    Some(words)
}
