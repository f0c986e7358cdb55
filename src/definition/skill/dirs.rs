//! The folders in which skills and commands lie.
//!
//! Owns which folders there are and their order. Leaves reading them to `library`. Invariant: the strongest comes first: the
//! user's own before the project's, skills before commands, the nearest to the working directory before those above.

use std::path::{Path, PathBuf};

use super::{SkillKind, SkillOrigin};
use crate::definition::{DirBounds, Plugin, Roots};

/// A folder of skills, or of commands. It need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDir {
    pub path: PathBuf,
    pub kind: SkillKind,
    pub origin: SkillOrigin,
    /// What holds for its files if others may have put them there.
    pub bounds: Option<DirBounds>,
    /// The only file or folder in it that counts; `None` if all do.
    pub only: Option<PathBuf>,
    /// The folder of the plugin that it is part of.
    pub plugin_root: Option<PathBuf>,
}

/// All of them, the strongest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillDirs(Vec<SkillDir>);

impl SkillDirs {
    #[must_use]
    pub fn new(roots: &Roots<'_>) -> Self {
        let at_home = |name: &str| roots.home.map(|home| home.join(name));
        let claude = roots.claude.map(Path::to_path_buf).or_else(|| at_home(".claude"));
        let kode = roots.kode.map(Path::to_path_buf).or_else(|| at_home(".kode"));
        let below = |root: &Option<PathBuf>, name: &str| root.as_ref().map(|root| root.join(name));
        let user = [
            (SkillKind::Skill, below(&claude, "skills")),
            (SkillKind::Skill, at_home(".agents/skills")),
            (SkillKind::Command, below(&claude, "commands")),
            (SkillKind::Command, below(&kode, "commands")),
        ];
        let mut dirs = Self::default();
        for (kind, path) in user {
            dirs.add(path, kind, SkillOrigin::User, None);
        }
        let Some(project) = roots.project else { return dirs };
        let bounds = DirBounds { root: project.to_path_buf(), owner: roots.owner };
        let folders: Vec<&Path> = roots.cwd.ancestors().take_while(|folder| folder.starts_with(project)).collect();
        let kinds = [
            (SkillKind::Skill, [".claude/skills", ".agents/skills"]),
            (SkillKind::Command, [".claude/commands", ".kode/commands"]),
        ];
        for (kind, names) in kinds {
            for path in folders.iter().flat_map(|folder| names.map(|name| folder.join(name))) {
                dirs.add(Some(path), kind, SkillOrigin::Project, Some(&bounds));
            }
        }
        dirs
    }

    /// Adds a folder that is not there yet: a project that is the home folder itself has those of the user.
    fn add(&mut self, path: Option<PathBuf>, kind: SkillKind, origin: SkillOrigin, bounds: Option<&DirBounds>) {
        if let Some(path) = path.filter(|path| self.0.iter().all(|known| known.path != *path)) {
            let bounds = bounds.cloned();
            self.0.push(SkillDir { path, kind, origin, bounds, only: None, plugin_root: None });
        }
    }

    /// Returns the same folders with those of these plugins and of no others; their skills have names of their own.
    #[must_use]
    pub fn with_plugins(mut self, plugins: &[Plugin]) -> Self {
        self.0.retain(|dir| dir.plugin_root.is_none());
        for plugin in plugins {
            let skills = plugin.skills.iter().map(|path| (SkillKind::Skill, path, path.join("SKILL.md").is_file()));
            let commands = plugin.commands.iter().map(|path| (SkillKind::Command, path, path.is_file()));
            for (kind, path, is_one) in skills.chain(commands) {
                let only = is_one.then(|| path.clone());
                let path = if is_one { path.parent().unwrap_or(path) } else { path }.to_path_buf();
                if self.0.iter().all(|known| known.path != path || (is_one && known.only != only)) {
                    self.0.push(SkillDir {
                        path,
                        kind,
                        origin: SkillOrigin::Plugin(plugin.name.clone()),
                        bounds: plugin.bounds.clone(),
                        only,
                        plugin_root: Some(plugin.root.clone()),
                    });
                }
            }
        }
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &SkillDir> {
        self.0.iter()
    }
}
