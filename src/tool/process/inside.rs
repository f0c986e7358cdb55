//! How commands run in the sandbox.
//!
//! Owns which folders a command of an agent may write in, its environment there, and finding out whether the system has a
//! sandbox. Leaves what holds inside to `sandbox`. Invariant: a command whose bounds cannot be told has none, and so is
//! asked about.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::command_watch::CommandWatch;
use super::{Group, Shell, with};
use crate::git::Repository;
use crate::message::HostPort;
use crate::permission::Confinement;
use crate::program::SearchPath;
use crate::sandbox::{GitDirs, Hosts, PlaceNews, PlaceWatch, Sandbox, SandboxPolicy, SandboxState};
use crate::tool::file::renew;
use crate::tool::{SandboxUse, ToolContext};

/// How long a command that does nothing may take inside before the sandbox counts as unavailable.
const CHECK_LIMIT: Duration = Duration::from_secs(10);

/// What a program of the user's set-up may touch: a hook, what fills the status line, a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramBounds {
    /// All that the user may touch.
    Outside,
    /// What commands in the sandbox may touch that work in this project, where there is a sandbox.
    Inside {
        project: PathBuf,
        /// Whether it has the network of this machine, and not only the hosts that commands may reach.
        has_network: bool,
        /// What it may write of what commands may not.
        notes: Vec<PathBuf>,
    },
}

/// What a command runs in.
#[derive(Debug)]
pub(in crate::tool) struct Inside {
    pub(in crate::tool) policy: SandboxPolicy,
    pub(in crate::tool) environment: Vec<(OsString, OsString)>,
    /// What its programs reach of the network.
    pub(in crate::tool) hosts: Hosts,
    sandbox: Sandbox,
    /// The project that it works in.
    project: Arc<PathBuf>,
    writes: bool,
}

impl Inside {
    /// Returns the sandbox of a command; `None` if it runs in none.
    pub(in crate::tool) async fn of(shell: &Shell, context: &ToolContext) -> Option<Self> {
        match context.sandbox {
            SandboxUse::Outside => None,
            SandboxUse::ReadOnly => Self::around(shell, (&context.project, false), &context.hosts, false).await,
            SandboxUse::ReadWrite => Self::around(shell, (&context.project, true), &context.hosts, false).await,
        }
    }

    /// Returns the sandbox of a program of the user's set-up; `None` if it runs in none.
    pub(super) async fn of_program(shell: &Shell, bounds: &ProgramBounds) -> Option<Self> {
        match bounds {
            ProgramBounds::Outside => None,
            ProgramBounds::Inside { project, has_network, notes } => {
                let mut inside = Self::around(shell, (&Arc::new(project.clone()), true), &[], *has_network).await?;
                inside.policy.notes.clone_from(notes);
                Some(inside)
            }
        }
    }

    /// Returns the sandbox of a command that only reads, in the project; `None` where there is none.
    pub(in crate::tool) async fn reading(shell: &Shell, project: &Arc<PathBuf>) -> Option<Self> {
        let mut inside = Self::around(shell, (project, false), &[], false).await?;
        // The settings that git is given lie there, and what only reads leaves nothing.
        inside.policy.tmp = None;
        Some(inside)
    }

    /// Returns the sandbox of a command that works in a project, writes there or not, and may reach some hosts, or all if it
    /// `has_network`.
    async fn around(
        shell: &Shell,
        (project, writes): (&Arc<PathBuf>, bool),
        hosts: &[HostPort],
        has_network: bool,
    ) -> Option<Self> {
        let project = project.clone();
        let sandbox = shell.sandbox().cloned()?;
        shell.check_sandbox().await;
        if !sandbox.is_on() {
            return None;
        }
        let hosts = sandbox.hosts().with(hosts);
        let environment = with(shell.environment(), sandbox.variables(has_network));
        let judging = move || {
            let policy = policy_of(&sandbox, &project, writes).ok()?;
            let policy = SandboxPolicy { has_network: policy.has_network || has_network, ..policy };
            Some(Self { policy, environment, hosts, sandbox, project, writes })
        };
        tokio::task::spawn_blocking(judging).await.ok()?
    }

    /// Begins to watch what its command may not write, right before it is started. What has come since it was judged is
    /// protected. `name` says to people what runs; it `is_long` if it goes on beside other things.
    ///
    /// # Errors
    /// Returns why it cannot be told any more what the command may do.
    pub(in crate::tool) async fn enter(self, name: &str, is_long: bool) -> io::Result<(Self, CommandWatch)> {
        if self.policy.leaves_nothing() {
            return Ok((self, CommandWatch::Unwatched));
        }
        let name = name.to_owned();
        let entering = move || {
            let watch = &self.sandbox.watch().clone();
            // Of two that begin at a time, one has to see the other.
            let _one = watch.entrance();
            watch.look();
            if let Some(path) = watch.stuck() {
                return Err(io::Error::other(format!(
                    "a command in the sandbox made {}, which could not be moved. No command runs in the sandbox until it \
                     is moved away",
                    path.display()
                )));
            }
            if self.writes {
                self.sandbox.prepare(&self.project, git_dirs(&self.project).as_ref());
            }
            let policy = if self.policy.is_outdated() {
                let policy = policy_of(&self.sandbox, &self.project, self.writes)?;
                let notes = self.policy.notes.clone();
                SandboxPolicy { has_network: self.policy.has_network, notes, ..policy }
            } else {
                self.policy.clone()
            };
            part_names(&policy, watch)?;
            let run = watch.enter(&policy, &name, is_long);
            Ok((Self { policy, ..self }, CommandWatch::Inside(Arc::new(run))))
        };
        tokio::task::spawn_blocking(entering).await.map_err(io::Error::other)?
    }
}

/// Gives each protected file a copy to itself that has another name, by which the command could write it.
fn part_names(policy: &SandboxPolicy, watch: &PlaceWatch) -> io::Result<()> {
    let files = policy.files_with_other_names();
    for path in &files {
        let refused = |why: &str| {
            let shown = path.display();
            io::Error::other(format!(
                "{shown} has another name (a hard link), by which the command could write it, and {why}"
            ))
        };
        // Those that run would find the copy unprotected.
        if !watch.is_idle() {
            return Err(refused("other commands run in the sandbox. Stop them, or remove the other name"));
        }
        renew(path)
            .map_err(|error| refused(&format!("no copy could take its place ({error}). Remove the other name")))?;
    }
    if !files.is_empty() {
        watch.say(PlaceNews::Parted(files));
    }
    Ok(())
}

fn policy_of(sandbox: &Sandbox, project: &Path, writes: bool) -> io::Result<SandboxPolicy> {
    let git = git_dirs(project);
    if writes { sandbox.policy(Some(project), git.as_ref()) } else { sandbox.reading_policy(project, git.as_ref()) }
}

/// Returns where git keeps the repository of a project, if that is not its folder `.git`. What a file in the project says of
/// other places is believed only if those places say so too, and no command could write them.
fn git_dirs(project: &Path) -> Option<GitDirs> {
    let found = Repository::around(project).ok().flatten().filter(|found| found.top == project)?;
    if found.git_dir.starts_with(project) {
        return Some(GitDirs::Inside(found.git_dir)).filter(|_| !project.join(".git").is_dir());
    }
    if found.is_apart() {
        return Some(GitDirs::Apart(found.git_dir));
    }
    let is_apart = !project.starts_with(&found.common_dir) && !found.common_dir.starts_with(project);
    (found.is_linked() && is_apart).then_some(GitDirs::Linked { common_dir: found.common_dir, git_dir: found.git_dir })
}

impl Shell {
    /// Finds out, once, whether commands can run in the sandbox here, by running one that does nothing. Where they cannot,
    /// the sandbox is unavailable from then on, and the reason is returned.
    pub async fn check_sandbox(&self) -> Option<String> {
        self.checked.get_or_init(|| self.try_sandbox()).await.clone()
    }

    /// Says why a command runs without the sandbox, for people; `None` if there is none here, or if it was in it before.
    pub(in crate::tool) async fn why_unsandboxed(
        &self,
        (confinement, asks): (Confinement, bool),
        context: &ToolContext,
    ) -> Option<&'static str> {
        let is_open = confinement == Confinement::None && context.sandbox != SandboxUse::Outside;
        let sandbox = self.sandbox().filter(|_| is_open)?;
        self.check_sandbox().await;
        sandbox.is_on().then_some(if asks {
            "it asks to run without the sandbox: it could read, change and send all that you can"
        } else {
            "the sandbox cannot be set up for it here: it could read, change and send all that you can"
        })
    }

    async fn try_sandbox(&self) -> Option<String> {
        let sandbox = self.sandbox()?;
        let refusal = self.try_once(sandbox).await?;
        // Some containers refuse a `/proc` for processes with numbers of their own. All else holds without.
        sandbox.share_processes(refusal);
        let why = self.try_once(sandbox).await?;
        sandbox.set_state(SandboxState::Unavailable(why.clone()));
        Some(why)
    }

    /// Runs a command that does nothing in the sandbox as it is. Returns why it did not.
    async fn try_once(&self, sandbox: &Sandbox) -> Option<String> {
        let (line, search) = (OsString::from("exit 7"), SearchPath::of_process(&[]));
        let run = async {
            let looking = sandbox.clone();
            let policy = tokio::task::spawn_blocking(move || looking.policy(None, None)).await??;
            let (mut group, _output) =
                Group::start(self, line, PathBuf::from("/"), Vec::new(), search, Some(policy)).await?;
            let status = group.wait().await;
            group.end().await;
            std::io::Result::Ok(status.and_then(|status| status.code()))
        };
        match timeout(CHECK_LIMIT, run).await {
            Ok(Ok(Some(7))) => None,
            Ok(Ok(_)) => Some("a command did not run in it".to_owned()),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it takes too long".to_owned()),
        }
    }
}
