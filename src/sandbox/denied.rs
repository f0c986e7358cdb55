//! Files that rules of the settings keep from what reads and writes, as patterns.
//!
//! Owns finding what a pattern means on the disk. Leaves the rules to `permission`. Invariant: what cannot be found in
//! full is an error, so that no command runs with a part of the rules.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;

/// Files and folders that are looked at for the patterns of one command.
const MAX_ENTRIES: usize = 100_000;

/// Globs of absolute paths. What lies below a match is meant too.
#[derive(Debug, Clone, Default)]
pub struct DeniedPaths(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Root of the project, below which most patterns begin. In a checkout elsewhere they mean the same files there.
    root: PathBuf,
    reading: Patterns,
    writing: Patterns,
}

#[derive(Debug, Default)]
struct Patterns {
    globs: Vec<String>,
    all: GlobSet,
}

impl Patterns {
    fn new(globs: Vec<String>) -> Result<Self, globset::Error> {
        let mut builder = GlobSetBuilder::new();
        for glob in &globs {
            for form in [glob.clone(), format!("{glob}/**")] {
                builder.add(GlobBuilder::new(&form).literal_separator(true).build()?);
            }
        }
        Ok(Self { all: builder.build()?, globs })
    }
}

impl DeniedPaths {
    /// Takes the patterns of what may not be read and of what may not be written.
    ///
    /// # Errors
    /// Returns the pattern that is none.
    pub fn new(root: &Path, reading: Vec<String>, writing: Vec<String>) -> Result<Self, globset::Error> {
        let (reading, writing) = (Patterns::new(reading)?, Patterns::new(writing)?);
        Ok(Self(Arc::new(Inner { root: root.to_path_buf(), reading, writing })))
    }

    pub fn forbid_reading(&self) -> bool {
        !self.0.reading.globs.is_empty()
    }

    /// Returns `true` if nothing may read a path, which has its links resolved. Outside of the project, a path counts as
    /// the same one in the project, wherever a checkout of it may begin.
    #[must_use]
    pub fn hide(&self, path: &Path) -> bool {
        let Inner { root, reading, .. } = &*self.0;
        if !self.forbid_reading() || reading.all.is_match(path) {
            return self.forbid_reading();
        }
        !path.starts_with(root)
            && path
                .ancestors()
                .skip(1)
                .any(|checkout| path.strip_prefix(checkout).is_ok_and(|inside| reading.all.is_match(root.join(inside))))
    }

    /// Returns what may not be read and what may not be written by a command that works in `checkout`. Blocks.
    pub(super) fn found(&self, checkout: Option<&Path>) -> io::Result<[Vec<PathBuf>; 2]> {
        let mut left = MAX_ENTRIES;
        let there = checkout.filter(|checkout| *checkout != self.0.root);
        let mut find = |globs: &[String]| {
            let elsewhere = globs.iter().filter_map(|glob| self.moved(glob, there?));
            let mut found = Vec::new();
            for glob in globs.iter().cloned().chain(elsewhere) {
                found.append(&mut matching(&glob, &mut left)?);
            }
            Ok::<_, io::Error>(found)
        };
        Ok([find(&self.0.reading.globs)?, find(&self.0.writing.globs)?])
    }

    /// Returns a pattern below the project as it is in a checkout elsewhere.
    fn moved(&self, glob: &str, checkout: &Path) -> Option<String> {
        let escaped = |path: &Path| path.to_str().map(globset::escape);
        let inside = glob.strip_prefix(&escaped(&self.0.root)?).filter(|rest| rest.starts_with('/'))?;
        Some(escaped(checkout)? + inside)
    }
}

fn matching(glob: &str, left: &mut usize) -> io::Result<Vec<PathBuf>> {
    let Some(wild) = glob.find(['*', '?', '[', '{', '\\']) else { return Ok(vec![PathBuf::from(glob)]) };
    let top = Path::new(&glob[..glob[..wild].rfind('/').unwrap_or(0)]);
    let top = if top.as_os_str().is_empty() { Path::new("/") } else { top };
    let glob = GlobBuilder::new(glob).literal_separator(true).build().map_err(io::Error::other)?;
    let (matcher, mut found) = (glob.compile_matcher(), Vec::new());
    let mut links = Vec::new();
    each_below(top, left, |path, is_link| {
        let is_hit = path.map_or(true, |path| matcher.is_match(path));
        if is_link && let Ok(path) = path {
            links.push(path.to_path_buf());
        }
        let (Ok(path) | Err(path)) = path;
        found.extend(is_hit.then(|| path.to_path_buf()));
    })?;
    for link in links {
        let Ok(target) = std::fs::canonicalize(&link) else { continue };
        if matcher.is_match(&link) {
            found.push(target);
        } else if target.is_dir() && !target.starts_with(top) && !top.starts_with(&target) {
            // By its way through the link, too, a file is the one that is meant.
            each_below(&target, left, |path, _| {
                let (Ok(path) | Err(path)) = path;
                let named = path.strip_prefix(&target).map(|inside| link.join(inside));
                found.extend(named.is_ok_and(|named| matcher.is_match(named)).then(|| path.to_path_buf()));
            })?;
        }
    }
    Ok(found)
}

/// Looks at everything below a folder, and whether it is a link. What cannot be looked into is an error with its path: it
/// may hold anything.
fn each_below(top: &Path, left: &mut usize, mut look: impl FnMut(Result<&Path, &Path>, bool)) -> io::Result<()> {
    for entry in WalkBuilder::new(top).standard_filters(false).follow_links(false).build() {
        *left = left.checked_sub(1).ok_or_else(|| {
            io::Error::other(format!("rules keep files from commands, among more than {MAX_ENTRIES} to look through"))
        })?;
        match entry {
            Ok(entry) => look(Ok(entry.path()), entry.path_is_symlink()),
            Err(error) => match path_of(&error) {
                Some(path) => look(Err(path), false),
                None => return Err(io::Error::other(error)),
            },
        }
    }
    Ok(())
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        _ => None,
    }
}
