//! The sandbox of a session: from what the user has set to what is said of it.
//!
//! Owns which places it is made of, and the look at whether the system has one. Leaves what holds inside to `sandbox`.
//! Invariants: nobody waits for the look but a first command; a demonstration and a run without a project have none.

use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::mpsc;

use super::rules::SessionRules;
use super::settings::SessionSettings;
use super::worktrees::AbortOnDrop;
use super::{Bootstrap, Options, SessionHandles, SessionKind};
use crate::agent::{SessionEvent, Sink};
use crate::config::{Config, Environment, Paths, ProjectRoot, SandboxSettings, obeyed_by_git};
use crate::permission::FolderTrust;
use crate::sandbox::{DeniedPaths, Hosts, PlaceNews, PlaceWatch, Sandbox, SandboxPlaces, SandboxState, TMP};
use crate::session::project_dir;
use crate::tool::Shell;

/// Why there is no sandbox on macOS unless the user asks for it.
const UNTESTED: &str = "nobody has tested it on macOS; `sandbox.untested_macos = true` turns it on";

/// What the shell of a session is made of.
type MadeOf<'a> = (&'a Options, &'a Config, Option<&'a Paths>, &'a ProjectRoot);

/// Returns how commands of a session are run, and says so if there is no sandbox. `keys` are the variables of services.
pub(super) async fn shell(
    (options, config, paths, ground): MadeOf<'_>,
    (rules, trust, settings): (&SessionRules, &FolderTrust, &SessionSettings),
    keys: Vec<String>,
    kept: &mut SessionHandles,
    sink: &Sink,
) -> Shell {
    let environment = Environment::of_process();
    let denied = rules.denied_paths(&ground.root, denied_globs(&config.sandbox, environment.home().as_deref()));
    let hidden = &config.sandbox.hidden_variables;
    let handed_on: Vec<String> =
        config.tool_environment.iter().filter(|name| !hidden.contains(name)).cloned().collect();
    let keys: Vec<String> = keys.into_iter().chain(hidden.iter().cloned()).collect();
    let shell =
        Shell::new(&options.program, &handed_on, &keys).without(denied.clone()).closed(config.sandbox.limits.is_closed);
    let Some(paths) = paths.filter(|_| options.kind == SessionKind::Live && ground.is_project) else { return shell };
    let parts = ((denied, rules.directories(trust)), kept.watch.clone());
    match of_session(&config.sandbox, paths, &ground.root, parts) {
        Ok(sandbox) => {
            sandbox.protect(settings.run_files(&ground.root));
            let shell = shell.with_sandbox(sandbox.clone());
            let is_wanted = sandbox.is_on();
            if cfg!(target_os = "macos") {
                sandbox.share_processes("macOS does not number them apart".to_owned());
                if is_wanted && !config.sandbox.untested_macos {
                    sandbox.set_state(SandboxState::Unavailable(UNTESTED.to_owned()));
                }
            }
            kept.places = Some(tell_of_places(sandbox.watch(), sink.clone()));
            kept.checking = Some(look(shell.clone(), sandbox, is_wanted, (ground.root.clone(), sink.clone())));
            shell
        }
        Err(error) => {
            let why = format!("there is no folder for its temporary files: {error}");
            sink.notify(format!("No sandbox here ({why}): commands ask before they run.")).await;
            shell
        }
    }
}

/// Returns how programs of a project are run beside a session: in a sandbox of their own, where there is one.
pub(super) fn shell_beside(bootstrap: &Bootstrap, keys: &[String]) -> Shell {
    let Bootstrap { options, config, paths, ground, .. } = bootstrap;
    let shell = Shell::new(&options.program, &config.tool_environment, keys);
    let is_untested = cfg!(target_os = "macos") && !config.sandbox.untested_macos;
    let Some(paths) = paths.as_ref().filter(|_| ground.is_project && !is_untested) else { return shell };
    match of_session(&config.sandbox, paths, &ground.root, Default::default()) {
        Ok(sandbox) => shell.with_sandbox(sandbox),
        Err(_) => shell,
    }
}

/// Returns why commands have no sandbox here; `None` if they have one.
pub async fn why_no_sandbox(bootstrap: &Bootstrap) -> Option<String> {
    let Bootstrap { options, config, paths, ground, .. } = bootstrap;
    if !config.sandbox.enabled {
        return Some("it is switched off (sandbox.enabled)".to_owned());
    }
    if !ground.is_project {
        return Some("this folder is no project".to_owned());
    }
    if cfg!(target_os = "macos") && !config.sandbox.untested_macos {
        return Some(UNTESTED.to_owned());
    }
    let Some(paths) = paths else { return Some("there is no folder for its files; set HOME".to_owned()) };
    match of_session(&config.sandbox, paths, &ground.root, Default::default()) {
        Ok(sandbox) => Shell::new(&options.program, &[], &[]).with_sandbox(sandbox).check_sandbox().await,
        Err(error) => Some(format!("there is no folder for its temporary files: {error}")),
    }
}

/// Returns the sandbox in which commands work in the project and in other folders, and not in what rules deny.
fn of_session(
    settings: &SandboxSettings,
    paths: &Paths,
    root: &Path,
    ((denied, others), watch): ((DeniedPaths, Vec<PathBuf>), PlaceWatch),
) -> io::Result<Sandbox> {
    let environment = Environment::of_process();
    let home = environment.home();
    let full = |path: &PathBuf| match (path.strip_prefix("~"), &home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.clone(),
    };
    let own = [paths.state_dir.clone(), paths.config_dir.clone()];
    let dot_git = root.join(".git");
    let obeyed = obeyed_by_git(root, &root.join("file"), &environment).into_iter();
    let places = SandboxPlaces {
        writable: settings.write.iter().map(full).chain(others).collect(),
        work: vec![root.to_path_buf()],
        denied,
        // What its settings name; of git's own folder, some files are written by every commit.
        protected: obeyed.filter(|path| path != root && !path.starts_with(&dot_git)).collect(),
        hidden: settings.hide.iter().filter(|path| !is_pattern(path)).map(full).chain(own).collect(),
        has_own_tmp: ![root, paths.state_dir.as_path()].iter().any(|path| path.starts_with(TMP)),
        open: settings.read.iter().map(full).chain(program_folders(home.as_deref())).collect(),
        has_network: settings.network,
        home,
        watch,
        ..SandboxPlaces::default()
    };
    let hosts = Hosts::new(settings.hosts.iter().cloned());
    Sandbox::new(places, project_dir(&paths.cache_dir, root), hosts, settings.enabled)
}

/// Returns the folders of the home from which programs are started, which are no secret.
fn program_folders(home: Option<&Path>) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_below = |folder: &PathBuf| home.is_some_and(|home| folder.starts_with(home) && folder != home);
    std::env::split_paths(&path).filter(is_below).collect()
}

/// Returns the patterns of what settings keep commands from reading and from writing.
fn denied_globs(settings: &SandboxSettings, home: Option<&Path>) -> [Vec<String>; 2] {
    let glob = |path: &PathBuf| {
        let text = path.to_str()?;
        Some(match (text.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => format!("{}/{below}", globset::escape(home.to_str()?)),
            _ => text.to_owned(),
        })
    };
    let hidden = settings.hide.iter().filter(|path| is_pattern(path)).filter_map(glob);
    [hidden.collect(), settings.deny_write.iter().filter_map(glob).collect()]
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[', '{'])
}

/// Says what appears where no command in the sandbox may write.
fn tell_of_places(watch: &PlaceWatch, sink: Sink) -> AbortOnDrop {
    let (listener, mut news) = mpsc::unbounded_channel();
    watch.tell(listener);
    AbortOnDrop(tokio::spawn(async move {
        while let Some(news) = news.recv().await {
            sink.notify(news.words()).await;
        }
    }))
}

/// Finds out whether the system has the sandbox, and says so.
fn look(shell: Shell, sandbox: Sandbox, is_wanted: bool, (root, sink): (PathBuf, Sink)) -> AbortOnDrop {
    AbortOnDrop(tokio::spawn(async move {
        let watch = sandbox.watch().clone();
        let sweeping = move || {
            crate::temporary::sweep(&["git", "folder", "empty"]);
            let left = Sandbox::sweep();
            if !left.is_empty() {
                watch.say(PlaceNews::Left(left));
            }
        };
        // It fails only as the program ends.
        let _ = tokio::task::spawn_blocking(sweeping).await;
        shell.check_sandbox().await;
        let looking = move || sandbox.facts(&root);
        let Ok(facts) = tokio::task::spawn_blocking(looking).await else { return };
        let is_news = matches!(facts.state, SandboxState::Unavailable(_)) || facts.is_untested;
        if is_wanted && is_news {
            sink.notify(facts.summary()).await;
        }
        sink.emit_session(SessionEvent::SandboxChanged { facts }).await;
    }))
}
