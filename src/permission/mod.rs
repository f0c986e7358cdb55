//! May it? Pure decisions about what a tool call would touch.
//!
//! Owns modes, accesses, grants, the rules of single agents and the question put to the user. Leaves asking to the [`Approver`] of the front
//! end and the resolving of paths to the tools. Invariant: a decision does no I/O and depends only on its arguments.

mod access;
mod approver;
mod commands;
mod decision;
mod evaluation;
mod fence;
mod git;
mod globs;
mod grants;
mod heredocs;
mod holder;
mod lasting;
mod lent;
mod line;
mod mode;
mod options;
mod owner;
mod pattern;
mod project;
mod questions;
mod reader;
mod readers;
mod reading;
mod rule;
mod rules;
mod ruleset;
mod sed;
mod shell;
mod signs;
mod status;
mod syntax;
mod table;
mod trust;

pub use access::{Access, AccessKind, Confinement, ToolKind};
pub use approver::{Answer, ApprovalId, ApprovalRequest, Approver, Preview, REPORT_QUESTION};
pub use decision::decide;
pub use evaluation::{Because, Evaluation};
pub use fence::Fence;
pub use git::is_git_query;
pub use grants::{ActiveGrant, Grant, GrantError, GrantOrigin, Grants, shell_words};
pub use holder::Holder;
pub use lasting::{Loss, losses, writes_nothing};
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
    lines: line::ShellLines,
}

#[derive(Debug)]
struct State {
    project: Project,
    mode: PermissionMode,
    grants: Grants,
    ruleset: RuleSet,
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
            lines: line::ShellLines::default(),
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
        self.mode_in(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn mode_in(&self, state: &State) -> PermissionMode {
        self.ceiling.stricter(state.mode)
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
        let inside = self.own_folder.as_ref().zip(access.kind.path());
        inside.is_some_and(
            |(folder, (path, writes))| {
                if writes { folder.is_plain_file(path) } else { folder.contains(path) }
            },
        )
    }

    /// Returns the access as rules, grants and modes know it: in the project's own paths.
    fn as_in_project<'a>(&self, access: &'a Access) -> Cow<'a, Access> {
        self.fence.as_ref().map_or(Cow::Borrowed(access), |fence| fence.translated(access))
    }
}
