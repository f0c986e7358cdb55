//! Signing in to a server by the browser (OAuth 2.1 with PKCE, as the protocol's part on authorization has it).
//!
//! Owns what a sign-in has brought, on the disk, and the address on this machine that the browser comes back to. Leaves
//! discovery, registration, exchange and refresh to the crate `rmcp`. Invariants: what was brought is sent to the server it
//! was made for and to no other; nobody but the user reads it; an answer that is not to our question changes nothing.

use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialRefreshGuard,
    CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::config::{McpConfig, McpWay};
use crate::message::format::{sha256_hex, words_of};
use crate::message::{is_host_below, is_near, is_near_name};
use crate::network::{install_provider, root_cause};
use crate::whole_file::{FileRights, read_plain_text, replace_whole};

/// How long the user may take in the browser.
pub(super) const SIGN_IN_LIMIT: Duration = Duration::from_mins(10);
/// How long finding out where to sign in may take.
const DISCOVERY_LIMIT: Duration = Duration::from_mins(1);
/// How long a browser may take to say what it wants of us.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
/// Bytes of a browser's request that are read.
const MAX_REQUEST: usize = 16 << 10;
/// Bytes of the file of one sign-in.
const MAX_FILE: u64 = 1 << 20;
/// How long another process may take to renew what both use.
const LOCK_LIMIT: Duration = Duration::from_secs(15);
const LOCK_PAUSE: Duration = Duration::from_millis(50);
/// Longest excerpt of what a server says of a failure, in characters.
const ERROR_CHARS: usize = 300;
/// The part of our address that the browser comes back to.
const CALLBACK: &str = "/callback";

/// Told of each token, so that it can be masked.
pub type LearnToken = Arc<dyn Fn(&str) + Send + Sync>;
/// Shows an address in the user's browser, if there is one here.
pub type OpenBrowser = Arc<dyn Fn(&str) + Send + Sync>;

/// Where sign-ins are kept. The default keeps none, and nobody can sign in.
#[derive(Clone, Default)]
pub struct SignIns {
    /// A folder of the user alone.
    pub folder: Option<Arc<Path>>,
    pub learn: Option<LearnToken>,
    pub open_browser: Option<OpenBrowser>,
}

impl fmt::Debug for SignIns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.folder)
    }
}

impl SignIns {
    /// Returns the sign-in of a server; `None` if it takes none: it is a program, or its own headers say who asks.
    fn of(&self, config: &McpConfig) -> Option<(Url, SignInFile)> {
        let (McpWay::Http { url, headers } | McpWay::Sse { url, headers }) = &config.way else { return None };
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return None;
        }
        let (folder, address) = (self.folder.as_ref()?, Url::parse(url).ok()?);
        let server = format!("{} {url}", config.name);
        let name = format!("{}.json", &sha256_hex(server.as_bytes())[..32]);
        let file = SignInFile { path: folder.join(name).into(), server, learn: self.learn.clone() };
        Some((address, file))
    }

    /// Returns what adds the user's token to requests, and renews it; `None` if nobody has signed in.
    pub(super) async fn manager(&self, config: &McpConfig) -> Result<Option<AuthorizationManager>, String> {
        let Some((url, file)) = self.of(config) else { return Ok(None) };
        if file.load().await.map_err(|error| words(&error))?.is_none() {
            return Ok(None);
        }
        let making = async {
            let mut manager = manager(url, file).await?;
            Ok(manager.initialize_from_store().await.map_err(|error| words(&error))?.then_some(manager))
        };
        timeout(DISCOVERY_LIMIT, making).await.map_err(|_| too_late())?
    }

    /// Returns `true` if a server can be signed in to.
    pub(super) fn can(&self, config: &McpConfig) -> bool {
        self.of(config).is_some()
    }

    /// Shows an address in the user's browser, if there is one here.
    pub fn show(&self, address: &str) {
        if let Some(open) = &self.open_browser {
            open(address);
        }
    }

    /// Forgets the sign-in of a server. Returns `false` if there was none.
    ///
    /// # Errors
    /// Returns why it is still there.
    pub async fn forget(&self, config: &McpConfig) -> Result<bool, String> {
        let Some((_, file)) = self.of(config) else { return Ok(false) };
        let was_there = file.load().await.map_err(|error| words(&error))?.is_some();
        file.clear().await.map_err(|error| words(&error))?;
        Ok(was_there)
    }
}

/// Makes a manager of sign-ins at a server. On a thread: its clients read certificates.
async fn manager(url: Url, file: SignInFile) -> Result<AuthorizationManager, String> {
    let (runtime, name) = (Handle::current(), url.clone());
    let making = spawn_blocking(move || {
        install_provider();
        runtime.block_on(AuthorizationManager::new(name))
    });
    let mut manager = making.await.map_err(|error| error.to_string())?.map_err(|error| words(&error))?;
    manager.set_credential_store(file);
    Ok(manager)
}

/// How near to us an address lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Public,
    /// In this machine's network.
    Near,
    /// On this machine.
    Here,
}

impl Reach {
    fn of(address: IpAddr) -> Self {
        let plain = match address {
            IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
            IpAddr::V4(_) => address,
        };
        match plain {
            plain if plain.is_loopback() || plain.is_unspecified() => Self::Here,
            _ if is_near(address) => Self::Near,
            _ => Self::Public,
        }
    }

    /// Returns the nearest place that a host's name leads to. One that cannot be found here leads where its name says.
    async fn of_host(url: &Url) -> Self {
        let host =
            url.host_str().unwrap_or_default().trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
        if let Ok(address) = host.parse::<IpAddr>() {
            return Self::of(address);
        }
        let by_name = match host.as_str() {
            "localhost" => Self::Here,
            host if is_host_below("localhost", host) => Self::Here,
            host if is_near_name(host) => Self::Near,
            _ => Self::Public,
        };
        let found = timeout(REQUEST_LIMIT, lookup_host((host, url.port_or_known_default().unwrap_or_default()))).await;
        let found = found.ok().and_then(Result::ok).into_iter().flatten();
        found.map(|address| Self::of(address.ip())).fold(by_name, Self::max)
    }
}

/// Checks that a server does not send the user's browser to a place that is nearer to the user than the server is.
async fn check_reach(server: &Url, address: &Url) -> Result<(), String> {
    let reach = Reach::of_host(address).await;
    if reach <= Reach::Public || reach <= Reach::of_host(server).await {
        return Ok(());
    }
    let place = if reach == Reach::Here { "this machine" } else { "your own network" };
    let host = address.host_str().unwrap_or_default();
    Err(words_of(
        &format!(
            "the server is not on {place}, and wants a browser to open {host}, which is: sign in where you trust the server"
        ),
        ERROR_CHARS,
    ))
}

fn too_late() -> String {
    format!("no answer within {} s", DISCOVERY_LIMIT.as_secs())
}

/// Says what went wrong, from the bottom of all that wraps it.
fn words(error: &AuthError) -> String {
    let mut text = error.to_string();
    let root = root_cause(error).to_string();
    if !text.contains(&root) {
        text = format!("{text}: {root}");
    }
    words_of(&text, ERROR_CHARS)
}

/// The file of one sign-in.
struct SignInFile {
    path: Arc<Path>,
    /// The server's name and address; a file of another one counts for nothing.
    server: String,
    learn: Option<LearnToken>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    server: String,
    credentials: StoredCredentials,
}

fn unkept(path: &Path, error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(format!("{}: {error}", path.display()))
}

impl SignInFile {
    fn learned(&self, credentials: &StoredCredentials) {
        let Some(learn) = &self.learn else { return };
        let tokens = serde_json::to_value(&credentials.token_response).unwrap_or_default();
        ["access_token", "refresh_token", "id_token"]
            .iter()
            .filter_map(|name| tokens[name].as_str())
            .for_each(|t| learn(t));
    }

    /// Runs something that blocks with the file's path.
    async fn with_path<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, AuthError> {
        let path = Arc::clone(&self.path);
        let done = spawn_blocking(move || act(&path).map_err(|error| unkept(&path, &error))).await;
        done.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?
    }
}

fn read(path: &Path) -> io::Result<Option<String>> {
    match read_plain_text(path, MAX_FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

#[async_trait]
impl CredentialStore for SignInFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let Some(text) = self.with_path(read).await? else { return Ok(None) };
        // What cannot be read is no sign-in: the next one replaces it.
        let record = serde_json::from_str::<Record>(&text).ok().filter(|record| record.server == self.server);
        let credentials = record.map(|record| record.credentials);
        if let Some(credentials) = &credentials {
            self.learned(credentials);
        }
        Ok(credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.learned(&credentials);
        let record = Record { server: self.server.clone(), credentials };
        let text = serde_json::to_vec(&record).map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        self.with_path(move |path| {
            make_folder(path)?;
            replace_whole(path, &text, FileRights::Private)
        })
        .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.with_path(|path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    /// Of two processes one renews: many services take a token for renewal once only.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let file = self
            .with_path(|path| {
                make_folder(path)?;
                File::options().create(true).append(true).open(path.with_extension("lock"))
            })
            .await?;
        let locking = async {
            loop {
                match file.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => sleep(LOCK_PAUSE).await,
                    Err(TryLockError::Error(error)) => return Err(error),
                }
            }
        };
        match timeout(LOCK_LIMIT, locking).await {
            Ok(Ok(())) => Ok(Some(CredentialRefreshGuard::new(file))),
            Ok(Err(error)) => Err(unkept(&self.path, &error)),
            Err(_) => Err(AuthError::CredentialStoreError("another process is renewing the sign-in".to_owned())),
        }
    }
}

fn make_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    path.parent().map_or(Ok(()), |folder| std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder))
}

/// A sign-in that waits for the user.
pub struct SignIn {
    session: AuthorizationSession,
    listener: TcpListener,
    /// What the answer has to repeat.
    state: String,
}

impl SignIn {
    /// Finds out where a server's users sign in, and gets ready for the browser to come back.
    ///
    /// # Errors
    /// Returns why nobody can sign in.
    pub async fn begin(config: &McpConfig, sign_ins: &SignIns) -> Result<Self, String> {
        let (url, file) = sign_ins.of(config).ok_or_else(|| {
            "only servers over http and sse without an `Authorization` header of their own are signed in to".to_owned()
        })?;
        let server = url.clone();
        let port = config.sign_in.port.unwrap_or(0);
        let listener = TcpListener::bind(("127.0.0.1", port)).await;
        let listener = listener.map_err(|error| format!("cannot listen on port {port} of this machine: {error}"))?;
        let port = listener.local_addr().map_err(|error| error.to_string())?.port();
        let mut request =
            AuthorizationRequest::new(format!("http://127.0.0.1:{port}{CALLBACK}")).with_client_name("Belvedere");
        if let Some(id) = &config.sign_in.client_id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = &config.sign_in.client_secret {
            request = request.with_client_secret(secret);
        }
        let request = request.with_scopes(&config.sign_in.scopes).with_initial_scope_selection();
        let finding = async {
            let mut manager = manager(url, file).await?;
            let found = manager.resolve_metadata().await.map_err(|error| words(&error))?;
            manager.set_metadata(found.metadata);
            AuthorizationSession::new(manager, request).await.map_err(|(_, error)| words(&error))
        };
        let session = timeout(DISCOVERY_LIMIT, finding).await.map_err(|_| too_late())??;
        let address = Url::parse(session.get_authorization_url()).map_err(|error| error.to_string())?;
        if !matches!(address.scheme(), "https" | "http") {
            return Err(format!(
                "the server wants a browser to open an address that begins with {}:",
                address.scheme()
            ));
        }
        check_reach(&server, &address).await?;
        let state = address.query_pairs().find(|(key, _)| key == "state").map(|(_, value)| value.into_owned());
        let state = state.ok_or("the address to sign in at has no `state`")?;
        Ok(Self { session, listener, state })
    }

    /// Returns the address to sign in at.
    #[must_use]
    pub fn address(&self) -> &str {
        self.session.get_authorization_url()
    }

    /// Waits for the browser, and keeps what it brings.
    ///
    /// # Errors
    /// Returns why nobody is signed in.
    pub async fn finish(&self) -> Result<(), String> {
        let waiting = async {
            loop {
                let Ok((stream, _)) = self.listener.accept().await else {
                    sleep(LOCK_PAUSE).await;
                    continue;
                };
                if let Some(ended) = self.answer(stream).await {
                    return ended;
                }
            }
        };
        let minutes = SIGN_IN_LIMIT.as_secs() / 60;
        timeout(SIGN_IN_LIMIT, waiting).await.map_err(|_| format!("nobody has signed in within {minutes} min"))?
    }

    /// Takes the address that a browser ended at, and keeps what it brings: for a browser on another machine.
    ///
    /// # Errors
    /// Returns why nobody is signed in.
    pub async fn take(&self, address: &str) -> Result<(), String> {
        let url = Url::parse(address.trim()).map_err(|_| "this is no address".to_owned())?;
        self.came_back(&url)
            .await
            .unwrap_or_else(|| Err("this is not the address that the browser ended at".to_owned()))
    }

    /// Returns what an address says that the browser came back to; `None` if it is no answer to our question.
    async fn came_back(&self, url: &Url) -> Option<Result<(), String>> {
        let value = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        if url.path() != CALLBACK || value("state").as_deref() != Some(&self.state) {
            return None;
        }
        if let Some(error) = value("error") {
            let why = value("error_description").map(|why| format!(": {why}")).unwrap_or_default();
            return Some(Err(words_of(&format!("the server refuses: {error}{why}"), ERROR_CHARS)));
        }
        let exchanged = timeout(DISCOVERY_LIMIT, self.session.handle_callback_url(url.as_str())).await;
        Some(exchanged.map_err(|_| too_late()).and_then(|done| done.map(drop).map_err(|error| words(&error))))
    }

    /// Answers a browser. Returns how the sign-in ended, if it did.
    async fn answer(&self, mut stream: TcpStream) -> Option<Result<(), String>> {
        let path = timeout(REQUEST_LIMIT, wanted(&mut stream)).await.ok().flatten();
        let url = path.and_then(|path| Url::parse(&format!("http://127.0.0.1{path}")).ok());
        let ended = match url {
            Some(url) => self.came_back(&url).await,
            None => None,
        };
        let (status, text) = match &ended {
            Some(Ok(())) => ("200 OK", "You are signed in. You can close this page and return to Belvedere."),
            Some(Err(_)) => ("400 Bad Request", "You are not signed in. Belvedere says why."),
            None => ("404 Not Found", "There is nothing here."),
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
            text.len()
        );
        let _ = timeout(REQUEST_LIMIT, stream.write_all(answer.as_bytes())).await;
        ended
    }
}

/// Returns the path that a browser asks for.
async fn wanted(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 2048];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&part[..count]);
        if bytes.len() > MAX_REQUEST {
            return None;
        }
    }
    let line = bytes.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}
