//! How commands run in the sandbox.
//!
//! Owns which folders a command of an agent may write in, its environment there, and finding out whether the system has a
//! sandbox. Leaves what holds inside to `sandbox`. Invariant: a command whose bounds cannot be told has none, and so is
//! asked about.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;

use super::{Group, Shell};
use crate::git::Repository;
use crate::program::SearchPath;
use crate::sandbox::{Hosts, LinkedDirs, SandboxPolicy, SandboxState};
use crate::tool::{SandboxUse, ToolContext};

/// How long a command that does nothing may take inside before the sandbox counts as unavailable.
const CHECK_LIMIT: Duration = Duration::from_secs(10);

/// What a command runs in.
#[derive(Debug)]
pub(in crate::tool) struct Inside {
    pub(in crate::tool) policy: SandboxPolicy,
    pub(in crate::tool) environment: Vec<(OsString, OsString)>,
    /// Hosts that its programs reach.
    pub(in crate::tool) hosts: Hosts,
}

impl Inside {
    /// Returns the sandbox of a command; `None` if it runs in none.
    pub(in crate::tool) async fn of(shell: &Shell, context: &ToolContext) -> Option<Self> {
        let sandbox = shell.sandbox().cloned()?;
        shell.check_sandbox().await;
        if !sandbox.is_on() {
            return None;
        }
        let writes = match context.sandbox {
            SandboxUse::Outside => return None,
            SandboxUse::ReadOnly => false,
            SandboxUse::ReadWrite => true,
        };
        let (project, cwd) = (context.project.clone(), context.cwd.clone());
        let hosts = sandbox.hosts();
        let environment = with(shell.handed_on.environment(), sandbox.variables());
        let judging = move || {
            let linked = Repository::around(&cwd).ok().flatten().filter(|found| writes && found.is_linked());
            let linked = linked.map(|found| LinkedDirs { common_dir: found.common_dir, git_dir: found.git_dir });
            let folders: &[&Path] = if writes { &[project.as_path()] } else { &[] };
            sandbox.policy(folders, linked.as_ref())
        };
        let policy = tokio::task::spawn_blocking(judging).await.ok()?;
        Some(Self { policy, environment, hosts })
    }
}

/// Returns an environment with other values for some variables.
fn with(mut environment: Vec<(OsString, OsString)>, others: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    environment.retain(|(name, _)| !others.iter().any(|(other, _)| other == name));
    environment.extend(others);
    environment
}

impl Shell {
    /// Finds out, once, whether commands can run in the sandbox here, by running one that does nothing. Where they cannot,
    /// the sandbox is unavailable from then on, and the reason is returned.
    pub async fn check_sandbox(&self) -> Option<String> {
        self.checked.get_or_init(|| self.try_sandbox()).await.clone()
    }

    async fn try_sandbox(&self) -> Option<String> {
        let sandbox = self.sandbox()?;
        let policy = sandbox.policy(&[], None);
        let (line, search) = (OsString::from("exit 7"), SearchPath::of_process(&[]));
        let run = async {
            let (mut group, _output) =
                Group::start(self, line, PathBuf::from("/"), Vec::new(), search, Some(policy)).await?;
            let status = group.wait().await;
            group.end().await;
            std::io::Result::Ok(status.and_then(|status| status.code()))
        };
        let why = match timeout(CHECK_LIMIT, run).await {
            Ok(Ok(Some(7))) => return None,
            Ok(Ok(_)) => "a command did not run in it".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it takes too long".to_owned(),
        };
        sandbox.set_state(SandboxState::Unavailable(why.clone()));
        Some(why)
    }
}
