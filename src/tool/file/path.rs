//! From the path a model wrote to the file it means, and back to the path a reader is shown.
//!
//! Owns `~`, relative paths, `.` and `..`, and symbolic links. Leaves opening to `file`. Invariant: what `resolve`
//! returns is absolute and holds no link that exists, so the path that is judged is the path that is touched.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::message::format::words_of;
use crate::message::{reveal_line, sanitize, without_dots};
use crate::permission::AccessKind;
use crate::sandbox::TMP;
use crate::tool::blocking::off_thread;
use crate::tool::{Plan, ToolContext, ToolOutput};

/// Links followed for one path before it counts as a loop, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// A path as a model wrote it, with the place that it meant when it was judged.
#[derive(Debug, Clone)]
pub(in crate::tool) struct ResolvedPath {
    raw: String,
    /// With links resolved; there may be nothing yet.
    place: PathBuf,
}

impl ResolvedPath {
    pub(in crate::tool) fn new(raw: String, context: &ToolContext) -> Result<Self, ToolOutput> {
        Ok(Self { place: resolve(&raw, context)?, raw })
    }

    pub(in crate::tool) fn place(&self) -> &Path {
        &self.place
    }

    /// Returns the place, if the path still leads there. A question may have stood open since it was judged, and what was
    /// allowed is what is done.
    pub(in crate::tool) fn confirmed(&self, context: &ToolContext) -> Result<&Path, ToolOutput> {
        if resolve(&self.raw, context)? == self.place {
            return Ok(&self.place);
        }
        let raw = &self.raw;
        Err(ToolOutput::error(format!(
            "{raw}: a symbolic link in the path changed meanwhile; nothing was done. Check the path and try again."
        )))
    }
}

/// Resolves the path of a call that reads, and says so.
pub(in crate::tool) async fn plan_reading(
    raw: String,
    context: &ToolContext,
) -> Result<(Plan, ResolvedPath), ToolOutput> {
    off_thread(context, move |context| {
        let named = Some(lexical(&raw, &context.cwd));
        let path = ResolvedPath::new(raw, context)?;
        Ok((Plan { named, ..Plan::new(AccessKind::Read { path: path.place.clone() }) }, path))
    })
    .await
}

/// Returns the folder that an optional argument names: the working directory unless given.
pub(in crate::tool) fn folder_or_cwd(argument: Option<String>) -> String {
    argument.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned())
}

/// Returns the file that `raw` means, with links resolved; also for files that do not exist yet.
fn resolve(raw: &str, context: &ToolContext) -> Result<PathBuf, ToolOutput> {
    if raw.trim().is_empty() {
        return Err(ToolOutput::error("The path is empty. Give a file or folder."));
    }
    if raw.contains('\0') {
        return Err(ToolOutput::error("The path contains a NUL character, which no file name can. Remove it."));
    }
    let path = lexical(raw, &context.cwd);
    follow_links(&as_commands_see(&path, context).unwrap_or(path)).ok_or_else(|| {
        ToolOutput::error(format!("{raw}: too many symbolic links, probably a loop. Give the path of the file itself."))
    })
}

/// Returns where a path in the system's folder for temporary files leads that commands in the sandbox have in their own: what
/// they leave there is found, and they find what is left for them. A file of the user's stands for itself.
fn as_commands_see(path: &Path, context: &ToolContext) -> Option<PathBuf> {
    let (tmp, below) = (context.freshness.writers.tmp()?, path.strip_prefix(TMP).ok()?);
    let (own, is_users) = (tmp.join(below), path.symlink_metadata().is_ok());
    (below.iter().next().is_some() && (!is_users || own.symlink_metadata().is_ok())).then_some(own)
}

/// Returns the absolute form of `raw` without looking at the disk.
pub(in crate::tool) fn lexical(raw: &str, cwd: &Path) -> PathBuf {
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    let wanted = match (raw, raw.strip_prefix("~/")) {
        ("~", _) => home().unwrap_or_else(|| cwd.join(raw)),
        (_, Some(below)) => home().map_or_else(|| cwd.join(raw), |home| home.join(below)),
        _ => cwd.join(raw),
    };
    without_dots(&wanted)
}

/// Walks the path from the root and replaces every link by its target. A dangling link leads to its target as well:
/// writing through it must be judged by where the file would appear. `None` means a loop.
fn follow_links(path: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| path.components().map(|part| part.as_os_str().to_owned()).collect::<VecDeque<OsString>>();
    let mut pending = parts(path);
    let mut resolved = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = pending.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                resolved.pop();
            }
            Some(Component::Normal(_)) => {
                let candidate = resolved.join(&part);
                // A part that cannot be looked at is kept as it is; opening it will say what is wrong.
                match std::fs::read_link(&candidate) {
                    Err(_) => resolved = candidate,
                    Ok(target) => {
                        links += 1;
                        if links > MAX_LINKS {
                            return None;
                        }
                        if target.is_absolute() {
                            resolved = PathBuf::from("/");
                        }
                        let mut onward = parts(&target);
                        onward.append(&mut pending);
                        pending = onward;
                    }
                }
            }
            _ => {}
        }
    }
    Some(resolved)
}

/// Returns `path` relative to `base` where it lies below it, absolute otherwise. One line.
pub(in crate::tool) fn relative(path: &Path, base: &Path) -> String {
    match path.strip_prefix(base) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => printable(inside),
        Err(_) => printable(path),
    }
}

/// Returns what a screen shows for the path argument of a call: relative to the project, or to the home folder.
pub(in crate::tool) fn title(raw: &str, context: &ToolContext) -> String {
    let path = lexical(raw, &context.cwd);
    if !path.starts_with(context.project.as_path())
        && let Some(home) = std::env::home_dir()
        && let Ok(below) = path.strip_prefix(home)
    {
        return reveal_line(&format!("~/{}", printable(below))).into_owned();
    }
    reveal_line(&relative(&path, &context.project)).into_owned()
}

/// Returns what a question names that is put about a call with this title: the title, and where that leads if it does not
/// say so. A link is named with its target, and a place outside of the project in full.
pub fn asked_title(title: String, access: &AccessKind, project: &Path) -> String {
    let (AccessKind::Read { path } | AccessKind::Write { path }) = access else { return title };
    let named = reveal_line(&relative(path, project)).into_owned();
    if named == title {
        return title;
    }
    format!("{title} → {}", reveal_line(&printable(path)))
}

/// Returns the path as text with control characters escaped, so that a file's name cannot pose as a line of output.
pub(in crate::tool) fn printable(path: &Path) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    path.to_string_lossy().chars().map(escaped).collect()
}

/// Returns `text` on one line of at most `max` characters, without anything that a screen should not get.
pub(in crate::tool) fn one_line(text: &str, max: usize) -> String {
    words_of(&sanitize(text), max)
}

/// Returns what a call is about on one line of at most `max` characters, with a sign for everything that would not be
/// seen: the record of a command says what was run.
pub(in crate::tool) fn revealed_line(text: &str, max: usize) -> String {
    words_of(&reveal_line(text.trim()), max)
}
