//! What a mode and the answers given so far say about one access, where no rule does.

use super::reading;
use super::shell::is_read_only;
use super::{Access, AccessKind, Confinement, Decision, Grants, Holder, PermissionMode, Project};

/// Decides on one access: reading inside the project is free, and so are commands in the sandbox whose work can be taken
/// back; all else asks, unless the mode or a grant says otherwise.
pub fn decide(
    mode: PermissionMode,
    (grants, asker): (&Grants, &Holder),
    project: &Project,
    access: &Access,
) -> Decision {
    let is_free = match &access.kind {
        AccessKind::Nothing | AccessKind::Skill { .. } => true,
        AccessKind::Read { path } => project.contains(path),
        AccessKind::Write { .. }
        | AccessKind::Reach { .. }
        | AccessKind::Start { .. }
        | AccessKind::Fetch { .. }
        | AccessKind::Search { .. }
        | AccessKind::Call { .. } => false,
        AccessKind::Execute { command, confinement } => {
            project.root().is_some()
                && match confinement {
                    Confinement::None => false,
                    Confinement::Guard => is_read_only(command),
                    Confinement::ReadOnlySandbox => true,
                    Confinement::Sandbox => mode != PermissionMode::Plan && access.lasting.is_none(),
                }
        }
    };
    if is_free || mode == PermissionMode::BypassPermissions {
        return Decision::Allow;
    }
    let may_only_read = matches!(
        access.kind,
        AccessKind::Read { .. }
            | AccessKind::Fetch { .. }
            | AccessKind::Search { .. }
            | AccessKind::Call { only_reads: true, .. }
    );
    if mode == PermissionMode::Plan && !may_only_read {
        return Decision::Deny(match access.kind {
            AccessKind::Call { .. } => {
                "Plan mode: this tool may do more than read. Describe what it is for instead of calling it.".to_owned()
            }
            AccessKind::Start { .. } => {
                "Plan mode: this agent is another program, which may do more than read. Use another \
                                         agent."
                    .to_owned()
            }
            AccessKind::Execute { .. } => {
                format!("Plan mode: this command may do more than read. {}", reading::ALLOWED)
            }
            _ => "Plan mode: files cannot be changed. Describe the change instead of making it.".to_owned(),
        });
    }
    if grants.cover(access, project, asker) {
        return Decision::Allow;
    }
    match &access.kind {
        AccessKind::Write { path } if mode == PermissionMode::AcceptEdits && project.is_plain_file(path) => {
            Decision::Allow
        }
        _ => Decision::Ask,
    }
}
