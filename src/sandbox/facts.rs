//! What holds in the sandbox, in words for people.
//!
//! Owns the page that says it, and the answer for one path. Invariant: nothing here touches the disk.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Hosts, SandboxPolicy, SandboxState, TMP};
use crate::message::reveal_line;

/// What holds for the commands of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFacts {
    pub state: SandboxState,
    /// Folders that commands may write in.
    pub writable: Vec<String>,
    /// What they may not write there, by its name in the first of those.
    pub protected: Vec<String>,
    pub hidden: Vec<String>,
    /// Why they see the names of other processes; `None` if they see their own only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_processes: Option<String>,
    pub has_network: bool,
    /// Whether nobody has tried yet that it holds, as on macOS.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_untested: bool,
    /// Hosts that they can reach where they have no network.
    #[serde(default)]
    pub hosts: Vec<String>,
}

impl SandboxFacts {
    /// Returns `true` if commands run in it.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.state == SandboxState::On
    }

    pub(super) fn new(state: SandboxState, policy: &SandboxPolicy, hosts: &Hosts) -> Self {
        let listed = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
        // By their names in the folder that is worked in, the first that can be written.
        let inside = |path: &Path| policy.writable.first().and_then(|top| path.strip_prefix(top).ok()).map(shown);
        let places = policy.protected.iter().chain(policy.vacant.iter().map(|(path, _)| path));
        let mut protected: Vec<String> = places.map(|path| inside(path).unwrap_or_else(|| shown(path))).collect();
        protected.sort();
        Self {
            state,
            writable: listed(&policy.writable.iter().map(|path| seen(policy, path)).collect::<Vec<_>>()),
            protected,
            hidden: policy.hidden.iter().filter(|path| path.exists()).map(|path| shown(path)).collect(),
            shares_processes: None,
            has_network: policy.has_network,
            is_untested: cfg!(target_os = "macos"),
            hosts: hosts.names().to_vec(),
        }
    }

    /// Returns one line on whether there is a sandbox.
    pub fn summary(&self) -> String {
        match &self.state {
            SandboxState::On if self.is_untested => {
                "The sandbox is on, and untested on this system: commands run in it without a question.".to_owned()
            }
            SandboxState::On => "The sandbox is on: commands run in it without a question.".to_owned(),
            SandboxState::Off => "The sandbox is off: commands ask before they run.".to_owned(),
            SandboxState::Unavailable(why) => format!("No sandbox here ({why}): commands ask before they run."),
        }
    }

    /// Returns the whole of it, as Markdown.
    pub fn page(&self) -> String {
        let mut page = self.summary() + "\n";
        if self.state != SandboxState::On {
            return page;
        }
        let mut list = |title: &str, paths: &[String]| {
            let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
            let _ =
                write!(page, "\n{title} {}.\n", if paths.is_empty() { "nothing".to_owned() } else { paths.join(", ") });
        };
        list("Commands can write in", &self.writable);
        list("They cannot change", &self.protected);
        list("They cannot read", &self.hidden);
        let network = match self.hosts.as_slice() {
            _ if self.has_network => "They have the network.".to_owned(),
            [] => "They have no network.".to_owned(),
            hosts => format!("Of the network, they reach {} only.", hosts.join(", ")),
        };
        let others = " You are asked about other hosts; `/permissions` shows your answers.";
        let asked = if self.has_network { "" } else { others };
        let processes = match &self.shares_processes {
            None => "They see their own processes only, which all end with them.".to_owned(),
            Some(why) => format!(
                "They see the names of other processes, and reach none of them. Hiding them is refused here: {why}."
            ),
        };
        page + "\n"
            + &network
            + asked
            + "\n\n"
            + &processes
            + "\n\nYou are asked whether what is refused may run outside.\n"
    }
}

/// Returns the path by which commands see a folder.
fn seen(policy: &SandboxPolicy, path: &Path) -> PathBuf {
    if policy.tmp.as_deref() == Some(path) { PathBuf::from(TMP) } else { path.to_path_buf() }
}

fn shown(path: &Path) -> String {
    reveal_line(&path.to_string_lossy()).into_owned()
}

impl SandboxPolicy {
    /// Says what a command may do with a path, which has its links resolved.
    #[must_use]
    pub fn about(&self, path: &Path) -> &'static str {
        let lies_in = |places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        let is_vacant = self.vacant.iter().any(|(place, _)| path.starts_with(place));
        match () {
            () if self.tmp.is_some() && path.starts_with(TMP) => {
                "commands have a folder of their own there, and see nothing of yours"
            }
            () if self.stand_ins.iter().any(|(place, _)| place == path) => {
                "replaced: it can hold passwords, and commands read a file without any in its place"
            }
            () if lies_in(&self.hidden) => "hidden: commands can neither read nor write it",
            () if lies_in(&self.protected) || is_vacant => "protected: commands can read it, not write it",
            () if lies_in(&self.writable) => "commands can read and write it",
            () => "commands can read it, not write it",
        }
    }
}
