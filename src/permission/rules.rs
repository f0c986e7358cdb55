//! What the lists of one agent, and of all agents above it, let it do.
//!
//! Owns how lists add up: within a list any entry suffices, between lists every one has to agree, and what is forbidden
//! stays so. Leaves single entries to `rule`. Invariant: rules only narrow. Nothing in them allows what the mode and the
//! grants do not, because a list may come from a stranger's file.

use std::sync::Arc;

use super::Access;
use super::line::ShellLines;
use super::rule::{Rule, Verdict};

#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Lists that each have to let a use through.
    allowed: Vec<Arc<[Rule]>>,
    forbidden: Vec<Arc<[Rule]>>,
}

impl Rules {
    #[must_use]
    pub fn allowing(mut self, list: Arc<[Rule]>) -> Self {
        self.allowed.push(list);
        self
    }

    #[must_use]
    pub fn forbidding(mut self, list: Arc<[Rule]>) -> Self {
        self.forbidden.push(list);
        self
    }

    /// Returns `true` if the lists leave some use of a tool.
    pub(super) fn leave(&self, tool: &str) -> bool {
        let names = |list: &Arc<[Rule]>| list.iter().any(|rule| rule.is_clear() && rule.names(tool));
        self.allowed.iter().all(names)
            && !self.forbidden.iter().flat_map(|list| list.iter()).any(|rule| rule.takes_away(tool))
    }

    /// Returns `true` if the lists may leave some tool whose name begins so.
    pub(super) fn leave_below(&self, prefix: &str) -> bool {
        self.allowed.iter().all(|list| list.iter().any(|rule| rule.is_clear() && may_name_below(rule, prefix)))
    }

    /// Returns `true` if the lists leave every tool whose name begins so.
    pub(super) fn leave_all_below(&self, prefix: &str) -> bool {
        let all = format!("{prefix}*");
        let names = |list: &Arc<[Rule]>| list.iter().any(|rule| rule.is_clear() && rule.is_whole() && rule.names(&all));
        let forbidden = self.forbidden.iter().flat_map(|list| list.iter());
        self.allowed.iter().all(names) && !forbidden.into_iter().any(|rule| may_name_below(rule, prefix))
    }

    /// Returns `true` if an entry is about reading some paths only.
    pub(super) fn name_paths_to_read(&self) -> bool {
        self.any(Rule::names_paths_to_read)
    }

    /// Returns `true` if an entry is about some paths only.
    pub(super) fn name_paths(&self) -> bool {
        self.any(Rule::names_paths)
    }

    fn any(&self, is_so: fn(&Rule) -> bool) -> bool {
        self.allowed.iter().chain(&self.forbidden).any(|list| list.iter().any(is_so))
    }

    /// Returns the entries that let through, or forbid, some uses of a tool only: `Bash(git diff:*)`, `not Bash(rm:*)`.
    pub fn scopes(&self) -> Vec<String> {
        let scopes = |lists: &[Arc<[Rule]>], sign: &str| -> Vec<String> {
            let scoped = lists.iter().flat_map(|list| list.iter()).filter(|rule| !rule.is_whole());
            scoped.map(|rule| format!("{sign}{}", rule.text())).collect()
        };
        let mut all = scopes(&self.allowed, "");
        all.extend(scopes(&self.forbidden, "not "));
        all.dedup();
        all
    }

    /// Says why a use is not allowed, in words for the model.
    pub(super) fn refusal(&self, access: &Access, lines: &ShellLines) -> Option<String> {
        let outside = self.allowed.iter().find(|list| !list.iter().any(|rule| rule.covers(access)));
        if let Some(list) = outside {
            let named: Vec<&str> = list.iter().filter(|rule| rule.names(&access.tool)).map(Rule::text).collect();
            return Some(match named.as_slice() {
                [] => format!("This agent may not use {}. Continue without it.", access.tool),
                named => format!(
                    "This agent may use {} only as {} allows. Stay within that, one plain command at a time, or \
                     continue without it.",
                    access.tool,
                    quoted(named)
                ),
            });
        }
        self.forbidden.iter().flat_map(|list| list.iter()).find_map(|rule| match rule.verdict(access, lines) {
            Verdict::Passes => None,
            Verdict::Forbidden => {
                Some(format!("This agent may not do that: `{}` is denied. Continue without it.", rule.text()))
            }
            Verdict::Uncertain(why) | Verdict::Likely(why) | Verdict::Unreadable(why) => Some(format!(
                "`{}` is denied to this agent, and this line might do it: {why}. Use plain commands.",
                rule.text()
            )),
        })
    }

    pub fn allow_kind(&self, kind: &str) -> bool {
        self.allowed.iter().all(|list| list.iter().any(|rule| rule.is_about_kind(kind)))
            && !self.forbidden.iter().flat_map(|list| list.iter()).any(|rule| rule.is_about_kind(kind))
    }
}

fn quoted(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
}

/// Returns `true` if an entry may name a tool whose name begins so.
pub(super) fn may_name_below(rule: &Rule, prefix: &str) -> bool {
    let (pattern, prefix) = (rule.tool().to_ascii_lowercase(), prefix.to_ascii_lowercase());
    match pattern.split_once('*') {
        Some((fixed, _)) => fixed.starts_with(&prefix) || prefix.starts_with(fixed),
        None => pattern.starts_with(&prefix) || rule.names(&format!("{prefix}x")),
    }
}
