//! May it? Pure decisions about what a tool call would touch.
//!
//! Owns modes, accesses, grants, the rules of single agents and the question put to the user. Leaves asking to the [`Approver`] of the front
//! end and the resolving of paths to the tools. Invariant: a decision does no I/O and depends only on its arguments.

mod access;
mod approver;
mod by_hook;
mod commands;
mod decision;
mod fence;
mod git;
mod globs;
mod grants;
mod holder;
mod lent;
mod mode;
mod options;
mod owner;
mod project;
mod questions;
mod readers;
mod reading;
mod rule;
mod rules;
mod ruleset;
mod sed;
mod shell;
mod status;
mod syntax;
mod trust;

pub use access::{Access, AccessKind, Confinement, ToolKind};
pub use approver::{Answer, ApprovalId, ApprovalRequest, Approver, Preview, REPORT_QUESTION};
pub use decision::decide;
pub use fence::Fence;
pub use git::is_git_query;
pub use grants::{ActiveGrant, Grant, GrantError, GrantOrigin, Grants, shell_words};
pub use holder::Holder;
pub use mode::PermissionMode;
pub use owner::Owner;
pub use project::{Project, folded_name};
pub use questions::{QuestionAnswer, QuestionOption, UserQuestion};
pub use reading::{is_option, is_reading, reads_files};
pub use rule::{Places, Rule, RuleError};
pub use rules::Rules;
pub use ruleset::{RuleEffect, RuleNotice, RuleOrigin, RuleSet};
pub use shell::is_read_only;
pub use status::LineStatus;
pub use trust::{BroughtItem, BroughtKind, FolderTrust, ItemTrust};

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{mpsc, watch};

use ruleset::Ruling;

use crate::message::HostPort;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow,
    /// Refuse; the text tells the model why and what it may do instead.
    Deny(String),
    Ask,
}

/// A change of what the project's own answers allow, to be kept on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantChange {
    Keep(ActiveGrant),
    Forget(ActiveGrant),
}

/// The permissions of one agent. The mode and the grants are the session's, shared by every agent of its tree; the rules
/// and the strictest mode are its own.
///
/// The mode and the grants may change while agents run; the next decision sees the change.
#[derive(Debug, Clone)]
pub struct Permissions {
    state: Arc<RwLock<State>>,
    changed: watch::Sender<()>,
    /// Where answers that hold in the project go.
    keeper: Option<mpsc::UnboundedSender<GrantChange>>,
    /// No mode of the session gives this agent more leeway than this one.
    ceiling: PermissionMode,
    rules: Rules,
    /// Whose permissions these are: whom an answer is given to.
    holder: Holder,
    /// A folder that this agent alone may read and write in.
    own_folder: Option<Project>,
    lent: lent::Lent,
    fence: Option<Arc<Fence>>,
}

#[derive(Debug)]
struct State {
    project: Project,
    mode: PermissionMode,
    grants: Grants,
    ruleset: RuleSet,
}

impl State {
    /// Decides as the rules of the settings do and, where they say nothing, as the mode and the answers do.
    fn decide(&self, mode: PermissionMode, holder: &Holder, access: &Access) -> Decision {
        let otherwise = || decide(mode, (&self.grants, holder), &self.project, access);
        match self.ruleset.judge(access, &self.project) {
            Ruling::Denied(rule) => Decision::Deny(format!("Not allowed here: {rule}. Continue without it.")),
            Ruling::Asked(_) | Ruling::Unclear(..) => match otherwise() {
                Decision::Allow => Decision::Ask,
                decision => decision,
            },
            Ruling::Allowed(_) => match otherwise() {
                Decision::Ask => Decision::Allow,
                decision => decision,
            },
            Ruling::Nothing => otherwise(),
        }
    }
}

impl Permissions {
    #[must_use]
    pub fn new(project: Project, mode: PermissionMode, grants: Grants) -> Self {
        let state = Arc::new(RwLock::new(State { project, mode, grants, ruleset: RuleSet::default() }));
        Self {
            state,
            changed: watch::Sender::new(()),
            keeper: None,
            ceiling: PermissionMode::BypassPermissions,
            rules: Rules::default(),
            holder: Holder::Main,
            own_folder: None,
            lent: lent::Lent::default(),
            fence: None,
        }
    }

    /// Returns the same permissions, with answers that hold in the project going to `keeper`.
    #[must_use]
    pub fn kept_by(mut self, keeper: mpsc::UnboundedSender<GrantChange>) -> Self {
        self.keeper = Some(keeper);
        self
    }

    /// Returns the same permissions under the rules of the settings and of the command line.
    #[must_use]
    pub fn under(self, ruleset: RuleSet) -> Self {
        self.set_ruleset(ruleset);
        self
    }

    /// Puts other rules in force for every decision from now on.
    pub fn set_ruleset(&self, ruleset: RuleSet) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).ruleset = ruleset;
        self.changed.send_replace(());
    }

    /// Lets agents work in other folders beside the project, resolved, from now on.
    pub fn open_directories(&self, others: Vec<PathBuf>) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).project.open(others);
        self.changed.send_replace(());
    }

    /// Returns the rules of the settings, in the order in which they are asked.
    pub fn notices(&self) -> Vec<RuleNotice> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).ruleset.notices()
    }

    /// Returns `true` if some use of a tool may be allowed.
    pub fn may_offer(&self, tool: &str) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.leave(tool) && !state.ruleset.takes_away(tool)
    }

    /// Returns `true` if some tool whose name begins so may be allowed.
    pub fn may_offer_below(&self, prefix: &str) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.leave_below(prefix) && !state.ruleset.takes_away(&format!("{prefix}*"))
    }

    /// Returns `true` if lists and rules leave every tool whose name begins so, and none of them is to be asked about: of what is
    /// handed on to others, no call is seen here.
    pub fn may_hand_on_below(&self, prefix: &str) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.leave_all_below(prefix) && !state.ruleset.limits_below(prefix)
    }

    /// Returns `true` if agents of a kind may be started.
    pub fn allow_kind(&self, kind: &str) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        self.rules.allow_kind(kind) && state.ruleset.denying_kind(kind).is_none()
    }

    /// Returns the permissions of an agent that works in `mode` where the session's gives it more leeway.
    #[must_use]
    pub fn at_most(mut self, mode: PermissionMode) -> Self {
        self.ceiling = self.ceiling.stricter(mode);
        self
    }

    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Returns the permissions of an agent to whose kind answers are given as to `holder`.
    #[must_use]
    pub fn held_by(mut self, holder: Holder) -> Self {
        self.holder = holder;
        self
    }

    /// Returns the permissions of an agent that may read and write in a folder that no other agent is given, an absolute
    /// path with links resolved. Files there that other programs run or obey are as anywhere else.
    #[must_use]
    pub fn with_own_folder(mut self, folder: Option<PathBuf>) -> Self {
        self.own_folder = folder.map(Project::at);
        self
    }

    /// Returns the permissions of an agent that is to stay within `fence`, whatever else it may.
    #[must_use]
    pub fn within(mut self, fence: Fence) -> Self {
        self.fence = Some(Arc::new(fence));
        self
    }

    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    pub fn ceiling(&self) -> PermissionMode {
        self.ceiling
    }

    pub fn mode(&self) -> PermissionMode {
        self.ceiling.stricter(self.state.read().unwrap_or_else(PoisonError::into_inner).mode)
    }

    /// Puts a mode in force for every decision from now on.
    pub fn set_mode(&self, mode: PermissionMode) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).mode = mode;
        self.changed.send_replace(());
    }

    /// Allows this agent, and others of its kind, what `grant` covers until the session ends.
    pub fn grant(&self, grant: Grant) {
        self.add(grant, GrantOrigin::Session, self.holder.clone());
    }

    /// Allows every agent what `grant` covers until the session ends, as far as its own rules go.
    pub fn grant_to_all(&self, grant: Grant) {
        self.add(grant, GrantOrigin::Session, Holder::Everyone);
    }

    /// Allows this agent, and others of its kind, what `grant` covers in this project, and has it kept.
    pub fn grant_for_project(&self, grant: Grant) {
        let given = self.add(grant, GrantOrigin::Project, self.holder.clone());
        self.keep(GrantChange::Keep(given));
    }

    fn add(&self, grant: Grant, origin: GrantOrigin, holder: Holder) -> ActiveGrant {
        let given = ActiveGrant { grant, origin, holder };
        self.state.write().unwrap_or_else(PoisonError::into_inner).grants.add(given.clone());
        self.changed.send_replace(());
        given
    }

    /// Takes back what an answer allowed. Grants of the command line and the configuration stay.
    pub fn forget(&self, grant: &Grant, holder: &Holder) {
        let origin = self.state.write().unwrap_or_else(PoisonError::into_inner).grants.forget(grant, holder);
        if let Some(origin @ GrantOrigin::Project) = origin {
            self.keep(GrantChange::Forget(ActiveGrant { grant: grant.clone(), origin, holder: holder.clone() }));
        }
        self.changed.send_replace(());
    }

    fn keep(&self, change: GrantChange) {
        if let Some(keeper) = &self.keeper {
            // Nobody keeps anything any more once the program ends.
            let _ = keeper.send(change);
        }
    }

    /// Lets nothing write these files, or below these folders, without a question from now on.
    pub fn guard(&self, paths: impl IntoIterator<Item = PathBuf>) {
        let paths = paths.into_iter().map(|path| match &self.fence {
            Some(fence) => fence.in_project(&path).unwrap_or(path),
            None => path,
        });
        self.state.write().unwrap_or_else(PoisonError::into_inner).project.guard(paths);
    }

    /// Returns the hosts that answers let this agent's commands reach from the sandbox.
    pub fn hosts(&self) -> Vec<HostPort> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).grants.hosts(&self.holder)
    }

    pub fn grants(&self) -> Vec<ActiveGrant> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).grants.all().to_vec()
    }

    /// Returns a receiver that wakes at each change of mode or grants, so that a waiting question can be decided anew.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Decides on one access: what the agent's fence or its rules forbid is forbidden in every mode.
    pub fn decide(&self, access: &Access) -> Decision {
        self.decide_in(self.mode(), access)
    }

    /// Decides anew on an access that the user is being asked about. A grant that was given meanwhile allows it, and a
    /// stricter mode refuses it; a mode that would have let it pass answers no question that is open.
    pub fn decide_again(&self, access: &Access) -> Decision {
        self.decide_in(self.mode().stricter(PermissionMode::Default), access)
    }

    fn decide_in(&self, mode: PermissionMode, access: &Access) -> Decision {
        if let Some(run) = access.unreaching() {
            return match self.decide_in(mode, &run) {
                refusal @ Decision::Deny(_) => refusal,
                Decision::Allow | Decision::Ask => {
                    let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
                    decide(mode, (&state.grants, &self.holder), &state.project, access)
                }
            };
        }
        if let Some(refusal) = self.fence.as_ref().and_then(|fence| fence.refusal(access))
            && !self.is_own(access)
        {
            return Decision::Deny(refusal);
        }
        let access = &*self.as_in_project(access);
        if let Some(refusal) = self.rules.refusal(access) {
            return Decision::Deny(refusal);
        }
        let access = &*self.as_rules_allow(access);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        // Rules about paths say nothing of commands, which could read what those keep from the agent.
        if !self.rules.name_paths_to_read()
            && state.project.root().is_some()
            && !matches!(
                state.ruleset.judge(access, &state.project),
                Ruling::Denied(_) | Ruling::Asked(_) | Ruling::Unclear(..)
            )
            && matches!(
                &access.kind,
                AccessKind::Execute { command, confinement: Confinement::Guard } if is_reading(command)
            )
        {
            return Decision::Allow;
        }
        match state.decide(mode, &self.holder, access) {
            Decision::Ask if self.is_own(access) || self.is_lent(&state, access) => Decision::Allow,
            decision => decision,
        }
    }

    /// Returns the access of an agent whose rules are about paths: the sandbox knows nothing of those, and a command in
    /// it could read or write what they keep from the agent.
    fn as_rules_allow<'a>(&self, access: &'a Access) -> Cow<'a, Access> {
        let is_free = match &access.kind {
            AccessKind::Execute { confinement: Confinement::ReadOnlySandbox, .. } => !self.rules.name_paths_to_read(),
            AccessKind::Execute { confinement: Confinement::Sandbox, .. } => !self.rules.name_paths(),
            _ => true,
        };
        access.unconfined().filter(|_| !is_free).map_or(Cow::Borrowed(access), Cow::Owned)
    }

    /// Returns `true` if an access stays within the agent's own folder.
    fn is_own(&self, access: &Access) -> bool {
        self.own_folder.as_ref().is_some_and(|folder| match &access.kind {
            AccessKind::Read { path } => folder.contains(path),
            AccessKind::Write { path } => folder.is_plain_file(path),
            AccessKind::Nothing
            | AccessKind::Execute { .. }
            | AccessKind::Reach { .. }
            | AccessKind::Fetch { .. }
            | AccessKind::Search { .. }
            | AccessKind::Call { .. }
            | AccessKind::Start { .. }
            | AccessKind::Skill { .. } => false,
        })
    }

    /// Returns the access as rules, grants and modes know it: in the project's own paths.
    fn as_in_project<'a>(&self, access: &'a Access) -> Cow<'a, Access> {
        self.fence.as_ref().map_or(Cow::Borrowed(access), |fence| fence.translated(access))
    }

    /// Says what decides on an access, for people.
    pub fn explain(&self, access: &Access) -> String {
        match self.decide(access) {
            Decision::Deny(why) => return why,
            Decision::Ask => return self.reason(access),
            Decision::Allow => {}
        }
        let access = &*self.as_in_project(access);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if let Ruling::Allowed(rule) = state.ruleset.judge(access, &state.project) {
            return format!("rule: {rule}");
        }
        if let Some(given) = state.grants.covering(access, &state.project, &self.holder) {
            return format!("answer: {} ({}, {})", given.grant, given.origin.word(), given.holder.words());
        }
        let mode = self.ceiling.stricter(state.mode);
        let why = match &access.kind {
            AccessKind::Read { path } if state.project.contains(path) => "reading in the project is free",
            AccessKind::Execute { confinement: Confinement::Sandbox | Confinement::ReadOnlySandbox, .. } => {
                "it runs in the sandbox"
            }
            AccessKind::Execute { command, .. } if is_reading(command) => "it only reads",
            AccessKind::Nothing | AccessKind::Skill { .. } => "it touches nothing",
            _ => mode.about(),
        };
        format!("mode {}: {why}", mode.word())
    }

    /// Says what keeps agents of a kind from being started.
    pub fn refusal_of_kind(&self, kind: &str) -> Option<String> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.ruleset.denying_kind(kind).map(|rule| format!("rule: {rule}"))
    }

    /// Says why an access is asked about, for people.
    pub fn reason(&self, access: &Access) -> String {
        let access = &*self.as_in_project(access);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let mode = self.ceiling.stricter(state.mode);
        let whose = if mode == state.mode { "" } else { " (this agent's own)" };
        let project = &state.project;
        match state.ruleset.judge(access, project) {
            Ruling::Asked(rule) => return format!("rule: {rule}"),
            Ruling::Unclear(rule, why) => return format!("rule: {rule}; this line might do that: {why}"),
            Ruling::Denied(_) | Ruling::Allowed(_) | Ruling::Nothing => {}
        }
        let why = match &access.kind {
            AccessKind::Nothing | AccessKind::Skill { .. } => "this tool always asks",
            AccessKind::Fetch { .. } => "each host of the web is asked about once",
            AccessKind::Search { .. } => "the words of a search leave this machine",
            AccessKind::Start { .. } => "another program works on its own",
            AccessKind::Call { .. } => "each tool of another program is asked about",
            _ if project.root().is_none() => "no project here, so everything needs approval",
            AccessKind::Read { .. } => "outside the project",
            AccessKind::Write { path } if !project.contains(path) => "outside the project",
            AccessKind::Write { path } if !project.is_plain_file(path) => "other programs act on this file",
            AccessKind::Write { .. } => "every edit needs approval",
            AccessKind::Execute { command, .. }
                if !grants::is_simple(command) && state.ruleset.name_part_of(command) =>
            {
                "your permission covers a part of it only"
            }
            AccessKind::Execute { command, .. }
                if grants::is_simple(command) && state.ruleset.name_beginning_of(command) =>
            {
                "only its beginning is allowed; the rest may do harm"
            }
            AccessKind::Execute { command, .. } if is_read_only(command) => {
                "it may reach outside the project or run its programs"
            }
            AccessKind::Execute { .. } => "it may modify files",
            AccessKind::Reach { .. } => "the sandbox has no way to this host",
        };
        format!("mode {}{whose}: {why}", mode.word())
    }

    /// Returns the grant that an answer for the session or the project would add for `access`. Where a rule asks, no
    /// answer but one for this time is of use.
    pub fn offer(&self, access: &Access) -> Option<Grant> {
        let access = &*self.as_in_project(access);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let run = access.unreaching();
        match state.ruleset.judge(run.as_ref().unwrap_or(access), &state.project) {
            Ruling::Asked(_) | Ruling::Unclear(..) => None,
            Ruling::Denied(_) | Ruling::Allowed(_) | Ruling::Nothing => Grant::for_access(access, &state.project),
        }
    }
}
