//! The way to a server, in every wire format: JSON out, a stream of bytes back.
//!
//! Owns connections, TLS, timeouts and the reading of refusals. Leaves what the bytes mean to the decoders.
//! Invariants: nothing here runs before the first request or an explicit [`Provider::warm`]; no key is sent to a host
//! other than the one it was configured for; a wait has a limit, a whole answer has none.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;

use super::connect::{self, Proxy};
use super::foreign::without_foreign;
use super::key::FetchedKey;
use super::learned::{Learned, RefusedRequest};
use super::own_server::CutAdvice;
use super::service::place;
use super::stream;
use super::table::{dialect_at, wire_at};
use super::wire_api::WireApi;
use super::{ErrorKind, EventStream, Feed, Provider, ProviderError, RateLimiter, ReplySize, Request, Service};
use super::{Model, model};
use crate::message::{CacheTtl, Dialect, SearchForm, ServiceSearch, WireFormat};
use crate::network::sse::EVENT_CAP;
use crate::network::{TlsSetupError, root_cause, with_certificates, without_certificates};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest silence of a server. Not a limit of the whole answer, which may take long.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);
/// The same for a server of the user's own, which may read a long prompt for hours before its first word. What is silent
/// after that, the agent's own limit ends.
const OWN_IDLE_TIMEOUT: Duration = Duration::from_hours(12);
/// Time between two questions whether a server over HTTP/2 is still there, and for its answer. A connection that a
/// sleeping machine or a router has lost would otherwise look like a silent server.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How much of a refusal is read, and for how long.
const REFUSAL_CAP: usize = 64 * 1024;
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to one service. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Http {
    service: Service,
    base: Url,
    way: Arc<OnceLock<Result<Way, ProviderError>>>,
    /// Makes a connection of its own for each request.
    fresh: Arc<OnceLock<Result<Client, ProviderError>>>,
    /// Whether the client may keep a connection that the server has closed meanwhile: an answer came before.
    may_be_stale: Arc<AtomicBool>,
    gate: RateLimiter,
    learned: Learned,
    cut: Arc<CutAdvice>,
}

#[derive(Debug, Clone)]
struct Way {
    client: Client,
    proxy: Option<Proxy>,
}

impl Http {
    /// Returns a connection to the service at `base`, whose path may be left out or be that of the API. Nothing is set up
    /// yet.
    #[must_use]
    pub fn new(service: Service, base: &Url) -> Self {
        let base = (WireApi::of(wire_at(&service.row, base)).base)(base);
        Self::at(service, base)
    }

    /// Returns a connection for paths below `base`.
    pub(super) fn at(service: Service, base: Url) -> Self {
        let (way, fresh, may_be_stale) = (Arc::default(), Arc::default(), Arc::default());
        let (gate, learned, cut) = (RateLimiter::default(), Learned::default(), Arc::default());
        Self { service: service.at(&base), base, way, fresh, may_be_stale, gate, learned, cut }
    }

    #[must_use]
    pub fn behind(self, gate: RateLimiter) -> Self {
        Self { gate, ..self }
    }

    /// Sends JSON and returns the answer once its status says success.
    async fn post(
        &self,
        path: &str,
        headers: &[(&'static str, &'static str)],
        body: Vec<u8>,
    ) -> Result<Response, ProviderError> {
        let mut request = self.client().await?.post(self.url(path));
        request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.send(request.body(body)).await?;
        let answer = self.accept(answer).await?;
        self.may_be_stale.store(true, Ordering::Relaxed);
        Ok(answer)
    }

    /// Sends a request with the key of the service. One that was fetched for an earlier request and is refused now is
    /// fetched again, once: keys of some services are valid for an hour.
    async fn send(&self, bare: RequestBuilder) -> Result<Response, ProviderError> {
        let again = bare.try_clone();
        let key = self.service.key().await?;
        let answer = self.send_with(bare.headers(self.headers(key.as_ref())?)).await?;
        if answer.status() != StatusCode::UNAUTHORIZED || !self.service.forget(key.as_ref()) {
            return Ok(answer);
        }
        let Some(again) = again else { return Ok(answer) };
        let key = self.service.key().await?;
        self.send_with(again.headers(self.headers(key.as_ref())?)).await
    }

    async fn send_with(&self, request: RequestBuilder) -> Result<Response, ProviderError> {
        let again = request.try_clone();
        match (request.send().await, again) {
            (Err(error), Some(again)) if self.was_stale(&error) => self.send_afresh(again).await,
            (answer, _) => answer.map_err(|error| self.broken(&error)),
        }
    }

    /// Returns `true` if a request failed before a byte of its answer came, perhaps on a connection that had been kept from
    /// an earlier one and that the server had closed.
    fn was_stale(&self, error: &reqwest::Error) -> bool {
        let in_transit = error.is_request() && !error.is_connect() && !error.is_timeout();
        in_transit && self.may_be_stale.load(Ordering::Relaxed)
    }

    async fn send_afresh(&self, request: RequestBuilder) -> Result<Response, ProviderError> {
        let fresh = self.fresh.get_or_init(|| self.build(0)).as_ref().map_err(Clone::clone)?;
        let request = request.build().map_err(|error| self.broken(&error))?;
        fresh.execute(request).await.map_err(|error| self.broken(&error))
    }

    /// Fetches a small document, reading at most `cap` bytes. An error comes with the status of the answer, if there is one.
    pub(super) async fn get(&self, path: &str, cap: usize) -> Result<Vec<u8>, (ProviderError, Option<u16>)> {
        let unsent = |error| (error, None);
        let client = self.client().await.map_err(unsent)?;
        let mut request = client.get(self.url(path));
        for (name, value) in WireApi::of(wire_at(&self.service.row, &self.base)).headers {
            request = request.header(*name, *value);
        }
        let answer = self.send(request).await.map_err(unsent)?;
        let status = answer.status().as_u16();
        let answer = self.accept(answer).await.map_err(|error| (error, Some(status)))?;
        Ok(read_capped(answer, cap).await)
    }

    /// Asks with a small document for another one, of which at most `cap` bytes are read.
    pub(super) async fn ask(&self, path: &str, question: &Value, cap: usize) -> Result<Vec<u8>, ProviderError> {
        let request = self.client().await?.post(self.url(path)).header(CONTENT_TYPE, "application/json");
        let answer = self.send(request.body(question.to_string())).await?;
        Ok(read_capped(self.accept(answer).await?, cap).await)
    }

    pub(super) fn broken(&self, error: &reqwest::Error) -> ProviderError {
        let root = root_cause(error).to_string();
        let tls = connect::tls_advice(error, &self.service);
        // A server that has answered without TLS does not want it.
        let has_answered = self.may_be_stale.load(Ordering::Relaxed);
        let plain = || if has_answered { None } else { connect::plain_advice(&self.base, &root) };
        if let Some(advice) = tls.or_else(plain) {
            return self.service.tls_error(advice);
        }
        let silent = error.is_timeout();
        if error.is_connect()
            && !silent
            && let Some(proxy) = self.proxy()
        {
            return proxy.failed(&place(&self.base), &root);
        }
        // Where the service is shown by its address, that need not be said twice.
        let host = if self.service.is_at_home() { format!("{}: ", place(&self.base)) } else { String::new() };
        let words = match () {
            () if silent => format!("{host}no data for too long"),
            () if error.is_connect() => format!("{host}{root}"),
            // A server that wants TLS often says nothing, and hangs up.
            () if error.is_request() && self.base.scheme() == "http" => {
                format!("{host}the server hung up: {root}; if it speaks only TLS, start the base URL with https://")
            }
            () => format!("{host}connection lost: {root}"),
        };
        self.service.error(ErrorKind::Network, &words)
    }

    fn proxy(&self) -> Option<&Proxy> {
        self.way.get()?.as_ref().ok()?.proxy.as_ref()
    }

    async fn accept(&self, answer: Response) -> Result<Response, ProviderError> {
        let status = answer.status();
        if status.is_redirection() {
            let target = answer.headers().get("location").and_then(|to| to.to_str().ok()).unwrap_or("elsewhere");
            let words = format!("redirects to {target}; keys are never forwarded to another host");
            return Err(self.service.error(ErrorKind::NotFound, &words));
        }
        if !status.is_success() {
            if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                && let Some(proxy) = self.proxy()
            {
                return Err(proxy.wants_password());
            }
            let (headers, path) = (answer.headers().clone(), answer.url().path().to_owned());
            let body = read_capped(answer, REFUSAL_CAP).await;
            let body = String::from_utf8_lossy(&body);
            let advice = connect::plain_advice(&self.base, &body);
            if let Some(advice) = advice.or_else(|| connect::answered_advice(&body, &self.service)) {
                return Err(self.service.tls_error(advice));
            }
            return Err(self.service.refusal(status.as_u16(), &path, &headers, &body));
        }
        Ok(answer)
    }

    /// Returns a success that is a stream. A server that does not stream answers with a document, which is fed at once;
    /// one that is no model server at all does so too. Returns a protocol error for a web page, a network error if a
    /// document breaks off, and what a document says that is no answer.
    pub(super) async fn stream_of(
        &self,
        mut answer: Response,
        feed: &mut Feed,
    ) -> Result<Option<Response>, ProviderError> {
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match kind.as_str() {
            "text/html" => Err(self.service.error(ErrorKind::Protocol, "text/html instead of an event stream")),
            "application/json" => {
                let mut json = Vec::new();
                // The feed refuses one that is larger, so no more than that is read.
                while json.len() <= EVENT_CAP
                    && let Some(chunk) = answer.chunk().await.map_err(|error| self.broken(&error))?
                {
                    json.extend_from_slice(&chunk);
                }
                feed.document(&json).map(|()| None)
            }
            _ => Ok(Some(answer)),
        }
    }

    /// Returns `true` if the service is to keep what it reads for an hour. A gateway may not know how to be told, and is told
    /// only if the user says so.
    fn keeps_long(&self, request: &Request) -> bool {
        match self.service.row.set_up.cache_ttl {
            CacheTtl::Hour => true,
            CacheTtl::FiveMinutes => false,
            CacheTtl::Auto => request.waits_long && dialect_at(&self.service.row, &self.base) == Dialect::Anthropic,
        }
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if query.is_some() {
            url.set_query(query);
        }
        url
    }

    fn headers(&self, key: Option<&FetchedKey>) -> Result<HeaderMap, ProviderError> {
        let mut headers = self.service.headers(key)?;
        // A compressed stream is held back until a block is full. Some proxies compress all the same; that is read.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(concat!("belvedere/", env!("CARGO_PKG_VERSION"))));
        Ok(headers)
    }

    async fn client(&self) -> Result<&Client, ProviderError> {
        if self.way.get().is_none() {
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
        self.set_up().as_ref().map(|way| &way.client).map_err(Clone::clone)
    }

    fn set_up(&self) -> &Result<Way, ProviderError> {
        self.way.get_or_init(|| {
            let proxy = if is_loopback(&self.base) { None } else { Proxy::of(&self.base)? };
            Ok(Way { client: self.build(usize::MAX)?, proxy })
        })
    }

    /// Builds a client, which keeps at most so many idle connections for the next request. A plain-text address needs no
    /// certificates, so none are read.
    fn build(&self, most_idle: usize) -> Result<Client, ProviderError> {
        let settings = || settings(&self.base, most_idle);
        let built = match self.base.scheme() {
            "https" => with_certificates(&self.service.transport.files, settings),
            _ => without_certificates(settings()),
        };
        built.map_err(|error| match &error {
            TlsSetupError::File { advice, .. } => self.service.tls_error((error.to_string(), advice.clone())),
            TlsSetupError::Client(_) => self.service.error(ErrorKind::Network, &error.to_string()),
        })
    }
}

impl Provider for Http {
    fn name(&self) -> &str {
        &self.service.row.name
    }

    fn gate(&self) -> Option<&RateLimiter> {
        Some(&self.gate)
    }

    fn web_search(&self) -> Option<(&ServiceSearch, Option<Model>)> {
        let row = &self.service.row;
        // Of OpenAI's formats, one alone has a tool for it.
        let has_tool = wire_at(row, &self.base) != WireFormat::OpenAi;
        let search = row.web_search.as_ref().filter(|search| search.form != SearchForm::Tool || has_tool)?;
        Some((search, search.model.as_deref().map(|id| model::lookup(row, id))))
    }

    fn is_own_server(&self) -> bool {
        is_on_own_network(&self.base)
    }

    fn advise_on_cut(&self) -> Option<(String, &'static str)> {
        let is_own = is_on_own_network(&self.base);
        let advice = is_own.then(|| self.cut.take(&self.service.row.name)).flatten()?;
        Some((self.service.shown().to_owned(), advice))
    }

    fn reads_documents(&self) -> bool {
        self.service.row.documents
    }

    /// Sets up TLS, if it is needed, on a thread of its own, so that the first request need not wait for it.
    fn warm(&self) {
        if self.base.scheme() != "https" {
            return;
        }
        let http = self.clone();
        // Where no thread can be had, the first request does the work.
        let _ = std::thread::Builder::new().name("tls-setup".to_owned()).spawn(move || {
            http.set_up();
        });
    }

    fn stream(&self, request: Request) -> BoxFuture<'_, Result<EventStream, ProviderError>> {
        Box::pin(async move {
            let row = &self.service.row;
            let api = WireApi::of(wire_at(row, &self.base));
            let habits = self.learned.habits(&request.model, dialect_at(row, &self.base));
            let request = without_foreign(habits.fit(request), &row.name);
            let mut request = Request { waits_long: self.keeps_long(&request), ..request };
            let (mut body, held) = (api.body)(&request, &habits)?;
            let most = self.learned.most_output(&request.model, body.len());
            if let Some(most) = most.filter(|most| *most < request.max_output_tokens) {
                request.max_output_tokens = most;
                body = (api.body)(&request, &habits)?.0;
            }
            let size = body.len();
            let answer = self.post(&(api.path)(&request.model), api.headers, body).await;
            let mut feed = (api.feed)(self.service.clone()).bounded(ReplySize::of_tokens(request.max_output_tokens));
            match answer {
                Ok(answer) => stream::events(self.clone(), answer, feed).await,
                Err(error) if error.refused_reply.is_some() => {
                    feed.refused(error)?;
                    Ok(stream::of_events(feed))
                }
                Err(error) => {
                    let Request { model, max_output_tokens, .. } = &request;
                    let refused = RefusedRequest { model, held: &held, max_output_tokens: *max_output_tokens, size };
                    Err(self.learned.explain(error, &refused))
                }
            }
        })
    }
}

fn settings(base: &Url, most_idle: usize) -> ClientBuilder {
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
    let idle = if is_on_own_network(base) { OWN_IDLE_TIMEOUT } else { IDLE_TIMEOUT };
    let client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(idle)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .gzip(true)
        .pool_max_idle_per_host(most_idle)
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

/// Returns `true` if the address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match (ip_of(url), url.host_str()) {
        (Some(ip), _) => ip.is_loopback(),
        (None, host) => host.is_some_and(|host| host == "localhost" || host.ends_with(".localhost")),
    }
}

/// Returns `true` for a number that is used within a house only. A name may lead anywhere.
pub(super) fn is_private(url: &Url) -> bool {
    match ip_of(url) {
        Some(IpAddr::V4(ip)) => ip.is_private() || ip.is_link_local(),
        Some(IpAddr::V6(ip)) => ip.is_unique_local() || ip.is_unicast_link_local(),
        None => false,
    }
}

/// Returns `true` if an address is on this machine or in a private network, whose servers the user runs.
pub(super) fn is_on_own_network(url: &Url) -> bool {
    let is_own_name = |host: &str| host.rsplit_once('.').is_none_or(|(_, last)| last == "local");
    let is_named_so = || ip_of(url).is_none() && url.host_str().is_some_and(is_own_name);
    is_loopback(url) || is_private(url) || is_named_so()
}

fn ip_of(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
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
