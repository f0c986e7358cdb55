//! Playing a recorded session: which moment is shown, how fast it goes, and what keys ask for.
//!
//! Owns the facts that the screen shows of a replay, and which acts and effects it allows. Leaves the records and the clock
//! on the wall to `tui::replay`. Invariant: a replay asks nothing of the world but to be shown.

use std::time::Duration;

use crate::app::{Action, Effect};

/// How far a key moves where no timeline says it.
const STEP: Duration = Duration::from_secs(5);
const PAGE: Duration = Duration::from_mins(1);

/// How fast a recorded session is played.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PlaybackSpeed {
    #[default]
    Recorded,
    Tenfold,
    /// At once to its end.
    End,
}

impl PlaybackSpeed {
    pub const ALL: [Self; 3] = [Self::Recorded, Self::Tenfold, Self::End];

    /// Returns its name, as the status line has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "×1",
            Self::Tenfold => "×10",
            Self::End => "to the end",
        }
    }

    /// Returns how many seconds pass in one; `None` for all at once.
    #[must_use]
    pub fn factor(self) -> Option<u32> {
        match self {
            Self::Recorded => Some(1),
            Self::Tenfold => Some(10),
            Self::End => None,
        }
    }

    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|speed| *speed == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// Which moment of a recorded session is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Playback {
    /// Time since the first event.
    pub position: Duration,
    pub length: Duration,
    pub speed: PlaybackSpeed,
    pub is_playing: bool,
}

/// What a key asks of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaybackRequest {
    PlayOrPause,
    NextSpeed,
    /// Show this moment.
    Seek(Duration),
}

impl Playback {
    /// Returns what an action asks for; `None` if it is not about the replay.
    pub(in crate::app) fn request(&self, action: Action) -> Option<PlaybackRequest> {
        let back = |by: Duration| PlaybackRequest::Seek(self.position.saturating_sub(by));
        let on = |by: Duration| PlaybackRequest::Seek((self.position + by).min(self.length));
        Some(match action {
            Action::PlayOrPause => PlaybackRequest::PlayOrPause,
            Action::NextSpeed => PlaybackRequest::NextSpeed,
            Action::Earlier => back(STEP),
            Action::Later => on(STEP),
            Action::PageEarlier => back(PAGE),
            Action::PageLater => on(PAGE),
            Action::Beginning => PlaybackRequest::Seek(Duration::ZERO),
            Action::Present => PlaybackRequest::Seek(self.length),
            _ => return None,
        })
    }
}

/// Returns `true` if an action only looks: the rest would ask something of agents that are no more.
pub(in crate::app) fn is_allowed(action: Action) -> bool {
    let looks = matches!(
        action,
        Action::Full
            | Action::ShowEnded
            | Action::Timeline
            | Action::OpenThere
            | Action::OpenOutput
            | Action::ShowPrompt
            | Action::CopyReport
            | Action::FocusNext
            | Action::FocusPrevious
            | Action::IntoAgents
            | Action::Layout
            | Action::MouseToggle
            | Action::Suspend
            | Action::Accept
            | Action::ClearOrQuit
            | Action::Quit
            | Action::PlayOrPause
            | Action::NextSpeed
    );
    looks || action.only_moves()
}

/// Returns `true` if an effect reaches nothing but the terminal, and changes nothing.
pub(in crate::app) fn is_harmless(effect: &Effect) -> bool {
    match effect {
        Effect::Copy(_)
        | Effect::ReadLog(_)
        | Effect::Suspend
        | Effect::CaptureMouse(_)
        | Effect::SetTheme(_)
        | Effect::Playback(_)
        | Effect::Quit => true,
        Effect::Command(_)
        | Effect::AgentFiles(_)
        | Effect::Memory(_)
        | Effect::ListSkills
        | Effect::EditSkill(_)
        | Effect::ListModels
        | Effect::RunStatusLine(_)
        | Effect::ListSessions
        | Effect::OpenSession(_)
        | Effect::PlanRewind { .. }
        | Effect::EditText(_)
        | Effect::Page(_)
        | Effect::SaveHistory(_)
        | Effect::ListFiles
        | Effect::TellStatus(_)
        | Effect::Notify(_)
        | Effect::Remember(_)
        | Effect::AttachPicture { .. }
        | Effect::Export { .. } => false,
    }
}
