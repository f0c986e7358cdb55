//! The process between us and a command, which sees to it that nothing of the command is left.
//!
//! Each command runs below a supervisor: this program, started once more. It outlives us for a moment, whatever becomes
//! of us, and ends everything that the command has started: each process that loses its parent becomes a child of the
//! supervisor (`PR_SET_CHILD_SUBREAPER`), so that neither a session of its own nor a double fork leads out. Where the
//! system knows no subreapers, the command's process group is ended.
//!
//! In the sandbox there are two: the one that we start starts another, which has the number 1 among processes that are
//! numbered apart, and is the supervisor. No process there can end it or see the one above, and the kernel ends all of
//! them when it ends.
//!
//! Owns that process and its words with us, which go over its standard input, a socket. Leaves our side to `process`.
//! Invariants: while it runs it knows no other children than those of its command; it holds no end of the command's
//! output; it exits when nothing is left that it could end.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use tokio::time::{Instant, timeout};

use super::family::Family;
use crate::sandbox::{self, SEATBELT, SandboxPolicy, seatbelt_profile};

/// The argument that makes this program a supervisor.
pub(super) const SUPERVISE: &str = "__supervise-command";
/// The argument of a supervisor that is the first of processes with numbers of their own.
const SUPERVISE_APART: &str = "__supervise-command-apart";
/// This program, also if its file was replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Begins a request: whether a second supervisor carries it out, see above.
const APART: u8 = b'a';
const TOGETHER: u8 = b't';
/// The argument after it that gives the program standard output as its input too: a socket, over which it is talked to.
pub(super) const SERVE: &str = "--serve";
/// Bytes of a request: more than any command line the system takes, and what a program reads besides.
const MAX_REQUEST: u32 = 64 << 20;
/// How long what is ending by itself may take before it counts as left behind.
const SETTLING: Duration = Duration::from_millis(20);
/// How long processes may take to end after TERM.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long the kernel may take to carry out KILL before we are told of what is left.
pub(super) const KILL_LIMIT: Duration = Duration::from_secs(1);
/// How long what is left is still pursued after that. What does not end by then waits in the kernel for good, or
/// belongs to somebody else.
const PURSUIT_LIMIT: Duration = Duration::from_secs(10);
/// First pause between two rounds of KILL; each is twice as long, up to [`LOOK`]. What appears meanwhile is met in the
/// next round.
const ROUND: Duration = Duration::from_millis(1);
/// Longest time between two looks at processes that are to end.
const LOOK: Duration = Duration::from_millis(50);

/// What the supervisor says, one JSON object a line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SupervisorMessage {
    /// A socket that listens inside the sandbox comes with this.
    Listening,
    Started,
    NotStarted(String),
    /// The command's leader has ended, with this status as wait(2) gives it; `None` if it could not be learnt.
    Ended(Option<i32>),
    Over {
        /// Whether processes were left when their end was asked for.
        left_behind: bool,
        unended: usize,
    },
}

/// Asks for the end at once.
pub(super) const AT_ONCE: u8 = b'!';
/// Asks for the end with a grace. So does closing the socket, but in the sandbox: what nobody watches any more is ended at
/// once.
pub(super) const GENTLY: u8 = b'.';

/// Returns the bytes that ask a supervisor to run a program, the first of the words, in the sandbox if there is a policy, and
/// to have it read the input, which holds no NUL.
pub(super) fn request(policy: Option<&SandboxPolicy>, words: &[OsString], input: &[u8]) -> io::Result<Vec<u8>> {
    let way = if policy.is_some_and(|policy| policy.has_own_processes) { APART } else { TOGETHER };
    let policy = policy.map(serde_json::to_string).transpose()?.unwrap_or_default();
    let words = words.iter().map(|word| word.as_bytes());
    let body = [policy.as_bytes(), input].into_iter().chain(words).collect::<Vec<_>>().join(&0);
    match u32::try_from(body.len()) {
        Ok(length) if length <= MAX_REQUEST => Ok([&[way], &length.to_le_bytes()[..], &body].concat()),
        _ => Err(io::Error::other("what it is to read is too large")),
    }
}

/// Runs as a supervisor if the arguments of this process say so. To be called before anything else.
pub fn supervise_if_asked() -> Option<ExitCode> {
    let argument = std::env::args_os().nth(1)?;
    let is_first = argument == SUPERVISE_APART;
    (is_first || argument == SUPERVISE).then(|| match supervise(is_first) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "belvedere: {SUPERVISE} is for internal use: {error}");
            ExitCode::FAILURE
        }
    })
}

fn supervise(is_first: bool) -> io::Result<()> {
    let control = std::os::unix::net::UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    control.peer_addr()?;
    control.set_nonblocking(true)?;
    // No terminal to write on or to read from, for all that follows.
    let _ = nix::unistd::setsid();
    #[cfg(target_os = "linux")]
    {
        nix::sys::prctl::set_child_subreaper(true)?;
        nix::sys::prctl::set_name(c"belvedere-run")?;
        if is_first {
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
        }
    }
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let signals = Signals { child: signal(SignalKind::child())?, end: ending_signals()? };
        let mut control = UnixStream::from_std(control)?;
        if !is_first {
            match control.read_u8().await {
                Ok(APART) => return attend_first(control, signals).await,
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
        let Some(Request { policy, input, mut command }) = receive(&mut control).await else { return Ok(()) };
        let confined = if cfg!(target_os = "macos") {
            put_behind_seatbelt(&policy, &mut command).map(|()| None)
        } else {
            enter_sandbox(&policy)
        };
        match confined.and_then(|listener| Ok(listener.map(|it| hand_over(&control, &it)).transpose()?)) {
            Ok(_) => {}
            Err(error) => {
                say(&mut control, &SupervisorMessage::NotStarted(format!("the sandbox failed: {error}"))).await;
                return Ok(());
            }
        }
        // Nobody but root may look into this process or change it.
        #[cfg(target_os = "linux")]
        nix::sys::prctl::set_dumpable(false)?;
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        let mut command = match (policy.is_empty(), strays()) {
            (false, strays) if !strays.is_empty() => without(&strays, program),
            _ => Command::new(program),
        };
        let serves = std::env::args_os().nth(2).is_some_and(|argument| argument == SERVE);
        let input = if serves { io::stdout().as_fd().try_clone_to_owned()?.into() } else { reading(input)? };
        command.args(arguments).stdin(input).process_group(0);
        match command.spawn() {
            Ok(leader) => {
                drop(command);
                let_go_of_output()?;
                say(&mut control, &SupervisorMessage::Started).await;
                let id = Pid::from_raw(leader.id().cast_signed());
                let family = Family { id, leader: Some(leader), has_children: true, is_apart: is_first };
                let is_watched = !policy.is_empty();
                Supervisor { family, control, signals, is_watched }.run().await;
            }
            Err(error) => say(&mut control, &SupervisorMessage::NotStarted(error.to_string())).await,
        }
        Ok(())
    })
}

/// Starts the supervisor that is the first of processes with numbers of their own, and stays until it is gone.
async fn attend_first(mut control: UnixStream, mut signals: Signals) -> io::Result<()> {
    let stdin = control.as_fd().try_clone_to_owned()?;
    let first = sandbox::separate_processes().map_err(|error| error.to_string()).and_then(|()| {
        let way = std::env::args_os().nth(2);
        let started = Command::new(THIS_PROGRAM).arg(SUPERVISE_APART).args(way).stdin(Stdio::from(stdin)).spawn();
        started.map_err(|error| format!("the first process: {error}"))
    });
    let mut first = match first {
        Ok(first) => first,
        Err(error) => {
            say(&mut control, &SupervisorMessage::NotStarted(format!("the sandbox failed: {error}"))).await;
            return Ok(());
        }
    };
    drop(control);
    let_go_of_output()?;
    let number = Pid::from_raw(first.id().cast_signed());
    while first.try_wait()?.is_none() {
        if signals.next().await {
            let _ = nix::sys::signal::kill(number, Signal::SIGTERM);
        }
    }
    Ok(())
}

/// Enters the sandbox that a policy describes, if there is one. Returns where its programs ask for a way out.
fn enter_sandbox(policy: &[u8]) -> Result<Option<TcpListener>, Box<dyn std::error::Error>> {
    if policy.is_empty() {
        return Ok(None);
    }
    Ok(sandbox::enter(&serde_json::from_slice(policy)?, &std::env::current_dir()?)?)
}

/// Has another program apply the sandbox of macOS, if there is a policy, and then become the command.
fn put_behind_seatbelt(policy: &[u8], command: &mut Vec<OsString>) -> Result<(), Box<dyn std::error::Error>> {
    if policy.is_empty() {
        return Ok(());
    }
    let profile = seatbelt_profile(&serde_json::from_slice(policy)?);
    let profile = profile.map_err(|path| format!("no profile can name {}", path.display()))?;
    command.splice(0..0, [SEATBELT, "-p", &profile].map(OsString::from));
    Ok(())
}

/// Returns the numbers of open files that a command would be given beside the usual three: whoever started Belvedere may
/// have left some open.
#[cfg(target_os = "linux")]
fn strays() -> Vec<u32> {
    let is_kept = |number: &u32| {
        let facts = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = facts.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|octal| i32::from_str_radix(octal.trim(), 8).ok());
        flags.is_some_and(|flags| flags & nix::libc::O_CLOEXEC == 0)
    };
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().filter_map(Result::ok);
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|number| *number > 2).filter(is_kept).collect()
}

#[cfg(not(target_os = "linux"))]
fn strays() -> Vec<u32> {
    Vec::new()
}

/// Returns a shell that closes files and then becomes itself anew.
fn without(files: &[u32], shell: &OsStr) -> Command {
    let closed: String = files.iter().map(|number| format!("exec {number}>&-; ")).collect();
    let mut command = Command::new(shell);
    command.arg("-c").arg(format!("{closed}exec \"$0\" \"$@\"")).arg(shell);
    command
}

/// Sends a socket to the other side, with the message that says so. There is room for it: nothing was sent before.
fn hand_over(control: &UnixStream, listener: &TcpListener) -> io::Result<()> {
    let line = serde_json::to_string(&SupervisorMessage::Listening)? + "\n";
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut files = SendAncillaryBuffer::new(&mut space);
    let fds = [listener.as_fd()];
    files.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::net::sendmsg(control, &[IoSlice::new(line.as_bytes())], &mut files, SendFlags::empty())?;
    Ok(())
}

/// Lets go of the command's output, which ends when the command and its children have let go of it too.
fn let_go_of_output() -> io::Result<()> {
    let nowhere = std::fs::File::options().write(true).open("/dev/null")?;
    nix::unistd::dup2_stdout(&nowhere)?;
    nix::unistd::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Catches what would end the supervisor before its work is done.
fn ending_signals() -> io::Result<[Arrivals; 4]> {
    let [terminate, hangup] = [signal(SignalKind::terminate())?, signal(SignalKind::hangup())?];
    Ok([terminate, hangup, signal(SignalKind::interrupt())?, signal(SignalKind::quit())?])
}

struct Request {
    /// As JSON; nothing is for a command that runs outside.
    policy: Vec<u8>,
    /// What the program reads; nothing if it is to read nothing.
    input: Vec<u8>,
    /// The program and its arguments.
    command: Vec<OsString>,
}

/// Reads the request; `None` if we are gone before it is complete.
async fn receive(control: &mut UnixStream) -> Option<Request> {
    let length = control.read_u32_le().await.ok().filter(|length| *length <= MAX_REQUEST)?;
    let mut body = vec![0; usize::try_from(length).ok()?];
    control.read_exact(&mut body).await.ok()?;
    let mut words = body.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned());
    let [policy, input] = [words.next()?.into_encoded_bytes(), words.next()?.into_encoded_bytes()];
    Some(Request { policy, input, command: words.collect() })
}

/// Returns a standard input that holds this. A program that does not read it to its end holds up nobody.
fn reading(input: Vec<u8>) -> io::Result<Stdio> {
    if input.is_empty() {
        return Ok(Stdio::null());
    }
    let (reader, mut writer) = io::pipe()?;
    std::thread::spawn(move || writer.write_all(&input));
    Ok(reader.into())
}

/// Says something; nobody may be listening any more.
async fn say(control: &mut UnixStream, answer: &SupervisorMessage) {
    let line = serde_json::to_string(answer).unwrap_or_default() + "\n";
    let _ = control.write_all(line.as_bytes()).await;
}

struct Signals {
    child: Arrivals,
    end: [Arrivals; 4],
}

impl Signals {
    /// Waits for the next one. Returns whether it asks for the end.
    async fn next(&mut self) -> bool {
        let [terminate, hangup, interrupt, quit] = &mut self.end;
        tokio::select! {
            _ = terminate.recv() => true,
            _ = hangup.recv() => true,
            _ = interrupt.recv() => true,
            _ = quit.recv() => true,
            _ = self.child.recv() => false,
        }
    }

    async fn child_or(&mut self, pause: Duration) {
        let _ = timeout(pause, self.child.recv()).await;
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Gently,
    AtOnce,
}

struct Supervisor {
    family: Family,
    control: UnixStream,
    signals: Signals,
    /// Whether somebody has to look at what the command does.
    is_watched: bool,
}

impl Supervisor {
    /// Follows the command to its end, and ends what is left when the end is asked for.
    async fn run(mut self) {
        let manner = self.until_asked().await;
        let is_over = match manner {
            None => true,
            Some(Manner::Gently) => self.gone_within(SETTLING).await,
            Some(Manner::AtOnce) => false,
        };
        if is_over {
            return say(&mut self.control, &SupervisorMessage::Over { left_behind: false, unended: 0 }).await;
        }
        let is_gone = (manner == Some(Manner::Gently) && self.end_gently().await) || self.kill(KILL_LIMIT).await;
        let unended = if is_gone { 0 } else { self.family.count() };
        say(&mut self.control, &SupervisorMessage::Over { left_behind: true, unended }).await;
        if !is_gone {
            self.kill(PURSUIT_LIMIT).await;
        }
    }

    /// Waits until the end is asked for: by a word, by closing the socket, as our death does, or by a signal. Returns `None`
    /// if nobody is left before.
    async fn until_asked(&mut self) -> Option<Manner> {
        loop {
            if !self.reap().await {
                return None;
            }
            tokio::select! {
                manner = asked(&mut self.control, self.is_watched) => return Some(manner),
                is_end = self.signals.next() => if is_end {
                    return Some(Manner::Gently);
                },
            }
        }
    }

    /// Notices who has ended, and says so of the leader. Returns whether anyone is left.
    async fn reap(&mut self) -> bool {
        if let Some(answer) = self.family.reap() {
            say(&mut self.control, &answer).await;
        }
        self.family.has_members()
    }

    async fn gone_within(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.reap().await {
            if Instant::now() >= deadline {
                return false;
            }
            self.signals.child_or(LOOK.min(deadline - Instant::now())).await;
        }
        true
    }

    /// Asks all to end and waits a while. Returns whether they did.
    async fn end_gently(&mut self) -> bool {
        self.family.signal(Signal::SIGTERM);
        // Whoever is stopped could not do as asked.
        self.family.signal(Signal::SIGCONT);
        let deadline = Instant::now() + STOP_GRACE;
        while self.reap().await {
            tokio::select! {
                () = asked_at_once(&mut self.control, self.is_watched) => return false,
                () = self.signals.child_or(LOOK) => {}
            }
            if Instant::now() >= deadline {
                return false;
            }
        }
        true
    }

    /// Kills until nobody is left. Returns whether that is so.
    async fn kill(&mut self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut pause = ROUND;
        loop {
            self.family.signal(Signal::SIGKILL);
            if !self.reap().await {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            self.signals.child_or(pause).await;
            pause = LOOK.min(pause * 2);
        }
    }
}

async fn asked(control: &mut UnixStream, is_watched: bool) -> Manner {
    match control.read_u8().await {
        Ok(GENTLY) => Manner::Gently,
        Err(_) if !is_watched => Manner::Gently,
        Ok(_) | Err(_) => Manner::AtOnce,
    }
}

async fn asked_at_once(control: &mut UnixStream, is_watched: bool) {
    while asked(control, is_watched).await == Manner::Gently {
        if !is_watched {
            // The socket may be closed, and says nothing more.
            std::future::pending::<()>().await;
        }
    }
}
