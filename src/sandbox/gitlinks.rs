//! The repositories inside of a repository, as its index names them.
//!
//! The user's own `git status` looks into each of these, and obeys its settings. Owns reading that much of the format of an
//! index (git's `gitformat-index`, versions 2 to 4, also when it is split). Everything here blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use super::kept::PlaceStamp;
use crate::nofollow;

/// Bytes of an entry before the name of its object, and where its mode is among them.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
/// The mode of an entry that is a repository of its own.
const REPOSITORY: u32 = 0o160_000;
/// Lengths of the names of objects, in bytes: SHA-1 and SHA-256. The index does not say which.
const HASHES: [usize; 2] = [20, 32];
/// Bytes of the largest index that is read: git writes one of this size for some millions of files.
const MAX_BYTES: u64 = 512 << 20;
/// Bytes of the longest path; a longer one cannot be opened.
const MAX_PATH: usize = 4_096;
/// Repositories that are kept of one index, whether they are there or not.
const MAX_LINKS: usize = 1_000;
/// Flag of an entry with two more bytes of flags, and the bits with the length of its path.
const EXTENDED: u16 = 0x4000;
const LENGTH: u16 = 0x0FFF;

/// What indexes were read to name. Each is read again when it has changed.
#[derive(Debug, Default)]
pub(super) struct GitLinks(BTreeMap<PathBuf, (PlaceStamp, BTreeSet<PathBuf>)>);

impl GitLinks {
    /// Returns the folders below `top` that its index has as repositories.
    pub(super) fn below(&mut self, top: &Path) -> BTreeSet<PathBuf> {
        let folder = top.join(".git");
        let Ok(facts) = nofollow::look(&folder.join("index")) else { return BTreeSet::new() };
        let state = PlaceStamp::of(&facts);
        if let Some((_, links)) = self.0.get(top).filter(|(known, _)| *known == state) {
            return links.clone();
        }
        let links: BTreeSet<PathBuf> = read(&folder, top).into_iter().map(|path| top.join(path)).collect();
        // Of too many, those are kept that are there, which has to be looked at again.
        if links.len() < MAX_LINKS {
            self.0.insert(top.to_path_buf(), (state, links.clone()));
        }
        links
    }
}

/// Reads the index in a folder of git's. What is no index names nothing: git does not read it either.
fn read(folder: &Path, top: &Path) -> Vec<PathBuf> {
    let content = |name: &str| {
        // A command can put a pipe there, or a link to one.
        let file = nofollow::open(&folder.join(name), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        if !file.metadata()?.is_file() {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map(|_| bytes)
    };
    let is_there = |path: &Path| is_below(path) && top.join(path).join(".git").symlink_metadata().is_ok();
    let is_link = |count: usize, mode: u32, path: &Path| {
        mode == REPOSITORY && is_below(path) && (count < MAX_LINKS || is_there(path))
    };
    let Ok(index) = content("index") else { return Vec::new() };
    let Some((mut links, shared)) = HASHES.iter().find_map(|hash| parse(&index, *hash, is_link)) else {
        return Vec::new();
    };
    if let Some(shared) = shared {
        // Which of its entries the other one has replaced, and by what, is not told here.
        let shared = content(&format!("sharedindex.{shared}")).unwrap_or_default();
        let all = HASHES.iter().find_map(|hash| parse(&shared, *hash, |_, _, path| is_there(path)));
        links.append(&mut all.unwrap_or_default().0);
    }
    links
}

/// Returns `true` for a path that git takes from an index: it leads nowhere else.
fn is_below(path: &Path) -> bool {
    let is_plain = |part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    path.components().next().is_some() && path.components().all(is_plain)
}

/// Returns the paths of some entries, and the name of the index that this one adds to; `None` if this is not one whose objects
/// have names of so many bytes. Which are meant is told by how many there are so far, the mode and the path.
fn parse(
    index: &[u8],
    hash: usize,
    is_meant: impl Fn(usize, u32, &Path) -> bool,
) -> Option<(Vec<PathBuf>, Option<String>)> {
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let (version, count) = (number(4)?, number(8)?);
    if !index.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let (mut at, mut found, mut path) = (12, Vec::new(), Vec::<u8>::new());
    for _ in 0..count {
        let (begin, flags_at) = (at, at + STAT_BYTES + hash);
        let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
        at = flags_at + if version >= 3 && flags & EXTENDED != 0 { 4 } else { 2 };
        if version == 4 {
            let (strip, next) = offset(index, at)?;
            path.truncate(path.len().checked_sub(strip)?);
            at = next;
        } else {
            path.clear();
        }
        let length = index.get(at..)?.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&index[at..at + length]);
        if path.len() > MAX_PATH || path.len().min(LENGTH.into()) != usize::from(flags & LENGTH) {
            return None;
        }
        at += length + 1;
        if version < 4 {
            at = begin + (at - begin).next_multiple_of(8);
        }
        let name = Path::new(OsStr::from_bytes(&path));
        if is_meant(found.len(), number(begin + MODE_AT)?, name) {
            found.push(name.to_path_buf());
        }
    }
    let mut shared = None;
    while at + 8 + hash <= index.len() {
        let length = usize::try_from(number(at + 4)?).ok()?;
        if &index[at..at + 4] == b"link" {
            let name = index.get(at + 8..at + 8 + hash)?;
            shared = Some(name.iter().map(|byte| format!("{byte:02x}")).collect()).filter(|_| name != vec![0; hash]);
        }
        at = at.checked_add(8)?.checked_add(length)?;
    }
    (at + hash == index.len()).then_some((found, shared))
}

/// Reads a number of seven bits to the byte, each but the last one more than it says, and returns where it ends.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, at));
        }
        value = value.checked_add(1)?;
    }
}
