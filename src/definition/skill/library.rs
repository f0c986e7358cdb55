//! All skills and commands: reads the files and puts what they say in force.
//!
//! Owns who wins among those of one name. Leaves finding files to `walk` and reading them to `load`. Invariants: every such
//! file becomes a skill or a diagnostic; of those of the project that are not trusted, only the name is listed; what is in
//! force of these is what was trusted, byte by byte; a file is read again only after it has changed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tokio::sync::watch;

use super::{ListedSkill, Skill, SkillDir, SkillDirs, SkillKind, SkillLimits, load};
use crate::definition::cache::FileStamp;
use crate::definition::news::LibraryNews;
use crate::definition::{CatalogChanges, Plugin, text_file, walk};
use crate::message::{Diagnostic, sanitize_line};
use crate::permission::{BroughtItem, BroughtKind, ItemTrust};

/// Says what is wrong with what a file says of hooks.
type CheckHooks = fn(&serde_json::Value) -> Vec<String>;

/// Faults in the hooks of one file that are reported.
const MAX_HOOK_ERRORS: usize = 10;

/// The skills in force; clones share them.
#[derive(Debug, Clone, Default)]
pub struct SkillCatalog(Arc<RwLock<Arc<[ListedSkill]>>>);

impl SkillCatalog {
    /// Returns every file, the strongest first.
    #[must_use]
    pub fn listing(&self) -> Arc<[ListedSkill]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the skills in force.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Skill>> {
        self.listing().iter().filter_map(ListedSkill::in_force).cloned().collect()
    }

    /// Returns the skill of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Skill>> {
        let name = name.trim().trim_start_matches('/');
        let listing = self.listing();
        let mut all = listing.iter().filter_map(ListedSkill::in_force);
        all.find(|skill| skill.name == name).or_else(|| all_loosely(&listing, name)).cloned()
    }

    fn put(&self, listing: Vec<ListedSkill>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = listing.into();
    }
}

fn all_loosely<'a>(listing: &'a [ListedSkill], name: &str) -> Option<&'a Arc<Skill>> {
    listing.iter().filter_map(ListedSkill::in_force).find(|skill| skill.name.eq_ignore_ascii_case(name))
}

/// Where skills come from, and the catalog that they are put into.
#[derive(Debug, Default)]
pub struct SkillLibrary {
    dirs: RwLock<SkillDirs>,
    catalog: SkillCatalog,
    /// Which files of the project count.
    trust: ItemTrust,
    /// Says what is wrong with a file's hooks.
    check_hooks: Option<CheckHooks>,
    limits: SkillLimits,
    read: Mutex<HashMap<PathBuf, FileRead>>,
    /// Changes not yet returned by [`SkillLibrary::changes`].
    news: LibraryNews,
}

#[derive(Debug, Clone)]
struct FileRead {
    /// State of the file before it was read; `None` if it may have changed since without a trace.
    stamp: Option<FileStamp>,
    skill: Option<Arc<Skill>>,
    diagnostics: Vec<Diagnostic>,
    /// What was read, if the project brings it.
    brought: Option<BroughtItem>,
}

impl SkillLibrary {
    /// Returns a library of these folders, of which nothing is read yet. Of the project's files those count that are trusted.
    #[must_use]
    pub fn new(dirs: SkillDirs, trust: ItemTrust) -> Self {
        Self { dirs: RwLock::new(dirs), trust, ..Self::default() }
    }

    /// Returns the same, which also reports what is wrong with the hooks of files.
    #[must_use]
    pub fn checking_hooks(self, check: CheckHooks) -> Self {
        Self { check_hooks: Some(check), ..self }
    }

    /// Returns the same, of which some skills are kept from something.
    #[must_use]
    pub fn limited(self, limits: SkillLimits) -> Self {
        Self { limits, ..self }
    }

    /// Offers the skills of these plugins and of no others, from the next [`SkillLibrary::reload`] on.
    pub fn use_plugins(&self, plugins: &[Plugin]) {
        // A file that was read for another plugin may have another name now.
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        known.clear();
        let mut dirs = self.dirs.write().unwrap_or_else(PoisonError::into_inner);
        *dirs = std::mem::take(&mut *dirs).with_plugins(plugins);
    }

    fn dirs(&self) -> SkillDirs {
        self.dirs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn catalog(&self) -> &SkillCatalog {
        &self.catalog
    }

    /// Returns the folders to watch, each with whether all below it counts.
    pub fn folders(&self) -> Vec<(PathBuf, bool)> {
        let folder = |dir: &SkillDir| match (&dir.only, dir.kind) {
            (Some(only), SkillKind::Skill) => (only.clone(), false),
            (only, kind) => (dir.path.clone(), kind == SkillKind::Command && only.is_none()),
        };
        self.dirs().iter().map(folder).collect()
    }

    /// Reads the files of the project, whether they count or not. Blocks.
    pub fn brought(&self) -> Vec<BroughtItem> {
        let dirs = self.dirs();
        let theirs = dirs.iter().filter(|dir| dir.bounds.is_some());
        let files = theirs.flat_map(|dir| found_in(dir).files.into_iter().map(move |path| (dir, path)));
        let mut items: Vec<BroughtItem> =
            files.filter_map(|(dir, path)| brought(dir, &path, &text_file::content(&path))).collect();
        items.sort();
        items
    }

    /// Returns where the files of the project are seen, whether they count or not, after each reload.
    pub fn brought_changes(&self) -> watch::Receiver<Vec<BroughtItem>> {
        self.news.brought()
    }

    /// Trusts a file of the project as it is: the user has just written it. Blocks.
    pub fn vouch(&self, path: &Path) {
        let dirs = self.dirs();
        let dir = dirs.iter().find(|dir| path.starts_with(&dir.path));
        self.trust.add(dir.and_then(|dir| brought(dir, path, &text_file::content(path))));
    }

    /// Reads all files that changed, puts what they say in force and returns what that changed, as
    /// [`SkillLibrary::changes`] does too. Blocks.
    pub fn reload(&self) -> CatalogChanges {
        // Held to the end: of two at once, the one that ends last must not be the one that read first.
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut fresh, mut brought) = (HashMap::new(), Vec::new());
        let mut listing: Vec<ListedSkill> = Vec::new();
        for dir in self.dirs().iter() {
            let found = found_in(dir);
            listing.extend(found.errors.into_iter().map(|error| unread(error, dir)));
            for path in found.files {
                let Some(name) = load::name_of(&path, dir) else { continue };
                let read = self.read_file(&path, &name, dir, known.get(&path));
                fresh.insert(path.clone(), read.clone());
                let is_trusted = read.brought.as_ref().is_none_or(|item| self.trust.has(item));
                brought.extend(read.brought.clone());
                let (skill, mut diagnostics) =
                    if is_trusted { (read.skill, read.diagnostics) } else { Default::default() };
                let (skill, why) = skill.map_or((None, None), |skill| self.limits.apply(skill));
                diagnostics.extend(why);
                let (kind, origin, awaits_trust) = (dir.kind, dir.origin.clone(), !is_trusted);
                let shadowed_by = None;
                listing.push(ListedSkill { name, kind, origin, path, skill, shadowed_by, awaits_trust, diagnostics });
            }
        }
        *known = fresh;
        self.news.bring(brought);
        shadow(&mut listing);
        let changes = changes(&self.catalog.listing(), &listing);
        self.catalog.put(listing);
        self.news.tell(changes)
    }

    fn read_file(&self, path: &Path, name: &str, dir: &SkillDir, before: Option<&FileRead>) -> FileRead {
        let stamp = FileStamp::of(path);
        if let Some(before) = before.filter(|before| stamp.is_some() && before.stamp == stamp) {
            return before.clone();
        }
        let content = text_file::content(path);
        // Of what was read, and not of what may lie there by now.
        let brought = brought(dir, path, &content);
        let (skill, diagnostics) = match content {
            Ok(bytes) => {
                let (text, damage) = text_file::decoded(&bytes, path);
                let (skill, mut diagnostics) = load::parse(&text, name, path, dir);
                diagnostics.splice(0..0, damage);
                let hooks = skill.as_ref().and_then(|skill| skill.hooks.as_ref());
                let errors = hooks.zip(self.check_hooks).map(|(hooks, check)| check(&hooks.value)).unwrap_or_default();
                let errors = errors.into_iter().take(MAX_HOOK_ERRORS);
                diagnostics.extend(errors.map(|words| Diagnostic::in_file(path, sanitize_line(&words))));
                (skill.map(Arc::new), diagnostics)
            }
            Err(error) => (None, vec![error]),
        };
        FileRead { stamp: stamp.filter(FileStamp::is_settled), skill, diagnostics, brought }
    }

    /// Waits for the next change. There is one listener: each change is returned once.
    pub async fn changes(&self) -> CatalogChanges {
        self.news.next().await
    }
}

fn found_in(dir: &SkillDir) -> walk::FoundFile {
    let mut found = match dir.kind {
        SkillKind::Skill => walk::find_skills(&dir.path, dir.bounds.as_ref()),
        SkillKind::Command => walk::find(&dir.path, dir.bounds.as_ref(), "~/.claude/commands"),
    };
    let counts = |path: &Path| dir.only.as_ref().is_none_or(|only| path.starts_with(only));
    found.files.retain(|path| counts(path));
    found.errors.retain(|error| error.path.as_deref().is_none_or(counts));
    found
}

/// Returns how a file or folder is listed that was not read.
fn unread(error: Diagnostic, dir: &SkillDir) -> ListedSkill {
    let path = error.path.clone().unwrap_or_else(|| dir.path.clone());
    let name = load::name_of(&path, dir).filter(|name| !name.is_empty());
    let name = name.or_else(|| Some(path.file_name()?.to_string_lossy().into_owned())).unwrap_or_default();
    let (kind, origin) = (dir.kind, dir.origin.clone());
    ListedSkill {
        name,
        kind,
        origin,
        path,
        skill: None,
        shadowed_by: None,
        awaits_trust: false,
        diagnostics: vec![error],
    }
}

/// Returns a file with this content as the project brings it; `None` if it is the user's own.
fn brought(dir: &SkillDir, path: &Path, content: &Result<Vec<u8>, Diagnostic>) -> Option<BroughtItem> {
    let kind = match dir.kind {
        SkillKind::Skill => BroughtKind::Skill,
        SkillKind::Command => BroughtKind::Command,
    };
    text_file::brought(kind, path, dir.bounds.as_ref(), content)
}

/// Notes which files have the name of a stronger one.
fn shadow(listing: &mut [ListedSkill]) {
    let mut taken: HashMap<String, PathBuf> = HashMap::new();
    for listed in listing.iter_mut().filter(|listed| listed.skill.is_some()) {
        match taken.get(&listed.name) {
            Some(by) => listed.shadowed_by = Some(by.clone()),
            None => drop(taken.insert(listed.name.clone(), listed.path.clone())),
        }
    }
}

fn changes(before: &[ListedSkill], after: &[ListedSkill]) -> CatalogChanges {
    let by_name = |listing: &'_ [ListedSkill]| -> BTreeMap<String, Arc<Skill>> {
        listing.iter().filter_map(ListedSkill::in_force).map(|skill| (skill.name.clone(), skill.clone())).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let known: Vec<&Diagnostic> = before.iter().flat_map(|listed| &listed.diagnostics).collect();
    let errors = after.iter().flat_map(|listed| &listed.diagnostics).filter(|error| !known.contains(error));
    CatalogChanges {
        added: new.keys().filter(|name| !old.contains_key(*name)).cloned().collect(),
        changed: new
            .iter()
            .filter(|(name, skill)| old.get(*name).is_some_and(|old| old != *skill))
            .map(|(name, _)| name.clone())
            .collect(),
        removed: old.keys().filter(|name| !new.contains_key(*name)).cloned().collect(),
        errors: errors.cloned().collect(),
    }
}
