//! A command with everything it starts, ended together.
//!
//! Owns our side of a supervisor: starting it, hearing from it, and what happens if the command has killed it. Leaves
//! the processes to `supervisor` and the meaning of the command to `bash`. Invariant: once [`Group::end`] has returned
//! nobody of the command is alive, but for those it counts; a [`Group`] that is dropped is ended soon after, also if the
//! drop is the end of this program.

pub(super) mod command_watch;
mod environment;
mod family;
pub(super) mod guard;
pub(super) mod inside;
pub(super) mod output;
pub(super) mod pulse;
pub(super) mod remarks;
mod serve;
pub(super) mod supervisor;
#[cfg(target_os = "linux")]
mod tree;
pub(super) mod user_program;
mod withheld;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IoSliceMut, PipeWriter, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use nix::unistd::Pid;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;

use self::environment::HandedOn;
use self::pulse::Pulse;
pub use self::serve::ServedProgram;
use self::supervisor::{AT_ONCE, GENTLY, KILL_LIMIT, STOP_GRACE, SUPERVISE, SupervisorMessage, request};
use self::withheld::withheld_words;
use crate::program::SearchPath;
use crate::sandbox::{DeniedPaths, Sandbox, SandboxPolicy};

/// How long a supervisor may take to end a command and to say so.
const END_LIMIT: Duration = STOP_GRACE.saturating_add(KILL_LIMIT).saturating_add(Duration::from_secs(2));
/// How long a supervisor may take to start a command.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Pause between two looks at processes that lost their supervisor.
const POLL: Duration = Duration::from_millis(5);

/// How commands are run: by whom, and what they are told of our environment.
#[derive(Debug, Clone, Default)]
pub struct Shell {
    /// This program, which is started once more as the supervisor of a command. Without it no command runs.
    supervisor: PathBuf,
    pub(super) handed_on: HandedOn,
    sandbox: Option<Sandbox>,
    /// Files that rules keep from all that reads.
    denied: DeniedPaths,
    /// Whether no command runs outside the sandbox.
    is_closed: bool,
    /// Why there is no sandbox, once that was tried.
    checked: Arc<OnceCell<Option<String>>>,
    running: Arc<Mutex<BTreeSet<Pid>>>,
    /// What settings add to the environment of commands.
    variables: Arc<RwLock<Vec<(String, String)>>>,
}

impl Shell {
    /// Returns how commands are run: `supervisor` is the file of this program, `names` are the variables that the user
    /// hands on beside the usual ones; one that ends in `*` stands for all that begin so. `keys` are the variables of
    /// services, which only their whole name hands on.
    #[must_use]
    pub fn new(supervisor: impl Into<PathBuf>, names: &[String], keys: &[String]) -> Self {
        Self { supervisor: supervisor.into(), handed_on: HandedOn::with(names, keys), ..Self::default() }
    }

    /// Returns the same with a sandbox, in which commands run that nobody is asked about.
    #[must_use]
    pub fn with_sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Returns the same with files that nothing may read. Only a sandbox keeps commands from them.
    #[must_use]
    pub fn without(mut self, denied: DeniedPaths) -> Self {
        self.denied = denied;
        self
    }

    /// Returns the same in which no command runs outside the sandbox, whoever allows it.
    #[must_use]
    pub fn closed(mut self, is_closed: bool) -> Self {
        self.is_closed = is_closed;
        self
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Returns the file of this program.
    pub(super) fn program(&self) -> &Path {
        &self.supervisor
    }

    pub(super) fn denied(&self) -> &DeniedPaths {
        &self.denied
    }

    /// Returns the sandbox that its commands run in, if there is one.
    pub fn sandbox(&self) -> Option<&Sandbox> {
        self.sandbox.as_ref()
    }

    /// Puts these variables into the environment of every command from now on, but for those that would make a shell, the
    /// loader or git run something, or that hold keys of services. Returns the names that are left out.
    pub fn set_variables(&self, variables: Vec<(String, String)>) -> Vec<String> {
        let (set, refused): (Vec<_>, Vec<_>) =
            variables.into_iter().partition(|(name, _)| self.handed_on.may_be_set(name));
        *self.variables.write().unwrap_or_else(PoisonError::into_inner) = set;
        refused.into_iter().map(|(name, _)| name).collect()
    }

    /// Returns the environment of a command: of ours what is handed on, and what settings add.
    pub(super) fn environment(&self) -> Vec<(OsString, OsString)> {
        with(self.handed_on.environment(), self.added_variables())
    }

    /// Returns the environment of a program of the user's own: all of ours but keys of services, and what settings add.
    pub(super) fn user_environment(&self) -> Vec<(OsString, OsString)> {
        with(self.handed_on.of_user(), self.added_variables())
    }

    fn added_variables(&self) -> Vec<(OsString, OsString)> {
        let added = self.variables.read().unwrap_or_else(PoisonError::into_inner).clone();
        added.into_iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    /// Says which variables a command may have missed.
    pub(super) fn withheld_words(&self, line: &str, printed: &str, failed: bool) -> Option<String> {
        withheld_words(&self.handed_on, line, (printed, failed))
    }

    fn running(&self) -> std::sync::MutexGuard<'_, BTreeSet<Pid>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the processes that fell to us because a command has killed its supervisor. A child of ours is one of them
    /// if it started after that supervisor, in a session that is not ours, and is no supervisor itself: what else we
    /// start stays in our session.
    #[cfg(target_os = "linux")]
    fn end_strays(&self, since: u64) {
        use self::tree::{Stat, children};
        use nix::sys::signal::{Signal, kill};
        use nix::sys::wait::{WaitPidFlag, waitpid};

        let Ok(session) = nix::unistd::getsid(None) else { return };
        let deadline = Instant::now() + KILL_LIMIT;
        loop {
            // Nobody starts a supervisor meanwhile.
            let running = self.running();
            let strays = children(nix::unistd::getpid()).into_iter().filter(|child| !running.contains(child));
            let strays: Vec<Pid> = strays
                .filter(|child| Stat::of(*child).is_some_and(|stat| stat.session != session && stat.started >= since))
                .collect();
            for stray in &strays {
                let _ = kill(*stray, Signal::SIGKILL);
                let _ = waitpid(*stray, Some(WaitPidFlag::WNOHANG));
            }
            drop(running);
            if strays.is_empty() || Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(POLL);
        }
    }
}

/// What is started below a supervisor.
pub(super) struct ProgramLaunch {
    /// The program and its arguments.
    pub(super) words: Vec<OsString>,
    pub(super) cwd: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) policy: Option<SandboxPolicy>,
    /// What it reads on its standard input.
    pub(super) input: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Group {
    shell: Shell,
    child: Child,
    id: Option<Pid>,
    /// What the supervisor has said, as far as it was not understood yet.
    heard: Vec<u8>,
    /// Where we talk to the supervisor, from the start of the command until its end is asked for.
    control: Option<UnixStream>,
    /// Its last words.
    over: Option<Remains>,
    /// Where programs in the sandbox ask for a way out.
    listener: Option<TcpListener>,
}

/// What a command left running when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remains {
    Nothing,
    /// Processes, which were ended.
    Ended,
    /// Processes of which so many could not be ended.
    Unended(usize),
    /// The command has killed its supervisor. What it left was ended as far as it fell to us.
    Unsupervised,
}

impl Group {
    /// Starts `shell -c command` in `cwd`, without a terminal, below a supervisor, in the sandbox if there is a policy.
    /// The shell is looked for in `search`.
    ///
    /// Returns the group and the reading end of its output.
    pub(super) async fn start(
        shell: &Shell,
        command: OsString,
        cwd: PathBuf,
        environment: Vec<(OsString, OsString)>,
        search: SearchPath,
        policy: Option<SandboxPolicy>,
    ) -> io::Result<(Self, Receiver)> {
        let line = [OsString::from("-c"), OsString::from("--"), command];
        let program = search.find("bash").unwrap_or_else(|| PathBuf::from("/bin/sh")).into_os_string();
        let words = std::iter::once(program).chain(line).collect();
        let launch = ProgramLaunch { words, cwd, environment, policy, input: Vec::new() };
        let (reader, writer) = io::pipe()?;
        let errors = writer.try_clone()?;
        let group = Self::launch(shell, launch, [writer, errors]).await?;
        Ok((group, Receiver::from_owned_fd(reader.into())?))
    }

    /// Starts a program, without a terminal, below a supervisor, with its output and its errors going to these pipes.
    pub(super) async fn launch(shell: &Shell, launch: ProgramLaunch, outputs: [PipeWriter; 2]) -> io::Result<Self> {
        let shell = shell.clone();
        // On a thread: the system takes its time, and no paused clock runs on meanwhile.
        let starting = move || Self::spawn(shell, launch, outputs);
        tokio::task::spawn_blocking(starting).await.map_err(io::Error::other)?
    }

    fn spawn(shell: Shell, launch: ProgramLaunch, [output, errors]: [PipeWriter; 2]) -> io::Result<Self> {
        let ProgramLaunch { words, cwd, environment, policy, input } = launch;
        let mut builder = Command::new(&shell.supervisor);
        builder.arg(SUPERVISE).current_dir(cwd).env_clear().envs(environment).stdout(output).stderr(errors);
        Self::begin(shell, builder, &request(policy.as_ref(), &words, &input)?)
    }

    /// Starts a supervisor, asks it to run something, and waits until that runs.
    fn begin(shell: Shell, mut builder: Command, request: &[u8]) -> io::Result<Self> {
        let (mut ours, theirs) = Socket::pair()?;
        builder.stdin(Stdio::from(OwnedFd::from(theirs)));
        let (child, id) = {
            let mut running = shell.running();
            let child = builder.spawn()?;
            let id = child.id().map(|id| Pid::from_raw(id.cast_signed()));
            running.extend(id);
            (child, id)
        };
        // The builder holds the writing end; the pipe would never end with it.
        drop(builder);
        let mut group = Self { shell, child, id, heard: Vec::new(), control: None, over: None, listener: None };
        ours.set_read_timeout(Some(START_LIMIT))?;
        ours.set_write_timeout(Some(START_LIMIT))?;
        ours.write_all(request)?;
        loop {
            match group.next_answer() {
                Some(SupervisorMessage::Listening) => {}
                Some(SupervisorMessage::Started) => break,
                Some(SupervisorMessage::NotStarted(error)) => return Err(io::Error::other(error)),
                Some(_) => return Err(io::ErrorKind::InvalidData.into()),
                None => {
                    let (count, file) = hear_with_file(&ours, &mut group.heard)?;
                    if let Some(file) = file {
                        group.listener = Some(TcpListener::from(file));
                    }
                    if count == 0 {
                        return Err(io::Error::other("its supervisor exited"));
                    }
                }
            }
        }
        ours.set_nonblocking(true)?;
        group.control = Some(UnixStream::from_std(ours)?);
        Ok(group)
    }

    /// Returns where programs of a command in the sandbox ask for a way out, once.
    pub(super) fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Returns the pulse of the command, for when it keeps silent.
    pub(super) fn pulse(&self) -> Pulse {
        Pulse::new(self.id)
    }

    /// Waits for the leader of the group. Returns `None` if nobody can tell how it ended. May be given up and called again
    /// at any time.
    pub(super) async fn wait(&mut self) -> Option<ExitStatus> {
        loop {
            if let Some(answer) = self.next_answer() {
                if let SupervisorMessage::Ended(status) = answer {
                    return status.map(ExitStatus::from_raw);
                }
            } else if !matches!(self.control.as_mut()?.read_buf(&mut self.heard).await, Ok(1..)) {
                return None;
            }
        }
    }

    /// Takes in the next whole line of what was heard.
    fn next_answer(&mut self) -> Option<SupervisorMessage> {
        let end = memchr::memchr(b'\n', &self.heard)?;
        let line: Vec<u8> = self.heard.drain(..=end).collect();
        let answer = serde_json::from_slice(&line).ok();
        if let Some(SupervisorMessage::Over { left_behind, unended }) = answer {
            self.over = Some(match (left_behind, unended) {
                (false, _) => Remains::Nothing,
                (true, 0) => Remains::Ended,
                (true, unended) => Remains::Unended(unended),
            });
        }
        answer
    }

    /// Has everyone in the group killed, without TERM before it.
    pub(super) fn kill_at_once(&self) {
        if let Some(control) = &self.control {
            let _ = control.try_write(&[AT_ONCE]);
        }
    }

    /// Ends everyone in the group: TERM, and after two seconds KILL. Returns what was left.
    pub(super) async fn end(&mut self) -> Remains {
        if let Some(supervisor) = self.id {
            // The command may have stopped it, which must not gain time.
            let _ = nix::sys::signal::kill(supervisor, nix::sys::signal::Signal::SIGCONT);
        }
        while self.next_answer().is_some() {}
        if self.over.is_none()
            && let Some(control) = self.control.take().and_then(|control| control.into_std().ok())
        {
            // On a thread: neither a paused clock nor a busy program cuts the supervisor's time short.
            let Ok(heard) = tokio::task::spawn_blocking(move || last_words(control)).await else {
                // The program ends and lends no thread. The socket is closed, which asks a healthy supervisor for the end.
                return Remains::Ended;
            };
            self.heard.extend(heard);
            while self.next_answer().is_some() {}
        }
        let Some(remains) = self.over else {
            self.end_unsupervised().await;
            return Remains::Unsupervised;
        };
        if !matches!(remains, Remains::Unended(_)) {
            let _ = self.child.wait().await;
        }
        remains
    }

    /// Ends what a supervisor has left that is dead, or does not answer.
    async fn end_unsupervised(&mut self) {
        let _ = self.child.start_kill();
        #[cfg(target_os = "linux")]
        {
            // A zombie still tells when it began. Before it is gone, its number is nobody else's.
            let since = self.id.and_then(self::tree::Stat::of).map_or(0, |stat| stat.started);
            let _ = self.child.wait().await;
            let shell = self.shell.clone();
            let _ = tokio::task::spawn_blocking(move || shell.end_strays(since)).await;
        }
    }
}

/// Returns an environment with other values for some variables.
pub(super) fn with(
    mut environment: Vec<(OsString, OsString)>,
    others: Vec<(OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    environment.retain(|(name, _)| !others.iter().any(|(other, _)| other == name));
    environment.extend(others);
    environment
}

impl Drop for Group {
    fn drop(&mut self) {
        // Closing the socket asks for the end; without waiting for TERM, as nobody waits for us.
        if let Some(mut control) = self.control.take().and_then(|control| control.into_std().ok()) {
            let _ = control.write(&[AT_ONCE]);
        }
        if let Some(id) = self.id {
            self.shell.running().remove(&id);
        }
    }
}

/// Asks for the end and returns what the supervisor says until it is gone.
fn last_words(mut control: Socket) -> Vec<u8> {
    let mut heard = Vec::new();
    let asked = control.set_nonblocking(false).and_then(|()| control.set_read_timeout(Some(END_LIMIT)));
    // If it is gone already, its last words are there.
    let _ = control.write_all(&[GENTLY]);
    let deadline = Instant::now() + END_LIMIT;
    while asked.is_ok() && Instant::now() < deadline && matches!(hear(&mut control, &mut heard), Ok(1..)) {}
    heard
}

/// As [`hear`], and takes the file that may come with what is heard.
fn hear_with_file(control: &Socket, heard: &mut Vec<u8>) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut buffer = [0; 1024];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut files = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(control, &mut [IoSliceMut::new(&mut buffer)], &mut files, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    heard.extend_from_slice(&buffer[..received]);
    let file = files.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    Ok((received, file))
}

fn hear(control: &mut Socket, heard: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; 1024];
    loop {
        match control.read(&mut buffer) {
            // With a time limit the system does not begin again by itself.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => {
                let count = read?;
                heard.extend_from_slice(&buffer[..count]);
                return Ok(count);
            }
        }
    }
}
