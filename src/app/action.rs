//! What a key can mean: a flat list of acts, each with a name and a description.
//!
//! Owns names and descriptions. Leaves keys to `keymap` and carrying out to the rest of `app`. Invariant: every
//! action is found by [`Action::all`], and its name is read back as the same action.

use super::keymap::Context;

/// Declares the actions once: variant, name in the keymap file, description for people.
macro_rules! actions {
    ($($variant:ident, $name:literal, $description:literal;)*) => {
        /// Something a key, the palette or a mouse click can ask for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Action {
            /// Focus the pane of the agent with this number, of which it is one digit.
            FocusAgent(u8),
            /// Change the answer to the wizard's step with this number, from 2 to 8.
            EditStep(u8),
            $(#[doc = $description] $variant,)*
        }

        /// The actions that are not numbered, with their names and descriptions.
        const NAMED: &[(Action, &str, &str)] = &[$((Action::$variant, $name, $description),)*];
    };
}

actions! {
    FocusNext, "focus-next", "focus the next region";
    FocusPrevious, "focus-previous", "focus the previous region";
    IntoAgents, "into-agents", "focus the agents (empty composer only)";
    MoveUp, "move-up", "select the agent above";
    MoveDown, "move-down", "select the agent below";
    MoveLeft, "move-left", "select the agent to the left";
    MoveRight, "move-right", "select the agent to the right";
    Fold, "fold", "fold or unfold the pane";
    ShowEnded, "show-ended", "show or fold ended agents";
    Grow, "grow", "enlarge the pane";
    Shrink, "shrink", "shrink the pane";
    Full, "full", "show the pane full screen";
    Leave, "leave", "go back (never stops an agent)";
    Message, "message", "message this agent";
    Stop, "stop", "stop this agent now";
    WrapUp, "wrap-up", "wrap up: report now in one last turn";
    Resume, "resume", "resume this agent";
    ResumeAll, "resume-all", "resume all interrupted agents";
    Background, "background", "move this agent to the background or foreground";
    StopAll, "stop-all", "stop all agents";
    ApproveOnce, "approve-once", "allow once";
    ApproveAlways, "approve-always", "allow for this session";
    ApproveEveryone, "approve-everyone", "allow all agents for this session";
    ApproveProject, "approve-project", "always allow in this project";
    Deny, "deny", "deny";
    DenyWithComment, "deny-with-comment", "deny with a reason";
    ShowAll, "show-all", "show the whole question";
    NextQuestion, "next-question", "show the next question";
    PreviousQuestion, "previous-question", "show the previous question";
    Remove, "remove", "revoke this permission";
    Restart, "restart", "restart this MCP server";
    Merge, "merge", "merge this worktree into the project";
    Discard, "discard", "discard this worktree (press twice)";
    Confirm, "confirm", "confirm";
    RewindBoth, "rewind-both", "rewind the conversation and the files";
    RewindConversation, "rewind-conversation", "rewind the conversation only";
    RewindFiles, "rewind-files", "rewind the files only";
    ShowPrompt, "show-prompt", "show the agent's task";
    CopyReport, "copy-report", "copy the agent's report";
    OpenPager, "open-pager", "open the transcript in $PAGER";
    Timeline, "timeline", "show the timeline of all agents";
    Earlier, "earlier", "move the cursor back";
    Later, "later", "move the cursor forward";
    PageEarlier, "page-earlier", "move the cursor back a page";
    PageLater, "page-later", "move the cursor forward a page";
    Beginning, "beginning", "jump to the start";
    Present, "present", "jump to now and follow";
    ZoomIn, "zoom-in", "zoom in at the cursor";
    ZoomOut, "zoom-out", "zoom out";
    ZoomFit, "zoom-fit", "zoom to fit";
    OpenThere, "open-there", "open the agent as of the cursor";
    PlayOrPause, "play-or-pause", "play or pause the replay";
    NextSpeed, "next-speed", "change the speed: ×1, ×10, to the end";
    Quit, "quit", "quit";
    Help, "help", "show all keys";
    Palette, "palette", "open the command palette";
    Model, "model", "choose the model, or one for the focused agent";
    Submit, "submit", "send the message";
    Newline, "newline", "insert a new line";
    HistorySearch, "history-search", "search sent messages";
    Stash, "stash", "put the text aside, or bring it back";
    Paste, "paste", "attach the image in the clipboard (text: your terminal's own key)";
    Editor, "editor", "edit the message in $EDITOR";
    CycleMode, "cycle-mode", "switch to the next permission mode";
    Interrupt, "interrupt", "press twice: interrupt the main agent (subagents keep running), or clear the text";
    ClearOrQuit, "clear-or-quit", "clear the text (undo restores it); on an empty composer, press twice to quit";
    DeleteOrQuit, "delete-or-quit", "delete the character; on an empty composer, press twice to quit";
    ScrollUp, "scroll-up", "scroll up a line";
    ScrollDown, "scroll-down", "scroll down a line";
    PageUp, "page-up", "scroll up a page";
    PageDown, "page-down", "scroll down a page";
    Top, "top", "go to the start";
    Bottom, "bottom", "go to the end and follow";
    Search, "search", "search in this view";
    SearchNext, "search-next", "go to the next match";
    SearchPrevious, "search-previous", "go to the previous match";
    OpenOutput, "open-output", "open the whole output of a call";
    FoldTools, "fold-tools", "fold or unfold tool output";
    Layout, "layout", "choose the layout (press again for the next one)";
    MouseToggle, "mouse-toggle", "toggle mouse capture (off: the terminal selects text)";
    Suspend, "suspend", "suspend the program";
    Accept, "accept", "select";
    AgentFiles, "agent-files", "list all agents and their files";
    NewAgent, "new-agent", "create an agent";
    EditAgent, "edit-agent", "edit the agent's file in $EDITOR";
    DuplicateAgent, "duplicate-agent", "duplicate the agent to another folder";
    DeleteAgent, "delete-agent", "delete the agent's file (asks first)";
    UseAgent, "use-agent", "mention this agent";
    ReloadAgents, "reload-agents", "reload all agent files";
    Back, "back", "go back a step";
    Toggle, "toggle", "check or uncheck";
}

/// What actions do where that is not what they do elsewhere: in a list, `up` chooses no agent.
const IN_PLACE: &[(Context, Action, &str)] = &[
    (Context::Composer, Action::PageUp, "scroll the conversation up a page"),
    (Context::Composer, Action::PageDown, "scroll the conversation down a page"),
    (Context::Composer, Action::OpenOutput, "show the pasted text at the cursor"),
    (Context::Composer, Action::Bottom, "go to the end of the line, then of the conversation"),
    (Context::Commands, Action::MoveUp, "select the command above"),
    (Context::Commands, Action::MoveDown, "select the command below"),
    (Context::Commands, Action::Stop, "stop this command and all that it has started"),
    (Context::Commands, Action::OpenOutput, "open the output of this command"),
    (Context::Commands, Action::Leave, "go back to the message (never stops a command)"),
    (Context::Agents, Action::Bottom, "go to the end of the transcript and follow"),
    (Context::Approvals, Action::Leave, "go back to the message; the question stays open"),
    (Context::Replay, Action::Present, "jump to the end"),
    (Context::Replay, Action::Earlier, "show an earlier moment"),
    (Context::Replay, Action::Later, "show a later moment"),
    (Context::Replay, Action::PageEarlier, "show a much earlier moment"),
    (Context::Replay, Action::PageLater, "show a much later moment"),
    (Context::AgentFiles, Action::Accept, "show this agent"),
    (Context::AgentFiles, Action::Search, "search the agents"),
    (Context::AgentFiles, Action::Bottom, "go to the end"),
    (Context::Popup, Action::MoveUp, "select the entry above"),
    (Context::Popup, Action::MoveDown, "select the entry below"),
    (Context::Popup, Action::PageUp, "go up ten entries"),
    (Context::Popup, Action::PageDown, "go down ten entries"),
    (Context::Popup, Action::Leave, "close the list"),
    (Context::Text, Action::Search, "filter the keys and commands"),
    (Context::Text, Action::Bottom, "go to the end"),
    (Context::Text, Action::Leave, "close the text"),
    (Context::Confirm, Action::Leave, "cancel"),
    (Context::Rewind, Action::Leave, "cancel"),
    (Context::Wizard, Action::Accept, "accept and continue"),
    (Context::Approvals, Action::Editor, "edit the plan or the report in $EDITOR"),
    (Context::Questions, Action::MoveUp, "select the option above"),
    (Context::Questions, Action::MoveDown, "select the option below"),
    (Context::Questions, Action::Accept, "answer with this"),
    (Context::Questions, Action::Leave, "close; the question stays open"),
    (Context::Wizard, Action::Editor, "edit the text in $EDITOR"),
    (Context::Wizard, Action::MoveUp, "select the row above"),
    (Context::Wizard, Action::MoveDown, "select the row below"),
    (Context::Wizard, Action::PageUp, "go up eight rows"),
    (Context::Wizard, Action::PageDown, "go down eight rows"),
    (Context::Wizard, Action::Stop, "stop drafting"),
    (Context::Wizard, Action::Leave, "close; your draft is kept"),
];

/// The numbered actions, with their names.
const NUMBERED: &[(Action, &str)] = &[
    (Action::FocusAgent(1), "focus-agent-1"),
    (Action::FocusAgent(2), "focus-agent-2"),
    (Action::FocusAgent(3), "focus-agent-3"),
    (Action::FocusAgent(4), "focus-agent-4"),
    (Action::FocusAgent(5), "focus-agent-5"),
    (Action::FocusAgent(6), "focus-agent-6"),
    (Action::FocusAgent(7), "focus-agent-7"),
    (Action::FocusAgent(8), "focus-agent-8"),
    (Action::FocusAgent(9), "focus-agent-9"),
    (Action::FocusAgent(0), "focus-agent-0"),
    (Action::EditStep(2), "edit-step-2"),
    (Action::EditStep(3), "edit-step-3"),
    (Action::EditStep(4), "edit-step-4"),
    (Action::EditStep(5), "edit-step-5"),
    (Action::EditStep(6), "edit-step-6"),
    (Action::EditStep(7), "edit-step-7"),
    (Action::EditStep(8), "edit-step-8"),
];

impl Action {
    pub fn all() -> impl Iterator<Item = Self> {
        Self::rows().map(|(action, _)| action)
    }

    /// Returns the actions with their names.
    fn rows() -> impl Iterator<Item = (Self, &'static str)> {
        NUMBERED.iter().copied().chain(NAMED.iter().map(|(action, name, _)| (*action, *name)))
    }

    /// Returns `true` for one of several actions that differ in a number only, and are described together.
    pub fn is_numbered(self) -> bool {
        matches!(self, Self::FocusAgent(_) | Self::EditStep(_))
    }

    /// Returns `true` if it means something in a replay only.
    pub(super) fn is_of_replays(self) -> bool {
        matches!(self, Self::PlayOrPause | Self::NextSpeed | Self::Quit)
    }

    /// Returns `true` if it does something to one subagent, or shows it.
    pub(super) fn is_about_an_agent(self) -> bool {
        let life = matches!(self, Self::Message | Self::Stop | Self::WrapUp | Self::Resume | Self::Background);
        life || matches!(self, Self::Fold | Self::Grow | Self::Shrink | Self::Full | Self::ShowPrompt)
    }

    /// Returns `true` if it changes nothing but what is chosen or shown, or opens a line to type in.
    pub(super) fn only_moves(self) -> bool {
        let chooses = matches!(self, Self::MoveUp | Self::MoveDown | Self::MoveLeft | Self::MoveRight);
        let sizes = matches!(self, Self::FocusAgent(_) | Self::Fold | Self::Grow | Self::Shrink | Self::FoldTools);
        let scrolls = matches!(self, Self::ScrollUp | Self::ScrollDown | Self::PageUp | Self::PageDown);
        let jumps = matches!(self, Self::Top | Self::Bottom | Self::Search | Self::SearchNext | Self::SearchPrevious);
        let times = matches!(self, Self::Earlier | Self::Later | Self::PageEarlier | Self::PageLater);
        let zooms = matches!(self, Self::Beginning | Self::Present | Self::ZoomIn | Self::ZoomOut | Self::ZoomFit);
        let looks = matches!(self, Self::ShowAll | Self::NextQuestion | Self::PreviousQuestion | Self::Help);
        chooses || sizes || scrolls || jumps || times || zooms || looks || self == Self::Leave
    }

    /// Returns the name used in the keymap file, in kebab case.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::rows().find(|(action, _)| *action == self).map_or("", |(_, name)| name)
    }

    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::FocusAgent(0) => "focus agent 10 and above: type its number",
            Self::FocusAgent(_) => "focus this agent (press again for full screen)",
            Self::EditStep(_) => "change the answer with this number",
            _ => NAMED.iter().find(|(action, ..)| *action == self).map_or("", |(.., description)| description),
        }
    }

    #[must_use]
    pub fn description_in(self, place: Context) -> &'static str {
        let own = IN_PLACE.iter().find(|(context, action, _)| *context == place && *action == self);
        own.map_or(self.description(), |(.., description)| description)
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::rows().find(|(_, known)| *known == name).map(|(action, _)| action)
    }
}
