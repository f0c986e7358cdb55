//! The moments at which hooks run.
//!
//! Owns their names, and what the matcher of each is held against. Source: the reference of Claude Code's hooks.

use serde::{Deserialize, Serialize};

/// A moment at which hooks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HookEvent {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    PostToolUseFailure,
    SubagentStart,
    SubagentStop,
    Stop,
    PreCompact,
    PostCompact,
    Notification,
    SessionEnd,
}

/// Events of Claude Code that never happen here.
const ELSEWHERE: [&str; 18] = [
    "Setup",
    "StopFailure",
    "PermissionDenied",
    "PostToolBatch",
    "UserPromptExpansion",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "ConfigChange",
    "InstructionsLoaded",
    "CwdChanged",
    "FileChanged",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "MessageDisplay",
    "ModelSwitch",
];

impl HookEvent {
    pub const ALL: [Self; 13] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::SubagentStart,
        Self::SubagentStop,
        Self::Stop,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
        Self::SessionEnd,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::SubagentStart => "SubagentStart",
            Self::SubagentStop => "SubagentStop",
            Self::Stop => "Stop",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Returns the event of this name; `Err` says what the name is otherwise.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        // `pre_tool_use` and its like are meant, and may be guards.
        let letters = |name: &str| name.replace(['_', '-', ' '], "").to_ascii_lowercase();
        let is_it = |event: &Self| letters(event.name()) == letters(name);
        Self::ALL.into_iter().find(is_it).ok_or_else(|| {
            if ELSEWHERE.contains(&name) {
                return format!("`{name}` never happens here; its hooks do not run.");
            }
            let names = Self::ALL.map(Self::name);
            let near = similar::get_close_matches(name, &names, 1, 0.7);
            let near = near.first().map(|near| format!(" Did you mean `{near}`?")).unwrap_or_default();
            format!("`{name}` is not an event; its hooks do not run.{near}")
        })
    }

    /// Returns `true` if it is about one call of a tool.
    #[must_use]
    pub fn is_about_tools(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PermissionRequest | Self::PostToolUse | Self::PostToolUseFailure)
    }

    /// Returns `true` if a hook can keep from happening what the event announces.
    #[must_use]
    pub fn can_block(self) -> bool {
        matches!(
            self,
            Self::UserPromptSubmit
                | Self::PreToolUse
                | Self::PermissionRequest
                | Self::SubagentStop
                | Self::Stop
                | Self::PreCompact
        )
    }

    /// Returns `true` if what its hooks print as plain text is for the model.
    pub(super) fn tells_model(self) -> bool {
        matches!(self, Self::SessionStart | Self::UserPromptSubmit)
    }
}
