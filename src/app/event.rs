//! What can happen to the app. Plain data; the present time comes beside it.

use std::sync::Arc;

use super::agent_files::FileNews;
use super::composer::History;
use super::composer::pictures::PictureNews;
use super::key::Input;
use super::scroll::Drawn;
use super::timeline::Playback;
use super::view::log_scrollback::LogNews;
use crate::agent::LogEvent;
use crate::definition::skill::ListedSkill;
use crate::memory::MemoryAnswer;
use crate::provider::offer::OfferedModel;
use crate::session::SessionSummary;
use crate::subagent::RewindPlan;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Something happened to an agent, or to the session.
    Log(Arc<LogEvent>),
    Input(Input),
    Wakeup,
    /// A frame was drawn, and this is what it showed.
    Drawn(Drawn),
    /// The project's files were listed, relative to its root.
    FilesListed(Vec<String>),
    /// The file of former messages was read.
    HistoryLoaded(History),
    /// The models to choose from.
    ModelsListed {
        models: Vec<OfferedModel>,
        /// Whether all services have been asked.
        is_whole: bool,
    },
    /// The sessions to go on with, the latest first.
    SessionsListed(Vec<SessionSummary>),
    /// What would come back with so many of the user's last messages.
    RewindPlanned {
        messages: usize,
        plan: RewindPlan,
    },
    /// What the command of the user's status line has written.
    StatusLineWritten(Vec<String>),
    /// The skills and commands that there are, the strongest first.
    SkillsListed(Arc<[ListedSkill]>),
    /// What came of a request for memory files.
    Memory(MemoryAnswer),
    /// What came of a picture that was pasted.
    Picture {
        place: u32,
        news: PictureNews,
    },
    BranchKnown(Option<String>),
    /// A part of an agent's log was read back.
    LogRead(LogNews),
    /// Something was read from, or came of a change to, the agent files.
    AgentFiles(FileNews),
    /// The editor was closed; `None` if it failed.
    Edited(Option<String>),
    Exported(String),
    /// Which moment of a recorded session is shown from now on.
    Playback(Playback),
    Terminate,
    /// Something outside failed; says what to do.
    Error(String),
    /// Something to draw is ready, such as highlighted code.
    Refresh,
}
