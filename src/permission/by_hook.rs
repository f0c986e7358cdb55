//! What a hook may answer in the place of the user.
//!
//! Pure. Invariant: a hook's yes outweighs neither a rule nor what protects files that other programs act on.

use std::sync::PoisonError;

use super::ruleset::Ruling;
use super::{Access, AccessKind, Permissions};

impl Permissions {
    /// Returns `true` if a hook may answer the question about an access with a yes: not where a rule asks, nor about what
    /// other programs run or obey, what lies outside of the project, or a way to a host.
    pub fn let_hook_allow(&self, access: &Access) -> bool {
        let access = &*self.as_in_project(access);
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let is_ruled = matches!(state.ruleset.judge(access, &state.project), Ruling::Asked(_) | Ruling::Unclear(..));
        !is_ruled
            && match &access.kind {
                AccessKind::Write { path } => state.project.is_plain_file(path),
                AccessKind::Reach { .. } | AccessKind::Start { .. } => false,
                AccessKind::Nothing
                | AccessKind::Read { .. }
                | AccessKind::Execute { .. }
                | AccessKind::Fetch { .. }
                | AccessKind::Search { .. }
                | AccessKind::Call { .. }
                | AccessKind::Skill { .. } => true,
            }
    }
}
