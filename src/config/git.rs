//! What a repository's own files say, without running git.
//!
//! Owns the checked-out branch, and which files of a project git runs or obeys: its folders wherever they lie, and what
//! its settings name. Leaves git itself to `worktree` and `tool`. Invariants: whatever lies there (a pipe, a device, a
//! huge file), reading it ends soon; and settings that cannot be read make every file of the repository one that git
//! may obey.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::Environment;
use super::git_entries::entries;
use crate::message::without_dots;
use crate::whole_file::read_plain;

/// Bytes of the longest file of one line.
const MAX_LINE_BYTES: u64 = 1 << 10;
/// Bytes of the longest file of settings.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Files of settings that one repository may have.
const MAX_SETTINGS_FILES: usize = 64;
/// Characters of the longest name of a branch.
const MAX_BRANCH_CHARS: usize = 120;

/// Settings whose values are places and names that git only looks at or talks to.
const NOT_OBEYED: [&str; 9] =
    ["worktree", "directory", "repo", "url", "pushurl", "insteadof", "merge", "fetch", "remote"];

#[derive(Debug, PartialEq, Eq)]
enum Unread {
    Absent,
    /// Too long, unreadable, or no regular file.
    Unreadable,
}

fn read(path: &Path, max: u64) -> Result<String, Unread> {
    let bytes = read_plain(path, max).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Unread::Absent,
        _ => Unread::Unreadable,
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the folder that the `.git` file of a worktree, a submodule or a separate git folder names.
pub(super) fn linked_dir(folder: &Path) -> Option<PathBuf> {
    let pointer = read(&folder.join(".git"), MAX_LINE_BYTES).ok()?;
    Some(folder.join(pointer.strip_prefix("gitdir:")?.trim()))
}

/// Returns the branch that is checked out in the repository at `root`, or the start of the commit if none is: one
/// short line.
pub fn git_branch(root: &Path) -> Option<String> {
    let git_dir = linked_dir(root).unwrap_or_else(|| root.join(".git"));
    let head = read(&git_dir.join("HEAD"), MAX_LINE_BYTES).ok()?;
    let head = head.lines().next()?.trim();
    let name: String = match head.strip_prefix("ref:") {
        Some(reference) => {
            let name = reference.trim().trim_start_matches("refs/heads/");
            name.chars().filter(|c| !c.is_control()).take(MAX_BRANCH_CHARS).collect()
        }
        None => head.chars().take_while(char::is_ascii_hexdigit).take(8).collect(),
    };
    Some(name).filter(|name| !name.is_empty())
}

/// Returns the files and folders below `root` that git runs or obeys and that bear on a change of `path`: the folders of
/// the repositories around it, and whatever their settings name. `path` is absolute with links resolved.
pub fn obeyed_by_git(root: &Path, path: &Path, environment: &Environment) -> BTreeSet<PathBuf> {
    let mut obeyed = Obeyed { root, home: environment.home(), found: BTreeSet::new(), settings: BTreeSet::new() };
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(root)) {
        if folder.join(".git").symlink_metadata().is_ok() {
            obeyed.repository(folder);
        }
        if is_git_dir(folder, path) {
            obeyed.add(folder);
        }
    }
    for file in global_settings(environment) {
        obeyed.settings(&file, root);
    }
    obeyed.found
}

/// Returns `true` if the folder has the shape of a git folder once `path` is written: `git` would take it for one.
fn is_git_dir(folder: &Path, path: &Path) -> bool {
    let has = |name: &str| {
        let part = folder.join(name);
        path.starts_with(&part) || part.symlink_metadata().is_ok()
    };
    // That of a linked worktree has its objects elsewhere.
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Returns the files of settings that hold for all repositories.
fn global_settings(environment: &Environment) -> Vec<PathBuf> {
    let home = environment.home();
    let own = environment.directory("GIT_CONFIG_GLOBAL").or_else(|| Some(home.as_ref()?.join(".gitconfig")));
    let xdg = environment.directory("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let system = environment.directory("GIT_CONFIG_SYSTEM").unwrap_or_else(|| PathBuf::from("/etc/gitconfig"));
    [own, xdg.map(|folder| folder.join("git/config")), Some(system)].into_iter().flatten().collect()
}

struct Obeyed<'a> {
    root: &'a Path,
    home: Option<PathBuf>,
    found: BTreeSet<PathBuf>,
    /// Files of settings that were read.
    settings: BTreeSet<PathBuf>,
}

impl Obeyed<'_> {
    /// Adds a path, and what it leads to if it is a link.
    fn add(&mut self, path: &Path) {
        let path = without_dots(path);
        let resolved = std::fs::canonicalize(&path).ok();
        for path in resolved.into_iter().chain([path]) {
            if path.starts_with(self.root) && path != self.root {
                self.found.insert(path);
            }
        }
    }

    fn repository(&mut self, worktree: &Path) {
        let git_dir = linked_dir(worktree).unwrap_or_else(|| worktree.join(".git"));
        let common = match read(&git_dir.join("commondir"), MAX_LINE_BYTES) {
            Ok(common) => git_dir.join(common.trim()),
            Err(_) => git_dir.clone(),
        };
        self.add(&git_dir);
        self.add(&common);
        self.settings(&common.join("config"), worktree);
        self.settings(&git_dir.join("config.worktree"), worktree);
    }

    /// Adds what a file of settings names, and what the files that it includes name.
    fn settings(&mut self, file: &Path, worktree: &Path) {
        let file = without_dots(file);
        if !self.settings.insert(file.clone()) {
            return;
        }
        let text = match read(&file, MAX_SETTINGS_BYTES) {
            Ok(text) if self.settings.len() <= MAX_SETTINGS_FILES => text,
            Err(Unread::Absent) => return,
            Ok(_) | Err(Unread::Unreadable) => {
                self.found.insert(self.root.to_path_buf());
                return;
            }
        };
        let folder = file.parent().unwrap_or(worktree).to_path_buf();
        for (key, value) in entries(&text) {
            if NOT_OBEYED.contains(&key.as_str()) {
                continue;
            }
            let is_path = matches!(key.as_str(), "path" | "hookspath" | "attributesfile");
            // Git from 2.52 on lets a path be missing that is marked so.
            let whole = is_path.then(|| value.strip_prefix(":(optional)").unwrap_or(&value));
            let words = value.split(|c: char| c.is_whitespace() || "'!;&|()=#".contains(c));
            let words = words.filter(|word| !word.is_empty()).enumerate();
            let named = words.flat_map(|(at, word)| names_of(word, at == 0, worktree));
            for name in whole.into_iter().chain(named).filter(|name| !name.is_empty()) {
                let Some(name) = self.below_home(name) else { continue };
                self.add(&worktree.join(&name));
                self.add(&folder.join(&name));
                if key == "path" {
                    self.settings(&folder.join(&name), worktree);
                }
            }
        }
    }

    /// Returns a name with `~/` in front as a path below the home.
    fn below_home(&self, name: &str) -> Option<PathBuf> {
        match name.strip_prefix("~/") {
            Some(below) => Some(self.home.as_ref()?.join(below)),
            None => Some(PathBuf::from(name)),
        }
    }
}

/// Returns what a word of a setting may name in the checkout: a word that git hands to a shell may stand for `sh run.sh` as
/// well as for `$PWD/run.sh`.
fn names_of<'w>(word: &'w str, is_first: bool, worktree: &Path) -> Vec<&'w str> {
    if let Some((start, rest)) = word.split_once('/') {
        // A variable, or what is left of a command in brackets, may well be the root.
        return if start.is_empty() || start.starts_with('$') { vec![word, rest] } else { vec![word] };
    }
    // The program is looked for on the `PATH`; neither an option nor a folder of so common a name is what it runs.
    let is_no_file = is_first || word.starts_with('-') || worktree.join(word).is_dir();
    if is_no_file && !word.starts_with('.') {
        return Vec::new();
    }
    vec![word]
}
