//! One run of git: in a known place, with a deadline, under settings of our own.
//!
//! Owns what git gets to see of the world, and how it is stopped. Leaves what is asked of it to the callers, and the
//! settings to `crate::git`. Invariants: a repository's hooks, filters, merge drivers and signers never run; no variable of
//! our own environment, and no secret in it, reaches git; a run that is given up on has ended.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::WorktreeError;
use super::scratch::ScratchObjects;
use super::snapshot::blocking;
use crate::git::{PrivateSettings, Repository, clone_settings};
use crate::message::sanitize_line;
use crate::program::SearchPath;

/// How long one run may take; a checkout of a large repository takes minutes.
const GIT_TIMEOUT: Duration = Duration::from_mins(5);
/// How long git may take to clean up after itself when it is stopped.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// Most bytes of an answer; a list of a million files is smaller.
const ANSWER_BYTES: usize = 256 << 20;
/// Most bytes of a complaint.
const COMPLAINT_BYTES: usize = 16 << 10;
/// Most characters of a complaint that reach an error.
const COMPLAINT_CHARS: usize = 400;
/// What git says of itself and to whom, besides the settings.
const WORDS: [(&str, &str); 6] = [
    ("LC_ALL", "C"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_AUTHOR_NAME", "Belvedere"),
    ("GIT_AUTHOR_EMAIL", "belvedere@localhost"),
    ("GIT_COMMITTER_NAME", "Belvedere"),
    ("GIT_COMMITTER_EMAIL", "belvedere@localhost"),
];

/// git at one place.
#[derive(Debug, Clone)]
pub(super) struct Git {
    program: PathBuf,
    dir: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// The repository, and the settings that it is read with; neither for git on its own.
    at: Option<(Repository, Arc<PrivateSettings>)>,
    /// Where it writes objects, if not in the repository. They must outlive it.
    objects: Option<ScratchObjects>,
    cancel: CancellationToken,
}

pub(super) struct GitOutput {
    act: &'static str,
    /// Exit status; `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) out: Vec<u8>,
    /// What it complained of, on one line.
    pub(super) said: String,
}

pub(super) struct GitCall<'a> {
    git: &'a Git,
    act: &'static str,
    args: Vec<OsString>,
    input: Vec<u8>,
    limit: usize,
    stopping: Stopping,
}

/// Whether a run may be broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    Anytime,
    /// It writes files of the user's: stopping it would leave half of them.
    Never,
}

impl Git {
    /// Returns git on its own, away from any repository.
    pub(super) fn alone(program: &Path, untrusted: &[&Path], dir: &Path, cancel: &CancellationToken) -> Self {
        let environment = SearchPath::of_process(untrusted).bare_environment();
        Self {
            program: program.to_path_buf(),
            dir: dir.to_path_buf(),
            environment,
            at: None,
            objects: None,
            cancel: cancel.clone(),
        }
    }

    /// Returns git as it works on a repository.
    pub(super) async fn on(
        program: &Path,
        repository: Repository,
        cancel: &CancellationToken,
    ) -> Result<Self, WorktreeError> {
        let search = SearchPath::of_process(&repository.checkouts());
        let settings = PrivateSettings::new(program, &search, &repository).await?;
        let mut environment = settings.environment().to_vec();
        environment.extend(WORDS.map(|(name, value)| (name.into(), value.into())));
        Ok(Self {
            program: program.to_path_buf(),
            dir: repository.top.clone(),
            environment,
            at: Some((repository, Arc::new(settings))),
            objects: None,
            cancel: cancel.clone(),
        })
    }

    /// Returns git as it works in a linked worktree, whatever the `.git` file in it says by now.
    pub(super) async fn linked(
        program: &Path,
        root: &Path,
        git_dir: &Path,
        cancel: &CancellationToken,
    ) -> Result<Self, WorktreeError> {
        let (root, git_dir) = (root.to_path_buf(), git_dir.to_path_buf());
        let repository = blocking(move || Ok(Repository::at(&root, &git_dir)?)).await?;
        Self::on(program, repository, cancel).await
    }

    /// Returns the same git as it works on these files, with this folder of git's.
    pub(super) async fn elsewhere(&self, root: &Path, git_dir: &Path) -> Result<Self, WorktreeError> {
        Self::linked(&self.program, root, git_dir, &self.cancel).await
    }

    pub(super) fn repository(&self) -> Result<&Repository, WorktreeError> {
        let found = self.at.as_ref().map(|(repository, _)| repository);
        found.ok_or_else(|| WorktreeError::NoRepository { cwd: self.dir.clone() })
    }

    /// Returns the settings of a repository of its own that borrows the objects of this one.
    pub(super) async fn clone_settings(&self) -> Result<String, WorktreeError> {
        let repository = self.repository()?;
        let search = SearchPath::of_process(&repository.checkouts());
        Ok(clone_settings(&self.program, &search, repository).await?)
    }

    /// Checks that git follows no link when it writes objects, or this ref.
    pub(super) async fn check_writes(&self, reference: Option<String>) -> Result<(), WorktreeError> {
        let repository = self.repository()?.clone();
        blocking(move || Ok(repository.check_writes(reference.as_deref())?)).await
    }

    /// Returns `true` if a branch is checked out in some worktree.
    pub(super) async fn is_checked_out(&self, reference: String) -> Result<bool, WorktreeError> {
        let repository = self.repository()?.clone();
        blocking(move || Ok(repository.is_checked_out(&reference))).await
    }

    /// Returns the same git with an index of our own, so that the user's stays as it is.
    pub(super) fn with_index(&self, index: &Path) -> Self {
        self.with("GIT_INDEX_FILE", index)
    }

    /// Returns the same git with other files.
    pub(super) fn with_files(&self, root: &Path) -> Self {
        Self { dir: root.to_path_buf(), ..self.with("GIT_WORK_TREE", root) }
    }

    /// Returns the same git, which writes its objects there.
    pub(super) fn with_objects(&self, objects: &ScratchObjects) -> Self {
        let mut git = self.with("GIT_OBJECT_DIRECTORY", objects.objects());
        git.objects = Some(objects.clone());
        git
    }

    /// Returns the same git, to which an object is what its name says.
    pub(super) fn without_replaced_objects(&self) -> Self {
        self.with("GIT_NO_REPLACE_OBJECTS", "1")
    }

    fn with(&self, name: &str, value: impl Into<OsString>) -> Self {
        let mut git = self.clone();
        git.environment.push((name.into(), value.into()));
        git
    }

    pub(super) fn call(&self, act: &'static str) -> GitCall<'_> {
        GitCall {
            git: self,
            act,
            args: Vec::new(),
            input: Vec::new(),
            limit: ANSWER_BYTES,
            stopping: Stopping::Anytime,
        }
    }
}

impl GitCall<'_> {
    pub(super) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(super) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Hands these bytes to its standard input.
    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Reads no more than this many bytes; a longer answer is cut, and counts as complete.
    pub(super) fn at_most(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Lets the run end even if the user stops, or if nobody waits for it any more.
    pub(super) fn whole(mut self) -> Self {
        self.stopping = Stopping::Never;
        self
    }

    /// Runs and returns the output of a run that succeeded.
    pub(super) async fn run(self) -> Result<Vec<u8>, WorktreeError> {
        let answer = self.answer().await?;
        if answer.code == Some(0) { Ok(answer.out) } else { Err(answer.failed()) }
    }

    /// Runs and returns the first line of the output as text.
    pub(super) async fn line(self) -> Result<String, WorktreeError> {
        let out = self.run().await?;
        Ok(String::from_utf8_lossy(&out).lines().next().unwrap_or_default().to_owned())
    }

    /// Runs and returns what came of it.
    pub(super) async fn answer(self) -> Result<GitOutput, WorktreeError> {
        if self.stopping == Stopping::Anytime && self.git.cancel.is_cancelled() {
            return Err(WorktreeError::Cancelled);
        }
        let mut child = self.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let talk = async {
            let tell = async {
                if let Some(mut stdin) = stdin {
                    // A git that has failed reads no more, and says why by itself.
                    let _ = stdin.write_all(&self.input).await;
                }
            };
            let ((), out, complaint) =
                tokio::join!(tell, some_of(stdout, self.limit), all_but_keep(stderr, COMPLAINT_BYTES));
            let is_cut = out.len() > self.limit;
            child.wait().await.map(|status| (if is_cut { Some(0) } else { status.code() }, out, complaint))
        };
        let stopped = async {
            match self.stopping {
                Stopping::Anytime => self.git.cancel.cancelled().await,
                Stopping::Never => std::future::pending().await,
            }
        };
        let error = tokio::select! {
            talked = timeout(GIT_TIMEOUT, talk) => match talked {
                Ok(Ok((code, mut out, complaint))) => {
                    if out.len() > self.limit && self.limit == ANSWER_BYTES {
                        return Err(WorktreeError::Git { act: self.act, said: "its output is too long".to_owned() });
                    }
                    out.truncate(self.limit);
                    return Ok(GitOutput { act: self.act, code, out, said: one_line(&complaint) });
                }
                Ok(Err(error)) => WorktreeError::Git { act: self.act, said: error.to_string() },
                Err(_) => WorktreeError::TimedOut { act: self.act, seconds: GIT_TIMEOUT.as_secs() },
            },
            () = stopped => WorktreeError::Cancelled,
        };
        end(&mut child).await;
        Err(error)
    }

    fn spawn(&self) -> Result<Child, WorktreeError> {
        let mut command = Command::new(&self.git.program);
        command
            .args(&self.args)
            .current_dir(&self.git.dir)
            .env_clear()
            .envs(self.git.environment.iter().map(|(name, value)| (name, value)))
            .stdin(if self.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A signal to the terminal's group is meant for the program, which decides itself what to stop.
            .process_group(0)
            .kill_on_drop(self.stopping == Stopping::Anytime);
        command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if self.git.dir.is_dir() => WorktreeError::NoGit,
            _ => WorktreeError::Disk { path: self.git.dir.clone(), act: "opened", source: error },
        })
    }
}

impl GitOutput {
    /// Returns the error of a run that should have succeeded.
    pub(super) fn failed(self) -> WorktreeError {
        let said = if self.said.is_empty() { "no reason given".to_owned() } else { self.said };
        WorktreeError::Git { act: self.act, said }
    }
}

/// Asks git to end, which lets it remove what it has begun, and insists after two seconds.
async fn end(child: &mut Child) {
    let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        if let Some(group) = group {
            let _ = killpg(group, signal);
        }
        if timeout(STOP_GRACE, child.wait()).await.is_ok() {
            return;
        }
    }
}

/// Reads one byte more than the limit, so that a cut differs from an end, and then lets go of the pipe.
async fn some_of(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.take(limit as u64 + 1).read_to_end(&mut bytes).await;
    }
    bytes
}

/// Reads to the end and keeps the beginning.
async fn all_but_keep(pipe: Option<impl AsyncRead + Unpin>, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        let _ = (&mut pipe).take(limit as u64).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
    }
    bytes
}

fn one_line(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    let clean = sanitize_line(text.trim());
    match clean.char_indices().nth(COMPLAINT_CHARS) {
        Some((at, _)) => format!("{}…", &clean[..at]),
        None => clean.into_owned(),
    }
}
