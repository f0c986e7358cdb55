//! Where the keys of services come from: variables, a command of the user, the user's settings.
//!
//! Owns their order, and running the command. Leaves keeping a key to `provider::key`, and what the settings say to
//! `config`. Invariants: a command runs only when its service is asked, from the home and never with a program of the
//! project; every key is known to [`Secrets`] before anything is sent with it; no error holds one.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use crate::config::{Config, Environment};
use crate::message::format::words_of;
use crate::message::{Diagnostic, KeySettings, Secret};
use crate::program::SearchPath;
use crate::provider::table::{ProviderEnv, ProviderTable};
use crate::provider::{Credential, KeySource};
use crate::session::Secrets;

/// How long a command may take to print a key: the user may have to unlock it in a window.
const TIME_LIMIT: Duration = Duration::from_mins(1);
/// Most bytes that are read of what a command prints.
const MAX_PRINTED: u64 = 64 * 1024;
/// Longest excerpt of what a command says of its failure, in characters.
const SAID_CHARS: usize = 200;

/// Where commands that print keys run.
#[derive(Debug, Clone)]
pub struct KeyCommands {
    /// Folders whose programs are not run.
    pub untrusted: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// Variables that they do not get: they hold keys.
    pub withheld: Vec<String>,
    pub secrets: Secrets,
}

impl KeyCommands {
    /// Runs a command line and returns the one line that it prints. On failure, returns why.
    pub async fn run(&self, line: &str) -> Result<Secret, String> {
        let search = SearchPath::of_process(&self.untrusted.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        let shell = search.find("sh").ok_or("there is no `sh` in PATH outside of the project")?;
        let mut command = Command::new(shell);
        command.args(["-c", line]).current_dir(self.home.as_deref().unwrap_or(Path::new("/")));
        command.env("PATH", search.value());
        for name in &self.withheld {
            command.env_remove(name);
        }
        // The terminal is ours: a question for a passphrase would be drawn over the screen.
        command.env_remove("GPG_TTY").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.process_group(0).kill_on_drop(true).spawn();
        let child = started.map_err(|error| format!("the command cannot be started: {error}"))?;
        let mut group = Group(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw));
        let ended = tokio::time::timeout(TIME_LIMIT, output_of(child)).await;
        let output = ended.map_err(|_| format!("the command did not end within {} s", TIME_LIMIT.as_secs()))?;
        // What it leaves running, such as an agent that keeps a passphrase, is the user's.
        group.0 = None;
        self.key_in(output.map_err(|error| format!("the command broke off: {error}"))?)
    }

    /// Reads what a command has printed.
    fn key_in(&self, Output { status, stdout, stderr }: Output) -> Result<Secret, String> {
        if !status.success() {
            let said = self.secrets.mask(&String::from_utf8_lossy(&stderr)).into_owned();
            let said = words_of(&said, SAID_CHARS);
            let said = if said.is_empty() { "it says nothing on standard error" } else { &said };
            return Err(format!("the command {}: {said}", ended_how(status)));
        }
        let printed = String::from_utf8(stdout).map_err(|_| "the command printed no text")?;
        let key = Secret::new(&printed).ok_or("the command printed nothing")?;
        match key.expose().lines().count() {
            1 => {
                self.secrets.learn([key.expose()]);
                Ok(key)
            }
            lines => Err(format!("the command printed {lines} lines; a key is one line: add | head -n 1")),
        }
    }
}

/// Waits for the end of a command, and reads the beginning of what it prints.
async fn output_of(mut child: Child) -> io::Result<Output> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read = tokio::try_join!(read_into(out, &mut stdout), read_into(err, &mut stderr), child.wait());
    read.map(|(.., status)| Output { status, stdout, stderr })
}

async fn read_into(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) -> io::Result<usize> {
    match pipe {
        Some(pipe) => pipe.take(MAX_PRINTED).read_to_end(bytes).await,
        None => Ok(0),
    }
}

fn ended_how(status: ExitStatus) -> String {
    status.code().map_or_else(|| "was killed".to_owned(), |code| format!("ended with status {code}"))
}

/// The processes of a command that is given up.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It fails only if they are gone.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// Returns the services with what the environment and the settings say of them, and what is wrong with the latter.
/// `untrusted` are the folders that the agents work in.
pub(super) fn environment(
    config: &Config,
    environment: &Environment,
    untrusted: &[&Path],
    secrets: &Secrets,
) -> (ProviderEnv, Vec<Diagnostic>) {
    let table = ProviderTable::with(&config.providers);
    let commands = KeyCommands {
        untrusted: untrusted.iter().map(|folder| folder.to_path_buf()).collect(),
        home: environment.home(),
        withheld: table.secret_variables().map(str::to_owned).collect(),
        secrets: secrets.clone(),
    };
    let (mut credentials, mut errors) = (BTreeMap::new(), Vec::new());
    for (name, settings) in &config.service_keys {
        let Some(row) = table.get(name) else {
            let error = "has a key, but there is no such service: it needs `wire` and `url`, too.";
            errors.push(Diagnostic::new(format!("`providers.{name}` {error}")));
            continue;
        };
        if let Some(credential) = credential(&row.name, settings, &commands) {
            credentials.insert(row.name.clone(), credential);
        }
    }
    let services = ProviderEnv::of_process(table).with_credentials(credentials);
    secrets.learn(services.secrets());
    (services, errors)
}

/// Returns what the settings have for a service. A command counts more than a key in a file.
fn credential(name: &str, settings: &KeySettings, commands: &KeyCommands) -> Option<Credential> {
    let Some(line) = settings.command.clone() else { return settings.key.clone().map(Credential::Key) };
    let commands = commands.clone();
    let fetch = move || {
        let (commands, line) = (commands.clone(), line.clone());
        Box::pin(async move { commands.run(&line).await }) as _
    };
    Some(Credential::Fetched(KeySource::new(format!("`api_key_command` of `[providers.{name}]`"), Box::new(fetch))))
}
