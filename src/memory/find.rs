//! Which memory files there are, what each may import, and which belong to files that were read.
//!
//! Owns names, order and bounds. Leaves texts to `text` and `rule`, and opening to `read`. Everything here blocks. Invariants:
//! a path is judged with its links resolved; a file of the project stays in it; each file is given once.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::rule::MemoryRule;
use super::text::{MemoryImport, imports, without_comments};
use super::{MemoryFile, MemoryOwner, MemoryRead, MemoryReader, read};
use crate::message::{Diagnostic, without_dots};
use crate::permission::{Access, AccessKind, Decision};
use crate::sandbox::SecretPlaces;

/// Names of the files of a folder for which its `AGENTS.md` does not count.
pub(super) const CLAUDE_NAMES: [&str; 2] = ["CLAUDE.md", ".claude/CLAUDE.md"];
/// How many files lie between a memory file and what is imported at most, that one included.
const MAX_HOPS: usize = 4;
/// Files that one agent is given.
const MAX_FILES: usize = 200;
/// Characters of all of them together.
const MAX_TOTAL: usize = 400_000;
/// Characters of one file that are given.
const MAX_CHARS: usize = 100_000;
/// Characters from which the user is told that a file is long: every request carries it.
const LONG_CHARS: usize = 40_000;
/// Things that are said of what was found.
const MAX_DIAGNOSTICS: usize = 50;
/// How deep rules may lie below their folder.
const MAX_RULE_DEPTH: usize = 5;
/// Folders of what others wrote, or a program made: memory files there are not the project's.
const FOREIGN: [&str; 10] =
    ["node_modules", "vendor", "third_party", ".git", ".venv", "venv", "site-packages", "target", "dist", "build"];

impl MemoryReader {
    /// Reads all files that hold here, and those that belong to files the agent has `touched`, by their resolved paths.
    pub fn read(&self, touched: &BTreeSet<PathBuf>) -> MemoryRead {
        let secrets = SecretPlaces::below(self.sources.home.as_deref());
        let (found, known) = (MemoryRead::default(), BTreeSet::new());
        let mut gather = Gather { reader: self, secrets, found, known, chars: 0, touched };
        gather.of_users();
        if self.sources.is_project && !self.sources.trust.waits() {
            gather.of_project();
        }
        gather.found
    }
}

/// What is read.
struct Wanted {
    path: PathBuf,
    owner: MemoryOwner,
    /// The folder in which it, and what it imports, has to lie.
    bounds: Option<PathBuf>,
    is_rule: bool,
    is_nested: bool,
    /// Where it is imported, if it is.
    import: Option<Diagnostic>,
}

struct Gather<'a> {
    reader: &'a MemoryReader,
    secrets: SecretPlaces,
    found: MemoryRead,
    /// What was read, by resolved paths.
    known: BTreeSet<PathBuf>,
    chars: usize,
    touched: &'a BTreeSet<PathBuf>,
}

impl Gather<'_> {
    /// Reads what the organization and the user have written for all projects.
    fn of_users(&mut self) {
        let sources = self.reader.sources.clone();
        let wanted = |path, owner| Wanted { path, owner, bounds: None, is_rule: false, is_nested: false, import: None };
        if let Some(managed) = &sources.managed {
            self.add(wanted(managed.join("CLAUDE.md"), MemoryOwner::Managed));
        }
        if let Some(own) = &sources.own {
            let name = if is_there(&own.join("CLAUDE.md")) { "CLAUDE.md" } else { "AGENTS.md" };
            self.add(wanted(own.join(name), MemoryOwner::User));
        }
        if let Some(claude) = &sources.claude {
            self.add(wanted(claude.join("CLAUDE.md"), MemoryOwner::User));
            self.add_rules(&claude.join("rules"), MemoryOwner::User, None);
        }
    }

    /// Reads what lies between the home and the working directory, then what belongs to files that were touched.
    fn of_project(&mut self) {
        let (cwd, root) = (self.reader.cwd.clone(), self.reader.project.clone());
        let above: Vec<&Path> = root.ancestors().skip(1).take_while(|folder| self.is_users_own(folder)).collect();
        for folder in above.into_iter().rev() {
            self.add_folder(folder, MemoryOwner::Above, folder, false);
        }
        let inside: Vec<&Path> = cwd.ancestors().take_while(|folder| folder.starts_with(root.as_path())).collect();
        for folder in inside.iter().rev() {
            self.add_folder(folder, MemoryOwner::Project, &root, false);
        }
        let touched: BTreeSet<&Path> = self.touched.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        // Sorted, a folder comes before those in it.
        for folder in touched {
            let Ok(below) = folder.strip_prefix(root.as_path()) else { continue };
            let is_foreign = below.components().any(|part| FOREIGN.iter().any(|name| part.as_os_str() == *name));
            if !is_foreign && !inside.contains(&folder) {
                self.add_folder(folder, MemoryOwner::Project, &root, true);
            }
        }
    }

    /// Returns `true` for a folder at or below the home whose owner is the user.
    fn is_users_own(&self, folder: &Path) -> bool {
        let sources = &self.reader.sources;
        let is_at_home = sources.home.as_ref().is_some_and(|home| folder.starts_with(home));
        let owner = folder.metadata().map(|facts| facts.uid());
        is_at_home && owner.is_ok_and(|uid| sources.user.is_some_and(|user| user.is(uid)))
    }

    /// Reads the files of one folder. `AGENTS.md` counts where there is no `CLAUDE.md`.
    fn add_folder(&mut self, folder: &Path, owner: MemoryOwner, bounds: &Path, is_nested: bool) {
        let wanted = |name: &str, owner| Wanted {
            path: folder.join(name),
            owner,
            bounds: Some(bounds.to_path_buf()),
            is_rule: false,
            is_nested,
            import: None,
        };
        let (skips_project, skips_local) = (self.reader.sources.skips_project, self.reader.sources.skips_local);
        let is_claude = CLAUDE_NAMES.iter().any(|name| is_there(&folder.join(name)));
        let shared = if is_claude { &CLAUDE_NAMES[..] } else { &["AGENTS.md"] };
        for name in shared.iter().filter(|_| !skips_project) {
            self.add(wanted(name, owner));
        }
        if !is_nested && !skips_project && owner == MemoryOwner::Project {
            self.add_rules(&folder.join(".claude/rules"), owner, Some(bounds));
        }
        let own = if owner == MemoryOwner::Project { MemoryOwner::Local } else { owner };
        if !skips_local {
            self.add(wanted("CLAUDE.local.md", own));
        }
    }

    fn add_rules(&mut self, folder: &Path, owner: MemoryOwner, bounds: Option<&Path>) {
        for path in rule_files(folder, MAX_RULE_DEPTH) {
            let bounds = bounds.map(Path::to_path_buf);
            self.add(Wanted { path, owner, bounds, is_rule: true, is_nested: false, import: None });
        }
    }

    /// Reads a file that need not be there.
    fn add(&mut self, wanted: Wanted) {
        if is_there(&wanted.path) {
            self.take(wanted, &mut Vec::new());
        }
    }

    /// Reads a file, then what it imports. `way` leads to it, from the file that imports first.
    fn take(&mut self, mut wanted: Wanted, way: &mut Vec<PathBuf>) {
        let real = match wanted.path.canonicalize() {
            Ok(real) => real,
            Err(error) => return self.report(&wanted, format!("cannot be read: {error}.")),
        };
        if way.contains(&real) {
            return self.report(&wanted, "it imports itself, by way of others. Read once.");
        }
        if self.known.contains(&real) {
            return;
        }
        if let Some(why) = self.refusal(&wanted, &real) {
            return self.report(&wanted, why);
        }
        let whole = match read::text_of(&real) {
            Ok(text) => text,
            Err(why) => return self.report(&wanted, why),
        };
        let (trust, root) = (&self.reader.sources.trust, &self.reader.project);
        if wanted.owner.is_projects() && trust.holds(&wanted.path, &real, root, &whole) {
            return;
        }
        let rule = if wanted.is_rule { MemoryRule::parse(&whole) } else { MemoryRule::always(&whole) };
        if let Some(problem) = rule.problem {
            self.report(&wanted, format!("{problem}."));
        }
        if let Some(paths) = rule.paths {
            let root = self.reader.project.as_path();
            match paths.mean_any(self.touched.iter().filter_map(|path| path.strip_prefix(root).ok())) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => return self.report(&wanted, format!("{error}.")),
            }
            wanted.is_nested = true;
        }
        let Some(text) = self.bounded(&wanted, &without_comments(rule.text)) else { return };
        self.known.insert(real.clone());
        let (path, owner, is_nested) = (wanted.path.clone(), wanted.owner, wanted.is_nested);
        self.found.files.push(MemoryFile { path, owner, text: text.as_str().into(), is_nested });
        way.push(real);
        for import in imports(&text) {
            self.import(&wanted, (&whole, &text), &import, way);
        }
        way.pop();
    }

    fn import(&mut self, by: &Wanted, (whole, text): (&str, &str), import: &MemoryImport, way: &mut Vec<PathBuf>) {
        let Some(path) = self.target(by, &import.path) else { return };
        // What is written stands on the same line in the file, if that has no comments before it.
        let at =
            if whole.len() == text.len() { import.at } else { whole.find(&format!("@{}", import.path)).unwrap_or(0) };
        let problem = |words: String| Diagnostic::in_file(&by.path, words).at(whole, at);
        if !path.is_file() {
            if is_there(&path) && !path.is_dir() || import.is_plainly_a_path() {
                self.say(problem(format!("the import `@{}` is not a file that is there.", import.path)));
            }
            return;
        }
        if way.len() > MAX_HOPS {
            self.say(problem(format!("the import `@{}` is more than {MAX_HOPS} files away. Not read.", import.path)));
            return;
        }
        let (bounds, import) = (by.bounds.clone(), Some(problem(format!("the import `@{}`", import.path))));
        self.take(Wanted { path, owner: by.owner, bounds, is_rule: false, is_nested: by.is_nested, import }, way);
    }

    /// Returns where an import leads.
    fn target(&self, by: &Wanted, path: &str) -> Option<PathBuf> {
        let home = self.reader.sources.home.as_ref();
        let path = match path.strip_prefix("~/") {
            Some(below) => home?.join(below),
            None => by.path.parent()?.join(path),
        };
        Some(without_dots(&path))
    }

    /// Says why a file is not read, by its resolved path.
    fn refusal(&mut self, wanted: &Wanted, real: &Path) -> Option<String> {
        let reader = self.reader;
        if self.secrets.hold(real) {
            return Some("it may hold keys. Not read.".to_owned());
        }
        let is_inside = wanted.bounds.as_ref().is_none_or(|bounds| real.starts_with(bounds));
        let is_projects = wanted.owner.is_projects();
        let named = Some(wanted.path.clone());
        let access = Access::new("Read", AccessKind::Read { path: real.to_path_buf() }).named(named);
        match reader.permissions.decide(&access) {
            Decision::Deny(why) => return Some(format!("{why} Not read.")),
            Decision::Ask if is_projects && is_inside => {
                return Some("reading it has to be asked for. Not read.".to_owned());
            }
            Decision::Ask | Decision::Allow => {}
        }
        if is_inside || is_projects && reader.sources.trust.allows(real) {
            return None;
        }
        if is_projects {
            self.found.outside.insert(real.to_path_buf());
            return Some(
                "it lies outside of the project, which you have not trusted to import it. Not read.".to_owned(),
            );
        }
        Some("it lies outside of the folder of the file that leads to it. Not read.".to_owned())
    }

    /// Returns as much of a text as may be given; `None` if nothing may any more.
    fn bounded(&mut self, wanted: &Wanted, text: &str) -> Option<String> {
        let room = MAX_CHARS.min(MAX_TOTAL - self.chars);
        if self.found.files.len() >= MAX_FILES || room == 0 {
            self.report(wanted, "the memory files are too many, or too long together. Not read.");
            return None;
        }
        let chars = text.chars().count();
        let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
        self.chars += chars.min(room);
        if chars > room {
            self.report(
                wanted,
                format!("only its first {room} of {chars} characters are given to agents. Shorten it."),
            );
        } else if chars > LONG_CHARS {
            self.report(wanted, format!("it has {chars} characters, and every request carries them. Shorten it."));
        }
        Some(text[..end].trim().to_owned())
    }

    /// Says what is wrong with a file, at the place that imports it if there is one.
    fn report(&mut self, wanted: &Wanted, words: impl Into<String>) {
        self.say(match &wanted.import {
            Some(place) => Diagnostic { message: format!("{}: {}", place.message, words.into()), ..place.clone() },
            None => Diagnostic::in_file(&wanted.path, words),
        });
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        if self.found.diagnostics.len() < MAX_DIAGNOSTICS && !self.found.diagnostics.contains(&diagnostic) {
            self.found.diagnostics.push(diagnostic);
        }
    }
}

pub(super) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Returns the rules below a folder, sorted. Links to folders are not followed.
fn rule_files(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.take(MAX_FILES).filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.symlink_metadata().is_ok_and(|facts| facts.is_dir()) {
            if depth > 1 && found.len() < MAX_FILES {
                found.extend(rule_files(&path, depth - 1));
            }
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found
}
