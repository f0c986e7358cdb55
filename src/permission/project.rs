//! Where agents may read without a question, and which files there other programs run or obey.
//!
//! Owns the ground that is free and the files of it that are not plain. Leaves the names of these to `obeyed`, and finding
//! the project and reading git's settings to `config`. Invariant: without a project nothing is free, and a file is plain only if nothing speaks
//! against it, in whatever spelling a disk would take for the same name.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::obeyed::is_obeyed;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    /// `None` where nothing is free.
    root: Option<PathBuf>,
    /// Folders beside it that are worked in alike.
    others: Vec<PathBuf>,
    /// Files and folders, with what is below them, that are not plain.
    guarded: BTreeSet<PathBuf>,
}

impl Project {
    /// Returns the project below `root`, an absolute path with links resolved.
    #[must_use]
    pub fn at(root: PathBuf) -> Self {
        Self { root: Some(root), ..Self::default() }
    }

    /// Returns the project with other folders that are worked in alike, absolute paths with links resolved. Without a
    /// project nothing is free there either.
    #[must_use]
    pub fn with_others(mut self, others: Vec<PathBuf>) -> Self {
        self.open(others);
        self
    }

    /// Takes these folders, in place of the ones before, for ones that are worked in alike.
    pub(super) fn open(&mut self, others: Vec<PathBuf>) {
        self.others = others;
    }

    /// Returns the ground of an agent that works in no project.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    pub fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// Takes these files and folders for ones that other programs run or obey.
    pub fn guard(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.guarded.extend(paths);
    }

    pub(super) fn contains(&self, path: &Path) -> bool {
        self.folder_of(path).is_some()
    }

    fn folder_of(&self, path: &Path) -> Option<&PathBuf> {
        let root = self.root.as_ref()?;
        std::iter::once(root).chain(&self.others).find(|folder| path.starts_with(folder))
    }

    /// Returns `true` if the path is a file of the project that an edit mode may change without a question.
    #[must_use]
    pub fn is_plain_file(&self, path: &Path) -> bool {
        let Some(inside) = self.folder_of(path).and_then(|folder| path.strip_prefix(folder).ok()) else { return false };
        let is_guarded = path.ancestors().any(|folder| self.guarded.contains(folder));
        !is_guarded && inside.components().all(is_plain_name)
    }

    /// Returns `true` if nothing in a path says that other programs run or obey the file, beyond a part that was named.
    pub(super) fn is_plain_beyond(&self, named: &Path, path: &Path) -> bool {
        let Ok(beyond) = path.strip_prefix(named) else { return false };
        let mut between = path.ancestors().take_while(|folder| *folder != named);
        !between.any(|folder| self.guarded.contains(folder)) && beyond.components().all(is_plain_name)
    }
}

/// Returns `true` if a part of a path names nothing that other programs run or obey.
fn is_plain_name(part: Component<'_>) -> bool {
    let Component::Normal(name) = part else { return false };
    let name = folded_name(&name.to_string_lossy());
    // Keys have the names that their owners like; `id_map.rs` is none.
    let is_key = name.strip_prefix("id_").is_some_and(|kind| {
        !kind.contains('.')
            || [".pub", ".old", ".bak"].iter().any(|ending| kind.ends_with(ending))
            || ["rsa", "dsa", "ecdsa", "ed25519", "xmss"].iter().any(|known| kind.starts_with(known))
    });
    !is_key && !is_obeyed(&name)
}

/// Returns a name as a disk that folds letters, drops signs without width, or ends names early would know it.
pub fn folded_name(name: &str) -> String {
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    let seen = name.chars().filter(|c| !is_dropped(*c));
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    let kept = folded.trim_end_matches(['.', ' ']);
    if kept.is_empty() { ".".to_owned() } else { kept.to_owned() }
}

/// Returns `true` for what Unicode lets a comparison of names pass over.
fn is_dropped(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFF8}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}
