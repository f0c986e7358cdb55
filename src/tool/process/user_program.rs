//! Programs that the user has written down to be run beside the agents: hooks, and what fills the status line.
//!
//! Owns their time, and what is kept of their output. Leaves what they mean to others. Invariants: they get the environment
//! of commands, and the user's own that run outside that of the user, neither of which holds keys of services; when a run returns, everything that the program has started is gone; one that
//! belongs in the sandbox never runs outside while there is one.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::command_watch::{CommandWatch, look_before};
use super::inside::{Inside, ProgramBounds};
use super::{Group, ProgramLaunch, Shell, with};
use crate::program::SearchPath;
use crate::sandbox::SandboxProxy;

/// Bytes that are kept of each output.
const OUTPUT_BYTES: usize = 1 << 20;
/// Characters of a program by which people are told of it.
const NAME_CHARS: usize = 80;
/// How long output may still arrive after the program has ended.
const DRAIN: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub struct UserProgram {
    pub command: UserCommand,
    pub cwd: PathBuf,
    pub bounds: ProgramBounds,
    /// Whether it is the user's own, and no project's.
    pub is_users: bool,
    /// Added to its environment.
    pub variables: Vec<(String, String)>,
    /// What it reads on its standard input.
    pub input: Vec<u8>,
    pub timeout: Duration,
    /// Gives it up.
    pub stop: CancellationToken,
    /// Where its first line of output goes as soon as it is there.
    pub first_line: Option<oneshot::Sender<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserCommand {
    /// A line for bash.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

/// How a program of the user has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserProgramEnd {
    Exited {
        /// `None` if a signal has ended it.
        code: Option<i32>,
        stdout: String,
        stderr: String,
    },
    TimedOut,
    NotStarted(String),
    /// It was ended for what it put where nothing in the sandbox may write.
    WentTooFar,
    /// It was given up.
    Stopped,
}

impl Shell {
    /// Runs a program within its bounds, and ends it with everything it has started once its time is up.
    pub async fn run_user_program(&self, program: UserProgram) -> UserProgramEnd {
        let UserProgram { command, cwd, bounds, is_users, variables, input, timeout: limit, stop, first_line } =
            program;
        let is_free = is_users && bounds == ProgramBounds::Outside;
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let name = match &command {
            UserCommand::Line(line) => line.clone(),
            UserCommand::Words(words) => words.join(" "),
        };
        let name = format!("`{}`", name.split_whitespace().collect::<Vec<_>>().join(" "));
        let name: String = name.chars().take(NAME_CHARS).collect();
        let words: Vec<OsString> = match command {
            UserCommand::Line(line) => {
                let shell = SearchPath::of_process(&[]).find("bash").unwrap_or_else(|| PathBuf::from("/bin/sh"));
                vec![shell.into_os_string(), "-c".into(), "--".into(), line.into()]
            }
            UserCommand::Words(words) => words.into_iter().map(OsString::from).collect(),
        };
        let deadline = Instant::now() + limit;
        let starting = async {
            let (environment, policy, hosts, watch) = if let Some(inside) = Inside::of_program(self, &bounds).await {
                let (inside, watch) = inside.enter(&name, false).await?;
                (inside.environment, Some(inside.policy), Some(inside.hosts), watch)
            } else {
                look_before(self).await;
                let environment = if is_free { self.user_environment() } else { self.environment() };
                (environment, None, None, CommandWatch::Unwatched)
            };
            let launch = ProgramLaunch { words, cwd, environment: with(environment, variables), policy, input };
            let mut running = start(self, launch, watch, first_line).await?;
            let listener = running.group.take_listener();
            let proxy = hosts.zip(listener).and_then(|(hosts, listener)| SandboxProxy::serve(listener, hosts).ok());
            io::Result::Ok((running, proxy))
        };
        let started = tokio::select! {
            biased;
            () = stop.cancelled() => return UserProgramEnd::Stopped,
            started = starting => started,
        };
        match started {
            Ok((running, _proxy)) => running.follow(deadline, &stop).await,
            Err(error) => UserProgramEnd::NotStarted(error.to_string()),
        }
    }
}

async fn start(
    shell: &Shell,
    launch: ProgramLaunch,
    watch: CommandWatch,
    first_line: Option<oneshot::Sender<String>>,
) -> io::Result<Running> {
    let ((output, ours), (errors, theirs)) = (io::pipe()?, io::pipe()?);
    let group = Group::launch(shell, launch, [ours, theirs]).await?;
    let kept = |reader: io::PipeReader| Ok::<_, io::Error>(Kept::of(Receiver::from_owned_fd(reader.into())?));
    Ok(Running { group, output: kept(output)?, errors: kept(errors)?, watch, first_line })
}

struct Running {
    group: Group,
    output: Kept,
    errors: Kept,
    watch: CommandWatch,
    first_line: Option<oneshot::Sender<String>>,
}

impl Running {
    async fn follow(mut self, deadline: Instant, stop: &CancellationToken) -> UserProgramEnd {
        let status = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break Err(UserProgramEnd::Stopped),
                () = sleep_until(deadline) => break Err(UserProgramEnd::TimedOut),
                () = self.watch.goes_too_far() => break Err(UserProgramEnd::WentTooFar),
                status = self.group.wait() => break Ok(status.and_then(|status| status.code())),
                () = self.output.read(), if self.output.is_open => self.tell_first_line(),
                () = self.errors.read(), if self.errors.is_open => {}
            }
        };
        if status.is_ok() {
            let _ = timeout(DRAIN, async { tokio::join!(self.output.read_on(), self.errors.read_on()) }).await;
        }
        let Self { mut group, output: mut stdout, errors: mut stderr, watch, .. } = self;
        {
            // What is to end may still print, and blocks if nobody reads that.
            let reading = async {
                tokio::join!(stdout.read_on(), stderr.read_on());
                std::future::pending::<()>().await;
            };
            tokio::select! {
                _ = group.end() => {}
                () = reading => {}
            }
        }
        watch.end().await;
        match status {
            Ok(code) => UserProgramEnd::Exited { code, stdout: stdout.text(), stderr: stderr.text() },
            Err(end) => end,
        }
    }

    /// Hands on the first line of output once it is whole.
    fn tell_first_line(&mut self) {
        let Some(end) = memchr::memchr(b'\n', &self.output.bytes) else { return };
        if let Some(first_line) = self.first_line.take() {
            // Nobody may be waiting for it any more.
            let _ = first_line.send(String::from_utf8_lossy(&self.output.bytes[..end]).into_owned());
        }
    }
}

/// What is kept of one output.
struct Kept {
    pipe: Receiver,
    bytes: Vec<u8>,
    buffer: Vec<u8>,
    is_open: bool,
}

impl Kept {
    fn of(pipe: Receiver) -> Self {
        Self { pipe, bytes: Vec::new(), buffer: vec![0; 16 << 10], is_open: true }
    }

    /// Takes in what arrives next. May be given up and called again at any time.
    async fn read(&mut self) {
        let count = self.pipe.read(&mut self.buffer).await.unwrap_or(0);
        self.is_open = count > 0;
        let room = OUTPUT_BYTES.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&self.buffer[..count.min(room)]);
    }

    async fn read_on(&mut self) {
        while self.is_open {
            self.read().await;
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
