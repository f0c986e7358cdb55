//! Which session a command line means.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::services::Bootstrap;
use crate::session::Store;

/// Finds the folder of a session of this project: the one that `id` names, or the newest. An id is the folder's name, how
/// it begins, or the short id at its end.
pub(super) fn find(bootstrap: &Bootstrap, id: Option<&str>) -> Result<(Store, PathBuf)> {
    let store = bootstrap.store.clone().context("no folder for Belvedere's files; set HOME")?;
    let sessions = store.dir().parent().map(PathBuf::from).unwrap_or_default();
    let mut names: Vec<String> = std::fs::read_dir(&sessions)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let name = match id {
        None => names.pop().context("no session of this project yet")?,
        Some(id) => {
            let is_meant = |name: &String| name == id || name.starts_with(id) || name.ends_with(&format!("-{id}"));
            let mut found = names.into_iter().filter(is_meant);
            let first = found.next().with_context(|| format!("no session `{id}` of this project"))?;
            if let Some(second) = found.next() {
                bail!("more than one session is called `{id}`: {first}, {second}; write more of its name");
            }
            first
        }
    };
    Ok((store, sessions.join(name)))
}
