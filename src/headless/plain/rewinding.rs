//! Going back to an earlier message, in a session of lines.
//!
//! Owns which messages there are, and what was written of one. Leaves the words they share with the screen to `app`.
//! Invariant: nothing is taken back that was not written out before.

use super::rows::{changed, set_in};
use super::session::Session;
use crate::agent::{Author, EventKind, LogEvent, SessionEvent};
use crate::app::rewind_remarks;
use crate::message::format::{counted, line_changes, words_of};
use crate::message::{sanitize, sanitize_line};
use crate::services::plan_rewind;
use crate::subagent::{Command, PlannedFile, RewindPlan, RewindRequest};

/// Characters of a message in the list.
const MAX_WORDS: usize = 100;
/// Lines of differences that are written.
const MAX_LINES: usize = 200;

/// The messages of the user, and what was shown of one of them.
#[derive(Debug, Default)]
pub(super) struct Rewinding {
    said: Vec<String>,
    /// How many messages go, and what would come back with them.
    shown: Option<(usize, RewindPlan)>,
}

impl Rewinding {
    pub(super) fn apply(&mut self, event: &LogEvent) {
        match event {
            LogEvent::Session { event: SessionEvent::Cleared, .. } => *self = Self::default(),
            LogEvent::Session { event: SessionEvent::Rewound { messages, .. }, .. } => {
                self.said.truncate(self.said.len().saturating_sub(*messages));
                self.shown = None;
            }
            LogEvent::Agent(event) if event.agent.is_main() => {
                if let EventKind::UserMessage { text, by: Author::User, .. } = &event.kind {
                    self.said.push(sanitize(text).into_owned());
                    self.shown = None;
                }
            }
            _ => {}
        }
    }

    fn list(&self) -> Vec<String> {
        let row = |(at, said): (usize, &String)| format!("{:>3} {}", at + 1, words_of(&sanitize_line(said), MAX_WORDS));
        self.said.iter().rev().enumerate().map(row).collect()
    }
}

impl Session {
    /// Lists the messages, previews a rewind to one, or takes it back.
    pub(super) fn rewind_to(&mut self, words: &str) {
        let (number, what) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let list = self.rewinding.list();
        let messages = number.parse().ok().filter(|number| (1..=list.len()).contains(number));
        match (messages, &self.rewinding.shown) {
            _ if list.is_empty() => self.notice("no message to go back to"),
            (None, _) => {
                self.write(list);
                self.notice("/rewind N previews a rewind to one");
            }
            (Some(messages), Some((shown, plan))) if *shown == messages && !what.trim().is_empty() => {
                match request(messages, &self.rewinding.said, plan, what.trim()) {
                    Some(request) => self.order(Command::Rewind(request)),
                    None => self.notice(&usage(messages)),
                }
            }
            (Some(messages), _) => self.show_rewind(messages),
        }
    }

    fn show_rewind(&mut self, messages: usize) {
        let Some((store, cwd)) = self.exporter.kept() else {
            return self.notice("this session is not saved: nothing can be rewound");
        };
        match plan_rewind(store, cwd, messages) {
            Ok(plan) => {
                let mut lines = vec![format!("{} would be undone", counted(messages, "message"))];
                lines.extend(
                    rewind_remarks(&plan, &self.renderer.commands.going_on()).iter().map(|remark| set_in(remark)),
                );
                lines.extend(plan.files.iter().flat_map(file_rows).take(MAX_LINES));
                self.write(lines);
                self.rewinding.shown = Some((messages, plan));
                self.notice(&usage(messages));
            }
            Err(error) => self.notice(&error.to_string()),
        }
    }
}

fn usage(messages: usize) -> String {
    format!("to rewind: /rewind {messages} both, conversation or files")
}

/// Returns what the word asks for; `None` if it is none of the three.
fn request(messages: usize, said: &[String], plan: &RewindPlan, what: &str) -> Option<RewindRequest> {
    let (talk, files) = match what {
        "both" => (true, true),
        "conversation" => (true, false),
        "files" => (false, true),
        _ => return None,
    };
    Some(RewindRequest {
        messages: if talk { messages } else { 0 },
        said: said.iter().rev().nth(messages - 1)?.clone(),
        files: plan.files.iter().filter(|_| files).map(|file| file.rewind.clone()).collect(),
    })
}

/// Returns the rows of a file: a stranger may have named it, so that its name is set in too.
fn file_rows(file: &PlannedFile) -> Vec<String> {
    let head = format!("{} {}", file.shown, line_changes(file.diff.added, file.diff.removed));
    std::iter::once(set_in(&head)).chain(changed(Some(&file.diff))).collect()
}
