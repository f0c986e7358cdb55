//! One language server: its process, what it is told, and what it has said.
//!
//! Owns the order of the protocol: it is told of files only once it is ready, and of its end before it is ended. Leaves
//! which files matter to `lsp`. Invariants: nobody waits for it but with a limit; whatever becomes of it, its processes end
//! as a group, at the latest with the session.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::report::FileReport;
use super::wire::{Frames, Published, framed};
use crate::sandbox::{Intrusion, SandboxPolicy};
use crate::tool::process::command_watch::CommandWatch;
use crate::tool::{Freshness, Shell};

/// How long it may take to get ready.
const READY_LIMIT: Duration = Duration::from_mins(1);
/// How long it may take to read what it is told.
const WRITE_LIMIT: Duration = Duration::from_secs(10);
/// How long it may take to end when it is asked to, before its processes are ended.
const FAREWELL_LIMIT: Duration = Duration::from_millis(500);
/// Bytes of its last words on standard error that are kept.
const MAX_COMPLAINT: usize = 2 << 10;
/// The number of the request that begins.
const INITIALIZE: u64 = 1;
const SHUTDOWN: u64 = 2;

/// What it takes to start one.
pub(super) struct LanguageServerLaunch {
    pub(super) shell: Shell,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) root: PathBuf,
    /// What the user has set for it (`initializationOptions`).
    pub(super) options: Option<Value>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// The sandbox it runs in; `None` for one that runs outside.
    pub(super) policy: Option<SandboxPolicy>,
    pub(super) watch: Arc<CommandWatch>,
}

/// A file as it is now.
struct FileText {
    path: PathBuf,
    language: String,
    version: i64,
    text: String,
}

/// A server that runs, or did. It ends with the last of its handles.
#[derive(Debug)]
pub(super) struct LanguageServer {
    started: Instant,
    told: mpsc::UnboundedSender<FileText>,
    heard: Arc<Heard>,
    /// Asked for its end.
    stop: CancellationToken,
    over: watch::Receiver<bool>,
    watch: Arc<CommandWatch>,
}

#[derive(Debug, Default)]
struct Heard {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The files it was told of, and what is known of each.
    files: BTreeMap<PathBuf, FileState>,
    /// Why it is over.
    ended: Option<String>,
}

#[derive(Debug, Default)]
struct FileState {
    version: i64,
    /// What it has said of this version.
    found: Option<FileReport>,
    /// What its editor was told last.
    reported: Option<FileReport>,
    /// The agent that changed it last, by what it has read.
    editor: Weak<Freshness>,
}

impl Heard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, why: String) {
        self.state().ended.get_or_insert(why);
        self.changed.notify_waiters();
    }

    fn take_in(&self, published: &Published) {
        let path = Url::parse(&published.uri).ok().and_then(|uri| uri.to_file_path().ok());
        let mut state = self.state();
        if let Some(file) = path.and_then(|path| state.files.get_mut(&path))
            && published.version.is_none_or(|version| version == file.version)
        {
            file.found = Some(FileReport::of(&published.diagnostics));
            drop(state);
            self.changed.notify_waiters();
        }
    }
}

impl LanguageServer {
    /// Starts one in the background.
    pub(super) fn start(launch: LanguageServerLaunch) -> Self {
        let (told, files) = mpsc::unbounded_channel();
        let heard = Arc::<Heard>::default();
        let (saying, stop) = (heard.clone(), CancellationToken::new());
        let watch = launch.watch.clone();
        let (asked, (ended, over)) = (stop.clone(), watch::channel(false));
        tokio::spawn(async move {
            let why = match run(launch, files, &saying, &asked).await {
                Ok(()) => "it was ended".to_owned(),
                Err(why) => why,
            };
            saying.end(why);
            ended.send_replace(true);
        });
        Self { started: Instant::now(), told, heard, stop, over, watch }
    }

    /// Asks for its end.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until nothing of it runs any more, and what it left where it may not write was moved aside.
    pub(super) async fn over(&self) {
        // It fails only as the program ends.
        let _ = self.over.clone().wait_for(|is_over| *is_over).await;
    }

    /// Takes what has appeared, while it ran, where it may not write, each with what else ran in the sandbox.
    pub(super) fn take_found(&self) -> Vec<(Intrusion, Vec<String>)> {
        self.watch.take_found()
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Says why it is over, if it is.
    pub(super) fn ended(&self) -> Option<String> {
        self.heard.state().ended.clone()
    }

    /// Tells it what is in a file that an agent has changed.
    pub(super) fn tell(&self, path: &Path, language: String, text: String, editor: &Arc<Freshness>) {
        let version = {
            let mut state = self.heard.state();
            let file = state.files.entry(path.to_path_buf()).or_default();
            file.version += 1;
            file.editor = Arc::downgrade(editor);
            file.found = None;
            file.version
        };
        // It fails only if the server is over.
        let _ = self.told.send(FileText { path: path.to_path_buf(), language, version, text });
    }

    /// Waits until it has said something of a file, or the limit. One without a problem is waited for a little longer:
    /// many say so first, and look after that.
    pub(super) async fn report(&self, path: &Path, limit: Instant, pause: Duration) -> Option<FileReport> {
        let mut until = limit;
        loop {
            let mut changed = std::pin::pin!(self.heard.changed.notified());
            changed.as_mut().enable();
            let found = {
                let state = self.heard.state();
                if state.ended.is_some() {
                    return None;
                }
                state.files.get(path).and_then(|file| file.found.clone())
            };
            match found {
                Some(found) if !found.is_clean() || Instant::now() >= until => return Some(self.reported(path, found)),
                Some(_) => until = until.min(Instant::now() + pause),
                None if Instant::now() >= until => return None,
                None => {}
            }
            tokio::select! {
                () = changed => {}
                () = sleep_until(until) => {}
            }
        }
    }

    fn reported(&self, path: &Path, found: FileReport) -> FileReport {
        if let Some(file) = self.heard.state().files.get_mut(path) {
            file.reported = Some(found.clone());
        }
        found
    }

    /// Returns what it has said of other files that an agent has changed, since that was told.
    pub(super) fn late(&self, except: &Path, most: usize, editor: &Arc<Freshness>) -> Vec<(PathBuf, FileReport)> {
        let mut state = self.heard.state();
        let mut late = Vec::new();
        let is_own = |file: &FileState| std::ptr::eq(file.editor.as_ptr(), Arc::as_ptr(editor));
        for (path, file) in state.files.iter_mut().filter(|(path, file)| *path != except && is_own(file)) {
            let Some(found) = file.found.clone().filter(|found| file.reported.as_ref() != Some(found)) else {
                continue;
            };
            // Nothing wrong, now as before, is no news.
            let is_news = !found.is_clean() || file.reported.as_ref().is_some_and(|before| !before.is_clean());
            if late.len() < most {
                file.reported = Some(found.clone());
                if is_news {
                    late.push((path.clone(), found));
                }
            }
        }
        late
    }
}

/// The way to a server.
struct Talk {
    stream: UnixStream,
    frames: Frames,
}

impl Talk {
    async fn say(&mut self, message: &Value) -> Result<(), String> {
        let sent = timeout(WRITE_LIMIT, self.stream.write_all(&framed(message))).await;
        sent.map_err(|_| "it no longer reads".to_owned())?.map_err(|_| "it has exited".to_owned())
    }

    /// Waits for its next message. May be given up and called again at any time.
    async fn hear(&mut self) -> Result<Value, String> {
        loop {
            match self.frames.next() {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {}
                Err(_) => return Err("it does not speak the protocol".to_owned()),
            }
            match self.stream.read_buf(&mut self.frames.0).await {
                Ok(1..) => {}
                Ok(0) | Err(_) => return Err("it has exited".to_owned()),
            }
        }
    }

    /// Answers what it asks of us, as one that can do nothing for it.
    async fn answer(&mut self, message: &Value) -> Result<(), String> {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else { return Ok(()) };
        let result = match method {
            "workspace/configuration" => {
                let wanted = message["params"]["items"].as_array().map_or(0, Vec::len);
                Value::Array(vec![Value::Null; wanted])
            }
            "workspace/applyEdit" => json!({"applied": false}),
            _ => Value::Null,
        };
        self.say(&json!({"jsonrpc": "2.0", "id": id, "result": result})).await
    }
}

/// Runs a server until it ends, nobody needs it any more, or its end is asked for.
async fn run(
    launch: LanguageServerLaunch,
    mut files: mpsc::UnboundedReceiver<FileText>,
    heard: &Heard,
    stop: &CancellationToken,
) -> Result<(), String> {
    let LanguageServerLaunch { shell, program, args, root, options, environment, policy, watch } = launch;
    let started = shell.serve_within((program, args), environment, root.clone(), policy).await;
    let (served, stream, errors) = started.map_err(|error| format!("it cannot be started: {error}"))?;
    // A full pipe would stop it.
    let complaining = tokio::spawn(last_line(errors));
    let mut talk = Talk { stream, frames: Frames::default() };
    let beginning = initialize(&root, options);
    let ended = tokio::select! {
        ended = follow(&mut talk, &beginning, &mut files, heard) => ended,
        () = stop.cancelled() => Ok(()),
        () = watch.goes_too_far() => Err("it was ended for what appeared where it may not write".to_owned()),
    };
    if ended.is_ok() {
        let _ = timeout(FAREWELL_LIMIT, farewell(&mut talk)).await;
    }
    drop(talk);
    served.end().await;
    let complaint = timeout(FAREWELL_LIMIT, complaining).await.ok().and_then(Result::ok).unwrap_or_default();
    watch.end().await;
    ended.map_err(|why| if complaint.is_empty() { why } else { format!("{why}: {complaint}") })
}

/// Returns the last line that it writes to standard error, once it writes no more.
async fn last_line(mut errors: Receiver) -> String {
    let (mut tail, mut chunk) = (Vec::new(), [0; 4 << 10]);
    while let Ok(1..) = errors.read(&mut chunk).await.inspect(|read| tail.extend_from_slice(&chunk[..*read])) {
        tail.drain(..tail.len().saturating_sub(MAX_COMPLAINT));
    }
    let tail = String::from_utf8_lossy(&tail);
    tail.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Begins, then tells it of files and hears what it says of them. Returns once nobody has more to tell.
async fn follow(
    talk: &mut Talk,
    beginning: &Value,
    files: &mut mpsc::UnboundedReceiver<FileText>,
    heard: &Heard,
) -> Result<(), String> {
    talk.say(beginning).await?;
    let ready = async {
        loop {
            let message = talk.hear().await?;
            let is_answer = message["id"] == INITIALIZE && message.get("method").is_none();
            match message.get("error").filter(|_| is_answer) {
                Some(error) => {
                    let why = error["message"].as_str().unwrap_or("without a word");
                    return Err(format!("it refuses to begin: {why}"));
                }
                None if is_answer => return Ok(()),
                None => talk.answer(&message).await?,
            }
        }
    };
    timeout(READY_LIMIT, ready).await.map_err(|_| "it does not get ready".to_owned())??;
    talk.say(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}})).await?;
    loop {
        tokio::select! {
            file = files.recv() => match file {
                Some(file) => tell(talk, file).await?,
                None => return Ok(()),
            },
            message = talk.hear() => {
                let message = message?;
                if message["method"] == "textDocument/publishDiagnostics" {
                    if let Ok(published) = serde_json::from_value(message["params"].clone()) {
                        heard.take_in(&published);
                    }
                } else {
                    talk.answer(&message).await?;
                }
            }
        }
    }
}

async fn tell(talk: &mut Talk, file: FileText) -> Result<(), String> {
    let FileText { path, language, version, text } = file;
    let Ok(uri) = Url::from_file_path(&path) else { return Ok(()) };
    let note = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let document = json!({"uri": uri.as_str(), "version": version});
    if version == 1 {
        let document = json!({"uri": uri.as_str(), "languageId": language, "version": version, "text": text});
        talk.say(&note("textDocument/didOpen", json!({"textDocument": document}))).await?;
    } else {
        let params = json!({"textDocument": document, "contentChanges": [{"text": text}]});
        talk.say(&note("textDocument/didChange", params)).await?;
    }
    let params = json!({"textDocument": {"uri": uri.as_str()}});
    talk.say(&note("textDocument/didSave", params)).await
}

async fn farewell(talk: &mut Talk) -> Result<(), String> {
    talk.say(&json!({"jsonrpc": "2.0", "id": SHUTDOWN, "method": "shutdown"})).await?;
    while talk.hear().await?["id"] != SHUTDOWN {}
    talk.say(&json!({"jsonrpc": "2.0", "method": "exit"})).await
}

fn initialize(root: &Path, options: Option<Value>) -> Value {
    let uri = Url::from_directory_path(root).map(|uri| uri.to_string()).unwrap_or_default();
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let capabilities = json!({
        "textDocument": {
            "synchronization": {"didSave": true},
            "publishDiagnostics": {"versionSupport": true},
        },
        "workspace": {"configuration": true, "workspaceFolders": true},
    });
    let mut params = json!({
        // In the sandbox our number is nobody's.
        "processId": null,
        "clientInfo": {"name": "belvedere", "version": env!("CARGO_PKG_VERSION")},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": name}],
        "capabilities": capabilities,
    });
    if let Some(options) = options {
        params["initializationOptions"] = options;
    }
    json!({"jsonrpc": "2.0", "id": INITIALIZE, "method": "initialize", "params": params})
}
