//! What can be done: one trait for every tool, and the tools that read, write, search and run.
//!
//! Owns input decoding, effects and bounded results. Leaves asking for permission to `agent`, which calls
//! [`Tool::prepare`], decides on the plan's access, and only then calls [`Tool::run`]. Invariant: no tool touches
//! anything before `run`, uses process-wide state, or waits without watching its cancel token.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use self::search::ignores::Ignores;
use crate::message::{FileDiff, HostPort, INTERRUPTED, LoadedSkill, ResultPart, ToolSpec};
use crate::permission::{Access, AccessKind, PermissionMode, Preview, ToolKind};

mod background;
mod bash;
mod blocking;
mod call;
mod choice;
mod edit;
mod editor_files;
mod file;
mod foreign;
mod glob;
mod grep;
mod input;
mod limit;
mod ls;
mod lsp;
mod pdf;
mod process;
mod read;
mod scripted;
mod search;
mod set;
mod snapshot;
mod symbols;
mod todo_write;
mod web;
mod write;

pub use background::{BackgroundCommands, CommandEvent, CommandHost, CommandListener, CommandLook, EndedBy};
pub use call::{AnyTool, ParsedCall, PreparedCall};
pub use choice::BuiltInTools;
pub use editor_files::{AskEditor, EditorFiles};
pub use file::copies::{FileCopies, FileVersions};
pub use file::diff::diff_files;
pub use file::freshness::{Freshness, Knowledge, Stamp};
pub use file::path::asked_title;
pub use file::rewind::{ChangedFiles, FilePlan, FileRewind};
pub use file::writers::{Writers, Written};
pub use foreign::{PlainCall, plain_call, why_not};
pub use input::{PlainArgs, schema_of};
pub use limit::bound_text;
pub use lsp::LanguageServers;
pub use pdf::read_document_if_asked;
pub use process::inside::ProgramBounds;
pub use process::supervisor::supervise_if_asked;
pub use process::user_program::{UserCommand, UserProgram, UserProgramEnd};
pub use process::{ServedProgram, Shell};
pub use scripted::{ScriptedResult, ScriptedTool, ToolScriptError};
pub use search::walk::check_threads;
pub use set::{LateTools, ToolNotes, ToolSet};
pub use snapshot::changes::{CommandChange, CommandChanges};
pub use snapshot::{GitMoves, ProjectStates, TakenDown};
pub use todo_write::{Todo, TodoStatus};
pub use web::{
    FetchSecret, Fetcher, HostLookup, SearchAnswer, SearchCall, SearchEngine, SearchQuery, ServiceSearcher, markdown,
};

/// Characters of a failed call's summary.
const SUMMARY_CHARS: usize = 300;

/// Arguments of a call, known to be a JSON object.
pub type Args = Map<String, Value>;

/// Something a model can ask for: what it sends becomes an `Input`, `prepare` makes of that what `run` needs, and `run`
/// gets nothing else.
pub trait Tool: Send + Sync {
    /// What the model sends. Its documentation is the model's. It denies unknown fields: one that is not understood may
    /// be a restriction.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;
    /// All that running needs: paths that were resolved, patterns that were compiled, what a question was about.
    type Prepared: Send;

    /// The name the model calls it by.
    const NAME: &'static str;
    /// What the model is told of it.
    const DESCRIPTION: &'static str;
    const KIND: ToolKind;
    /// Whether the tool bounds its own time, so that its silence is no reason to stop the agent.
    const KEEPS_TIME: bool = false;

    /// Returns [`Self::NAME`], unless tools of one type have names of their own.
    fn name(&self) -> &str {
        Self::NAME
    }

    /// Returns [`Self::DESCRIPTION`], unless there is something to fill in.
    fn description(&self) -> Cow<'_, str> {
        Self::DESCRIPTION.into()
    }

    fn kind(&self) -> ToolKind {
        Self::KIND
    }

    /// Returns the offer to the model, made anew for each request.
    fn spec(&self) -> ToolSpec {
        let (name, description) = (self.name().to_owned(), self.description().trim().to_owned());
        ToolSpec { name, description, input_schema: schema_of::<Self::Input>() }
    }

    /// Returns what has changed since the model read the offer, if the offer does not say so itself.
    fn news(&self) -> Option<String> {
        None
    }

    /// Says how a tool of this name is got, which the agent does not have.
    fn hint(&self, _name: &str) -> Option<String> {
        None
    }

    /// Says whether the model is told of the tool as things are.
    fn applies(&self) -> bool {
        true
    }

    /// Says whether the tool is of use to an agent whose model is, or is not, at a service that searches the web itself.
    fn is_offered(&self, _service_searches: bool) -> bool {
        true
    }

    /// Says whether calls of one message may overlap.
    fn concurrency(&self, _input: &Self::Input) -> Concurrency {
        match self.kind() {
            ToolKind::Write | ToolKind::Execute | ToolKind::Skill => Concurrency::InOrder,
            ToolKind::Read | ToolKind::Search | ToolKind::Delegate | ToolKind::Fetch | ToolKind::Other => {
                Concurrency::Parallel
            }
        }
    }

    /// Returns what a screen shows behind the tool's name, such as `"verify_password" in src`.
    fn title(&self, input: &Self::Input, context: &ToolContext) -> String;

    /// Says what running would touch, without touching anything. May read files in order to show a preview, but only as
    /// far as the answer `Err` or the preview needs.
    fn prepare(
        &self,
        input: Self::Input,
        context: &ToolContext,
    ) -> impl Future<Output = Result<(Plan, Self::Prepared), ToolOutput>> + Send;

    /// Does it. Called only after the plan's access was allowed, which may take the user minutes.
    fn run(
        &self,
        prepared: Self::Prepared,
        context: &ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolOutput>> + Send;
}

/// Returns the tools that need nothing but this program, in the order they are offered. `shell` says how commands are run,
/// `fetcher` which hosts may be asked, `servers` who looks at changed files, `editor` who may have them open.
#[must_use]
pub fn standard_tools(shell: &Shell, fetcher: &Fetcher, servers: &LanguageServers, editor: &EditorFiles) -> ToolSet {
    let ignores = Ignores::without(shell.denied().clone());
    let tools: [Arc<dyn AnyTool>; _] = [
        Arc::new(read::Read { program: shell.program().to_path_buf(), editor: editor.clone() }),
        Arc::new(write::Write(servers.clone(), editor.clone())),
        Arc::new(edit::Edit(servers.clone(), editor.clone())),
        Arc::new(bash::Bash(shell.clone())),
        Arc::new(glob::Glob(ignores.clone())),
        Arc::new(grep::Grep(ignores.clone())),
        Arc::new(ls::Ls(ignores.clone())),
        Arc::new(todo_write::TodoWrite),
        Arc::new(symbols::Symbols { ignores, index: symbols::SymbolIndex::default() }),
        Arc::new(web::WebFetch(fetcher.clone())),
        Arc::new(web::search::WebSearch(fetcher.clone())),
    ];
    tools.into_iter().collect()
}

/// Returns the same tools for what their names and kinds say, with nothing set that a run of them would need.
#[must_use]
pub fn known_tools() -> ToolSet {
    standard_tools(&Shell::default(), &Fetcher::default(), &LanguageServers::default(), &EditorFiles::default())
}

/// Whether calls of one assistant message may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// Only reads, or keeps out of its siblings' way.
    Parallel,
    /// Writes: runs alone, in the order of the calls.
    InOrder,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub access: AccessKind,
    /// What the user is shown before answering.
    pub preview: Option<Preview>,
    /// Why it cannot be done as things are. It says what lies there, so only an agent that may read the place gets it at
    /// once; for others the call goes on as if it could be done.
    pub failure: Option<ToolOutput>,
    /// The path as it was written, absolute, with links unresolved, where it is about one.
    pub named: Option<PathBuf>,
    /// What it destroys that nothing brings back, if it is known to.
    pub lasting: Option<String>,
    /// Why it runs in no sandbox though there is one, for people.
    pub unsandboxed: Option<&'static str>,
}

impl Plan {
    #[must_use]
    pub fn new(access: AccessKind) -> Self {
        Self { access, preview: None, failure: None, named: None, lasting: None, unsandboxed: None }
    }

    /// Returns what the call of a tool would touch.
    #[must_use]
    pub fn access_of(&self, tool: &dyn AnyTool) -> Access {
        let access = Access::new(tool.name(), self.access.clone()).of_kind(tool.kind());
        access.named(self.named.clone()).lasting(self.lasting.clone())
    }

    /// Returns the plan of a call that touches nothing outside the conversation.
    #[must_use]
    pub fn free() -> Self {
        Self::new(AccessKind::Nothing)
    }
}

/// Surroundings of one call. All of it is handed in: two agents may work in different folders.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub call_id: String,
    /// Working directory, absolute, symlinks resolved.
    pub cwd: Arc<PathBuf>,
    /// Root of the project, absolute, symlinks resolved.
    pub project: Arc<PathBuf>,
    /// Root of the project of the session, from which no program is started either.
    pub origin: Arc<PathBuf>,
    /// Cancelled when the agent is stopped. A tool returns soon after, with its processes gone.
    pub cancel: CancellationToken,
    /// What a running tool shows meanwhile: the tail of its output. Only the latest value counts; the same once more
    /// means that the tool is at work.
    pub progress: watch::Sender<String>,
    /// Characters of a result that reach the model.
    pub result_chars: usize,
    /// What this agent has read, so that it cannot edit what it has not seen, and who has written it since.
    pub freshness: Arc<Freshness>,
    /// What a command may be kept to so that nobody need be asked about it.
    pub sandbox: SandboxUse,
    /// Hosts that a command in the sandbox reaches beside those of the session.
    pub hosts: Vec<HostPort>,
    /// The service that answers the agent, if it searches the web itself.
    pub service_search: Option<ServiceSearcher>,
    /// Whether the agent's model reads PDF documents; otherwise it gets their text.
    pub reads_documents: bool,
    /// Where commands are left that go on by themselves.
    pub background: CommandHost,
}

/// Which sandbox the commands of a call may run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxUse {
    /// None: it was refused there, or is allowed to run outside.
    Outside,
    /// One in which nothing of the project can be written.
    ReadOnly,
    ReadWrite,
}

impl SandboxUse {
    /// Returns the sandbox of what an agent in this mode does.
    #[must_use]
    pub fn of_mode(mode: PermissionMode) -> Self {
        if mode == PermissionMode::Plan { Self::ReadOnly } else { Self::ReadWrite }
    }
}

impl ToolContext {
    /// Returns the surroundings of a call that is only prepared, to see what it would touch. The folders are where it would run,
    /// its project and the session's.
    #[must_use]
    pub fn for_check([cwd, project, origin]: [Arc<PathBuf>; 3], mode: PermissionMode) -> Self {
        Self {
            call_id: String::new(),
            cwd,
            project,
            origin,
            cancel: CancellationToken::new(),
            progress: watch::channel(String::new()).0,
            result_chars: 0,
            freshness: Arc::default(),
            sandbox: SandboxUse::of_mode(mode),
            hosts: Vec::new(),
            service_search: None,
            reads_documents: false,
            background: CommandHost::default(),
        }
    }

    /// Returns an error, which is what the model reads, if the agent was stopped.
    fn check_cancelled(&self) -> Result<(), ToolOutput> {
        if self.cancel.is_cancelled() { Err(ToolOutput::error(INTERRUPTED)) } else { Ok(()) }
    }

    /// Returns the folders from which no program is started without a question.
    fn untrusted(&self) -> [&Path; 3] {
        [&self.origin, &self.project, &self.cwd].map(|folder| folder.as_path())
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads.
    pub content: Vec<ResultPart>,
    pub is_error: bool,
    /// What the screen shows behind the title, such as `14 hits in 6 files`. One line.
    pub summary: String,
    /// More for the screen.
    pub view: Option<ToolView>,
    /// Files the call created or changed.
    pub changes: Vec<FileChange>,
    /// What the sandbox has refused to a command, as far as that can be told.
    pub refused_inside: Option<RefusedInside>,
    /// What a command has changed, if it can be taken back.
    pub taken_down: Option<TakenDown>,
    /// Why commands cannot be taken back, if that is new.
    pub uncovered: Option<String>,
    /// A skill whose text the model is to read in place of this, once what it names was run and read.
    pub skill: Option<Box<LoadedSkill>>,
}

impl ToolOutput {
    /// Returns it with a note behind what the model reads, if there is one.
    #[must_use]
    fn noting(mut self, note: Option<&str>) -> Self {
        self.content.extend(note.map(|note| ResultPart::Text { text: note.to_owned() }));
        self
    }
}

/// What the sandbox has refused to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusedInside {
    /// A way to these hosts, which it has asked the proxy for.
    Hosts(Vec<HostPort>),
    /// The network past the proxy. The words are the command's own.
    Network(String),
    /// Something else, in the command's words, or of a protected place in ours.
    Other(String),
}

impl RefusedInside {
    /// Says it, for people. Words of a command may be anybody's.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Hosts(hosts) => hosts.iter().map(HostPort::described).collect::<Vec<_>>().join(", "),
            Self::Network(words) | Self::Other(words) => words.clone(),
        }
    }
}

impl ToolOutput {
    /// Returns a successful output of one text.
    #[must_use]
    pub fn text(text: impl Into<String>, summary: impl Into<String>) -> Self {
        Self { content: vec![ResultPart::Text { text: text.into() }], summary: summary.into(), ..Self::default() }
    }

    /// Returns the texts of it as one.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let texts = self.content.iter().filter_map(|part| match part {
            ResultPart::Text { text } => Some(text.as_str()),
            ResultPart::Image { .. } | ResultPart::Attached { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Puts the output of a further step behind this one.
    pub fn follow_with(&mut self, next: Self) {
        let mut content = std::mem::take(&mut self.content);
        let mut changes = std::mem::take(&mut self.changes);
        let view = self.view.take();
        *self = next;
        content.append(&mut self.content);
        changes.append(&mut self.changes);
        (self.content, self.changes) = (content, changes);
        self.view = self.view.take().or(view);
    }

    pub fn add_text(&mut self, text: String) {
        self.content.push(ResultPart::Text { text });
    }

    /// Returns a failed output; the text tells the model what to do instead. The screen shows its first line.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        let summary = file::path::one_line(text.lines().next().unwrap_or_default(), SUMMARY_CHARS);
        Self { is_error: true, ..Self::text(text, summary) }
    }
}

/// What a screen can show of a result besides its summary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToolView {
    Diff(FileDiff),
    Todos {
        items: Vec<Todo>,
    },
    Output {
        /// The lines, already bounded.
        text: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The file, absolute.
    #[serde(serialize_with = "crate::message::serialize_path")]
    pub path: PathBuf,
    pub kind: ChangeKind,
    /// The copies of it that were kept; `None` if that could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<FileVersions>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Created,
    Modified,
}
