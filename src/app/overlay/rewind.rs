//! Going back to an earlier message: which one, what would come back, and taking it back.
//!
//! Owns the words for it. Leaves working out what would come back to the front end, and doing it to the engine.
//! Invariants: nothing is taken back that was not shown, and nothing while anything runs.

use std::fmt::Write as _;

use super::list::{self as lists, ListCell, ListEntry, ListPopup, ListStyle, cell};
use super::popup::Popup;
use crate::agent::{RewoundFile, rewound_words};
use crate::app::agents::worktrees::{SHOWN_LINES, described};
use crate::app::{Action, App, Effect, RunningCommand};
use crate::message::format::{counted, line_changes, words_of};
use crate::message::sanitize_line;
use crate::subagent::{Command, PlannedFile, RewindPlan, RewindRequest};

/// Characters of the line of a command that goes on.
const LINE_CHARS: usize = 80;

/// What the user is shown before anything is taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct RewindView {
    /// How many messages go.
    messages: usize,
    /// The first of them.
    said: String,
    /// `None` while it is worked out.
    plan: Option<RewindPlan>,
    /// Commands that ran when it was.
    running: Vec<RunningCommand>,
    pub scroll: usize,
}

impl Eq for RewindView {}

/// Opens the list of messages to go back to.
pub(in crate::app) fn open(app: &mut App) {
    if app.agents.is_busy() {
        app.out.warn(format!("still running: {}; wait or stop, then rewind", app.agents.running_words()));
    } else if app.agents.main().cells.said_by_user().next().is_none() {
        app.out.inform("no message to go back to");
    } else {
        app.overlay.open(Popup::List(ListPopup::new(&lists::REWIND, 0)));
    }
}

pub(in crate::app) fn entries(app: &App) -> Vec<ListEntry> {
    let row = |(at, (_, said)): (usize, (_, &str))| {
        let number = cell(format!("{:>3} ", at + 1), ListStyle::Muted);
        let text = ListCell { gives_way: true, ..cell(sanitize_line(said), ListStyle::Text) };
        ListEntry::new(format!("{}", at + 1), vec![number, text])
    };
    app.agents.main().cells.said_by_user().enumerate().map(row).collect()
}

/// Shows what would come back with the chosen message.
pub(in crate::app) fn accept(app: &mut App, list: &ListPopup) {
    let Some((_, said)) = app.agents.main().cells.said_by_user().nth(list.chosen) else { return };
    let (messages, said) = (list.chosen + 1, said.to_owned());
    app.overlay.open(Popup::Rewind(Box::new(RewindView {
        messages,
        said,
        plan: None,
        running: Vec::new(),
        scroll: 0,
    })));
    app.out.push(Effect::PlanRewind { messages });
}

/// Takes in what would come back, if that is still asked.
pub(in crate::app) fn planned(app: &mut App, messages: usize, plan: RewindPlan) {
    if let Some(Popup::Rewind(view)) = app.overlay.popup_mut()
        && view.messages == messages
    {
        view.plan = Some(plan);
        view.running = app.commands.going_on();
        app.out.redraw();
    }
}

/// Takes back what the action names. Does nothing with what is not known yet, or not there.
pub(in crate::app) fn act(app: &mut App, action: Action) {
    let Some(Popup::Rewind(view)) = app.overlay.popup() else { return };
    let Some(plan) = &view.plan else { return };
    let (talk, files) = match action {
        Action::RewindConversation => (true, false),
        Action::RewindFiles => (false, true),
        _ => (true, true),
    };
    if files && !talk && plan.files.is_empty() {
        app.out.inform("no files to restore");
        return;
    }
    let request = RewindRequest {
        messages: if talk { view.messages } else { 0 },
        said: view.said.clone(),
        files: if files { plan.files.iter().map(|file| file.rewind.clone()).collect() } else { Vec::new() },
    };
    app.overlay.close();
    app.out.send(Command::Rewind(request));
}

/// Takes in that messages and files were taken back.
pub(in crate::app) fn rewound(app: &mut App, messages: usize, files: &[RewoundFile], left: &[(String, String)]) {
    if let Some(said) = app.agents.rewind(messages)
        && app.playback.is_none()
        && app.messages.composer().is_empty()
        && app.messages.target().is_none()
    {
        app.messages.composer_mut().set_text(&said);
        app.edited();
    }
    app.notice(&rewound_words(messages, files, left));
}

impl RewindView {
    /// Says what would come back, in Markdown.
    pub fn body(&self) -> String {
        let Some(plan) = &self.plan else { return "checking what would be restored…".to_owned() };
        let mut body =
            format!("{} · back to before “{}”\n", counted(self.messages, "message"), words_of(&self.said, 100));
        for remark in rewind_remarks(plan, &self.running) {
            let _ = write!(body, "\n{}\n", remark.replace('*', "\\*"));
        }
        let mut left = SHOWN_LINES;
        for PlannedFile { shown, diff, .. } in &plan.files {
            body.push_str(&described(shown, &line_changes(diff.added, diff.removed), diff, &mut left));
        }
        body
    }
}

/// Says what of the files stays, what goes on beside them, and how many would change, a line each.
pub fn rewind_remarks(plan: &RewindPlan, running: &[RunningCommand]) -> Vec<String> {
    let mut remarks: Vec<String> =
        plan.stays.iter().map(|(path, why)| format!("{path} is not restored: {why}")).collect();
    let outside = [(plan.commands, "command"), (plan.merges, "merge")].into_iter();
    let outside: Vec<String> =
        outside.filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
    if !outside.is_empty() {
        remarks.push(format!("The effects of {} are not undone.", outside.join(" and ")));
    }
    remarks.extend(plan.notes.iter().cloned());
    remarks.extend(running.iter().map(|command| {
        let line = words_of(&command.line, LINE_CHARS);
        format!("{line} goes on, and may change files again: {} stops it.", command.stop)
    }));
    remarks.push(match plan.files.len() {
        0 => "No files would change.".to_owned(),
        count => format!("{} would change:", counted(count, "file")),
    });
    remarks
}
