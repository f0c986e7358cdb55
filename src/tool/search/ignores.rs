//! Ignore files: compiled once, and asked for each entry of a walk.
//!
//! Owns which of them count for an entry, nearest first: `.ignore` in every folder above it, `.gitignore` and the
//! `exclude` file up to the repository's root, and the user's own file. Leaves what a pattern means to the `ignore`
//! crate. Invariant: rules are kept for as long as their file stays as it is, so a walk costs no more than looking at it.

use std::collections::{BTreeSet, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use ignore::overrides::Override;

use crate::sandbox::DeniedPaths;
use crate::tool::Stamp;
use crate::tool::file::path::relative;
use crate::tool::file::{look_at, open_regular};

const MAX_BYTES: u64 = 4 << 20;
/// Patterns with signs such as `*` that are compiled together: an automaton of very many is refused.
const MAX_WILD: usize = 1_000;
/// Ignored entries that are kept, and those that are named.
const MAX_DROPPED: usize = 9;
const MAX_NAMED: usize = 8;
/// Compiled files kept; with more of them, all are compiled anew.
const MAX_KEPT: usize = 4_096;

/// Compiled ignore files. Clones share them.
#[derive(Clone, Default)]
pub(in crate::tool) struct Ignores {
    files: Arc<Mutex<HashMap<PathBuf, CachedRules>>>,
    /// What rules keep from all that reads, whatever is asked for.
    denied: DeniedPaths,
}

struct CachedRules {
    stamp: Stamp,
    /// The folder that the patterns are about.
    base: PathBuf,
    rules: Arc<Rules>,
}

/// The patterns of one file, in parts of a size that can be compiled.
struct Rules(Vec<Gitignore>);

impl Rules {
    /// Says what the last of the patterns that match says.
    fn matched(&self, path: &Path, is_folder: bool) -> Match<()> {
        let mut parts = self.0.iter().rev().map(|part| part.matched(path, is_folder).map(|_| ()));
        parts.find(|matched| !matched.is_none()).unwrap_or(Match::None)
    }
}

impl Ignores {
    pub(in crate::tool) fn without(denied: DeniedPaths) -> Self {
        Self { denied, ..Self::default() }
    }

    /// Returns the rules of a file; none if there is none, or nothing in it.
    fn rules(&self, base: &Path, file: &Path) -> Option<Arc<Rules>> {
        let stamp = Stamp::of(&look_at(file, "").ok()?);
        let mut all = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = match all.get(file) {
            Some(kept) if kept.stamp.has_content_of(&stamp) && kept.base == base => Arc::clone(&kept.rules),
            _ => {
                let rules = Arc::new(compiled(base, file)?);
                if all.len() >= MAX_KEPT {
                    all.clear();
                }
                let kept = CachedRules { stamp, base: base.to_path_buf(), rules: Arc::clone(&rules) };
                all.insert(file.to_path_buf(), kept);
                rules
            }
        };
        (!rules.0.is_empty()).then_some(rules)
    }
}

/// Compiles a file. A line that is no pattern is left out, as git does.
fn compiled(base: &Path, file: &Path) -> Option<Rules> {
    let mut bytes = Vec::new();
    open_regular(file, "").ok()?.0.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut parts = Vec::new();
    let (mut builder, mut wild) = (GitignoreBuilder::new(base), 0);
    for line in text.trim_start_matches('\u{feff}').lines() {
        let _ = builder.add_line(None, line);
        wild += usize::from(line.contains(['*', '?', '[']));
        if wild == MAX_WILD {
            parts.extend(builder.build());
            (builder, wild) = (GitignoreBuilder::new(base), 0);
        }
    }
    parts.extend(builder.build());
    parts.retain(|part| !part.is_empty());
    Some(Rules(parts))
}

/// What one walk, or several below one folder, leave out.
pub(in crate::tool) struct Sieve {
    ignores: Ignores,
    /// Files named by the caller, which count even if they are ignored.
    wanted: Override,
    global: Option<Arc<Rules>>,
    /// Whether `.ignore` files count, which are for searches alone.
    is_for_search: bool,
    folders: RwLock<HashMap<PathBuf, Arc<Folder>>>,
    /// What it has dropped for ignore files, by name.
    dropped: Mutex<BTreeSet<PathBuf>>,
}

/// The rules of one folder, and those above it.
struct Folder {
    above: Option<Arc<Folder>>,
    plain: Option<Arc<Rules>>,
    git: Option<Arc<Rules>>,
    exclude: Option<Arc<Rules>>,
    /// Whether it is the root of a repository: git's rules above it do not count.
    is_root: bool,
}

impl Sieve {
    /// Returns the sieve for walks below `root`, which is resolved.
    pub(in crate::tool) fn new(root: &Path, ignores: &Ignores, wanted: Override) -> Self {
        let global = gitconfig_excludes_path().and_then(|file| ignores.rules(root, &file.canonicalize().ok()?));
        Self {
            ignores: ignores.clone(),
            wanted,
            global,
            is_for_search: true,
            folders: RwLock::default(),
            dropped: Mutex::default(),
        }
    }

    /// Returns a sieve that drops what git ignores, and nothing else.
    pub(in crate::tool) fn of_git(root: &Path, ignores: &Ignores) -> Self {
        Self { is_for_search: false, ..Self::new(root, ignores, Override::empty()) }
    }

    pub(in crate::tool) fn drops(&self, path: &Path, is_folder: bool) -> bool {
        if self.ignores.denied.hide(path) {
            return true;
        }
        if !self.wanted.is_empty() && self.wanted.matched(path, is_folder).is_whitelist() {
            return false;
        }
        let Some(parent) = path.parent() else { return false };
        let (mut plain, mut git, mut exclude, mut in_repository) = (Match::None, Match::None, Match::None, true);
        let nearest = self.folder(parent);
        let mut folder = Some(&nearest);
        while let Some(at) = folder {
            let asked = |rules: &Option<Arc<Rules>>| match rules {
                Some(rules) => rules.matched(path, is_folder),
                None => Match::None,
            };
            plain = plain.or(asked(&at.plain));
            if in_repository {
                git = git.or(asked(&at.git));
                exclude = exclude.or(asked(&at.exclude));
            }
            in_repository &= !at.is_root;
            folder = at.above.as_ref();
        }
        let global = self.global.as_ref().map_or(Match::None, |rules| rules.matched(path, is_folder));
        let is_ignored = plain.or(git).or(exclude).or(global).is_ignore();
        if is_ignored {
            let mut dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
            dropped.insert(path.to_path_buf());
            // The names that come first stay, in whatever order the walk comes by them.
            if dropped.len() > MAX_DROPPED {
                dropped.pop_last();
            }
        }
        is_ignored
    }

    /// Says what was not looked into, for a search that has found nothing; empty if that is nothing.
    pub(in crate::tool) fn unsearched(&self, cwd: &Path) -> String {
        let dropped = self.dropped.lock().unwrap_or_else(PoisonError::into_inner);
        let names: Vec<String> = dropped.iter().take(MAX_NAMED).map(|path| relative(path, cwd)).collect();
        let more = if dropped.len() > MAX_NAMED { " and more" } else { "" };
        if names.is_empty() {
            return String::new();
        }
        format!(
            "[not looked into, as ignore files exclude them: {}{more}; use Bash with grep or find there]\n",
            names.join(", ")
        )
    }

    fn folder(&self, path: &Path) -> Arc<Folder> {
        if let Some(known) = self.folders.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Arc::clone(known);
        }
        let repository = path.join(".git");
        let is_root = repository.symlink_metadata().is_ok();
        let folder = Arc::new(Folder {
            above: path.parent().map(|above| self.folder(above)),
            plain: self.is_for_search.then(|| self.ignores.rules(path, &path.join(".ignore"))).flatten(),
            git: self.ignores.rules(path, &path.join(".gitignore")),
            exclude: is_root.then(|| self.ignores.rules(path, &git_folder(repository).join("info/exclude"))).flatten(),
            is_root,
        });
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(folders.entry(path.to_path_buf()).or_insert(folder))
    }
}

/// Returns the folder that the worktrees of a repository share; `repository` is the `.git` of one.
fn git_folder(repository: PathBuf) -> PathBuf {
    let line = |path: &Path| {
        let mut text = String::new();
        open_regular(path, "").ok()?.0.take(8 << 10).read_to_string(&mut text).ok()?;
        Some(text.trim().to_owned())
    };
    let Some(own) = line(&repository).and_then(|text| Some(text.strip_prefix("gitdir:")?.trim().to_owned())) else {
        return repository;
    };
    let own = repository.parent().unwrap_or(&repository).join(own);
    let shared = line(&own.join("commondir")).map_or_else(|| own.clone(), |shared| own.join(shared));
    shared.canonicalize().unwrap_or(shared)
}
