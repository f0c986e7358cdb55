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
use super::settings::SessionSettings;
use super::setup_programs::SetupPrograms;
use super::{Bootstrap, ConfiguredServers, Options, SessionHandles, external, hooks, mcp, say};
use crate::agent::{Place, SessionEvent, Sink};
use crate::config::Paths;
use crate::definition::skill::SkillLibrary;
use crate::definition::{CatalogChanges, Library, WatchedFiles};
use crate::hook::Hooks;
use crate::mcp::McpServers;
use crate::memory::{MemoryReader, MemorySources, MemoryTrust};
use crate::message::sanitize_line;
use crate::permission::{BroughtItem, BroughtKind, FolderTrust, Permissions, RuleSet};
use crate::session::TrustedItems;
use crate::subagent::TrustAnswer;
use crate::tool::Shell;

/// New items that are named in a notice.
const MAX_NAMED: usize = 3;
/// What is watched while the program runs.
const WATCHED: [BroughtKind; 4] = [BroughtKind::Agent, BroughtKind::Skill, BroughtKind::Command, BroughtKind::Memory];
/// What is looked at anew whenever something of it has changed.
const RUN: [BroughtKind; 3] = [BroughtKind::Hook, BroughtKind::Program, BroughtKind::Server];

/// Finds out what the folder brings, and whether the user trusts all of it.
pub(super) fn look(
    options: &Options,
    (rules, settings): (&SessionRules, &SessionSettings),
    (library, skills): (&Library, &SkillLibrary),
    (paths, place): (Option<&Paths>, &Place),
    (memory, servers): (&MemorySources, &ConfiguredServers),
) -> FolderTrust {
    let files = [library.brought(), skills.brought()].concat();
    let acts = acts_of(&files, &place.project);
    let found = files.into_iter().chain(acts).chain(rules.brought());
    let found = found.chain(settings.brought(&place.project)).chain(imports(memory, place)).chain(servers.brought());
    let mut brings: Vec<BroughtItem> = found.collect();
    brings.sort();
    brings.dedup();
    let trusted = paths.filter(|_| !options.trust).map(|paths| kept(paths, place).read()).unwrap_or_default();
    let mut fresh: Vec<BroughtItem> = brings.iter().filter(|item| !trusted.contains(item)).cloned().collect();
    // What was trusted stays in use, the guards among it too: only what is new waits.
    let is_trusted = options.trust || brings.is_empty() || fresh.len() < brings.len();
    // Where nothing was trusted before, nothing is news.
    if options.trust || trusted.is_empty() {
        fresh.clear();
    }
    if !options.trust {
        library.trust().set(trusted);
    }
    let trust = FolderTrust { folder: place.project.to_string_lossy().into_owned(), brings, is_trusted, fresh };
    put_in_force(&trust, &memory.trust);
    trust
}

/// Returns what memory files of the project would import from outside. Blocks.
fn imports(memory: &MemorySources, place: &Place) -> Vec<BroughtItem> {
    let (cwd, project) = (place.cwd.clone(), place.project.clone());
    let read = MemoryReader::under(memory.clone(), cwd, project, RuleSet::default()).read(&BTreeSet::new());
    let item = |path: PathBuf| BroughtItem::new(BroughtKind::Import, path.to_string_lossy());
    read.outside.into_iter().map(item).collect()
}

/// Lets memory files be read as far as the folder is trusted: those of a folder that brings what acts wait for the answer,
/// and imports from outside do everywhere.
fn put_in_force(trust: &FolderTrust, memory: &MemoryTrust) {
    let imports = trust.brings.iter().filter(|item| item.kind == BroughtKind::Import && trust.uses(item));
    memory.set(!trust.is_trusted && trust.holds_back(), imports.map(|item| PathBuf::from(&item.text)).collect());
}

/// Returns the hooks that agent files, skills and commands of the project name, and the programs that are agents. Blocks.
fn acts_of(files: &[BroughtItem], project: &Path) -> Vec<BroughtItem> {
    let acts = |file: &BroughtItem| {
        let path = project.join(&file.text);
        let hooks = hooks::of_file(&path, file.kind, project);
        hooks.into_iter().chain(external::of_file(&path, file.kind, project))
    };
    files.iter().flat_map(acts).collect()
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
    if !trust.holds_back() {
        return Ok(());
    }
    bail!(
        "{} brings {} that you have not trusted. Start `belvedere` there once to look, or pass --trust.",
        sanitize_line(&trust.folder),
        FolderTrust::summary_of(trust.waiting())
    )
}

/// What depends on whether the folder is trusted.
pub(super) struct TrustParts {
    pub(super) trust: FolderTrust,
    pub(super) rules: SessionRules,
    pub(super) files: WatchedFiles,
    pub(super) memory: MemoryTrust,
    pub(super) settings: SessionSettings,
    pub(super) hooks: Hooks,
    /// By what commands of hooks are started.
    pub(super) programs: SetupPrograms,
    pub(super) shell: Shell,
    pub(super) servers: ConfiguredServers,
    /// The servers that run.
    pub(super) running: McpServers,
}

impl TrustParts {
    /// Lets all but rules and agent files act as far as the folder is trusted.
    async fn put_in_force(&self, sink: &Sink) {
        let trust = &self.trust;
        put_in_force(trust, &self.memory);
        hooks::put_in_force(&self.hooks, trust);
        let refused = self.shell.set_variables(self.settings.variables(trust));
        // Those of the service are not meant for commands.
        for name in refused.into_iter().filter(|name| !self.settings.service_variables().contains_key(name)) {
            let name = sanitize_line(&name).into_owned();
            sink.notify(format!("`env.{name}` in your settings is not set: commands do not get it that way.")).await;
        }
        let (hooks, programs) = (self.hooks.clone(), self.programs.clone());
        let listing = spawn_blocking(move || hooks::notices(&hooks, &programs));
        let hooks = listing.await.unwrap_or_default();
        sink.emit_session(SessionEvent::HooksChanged { hooks }).await;
        self.servers.put_in_force(&self.running, (trust, self.shell.sandbox()), sink).await;
    }

    /// Returns the hooks and servers of plugins that lie in the project. Blocks; there are few.
    fn brought_in_plugins(&self, project: &Path) -> BTreeSet<BroughtItem> {
        self.settings.brought_in_plugins(project).into_iter().chain(self.servers.brought_in_plugins()).collect()
    }
}

/// Says what the folder brings, and starts to carry out what the user says of that. Returns where it goes what they trust;
/// nothing takes it back.
pub(super) async fn attend(
    found: TrustParts,
    place: (Option<&Paths>, &Place),
    (permissions, sink): (&Permissions, &Sink),
    handles: &mut SessionHandles,
) -> mpsc::UnboundedSender<TrustAnswer> {
    let trust = &found.trust;
    found.put_in_force(sink).await;
    handles.servers = Some(mcp::announcer(&found.running, sink.clone()));
    handles.running_servers = found.running.clone();
    if !trust.brings.is_empty() {
        sink.emit_session(SessionEvent::FolderTrust { trust: trust.clone() }).await;
    }
    if trust.is_trusted && !trust.fresh.is_empty() {
        sink.notify(news(trust.fresh.iter())).await;
    } else if !trust.waiting().is_empty() {
        sink.notify(format!("This folder brings {}, not used until you trust it: /trust", trust.summary())).await;
    }
    let kept = place.0.map(|paths| kept(paths, place.1));
    let project = place.1.project.clone();
    let in_plugins = found.brought_in_plugins(&project);
    let permissions = permissions.clone();
    let mut watched = Watched { found, project, in_plugins, kept, permissions, sink: sink.clone() };
    let (words, mut waiting) = mpsc::unbounded_channel();
    let files = watched.found.files.clone();
    let items = files.library.trust().clone();
    let (mut agents, mut skills) = (files.library.brought_changes(), files.skills.brought_changes());
    let mut memory = watched.found.memory.held_changes();
    handles.trusting = Some(tokio::spawn(async move {
        loop {
            tokio::select! {
                word = waiting.recv() => match word {
                    Some(TrustAnswer { trusted, taken_in }) => {
                        watched.answered(trusted).await;
                        // Nobody waits any more once the program ends.
                        let _ = taken_in.send(());
                        continue;
                    }
                    None => return,
                },
                Ok(()) = agents.changed() => {}
                Ok(()) = skills.changed() => {}
                Ok(()) = memory.changed() => {}
                () = items.refused() => {}
                changes = files.plugins.changes() => {
                    watched.use_plugins(&changes).await;
                    continue;
                }
            }
            let found = [&mut agents, &mut skills, &mut memory].map(|files| files.borrow_and_update().clone()).concat();
            watched.see(found).await;
        }
    }));
    words
}

/// Says what has come or changed.
fn news<'a>(items: impl Iterator<Item = &'a BroughtItem>) -> String {
    let came: Vec<String> = items.map(ToString::to_string).collect();
    let (named, rest) = came.split_at(came.len().min(MAX_NAMED));
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    format!("New or changed, not used until you trust it: {}{more}: /trust", named.join(", "))
}

/// Says which plugins have come, changed or gone.
fn plugin_news(changes: &CatalogChanges) -> Option<String> {
    let parts = [("new", &changes.added), ("changed", &changes.changed), ("removed", &changes.removed)];
    let parts = parts.iter().filter(|(_, names)| !names.is_empty());
    let words: Vec<String> = parts.map(|(word, names)| format!("{word}: {}", names.join(", "))).collect();
    (!words.is_empty()).then(|| format!("Plugins {}", words.join(" · ")))
}

/// What the folder brings, while the program runs.
struct Watched {
    found: TrustParts,
    project: Arc<PathBuf>,
    /// The hooks and servers of plugins in it.
    in_plugins: BTreeSet<BroughtItem>,
    kept: Option<TrustedItems>,
    permissions: Permissions,
    sink: Sink,
}

impl Watched {
    /// Takes in the agent files, skills and commands that are there now, and what hooks, status lines and servers run.
    async fn list(&mut self, files: Vec<BroughtItem>) {
        let (named, project) = (files.clone(), self.project.clone());
        let (settings, servers) = (self.found.settings.clone(), self.found.servers.clone());
        let looking = spawn_blocking(move || {
            let acts = acts_of(&named, &project).into_iter();
            let in_plugins = settings.brought_in_plugins(&project).into_iter().chain(servers.brought_in_plugins());
            let in_plugins = in_plugins.collect();
            (acts.chain(settings.brought(&project)).chain(servers.brought()).collect::<Vec<_>>(), in_plugins)
        });
        let Ok((acts, in_plugins)) = looking.await else { return };
        self.in_plugins = in_plugins;
        let is_seen_anew = |item: &&BroughtItem| WATCHED.contains(&item.kind) || RUN.contains(&item.kind);
        let others = self.found.trust.brings.iter().filter(|item| !is_seen_anew(item)).cloned();
        let brings = others.chain(files).chain(acts).collect();
        self.set_brings(brings);
    }

    fn set_brings(&mut self, brings: BTreeSet<BroughtItem>) {
        let before = std::mem::take(&mut self.found.trust.brings);
        let is_fresh = |item: &BroughtItem| {
            if self.found.trust.is_trusted {
                !self.found.files.library.trust().has(item)
            } else {
                self.found.trust.fresh.contains(item) || !before.contains(item)
            }
        };
        self.found.trust.fresh = brings.iter().filter(|item| is_fresh(item)).cloned().collect();
        self.found.trust.brings = brings.into_iter().collect();
    }

    /// Says what has come into the folder while the program runs. It is used only once the user trusts it.
    async fn see(&mut self, files: Vec<BroughtItem>) {
        let before = self.found.trust.clone();
        self.list(files).await;
        self.tell_since(&before).await;
    }

    /// Uses the hooks and servers of the plugins that there are now, those in the project as far as the folder is trusted.
    async fn use_plugins(&mut self, changes: &CatalogChanges) {
        let before = self.found.trust.clone();
        let plugins = self.found.files.plugins.all();
        let mut errors = changes.errors.clone();
        errors.extend(self.found.settings.use_plugins(&plugins));
        self.found.servers.use_plugins(&plugins);
        let in_plugins = self.found.brought_in_plugins(&self.project);
        let gone = std::mem::replace(&mut self.in_plugins, in_plugins.clone());
        let others = before.brings.iter().filter(|item| !gone.contains(item)).cloned();
        self.set_brings(others.chain(in_plugins).collect());
        self.found.hooks.set(self.found.settings.hooks.clone());
        if let Some(sandbox) = self.found.shell.sandbox() {
            sandbox.protect(self.found.settings.run_files(&self.project));
        }
        self.found.put_in_force(&self.sink).await;
        let servers = self.found.running.facts();
        self.sink.emit_session(SessionEvent::ServersChanged { servers }).await;
        say(&errors, &self.sink).await;
        if let Some(words) = plugin_news(changes) {
            self.sink.notify(words).await;
        }
        self.tell_since(&before).await;
    }

    async fn tell_since(&self, before: &FolderTrust) {
        if self.found.trust == *before {
            return;
        }
        let came = self.found.trust.fresh.iter().filter(|item| !before.fresh.contains(item));
        let came: Vec<&BroughtItem> = came.collect();
        self.sink.emit_session(SessionEvent::FolderTrust { trust: self.found.trust.clone() }).await;
        if !came.is_empty() {
            self.sink.notify(news(came.into_iter())).await;
        } else if self.found.trust.is_trusted && !self.found.files.library.trust().is_blind() {
            // What the user has made with the program itself.
            self.keep().await;
        }
    }

    async fn answered(&mut self, trusted: Vec<BroughtItem>) {
        let (agents, skills) = (self.found.files.library.clone(), self.found.files.skills.clone());
        let held = self.found.memory.held_changes().borrow().clone();
        let looking = spawn_blocking(move || [agents.brought(), skills.brought(), held].concat());
        let found = looking.await.unwrap_or_default();
        self.list(found).await;
        let is_trusted = !trusted.is_empty();
        // A yes is for what was listed: what has come since is listed first.
        if is_trusted && self.found.trust.brings.iter().any(|item| !trusted.contains(item)) {
            self.sink.emit_session(SessionEvent::FolderTrust { trust: self.found.trust.clone() }).await;
            self.sink.notify("More has come into the folder since it was listed: /trust lists it.".to_owned()).await;
            return;
        }
        self.found.trust.is_trusted = is_trusted;
        self.found.trust.fresh = Vec::new();
        let trust = self.found.files.library.trust();
        if is_trusted {
            trust.add(self.found.trust.brings.iter().cloned());
        } else {
            trust.set([]);
        }
        let (library, skills) = (self.found.files.library.clone(), self.found.files.skills.clone());
        let reloaded = spawn_blocking(move || {
            library.reload();
            skills.reload();
        });
        self.permissions.set_ruleset(self.found.rules.ruleset(&self.found.trust));
        self.permissions.open_directories(self.found.rules.directories(&self.found.trust));
        self.found.put_in_force(&self.sink).await;
        let _ = reloaded.await;
        self.keep().await;
        self.sink.emit_session(SessionEvent::FolderTrust { trust: self.found.trust.clone() }).await;
    }

    /// Writes down what the user trusts.
    async fn keep(&self) {
        let trust = &self.found.trust;
        let (kept, is_trusted) = (self.kept.clone(), trust.is_trusted);
        let used: Vec<BroughtItem> = trust.brings.iter().filter(|item| trust.uses(item)).cloned().collect();
        let write = move |kept: TrustedItems| if is_trusted { kept.add(used) } else { kept.clear() };
        let written = spawn_blocking(move || kept.map_or(Ok(()), write)).await;
        if let Ok(Err(error)) = written {
            self.sink.notify(format!("Trusted for this session only: {error}.")).await;
        }
    }
}
