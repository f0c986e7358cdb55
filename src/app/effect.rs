//! What `App::update` asks of the world. Plain data; `tui::perform` does it.

use super::agent_files::FileRequest;
use super::settings::choices::UserChoice;
use super::view::log_scrollback::LogRequest;
use crate::subagent::Command;

/// One thing to be done outside of the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Ask the tree of agents for something.
    Engine(Command),
    /// Read or change agent files; what comes of it arrives as `Event::AgentFiles`.
    AgentFiles(FileRequest),
    /// Read a part of an agent's log; it comes back as `Event::LogRead`.
    ReadLog(LogRequest),
    /// Put a text on the clipboard.
    Copy(String),
    /// Open the draft in `$EDITOR`; it comes back as `Event::Edited`.
    EditText(String),
    /// Show a text in `$PAGER`.
    Page(String),
    /// Append a message to the history file.
    SaveHistory(String),
    /// List the project's files; they come back as `Event::FilesListed`.
    ListFiles,
    /// Put the program into the background, as `ctrl+z` does elsewhere.
    Suspend,
    /// Set the terminal's title.
    SetTitle(String),
    /// Tell the user, who looks elsewhere, that something needs a look.
    Notify(String),
    /// Switch the reporting of the mouse on or off.
    CaptureMouse(MouseCapture),
    /// Draw in the theme of this name.
    SetTheme(String),
    /// Find this again at the next start.
    Remember(UserChoice),
    /// Write a text to a new file.
    Export {
        text: String,
        /// Where, as the user wrote it; in the folder of the program's own files unless given.
        place: Option<String>,
    },
    /// Leave.
    Quit,
}

/// Whether the terminal reports the mouse to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseCapture {
    /// The program gets the mouse.
    On,
    /// The terminal keeps it, for its own selection.
    Off,
}
