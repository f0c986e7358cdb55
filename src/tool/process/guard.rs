//! How commands run that nobody is asked about.
//!
//! Owns the judgement whether a command can be run so that nothing of the project's runs with it and, if it is git, that
//! it reads inside the project only. Leaves which commands these are to `permission`, and git's settings to `crate::git`.
//! Invariant: what was judged is what runs; where the judgement fails, the command is one that is asked about.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;

use crate::git::{PrivateSettings, Repository};
use crate::permission::{is_git_query, is_option, is_read_only, reads_files, shell_words};
use crate::program::SearchPath;
use crate::tool::ToolContext;

const TIME_LIMIT: Duration = Duration::from_secs(5);

/// A command as it is run under guard.
#[derive(Debug)]
pub(in crate::tool) struct Guard {
    /// The line, with its program named by its place.
    pub(in crate::tool) command: OsString,
    pub(in crate::tool) environment: Vec<(OsString, OsString)>,
    /// Must outlive the command.
    _settings: Option<PrivateSettings>,
}

impl Guard {
    /// Returns how the command is run under guard, if it can be.
    pub(in crate::tool) async fn of(command: &str, context: &ToolContext) -> Option<Self> {
        if !is_read_only(command) && !is_git_query(command) {
            let words = reads_files(command)?;
            return timeout(TIME_LIMIT, Self::of_reader(words, context)).await.ok()?;
        }
        timeout(TIME_LIMIT, Self::judged(command, context)).await.ok()?
    }

    /// Returns how a program is run that reads the files which its words name, if all of them lie in the project.
    async fn of_reader(words: Vec<String>, context: &ToolContext) -> Option<Self> {
        let (cwd, project) = (context.cwd.clone(), context.project.clone());
        let untrusted: Vec<PathBuf> = context.untrusted().iter().map(|path| path.to_path_buf()).collect();
        let judging = move || {
            let untrusted: Vec<&Path> = untrusted.iter().map(PathBuf::as_path).collect();
            let search = SearchPath::of_process(&untrusted);
            let (name, rest) = words.split_first()?;
            if !rest.iter().all(|word| is_option(word) || leads_inside(&cwd.join(word), &project)) {
                return None;
            }
            let program = search.find(name)?;
            let quoted: Vec<String> = rest.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            let rest: Vec<&str> = quoted.iter().map(String::as_str).collect();
            Some(Self { command: line(&program, &rest), environment: search.bare_environment(), _settings: None })
        };
        tokio::task::spawn_blocking(judging).await.ok()?
    }

    async fn judged(command: &str, context: &ToolContext) -> Option<Self> {
        let words: Vec<&str> = command.split([' ', '\t', '\n']).filter(|word| !word.is_empty()).collect();
        let (name, arguments) = words.split_first()?;
        let repository = match *name {
            "git" => {
                let cwd = context.cwd.as_path().to_path_buf();
                tokio::task::spawn_blocking(move || Repository::around(&cwd)).await.ok()?.ok()?
            }
            _ => None,
        };
        let mut untrusted = context.untrusted().to_vec();
        untrusted.extend(repository.iter().flat_map(Repository::checkouts));
        let search = SearchPath::of_process(&untrusted);
        // A shell has `pwd` built in.
        let program = if *name == "pwd" { Path::new("pwd").to_path_buf() } else { search.find(name)? };
        if *name != "git" {
            let environment = search.bare_environment();
            return Some(Self { command: line(&program, arguments), environment, _settings: None });
        }
        let Some(repository) = repository else {
            // A bare repository is one that was not looked for.
            let looks_bare = |folder: &Path| folder.join("HEAD").exists() && folder.join("objects").is_dir();
            if context.cwd.ancestors().any(looks_bare) {
                return None;
            }
            // Outside of a repository, this compares files of any place.
            if arguments.contains(&"diff") {
                return None;
            }
            // There is nothing to read. Git says so itself, and finds nothing that comes into being meanwhile.
            let mut environment = search.bare_environment();
            environment.push(("GIT_DIR".into(), "/dev/null".into()));
            return Some(Self { command: git_line(&program, arguments), environment, _settings: None });
        };
        let places = [context.cwd.as_path(), context.project.as_path()];
        let settings = PrivateSettings::within(&program, &search, &repository, places, paths_in(command)).await.ok()?;
        let environment = settings.environment().to_vec();
        Some(Self { command: git_line(&program, arguments), environment, _settings: Some(settings) })
    }
}

/// Returns `true` if a path leads to a place in the project, or to nothing. A link that leads nowhere yet could lead
/// anywhere later.
fn leads_inside(path: &Path, project: &Path) -> bool {
    match (path.canonicalize(), path.symlink_metadata()) {
        (Ok(real), _) => real.starts_with(project),
        (Err(_), Ok(_)) => false,
        (Err(_), Err(_)) => {
            path.ancestors().find_map(|path| path.canonicalize().ok()).is_some_and(|real| real.starts_with(project))
        }
    }
}

/// Returns the words that may name files, as git gets them: quotes inside of a word lead elsewhere than its letters say.
fn paths_in(command: &str) -> Vec<String> {
    shell_words(command).into_iter().skip(1).filter(|word| !word.is_empty() && !is_option(word)).collect()
}

/// Returns the line for git. `status` and `diff` look into submodules, which have settings of their own; they are kept
/// from looking.
fn git_line(program: &Path, arguments: &[&str]) -> OsString {
    let at = usize::from(arguments.first() == Some(&"--no-pager"));
    let mut words = arguments.to_vec();
    if matches!(words.get(at), Some(&"status" | &"diff")) {
        words.insert(at + 1, "--ignore-submodules=dirty");
    }
    line(program, &words)
}

fn line(program: &Path, words: &[&str]) -> OsString {
    let quoted = program.as_os_str().as_bytes().split(|byte| *byte == b'\'').collect::<Vec<_>>().join(&b"'\\''"[..]);
    let mut line = OsString::from("'");
    line.push(OsStr::from_bytes(&quoted));
    line.push("'");
    for word in words {
        line.push(" ");
        line.push(word);
    }
    line
}
