//! What keeps an agent in a checkout of its own: the same files of others are closed to it, in every mode.
//!
//! Owns which paths are closed, and the words that name the place to use instead. Leaves what is open to modes, rules and
//! grants, which know the project's own paths only. Invariant: nothing that the fence refuses is ever asked about.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::{Access, AccessKind};
use crate::message::sanitize_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// Root of its own checkout.
    root: PathBuf,
    /// How a command line could name it.
    own_spellings: Vec<String>,
    /// Root of the files that it is a checkout of.
    origin: PathBuf,
    closed: Vec<PathBuf>,
    /// How a command line could name the closed folders.
    spellings: Vec<String>,
}

impl Fence {
    /// Returns the bounds of an agent in `root`, a checkout of `origin`, to which all else below `closed` is closed. All
    /// paths are absolute with symlinks resolved. `home` is how a shell may abbreviate them.
    #[must_use]
    pub fn new(root: PathBuf, origin: PathBuf, mut closed: Vec<PathBuf>, home: Option<&Path>) -> Self {
        closed.push(origin.clone());
        closed.sort();
        closed.dedup();
        let spellings = closed.iter().flat_map(|folder| spelt(folder, home)).collect();
        Self { own_spellings: spelt(&root, home), root, origin, closed, spellings }
    }

    pub(super) fn refusal(&self, access: &Access) -> Option<String> {
        match &access.kind {
            AccessKind::Nothing
            | AccessKind::Fetch { .. }
            | AccessKind::Search { .. }
            | AccessKind::Call { .. }
            | AccessKind::Start { .. }
            | AccessKind::Skill { .. } => None,
            AccessKind::Read { path } => self.closes(path).or_else(|| self.holds_closed(path)),
            AccessKind::Write { path } => self.closes(path),
            AccessKind::Execute { command, .. } | AccessKind::Reach { command, .. } => self.named_in(command),
        }
    }

    fn closes(&self, path: &Path) -> Option<String> {
        if path.starts_with(&self.root) || !self.closed.iter().any(|folder| path.starts_with(folder)) {
            return None;
        }
        let instead = match path.strip_prefix(&self.origin) {
            Ok(inside) if inside.as_os_str().is_empty() => self.root.clone(),
            Ok(inside) => self.root.join(inside),
            Err(_) => return Some(words(path, &self.root, "Stay in")),
        };
        Some(words(path, &instead, "Use"))
    }

    /// Refuses to read a folder that has a closed one below it: a search would go there.
    fn holds_closed(&self, path: &Path) -> Option<String> {
        let holds = !path.starts_with(&self.root) && self.closed.iter().any(|folder| folder.starts_with(path));
        holds.then(|| words(path, &self.root, "Stay in"))
    }

    /// Refuses a command that names a closed folder. Quotes and needless slashes hide no name; a command that works its
    /// way there step by step is not seen through.
    fn named_in(&self, command: &str) -> Option<String> {
        let mut text: String = command.chars().filter(|c| !matches!(c, '"' | '\'' | '\\')).collect();
        while text.contains("//") || text.contains("/./") {
            text = text.replace("//", "/").replace("/./", "/");
        }
        let is_own = |rest: &str| self.own_spellings.iter().any(|own| begins(rest, own));
        let is_named = |name: &&String| {
            let mut places = text.match_indices(name.as_str()).map(|(at, _)| &text[at..]);
            places.any(|rest| begins(rest, name) && !is_own(rest))
        };
        let named = self.spellings.iter().find(is_named)?;
        Some(words(
            Path::new(named),
            &self.root,
            "The command already runs in your worktree: use relative paths, or \
                                                  paths under",
        ))
    }

    /// Returns the place among the project's own files of one in the checkout.
    pub(super) fn in_project(&self, path: &Path) -> Option<PathBuf> {
        Some(self.origin.join(path.strip_prefix(&self.root).ok()?))
    }

    /// Returns the access as if the checkout were the project: what rules, grants and modes say of the project's files
    /// holds for it.
    pub(super) fn translated<'a>(&self, access: &'a Access) -> Cow<'a, Access> {
        let there = access.kind.path().and_then(|(path, writes)| Some((self.in_project(path)?, writes)));
        let kind =
            there.map(|(path, writes)| if writes { AccessKind::Write { path } } else { AccessKind::Read { path } });
        kind.map_or(Cow::Borrowed(access), |kind| Cow::Owned(Access { kind, ..access.clone() }))
    }
}

fn words(path: &Path, instead: &Path, use_it: &str) -> String {
    let shown = |path: &Path| sanitize_line(&path.to_string_lossy()).into_owned();
    format!(
        "You work in your own git worktree, and {} is outside it. {use_it} {} instead.",
        shown(path),
        shown(instead)
    )
}

/// Returns the ways to write a folder in a command.
fn spelt(folder: &Path, home: Option<&Path>) -> Vec<String> {
    let mut all = vec![folder.to_string_lossy().into_owned()];
    if let Some(below) = home.and_then(|home| folder.strip_prefix(home).ok()).filter(|below| *below != Path::new("")) {
        all.extend(["~", "$HOME", "${HOME}"].map(|home| format!("{home}/{}", below.to_string_lossy())));
    }
    all
}

/// Returns `true` if a text begins with a name that does not go on there.
fn begins(text: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(goes_on))
}
