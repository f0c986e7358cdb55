//! Language servers: what they say of a file that an agent has changed.
//!
//! Owns which server is for a file, starting it at the first change, and how long a result waits for it. Leaves the protocol
//! to `server`. Invariants: only servers of the user's own settings are started, in the sandbox unless those say otherwise; a
//! change is never held up longer than [`WAIT`], but by a server that has just started; one that ends is started anew a
//! bounded number of times, and said once.

mod report;
mod server;
mod wire;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use self::server::{LanguageServer, LanguageServerLaunch};
use super::file::open_regular;
use super::file::path::{one_line, relative};
use super::process::Shell;
use super::process::command_watch::CommandWatch;
use super::process::inside::Inside;
use super::{ToolContext, ToolOutput};
use crate::message::{LanguageServerSettings, ResultPart, without_speakers};
use crate::program::SearchPath;
use crate::sandbox::Intrusion;

/// How long a result waits for what a server says of a change.
const WAIT: Duration = Duration::from_millis(1_500);
/// How long after a server's start a result waits for it: servers read the project first.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// How much longer it waits after a server has found nothing.
const CLEAN_PAUSE: Duration = Duration::from_millis(400);
/// How long the end of the session waits for theirs.
const END_LIMIT: Duration = Duration::from_secs(4);
/// Bytes of a file that servers are told of.
const MAX_FILE: u64 = 1 << 20;
/// How often one server is started in one folder.
const MAX_STARTS: u32 = 3;
/// Servers that may run at the same time.
const MAX_SERVERS: usize = 8;
/// Files of earlier changes that are told of with a result.
const MAX_LATE: usize = 3;
const WHY_CHARS: usize = 200;

/// The language servers of a session. Clones share them; they end with the last clone.
#[derive(Debug, Clone, Default)]
pub struct LanguageServers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    settings: Vec<LanguageServerSettings>,
    shell: Shell,
    /// By name and by the root of the project, or of the worktree.
    known: Mutex<BTreeMap<(String, PathBuf), Known>>,
}

#[derive(Debug, Default)]
struct Known {
    server: Option<Arc<LanguageServer>>,
    starts: u32,
    /// Whether it was said that it is over, or cannot be started.
    is_said: bool,
}

impl LanguageServers {
    /// Returns the servers of these settings. None is started before a file of its is changed.
    #[must_use]
    pub fn new(settings: Vec<LanguageServerSettings>, shell: Shell) -> Self {
        Self(Arc::new(Shared { settings, shell, known: Mutex::default() }))
    }

    /// Returns what a change has come to, with what a server says of the file within a moment, and of files changed before.
    pub(super) async fn checked(&self, mut output: ToolOutput, context: &ToolContext) -> ToolOutput {
        let Some(path) = output.changes.first().map(|change| change.path.clone()) else { return output };
        let Some(settings) = self.0.settings.iter().find(|settings| settings.is_for(&path)) else { return output };
        let limit = Instant::now() + WAIT;
        let name = one_line(&settings.name, WHY_CHARS);
        let words = match tokio::time::timeout_at(limit, self.server(settings, context)).await {
            Ok(Ok(server)) => {
                let reading = tokio::time::timeout_at(limit, text_of(&path));
                let text = tokio::select! {
                    text = reading => text.ok().flatten(),
                    () = context.cancel.cancelled() => None,
                };
                let Some(text) = text else { return output };
                let limit = limit.max(server.started() + FIRST_WAIT);
                server.tell(&path, settings.language_of(&path), text, &context.freshness);
                let found = tokio::select! {
                    found = server.report(&path, limit, CLEAN_PAUSE) => found,
                    () = context.cancel.cancelled() => None,
                };
                let shown = |path: &Path| relative(path, &context.cwd);
                let mut words = String::new();
                if let Some(found) = found.filter(|found| !found.is_clean()) {
                    output.summary = format!("{} · {}", output.summary, found.counts());
                    words += &found.words(&name, &shown(&path));
                }
                for (path, found) in server.late(&path, MAX_LATE, &context.freshness) {
                    words += &found.words(&format!("{name}, later"), &shown(&path));
                }
                if let Some(found) = Intrusion::listed(&server.take_found()) {
                    let _ = write!(words, "\n[{name} runs in the sandbox. {found}]");
                }
                words + &self.end_of(settings, context, &server)
            }
            Ok(Err(why)) => why,
            Err(_) => String::new(),
        };
        if !words.is_empty() {
            output.content.push(ResultPart::Text { text: words });
        }
        output
    }

    /// Returns the server of a project, started if need be. `Err` is what is to be said instead, if anything.
    async fn server(
        &self,
        settings: &LanguageServerSettings,
        context: &ToolContext,
    ) -> Result<Arc<LanguageServer>, String> {
        let key = (settings.name.clone(), context.project.to_path_buf());
        {
            let mut known = self.known();
            // Worktrees come and go.
            known.retain(|(_, root), _| *root == key.1 || root.is_dir());
            let is_running = |known: &&Known| known.server.as_ref().is_some_and(|server| server.ended().is_none());
            let running = known.values().filter(is_running).count();
            let entry = known.entry(key.clone()).or_default();
            if let Some(server) = entry.server.clone().filter(|server| server.ended().is_none()) {
                return Ok(server);
            }
            if entry.starts >= MAX_STARTS || running >= MAX_SERVERS {
                return Err(String::new());
            }
        }
        let launch = match self.launch(settings, context).await {
            Ok(launch) => launch,
            Err(why) => {
                let mut known = self.known();
                let entry = known.entry(key).or_default();
                // It would not be otherwise at the next change.
                entry.starts = MAX_STARTS;
                return Err(said(&mut entry.is_said, &settings.name, &why));
            }
        };
        let mut known = self.known();
        let entry = known.entry(key).or_default();
        // Another call may have been quicker.
        if let Some(server) = entry.server.clone().filter(|server| server.ended().is_none()) {
            return Ok(server);
        }
        entry.starts += 1;
        let server = Arc::new(LanguageServer::start(launch));
        entry.server = Some(server.clone());
        Ok(server)
    }

    /// Ends them, for good, and waits within bounds until nothing of them runs, and what they left where they may not write
    /// was moved aside.
    pub async fn end(&self) {
        let servers: Vec<Arc<LanguageServer>> = {
            let mut known = self.known();
            known.values_mut().for_each(|known| known.starts = MAX_STARTS);
            known.values().filter_map(|known| known.server.clone()).collect()
        };
        for server in &servers {
            server.stop();
        }
        let over = async {
            for server in servers {
                server.over().await;
            }
        };
        let _ = tokio::time::timeout(END_LIMIT, over).await;
    }

    /// Says once that a server is over.
    fn end_of(&self, settings: &LanguageServerSettings, context: &ToolContext, server: &LanguageServer) -> String {
        let Some(why) = server.ended() else { return String::new() };
        let mut known = self.known();
        let entry = known.entry((settings.name.clone(), context.project.to_path_buf())).or_default();
        said(&mut entry.is_said, &settings.name, &why)
    }

    /// Works out how a server is started here.
    async fn launch(
        &self,
        settings: &LanguageServerSettings,
        context: &ToolContext,
    ) -> Result<LanguageServerLaunch, String> {
        let shell = self.0.shell.clone();
        let search = SearchPath::of_process(&context.untrusted());
        let program = if settings.command.starts_with('/') {
            PathBuf::from(&settings.command)
        } else {
            search.find(&settings.command).ok_or("there is no such program in PATH")?
        };
        let (environment, policy, watch) = if settings.outside {
            (shell.handed_on.environment(), None, CommandWatch::Unwatched)
        } else {
            let inside = Inside::of(&shell, context).await.ok_or(
                "there is no sandbox here, and it may run code of the project; `outside = true` in its settings starts \
                 it all the same",
            )?;
            let name = format!("the language server {}", one_line(&settings.name, WHY_CHARS));
            let (inside, watch) = inside.enter(&name, true).await.map_err(|error| error.to_string())?;
            (inside.environment, Some(inside.policy), watch)
        };
        let (mut program, mut args) = (program.to_string_lossy().into_owned(), settings.args.clone());
        if policy.is_some() {
            // The sandbox starts shells, which close what else is open.
            let starter = search.find("bash").unwrap_or_else(|| PathBuf::from("/bin/sh"));
            let line = ["-c", "--", r#"exec "$0" "$@""#].map(str::to_owned);
            args = line.into_iter().chain([program]).chain(args).collect();
            program = starter.to_string_lossy().into_owned();
        }
        let (root, watch) = (context.project.to_path_buf(), Arc::new(watch));
        let options = settings.initialization_options.clone();
        Ok(LanguageServerLaunch { shell, program, args, root, options, environment, policy, watch })
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<(String, PathBuf), Known>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn said(is_said: &mut bool, name: &str, why: &str) -> String {
    if std::mem::replace(is_said, true) {
        return String::new();
    }
    let words = format!("\n[{} gives no diagnostics: {}]", one_line(name, WHY_CHARS), one_line(why, WHY_CHARS));
    without_speakers(&words).into_owned()
}

/// Reads a file that servers are told of; `None` if it is too large, or no text. What was put in the place of a file is not
/// waited for.
async fn text_of(path: &Path) -> Option<String> {
    let path = path.to_path_buf();
    let read = move || {
        let mut bytes = Vec::new();
        let (file, _) = open_regular(&path, "").ok()?;
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).ok()?;
        if bytes.len() as u64 > MAX_FILE { None } else { String::from_utf8(bytes).ok() }
    };
    tokio::task::spawn_blocking(read).await.ok().flatten()
}
