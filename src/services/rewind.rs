//! What would come back if the user went back to an earlier message.
//!
//! Owns reading that from the log. Leaves the copies of files to `tool`, and taking anything back to the conversation.
//! Invariant: nothing is changed here.

use std::path::{Path, PathBuf};

use crate::agent::{Author, EventKind, LogEvent, SessionEvent, ToolEvent, WorktreeNews};
use crate::message::{AgentId, sanitize_line};
use crate::session::{MergedRecords, SessionError, Store};
use crate::subagent::{PlannedFile, RewindPlan};
use crate::tool::{ChangedFiles, FileCopies, FilePlan, FileVersions};

/// What happened since a message, as far as it matters here.
#[derive(Debug, Default)]
struct Since {
    /// Where each message of the user begins among the rest.
    messages: Vec<usize>,
    happened: Vec<Happened>,
}

#[derive(Debug)]
enum Happened {
    Changed(PathBuf, Option<FileVersions>),
    Ran,
    Merged,
}

/// Works out what would come back if the user's last `messages` messages were taken back; paths below `cwd` are shown
/// relative to it. Blocks.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub fn plan_rewind(store: &Store, cwd: &Path, messages: usize) -> Result<RewindPlan, SessionError> {
    let mut since = Since::default();
    for line in MergedRecords::of_session(store.dir())? {
        if matters(&line.line.bytes)
            && let Ok(record) = line.line.record::<LogEvent>()
        {
            since.add(record.body);
        }
    }
    let first = messages.checked_sub(1).and_then(|last| since.messages.iter().rev().nth(last));
    let Some(first) = first.copied() else { return Ok(RewindPlan::default()) };
    let copies = FileCopies::below(store.copies_dir());
    let (mut plan, mut files) = (RewindPlan::default(), ChangedFiles::default());
    for happened in since.happened.drain(first..) {
        match happened {
            Happened::Changed(path, versions) => files.add(&path, versions, &copies),
            Happened::Ran => plan.commands += 1,
            Happened::Merged => plan.merges += 1,
        }
    }
    for file in files.plan(&copies) {
        match file {
            FilePlan::Ready(rewind, diff) => {
                plan.files.push(PlannedFile { shown: shown(&rewind.path, cwd), rewind, diff });
            }
            FilePlan::Stays(path, why) => plan.stays.push((shown(&path, cwd), why)),
        }
    }
    Ok(plan)
}

/// Returns `true` if a line may be about something that matters here: most of a session is something else.
fn matters(line: &[u8]) -> bool {
    /// What the lines of these events have; in a text the quotes would be escaped.
    const SIGNS: [&[u8]; 6] = [
        b"\"event\":\"user_message\"",
        b"\"event\":\"tool_ended\"",
        b"\"event\":\"tool_started\"",
        b"\"event\":\"worktree\"",
        b"\"event\":\"cleared\"",
        b"\"event\":\"rewound\"",
    ];
    SIGNS.iter().any(|sign| memchr::memmem::find(line, sign).is_some())
}

impl Since {
    fn add(&mut self, event: LogEvent) {
        match event {
            LogEvent::Session { event: SessionEvent::Cleared, .. } => *self = Self::default(),
            LogEvent::Session { event: SessionEvent::Rewound { messages, files, .. }, .. } => {
                let left = self.messages.len().saturating_sub(messages);
                self.messages.truncate(left);
                self.happened.extend(files.into_iter().map(|file| Happened::Changed(file.path, Some(file.versions))));
            }
            LogEvent::Agent(event) => match event.kind {
                EventKind::UserMessage { by: Author::User, .. } if event.agent == AgentId::MAIN => {
                    self.messages.push(self.happened.len());
                }
                EventKind::Tool(ToolEvent::Started { call, .. }) if call.name == "Bash" => {
                    self.happened.push(Happened::Ran);
                }
                EventKind::Tool(ToolEvent::Ended { changes, .. }) => {
                    let changed = changes.into_iter().map(|change| Happened::Changed(change.path, change.versions));
                    self.happened.extend(changed);
                }
                EventKind::Worktree { news: WorktreeNews::Merged { .. } } => self.happened.push(Happened::Merged),
                _ => {}
            },
            LogEvent::Session { .. } => {}
        }
    }
}

fn shown(path: &Path, cwd: &Path) -> String {
    sanitize_line(&path.strip_prefix(cwd).unwrap_or(path).to_string_lossy()).into_owned()
}
