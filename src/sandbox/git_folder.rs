//! What lies in a folder of git's beside what git puts there by itself.
//!
//! Git obeys much of what it finds in its folder, and writes through every link in it. Owns telling what belongs there from
//! what does not: an allow list of names, plain files and folders only, settings that run nothing. Leaves when that is
//! looked at, and what becomes of the rest, to `git_watch`. Invariants: what is not on the list counts, whatever it is;
//! looking opens plain files only, and not beyond a size, so that nothing there can hold it up. Everything here blocks.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::FileType;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;

use super::evict::is_aside;
use super::git_config::{self, GitSetting};
use super::places::data;
use crate::nofollow;

/// Bytes of the largest file that is compared by its content.
const MAX_BYTES: u64 = 1 << 20;
/// Entries that are looked at; a repository that is packed now and then has fewer.
const MAX_ENTRIES: usize = 200_000;
/// How deep folders nest; parts of a branch's name are folders.
const MAX_DEPTH: usize = 40;

/// The part `[git]` of `assets/sandbox.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GitNames {
    files: Vec<String>,
    folders: Vec<String>,
    states: Vec<String>,
    info: Vec<String>,
    strategies: Vec<String>,
    pub(super) settings: Vec<String>,
}

/// Something in a folder of git's that git does not put there by itself, or that makes it do more than keep files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Oddity {
    /// A link with its target.
    Link(PathBuf),
    /// A pipe, a socket or a device.
    Special,
    /// A name that is on no list, or a file that cannot be read.
    Unknown,
    /// A file that git obeys.
    Obeyed(Vec<u8>),
    /// Settings that do more than the harmless ones.
    Settings(Vec<GitSetting>),
    /// Commands among the steps of a rebase.
    Steps(Vec<u8>),
}

/// What is odd in a folder of git's, by its path below it, and the files from which it would be put back.
#[derive(Debug, Clone, Default)]
pub(super) struct GitFolder {
    odd: BTreeMap<PathBuf, Oddity>,
    /// Obeyed files with their rights.
    files: BTreeMap<PathBuf, (Vec<u8>, u32)>,
    /// Whether it holds more than is looked at.
    is_partial: bool,
}

/// What has come to a folder of git's, and what is to lie there instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stranger {
    /// Its path below the folder.
    pub(super) path: PathBuf,
    /// The content to put back, with its rights.
    pub(super) instead: Option<(Vec<u8>, u32)>,
}

/// How thoroughly a folder is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// While git may be at work there.
    Passing,
    /// Also at what a git that is at work needs itself, such as the steps of a rebase.
    Whole,
}

impl GitFolder {
    /// Looks at a folder of git's.
    pub(super) fn survey(folder: &Path, depth: Depth) -> Self {
        let mut survey = Survey { found: Self::default(), left: MAX_ENTRIES, depth };
        survey.repository(folder, Path::new(""), 0);
        survey.found
    }

    /// Returns `true` if a repository there does nothing but keep files.
    pub(super) fn is_plain(&self) -> bool {
        self.odd.is_empty() && !self.is_partial
    }

    /// Returns `true` if it has become too large to be looked at since it was as `before`.
    pub(super) fn has_outgrown(&self, before: &Self) -> bool {
        self.is_partial && !before.is_partial
    }

    /// Takes what lies at a path as it was found in another look.
    pub(super) fn accept(&mut self, path: &Path, mut now: Self) {
        self.odd.extend(now.odd.remove_entry(path));
        self.files.extend(now.files.remove_entry(path));
    }

    /// Returns what is odd now and was not, of the folder as it was `before`.
    pub(super) fn strangers(&self, before: &Self) -> Vec<Stranger> {
        let is_new = |(path, oddity): &(&PathBuf, &Oddity)| match (oddity, before.odd.get(*path)) {
            (Oddity::Settings(now), Some(Oddity::Settings(known))) => {
                !now.iter().all(|setting| known.contains(setting))
            }
            (oddity, known) => known != Some(*oddity),
        };
        let instead = |path: &PathBuf, oddity: &Oddity| match oddity {
            Oddity::Steps(steps) => Some((without_commands(steps), 0o644)),
            Oddity::Settings(_) => self.without_new(path, before).or_else(|| before.files.get(path).cloned()),
            _ => before.files.get(path).cloned(),
        };
        let strangers = self.odd.iter().filter(is_new);
        let stranger =
            |(path, oddity): (&PathBuf, &Oddity)| Stranger { path: path.clone(), instead: instead(path, oddity) };
        let mut all: Vec<Stranger> = strangers.map(stranger).collect();
        all.extend(self.redirected(before));
        all
    }

    /// Returns a file of settings as it is, but for those that are new and do more than the harmless ones: what the user has
    /// set meanwhile stays.
    fn without_new(&self, path: &Path, before: &Self) -> Option<(Vec<u8>, u32)> {
        let ((now, rights), (known, _)) = (self.files.get(path)?, before.files.get(path)?);
        let (known, Some(Oddity::Settings(harmful))) = (git_config::read(known)?, self.odd.get(path)) else {
            return None;
        };
        let is_dropped =
            |setting: &GitSetting| !known.contains(setting) && (harmful.contains(setting) || setting.redirects(&known));
        Some((git_config::without(now, is_dropped)?, *rights))
    }

    /// Returns the settings if they send a known remote's commits elsewhere than before.
    fn redirected(&self, before: &Self) -> Option<Stranger> {
        let path = Path::new("config");
        let settings = |folder: &Self| git_config::read(&folder.files.get(path)?.0);
        let (now, known) = (settings(self)?, settings(before)?);
        let is_new = now.iter().any(|setting| !known.contains(setting) && setting.redirects(&known));
        let is_listed = self.odd.contains_key(path) && before.odd.get(path) != self.odd.get(path);
        (is_new && !is_listed).then(|| Stranger { path: path.to_path_buf(), instead: before.files.get(path).cloned() })
    }
}

/// One look.
struct Survey {
    found: GitFolder,
    left: usize,
    depth: Depth,
}

impl Survey {
    /// Counts an entry. Returns `true` if no more of them are looked at.
    fn count(&mut self, path: &Path, depth: usize) -> bool {
        if self.left == 0 {
            self.found.is_partial = true;
            return true;
        }
        self.left -= 1;
        if depth > MAX_DEPTH {
            self.odd(path.to_path_buf(), Oddity::Unknown);
        }
        depth > MAX_DEPTH
    }

    fn odd(&mut self, path: PathBuf, oddity: Oddity) {
        self.found.odd.insert(path, oddity);
    }

    /// Looks at a folder of git's with this path below the first one.
    fn repository(&mut self, folder: &Path, below: &Path, depth: usize) {
        for (name, kind) in entries(folder).into_iter().filter(|(name, _)| !is_aside(name)) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            if self.count(&rest, depth) {
                return;
            }
            if !kind.is_file() && !kind.is_dir() {
                self.special(&path, rest, kind);
                continue;
            }
            let (text, lists) = (name.to_string_lossy(), &data().git);
            match text.as_ref() {
                "config" | "config.worktree" if kind.is_file() => self.settings(folder, &path, rest),
                "commondir" if kind.is_file() => self.obeyed(&path, rest),
                "description" => {}
                "hooks" if kind.is_dir() => self.hooks(&path, &rest),
                "info" if kind.is_dir() => self.info(&path, &rest, depth),
                "branches" if kind.is_dir() => self.all_odd(&path, &rest),
                "objects" if kind.is_dir() => self.objects(&path, &rest, depth),
                "worktrees" if kind.is_dir() => self.worktrees(&path, &rest, depth),
                "modules" if kind.is_dir() => self.modules(&path, &rest, depth),
                name if kind.is_dir() && lists.states.iter().any(|state| state == name) => {
                    self.state(&path, &rest, depth);
                }
                name if kind.is_dir() && lists.folders.iter().any(|folder| folder == name) => {
                    self.plain(&path, &rest, depth);
                }
                name if kind.is_file() && is_on(&lists.files, name) => {}
                _ => self.odd(rest, Oddity::Unknown),
            }
        }
    }

    fn special(&mut self, path: &Path, below: PathBuf, kind: FileType) {
        if kind.is_socket() && below.ends_with("fsmonitor--daemon.ipc") {
            return;
        }
        let link = kind.is_symlink().then(|| path.read_link().ok()).flatten();
        // By one such, `git init` finds out for a moment whether there are links here.
        let is_trial = |name: &OsStr| name.len() == 7 && name.as_bytes().starts_with(b"t");
        if link.as_deref() == Some(Path::new("testing")) && below.file_name().is_some_and(is_trial) {
            return;
        }
        self.odd(below, link.map_or(Oddity::Special, Oddity::Link));
    }

    /// Looks for what is no file and no folder, at every depth.
    fn plain(&mut self, folder: &Path, below: &Path, depth: usize) {
        for (name, kind) in entries(folder) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            if self.count(&rest, depth) {
                return;
            }
            if kind.is_dir() {
                self.plain(&path, &rest, depth + 1);
            } else if !kind.is_file() {
                self.special(&path, rest, kind);
            }
        }
    }

    /// Objects are written under names that nobody has taken; only their folders can lead elsewhere.
    fn objects(&mut self, folder: &Path, below: &Path, depth: usize) {
        for (name, kind) in entries(folder) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            let is_fan = name.len() == 2 && name.as_bytes().iter().all(u8::is_ascii_hexdigit);
            if self.count(&rest, depth) {
                return;
            }
            if !kind.is_dir() && !kind.is_file() {
                self.special(&path, rest, kind);
            } else if kind.is_dir() && !is_fan {
                self.plain(&path, &rest, depth + 1);
            }
        }
        for name in ["info/alternates", "info/http-alternates"] {
            if nofollow::look(&folder.join(name)).is_ok_and(|facts| facts.is_file() && facts.len() > 0) {
                self.obeyed(&folder.join(name), below.join(name));
            }
        }
    }

    fn info(&mut self, folder: &Path, below: &Path, depth: usize) {
        for (name, kind) in entries(folder).into_iter().filter(|(name, _)| !is_aside(name)) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            match name.to_string_lossy().as_ref() {
                _ if kind.is_dir() => self.plain(&path, &rest, depth + 1),
                _ if !kind.is_file() => self.special(&path, rest, kind),
                name if is_on(&data().git.info, name) => {}
                _ => self.obeyed(&path, rest),
            }
        }
    }

    fn hooks(&mut self, folder: &Path, below: &Path) {
        for (name, kind) in entries(folder).into_iter().filter(|(name, _)| !is_aside(name)) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            match kind {
                // Git runs none with this ending.
                kind if kind.is_file() && name.as_bytes().ends_with(b".sample") => {}
                kind if kind.is_file() => self.obeyed(&path, rest),
                kind if kind.is_dir() => self.odd(rest, Oddity::Unknown),
                kind => self.special(&path, rest, kind),
            }
        }
    }

    fn all_odd(&mut self, folder: &Path, below: &Path) {
        for (name, _) in entries(folder) {
            self.odd(below.join(name), Oddity::Unknown);
        }
    }

    /// Looks at the folders of linked worktrees. Each has its settings from here.
    fn worktrees(&mut self, folder: &Path, below: &Path, depth: usize) {
        for (name, kind) in entries(folder) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            if !kind.is_dir() {
                self.odd(rest, Oddity::Unknown);
                continue;
            }
            self.repository(&path, &rest, depth + 1);
            let common = rest.join("commondir");
            if matches!(self.found.odd.get(&common), Some(Oddity::Obeyed(text)) if text.trim_ascii() == b"../..") {
                self.found.odd.remove(&common);
            }
        }
    }

    /// Looks at the repositories of submodules, whose names may have slashes.
    fn modules(&mut self, folder: &Path, below: &Path, depth: usize) {
        for (name, kind) in entries(folder) {
            let (path, rest) = (folder.join(&name), below.join(&name));
            if self.count(&rest, depth) {
                return;
            }
            match kind {
                // As long as there is no head, git takes it for nothing.
                kind if kind.is_file() => {}
                kind if !kind.is_dir() => self.special(&path, rest, kind),
                _ if nofollow::look(&path.join("HEAD")).is_ok() => self.repository(&path, &rest, depth + 1),
                _ => self.modules(&path, &rest, depth + 1),
            }
        }
    }

    /// Looks at what a merge or a rebase keeps until the user goes on with it.
    fn state(&mut self, folder: &Path, below: &Path, depth: usize) {
        self.plain(folder, below, depth + 1);
        if self.depth == Depth::Passing {
            return;
        }
        let mut text = |name: &str| match read(&folder.join(name)) {
            Ok((text, _)) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            // Git reads it all the same: one that is too large, or a link.
            Err(_) => {
                self.found.odd.insert(below.join(name), Oddity::Unknown);
                Vec::new()
            }
        };
        let [steps, strategy, opts, apply_opt] = ["git-rebase-todo", "strategy", "opts", "apply-opt"].map(&mut text);
        if without_commands(&steps) != steps {
            self.odd(below.join("git-rebase-todo"), Oddity::Steps(steps));
        }
        let strategy = String::from_utf8_lossy(strategy.trim_ascii()).into_owned();
        if !strategy.is_empty() && !data().git.strategies.contains(&strategy) {
            self.odd(below.join("strategy"), Oddity::Unknown);
        }
        let names_strategy = String::from_utf8_lossy(&opts).to_ascii_lowercase().contains("strategy");
        if names_strategy {
            self.odd(below.join("opts"), Oddity::Unknown);
        }
        if apply_opt.windows(8).any(|part| part == b"ancestor") {
            self.odd(below.join("apply-opt"), Oddity::Unknown);
        }
    }

    /// Takes in a file that git obeys.
    fn obeyed(&mut self, path: &Path, below: PathBuf) {
        match read(path) {
            Ok((text, _)) if text.is_empty() => {}
            Ok((text, rights)) => {
                self.found.files.insert(below.clone(), (text.clone(), rights));
                self.odd(below, Oddity::Obeyed(text));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => self.odd(below, Oddity::Unknown),
        }
    }

    fn settings(&mut self, folder: &Path, path: &Path, below: PathBuf) {
        let (text, rights) = match read(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => return self.odd(below, Oddity::Unknown),
        };
        match git_config::read(&text) {
            Some(settings) => {
                let harmful: Vec<GitSetting> =
                    settings.into_iter().filter(|setting| !setting.is_harmless(folder)).collect();
                if !harmful.is_empty() {
                    self.odd(below.clone(), Oddity::Settings(harmful));
                }
            }
            None => self.odd(below.clone(), Oddity::Obeyed(text.clone())),
        }
        self.found.files.insert(below, (text, rights));
    }
}

/// Lists a folder; one that cannot be read has nothing that git could read.
fn entries(folder: &Path) -> Vec<(std::ffi::OsString, FileType)> {
    let entries = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    entries.filter_map(|entry| Some((entry.file_name(), entry.file_type().ok()?))).collect()
}

/// Returns `true` for a name on a list, whose entries may have a star at either end.
fn is_on(list: &[String], name: &str) -> bool {
    list.iter().any(|entry| match (entry.strip_prefix('*'), entry.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => entry == name,
    })
}

/// Reads a plain file with its rights. What else lies there is not opened.
pub(super) fn read(path: &Path) -> io::Result<(Vec<u8>, u32)> {
    let file = nofollow::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let facts = file.metadata()?;
    if !facts.is_file() || facts.len() > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut text)?;
    Ok((text, facts.permissions().mode() & 0o777))
}

/// Returns the steps of a rebase without those that run a command.
fn without_commands(steps: &[u8]) -> Vec<u8> {
    let is_command = |line: &&[u8]| {
        let word = line.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        word == b"exec" || word == b"x"
    };
    steps.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_command(line)).collect::<Vec<_>>().concat()
}

/// Returns `true` if a folder has the shape that git takes for one of its own.
pub(super) fn is_git_shape(has: impl Fn(&OsStr) -> bool) -> bool {
    let has = |name: &str| has(OsStr::new(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}
