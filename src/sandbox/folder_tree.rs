//! The folders below one, kept up to date at the price of one look at each.
//!
//! Owns which of them have changed since they were read. Leaves what lies in them to the caller. Invariants: no link is
//! followed; a folder whose entries may have changed is read again, whatever its times say. Everything here blocks.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::kept::PlaceStamp;

/// Folders that are looked at below one.
const MAX_FOLDERS: usize = 300_000;

/// The folders below a folder.
#[derive(Debug, Default)]
pub(super) struct FolderTree {
    /// With the state in which each was read; `None` if it may have changed in the same moment.
    folders: BTreeMap<PathBuf, Option<PlaceStamp>>,
}

impl FolderTree {
    /// Reads what has changed below `top`, and itself, and shows each folder that was read with the names in it. What that
    /// does not want is not entered.
    pub(super) fn refresh(&mut self, top: &Path, mut is_entered: impl FnMut(&Path, &[OsString]) -> bool) {
        let mut open: Vec<PathBuf> = vec![top.to_path_buf()];
        let mut gone = Vec::new();
        for (folder, known) in &self.folders {
            match stamp(folder) {
                Some(now) if *known == Some(now) => {}
                Some(_) => open.push(folder.clone()),
                None => gone.push(folder.clone()),
            }
        }
        for folder in gone {
            self.folders.remove(&folder);
        }
        if self.folders.contains_key(top) {
            open.swap_remove(0);
        }
        while let Some(folder) = open.pop() {
            if self.folders.len() >= MAX_FOLDERS && !self.folders.contains_key(&folder) {
                continue;
            }
            let Some(before) = stamp(&folder) else { continue };
            let entries: Vec<_> = folder.read_dir().into_iter().flatten().filter_map(Result::ok).collect();
            let names: Vec<OsString> = entries.iter().map(std::fs::DirEntry::file_name).collect();
            if !is_entered(&folder, &names) {
                self.folders.remove(&folder);
                continue;
            }
            let folders = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let below = folders.map(|entry| folder.join(entry.file_name()));
            open.extend(below.filter(|below| !below.ends_with(".git") && !self.folders.contains_key(below)));
            self.folders.insert(folder, Some(before).filter(PlaceStamp::is_settled));
        }
    }
}

fn stamp(folder: &Path) -> Option<PlaceStamp> {
    folder.symlink_metadata().ok().filter(std::fs::Metadata::is_dir).map(|facts| PlaceStamp::of(&facts))
}
