//! The commands that go on by themselves, as rows of the screen.
//!
//! Owns what each is, what it has printed last, and which one is chosen. Leaves those of the user's own to their cells in
//! the conversation, and ending them to the tree. Invariants: what is kept of an output is bounded; no row moves while
//! commands run: those that have ended go with the next message of the user.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::input::Handled;
use super::{Action, App, Outbox, Popup};
use crate::agent::AgentEvent;
use crate::message::format::counted;
use crate::message::{AgentId, reveal_line, sanitize, sanitize_line};
use crate::subagent::Command;
use crate::tool::{CommandEvent, EndedBy};

/// Bytes that are kept of an output.
const MAX_OUTPUT: usize = 64 << 10;
/// Rows that stand there at a time, besides the heading.
const MAX_ROWS: usize = 4;

/// A command that an agent has left running.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandView {
    pub id: String,
    pub owner: AgentId,
    /// The command line, on one line.
    pub line: String,
    pub state: CommandState,
    pub since: Instant,
    /// The end of what it printed.
    pub output: String,
    /// Whether more was printed before that.
    pub is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    Running,
    Stopping,
    Ended { how: String, is_error: bool, was_stopped: bool, took: Duration },
}

impl CommandView {
    pub fn is_running(&self) -> bool {
        !matches!(self.state, CommandState::Ended { .. })
    }

    /// Returns how long it has run.
    pub fn elapsed(&self, now: Instant) -> Duration {
        match &self.state {
            CommandState::Ended { took, .. } => *took,
            _ => now.saturating_duration_since(self.since),
        }
    }

    /// Returns what it does, or how it ended, in a word or two.
    pub fn state_words(&self) -> &str {
        match &self.state {
            CommandState::Running => "running",
            CommandState::Stopping => "stopping",
            CommandState::Ended { how, .. } => how,
        }
    }

    pub fn last_line(&self) -> &str {
        self.output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default()
    }

    fn append(&mut self, text: &str) {
        self.output.push_str(&sanitize(text));
        let surplus = self.output.len().saturating_sub(MAX_OUTPUT);
        if surplus > 0 {
            let from = self.output.ceil_char_boundary(surplus);
            let from = self.output[from..].find('\n').map_or(from, |line| from + line + 1);
            self.output.drain(..from);
            self.is_cut = true;
        }
    }
}

/// A command that goes on, and what stops it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCommand {
    pub line: String,
    pub stop: String,
}

#[derive(Debug, Default)]
pub(super) struct CommandRows {
    rows: Vec<CommandView>,
    chosen: usize,
    /// Whether it was clicked on, and nothing typed since.
    clicked: bool,
    /// The lines of those of the user's own that run, by their names.
    own: BTreeMap<String, String>,
}

impl CommandRows {
    pub(super) fn apply(&mut self, event: &AgentEvent, command: &CommandEvent, now: Instant) {
        match command {
            CommandEvent::Started { command_id, command, by_user: true } => {
                self.own.insert(command_id.clone(), reveal_line(command).into_owned());
            }
            CommandEvent::Started { command_id, command, .. } => self.rows.push(CommandView {
                id: command_id.clone(),
                owner: event.agent,
                line: reveal_line(command).into_owned(),
                state: CommandState::Running,
                since: now,
                output: String::new(),
                is_cut: false,
            }),
            CommandEvent::Output { command_id, text } => {
                if let Some(row) = self.find_mut(command_id) {
                    row.append(text);
                }
            }
            CommandEvent::Matched { .. } => {}
            CommandEvent::Ended { command_id, how, is_error, ended_by, tail, .. } => {
                self.own.remove(command_id);
                let Some(row) = self.find_mut(command_id) else { return };
                if row.output.is_empty() {
                    // The log keeps no more than this.
                    row.append(tail);
                }
                let took = now.saturating_duration_since(row.since);
                let was_stopped = *ended_by != EndedBy::Itself;
                let how = sanitize_line(how).into_owned();
                row.state = CommandState::Ended { how, is_error: *is_error && !was_stopped, was_stopped, took };
            }
        }
    }

    pub(super) fn all(&self) -> &[CommandView] {
        &self.rows
    }

    pub(super) fn get(&self, id: &str) -> Option<&CommandView> {
        self.rows.iter().find(|row| row.id == id)
    }

    fn find_mut(&mut self, id: &str) -> Option<&mut CommandView> {
        self.rows.iter_mut().rev().find(|row| row.id == id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn running(&self) -> usize {
        self.rows.iter().filter(|row| row.is_running()).count()
    }

    /// Returns `true` if a command of the user's own runs.
    pub(super) fn runs_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns how many rows they would like, with their heading.
    pub(super) fn wanted_rows(&self) -> u16 {
        match self.rows.len().min(MAX_ROWS) {
            0 => 0,
            rows => u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(1),
        }
    }

    pub(super) fn chosen(&self) -> usize {
        self.chosen.min(self.rows.len().saturating_sub(1))
    }

    pub(super) fn chosen_row(&self) -> Option<&CommandView> {
        self.rows.get(self.chosen())
    }

    pub(super) fn choose(&mut self, row: usize) {
        self.chosen = row.min(self.rows.len().saturating_sub(1));
    }

    /// Returns `true` if the chosen one was clicked on, and nothing typed since.
    pub(super) fn is_clicked(&self) -> bool {
        self.clicked
    }

    /// Forgets a click: something was typed.
    pub(super) fn unmark(&mut self) {
        self.clicked = false;
    }

    pub(super) fn move_by(&mut self, step: isize) {
        self.choose(self.chosen().saturating_add_signed(step));
    }

    /// Stops the command of this name, or says why not.
    pub(super) fn stop(&mut self, id: &str, out: &mut Outbox) {
        let Some(row) = self.find_mut(id) else { return };
        if !row.is_running() {
            return out.inform(format!("{id} has already ended"));
        }
        row.state = CommandState::Stopping;
        out.send(Command::StopCommand { id: id.to_owned() });
        out.inform(format!("stopping {id}"));
    }

    /// Lets those go that have ended.
    pub(super) fn forget_ended(&mut self) {
        self.rows.retain(CommandView::is_running);
        self.chosen = self.chosen();
    }

    /// Forgets those of an earlier run of the program: with it they have ended.
    pub(super) fn forget_all(&mut self) {
        *self = Self::default();
    }

    /// Returns the lines of all that run, each with what stops it.
    pub(super) fn going_on(&self) -> Vec<RunningCommand> {
        let rows = self.rows.iter().filter(|row| row.is_running());
        let rows = rows.map(|row| RunningCommand { line: row.line.clone(), stop: format!("/cancel {}", row.id) });
        let own = self.own.values().map(|line| RunningCommand { line: format!("!{line}"), stop: "esc".to_owned() });
        rows.chain(own).collect()
    }

    /// Names what runs, for questions about stopping it.
    pub(super) fn running_words(&self) -> Option<String> {
        match self.running() {
            0 => None,
            count => Some(counted(count, "background command")),
        }
    }
}

/// Does what an action means among the commands in the background.
pub(super) fn act(app: &mut App, action: Action) -> Handled {
    match action {
        Action::MoveUp => app.commands.move_by(-1),
        Action::MoveDown => app.commands.move_by(1),
        Action::Stop => {
            if let Some(id) = app.commands.chosen_row().map(|row| row.id.clone()) {
                app.commands.stop(&id, &mut app.out);
            }
        }
        Action::OpenOutput => open(app),
        _ => return Handled::Ignored,
    }
    Handled::Consumed
}

/// Stops the commands of the user's own. Returns `false` if none runs.
pub(super) fn stop_own(app: &mut App) -> bool {
    let runs = app.commands.runs_own();
    if runs {
        app.out.disarm();
        app.out.send(Command::StopUserCommands);
        app.out.inform("stopping your command");
    }
    runs
}

fn open(app: &mut App) {
    if let Some(id) = app.commands.chosen_row().map(|row| row.id.clone()) {
        // From its end on, which it follows.
        app.overlay.open(Popup::CommandOutput { id, scroll: usize::MAX });
    }
}

/// Takes a click on a row of the region. The first one chooses, the second one opens the output, or stops the command at
/// the sign for that.
pub(super) fn press(app: &mut App, row: u16, at_end: bool) {
    let area = app.regions().commands;
    let head = u16::from(area.height > 1);
    let Some(row) = row.checked_sub(head).map(usize::from) else { return };
    let fits = usize::from(area.height.saturating_sub(head));
    let row = first_row(app.commands.all().len(), fits, app.commands.chosen()) + row;
    let Some(id) = app.commands.all().get(row).map(|row| row.id.clone()) else { return };
    let was_marked = app.marked_command() == Some(row);
    app.commands.choose(row);
    app.commands.clicked = true;
    // The keyboard stays with what is being written.
    if was_marked && at_end {
        app.commands.stop(&id, &mut app.out);
    } else if was_marked {
        open(app);
    }
}

/// Returns the first row that is shown of so many, where so many fit and this one is chosen.
#[must_use]
pub fn first_row(count: usize, fits: usize, chosen: usize) -> usize {
    chosen.saturating_sub(fits.saturating_sub(1)).min(count.saturating_sub(fits))
}
