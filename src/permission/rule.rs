//! One entry of an agent's list of tools: `Read`, `Bash(npm test:*)`, `Edit(docs/**)`, `mcp__server__*`.
//!
//! Owns the meaning of an entry, for what it lets an agent do and for what it keeps it from. Leaves lists to `rules` and
//! the shell's grammar to `commands`. Invariant: in doubt an entry lets less through and keeps more away; a scope that
//! is not understood allows nothing and forbids every use.

use std::path::{Path, PathBuf};

use globset::GlobMatcher;

use super::commands::base_name;
use super::git::is_git_query;
use super::globs::{below, fixed_part, globs_of, is_below, reaches_below};
use super::grants::{is_simple, others_are_harmless, shell_words, starts_with_words, trimmed};
use super::line::{ShellCommand, ShellLines};
use super::pattern::{CommandPattern, Match, matches_form};
use super::readers::doubt_about;
use super::{Access, AccessKind, Confinement, Project, ToolKind};
use crate::message::{canonical_name, is_host_below, loose_name};

/// Tools that no set of tools holds, and their kinds.
const OWN_KINDS: [(&str, ToolKind); 2] = [("Agent", ToolKind::Delegate), ("Skill", ToolKind::Skill)];

/// Where the paths of scopes begin.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    pub project: &'a Path,
    /// The user's home, where it is known.
    pub home: Option<&'a Path>,
}

#[derive(Debug, Clone)]
pub struct Rule {
    text: String,
    tool: String,
    kind: ToolKind,
    scope: Scope,
    /// The commands that it is about, if it is about some only.
    pattern: Option<CommandPattern>,
}

#[derive(Debug, Clone)]
enum Scope {
    Whole,
    Command(String),
    /// Commands that begin with these words.
    Prefix(String),
    /// Commands of this form; `*` stands for anything.
    Form(String),
    /// What matches, and what lies below it.
    Below(Box<[GlobMatcher; 2]>),
    /// Pages of this host; with `*.` before it, of all hosts below.
    Host(String),
    /// Skills whose names have this form.
    Skills(String),
    /// These kinds of agents, in [`loose_name`]s.
    Kinds(Vec<String>),
    Unclear,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a rule; write a tool name, `Bash(command)`, `Bash(prefix:*)`, `Edit(docs/**)` or `Read(//absolute/folder)`"
)]
pub struct RuleError(String);

/// What a rule that forbids says about an access.
pub(super) enum Verdict {
    Passes,
    Forbidden,
    /// The line is clear, but a program in it may do more than the line says.
    Uncertain(&'static str),
    /// The line may run what the rule is about, for this reason.
    Likely(&'static str),
    /// It is not known what the line runs, for this reason.
    Unreadable(&'static str),
}

impl Rule {
    /// Reads an entry. None is refused here: an entry that makes no sense matches nothing that is allowed. `kind_of` knows the
    /// tools there are.
    #[must_use]
    pub fn parse(text: &str, places: Places<'_>, kind_of: impl Fn(&str) -> ToolKind) -> Self {
        let text = text.trim();
        let (tool, scope) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => (tool, Some(rest.trim_end().strip_suffix(')').unwrap_or_default().trim())),
        };
        let tool = canonical_name(tool);
        let own = OWN_KINDS.into_iter().find(|(name, _)| tool.eq_ignore_ascii_case(name));
        let kind = own.map_or_else(|| kind_of(tool), |(_, kind)| kind);
        let scope = match scope {
            None => Scope::Whole,
            Some("") => Scope::Unclear,
            Some(scope) => Scope::of(kind, scope, places),
        };
        let pattern = match &scope {
            Scope::Command(text) => Some(CommandPattern::exact(text)),
            Scope::Prefix(text) => Some(CommandPattern::prefix(text)),
            Scope::Form(text) => Some(CommandPattern::form(text)),
            _ => None,
        };
        Self { text: text.to_owned(), tool: tool.to_owned(), kind, scope, pattern }
    }

    /// Checks how an entry is written, without knowing what its tool does.
    ///
    /// # Errors
    /// Returns the text, and what can be written instead.
    pub fn check(text: &str) -> Result<(), RuleError> {
        let bad = || RuleError(text.trim().to_owned());
        let (tool, scope) = match text.trim().split_once('(') {
            None => (text.trim(), None),
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(bad)?)),
        };
        let is_name = !tool.is_empty() && tool.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '*'));
        let is_scope = scope.is_none_or(|scope| !matches!(scope.trim(), "" | ":*"));
        if is_name && is_scope { Ok(()) } else { Err(bad()) }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn tool(&self) -> &str {
        &self.tool
    }

    pub fn names(&self, tool: &str) -> bool {
        let (pattern, tool) = (self.tool.to_ascii_lowercase(), tool.to_ascii_lowercase());
        let whole_server = || pattern.starts_with("mcp__") && tool.starts_with(&format!("{pattern}__"));
        matches_form(&pattern, &tool) || whole_server()
    }

    /// Returns the entry for every use of a tool that looks after what an agent has started.
    #[must_use]
    pub fn whole(tool: &str) -> Self {
        let (text, tool) = (tool.to_owned(), tool.to_owned());
        Self { text, tool, kind: ToolKind::Other, scope: Scope::Whole, pattern: None }
    }

    /// Returns `true` if this is about every use of the tool.
    pub fn is_whole(&self) -> bool {
        matches!(self.scope, Scope::Whole)
    }

    /// Returns the entry for all uses of a tool below a folder, an absolute path; `None` if no entry can name it.
    #[must_use]
    pub fn below(tool: &str, folder: &Path, kind_of: impl Fn(&str) -> ToolKind) -> Option<Self> {
        let inside = globset::escape(folder.to_str()?.trim_start_matches('/'));
        let text = format!("{tool}(//{inside}/**)");
        Some(Self::parse(&text, Places { project: folder, home: None }, kind_of)).filter(Self::is_clear)
    }

    /// Returns the same rule about where a pattern of paths leads, if its part before the first wildcard goes through a link.
    /// `resolve` follows links.
    #[must_use]
    pub fn with_links_resolved(&self, resolve: impl Fn(&Path) -> Option<PathBuf>) -> Option<Self> {
        let Scope::Below(globs) = &self.scope else { return None };
        let glob = globs[0].glob().glob();
        let fixed = fixed_part(glob);
        let real = resolve(Path::new(fixed)).filter(|real| real != Path::new(fixed))?;
        let whole = globset::escape(real.to_str()?) + &glob[fixed.len()..];
        let scope = Scope::Below(Box::new(globs_of(&whole)?));
        Some(Self { scope, ..self.clone() })
    }

    /// Returns the path on the disk that a pattern of paths looks like, but which begins at the project: `Read(/home/me/x)`.
    #[must_use]
    pub fn looks_absolute(&self) -> Option<&Path> {
        let (_, scope) = self.text.split_once('(').filter(|_| self.names_paths())?;
        let path = fixed_part(scope.trim_end_matches(')').trim());
        let is_rooted = path.starts_with('/') && !path.starts_with("//") && path.len() > 1;
        is_rooted.then_some(Path::new(path))
    }

    /// Returns `true` if this is about some paths only.
    pub(super) fn names_paths(&self) -> bool {
        matches!(self.scope, Scope::Below(_))
    }

    /// Returns `true` if this keeps an agent from reading some paths; what only reads is no matter of the others.
    pub(super) fn names_paths_to_read(&self) -> bool {
        matches!(self.scope, Scope::Below(_)) && self.kind != ToolKind::Write
    }

    pub fn is_clear(&self) -> bool {
        !matches!(self.scope, Scope::Unclear)
    }

    /// Returns `true` if the entry, where it forbids, takes the whole tool away and not just some uses of it.
    pub fn takes_away(&self, tool: &str) -> bool {
        self.names(tool) && (self.is_whole() || !self.is_clear())
    }

    /// Returns the glob of absolute paths that this is about, if it is about reading or, if `writing`, about writing.
    pub(super) fn glob(&self, writing: bool) -> Option<&str> {
        match &self.scope {
            Scope::Below(globs) if (self.kind == ToolKind::Write) == writing => Some(globs[0].glob().glob()),
            _ => None,
        }
    }

    /// Returns the words with which the commands begin that this is about.
    pub(super) fn prefix(&self) -> Option<&str> {
        if let Scope::Prefix(prefix) = &self.scope { Some(prefix) } else { None }
    }

    /// Returns `true` if this lets a simple command through, but is not about all commands.
    pub(super) fn is_for_command(&self, command: &str) -> bool {
        match &self.scope {
            Scope::Prefix(prefix) => starts_with_words(command, prefix, Confinement::Guard),
            Scope::Command(allowed) => allowed == command,
            _ => false,
        }
    }

    /// Returns `true` if settings that hold this entry allow the access. `Read` is about all tools that read, `Edit` about
    /// all that write. A pattern of paths leaves out the files that other programs obey, unless it names them, or their
    /// folder, before its first wildcard.
    pub(super) fn allows(&self, access: &Access, project: &Project) -> bool {
        match (&self.scope, &access.kind) {
            // `Edit(*)` is a pattern of paths like any other.
            (Scope::Whole, AccessKind::Write { path }) if self.text.contains('(') => {
                self.is_about(access) && project.is_plain_file(path)
            }
            (Scope::Whole, _) => self.is_about(access),
            (Scope::Below(globs), AccessKind::Read { path }) => self.kind != ToolKind::Write && is_below(globs, path),
            (Scope::Below(globs), AccessKind::Write { path }) => {
                self.kind == ToolKind::Write
                    && is_below(globs, path)
                    && project.is_plain_beyond(Path::new(fixed_part(globs[0].glob().glob())), path)
            }
            _ => self.covers(access),
        }
    }

    /// Returns `true` if this is about the tool of an access, or about all of its kind.
    pub(super) fn is_about(&self, access: &Access) -> bool {
        self.names(&access.tool)
            || access
                .kind
                .path()
                .is_some_and(|(_, writes)| self.tool.eq_ignore_ascii_case(if writes { "Edit" } else { "Read" }))
    }

    /// Returns `true` if a list that holds this entry lets the access through.
    pub(super) fn covers(&self, access: &Access) -> bool {
        if !self.names(&access.tool) {
            return false;
        }
        match (&self.scope, &access.kind) {
            (Scope::Whole, _) | (Scope::Kinds(_), AccessKind::Nothing) => true,
            (Scope::Kinds(kinds), AccessKind::Start { agent, .. }) => kinds.contains(&loose_name(agent)),
            (Scope::Skills(form), AccessKind::Skill { name }) => matches_form(form, name),
            (Scope::Command(allowed), AccessKind::Execute { command, .. }) => allowed == trimmed(command),
            (Scope::Prefix(prefix), AccessKind::Execute { command, confinement }) => {
                starts_with_words(command, prefix, *confinement)
            }
            (Scope::Form(form), AccessKind::Execute { command, confinement }) => {
                is_simple(command) && matches_form(form, trimmed(command)) && keeps_to(form, command, *confinement)
            }
            (Scope::Below(globs), AccessKind::Read { path } | AccessKind::Write { path }) => is_below(globs, path),
            (Scope::Host(own), AccessKind::Fetch { host, .. }) => match own.strip_prefix("*.") {
                Some(top) => is_host_below(top, host),
                None => own == host,
            },
            _ => false,
        }
    }

    /// Says whether settings that hold this entry let the access happen: `Read` and `Edit` are about all tools of their kind.
    pub(super) fn verdict_of_settings(&self, access: &Access, lines: &ShellLines) -> Verdict {
        match &access.kind {
            _ if self.is_whole() && self.is_about(access) => Verdict::Forbidden,
            AccessKind::Execute { command, .. } if self.pattern.is_some() && self.names(&access.tool) => {
                self.hit(command, lines)
            }
            _ => self.verdict(access, lines),
        }
    }

    /// Says whether an agent that this entry keeps from something may do the access. An entry without a scope takes
    /// the whole tool, and is no matter of single uses.
    pub(super) fn verdict(&self, access: &Access, lines: &ShellLines) -> Verdict {
        match (&self.scope, &access.kind) {
            (Scope::Below(globs), _) => self.path_verdict(globs, access),
            _ if !self.names(&access.tool) => Verdict::Passes,
            // A search may find what is at a host.
            (Scope::Whole | Scope::Unclear, _) | (Scope::Host(_), AccessKind::Search { .. }) => Verdict::Forbidden,
            (Scope::Skills(form), AccessKind::Skill { name }) if matches_form(form, name) => Verdict::Forbidden,
            (Scope::Kinds(kinds), AccessKind::Start { agent, .. }) if kinds.contains(&loose_name(agent)) => {
                Verdict::Forbidden
            }
            // What keeps from a host keeps from those below it.
            (Scope::Host(own), AccessKind::Fetch { host, .. }) => {
                let top = own.strip_prefix("*.").unwrap_or(own);
                let is_hit = own == host || is_host_below(top, host);
                if is_hit { Verdict::Forbidden } else { Verdict::Passes }
            }
            (_, AccessKind::Execute { command, confinement }) => self.line_verdict(command, *confinement, lines),
            _ => Verdict::Passes,
        }
    }

    /// Returns `true` if this entry is about the access. A line that cannot be read counts as one that it is about.
    #[must_use]
    pub fn is_meant_for(&self, access: &Access) -> bool {
        let verdict = self.verdict_of_settings(access, &ShellLines::default());
        matches!(verdict, Verdict::Forbidden | Verdict::Likely(_) | Verdict::Unreadable(_))
    }

    /// Says whether an agent may run a line: only what is known to run nothing else.
    fn line_verdict(&self, command: &str, confinement: Confinement, lines: &ShellLines) -> Verdict {
        let hit = self.hit(command, lines);
        if !matches!(hit, Verdict::Passes) {
            return hit;
        }
        let line = lines.read(command);
        let Ok(line) = line.as_ref() else { return hit };
        if let Some(why) = line.effect.or(line.unsaid) {
            return Verdict::Unreadable(why);
        }
        // A repository names programs that git runs, unless the line is one query under guard.
        let is_git =
            |it: &ShellCommand| it.words.first().is_some_and(|name| base_name(&name.text).eq_ignore_ascii_case("git"));
        if line.commands.iter().any(is_git) && !(confinement == Confinement::Guard && is_git_query(command)) {
            return Verdict::Uncertain(
                "git may run programs that the repository names, unless the line is one plain query",
            );
        }
        let own = line.commands.iter().filter(|command| !command.only_wraps);
        own.into_iter().find_map(|it| doubt_about(&it.words)).map_or(Verdict::Passes, Verdict::Uncertain)
    }

    /// Says whether a line runs what this is about.
    fn hit(&self, command: &str, lines: &ShellLines) -> Verdict {
        let Some(pattern) = &self.pattern else { return Verdict::Passes };
        if self.is_written(command) {
            return Verdict::Forbidden;
        }
        match lines.read(command).as_ref() {
            Err(why) => Verdict::Unreadable(why),
            Ok(line) => match (pattern.of_line(line), line.unsaid) {
                (Match::Yes, _) => Verdict::Forbidden,
                (Match::Maybe(why), _) => Verdict::Likely(why),
                (Match::No, Some(why)) => Verdict::Unreadable(why),
                (Match::No, None) => Verdict::Passes,
            },
        }
    }

    fn is_written(&self, command: &str) -> bool {
        match &self.scope {
            Scope::Command(text) | Scope::Prefix(text) | Scope::Form(text) => text == trimmed(command),
            _ => false,
        }
    }

    /// A path is kept from every tool that reads, or from every tool that writes.
    fn path_verdict(&self, globs: &[GlobMatcher; 2], access: &Access) -> Verdict {
        let writes = self.kind == ToolKind::Write;
        // A link has two names.
        let named = |path: &Path| is_below(globs, path) || access.named.as_ref().is_some_and(|it| is_below(globs, it));
        let is_hit = access.kind.path().is_some_and(|(path, is_written)| {
            let is_searched = !is_written && access.looks_below && reaches_below(&globs[0], path);
            is_written == writes && (named(path) || is_searched)
        });
        if is_hit { Verdict::Forbidden } else { Verdict::Passes }
    }

    pub(super) fn is_about_kind(&self, kind: &str) -> bool {
        self.names("Agent")
            && match &self.scope {
                Scope::Whole => true,
                Scope::Kinds(kinds) => kinds.iter().any(|known| *known == loose_name(kind)),
                _ => false,
            }
    }
}

impl Scope {
    fn of(tool: ToolKind, scope: &str, places: Places<'_>) -> Self {
        if scope == "*" {
            return Self::Whole;
        }
        match tool {
            ToolKind::Execute => {
                let prefix = scope.strip_suffix(":*").or_else(|| scope.strip_suffix(" *")).map(str::trim);
                match (prefix, scope.contains('*')) {
                    (Some(""), _) => Self::Whole,
                    (Some(prefix), _) if !prefix.contains('*') => Self::Prefix(prefix.to_owned()),
                    (_, true) => Self::Form(scope.to_owned()),
                    (_, false) => Self::Command(scope.to_owned()),
                }
            }
            ToolKind::Delegate => {
                Self::Kinds(scope.split(',').map(loose_name).filter(|kind| !kind.is_empty()).collect())
            }
            ToolKind::Read | ToolKind::Search | ToolKind::Write => {
                below(scope, places).map_or(Self::Unclear, |globs| Self::Below(Box::new(globs)))
            }
            ToolKind::Fetch => scope
                .strip_prefix("domain:")
                .map_or(Self::Unclear, |host| Self::Host(host.trim().trim_end_matches('.').to_ascii_lowercase())),
            ToolKind::Skill => Self::Skills(scope.strip_suffix(" *").unwrap_or(scope).trim().to_owned()),
            ToolKind::Other => Self::Unclear,
        }
    }
}

/// Returns `true` if what a command has besides the words of a form is harmless. Its words up to the first `*` count as
/// granted, and so do its options; where its other words stand is not known.
fn keeps_to(form: &str, command: &str, confinement: Confinement) -> bool {
    let (known, words) = (shell_words(form), shell_words(command));
    let fixed = known.iter().take_while(|word| !word.contains('*')).count().max(1);
    let Some((granted, rest)) = words.split_at_checked(fixed) else { return false };
    let is_known = |word: &String| word.starts_with('-') && known.contains(word);
    let rest: Vec<String> = rest.iter().filter(|word| !is_known(word)).cloned().collect();
    others_are_harmless(command, granted, &rest, confinement)
}
