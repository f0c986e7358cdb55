//! What the wider answers to a question would allow, why it is asked, and the fact that decides.
//!
//! Owns these words. Leaves the answers to `answer` and drawing to the views. Invariant: whom an answer reaches and for
//! how long is said in full; where a command would leave the sandbox, the heading says so.

use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::{App, Focus};
use crate::message::{reveal_line, shown_name};
use crate::permission::{AccessKind, ApprovalRequest, Confinement, Grant};

/// Returns what the wider answers would allow, and why it is asked, in a line.
pub fn question_terms(app: &App, request: &ApprovalRequest) -> String {
    if request.is_of_report() || request.is_of_plan() || request.questions().is_some() {
        return request.reason.clone();
    }
    let allows = match &request.grant {
        None => "can only be allowed once".to_owned(),
        Some(grant) => reach(app, request, grant),
    };
    if request.reason.is_empty() { allows } else { format!("{allows} · {}", request.reason) }
}

/// Says what each of the wider answers allows, to whom and for how long.
fn reach(app: &App, request: &ApprovalRequest, grant: &Grant) -> String {
    let context = if app.focus() == Focus::Approvals { Context::Approvals } else { Context::Global };
    let chord = |action| app.keymap().chord_of(context, action);
    let kind = match app.agents().get(request.id.agent) {
        Some(agent) if !agent.id.is_main() => format!("all {} agents", shown_name(&agent.agent_type)),
        _ => "the main agent".to_owned(),
    };
    let spans = [
        (Action::ApproveAlways, format!("for {kind}, all session")),
        (Action::ApproveProject, format!("for {kind}, in this project from now on")),
        (Action::ApproveEveryone, "for all agents, all session".to_owned()),
    ];
    let spans: Vec<String> =
        spans.into_iter().filter_map(|(action, span)| Some(format!("{} {span}", chord(action)?))).collect();
    format!("{}: {}", covered(grant), spans.join("; "))
}

/// Returns what an agent wants, as the heading of its question says it.
pub fn question_verb(app: &App, request: &ApprovalRequest) -> &'static str {
    match &request.access.kind {
        AccessKind::Execute { confinement: Confinement::None, .. } if app.has_sandbox() => {
            "wants to LEAVE THE SANDBOX:"
        }
        AccessKind::Execute { .. } if request.access.lasting.is_some() => "wants to do what CANNOT BE UNDONE:",
        AccessKind::Execute { .. } => "wants to run",
        AccessKind::Reach { .. } => "wants to reach",
        AccessKind::Write { .. } => "wants to change a file",
        AccessKind::Read { .. } => "wants to read",
        AccessKind::Fetch { .. } => "wants to fetch",
        AccessKind::Search { .. } => "wants to search the web",
        AccessKind::Call { .. } => "wants to call",
        AccessKind::Start { .. } => "wants to start",
        AccessKind::Nothing if request.is_of_report() => "wants to read",
        AccessKind::Nothing if request.is_of_plan() => "asks you to approve a plan",
        AccessKind::Nothing if request.questions().is_some() => "asks you",
        AccessKind::Nothing | AccessKind::Skill { .. } => "wants to use",
    }
}

fn covered(grant: &Grant) -> String {
    match grant {
        Grant::Tool(name) => format!("every use of {}", reveal_line(name)),
        Grant::Command(_) => "this exact command".to_owned(),
        Grant::Prefix(prefix) => format!("commands starting with {}", reveal_line(prefix)),
        Grant::Edits => "all edits of the project's files".to_owned(),
        Grant::Domain(host) => format!("pages of {}", reveal_line(host)),
        Grant::Below(top) => format!("reading files under {}", reveal_line(&top.to_string_lossy())),
        Grant::Host(host) => format!("reaching {host}"),
        Grant::Agent(name) => format!("every {} agent", reveal_line(name)),
    }
}
