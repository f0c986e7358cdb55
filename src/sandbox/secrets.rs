//! What of homes and of the system no command reads: keys, tokens, histories, what programs keep of their user.
//!
//! Owns the table of it, and looking at what a home holds. Leaves hiding to the kernel. Everything here blocks. Invariant: a
//! home is closed: what nobody has listed there is hidden, by whatever program it was made.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::whole_file::read_plain_text;
use serde::Deserialize;

/// Where the system keeps what is everybody's. What a link of a home leads to there is no secret of its user.
const SYSTEM: [&str; 11] =
    ["/bin", "/boot", "/dev", "/gnu/store", "/lib", "/lib64", "/nix/store", "/proc", "/sbin", "/sys", "/usr"];

/// The table in `assets/secrets.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretData {
    hidden: Vec<PathBuf>,
    closed: Vec<PathBuf>,
    open: Vec<PathBuf>,
    stand_ins: BTreeMap<PathBuf, String>,
}

/// The table, as it is looked into.
#[derive(Debug)]
struct Table {
    data: SecretData,
    /// What is open by its whole name.
    open: HashSet<PathBuf>,
    /// What is open by a pattern.
    patterns: Vec<PathBuf>,
    /// Folders that hold something open.
    above: HashSet<PathBuf>,
}

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let data: SecretData = toml::from_str(include_str!("../../assets/secrets.toml")).unwrap_or_default();
        let open = data.open.iter().filter(|path| !has_star(path)).cloned().collect();
        let patterns = data.open.iter().filter(|path| has_star(path)).cloned().collect();
        let all = data.open.iter().chain(data.stand_ins.keys());
        let above = all.flat_map(|path| path.ancestors().skip(1)).map(Path::to_path_buf).collect();
        Table { data, open, patterns, above }
    })
}

/// Returns the texts that are read in the place of files, by the name of the file that holds each.
pub(super) fn stand_in_texts() -> impl Iterator<Item = (String, &'static str)> {
    table().data.stand_ins.values().enumerate().map(|(number, text)| (number.to_string(), text.as_str()))
}

/// What is hidden from the commands of a session.
pub(super) struct HiddenPlaces<'a> {
    /// The user's home, where it is known.
    pub(super) home: Option<&'a Path>,
    /// What the user lets commands read of it, beside the usual.
    pub(super) open: &'a [PathBuf],
    /// Folders that are worked in: what lies there is no secret.
    pub(super) work: &'a [&'a Path],
}

impl HiddenPlaces<'_> {
    /// Returns what is hidden, with links resolved, whether it is there or not.
    pub(super) fn hidden(&self) -> Vec<PathBuf> {
        let mut hidden: Vec<PathBuf> = named(self.home).map(|path| real(&path).unwrap_or(path)).collect();
        for home in self.homes() {
            let of_git = files_of_git(&home);
            for (name, path) in entries(&home) {
                if begins_with_dot(Path::new(&name)) || table().data.closed.iter().any(|closed| closed == &name) {
                    self.close((&home, &of_git), &path, &mut hidden);
                }
            }
        }
        hidden
    }

    /// Returns the files that are read as another text, with links resolved, each with the name of the file that holds that.
    pub(super) fn stand_ins(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        for home in self.homes() {
            for (number, name) in table().data.stand_ins.keys().enumerate() {
                let place = home.join(name);
                let is_meant =
                    |target: &PathBuf| target.is_file() && (*target == place || self.is_users(&home, target));
                let is_open = self.open.iter().any(|open| place.starts_with(open));
                found.extend(real(&place).filter(|_| !is_open).filter(is_meant).map(|path| (path, number.to_string())));
            }
        }
        found
    }

    /// Returns the homes that are closed. Where the user works in the home itself, it is one with the work.
    fn homes(&self) -> Vec<PathBuf> {
        let own = self.home.and_then(real);
        // What others may read of a home is for its user to say, but root reads everything.
        let is_root = nix::unistd::geteuid().is_root();
        let others = is_root.then(|| entries(Path::new("/home")).into_iter().map(|(_, path)| path));
        let others = others.into_iter().flatten().chain(is_root.then(|| PathBuf::from("/root")));
        let mut homes: Vec<PathBuf> = own.into_iter().chain(others.filter_map(real)).collect();
        homes.retain(|home| home.parent().is_some() && !self.work.contains(&home.as_path()));
        homes.sort();
        homes.dedup();
        homes
    }

    /// Hides something in a home, but for what is open of it.
    fn close(&self, home: (&Path, &HashSet<PathBuf>), path: &Path, hidden: &mut Vec<PathBuf>) {
        let (table, (home, of_git)) = (table(), home);
        let Ok(inside) = path.strip_prefix(home) else { return };
        let is_open = table.open.contains(inside) || table.patterns.iter().any(|pattern| is_named(inside, pattern));
        if is_open || of_git.contains(path) || table.data.stand_ins.contains_key(inside) {
            return;
        }
        let holds_open = table.above.contains(inside) || of_git.iter().any(|file| file.starts_with(path));
        if holds_open && path.is_dir() {
            for (_, entry) in entries(path) {
                self.close((home, of_git), &entry, hidden);
            }
        } else if !path.is_symlink() {
            hidden.push(path.to_path_buf());
        } else if let Some(target) = real(path).filter(|target| self.is_users(home, target)) {
            // What begins with a dot where it leads is looked at there.
            if !target.strip_prefix(home).is_ok_and(begins_with_dot) {
                hidden.push(target);
            }
        }
    }

    /// Returns `false` for a place that a link of a home leads to, if it is the system's or what is worked on, or holds that.
    fn is_users(&self, home: &Path, target: &Path) -> bool {
        let is_system = SYSTEM.iter().any(|folder| target.starts_with(folder));
        let is_work = self.work.iter().any(|folder| target.starts_with(folder) || folder.starts_with(target));
        !is_system && !is_work && !home.starts_with(target)
    }
}

/// Bytes of git's settings that are read at most.
const MAX_GIT_SETTINGS: u64 = 1 << 20;

/// Returns the files of a home that its git settings name, without which git ends with an error.
fn files_of_git(home: &Path) -> HashSet<PathBuf> {
    const NAMING: [&str; 6] = ["path", "excludesfile", "attributesfile", "template", "templatedir", "hookspath"];
    let texts = [".gitconfig", ".config/git/config"].map(|name| read_plain_text(&home.join(name), MAX_GIT_SETTINGS));
    let lines: Vec<String> =
        texts.into_iter().flatten().flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let secret: Vec<PathBuf> = named(Some(home)).collect();
    let named = lines.iter().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let is_naming = NAMING.contains(&name.trim().to_ascii_lowercase().as_str());
        let value = value.trim().trim_matches('"');
        let path = value.strip_prefix("~/").map_or_else(|| home.join(value), |below| home.join(below));
        is_naming.then_some(path)
    });
    named.filter(|path| path.starts_with(home) && !secret.iter().any(|place| path.starts_with(place))).collect()
}

/// What is hidden from every command, whatever the user has set: keys, credentials, histories.
#[derive(Debug)]
pub struct SecretPlaces(Vec<PathBuf>);

impl SecretPlaces {
    /// Finds the places of a user, by their own names and by where links lead. Blocks.
    #[must_use]
    pub fn below(home: Option<&Path>) -> Self {
        let stand_ins = table().data.stand_ins.keys().filter_map(|name| Some(home?.join(name)));
        Self(named(home).chain(stand_ins).flat_map(|place| [real(&place), Some(place)]).flatten().collect())
    }

    /// Returns `true` for a resolved path that is one of them, or lies there.
    #[must_use]
    pub fn hold(&self, path: &Path) -> bool {
        self.0.iter().any(|place| path.starts_with(place))
    }
}

/// Returns what the table names, with what its stars stand for.
fn named(home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let home = home.unwrap_or(Path::new("/"));
    table().data.hidden.iter().flat_map(move |name| expanded(home.join(name)))
}

fn expanded(pattern: PathBuf) -> Vec<PathBuf> {
    match pattern.parent() {
        Some(folder) if has_star(&pattern) => {
            let among = entries(folder).into_iter().map(|(_, path)| path);
            among.filter(|path| is_named(path, &pattern)).collect()
        }
        _ => vec![pattern],
    }
}

fn has_star(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().contains(&b'*'))
}

/// Returns `true` if a path is one of those that a pattern names, in which a star of the last part stands for anything.
fn is_named(path: &Path, pattern: &Path) -> bool {
    let last = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (name, wanted) = (last(path), last(pattern));
    let is_match = wanted.split_once('*').is_some_and(|(start, end)| {
        name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
    });
    is_match && path.parent() == pattern.parent()
}

/// Returns `true` if the first part of a path begins with a dot.
fn begins_with_dot(path: &Path) -> bool {
    path.iter().next().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns what lies in a folder, by name and path; nothing where it cannot be looked into.
fn entries(folder: &Path) -> Vec<(OsString, PathBuf)> {
    let found = folder.read_dir().into_iter().flatten().filter_map(Result::ok);
    found.map(|entry| (entry.file_name(), entry.path())).collect()
}

fn real(path: impl AsRef<Path>) -> Option<PathBuf> {
    path.as_ref().canonicalize().ok()
}
