//! The private settings that git runs with in place of a repository's own.
//!
//! Git reads the settings, hooks and attributes of a repository from its common folder, and takes another one for it where
//! the environment says so. The one we make holds settings of ours, and links to the objects and refs of the real one.
//! Invariant: the folder is the user's alone, and gone with its value.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::layout::Layout;
use super::repository::{check_word, read_plain};
use super::{Refused, Repository};
use crate::program::SearchPath;
use crate::temporary::TemporaryFolder;

/// How long git may take to list settings, and the disk to be looked at.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of the longest file of settings, ignored names or attributes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// What of the real folder is led to.
const LINKED: [&str; 7] = ["objects", "refs", "packed-refs", "reftable", "logs", "shallow", "worktrees"];
/// What of the real folder is copied: names and attributes of files, which run nothing by themselves.
const COPIED: [&str; 2] = ["info/exclude", "info/attributes"];
/// Settings of the user's own, of all repositories, that say which files count and how their lines end.
const USERS: &str = r"^core\.(excludesfile|autocrlf|eol)$";
/// Settings that keep git to itself, and independent of the user's taste.
const FIXED: &str = "[core]
	bare = false
	fsmonitor = false
	hooksPath = /dev/null
	pager = cat
	safecrlf = false
	splitIndex = false
	untrackedCache = false
[advice]
	addEmbeddedRepo = false
[gc]
	auto = 0
[maintenance]
	auto = false
[submodule]
	recurse = false
";

/// Variables that keep git from settings of others, from the network, from writing on the side and from asking.
const SILENT: [(&str, &str); 10] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("TERM", "dumb"),
];

/// A folder with settings of our own for one repository.
#[derive(Debug)]
pub struct PrivateSettings {
    _folder: TemporaryFolder,
    environment: Vec<(OsString, OsString)>,
}

impl PrivateSettings {
    /// Makes the settings with which `git` works on a repository. Returns an error if the repository is laid out in a
    /// way that is not known, or cannot be read in time.
    pub async fn new(git: &Path, search: &SearchPath, repository: &Repository) -> Result<Self, Refused> {
        Self::checked(git, search, repository.clone(), |_, _| Ok(())).await
    }

    /// Makes the settings with which a command with these words, run in `cwd`, reads a repository, after a look whether
    /// it reads inside of `project` only. Returns an error as [`Self::new`], and if anything leads out of the project.
    pub async fn within(
        git: &Path,
        search: &SearchPath,
        repository: &Repository,
        [cwd, project]: [&Path; 2],
        words: Vec<String>,
    ) -> Result<Self, Refused> {
        let (cwd, project) = (cwd.to_path_buf(), project.to_path_buf());
        let check = move |repository: &Repository, worktree: Option<&Path>| {
            repository.check_within(&project, worktree)?;
            words.iter().try_for_each(|word| check_word(word, &cwd, &project))
        };
        Self::checked(git, search, repository.clone(), check).await
    }

    async fn checked<F>(git: &Path, search: &SearchPath, repository: Repository, check: F) -> Result<Self, Refused>
    where
        F: FnOnce(&Repository, Option<&Path>) -> Result<(), Refused> + Send + 'static,
    {
        let config = repository.common_dir.join("config");
        let text = match config.symlink_metadata() {
            Ok(_) => read_plain(&config, MAX_SETTINGS_BYTES)?,
            Err(_) => Vec::new(),
        };
        let listing = list(git, search, &["--file", "-", "--no-includes", "--list"], text).await?;
        let layout = Layout::of_listing(&listing)?;
        let users = list(git, search, &["--type=path", "--get-regexp", USERS], Vec::new()).await;
        let settings = settings(&users.unwrap_or_default(), &layout);
        let environment = search.bare_environment();
        let work = move || {
            let worktree = layout.worktree.as_deref();
            repository.check_worktree(worktree)?;
            check(&repository, worktree)?;
            let folder = make_folder(&repository, &settings)?;
            Ok(Self { environment: with_places(environment, &repository, folder.path()), _folder: folder })
        };
        match timeout(TIME_LIMIT, tokio::task::spawn_blocking(work)).await {
            Ok(Ok(made)) => made,
            _ => Err(Refused("it cannot be looked at in time".to_owned())),
        }
    }

    /// Returns the whole environment of git. It holds as long as this value lives.
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }
}

/// Returns the environment with all that leads git to a repository, and nowhere else.
fn with_places(
    mut environment: Vec<(OsString, OsString)>,
    repository: &Repository,
    folder: &Path,
) -> Vec<(OsString, OsString)> {
    let places: [(&str, &OsStr); 3] = [
        ("GIT_DIR", repository.git_dir.as_os_str()),
        ("GIT_COMMON_DIR", folder.as_os_str()),
        ("GIT_WORK_TREE", repository.top.as_os_str()),
    ];
    environment.extend(places.map(|(name, value)| (name.into(), value.into())));
    environment.extend(SILENT.map(|(name, value)| (name.into(), value.into())));
    environment
}

/// Lists settings, `name LF value NUL` each. Git works outside of all repositories for that.
async fn list(git: &Path, search: &SearchPath, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>, Refused> {
    let unreadable = || Refused("its settings cannot be read".to_owned());
    let mut child = Command::new(git)
        .args(["config", "--null"])
        .args(args)
        .current_dir("/")
        .env_clear()
        .envs(search.bare_environment())
        .env("GIT_DIR", "/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|_| unreadable())?;
    let stdin = child.stdin.take();
    let tell = async move {
        if let Some(mut stdin) = stdin {
            // A git that has failed reads no more, and its status says so.
            let _ = stdin.write_all(&input).await;
        }
    };
    let answer = timeout(TIME_LIMIT, async { tokio::join!(tell, child.wait_with_output()).1 }).await;
    let answer = answer.map_err(|_| unreadable())?.map_err(|_| unreadable())?;
    // 1 means that there is no such setting.
    if matches!(answer.status.code(), Some(0 | 1)) { Ok(answer.stdout) } else { Err(unreadable()) }
}

/// Returns the text of the settings: the user's own, then the repository's layout, then what is fixed.
fn settings(users: &[u8], layout: &Layout) -> String {
    let users = users.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok()?.split_once('\n'));
    let layout = layout.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut text = String::new();
    for (name, value) in users.chain(layout) {
        if let Some((section, key)) = name.split_once('.') {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = writeln!(text, "[{section}]\n\t{key} = \"{value}\"");
        }
    }
    text + FIXED
}

fn make_folder(repository: &Repository, settings: &str) -> Result<TemporaryFolder, Refused> {
    let error = |error: std::io::Error| Refused(format!("a folder for its settings cannot be made: {error}"));
    let folder = TemporaryFolder::new("git").map_err(error)?;
    let own = |name: &str| folder.path().join(name);
    std::fs::write(own("config"), settings).map_err(error)?;
    std::fs::create_dir(own("info")).map_err(error)?;
    for name in LINKED {
        let real = repository.common_dir.join(name);
        // The first worktree makes its folder later.
        if name == "worktrees" || real.symlink_metadata().is_ok() {
            symlink(real, own(name)).map_err(error)?;
        }
    }
    for name in COPIED {
        let real: PathBuf = repository.common_dir.join(name);
        if real.symlink_metadata().is_ok() {
            std::fs::write(own(name), read_plain(&real, MAX_SETTINGS_BYTES)?).map_err(error)?;
        }
    }
    Ok(folder)
}
