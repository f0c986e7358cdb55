//! The repositories inside of a repository, as its index names them.
//!
//! The user's own `git status` looks into each of these, and obeys its settings. Owns reading that much of the format of an
//! index (git's `gitformat-index`, versions 2 to 4, also when it is split). Everything here blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use super::kept::PlaceStamp;

/// Bytes of an entry before the name of its object, and where its mode is among them.
const STAT_BYTES: usize = 40;
const MODE_AT: usize = 24;
/// The mode of an entry that is a repository of its own.
const REPOSITORY: u32 = 0o160_000;
/// Lengths of the names of objects, in bytes: SHA-1 and SHA-256. The index does not say which.
const HASHES: [usize; 2] = [20, 32];
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
        let Ok(facts) = folder.join("index").metadata() else { return BTreeSet::new() };
        let state = PlaceStamp::of(&facts);
        if let Some((_, links)) = self.0.get(top).filter(|(known, _)| *known == state) {
            return links.clone();
        }
        let links: BTreeSet<PathBuf> = read(&folder, top).into_iter().map(|path| top.join(path)).collect();
        self.0.insert(top.to_path_buf(), (state, links.clone()));
        links
    }
}

/// Reads the index in a folder of git's. What is no index names nothing: git does not read it either.
fn read(folder: &Path, top: &Path) -> Vec<PathBuf> {
    let Ok(index) = std::fs::read(folder.join("index")) else { return Vec::new() };
    let Some((mut links, shared)) = HASHES.iter().find_map(|hash| parse(&index, *hash, |mode| mode == REPOSITORY))
    else {
        return Vec::new();
    };
    if let Some(shared) = shared {
        // Which of its entries the other one has replaced, and by what, is not told here.
        let shared = std::fs::read(folder.join(format!("sharedindex.{shared}"))).unwrap_or_default();
        let all = HASHES.iter().find_map(|hash| parse(&shared, *hash, |_| true)).unwrap_or_default().0;
        links.extend(all.into_iter().filter(|path| top.join(path).join(".git").symlink_metadata().is_ok()));
    }
    links.retain(|path| is_below(path));
    links
}

/// Returns `true` for a path that git takes from an index: it leads nowhere else.
fn is_below(path: &Path) -> bool {
    let is_plain = |part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"));
    path.components().next().is_some() && path.components().all(is_plain)
}

/// Returns the paths of entries with some modes, and the name of the index that this one adds to; `None` if this is not one
/// whose objects have names of so many bytes.
fn parse(index: &[u8], hash: usize, is_meant: impl Fn(u32) -> bool) -> Option<(Vec<PathBuf>, Option<String>)> {
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
        if path.len().min(LENGTH.into()) != usize::from(flags & LENGTH) {
            return None;
        }
        at += length + 1;
        if version < 4 {
            at = begin + (at - begin).next_multiple_of(8);
        }
        if is_meant(number(begin + MODE_AT)?) {
            found.push(PathBuf::from(OsStr::from_bytes(&path)));
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
