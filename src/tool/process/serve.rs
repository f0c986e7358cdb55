//! Programs that are talked to for as long as a session, or an agent, lasts.
//!
//! Owns starting one below a supervisor, with one socket as its standard input and output. Leaves what is said to its
//! caller. Invariant: as with a command, nothing of it outlives us.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Socket;
use std::path::PathBuf;

use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

use super::command_watch::look_before;
use super::supervisor::{SERVE, SUPERVISE, request};
use super::{Group, Shell};
use crate::sandbox::SandboxPolicy;

/// A program that was started. When it is dropped, the program is ended with all that it has started.
#[derive(Debug)]
pub struct ServedProgram {
    group: Group,
}

impl ServedProgram {
    /// Ends it, and all that it has started: TERM, and after two seconds KILL.
    pub async fn end(mut self) {
        self.group.end().await;
    }
}

impl Shell {
    /// Starts a program with variables of its own beside those that commands get, outside of the sandbox. Returns it with
    /// its standard input and output, and what it writes to standard error.
    ///
    /// # Errors
    /// Returns why it was not started.
    pub async fn serve(
        &self,
        (program, args): (String, Vec<String>),
        variables: Vec<(String, String)>,
        cwd: PathBuf,
    ) -> io::Result<(ServedProgram, UnixStream, Receiver)> {
        let mut environment = self.handed_on.environment();
        environment.retain(|(name, _)| variables.iter().all(|(own, _)| name != OsStr::new(own)));
        environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
        look_before(self).await;
        self.serve_within((program, args), environment, cwd, None).await
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
                ServedProgram { group },
                UnixStream::from_std(ours)?,
                Receiver::from_owned_fd(reader.into())?,
            ))
        };
        tokio::task::spawn_blocking(starting).await.map_err(io::Error::other)?
    }
}
