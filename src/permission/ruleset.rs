//! The rules of the user's settings, of the project's and of the command line: deny, then ask, then allow.
//!
//! Owns their order and where each came from. Leaves what one entry means to `rule`. Invariants: what is denied is denied
//! in every mode; a line of commands is allowed only if each of its parts is; a line that cannot be read is asked about
//! as soon as some command is denied.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::commands::{plain_commands, runs_reader};
use super::grants::{shell_words, trimmed};
use super::line::ShellLines;
use super::reading::is_filter;
use super::rule::{Rule, Verdict};
use super::rules::may_name_below;
use super::{Access, AccessKind, Confinement, Project};
use crate::message::sanitize_line;

/// What becomes of an access that a rule is about. The order is the one in which rules are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    Deny,
    Ask,
    Allow,
}

impl RuleEffect {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// Who wrote a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleOrigin {
    /// `--allowedTools` or `--disallowedTools`.
    Flag,
    /// The configuration of this program: its file, or the environment.
    Config,
    /// A file of settings of Claude Code.
    Settings(#[serde(serialize_with = "crate::message::serialize_path")] PathBuf),
}

impl fmt::Display for RuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("the command line"),
            Self::Config => f.write_str("your configuration"),
            Self::Settings(path) => f.write_str(&sanitize_line(&path.to_string_lossy())),
        }
    }
}

/// A rule as it is shown and logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleNotice {
    pub effect: RuleEffect,
    pub text: String,
    pub origin: RuleOrigin,
}

impl fmt::Display for RuleNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.effect.word(), sanitize_line(&self.text), self.origin)
    }
}

#[derive(Debug, Clone)]
struct SettingRule {
    rule: Rule,
    effect: RuleEffect,
    origin: RuleOrigin,
}

impl SettingRule {
    fn notice(&self) -> RuleNotice {
        RuleNotice { effect: self.effect, text: self.rule.text().to_owned(), origin: self.origin.clone() }
    }
}

/// The rules in force for all agents of a session.
#[derive(Debug, Clone, Default)]
pub struct RuleSet(Arc<[SettingRule]>);

/// What the rules say about an access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    Denied(RuleNotice),
    Asked(RuleNotice),
    /// A rule might be about the access; the text says why that is not certain.
    Likely(RuleNotice, &'static str),
    /// It is not known what the access does, and so whether it is what this rule, or another one, is about.
    Unclear(RuleNotice, &'static str),
    Allowed(RuleNotice),
    Nothing,
}

impl RuleSet {
    /// Adds rules of one origin. Those that were there before come first among equals.
    #[must_use]
    pub fn with(self, effect: RuleEffect, origin: &RuleOrigin, rules: impl IntoIterator<Item = Rule>) -> Self {
        let new = rules.into_iter().map(|rule| SettingRule { rule, effect, origin: origin.clone() });
        let mut all: Vec<SettingRule> = self.0.iter().cloned().chain(new).collect();
        all.sort_by_key(|rule| rule.effect);
        Self(all.into())
    }

    /// Returns these rules and others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let mut all: Vec<SettingRule> = self.0.iter().chain(others.0.iter()).cloned().collect();
        all.sort_by_key(|rule| rule.effect);
        Self(all.into())
    }

    pub fn notices(&self) -> Vec<RuleNotice> {
        self.0.iter().map(SettingRule::notice).collect()
    }

    fn of(&self, effect: RuleEffect) -> impl Iterator<Item = &SettingRule> {
        self.0.iter().filter(move |rule| rule.effect == effect)
    }

    pub(super) fn judge(&self, access: &Access, project: &Project, lines: &ShellLines) -> Ruling {
        // What looks through a folder leaves out what is denied.
        let access = &Access { looks_below: false, ..access.clone() };
        let (mut likely, mut unread) = (None, None);
        // Those that deny come first.
        for rule in self.0.iter().filter(|rule| rule.effect != RuleEffect::Allow) {
            match rule.rule.verdict_of_settings(access, lines) {
                Verdict::Forbidden if rule.effect == RuleEffect::Deny => return Ruling::Denied(rule.notice()),
                Verdict::Forbidden => return Ruling::Asked(rule.notice()),
                Verdict::Likely(why) => likely = likely.or(Some((rule, why))),
                Verdict::Unreadable(why) => unread = unread.or(Some((rule, why))),
                Verdict::Passes | Verdict::Uncertain(_) => {}
            }
        }
        if let Some((rule, why)) = likely {
            return Ruling::Likely(rule.notice(), why);
        }
        if let Some((rule, why)) = unread {
            return Ruling::Unclear(rule.notice(), why);
        }
        match self.allowing(access, project, lines) {
            Some(rule) => Ruling::Allowed(rule.notice()),
            None => Ruling::Nothing,
        }
    }

    /// Returns the rule that allows an access; of a line of commands, the one that allows its first part.
    fn allowing(&self, access: &Access, project: &Project, lines: &ShellLines) -> Option<&SettingRule> {
        let covering = |access: &Access| self.of(RuleEffect::Allow).find(|rule| rule.rule.allows(access, project));
        let AccessKind::Execute { command, .. } = &access.kind else { return covering(access) };
        if !self.of(RuleEffect::Allow).any(|rule| rule.rule.is_about(access)) {
            return None;
        }
        if self.keeping_from(access, lines).is_some() {
            return None;
        }
        if let Some(rule) = covering(access) {
            return Some(rule);
        }
        let line = lines.read(command);
        let parts = line.as_ref().as_ref().ok().filter(|_| !command.contains('<')).and_then(plain_commands)?;
        let mut deciding = None;
        // What stands alone was judged above.
        for part in Some(parts).filter(|parts| parts.as_slice() != [trimmed(command)])? {
            if is_filter(&part) {
                continue;
            }
            let kind = AccessKind::Execute { command: part, confinement: Confinement::None };
            let rule = covering(&Access { kind, ..access.clone() })?;
            deciding.get_or_insert(rule);
        }
        deciding
    }

    /// Returns a rule that keeps files from being read, which only the sandbox keeps from this command: the one that its words
    /// name, else the first.
    pub(super) fn keeping_from(&self, access: &Access, lines: &ShellLines) -> Option<RuleNotice> {
        let AccessKind::Execute { command, .. } = &access.kind else { return None };
        let about_files = || self.of(RuleEffect::Deny).filter_map(|rule| Some((rule, rule.rule.glob(false)?)));
        let is_named = |glob: &str| {
            let name = glob.trim_end_matches("/**").rsplit('/').next().unwrap_or_default();
            command.contains(name.trim_matches('*'))
        };
        let (first, _) = about_files().next()?;
        if !runs_reader(lines.read(command).as_ref().as_ref().map_err(|why| *why)) {
            return None;
        }
        let rule = about_files().find(|(_, glob)| is_named(glob)).map_or(first, |(rule, _)| rule);
        Some(rule.notice())
    }

    /// Returns the rule that keeps agents of a kind from being started.
    pub(super) fn denying_kind(&self, kind: &str) -> Option<RuleNotice> {
        self.of(RuleEffect::Deny).find(|rule| rule.rule.is_about_kind(kind)).map(SettingRule::notice)
    }

    /// Returns `true` if every use of a tool is denied.
    #[must_use]
    pub fn takes_away(&self, tool: &str) -> bool {
        self.of(RuleEffect::Deny).any(|rule| rule.rule.takes_away(tool))
    }

    /// Returns `true` if some tool whose name begins so is denied, or asked about.
    pub(super) fn limits_below(&self, prefix: &str) -> bool {
        let rules = self.of(RuleEffect::Deny).chain(self.of(RuleEffect::Ask));
        rules.into_iter().any(|rule| may_name_below(&rule.rule, prefix))
    }

    /// Returns the globs of absolute paths that nothing may read or, if `writing`, write; what lies below is meant too.
    #[must_use]
    pub fn denied_paths(&self, writing: bool) -> Vec<String> {
        self.of(RuleEffect::Deny).filter_map(|rule| rule.rule.glob(writing)).map(str::to_owned).collect()
    }

    /// Returns `true` if a line of commands holds, between what chains them, one that is allowed by itself.
    pub(super) fn name_part_of(&self, line: &str) -> bool {
        let parts = || line.split([';', '&', '|', '\n']).map(trimmed);
        self.of(RuleEffect::Allow).any(|rule| parts().any(|part| rule.rule.is_for_command(part)))
    }

    /// Returns `true` if a line begins with words that are allowed, so that what follows them is what asks.
    pub(super) fn name_beginning_of(&self, line: &str) -> bool {
        let words = shell_words(line);
        self.of(RuleEffect::Allow)
            .filter_map(|rule| rule.rule.prefix())
            .any(|prefix| words.starts_with(&shell_words(prefix)))
    }
}
