//! Programs that are talked to for as long as a session, or an agent, lasts.
//!
//! Owns starting one below a supervisor, with one socket as its standard input and output. Leaves what is said to its
//! caller. Invariant: as with a command, nothing of it outlives us.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::path::PathBuf;

use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::command_watch::{CommandWatch, look_before};
use super::inside::{Inside, ProgramBounds};
use super::supervisor::{SERVE, SUPERVISE, request};
use super::{Group, Shell, with};
use crate::sandbox::{SandboxPolicy, SandboxProxy};

/// A program that was started. When it is dropped, the program is ended with all that it has started.
#[derive(Debug)]
pub struct ServedProgram(Keeping);

/// Who keeps a program.
#[derive(Debug)]
enum Keeping {
    Here(Box<Group>),
    /// A task, which also watches what the program may not write.
    Watched {
        end: oneshot::Sender<()>,
        task: JoinHandle<()>,
    },
}

impl ServedProgram {
    /// Ends it, and all that it has started: TERM, and after two seconds KILL.
    pub async fn end(self) {
        match self.0 {
            Keeping::Here(mut group) => {
                group.end().await;
            }
            Keeping::Watched { end, task } => {
                // One that has ended by itself waits for nothing.
                let _ = end.send(());
                let _ = task.await;
            }
        }
    }

    /// Has a task end the program also for what it puts where it may not write.
    fn watched(self, watch: CommandWatch, proxy: Option<SandboxProxy>) -> Self {
        let Keeping::Here(mut group) = self.0 else { return self };
        let (end, mut ending) = oneshot::channel();
        let task = tokio::spawn(async move {
            let _proxy = proxy;
            tokio::select! {
                _ = &mut ending => {}
                () = watch.goes_too_far() => group.kill_at_once(),
            }
            group.end().await;
            watch.end().await;
        });
        Self(Keeping::Watched { end, task })
    }
}

impl Shell {
    /// Starts a program within its bounds, with variables of its own beside those that commands get. Returns it with its
    /// standard input and output, and what it writes to standard error.
    ///
    /// # Errors
    /// Returns why it was not started.
    pub async fn serve(
        &self,
        (program, args): (String, Vec<String>),
        variables: Vec<(String, String)>,
        (cwd, bounds): (PathBuf, &ProgramBounds),
    ) -> io::Result<(ServedProgram, UnixStream, Receiver)> {
        let own: Vec<(OsString, OsString)> =
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let Some(inside) = Inside::of_program(self, bounds).await else {
            let environment = with(self.handed_on.environment(), own);
            look_before(self).await;
            return self.serve_within((program, args), environment, cwd, None).await;
        };
        let (inside, watch) = inside.enter(&format!("`{program}`"), true).await?;
        let Inside { environment, policy, hosts, .. } = inside;
        let environment = with(environment, own);
        let (mut served, stream, log) = self.serve_within((program, args), environment, cwd, Some(policy)).await?;
        let listener = if let Keeping::Here(group) = &mut served.0 { group.take_listener() } else { None };
        let proxy = listener.and_then(|listener| SandboxProxy::serve(listener, hosts).ok());
        Ok((served.watched(watch, proxy), stream, log))
    }

    /// As [`Shell::serve`], with this environment alone, and in the sandbox if there is a policy.
    pub(in crate::tool) async fn serve_within(
        &self,
        (program, args): (String, Vec<String>),
        environment: Vec<(OsString, OsString)>,
        cwd: PathBuf,
        policy: Option<SandboxPolicy>,
    ) -> io::Result<(ServedProgram, UnixStream, Receiver)> {
        let shell = self.clone();
        // On a thread, as for commands.
        let starting = move || {
            let (reader, writer) = io::pipe()?;
            let (ours, theirs) = Socket::pair()?;
            let mut builder = Command::new(&shell.supervisor);
            builder.args([SUPERVISE, SERVE]).current_dir(cwd).env_clear().envs(environment);
            builder.stdout(OwnedFd::from(theirs)).stderr(writer);
            let words: Vec<OsString> = std::iter::once(program).chain(args).map(OsString::from).collect();
            let group = Group::begin(shell, builder, &request(policy.as_ref(), &words, &[])?)?;
            ours.set_nonblocking(true)?;
            Ok::<_, io::Error>((
                ServedProgram(Keeping::Here(Box::new(group))),
                UnixStream::from_std(ours)?,
                Receiver::from_owned_fd(reader.into())?,
            ))
        };
        tokio::task::spawn_blocking(starting).await.map_err(io::Error::other)?
    }
}
