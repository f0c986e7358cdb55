//! Skills and commands: which are read, what a model gets of them, and what they may do.

mod arguments;
mod called;
mod hooked;
mod offered;
mod plugins;
mod reading;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use belvedere::definition::Roots;
use belvedere::definition::skill::{ListedSkill, Skill, SkillDirs, SkillLibrary};
use belvedere::message::{LoadedSkill, SkillPiece};
use belvedere::permission::{ItemTrust, Owner};
use tempfile::TempDir;

/// A home, and a project beside it.
struct Shelf {
    home: TempDir,
    project: TempDir,
}

fn put(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

impl Shelf {
    /// Returns a place with these files: `~/` begins those of the home, all others are the project's.
    fn with(files: &[(&str, &str)]) -> Self {
        let shelf = Self { home: tempfile::tempdir().unwrap(), project: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            put(&shelf.path(path), text);
        }
        shelf
    }

    fn put(&self, path: &str, text: &str) {
        put(&self.path(path), text);
    }

    fn path(&self, path: &str) -> PathBuf {
        let folder = if path.starts_with("~/") { &self.home } else { &self.project };
        folder.path().canonicalize().unwrap().join(path.trim_start_matches("~/"))
    }

    fn library(&self, cwd: &str) -> SkillLibrary {
        self.library_under(cwd, &ItemTrust::default())
    }

    fn library_under(&self, cwd: &str, trust: &ItemTrust) -> SkillLibrary {
        let (home, project, cwd) = (self.path("~/"), self.path(""), self.path(cwd));
        let dirs = SkillDirs::new(&Roots {
            home: Some(&home),
            claude: None,
            kode: None,
            cwd: &cwd,
            project: Some(&project),
            owner: Owner::new(nix::unistd::geteuid().as_raw(), None),
        });
        let check =
            |hooks: &serde_json::Value| if hooks.is_object() { Vec::new() } else { vec!["no object".to_owned()] };
        let library = SkillLibrary::new(dirs, trust.clone()).checking_hooks(check);
        library.reload();
        library
    }

    fn listing(&self) -> Arc<[ListedSkill]> {
        self.library("").catalog().listing()
    }

    fn skill(&self, name: &str) -> Arc<Skill> {
        self.library("").catalog().get(name).unwrap()
    }

    /// Returns what is said of the file that lies at the end of this path.
    fn said(&self, path: &str) -> Vec<String> {
        let listing = self.listing();
        let about = listing.iter().find(|listed| listed.path.ends_with(path)).unwrap();
        about.diagnostics.iter().map(|error| error.message.clone()).collect()
    }
}

/// Returns a loaded skill as one text, with its commands between brackets.
fn text(loaded: &LoadedSkill) -> String {
    let piece = |piece: &SkillPiece| match piece {
        SkillPiece::Text(text) => text.clone(),
        SkillPiece::Command { line, .. } => format!("[{line}]"),
        SkillPiece::Refused(why) => format!("<{why}>"),
    };
    loaded.pieces.iter().map(piece).collect()
}
