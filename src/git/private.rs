//! The private settings that git runs with in place of a repository's own.
//!
//! Git reads the settings, hooks and attributes of a repository from its common folder, and takes another one for it where
//! the environment says so. The one we make holds settings of ours, and links to the objects and refs of the real one.
//! Owns that folder, and what of the user's and the repository's settings goes into it. Leaves to `layout` and `shown` which
//! that are. Invariant: the folder is the user's alone, and gone with its value.

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
use super::shown::{check_left_out, is_shown, names_file};
use super::{Refused, Repository};
use crate::program::SearchPath;
use crate::temporary::TemporaryFolder;

/// How long git may take to list settings, and the disk to be looked at.
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Bytes of the longest file of settings, ignored names or attributes.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// What of the real folder is led to.
const LINKED: [&str; 6] = ["objects", "refs", "packed-refs", "reftable", "shallow", "worktrees"];
/// The same where git is asked a question: what it writes there would go through any link in the real folder.
const READ: &str = "logs";
/// What of the real folder is copied: names and attributes of files, which run nothing by themselves.
const COPIED: [&str; 2] = ["info/exclude", "info/attributes"];
/// What a setting that names a missing file is led to.
const NO_FILE: &str = "no-file";
/// Settings of the user's own, of all repositories, that say which files count and how their lines end. Where what git
/// shows is for a model, there are more, see `shown`.
const USERS: &str = r"^core\.(excludesfile|autocrlf|eol)$";
/// Settings that say who the user is.
const WHO: &str = r"^(user|author|committer)\.";
/// Settings that say how one folder of git's is laid out, and where its files are.
const OF_FOLDER: [&str; 8] = [
    "core.bare",
    "core.fsmonitor",
    "core.repositoryformatversion",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.splitindex",
    "core.untrackedcache",
    "core.worktree",
];
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
    folder: TemporaryFolder,
    environment: Vec<(OsString, OsString)>,
}

impl PrivateSettings {
    /// Makes the settings with which `git` works on a repository. Returns an error if the repository is laid out in a
    /// way that is not known, or cannot be read in time.
    pub async fn new(git: &Path, search: &SearchPath, repository: &Repository) -> Result<Self, Refused> {
        let (_, layout) = listed(git, search, repository).await?;
        let users = list(git, search, &["--type=path", "--get-regexp", USERS], Vec::new()).await;
        let text = settings(&entries(&users.unwrap_or_default()), &layout);
        let making = (search.bare_environment(), repository.clone());
        in_time(move || {
            let (environment, repository) = making;
            repository.check_worktree(layout.worktree.as_deref())?;
            let folder = make_folder(&repository, None)?;
            write(&folder, &text)?;
            Ok(Self { environment: with_places(environment, &repository, folder.path()), folder })
        })
        .await
    }

    /// Makes the settings with which a command with these words, run in `cwd`, reads a repository, after a look whether
    /// it reads inside of `project` only. What the user and the repository say of how things are shown holds, as far as it
    /// runs nothing. Returns an error as [`Self::new`], and if anything leads out of the project, or what would be shown
    /// cannot be told without more of the settings.
    pub async fn within(
        git: &Path,
        search: &SearchPath,
        repository: &Repository,
        [cwd, project]: [&Path; 2],
        words: Vec<String>,
    ) -> Result<Self, Refused> {
        let (listing, layout) = listed(git, search, repository).await?;
        let (cwd, project) = (cwd.to_path_buf(), project.to_path_buf());
        let (environment, own) = (search.bare_environment(), repository.clone());
        let (made, layout) = in_time(move || {
            let worktree = layout.worktree.as_deref();
            own.check_worktree(worktree)?;
            own.check_within(&project, worktree)?;
            words.iter().try_for_each(|word| check_word(word, &cwd, &project))?;
            entries(&listing).iter().try_for_each(|(name, value)| check_left_out(name, value))?;
            let folder = make_folder(&own, Some(READ))?;
            let shown = Files { repository: &own, folder: &folder, home: None }.taken_over(&entries(&listing))?;
            write(&folder, &settings(&shown, &layout))?;
            Ok((Self { environment: with_places(environment, &own, folder.path()), folder }, layout))
        })
        .await?;
        // What the user says can hang on the repository, by its folder, its branch or its remotes.
        let all = made.list_all(git).await?;
        let (environment, own) = (search.bare_environment(), repository.clone());
        in_time(move || {
            let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
            let files = Files { repository: &own, folder: &made.folder, home };
            let text = settings(&files.taken_over(&entries(&all))?, &layout);
            write(&made.folder, &text)?;
            Ok(made)
        })
        .await
    }

    /// Lists the settings of the system, of the user and of the folder, as they hold in the repository.
    async fn list_all(&self, git: &Path) -> Result<Vec<u8>, Refused> {
        let is_silent = |name: &OsString| name == "GIT_CONFIG_NOSYSTEM" || name == "GIT_CONFIG_GLOBAL";
        let environment = self.environment.iter().filter(|(name, _)| !is_silent(name)).cloned().collect();
        output(git, environment, &["--list"], Vec::new()).await
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

/// Lists the settings of a repository, `name LF value NUL` each, and reads in them how it is laid out.
async fn listed(git: &Path, search: &SearchPath, repository: &Repository) -> Result<(Vec<u8>, Layout), Refused> {
    let mut listing = Vec::new();
    let mut add = async |file: PathBuf| {
        let text = match file.symlink_metadata() {
            Ok(_) => read_plain(&file, MAX_SETTINGS_BYTES)?,
            Err(_) => Vec::new(),
        };
        listing.extend(list(git, search, &["--file", "-", "--no-includes", "--list"], text).await?);
        Layout::of_listing(&listing)
    };
    let mut layout = add(repository.common_dir.join("config")).await?;
    if layout.has_own_settings {
        layout = add(repository.git_dir.join("config.worktree")).await?;
    }
    Ok((listing, layout))
}

/// Lists settings, `name LF value NUL` each. Git works outside of all repositories for that.
async fn list(git: &Path, search: &SearchPath, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>, Refused> {
    let mut environment = search.bare_environment();
    environment.push(("GIT_DIR".into(), "/dev/null".into()));
    output(git, environment, args, input).await
}

async fn output(
    git: &Path,
    environment: Vec<(OsString, OsString)>,
    args: &[&str],
    input: Vec<u8>,
) -> Result<Vec<u8>, Refused> {
    let unreadable = || Refused("its settings cannot be read".to_owned());
    let mut child = Command::new(git)
        .args(["config", "--null"])
        .args(args)
        .current_dir("/")
        .env_clear()
        .envs(environment)
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

/// Returns the names and values of a listing. What is no text is none of ours.
fn entries(listing: &[u8]) -> Vec<(String, String)> {
    let texts = listing.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
    let pair = |text: &str| {
        let (name, value) = text.split_once('\n').unwrap_or((text, "true"));
        (name.to_owned(), value.to_owned())
    };
    texts.filter(|text| !text.is_empty()).map(pair).collect()
}

/// Returns the settings of a repository of its own that borrows the objects of this one: those of this one but what says how
/// its own folder is laid out, and who the user is here. Its hooks are those of this one, too.
///
/// # Errors
/// Returns why the settings cannot be read.
pub async fn clone_settings(git: &Path, search: &SearchPath, repository: &Repository) -> Result<String, Refused> {
    let (listing, layout) = listed(git, search, repository).await?;
    let mut environment = search.bare_environment();
    environment.push(("GIT_DIR".into(), repository.git_dir.clone().into()));
    // What the user says can hang on where the folder lies, and this one lies elsewhere.
    let who = output(git, environment, &["--includes", "--get-regexp", WHO], Vec::new()).await.unwrap_or_default();
    let mut all =
        vec![("core.hookspath".to_owned(), repository.common_dir.join("hooks").to_string_lossy().into_owned())];
    all.extend(entries(&listing).into_iter().filter(|(name, _)| !is_of_folder(name)).map(|(name, value)| {
        let is_file = name.starts_with("include") && !value.starts_with("~/");
        let value = if is_file { repository.common_dir.join(value).to_string_lossy().into_owned() } else { value };
        (name, value)
    }));
    all.extend(entries(&who));
    all.extend(layout.settings.into_iter().filter(|(name, _)| name != "extensions.refstorage"));
    all.push(("core.bare".to_owned(), "false".to_owned()));
    Ok(text_of(&all))
}

/// Returns `true` for a setting that holds for the folder it stands in alone.
fn is_of_folder(name: &str) -> bool {
    let is_extension = name.starts_with("extensions.") && name != "extensions.partialclone";
    is_extension || OF_FOLDER.contains(&name)
}

/// Returns the text of the settings: those that are taken over, then the repository's layout, then what is fixed.
fn settings(taken_over: &[(String, String)], layout: &Layout) -> String {
    text_of(taken_over.iter().chain(&layout.settings)) + FIXED
}

fn text_of<'a>(settings: impl IntoIterator<Item = &'a (String, String)>) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        let Some((section, key)) = name.split_once('.') else { continue };
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let value = quoted(value).replace('\n', "\\n");
        let _ = match key.rsplit_once('.') {
            Some((one, key)) => writeln!(text, "[{section} \"{}\"]\n\t{key} = \"{value}\"", quoted(one)),
            None => writeln!(text, "[{section}]\n\t{key} = \"{value}\""),
        };
    }
    text
}

/// Where the files lie that settings name.
struct Files<'a> {
    repository: &'a Repository,
    folder: &'a TemporaryFolder,
    /// `None` while the settings are the repository's.
    home: Option<PathBuf>,
}

impl Files<'_> {
    /// Returns the settings of a listing that only change what is shown, with copies in the place of the files they name.
    fn taken_over(&self, all: &[(String, String)]) -> Result<Vec<(String, String)>, Refused> {
        let mut taken = Vec::new();
        for (at, (name, value)) in all.iter().enumerate() {
            if names_file(name) {
                taken.push((name.clone(), self.copy_of(name, value, at)?));
            } else if is_shown(name, value) {
                taken.push((name.clone(), value.clone()));
            }
        }
        Ok(taken)
    }

    /// Copies a file that a setting names, and returns the path of the copy: git would open whatever lies there when it runs.
    fn copy_of(&self, name: &str, value: &str, at: usize) -> Result<String, Refused> {
        let odd = |what: &str| Err(Refused(format!("its setting {name} {what}")));
        let own = self.folder.path();
        if value.is_empty() || Path::new(value).starts_with(own) {
            return Ok(value.to_owned());
        }
        let path = match (value.strip_prefix("~/"), &self.home) {
            (Some(below), Some(home)) => home.join(below),
            _ if value.starts_with(['~', '%', ':']) => return odd("names a place that is not known"),
            _ => self.repository.top.join(value),
        };
        let copy = match path.canonicalize() {
            Ok(real) => {
                let inside = [&self.repository.top, &self.repository.git_dir, &self.repository.common_dir];
                let is_users = self.home.is_some() && (value.starts_with("~/") || value.starts_with('/'));
                if !is_users && !inside.iter().any(|folder| real.starts_with(folder)) {
                    return odd("leads out of the project");
                }
                let copy = own.join(format!("file-{at}-{}", self.home.is_some()));
                let failed = |error: std::io::Error| Refused(format!("{} cannot be copied: {error}", real.display()));
                std::fs::write(&copy, read_plain(&real, MAX_SETTINGS_BYTES)?).map_err(failed)?;
                copy
            }
            // Git ends with an error.
            Err(_) if name == "blame.ignorerevsfile" => return odd("names a file that is not there"),
            Err(_) => own.join(NO_FILE),
        };
        Ok(copy.to_string_lossy().into_owned())
    }
}

/// Looks at the disk and returns what was found, or an error if that takes too long.
async fn in_time<T: Send + 'static>(work: impl FnOnce() -> Result<T, Refused> + Send + 'static) -> Result<T, Refused> {
    match timeout(TIME_LIMIT, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(made)) => made,
        _ => Err(Refused("it cannot be looked at in time".to_owned())),
    }
}

fn unmade(error: &std::io::Error) -> Refused {
    Refused(format!("a folder for its settings cannot be made: {error}"))
}

fn write(folder: &TemporaryFolder, settings: &str) -> Result<(), Refused> {
    std::fs::write(folder.path().join("config"), settings).map_err(|error| unmade(&error))
}

fn make_folder(repository: &Repository, more: Option<&str>) -> Result<TemporaryFolder, Refused> {
    let folder = TemporaryFolder::new("git").map_err(|error| unmade(&error))?;
    let own = |name: &str| folder.path().join(name);
    std::fs::create_dir(own("info")).map_err(|error| unmade(&error))?;
    for name in LINKED.into_iter().chain(more) {
        let real = repository.common_dir.join(name);
        // The first worktree makes its folder later.
        if name == "worktrees" || real.symlink_metadata().is_ok() {
            symlink(real, own(name)).map_err(|error| unmade(&error))?;
        }
    }
    for name in COPIED {
        let real: PathBuf = repository.common_dir.join(name);
        if real.symlink_metadata().is_ok() {
            std::fs::write(own(name), read_plain(&real, MAX_SETTINGS_BYTES)?).map_err(|error| unmade(&error))?;
        }
    }
    Ok(folder)
}
