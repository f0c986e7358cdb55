//! The way to a server: JSON out, a stream of bytes back.
//!
//! Owns connections, TLS, timeouts and the reading of refusals. Leaves what the bytes mean to the decoders.
//! Invariants: nothing here runs before the first request or an explicit [`Http::warm`]; no key is sent to a host
//! other than the one it was configured for; a wait has a limit, a whole answer has none.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, StatusCode, Url};

use super::service::Fault;
use super::{Gate, ProviderError, Secret, Service};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest silence of a server. Not a limit of the whole answer, which may take long.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The same for a server on this machine, which may read a long prompt for minutes before its first word.
const LOCAL_IDLE_TIMEOUT: Duration = Duration::from_secs(900);
/// Time between two questions whether a server over HTTP/2 is still there, and for its answer. A connection that a
/// sleeping machine or a router has lost would otherwise look like a silent server.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How much of a refusal is read, and for how long.
const REFUSAL_CAP: usize = 64 * 1024;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// How a key is shown to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Auth {
    /// `x-api-key: KEY`
    ApiKey(Secret),
    /// `Authorization: Bearer KEY`
    Bearer(Secret),
    /// The server needs none.
    None,
}

/// A connection to one service. Clones share their connections.
#[derive(Debug, Clone)]
pub(super) struct Http {
    service: Service,
    base: Url,
    auth: Auth,
    client: Arc<OnceLock<Result<Client, String>>>,
    gate: Gate,
}

impl Http {
    /// Returns a connection to the service at `base`. Nothing is set up yet.
    pub(super) fn new(service: Service, base: Url, auth: Auth) -> Self {
        Self { service, base, auth, client: Arc::default(), gate: Gate::default() }
    }

    /// Puts it behind a gate that others may share.
    pub(super) fn behind(self, gate: Gate) -> Self {
        Self { gate, ..self }
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Sets up TLS on a thread of its own, so that the first request need not wait for it.
    pub(super) fn warm(&self) {
        let http = self.clone();
        // Where no thread can be had, the first request does the work.
        let _ = std::thread::Builder::new().name("tls-setup".to_owned()).spawn(move || {
            http.set_up();
        });
    }

    pub(super) fn service(&self) -> &Service {
        &self.service
    }

    /// Sends JSON and returns the answer once its status says success.
    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&'static str, &'static str)],
        body: Vec<u8>,
    ) -> Result<Response, ProviderError> {
        let client = self.client().await?;
        let mut request = client.post(self.url(path)).headers(self.headers()?);
        request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.body(body).send().await.map_err(|fault| self.broken(&fault))?;
        self.accept(answer).await
    }

    /// Fetches a small document, reading at most `cap` bytes.
    pub(super) async fn get(&self, path: &str, cap: usize) -> Result<Vec<u8>, ProviderError> {
        let client = self.client().await?;
        let request = client.get(self.url(path)).headers(self.headers()?);
        let answer = request.send().await.map_err(|fault| self.broken(&fault))?;
        Ok(read_capped(self.accept(answer).await?, cap).await)
    }

    /// Returns the error for a connection that failed.
    pub(super) fn broken(&self, fault: &reqwest::Error) -> ProviderError {
        let mut root: &dyn Error = fault;
        while let Some(source) = root.source() {
            root = source;
        }
        let host = self.base.host_str().unwrap_or_default();
        let words = if fault.is_timeout() {
            format!("{host} kept silent for too long")
        } else if fault.is_connect() {
            format!("{host}: {root}")
        } else {
            format!("the connection to {host} broke: {root}")
        };
        self.service.error(Fault::Network, &words)
    }

    async fn accept(&self, answer: Response) -> Result<Response, ProviderError> {
        let status = answer.status();
        if status.is_redirection() {
            let target = answer.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            let words = format!("it redirects to {target}; keys are not sent on to another host");
            return Err(self.service.error(Fault::NotFound, &words));
        }
        if !status.is_success() {
            let headers = answer.headers().clone();
            let body = read_capped(answer, REFUSAL_CAP).await;
            return Err(self.service.refusal(status.as_u16(), &headers, &String::from_utf8_lossy(&body)));
        }
        Ok(answer)
    }

    /// Makes sure that a success holds a stream. A server that does not stream, or is no model server at all, answers
    /// with a document.
    pub(super) async fn expect_stream(&self, answer: Response) -> Result<Response, ProviderError> {
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" && kind != "text/html" {
            return Ok(answer);
        }
        let body = read_capped(answer, REFUSAL_CAP).await;
        let body = String::from_utf8_lossy(&body);
        if kind == "application/json" && body.contains("\"error\"") {
            return Err(self.service.stream_error(&body));
        }
        Err(self.service.error(Fault::Protocol, &format!("{kind} instead of a stream of events")))
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    fn headers(&self) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        // A compressed stream is held back until a block is full. Some proxies compress all the same; that is read.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("belvedere/", env!("CARGO_PKG_VERSION"))));
        let (name, text) = match &self.auth {
            Auth::ApiKey(key) => ("x-api-key", key.expose().to_owned()),
            Auth::Bearer(key) => ("authorization", format!("Bearer {}", key.expose())),
            Auth::None => return Ok(headers),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_| {
            self.service.error(Fault::Authentication, "the key holds characters that no key has, such as a line end")
        })?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
        Ok(headers)
    }

    async fn client(&self) -> Result<&Client, ProviderError> {
        if self.client.get().is_none() {
            if self.base.scheme() == "https" {
                // Reading the platform's certificates takes tens of milliseconds of disk and CPU.
                let http = self.clone();
                let _ = tokio::task::spawn_blocking(move || {
                    http.set_up();
                })
                .await;
            } else {
                self.set_up();
            }
        }
        self.set_up().as_ref().map_err(|words| self.service.error(Fault::Network, words))
    }

    fn set_up(&self) -> &Result<Client, String> {
        self.client.get_or_init(|| build(&self.base))
    }
}

/// Builds the client for one server. A plain-text address needs no certificates, so none are read.
fn build(base: &Url) -> Result<Client, String> {
    // A second installation fails, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let words = |fault: reqwest::Error| format!("TLS could not be set up: {fault}");
    if base.scheme() != "https" {
        return settings(base).tls_certs_only([]).build().map_err(words);
    }
    // A slim container has no certificates of its own; then Mozilla's, as compiled in, are used.
    settings(base).build().or_else(|_| {
        let roots = webpki_root_certs::TLS_SERVER_ROOT_CERTS;
        let roots = roots.iter().filter_map(|root| reqwest::Certificate::from_der(root).ok());
        settings(base).tls_certs_only(roots).build().map_err(words)
    })
}

fn settings(base: &Url) -> ClientBuilder {
    let origin = base.origin();
    let stay = Policy::custom(move |attempt| {
        // 307 and 308 repeat the request; the others would turn it into a GET without its body.
        let repeats = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        if repeats && attempt.url().origin() == origin && attempt.previous().len() <= 3 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let idle = if is_loopback(base) { LOCAL_IDLE_TIMEOUT } else { IDLE_TIMEOUT };
    let client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(idle)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .gzip(true)
        .redirect(stay);
    if is_loopback(base) { client.no_proxy() } else { client }
}

/// Returns an address without the name, the password and the query that may be in it.
pub(super) fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only where there is nothing to take away.
    let _ = (url.set_username(""), url.set_password(None));
    url.set_query(None);
    url.to_string()
}

/// Tells whether the address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()) || host.ends_with(".localhost")
        }
        None => false,
    }
}

/// Reads what arrives of a document in time, up to `cap` bytes.
async fn read_capped(mut answer: Response, cap: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(chunk)) = answer.chunk().await {
            let room = cap.saturating_sub(body.len());
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() >= cap {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, read).await;
    body
}
