//! Memory files: which are read, what of them, and what agents get of them.

mod adding;
mod given;
mod held;
mod hostile;
mod reading;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::memory::{MemoryRead, MemoryReader, MemorySources};
use belvedere::permission::{Grants, Owner, PermissionMode, Permissions, Project};
use tempfile::TempDir;

/// A home with a project in it.
struct Place {
    _folder: TempDir,
    home: PathBuf,
    project: PathBuf,
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl Place {
    /// Returns a place with these files: `~/` begins those of the home, all others are the project's.
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap().join("home");
        let place = Self { project: home.join("work/project"), home, _folder: folder };
        std::fs::create_dir_all(&place.project).unwrap();
        for (path, text) in files {
            put(&place.path(path), text);
        }
        place
    }

    fn path(&self, path: &str) -> PathBuf {
        path.strip_prefix("~/").map_or_else(|| self.project.join(path), |below| self.home.join(below))
    }

    fn permissions(&self) -> Permissions {
        Permissions::new(Project::at(self.project.clone()), PermissionMode::Default, Grants::default())
    }

    fn reader(&self, cwd: &str) -> MemoryReader {
        let sources = MemorySources {
            managed: Some(self.home.join("managed")),
            claude: Some(self.home.join(".claude")),
            own: Some(self.home.join(".config/belvedere")),
            home: Some(self.home.clone()),
            user: Some(Owner::new(nix::unistd::geteuid().as_raw(), None)),
            is_project: true,
            ..MemorySources::default()
        };
        let (cwd, project) = (Arc::new(self.path(cwd)), Arc::new(self.project.clone()));
        MemoryReader { sources, cwd, project, permissions: self.permissions() }
    }

    fn read(&self, cwd: &str) -> MemoryRead {
        self.reader(cwd).read(&BTreeSet::new())
    }

    /// Returns the files that were read, as they were named.
    fn names(&self, read: &MemoryRead) -> Vec<String> {
        read.files.iter().map(|file| self.name(&file.path)).collect()
    }

    fn name(&self, path: &Path) -> String {
        if let Ok(inside) = path.strip_prefix(&self.project) {
            return inside.to_str().unwrap().to_owned();
        }
        path.strip_prefix(&self.home)
            .map_or_else(|_| path.display().to_string(), |path| format!("~/{}", path.display()))
    }

    /// Returns what is said, without where the place lies.
    fn said(&self, read: &MemoryRead) -> Vec<String> {
        let project = format!("{}/", self.project.display());
        let all = read.diagnostics.iter().map(|diagnostic| diagnostic.to_string().replace(&project, ""));
        all.map(|words| words.replace(&self.home.display().to_string(), "~")).collect()
    }
}
