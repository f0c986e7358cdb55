//! What `App::update` asks of the world. Plain data; `tui::effect_runner` does it.

use std::path::PathBuf;

use super::agent_files::FileRequest;
use super::agents::program_status::ProgramStatus;
use super::composer::pictures::PictureSource;
use super::settings::choices::UserChoice;
use super::settings::status_command::StatusLineFacts;
use super::timeline::PlaybackRequest;
use super::view::log_scrollback::LogRequest;
use crate::memory::MemoryRequest;
use crate::message::ExportFormat;
use crate::subagent::Command;

#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    Command(Command),
    /// Read or change agent files; what comes of it arrives as `Event::AgentFiles`.
    AgentFiles(FileRequest),
    /// Read a part of an agent's log; it comes back as `Event::LogRead`.
    ReadLog(LogRequest),
    /// List or change memory files; what comes of it arrives as `Event::Memory`.
    Memory(MemoryRequest),
    /// Read a picture and keep it; what comes of it arrives as `Event::Picture`.
    AttachPicture {
        source: PictureSource,
        /// Which of those that are being read.
        place: u32,
    },
    /// Tell the command of the user's status line of the session; its rows come back as `Event::StatusLineWritten`.
    RunStatusLine(StatusLineFacts),
    /// Read skills and commands anew; they come back as `Event::SkillsListed`.
    ListSkills,
    /// Open a skill or a command that is in the list in the editor.
    EditSkill(PathBuf),
    /// List the models to choose from; they come back as `Event::ModelsListed`.
    ListModels,
    /// List the sessions to go on with; they come back as `Event::SessionsListed`.
    ListSessions,
    /// Leave this session, in which nothing runs, and go on with the one of this name.
    OpenSession(String),
    /// Work out what would come back with the user's last messages; it comes back as `Event::RewindPlanned`.
    PlanRewind {
        messages: usize,
    },
    Copy(String),
    EditText(String),
    Page(String),
    SaveHistory(String),
    /// List the project's files; they come back as `Event::FilesListed`.
    ListFiles,
    /// Put the program into the background, as `ctrl+z` does elsewhere.
    Suspend,
    /// Tell the terminal how the agents are.
    TellStatus(Box<ProgramStatus>),
    /// Notify the user, who looks elsewhere.
    Notify(String),
    /// Switch the reporting of the mouse on or off.
    CaptureMouse(MouseCapture),
    SetTheme(String),
    /// Find this again at the next start.
    Remember(UserChoice),
    /// Write the session to a file; its path comes back as `Event::Exported`.
    Export {
        format: ExportFormat,
        /// Where, as the user wrote it; in the folder of the program's own files unless given.
        place: Option<String>,
    },
    /// Asks for something of the replay.
    Playback(PlaybackRequest),
    Quit,
}

/// Whether the terminal reports the mouse to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseCapture {
    On,
    /// The terminal keeps it, for its own selection.
    Off,
}
