//! Where the keys of services come from: variables, a command of the user, the keyring, the user's settings.
//!
//! Owns their order, and running the command. Leaves the keyring to `keyring`, keeping a key to `provider::key`, and
//! what the settings say to `config`. Invariants: a command runs only when its service is asked, from the home and never with a program of the
//! project; every key is known to [`Secrets`] before anything is sent with it; no error holds one.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use super::Bootstrap;
use super::claude_setup::{ClaudeSetup, GOOGLE_TOKEN, HEADERS};
use super::keyring::{Keyring, KeyringRecord};
use super::settings::{KeyHelper, SessionSettings};
use crate::config::{Config, Environment, Paths};
use crate::message::format::words_of;
use crate::message::{CacheTtl, Diagnostic, KeySettings, ProviderRow, Secret};
use crate::program::SearchPath;
use crate::provider::table::{ProviderEnv, ProviderTable};
use crate::provider::{Credential, FetchKey, KeySource};
use crate::session::Secrets;
use crate::tool::{FetchSecret, SearchEngine};

/// How long a command may take to print a key: the user may have to unlock it in a window.
const TIME_LIMIT: Duration = Duration::from_mins(1);
/// How long what a command has left running may hold its output once it has ended.
const LAST_WORDS_LIMIT: Duration = Duration::from_secs(1);
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
        let ended = ended.map_err(|_| format!("the command did not end within {} s", TIME_LIMIT.as_secs()))?;
        let (output, is_held) = ended.map_err(|error| format!("the command broke off: {error}"))?;
        // What it leaves running, such as an agent that keeps a passphrase, is the user's, unless it could print more.
        if !is_held {
            group.0 = None;
        }
        self.key_in(output)
    }

    /// Reads what a command has printed.
    fn key_in(&self, Output { status, stdout, stderr }: Output) -> Result<Secret, String> {
        // Whatever it ends with, it may have named the key.
        self.secrets.learn(String::from_utf8_lossy(&stdout).lines().map(str::trim));
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

/// Waits for the end of a command, and reads the beginning of what it prints. Also returns whether something it has left
/// running still holds its output.
async fn output_of(mut child: Child) -> io::Result<(Output, bool)> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let mut is_held = false;
    let status = {
        let reading = async { tokio::try_join!(read_into(out, &mut stdout), read_into(err, &mut stderr)) };
        tokio::pin!(reading);
        tokio::select! {
            read = &mut reading => {
                read?;
                child.wait().await?
            }
            status = child.wait() => {
                match tokio::time::timeout(LAST_WORDS_LIMIT, reading).await {
                    Ok(read) => drop(read?),
                    Err(_) => is_held = true,
                }
                status?
            }
        }
    };
    Ok((Output { status, stdout, stderr }, is_held))
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
    (config, settings, paths): (&Config, &SessionSettings, Option<&Paths>),
    environment: &Environment,
    untrusted: &[&Path],
    secrets: &Secrets,
) -> KeyedServices {
    let environment = environment.clone().with(settings.service_variables());
    let setup = ClaudeSetup::new(&environment, settings);
    let table = setup.table(ProviderTable::with(&config.providers), config);
    let table = if config.cache_ttl == CacheTtl::Auto { table } else { table.caching(config.cache_ttl) };
    let search = config.web_search.iter().filter_map(|(settings, _)| settings.key_variable());
    let commands = KeyCommands {
        untrusted: untrusted.iter().map(|folder| folder.to_path_buf()).collect(),
        home: environment.home(),
        withheld: table.secret_variables().chain(search).chain([HEADERS]).map(str::to_owned).collect(),
        secrets: secrets.clone(),
    };
    let in_keyring = in_keyring(paths);
    let credential = |row: &Arc<ProviderRow>| {
        let source = configured((config, &setup, settings), &in_keyring, &row.name).into_iter().next()?;
        Some((row.name.clone(), credential(&row.name, source, &commands)))
    };
    let credentials: BTreeMap<String, Credential> = table.rows().filter_map(credential).collect();
    let named: BTreeSet<&String> = config.service_keys.keys().chain(config.transports.keys()).collect();
    let unknown = named.into_iter().filter(|name| table.get(name).is_none());
    let errors = unknown.map(|name| {
        Diagnostic::new(format!("`providers.{name}`: there is no such service: it needs `wire` and `url`, too."))
    });
    let errors = errors.collect();
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let mut transports = config.transports.clone();
    let reached = setup.transport(config.transports.get(setup.service()));
    let broken = reached.and_then(|reached| match reached {
        Ok(transport) => transports.insert(setup.service().to_owned(), transport).and(None),
        Err(why) => Some(why),
    });
    let services = ProviderEnv::new(table, variable).with_credentials(credentials).requiring(setup.required());
    let services = services.with_transports(&transports, commands.home.as_deref(), &variable);
    let services = match broken {
        Some(why) => services.refusing(setup.service(), why),
        None => services,
    };
    secrets.learn(services.secrets());
    let engine = engine(config, &environment, &commands);
    KeyedServices { services, environment, engine, diagnostics: errors }
}

/// What keys open.
pub(super) struct KeyedServices {
    pub(super) services: ProviderEnv,
    /// The environment with the variables of settings that are about services.
    pub(super) environment: Environment,
    /// What searches the web where no service does.
    pub(super) engine: Option<SearchEngine>,
    /// What is wrong with the settings.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Returns the search engine of the settings, with its key: that of its variable, else what a command prints, else the one
/// that is written there.
fn engine(config: &Config, environment: &Environment, commands: &KeyCommands) -> Option<SearchEngine> {
    let (settings, keys) = config.web_search.as_ref()?;
    let set = settings.key_variable().and_then(|name| environment.get(name)).and_then(Secret::new);
    let credential = match (set, &keys.command, &keys.key) {
        (Some(key), ..) => Some(Credential::Key(key)),
        (None, Some(line), _) => Some(fetched("`api_key_command` of `[web.search]`".to_owned(), line, commands)),
        (None, None, key) => key.clone().map(Credential::Key),
    };
    let fetch = credential.and_then(|credential| -> Option<FetchSecret> {
        Some(match credential {
            Credential::Key(key) => {
                commands.secrets.learn([key.expose()]);
                Arc::new(move || {
                    let key = key.clone();
                    Box::pin(async move { Ok(key) })
                })
            }
            Credential::Fetched(source) => Arc::new(move || {
                let source = source.clone();
                Box::pin(async move { source.secret().await })
            }),
            _ => return None,
        })
    });
    SearchEngine::new(settings, fetch)
}

/// Returns a key that a command prints when it is needed.
fn fetched(place: String, line: &str, commands: &KeyCommands) -> Credential {
    Credential::Fetched(KeySource::new(place, fetch_by(line, commands)))
}

fn fetch_by(line: &str, commands: &KeyCommands) -> FetchKey {
    let (commands, line) = (commands.clone(), line.to_owned());
    Box::new(move || {
        let (commands, line) = (commands.clone(), line.clone());
        Box::pin(async move { commands.run(&line).await }) as _
    })
}

/// Where a service has its key, beside variables.
#[derive(Clone, Copy)]
enum Source<'a> {
    Command(&'a str),
    Keyring,
    Written(&'a Secret),
    /// What the user's set-up of Claude Code runs for it.
    Helper(&'a KeyHelper),
    /// The program of Google that prints a token for it.
    Google,
}

fn in_keyring(paths: Option<&Paths>) -> Vec<String> {
    paths.map(|paths| KeyringRecord::in_dir(&paths.state_dir).services()).unwrap_or_default()
}

/// Returns where a service has its key beside variables, in the order in which they count.
fn configured<'a>(
    (config, setup, more): (&'a Config, &ClaudeSetup<'_>, &'a SessionSettings),
    in_keyring: &[String],
    service: &str,
) -> Vec<Source<'a>> {
    let settings = config.service_keys.iter().find(|(name, _)| name.eq_ignore_ascii_case(service));
    let KeySettings { command, key } = settings.map_or(&NO_SETTINGS, |(_, settings)| settings);
    let command = command.as_deref().map(Source::Command);
    let keyring = in_keyring.iter().any(|name| name == service).then_some(Source::Keyring);
    let own = command.into_iter().chain(keyring).chain(key.as_ref().map(Source::Written));
    let is_meant = service == setup.service();
    let helper = more.key_helper().filter(|_| is_meant && service == "anthropic").map(Source::Helper);
    let google = (is_meant && setup.asks_google()).then_some(Source::Google);
    // The key for Anthropic itself does not go where a settings file leads.
    let (first, last) = if setup.is_placed_by_settings() { (helper, None) } else { (None, helper) };
    first.into_iter().chain(own).chain(last).chain(google).collect()
}

const NO_SETTINGS: KeySettings = KeySettings { command: None, key: None };

fn credential(service: &str, source: Source<'_>, commands: &KeyCommands) -> Credential {
    match source {
        Source::Written(key) => Credential::Key(key.clone()),
        Source::Command(line) => fetched(format!("`api_key_command` of `[providers.{service}]`"), line, commands),
        Source::Google => fetched(format!("`{GOOGLE_TOKEN}`"), GOOGLE_TOKEN, commands),
        Source::Helper(helper) => {
            let place = format!("`apiKeyHelper` of {}", helper.file.display());
            Credential::Fetched(KeySource::for_both_headers(place, fetch_by(&helper.command, commands)))
        }
        Source::Keyring => {
            let (secrets, name) = (commands.secrets.clone(), service.to_owned());
            let fetch = move || Box::pin(from_keyring(Keyring::of_system(), name.clone(), secrets.clone())) as _;
            let place = format!("the key in the keyring (`belvedere keys set {service}`)");
            Credential::Fetched(KeySource::new(place, Box::new(fetch)))
        }
    }
}

/// Asks the keyring for the key of a service. On failure, returns why there is none.
pub async fn from_keyring(keyring: Keyring, service: String, secrets: Secrets) -> Result<Secret, String> {
    let asked = tokio::task::spawn_blocking(move || keyring.get(&service));
    let answer = tokio::time::timeout(TIME_LIMIT, asked).await;
    let answer = answer.map_err(|_| format!("the keyring did not answer within {} s", TIME_LIMIT.as_secs()))?;
    let key = answer.map_err(|_| "the keyring broke off")??.ok_or("the keyring has none")?;
    secrets.learn([key.expose()]);
    Ok(key)
}

/// Where a service has its key, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPlaces {
    pub service: Arc<ProviderRow>,
    /// In the order in which they count; the first is used.
    pub places: Vec<String>,
}

/// Returns where each service has its key. No key is fetched for that.
pub fn key_places(bootstrap: &Bootstrap) -> Vec<KeyPlaces> {
    let in_keyring = in_keyring(bootstrap.paths.as_ref());
    let environment = Environment::of_process().with(bootstrap.settings.service_variables());
    let setup = ClaudeSetup::new(&environment, &bootstrap.settings);
    let said = (&bootstrap.config, &setup, &bootstrap.settings);
    let of = |row: &Arc<ProviderRow>| {
        let set = row.secret_variables().filter(|name| bootstrap.services.is_set(name)).map(str::to_owned);
        let configured = configured(said, &in_keyring, &row.name).into_iter().map(|source| match source {
            Source::Command(_) => "api_key_command".to_owned(),
            Source::Keyring => "keyring".to_owned(),
            Source::Helper(_) => "apiKeyHelper".to_owned(),
            Source::Google => "gcloud".to_owned(),
            Source::Written(_) => "api_key in config.toml".to_owned(),
        });
        KeyPlaces { service: row.clone(), places: set.chain(configured).collect() }
    };
    bootstrap.services.table.rows().map(of).collect()
}
