//! The folders in which agent files lie.
//!
//! Owns which folders there are and their order. Leaves reading them to `library`. Invariant: weakest first, and no
//! folder twice, so that a project that is the home folder itself does not shadow its own files.

use std::path::{Path, PathBuf};

use super::Tier;
use crate::permission::Owner;

/// What the folders are found from. All paths are absolute.
#[derive(Debug, Clone, Copy)]
pub struct Roots<'a> {
    /// The user's home, where it is known.
    pub home: Option<&'a Path>,
    /// What stands in the place of `~/.claude` (`CLAUDE_CONFIG_DIR`).
    pub claude: Option<&'a Path>,
    /// What stands in the place of `~/.kode` (`KODE_CONFIG_DIR`).
    pub kode: Option<&'a Path>,
    /// The working directory.
    pub cwd: &'a Path,
    /// The project's root, in which `cwd` lies; `None` where there is no project.
    pub project: Option<&'a Path>,
    /// Who the files of the project have to belong to.
    pub owner: Owner,
}

/// A folder of agent files. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDir {
    pub tier: Tier,
    pub path: PathBuf,
    /// What holds for its files if others may have put them there.
    pub bounds: Option<DirBounds>,
}

/// What holds for the agent files of a project, which others may have put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirBounds {
    /// No link leads out of this folder, whose path has its links resolved.
    pub root: PathBuf,
    /// Files of others are not used.
    pub owner: Owner,
}

/// All folders of agent files, weakest first: within a tier the one nearest to the working directory is the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentDirs(Vec<AgentDir>);

impl From<Vec<AgentDir>> for AgentDirs {
    fn from(dirs: Vec<AgentDir>) -> Self {
        Self(dirs)
    }
}

impl AgentDirs {
    #[must_use]
    pub fn new(roots: &Roots<'_>) -> Self {
        let user = |given: Option<&Path>, name: &str| {
            let root = given.map(Path::to_path_buf).or_else(|| Some(roots.home?.join(name)));
            root.map(|root| root.join("agents"))
        };
        let is_inside = |folder: &Path| roots.project.is_some_and(|project| folder.starts_with(project));
        let mut folders: Vec<&Path> = roots.cwd.ancestors().take_while(|folder| is_inside(folder)).collect();
        folders.reverse();
        let of_project = |name: &'static str| folders.iter().map(move |folder| folder.join(name).join("agents"));
        let mut dirs = Self::default();
        let bounds = roots.project.map(|root| DirBounds { root: root.to_path_buf(), owner: roots.owner });
        dirs.extend(Tier::UserClaude, None, user(roots.claude, ".claude"));
        dirs.extend(Tier::UserKode, None, user(roots.kode, ".kode"));
        dirs.extend(Tier::ProjectClaude, bounds.as_ref(), of_project(".claude"));
        dirs.extend(Tier::ProjectKode, bounds.as_ref(), of_project(".kode"));
        dirs
    }

    fn extend(&mut self, tier: Tier, bounds: Option<&DirBounds>, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths {
            if self.0.iter().all(|known| known.path != path) {
                self.0.push(AgentDir { tier, path, bounds: bounds.cloned() });
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &AgentDir> {
        self.0.iter()
    }

    /// Returns the folder in which a new file of this tier belongs: the one at the project's root for a project.
    pub fn home_of(&self, tier: Tier) -> Option<&Path> {
        self.0.iter().find(|dir| dir.tier == tier).map(|dir| dir.path.as_path())
    }

    /// Looks at the folders in which new files belong: those of the project first.
    pub fn homes(&self) -> Vec<AgentHome> {
        let tiers = [Tier::ProjectClaude, Tier::UserClaude, Tier::ProjectKode, Tier::UserKode];
        let homes = tiers.into_iter().filter_map(|tier| {
            let path = self.home_of(tier)?.to_path_buf();
            let state = if path.is_dir() { HomeState::There } else { HomeState::Missing };
            Some(AgentHome { tier, path, state })
        });
        homes.collect()
    }
}

/// The folder in which new files of a tier belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentHome {
    pub tier: Tier,
    pub path: PathBuf,
    /// Whether it is there already.
    pub state: HomeState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HomeState {
    There,
    /// It is made with its first file.
    Missing,
}
