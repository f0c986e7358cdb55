//! The rules of a session: from the command line, the configuration and settings files to what is in force.
//!
//! Owns their order, and which of them the project brings. Leaves what a rule means to `permission`. Invariant: what a
//! project brings only narrows until the user trusts it.

use std::path::{Path, PathBuf};

use super::Options;
use crate::config::{Config, Environment, ProjectRoot, SettingsFile, SettingsTier};
use crate::message::{Diagnostic, sanitize_line};
use crate::permission::{
    BroughtItem, BroughtKind, FolderTrust, PermissionMode, Permissions, Places, Rule, RuleEffect, RuleOrigin, RuleSet,
};
use crate::sandbox::DeniedPaths;
use crate::tool::{ToolSet, known_tools};

/// Whose word a rule or a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    User,
    Project,
}

#[derive(Debug, Clone)]
struct RuleList {
    effect: RuleEffect,
    origin: RuleOrigin,
    author: Author,
    rules: Vec<Rule>,
}

impl RuleList {
    /// Returns `true` if a project brings it, and it takes questions away.
    fn lets_more_happen(&self) -> bool {
        self.author == Author::Project && self.effect == RuleEffect::Allow
    }
}

/// Everything that is said about permissions in advance.
#[derive(Debug, Clone, Default)]
pub struct SessionRules {
    lists: Vec<RuleList>,
    /// Folders that are worked in beside the project, resolved.
    directories: Vec<(Author, PathBuf)>,
    forbids_bypass: bool,
}

impl SessionRules {
    /// Gathers the rules, and what is wrong with them.
    pub(super) fn gather(
        options: &Options,
        config: &Config,
        settings: &[SettingsFile],
        (environment, ground): (&Environment, &ProjectRoot),
    ) -> (Self, Vec<Diagnostic>) {
        // Accesses are judged with links resolved.
        let home = environment.home().map(|home| std::fs::canonicalize(&home).unwrap_or(home));
        let tools = known_tools();
        let (all, folder) = (Self::default(), ground.root.clone());
        let mut reader = Reader { folder, home: home.as_deref(), tools, all, diagnostics: Vec::new() };
        let of_file = |reader: &mut Reader<'_>, file: &SettingsFile| {
            let author = if file.tier.is_projects() { Author::Project } else { Author::User };
            let origin = RuleOrigin::Settings(file.path.clone());
            // Below the root of the project, paths are those of the file's own folder.
            reader.folder = if file.tier.is_projects() { file.folder().to_path_buf() } else { ground.root.clone() };
            let asks = file.more.sandbox.limits.asks.then(|| "Bash".to_owned());
            let ask = file.ask.iter().cloned().chain(asks).collect();
            reader.lists(&origin, author, [&file.deny, &ask, &file.allow]);
            reader.directories(&origin, author, file.directories.iter().map(PathBuf::from));
            reader.folder.clone_from(&ground.root);
        };
        let (managed, others): (Vec<_>, Vec<_>) = settings.iter().partition(|file| file.tier == SettingsTier::Managed);
        for file in managed {
            of_file(&mut reader, file);
        }
        let (flag, config_file) = (RuleOrigin::Flag, RuleOrigin::Config);
        reader.lists(&flag, Author::User, [&options.denied, &Vec::new(), &options.allowed]);
        reader.directories(&flag, Author::User, options.given.directories.iter().cloned());
        for file in others {
            of_file(&mut reader, file);
        }
        let own = [&config.disallowed_tools, &config.ask_tools, &config.allowed_tools];
        reader.lists(&config_file, Author::User, own);
        reader.directories(&config_file, Author::User, config.additional_directories.iter().cloned());
        let Reader { mut all, diagnostics, .. } = reader;
        all.forbids_bypass = config.forbids_bypass;
        (all, diagnostics)
    }

    /// Returns the rules in force.
    #[must_use]
    pub fn ruleset(&self, trust: &FolderTrust) -> RuleSet {
        self.set_of(|list, rule| !list.lets_more_happen() || trust.uses(&rule_item(rule)))
    }

    fn set_of(&self, is_meant: impl Fn(&RuleList, &Rule) -> bool) -> RuleSet {
        self.lists.iter().fold(RuleSet::default(), |set, list| {
            let rules = list.rules.iter().filter(|rule| is_meant(list, rule));
            set.with(list.effect, &list.origin, rules.cloned())
        })
    }

    /// Returns the folders that are worked in beside the project.
    pub(super) fn directories(&self, trust: &FolderTrust) -> Vec<PathBuf> {
        let is_believed = |author, path: &Path| author == Author::User || trust.uses(&directory_item(path));
        let believed = self.directories.iter().filter(|(author, path)| is_believed(*author, path));
        believed.map(|(_, path)| path.clone()).collect()
    }

    /// Returns the permissions of a session in a project.
    pub(super) fn permissions(&self, permissions: Permissions, trust: &FolderTrust) -> Permissions {
        let permissions = permissions.under(self.ruleset(trust));
        if self.forbids_bypass { permissions.at_most(PermissionMode::AcceptEdits) } else { permissions }
    }

    /// Returns what rules keep from tools that search and from commands in the sandbox; a pattern that is none keeps all of
    /// the project from them. What a project denies elsewhere is no reason to look through the whole disk.
    pub(super) fn denied_paths(&self, root: &Path, [more_read, more_written]: [Vec<String>; 2]) -> DeniedPaths {
        let inside = globset::escape(&root.to_string_lossy()) + "/";
        let globs = |writing, more: Vec<String>| {
            let by = |author| self.set_of(|list, _| list.author == author).denied_paths(writing);
            let projects = by(Author::Project).into_iter().filter(|glob| glob.starts_with(&inside));
            by(Author::User).into_iter().chain(projects).chain(more).collect()
        };
        let all = || vec![globset::escape(&root.to_string_lossy())];
        DeniedPaths::new(root, globs(false, more_read), globs(true, more_written))
            .or_else(|_| DeniedPaths::new(root, all(), all()))
            .unwrap_or_default()
    }

    /// Returns what of this the project brings that lets more happen.
    pub(super) fn brought(&self) -> Vec<BroughtItem> {
        let rules = self.lists.iter().filter(|list| list.lets_more_happen()).flat_map(|list| &list.rules);
        let theirs = self.directories.iter().filter(|(author, _)| *author == Author::Project);
        rules.map(rule_item).chain(theirs.map(|(_, path)| directory_item(path))).collect()
    }
}

fn rule_item(rule: &Rule) -> BroughtItem {
    BroughtItem::new(BroughtKind::Rule, rule.text())
}

fn directory_item(path: &Path) -> BroughtItem {
    BroughtItem::new(BroughtKind::Directory, path.to_string_lossy())
}

/// Tools of Claude Code that are none here, and whose names are near to those of others.
const ELSEWHERE: [&str; 8] = [
    "NotebookEdit",
    "NotebookRead",
    "MultiEdit",
    "BashOutput",
    "KillShell",
    "TaskOutput",
    "TaskStop",
    "ReadMcpResource",
];
/// Words that are no tools, and may be meant for all of them.
const EVERYTHING: [&str; 4] = ["all", "any", "everything", "tools"];
/// Bytes of the longest name that is compared with others.
const LONGEST_TOOL: usize = 40;

struct Reader<'a> {
    /// Where relative paths begin.
    folder: PathBuf,
    home: Option<&'a Path>,
    /// The tools that rules may be about.
    tools: ToolSet,
    all: SessionRules,
    diagnostics: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn report(&mut self, origin: &RuleOrigin, text: String, loses_guard: bool) {
        let diagnostic = match origin {
            RuleOrigin::Settings(path) => Diagnostic::in_file(path, text),
            RuleOrigin::Flag | RuleOrigin::Config => Diagnostic::new(text),
        };
        self.diagnostics.push(Diagnostic { loses_guard, ..diagnostic });
    }

    /// Returns the tool that a rule about none may be meant for.
    fn meant(&self, rule: &Rule) -> Option<String> {
        let tool = rule.tool();
        let is_elsewhere = ELSEWHERE.iter().any(|name| name.eq_ignore_ascii_case(tool));
        if is_elsewhere || tool.contains(['*', '_']) || tool.len() > LONGEST_TOOL {
            return None;
        }
        let names: Vec<&str> = self.tools.names().chain(["Agent", "Skill"]).collect();
        let lower: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
        let near = similar::get_close_matches(tool.to_ascii_lowercase().as_str(), &lower, 1, 0.7);
        let at = lower.iter().position(|name| near.first() == Some(name))?;
        names.get(at).filter(|name| !name.eq_ignore_ascii_case(tool)).map(|name| (*name).to_owned())
    }

    /// Reads what is denied, what asks and what is allowed.
    fn lists(&mut self, origin: &RuleOrigin, author: Author, texts: [&Vec<String>; 3]) {
        let folder = self.folder.clone();
        let places = Places { project: &folder, home: self.home };
        for (effect, texts) in [RuleEffect::Deny, RuleEffect::Ask, RuleEffect::Allow].into_iter().zip(texts) {
            let mut rules = Vec::new();
            for text in texts {
                let rule = Rule::parse(text, places, |tool| self.tools.kind_of(tool));
                let known = self.tools.names().any(|tool| rule.names(tool));
                let diagnostic = match (Rule::check(text), effect) {
                    (Err(error), RuleEffect::Allow) => Some(format!("{error}. It allows nothing.")),
                    (Err(error), _) => Some(error.to_string()),
                    (Ok(()), _) if !known || rule.is_clear() => None,
                    (Ok(()), RuleEffect::Allow) => {
                        Some(format!("`{}` is not understood; it allows nothing.", rule.text()))
                    }
                    (Ok(()), _) => {
                        let (text, tool) = (rule.text(), rule.tool());
                        Some(format!("`{text}` is not understood; it holds for every use of {tool}."))
                    }
                };
                let (lost, diagnostic) = match (effect, self.meant(&rule)) {
                    (RuleEffect::Allow, _) => (false, diagnostic),
                    _ if EVERYTHING.iter().any(|word| rule.tool().eq_ignore_ascii_case(word)) => {
                        (true, Some(format!("`{}` names no tool; to deny all of them, write `*`.", rule.text())))
                    }
                    (_, Some(meant)) if !known => {
                        let (text, tool) = (rule.text(), rule.tool());
                        (true, Some(format!("`{text}`: there is no tool {tool}; did you mean {meant}?")))
                    }
                    // What names no tool denies nothing.
                    _ => (diagnostic.is_some() && !known, diagnostic),
                };
                if let Some(diagnostic) = diagnostic {
                    self.report(origin, sanitize_line(&diagnostic).into_owned(), lost);
                }
                if let Some(note) = self.misplaced(&rule) {
                    self.report(origin, sanitize_line(&note).into_owned(), false);
                }
                if effect != RuleEffect::Allow {
                    rules.extend(rule.with_links_resolved(|path| std::fs::canonicalize(path).ok()));
                }
                rules.push(rule);
            }
            if !rules.is_empty() {
                self.all.lists.push(RuleList { effect, origin: origin.clone(), author, rules });
            }
        }
    }

    /// Says that a rule is about a place in the project, where its path is one that is elsewhere.
    fn misplaced(&self, rule: &Rule) -> Option<String> {
        let path = rule.looks_absolute()?;
        let inside = self.folder.join(path.strip_prefix("/").ok()?);
        let is_elsewhere = path.symlink_metadata().is_ok() && inside.symlink_metadata().is_err();
        is_elsewhere.then(|| {
            let absolute = rule.text().replacen("(/", "(//", 1);
            format!(
                "`{}` is about {}, which is not there; for the path on your disk, write `{absolute}`.",
                rule.text(),
                inside.display()
            )
        })
    }

    fn directories(&mut self, origin: &RuleOrigin, author: Author, paths: impl Iterator<Item = PathBuf>) {
        for path in paths {
            let full = match (path.strip_prefix("~"), self.home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => self.folder.join(&path),
            };
            let shown = sanitize_line(&path.to_string_lossy()).into_owned();
            match std::fs::canonicalize(&full) {
                Err(error) => self.report(origin, format!("the directory {shown} is left out: {error}."), false),
                Ok(real) if self.home.is_some_and(|home| home.starts_with(&real)) || real.parent().is_none() => {
                    self.report(origin, format!("the directory {shown} is left out: it holds your home."), false);
                }
                Ok(real) => self.all.directories.push((author, real)),
            }
        }
    }
}
