//! A child process with everything it starts, ended together.
//!
//! Owns the process group and the one pipe that carries both output streams in the order of arrival. Leaves the
//! meaning of the command to `bash`. Invariant: when a [`Group`] is dropped, nobody in the group is alive.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use super::pulse::Pulse;

/// How long a group may take to end after TERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long the kernel may take to carry out KILL; a process in an uninterruptible wait takes longer and is left.
const KILL_WAIT: Duration = Duration::from_secs(1);
/// How often an ending group is looked at.
const POLL: Duration = Duration::from_millis(10);

/// A running command and all processes it started.
#[derive(Debug)]
pub(super) struct Group {
    child: Child,
    id: Option<Pid>,
}

impl Group {
    /// Starts `shell -c command` in `cwd` without a terminal and with a process group of its own.
    ///
    /// Returns the group and the reading end of its output.
    pub(super) fn spawn(command: &str, cwd: &Path, environment: Environment) -> io::Result<(Self, Receiver)> {
        let (reader, writer) = io::pipe()?;
        let shell = on_path("bash").unwrap_or_else(|| PathBuf::from("/bin/sh"));
        // In a session of its own the command has no terminal that it could write on or read from. Only a program can
        // do that for us without unsafe code; where it is missing, a group of its own has to do.
        let mut builder = if let Some(setsid) = on_path("setsid") {
            let mut builder = Command::new(setsid);
            builder.arg(shell);
            builder
        } else {
            let mut builder = Command::new(shell);
            builder.process_group(0);
            builder
        };
        builder
            .args(["-c", "--", command])
            .current_dir(cwd)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer)
            .kill_on_drop(true);
        environment.removed.iter().for_each(|name| {
            builder.env_remove(name);
        });
        builder.envs(environment.set);
        let child = builder.spawn()?;
        // The builder holds the writing end; the pipe would never end with it.
        drop(builder);
        let id = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let receiver = Receiver::from_owned_fd(reader.into())?;
        Ok((Self { child, id }, receiver))
    }

    /// Returns the pulse of the group, for a command that keeps silent.
    pub(super) fn pulse(&self) -> Pulse {
        Pulse::new(self.id)
    }

    /// Waits for the leader of the group.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends everyone in the group: TERM, and after two seconds KILL.
    pub(super) async fn end(&mut self) {
        self.signal(Signal::SIGTERM);
        if timeout(GRACE, self.gone()).await.is_err() {
            self.signal(Signal::SIGKILL);
            let _ = timeout(KILL_WAIT, self.gone()).await;
        }
    }

    async fn gone(&mut self) {
        let _ = self.child.wait().await;
        while self.has_members() {
            sleep(POLL).await;
        }
    }

    /// Tells whether anyone is left in the group, once its leader has ended. The number of a group without members may
    /// be given to someone else, so it is forgotten.
    pub(super) fn has_members(&mut self) -> bool {
        self.id = self.id.filter(|id| killpg(*id, None) != Err(Errno::ESRCH));
        self.id.is_some()
    }

    fn signal(&mut self, signal: Signal) {
        let Some(id) = self.id else { return };
        if killpg(id, signal) == Err(Errno::ESRCH) {
            // Either all are gone, or the leader was caught before it had its own group.
            let _ = self.child.start_kill();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// What a child's environment has more and less than ours.
#[derive(Debug, Default)]
pub(super) struct Environment {
    /// Variables with their values.
    pub(super) set: Vec<(String, String)>,
    /// Variables that are taken away.
    pub(super) removed: Vec<OsString>,
}

/// Finds a program in the absolute folders of `PATH`.
pub(super) fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Reads from the pipe until it ends, handing on what arrives. A pipe that breaks has ended too.
pub(super) async fn read_some(pipe: &mut Receiver, buffer: &mut [u8]) -> usize {
    pipe.read(buffer).await.unwrap_or(0)
}
