//! What one command may touch.
//!
//! Owns the policy as data, and finding what appeared at a protected place meanwhile. Leaves which places these are to
//! `places`. Everything here blocks.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a command may touch. All paths are absolute with links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// Folders that it may write in.
    pub writable: Vec<PathBuf>,
    /// What it may not write in those.
    pub protected: Vec<PathBuf>,
    /// Where nothing lies that could be protected, or a link, which cannot be: its target is `Some`.
    pub vacant: Vec<(PathBuf, Option<PathBuf>)>,
    /// Files and folders that it may not read either.
    pub hidden: Vec<PathBuf>,
    /// An empty file and an empty folder that nobody may open, in the place of what is hidden.
    pub masks: (PathBuf, PathBuf),
    /// Whether its processes are numbered apart, so that they neither see nor reach others, and end with the first of them.
    #[serde(default)]
    pub has_own_processes: bool,
    /// Whether it has the network of this machine. Without, it has one of its own, on which only itself answers, and the
    /// proxy.
    pub has_network: bool,
}

/// Something that a command has put where nothing may be written.
#[derive(Debug, PartialEq, Eq)]
pub struct Intrusion {
    pub path: PathBuf,
    /// Where it lies now; `None` if it could not be moved.
    pub moved_to: Option<PathBuf>,
}

impl SandboxPolicy {
    /// Moves aside what has appeared at a place that was vacant, so that no program obeys it, and puts links back. To be
    /// called when the command and its processes have ended.
    #[must_use]
    pub fn evict(&self) -> Vec<Intrusion> {
        let is_ours = |part: &Path| self.writable.iter().any(|folder| part.starts_with(folder) && part != folder);
        // A link to its folder has appeared with it, and would lead there again.
        let link_to = |path: &Path| {
            let links = path.ancestors().skip(1).take_while(|part| is_ours(part)).filter(|part| part.is_symlink());
            links.last().map(Path::to_path_buf)
        };
        let appeared = self.vacant.iter().filter(|(path, link)| match (path.symlink_metadata(), link) {
            (Err(_), link) => link.is_some(),
            (Ok(_), None) => true,
            (Ok(_), Some(target)) => path.read_link().ok().as_ref() != Some(target),
        });
        let moved = appeared.map(|(place, link)| {
            let path = &link_to(place).unwrap_or_else(|| place.clone());
            let moved_to = move_aside(path).ok();
            if let Some(target) = link
                && real_folder(place).is_ok()
            {
                // It fails where something could not be moved, which is said.
                let _ = std::os::unix::fs::symlink(target, place);
            }
            Intrusion { path: path.clone(), moved_to }
        });
        moved.collect()
    }
}

/// Returns the folder of a path. Fails where a link leads there now, perhaps to another place.
fn real_folder(path: &Path) -> io::Result<&Path> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if folder.canonicalize()? == folder { Ok(folder) } else { Err(io::Error::other("a link leads to its folder")) }
}

/// Renames a file or folder to a free name beside it, and returns the name. Fails where its folder is not what it was.
fn move_aside(path: &Path) -> io::Result<PathBuf> {
    let (folder, name) = (real_folder(path)?, path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let mut facts = folder.metadata()?.permissions();
    if facts.mode() & 0o300 != 0o300 {
        facts.set_mode(facts.mode() | 0o300);
        std::fs::set_permissions(folder, facts)?;
    }
    let mut prefix = name.to_os_string();
    prefix.push(".blocked-");
    // A name that nobody can have taken before.
    let free = tempfile::Builder::new().prefix(&prefix).rand_bytes(8).tempdir_in(folder)?;
    let beside = free.path().join(name);
    std::fs::rename(path, &beside)?;
    Ok(free.keep().join(name))
}
