//! What would come back if the user went back to an earlier message.
//!
//! Owns reading that from the log, and where copies are kept. Leaves the copies of files to `tool`, and taking anything
//! back to the conversation. Invariant: nothing of the project is changed here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::agent::{Author, EventKind, LogEvent, SessionEvent, ToolEvent, WorktreeNews};
use crate::config::{Paths, ProjectRoot};
use crate::message::format::counted;
use crate::message::{AgentId, ToolInput, sanitize_line};
use crate::permission::{Answer, writes_nothing};
use crate::session::{MergedRecords, SessionError, Store};
use crate::subagent::{PlannedFile, RewindPlan, Tree};
use crate::tool::{ChangedFiles, CommandChanges, FileCopies, FilePlan, FileVersions, GitMoves, ProjectStates};

/// Names that are listed of ignored files.
const SHOWN_NAMES: usize = 8;
/// Files that are named with the reason why they stay.
const SHOWN_STAYS: usize = 40;

/// The folder of the states of projects, in the state directory.
const STATES: &str = "states";

/// Returns where a session keeps copies of files, and the states of its project.
pub(super) fn copies(store: Option<&Store>, paths: Option<&Paths>, ground: &ProjectRoot) -> FileCopies {
    let Some(store) = store else { return FileCopies::default() };
    let copies = FileCopies::below(store.copies_dir());
    // A home or a whole disk is no project, and too large.
    match paths.filter(|_| ground.is_project) {
        Some(paths) => copies.with_states(ProjectStates::of(ground.root.clone(), paths.state_dir.join(STATES))),
        None => copies,
    }
}

/// Takes down what a command has done that was cut off with the program.
pub(super) async fn recover(tree: &Tree) {
    let copies = tree.setup().copies.clone();
    let recovering = move || copies.states().and_then(|states| states.recover(&copies));
    if let Ok(Some(changes)) = tokio::task::spawn_blocking(recovering).await {
        let event = ToolEvent::TakenDown { call_id: String::new(), changes: Some(changes) };
        tree.setup().sink.emit_unhindered(AgentId::MAIN, event).await;
    }
}

/// What happened since a message, as far as it matters here.
#[derive(Debug, Default)]
struct Since {
    /// Where each message of the user begins among the rest.
    messages: Vec<usize>,
    happened: Vec<Happened>,
    /// Where commands began of which nothing is known yet, and by whose call.
    begun: Vec<(usize, AgentId, String)>,
}

#[derive(Debug)]
enum Happened {
    Changed(PathBuf, Option<FileVersions>),
    /// A command ran, and nothing was kept of what it did.
    Ran,
    /// A command ran; the copy of this number tells what it has changed.
    TakenDown(Option<u32>),
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
    let (mut left_out, mut git) = (BTreeSet::new(), GitMoves::default());
    for happened in since.happened.drain(first..) {
        match happened {
            Happened::Changed(path, versions) => files.add(&path, versions, &copies),
            Happened::Ran => plan.commands += 1,
            Happened::Merged => plan.merges += 1,
            Happened::TakenDown(None) => {}
            Happened::TakenDown(Some(number)) => match CommandChanges::read(number, &copies) {
                Some(changes) => {
                    changes.files.iter().for_each(|change| files.add_of_command(change, &copies));
                    changes.unkept.iter().for_each(|(path, why)| files.add_unkept(Path::new(path), why));
                    left_out.extend(changes.left_out.iter().map(|path| shown(Path::new(path), cwd)));
                    git.append(changes.git);
                }
                None => plan.commands += 1,
            },
        }
    }
    plan.notes = notes(&left_out, &git);
    for file in files.plan(&copies) {
        match file {
            FilePlan::Ready(rewind, diff) => {
                plan.files.push(PlannedFile { shown: shown(&rewind.path, cwd), rewind, diff });
            }
            FilePlan::Stays(path, why) => plan.stays.push((shown(&path, cwd), why)),
        }
    }
    let more = plan.stays.len().saturating_sub(SHOWN_STAYS);
    plan.stays.truncate(SHOWN_STAYS);
    if more > 0 {
        plan.notes.push(format!(
            "{} more {} not restored.",
            counted(more, "file"),
            if more == 1 { "is" } else { "are" }
        ));
    }
    Ok(plan)
}

/// Says what else commands have done that is not taken back, a line each.
fn notes(left_out: &BTreeSet<String>, git: &GitMoves) -> Vec<String> {
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().take(SHOWN_NAMES).map(String::as_str).collect();
        let more = left_out.len() - names.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        notes.push(format!("Ignored files are not restored; changed or deleted: {}{more}", names.join(", ")));
    }
    notes.extend(git.words().into_iter().map(|words| format!("git: {words}")));
    notes
}

/// Returns `true` if a line may be about something that matters here: most of a session is something else.
fn matters(line: &[u8]) -> bool {
    /// What the lines of these events have; in a text the quotes would be escaped.
    const SIGNS: [&[u8]; 8] = [
        b"\"event\":\"user_message\"",
        b"\"event\":\"tool_ended\"",
        b"\"event\":\"tool_started\"",
        b"\"event\":\"command_taken_down\"",
        b"\"event\":\"approval_resolved\"",
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
                EventKind::Tool(ToolEvent::Started { call, .. }) if call.name == "Bash" && may_write(&call.input) => {
                    self.begun.push((self.happened.len(), event.agent, call.id));
                    self.happened.push(Happened::Ran);
                }
                EventKind::Tool(ToolEvent::TakenDown { call_id, changes }) => {
                    self.know_of(event.agent, &call_id);
                    self.happened.push(Happened::TakenDown(changes));
                }
                // What ran before that, in the sandbox, is known already.
                EventKind::Tool(ToolEvent::ApprovalResolved {
                    id,
                    answer: Some(Answer::No { .. } | Answer::Nobody { .. }),
                    ..
                }) => self.know_of(id.agent, &id.call_id),
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

impl Since {
    /// Takes in that it is known what a call's command did, or that it did not run. One that was cut off is told of later,
    /// without its call.
    fn know_of(&mut self, agent: AgentId, call: &str) {
        let is_it =
            |(_, whose, id): &(usize, AgentId, String)| call.is_empty() || *whose == agent && id.as_str() == call;
        if let Some(place) = self.begun.iter().rposition(is_it) {
            let (at, ..) = self.begun.remove(place);
            self.happened[at] = Happened::TakenDown(None);
        }
    }
}

/// Returns `true` if a command may have changed something.
fn may_write(input: &ToolInput) -> bool {
    let ToolInput::Object(fields) = input else { return false };
    let line = ["command", "cmd"].iter().find_map(|name| fields.get(*name)?.as_str());
    line.is_none_or(|line| !writes_nothing(line))
}

fn shown(path: &Path, cwd: &Path) -> String {
    sanitize_line(&path.strip_prefix(cwd).unwrap_or(path).to_string_lossy()).into_owned()
}
