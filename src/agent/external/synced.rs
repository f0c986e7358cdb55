//! A folder over there that rsync keeps, for programs that take none themselves.
//!
//! Owns what rsync is asked, where the folder lies and when it is gone. Leaves what becomes of the files here to `worktree`.
//! Invariants: what comes back lands in a folder of its own, away from the worktree; nothing is removed over there before all of it
//! is here; a run of rsync that nobody waits for any more has ended.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::sleep;

use crate::external::{ExternalStart, LaunchExternal};
use crate::launched::ProgramLog;
use crate::message::{ExternalProgram, RsyncFolder};
use crate::program::SearchPath;
use crate::temporary::TemporaryFolder;
use crate::worktree::{CarriedFolder, is_too_much};

/// Has its exit status as its last line.
const RUN: &str = r#""$0" "$@"; echo "$?""#;
/// Links stay links, times tell what has changed to the nanosecond, and a connection that is silent for a minute is given up.
const ALWAYS: [&str; 6] = ["-rltE", "-q", "--protect-args", "--modify-window=-1", "--timeout=60", "--exclude=/.git"];
/// What is sent is the user's alone over there, too, whatever the umask is.
const PRIVATE: [&str; 2] = ["--perms", "--chmod=go="];
/// The status of a run in which files went away while they were looked at.
const VANISHED: &str = "24";
/// How often the size of what comes in is looked at.
const SIZE_INTERVAL: Duration = Duration::from_secs(2);
/// Bytes of the output that are read.
const MAX_OUTPUT: u64 = 64 << 10;
/// Lines that an error quotes.
const QUOTED: usize = 3;

/// One folder over there, and what of it is here.
pub(super) struct SyncedFolder {
    launch: LaunchExternal,
    env: Vec<(String, String)>,
    rsync: String,
    place: RsyncFolder,
    /// What it is called over there.
    name: String,
    here: TemporaryFolder,
    /// Whether something may be over there.
    is_sent: AtomicBool,
}

impl SyncedFolder {
    /// Makes one for the files of a worktree. Nothing is sent yet.
    pub(super) async fn new(
        (launch, program): (&LaunchExternal, &ExternalProgram),
        place: &RsyncFolder,
        (carried, project): (&CarriedFolder, &Path),
    ) -> Result<Self, String> {
        let rsync = SearchPath::of_process(&[project, carried.root()]).find("rsync");
        let rsync = rsync.ok_or("rsync is not installed here; `folder = \"rsync\"` needs it on both sides")?;
        let here = carried.landing().await.map_err(|error| error.to_string())?;
        let name = here.path().file_name().unwrap_or_default().to_string_lossy().trim_start_matches('.').to_owned();
        let (rsync, env) = (rsync.to_string_lossy().into_owned(), program.env.clone());
        let is_sent = AtomicBool::new(false);
        Ok(Self { launch: launch.clone(), env, rsync, place: place.clone(), name, here, is_sent })
    }

    /// Sends the files of the worktree, and what of the project is to go along besides.
    pub(super) async fn send(&self, carried: &CarriedFolder, project: &Path) -> Result<(), String> {
        for path in &self.place.include {
            let (project, place) = (project.to_path_buf(), project.join(path));
            let leads_out = move || match (project.canonicalize(), place.canonicalize()) {
                (Ok(project), Ok(place)) => Ok(!place.starts_with(project)),
                (_, Err(error)) | (Err(error), _) => Err(error),
            };
            let leads_out = tokio::task::spawn_blocking(leads_out).await.map_err(|error| error.to_string())?;
            if leads_out.map_err(|error| format!("`{path}` of `include`: {error}"))? {
                return Err(format!("`{path}` of `include` leads out of the project"));
            }
        }
        // What is left out over there stays here as it is.
        self.run(&[], &[&inside(carried.root()), &inside(self.here())]).await?;
        self.is_sent.store(true, Ordering::Relaxed);
        let there = self.there();
        let private = PRIVATE.map(str::to_owned).to_vec();
        let options = [self.excludes(), private.clone(), vec!["--mkpath".to_owned()]].concat();
        self.run(&options, &[&inside(self.here()), &there]).await?;
        for path in &self.place.include {
            // What stands before the dot does not count as part of the name.
            let path = format!("{}/./{path}", project.display());
            let options = [self.excludes(), private.clone(), vec!["--relative".to_owned()]].concat();
            self.run(&options, &[&path, &there]).await?;
        }
        Ok(())
    }

    /// Returns its root over there.
    pub(super) fn root(&self) -> PathBuf {
        self.place.path().join(&self.name)
    }

    /// Returns the folder with what is here of it.
    pub(super) fn here(&self) -> &Path {
        self.here.path()
    }

    /// Returns the folder as rsync names it.
    pub(super) fn there(&self) -> String {
        format!("{}/{}/", self.place.to, self.name)
    }

    /// Fetches what has changed over there.
    pub(super) async fn fetch(&self) -> Result<(), String> {
        let mut options = self.excludes();
        options.extend(self.place.include.iter().map(|path| format!("--exclude=/{path}")));
        options.push("--delete".to_owned());
        let (from, to) = (self.there(), inside(self.here()));
        let ends = [from.as_str(), to.as_str()];
        let growing = async {
            loop {
                sleep(SIZE_INTERVAL).await;
                let here = self.here().to_path_buf();
                if tokio::task::spawn_blocking(move || is_too_much(&here)).await.unwrap_or(true) {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            fetched = self.run(&options, &ends) => fetched,
            () = growing => Err("it is too much; `exclude` leaves out what nobody needs here".to_owned()),
        }
    }

    /// Removes it over there.
    pub(super) async fn remove(&self) -> Result<(), String> {
        if !self.is_sent.load(Ordering::Relaxed) {
            return Ok(());
        }
        let empty = TemporaryFolder::new("empty").map_err(|error| error.to_string())?;
        // All else there is none of ours.
        let only = ["--delete".to_owned(), format!("--include=/{}/***", self.name), "--exclude=*".to_owned()];
        self.run(&only, &[&inside(empty.path()), &format!("{}/", self.place.to)]).await
    }

    fn excludes(&self) -> Vec<String> {
        self.place.exclude.iter().map(|pattern| format!("--exclude={pattern}")).collect()
    }

    async fn run(&self, options: &[String], from_and_to: &[&str; 2]) -> Result<(), String> {
        let words = std::iter::once("-c").chain([RUN, &self.rsync]).chain(ALWAYS);
        let words = words.chain(options.iter().map(String::as_str)).chain(["--"]).chain(from_and_to.iter().copied());
        let args = words.map(str::to_owned).collect();
        let program = ExternalProgram { command: "/bin/sh".to_owned(), args, env: self.env.clone() };
        let start = ExternalStart { program, is_projects: false, cwd: self.here().to_path_buf() };
        let mut launched = (self.launch)(start).await.map_err(|error| error.to_string())?;
        let log = ProgramLog::default();
        let mut output = String::new();
        let reading = async {
            let _ = launched.stream.shutdown().await;
            (&mut launched.stream).take(MAX_OUTPUT).read_to_string(&mut output).await
        };
        let (read, ()) = tokio::join!(reading, log.clone().follow(launched.log));
        launched.process.end().await;
        read.map_err(|error| error.to_string())?;
        match output.trim_end().lines().next_back() {
            Some("0" | VANISHED) => Ok(()),
            _ => Err(Some(log.last(QUOTED).join(" / "))
                .filter(|said| !said.is_empty())
                .unwrap_or("rsync has ended".into())),
        }
    }
}

/// Names a folder so that rsync takes what is in it.
fn inside(folder: &Path) -> String {
    format!("{}/", folder.display())
}
