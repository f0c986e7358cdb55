//! Whether what a command destroys could be brought back.
//!
//! Owns holding the losses of a line against the state of the project. Leaves which losses a line has to `permission`.
//! Invariants: what is not known to be held is not; the words name what is lost.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::ProjectStates;
use super::scan::{Scan, SeenKind};
use crate::message::without_dots;
use crate::permission::{Confinement, Loss, losses};
use crate::tool::ToolContext;
use crate::tool::file::path::one_line;

/// Folders that tools make anew, each with the file beside it that says so; none is needed where the name is enough.
const MADE_BY_TOOLS: [(&str, &str); 12] = [
    ("node_modules", "package.json"),
    (".next", "package.json"),
    (".nuxt", "package.json"),
    (".svelte-kit", "package.json"),
    (".parcel-cache", "package.json"),
    (".turbo", "package.json"),
    ("target", "Cargo.toml"),
    ("__pycache__", ""),
    (".pytest_cache", ""),
    (".mypy_cache", ""),
    (".ruff_cache", ""),
    (".tox", ""),
];
/// Where temporary files are, which are the agent's own.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
/// Characters of a name in a reason.
const NAME_CHARS: usize = 60;

/// Says what a command would destroy for good; `None` if all of it could be brought back, as far as its line tells.
pub(in crate::tool) async fn why_lasting(line: &str, bounds: Confinement, context: &ToolContext) -> Option<String> {
    let losses = losses(line);
    // What runs elsewhere is asked about, or cannot write.
    if losses.is_empty() || bounds != Confinement::Sandbox {
        return None;
    }
    if let Some(why) = losses.iter().find_map(|loss| if let Loss::ForGood(why) = loss { Some(*why) } else { None }) {
        return Some(why.to_owned());
    }
    // A worktree of its own is the agent's.
    if context.project != context.origin {
        return None;
    }
    let states =
        context.freshness.writers.states().filter(|states| states.root() == context.project.as_path()).cloned();
    let (cwd, project) = (context.cwd.clone(), context.project.clone());
    let judge = move || {
        let state = states.as_ref().map_or_else(|| Err("nothing is kept here".to_owned()), ProjectStates::now);
        losses.iter().find_map(|loss| lasting(loss, state.as_ref(), (&cwd, &project)))
    };
    super::blocking(judge).await.unwrap_or_else(|| Some("the project cannot be looked at".to_owned()))
}

fn lasting(loss: &Loss, state: Result<&Scan, &String>, (cwd, project): (&Path, &Path)) -> Option<String> {
    match loss {
        Loss::ForGood(why) => Some((*why).to_owned()),
        Loss::Unknown => Some("what it deletes is known only when it runs".to_owned()),
        Loss::Changes(what) => state.err().map(|why| format!("{what}, and {why}")),
        Loss::Ignored(folder) => match (state, resolved(&without_dots(&cwd.join(folder))).strip_prefix(project)) {
            (Ok(state), Ok(below)) => left_out(state, project, &Place::of(below)),
            (Err(why), _) => Some(format!("it deletes ignored files, and {why}")),
            (Ok(_), Err(_)) => Some("it deletes ignored files outside the project".to_owned()),
        },
        Loss::Below(text) => below(text, state, (cwd, project)),
    }
}

/// A path, or those of a folder whose names match.
struct Place {
    folder: PathBuf,
    names: Option<globset::GlobMatcher>,
    /// Whether the pattern itself names what begins with a dot.
    with_dots: bool,
}

impl Place {
    fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), names: None, with_dots: true }
    }

    /// Returns `true` if a path lies in it.
    fn holds(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(&self.folder) else { return false };
        let Some(names) = &self.names else { return true };
        let Some(name) = rest.components().next() else { return false };
        let name = Path::new(name.as_os_str());
        names.is_match(name) && (self.with_dots || !name.to_string_lossy().starts_with('.'))
    }
}

fn below(text: &str, state: Result<&Scan, &String>, (cwd, project): (&Path, &Path)) -> Option<String> {
    let is_pattern = |part: &str| part.contains(['*', '?', '[', '{']);
    let parts: Vec<&str> = text.split('/').collect();
    let wild = parts.iter().position(|part| is_pattern(part));
    let fixed = parts[..wild.unwrap_or(parts.len())].join("/");
    let fixed = if text.starts_with('/') && fixed.is_empty() { "/" } else { &fixed };
    if fixed.starts_with('$') {
        // Folders for temporary files.
        return None;
    }
    if fixed.starts_with('~') {
        return Some(format!("it deletes {} outside the project", shown(text)));
    }
    let path = resolved(&without_dots(&cwd.join(fixed)));
    if wild.is_none() && path.symlink_metadata().is_err() {
        return None;
    }
    let Ok(relative) = path.strip_prefix(project) else {
        let is_temporary = TEMPORARY.iter().any(|folder| path.starts_with(folder) && path != Path::new(folder));
        return (!is_temporary).then(|| format!("it deletes {} outside the project", shown(text)));
    };
    let state = match state {
        Ok(state) => state,
        Err(why) => return Some(format!("it deletes {} with all that is below, and {why}", shown(text))),
    };
    let names = wild.map(|at| GlobBuilder::new(parts[at]).literal_separator(true).build());
    let place = match names {
        Some(Ok(glob)) => {
            let with_dots = wild.is_some_and(|at| parts[at].starts_with('.'));
            Place { folder: relative.to_path_buf(), names: Some(glob.compile_matcher()), with_dots }
        }
        None | Some(Err(_)) => Place::of(relative),
    };
    left_out(state, project, &place)
}

/// Names what of a place no state holds.
fn left_out(state: &Scan, project: &Path, place: &Place) -> Option<String> {
    let inside = state.left_out.keys().find(|path| {
        let is_inside = place.holds(path) || place.folder.starts_with(path);
        is_inside && !is_made_by_tools(project, path)
    });
    if let Some(path) = inside {
        let what = if path.ends_with(".git") { "" } else { ", which git ignores" };
        return Some(format!("it deletes {}{what}", shown(&path.to_string_lossy())));
    }
    let unkept = state.entries.iter().find_map(|(path, entry)| match &entry.kind {
        SeenKind::Unkept(why) if place.holds(path) => Some((path, why)),
        _ => None,
    });
    unkept.map(|(path, why)| format!("it deletes {}, {why}", shown(&path.to_string_lossy())))
}

fn is_made_by_tools(project: &Path, path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    MADE_BY_TOOLS.iter().any(|(made, beside)| {
        let says_so = || beside.is_empty() || project.join(path).with_file_name(beside).is_file();
        name == *made && says_so()
    })
}

/// Returns a path whose last part alone may be a link.
fn resolved(path: &Path) -> PathBuf {
    let above = path.parent().and_then(|above| Some((above.canonicalize().ok()?, path.file_name()?)));
    above.map_or_else(|| path.to_path_buf(), |(above, name)| above.join(name))
}

fn shown(text: &str) -> String {
    one_line(text, NAME_CHARS)
}
