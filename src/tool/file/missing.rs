//! Words on a path that leads nowhere.
//!
//! Owns the slips that models make with paths: a root that is not there, quotes, `@`, `file://`, a line end, another kind of
//! blank, other case. Invariant: a path is offered only if it is there, below the working directory.

use std::path::{Path, PathBuf};

use super::path::{lexical, relative};

/// Says that nothing lies at a path, from where paths are read, and which one may be meant. `advice` is how to look for it.
pub(in crate::tool) fn missing_words(path: &Path, cwd: &Path, advice: &str) -> String {
    let shown = relative(path, cwd);
    let near = near(path, cwd).map(|near| format!(" Did you mean {}?", relative(&near, cwd)));
    let near = near.unwrap_or_else(|| format!(" {advice}"));
    format!("{shown} does not exist. The working directory is {}.{near}", relative(cwd, Path::new("")))
}

fn near(path: &Path, cwd: &Path) -> Option<PathBuf> {
    let written = path.strip_prefix(cwd).unwrap_or(path).to_str()?;
    let plain = written.trim().trim_matches(['"', '\'', '`']).trim();
    let plain = plain.strip_prefix("file:").map_or(plain, |rest| if rest.starts_with('/') { rest } else { plain });
    let plain = plain.strip_prefix('@').unwrap_or(plain);
    let whole = lexical(plain, cwd);
    // A root that is not there, or that of another machine: what is left of the path may begin here.
    let parts: Vec<_> = whole.strip_prefix("/").ok()?.components().collect();
    let ends = (0..parts.len()).map(|from| cwd.join(parts[from..].iter().collect::<PathBuf>()));
    let is_there = |path: &PathBuf| path.starts_with(cwd) && path.as_path() != cwd && path.symlink_metadata().is_ok();
    std::iter::once(whole.clone()).chain(ends).find(is_there).or_else(|| neighbor(&whole, cwd))
}

/// Returns the entry of the same folder whose name is the same but for case and kinds of blanks.
fn neighbor(path: &Path, cwd: &Path) -> Option<PathBuf> {
    let folded =
        |name: &str| name.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect::<String>().to_lowercase();
    let (folder, name) = (path.parent().filter(|folder| folder.starts_with(cwd))?, path.file_name()?.to_str()?);
    let same = |other: &str| folded(other) == folded(name);
    let names = std::fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|other| same(other)).min().map(|other| folder.join(other))
}
