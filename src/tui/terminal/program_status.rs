//! What the terminal is told of the agents, as escape sequences.
//!
//! Owns the title, records of program status (OSC 7501) and progress (OSC 9;4), and which of them suit a terminal. Sources
//! of the formats: the program status protocol, revision 0.3; the documentation of `ConEmu`. Invariants: records are written
//! only to a terminal that has answered the question about them; whatever names hold, nothing ends a sequence early; what
//! was written is taken back at the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{through_tmux, title_sequence};
use crate::app::{AgentStatus, ProgramState, ProgramStatus};
use crate::message::sanitize_line;
use crate::program::SearchPath;

/// Asks a terminal whether it keeps records. One that does answers with the same bytes.
pub const QUESTION: &[u8] = b"\x1b]7501;?\x1b\\";
/// Most bytes of a title: 192 as text.
const TITLE_BYTES: usize = 192;

/// Tells the terminal how the agents are.
#[derive(Debug)]
pub struct StatusReporter {
    /// Whether the terminal keeps records, once it has said so.
    keeps_records: Arc<AtomicBool>,
    /// Whether it shows progress; in tmux, once that has said which terminal it is.
    shows_progress: Arc<AtomicBool>,
    /// Whether tmux has to hand progress on.
    in_tmux: bool,
    /// The bodies that were written, by id.
    records: BTreeMap<String, String>,
    progress: &'static str,
    title: String,
}

impl StatusReporter {
    /// Returns one that sets the title, and shows progress if `shows_progress`. Records wait for
    /// [`answered`](Self::answered).
    #[must_use]
    pub fn new(shows_progress: bool) -> Self {
        Self {
            keeps_records: Arc::default(),
            shows_progress: Arc::new(AtomicBool::new(shows_progress)),
            in_tmux: false,
            records: BTreeMap::new(),
            progress: NO_PROGRESS,
            title: String::new(),
        }
    }

    /// Returns one for a terminal with these variables. In tmux, which says which terminal it is in, it finds that out
    /// beside the caller.
    #[must_use]
    pub fn of_terminal(variable: impl Fn(&str) -> Option<String>, search: &SearchPath) -> Self {
        let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let mut reporter = Self::new(shows_progress(&variable));
        reporter.in_tmux = is_set("TMUX") && !is_set("STY") && !is_set("ZELLIJ");
        if let (true, Some(tmux)) = (reporter.in_tmux, search.find("tmux")) {
            let shows = reporter.shows_progress.clone();
            std::thread::spawn(move || {
                let is_known = terminal_of(&tmux).is_some_and(|name| knows_progress(&name));
                shows.store(is_known, Ordering::Relaxed);
            });
        }
        reporter
    }

    /// Returns what is set once the terminal has answered.
    #[must_use]
    pub fn answered(&self) -> Arc<AtomicBool> {
        self.keeps_records.clone()
    }

    /// Returns what tells the terminal of a change.
    pub fn bytes(&mut self, status: &ProgramStatus) -> Vec<u8> {
        let mut bytes = String::new();
        if status.title != self.title {
            self.title.clone_from(&status.title);
            bytes.push_str(&title_sequence(&status.title));
        }
        if self.shows_progress.load(Ordering::Relaxed) {
            bytes.push_str(&self.progress(progress_of(status)));
        }
        if self.keeps_records.load(Ordering::Relaxed) {
            let main = (String::new(), format!("{}:app=belvedere", state_words(status.main)));
            let agents = status.agents.iter().map(|agent| (id_of(agent), body_of(agent)));
            bytes.push_str(&self.put(std::iter::once(main).chain(agents).collect()));
        }
        bytes.into_bytes()
    }

    /// Returns what takes back all that the terminal was told, but for its title.
    pub fn take_back(&mut self) -> Vec<u8> {
        let progress = self.progress(NO_PROGRESS);
        let records = if std::mem::take(&mut self.records).is_empty() { "" } else { "\x1b]7501;state=clear\x1b\\" };
        (progress + records).into_bytes()
    }

    fn progress(&mut self, progress: &'static str) -> String {
        if std::mem::replace(&mut self.progress, progress) == progress {
            return String::new();
        }
        let sequence = format!("\x1b]9;4;{progress}\x1b\\");
        if self.in_tmux { through_tmux(&sequence) } else { sequence }
    }

    fn put(&mut self, records: BTreeMap<String, String>) -> String {
        // To clear one clears those below it: they are written after that.
        let gone: Vec<String> = self.records.keys().filter(|id| !records.contains_key(*id)).cloned().collect();
        for id in &gone {
            self.records.retain(|known, _| known != id && !known.starts_with(&format!("{id}/")));
        }
        let cleared = gone.iter().map(|id| format!("\x1b]7501;state=clear:id={id}\x1b\\"));
        let changed = records.iter().filter(|(id, body)| self.records.get(*id) != Some(body));
        let changed = changed.map(|(id, body)| {
            let id = if id.is_empty() { String::new() } else { format!(":id={id}") };
            format!("\x1b]7501;state={body}{id}\x1b\\")
        });
        let bytes = cleared.chain(changed).collect();
        self.records = records;
        bytes
    }
}

const NO_PROGRESS: &str = "0;0";

/// Returns state and percentage of OSC 9;4: nobody knows how much is left, so it only moves, or waits.
fn progress_of(status: &ProgramStatus) -> &'static str {
    let asks = |state| matches!(state, ProgramState::NeedsPermission | ProgramState::NeedsAnswer);
    match status.main {
        state if asks(state) || status.agents.iter().any(|agent| asks(agent.state)) => "4;100",
        ProgramState::Working => "3;0",
        _ => NO_PROGRESS,
    }
}

fn state_words(state: ProgramState) -> &'static str {
    match state {
        ProgramState::Idle => "idle",
        ProgramState::Working => "working",
        ProgramState::NeedsPermission => "blocked:kind=permission",
        ProgramState::NeedsAnswer => "blocked:kind=question",
        ProgramState::Done => "done",
        ProgramState::Failed => "error",
    }
}

fn id_of(agent: &AgentStatus) -> String {
    agent.path.iter().map(u32::to_string).collect::<Vec<_>>().join("/")
}

fn body_of(agent: &AgentStatus) -> String {
    let title = sanitize_line(&format!("{}: {}", agent.name, agent.task)).into_owned();
    let title = &title[..title.floor_char_boundary(TITLE_BYTES)];
    format!("{}:title={}", state_words(agent.state), STANDARD.encode(title))
}

/// Returns `true` if a terminal with these variables may keep records, and is asked. One that prints what it does not know is
/// not; tmux hands on no answer, so that it gets no records.
pub fn is_kept(variable: impl Fn(&str) -> Option<String>) -> bool {
    let term = variable("TERM").unwrap_or_default();
    variable("STY").is_none() && !["linux", "dumb", "screen"].iter().any(|name| term.starts_with(name))
}

/// Returns `true` if a terminal with these variables shows progress. Others take the sequence for a notification.
pub fn shows_progress(variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if ["TMUX", "STY", "ZELLIJ"].into_iter().any(is_set) {
        return false;
    }
    let program = variable("TERM_PROGRAM").unwrap_or_default();
    let version = variable("TERM_PROGRAM_VERSION").unwrap_or_default();
    is_set("WT_SESSION")
        || variable("ConEmuANSI").is_some_and(|value| value == "ON")
        || knows_progress(&format!("{program} {version}"))
}

/// Returns `true` if a terminal of this name and version shows progress.
fn knows_progress(name: &str) -> bool {
    let (program, version) = name.split_once(' ').unwrap_or((name, ""));
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.trim().parse().ok()).collect();
    match program.to_lowercase().as_str() {
        "ghostty" => numbers >= vec![1, 2],
        "iterm.app" | "iterm2" => numbers >= vec![3, 6, 6],
        _ => false,
    }
}

/// Returns name and version of the terminal that tmux is shown in, as that has answered it.
fn terminal_of(tmux: &Path) -> Option<String> {
    let mut command = Command::new(tmux);
    command.args(["display-message", "-p", "#{client_termtype}"]).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
