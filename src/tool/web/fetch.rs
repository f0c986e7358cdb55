//! The way to a page: which addresses may be asked, and how much of an answer is read.
//!
//! Owns checking an address, finding out where its name leads, redirects and the cache. Leaves what a page means to
//! `markdown`. Invariants: a connection goes only to an address that was checked; none to this machine or its network,
//! unless the user has listed the host; a redirect leaves neither host nor port.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tokio::time::{Instant, timeout};

use super::engine::SearchEngine;
use super::markdown::{Markdown, markdown};
use super::{MAX_URL, NOT_THE_USER};
use crate::message::sanitize;
use crate::message::{HostPort, is_near, is_near_name};
use crate::network::{TlsFiles, root_cause, with_certificates, without_certificates};
use crate::sandbox::{HostEntry, Hosts};
use crate::tool::limit::size;

/// Longest way to a page, with all redirects.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;
/// Bytes of a page, unpacked.
const MAX_PAGE: usize = 4 << 20;
/// Bytes in which a page may name its encoding (HTML Standard, section 13.2.3.2).
const ENCODING_WITHIN: usize = 1_024;
/// Characters of a refusal that the model reads.
const REFUSAL_CHARS: usize = 1_000;
/// How long a page is kept, and how many.
const KEPT_FOR: Duration = Duration::from_mins(15);
const MAX_KEPT: usize = 16;

/// Finds the addresses that a host's name has now.
pub type HostLookup = fn(String, u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;

/// Fetches pages. Clones share what is kept.
#[derive(Clone)]
pub struct Fetcher {
    /// Hosts of this machine and its network that may be asked.
    own: Hosts,
    lookup: HostLookup,
    /// What is searched with where no model's service searches itself.
    pub(super) engine: Option<SearchEngine>,
    kept: Arc<Mutex<VecDeque<KeptPage>>>,
}

/// A page, the address it was asked for by, and since when it is kept.
type KeptPage = (Url, Instant, Arc<WebPage>);

/// What was found at an address, as text.
pub(super) struct WebPage {
    /// Where it was found in the end.
    pub(super) url: Url,
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Whether it is only the beginning.
    pub(super) is_cut: bool,
}

pub(super) enum Fetched {
    Page(Arc<WebPage>),
    /// The address leads to another host.
    Elsewhere(Url),
}

impl Fetcher {
    #[must_use]
    pub fn new(own: Hosts) -> Self {
        Self { own, ..Self::default() }
    }

    /// Returns a fetcher that asks somebody else than the system where names lead.
    #[must_use]
    pub fn looking_up(self, lookup: HostLookup) -> Self {
        Self { lookup, ..self }
    }

    #[must_use]
    pub fn searching_by(self, engine: Option<SearchEngine>) -> Self {
        Self { engine, ..self }
    }

    /// Reads an address that a model has written; the error is for the model.
    pub(super) fn checked(&self, text: &str) -> Result<Url, String> {
        let text = text.trim();
        if text.len() > MAX_URL {
            return Err(format!("The address is longer than {MAX_URL} characters."));
        }
        let with_scheme = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let mut url = Url::parse(&with_scheme).map_err(|error| format!("`{text}` is no address: {error}."))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("Only http and https addresses can be fetched, not {}.", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("Leave the user name and the password out of the address.".to_owned());
        }
        url.set_fragment(None);
        self.entry(&url)?;
        Ok(url)
    }

    /// Says how the user has listed the host; refuses one that is near by its name or number, and is not listed.
    fn entry(&self, url: &Url) -> Result<Option<HostEntry>, String> {
        let host = url.host_str().ok_or("The address names no host.")?;
        let place = HostPort::new(host, url.port_or_known_default().unwrap_or_default());
        let entry = place.and_then(|place| self.own.entry(&place));
        let is_near = match literal(url) {
            Some(address) => is_near(address),
            None => is_near_name(host),
        };
        if is_near && entry != Some(HostEntry::Own) { Err(near(host)) } else { Ok(entry) }
    }

    /// Returns what is found at an address that was checked; the error is for the model.
    pub(super) async fn page(&self, url: &Url) -> Result<Fetched, String> {
        if let Some(page) = self.take_kept(url) {
            return Ok(Fetched::Page(page));
        }
        let late = |_| format!("{url} did not answer within {} seconds.", TIME_LIMIT.as_secs());
        let found = timeout(TIME_LIMIT, self.follow(url)).await.map_err(late)??;
        if let Fetched::Page(page) = &found {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.truncate(MAX_KEPT - 1);
            kept.push_front((url.clone(), Instant::now(), page.clone()));
        }
        Ok(found)
    }

    fn take_kept(&self, url: &Url) -> Option<Arc<WebPage>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(_, since, _)| since.elapsed() < KEPT_FOR);
        kept.iter().find(|(kept, ..)| kept == url).map(|(_, _, page)| page.clone())
    }

    async fn follow(&self, first: &Url) -> Result<Fetched, String> {
        let mut url = first.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.ask(&url).await?;
            if !answer.status().is_redirection() {
                return read(url, answer).await.map(|page| Fetched::Page(Arc::new(page)));
            }
            let target = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let target = target.ok_or_else(|| format!("{url} redirects to nowhere."))?;
            let mut target = url.join(target).map_err(|error| format!("{url} redirects to `{target}`: {error}."))?;
            target.set_fragment(None);
            if !is_same_place(&url, &target) {
                return Ok(Fetched::Elsewhere(target));
            }
            url = target;
        }
        Err(format!("{first} redirects more than {MAX_REDIRECTS} times."))
    }

    async fn ask(&self, url: &Url) -> Result<Response, String> {
        let client = self.client(url).await?;
        let request = client
            .get(url.clone())
            .header(USER_AGENT, concat!("belvedere/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "text/html, text/markdown, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5");
        request.send().await.map_err(|error| format!("{url}: {}.", root_cause(&error)))
    }

    /// Returns a client that connects to the addresses which the host's name has now, and to no others.
    async fn client(&self, url: &Url) -> Result<Client, String> {
        let entry = self.entry(url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let addresses = match literal(url) {
            Some(_) => Vec::new(),
            None => self.addresses(&host, url.port_or_known_default().unwrap_or_default(), entry).await?,
        };
        let is_plain = url.scheme() == "http";
        let settings = move || {
            let client = Client::builder().connect_timeout(CONNECT_LIMIT).redirect(Policy::none()).gzip(true);
            let client = if entry == Some(HostEntry::Own) { client.no_proxy() } else { client };
            if addresses.is_empty() { client } else { client.resolve_to_addrs(&host, &addresses) }
        };
        let build = move || {
            if is_plain { without_certificates(settings()) } else { with_certificates(&TlsFiles::default(), settings) }
        };
        let built = tokio::task::spawn_blocking(build).await.map_err(|error| error.to_string())?;
        built.map_err(|error| format!("{error}."))
    }

    /// Returns the addresses of a name that may be asked. Where the user has listed the name, a proxy may know it better;
    /// then there need be none.
    async fn addresses(&self, host: &str, port: u16, entry: Option<HostEntry>) -> Result<Vec<SocketAddr>, String> {
        let found = match (self.lookup)(host.to_owned(), port).await {
            Ok(found) => found,
            Err(_) if entry.is_some() => return Ok(Vec::new()),
            Err(error) => return Err(format!("{host} cannot be found: {error}.")),
        };
        let may = |address: &SocketAddr| entry == Some(HostEntry::Own) || !is_near(address.ip());
        let allowed: Vec<SocketAddr> = found.into_iter().filter(may).collect();
        if allowed.is_empty() { Err(near(host)) } else { Ok(allowed) }
    }
}

impl Default for Fetcher {
    /// Fetches what is public, and nothing of this machine or its network.
    fn default() -> Self {
        let lookup: HostLookup =
            |host, port| Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) });
        Self { own: Hosts::default(), lookup, engine: None, kept: Arc::default() }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").field("own", &self.own).finish_non_exhaustive()
    }
}

fn near(host: &str) -> String {
    format!(
        "{host} is on this machine or its network, which WebFetch does not reach. The user can list it as `web.hosts` in \
         config.toml. Continue without it."
    )
}

fn literal(url: &Url) -> Option<IpAddr> {
    url.host_str()?.trim_matches(['[', ']']).parse().ok()
}

/// Returns `true` if a redirect stays with the host that was allowed. From http to https is no other place.
fn is_same_place(from: &Url, to: &Url) -> bool {
    let is_upgrade = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none() && to.port().is_none();
    from.host_str() == to.host_str()
        && matches!(to.scheme(), "http" | "https")
        && (is_upgrade || from.origin() == to.origin())
}

async fn read(url: Url, mut answer: Response) -> Result<WebPage, String> {
    let status = answer.status();
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let (kind, charset) = (media_type(kind), charset_of(kind).map(str::to_owned));
    let is_html = matches!(kind.as_str(), "text/html" | "application/xhtml+xml");
    if !is_html && !is_text(&kind) {
        return Err(format!("{url} is {kind}, which cannot be shown as text."));
    }
    let mut bytes = Vec::new();
    let mut is_cut = false;
    while let Some(chunk) = answer.chunk().await.map_err(|error| format!("{url} broke off: {}.", root_cause(&error)))? {
        let room = MAX_PAGE - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            is_cut = true;
            break;
        }
    }
    if kind.is_empty() && memchr::memchr(0, &bytes).is_some() {
        return Err(format!("{url} is no text, {}.", size(bytes.len() as u64)));
    }
    let text = decoded(&bytes, charset.as_deref(), is_html);
    let is_html = is_html || kind.is_empty() && text.trim_start().starts_with('<');
    let base = url.clone();
    let parsed = move || {
        let Markdown { title, text } = if is_html { markdown(&text, &base) } else { Markdown { title: None, text } };
        // Signs that nobody sees would say something to the model only.
        Markdown { title: title.map(|title| sanitize(&title).into_owned()), text: sanitize(&text).into_owned() }
    };
    let Markdown { title, text } = tokio::task::spawn_blocking(parsed).await.map_err(|error| error.to_string())?;
    if !status.is_success() {
        let said: String = text.chars().take(REFUSAL_CHARS).collect();
        return Err(format!("{url} answers {status}.\n\n{NOT_THE_USER}\n\n{said}"));
    }
    Ok(WebPage { url, title, text, is_cut })
}

fn media_type(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_text(kind: &str) -> bool {
    let textual = ["json", "xml", "yaml", "toml", "javascript", "ecmascript", "x-sh", "markdown", "sql", "graphql"];
    let is_named_so =
        || kind.strip_prefix("application/").is_some_and(|rest| textual.iter().any(|it| rest.contains(it)));
    kind.is_empty() || kind.starts_with("text/") || is_named_so() || kind == "image/svg+xml"
}

fn charset_of(kind: &str) -> Option<&str> {
    let value = kind.split(';').skip(1).find_map(|part| {
        let (name, value) = part.trim().split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    value.filter(|value| !value.is_empty())
}

/// Returns bytes as text: in the encoding of their mark, of the header or, for HTML, of the page itself; else UTF-8.
fn decoded(bytes: &[u8], charset: Option<&str>, is_html: bool) -> String {
    let named = |label: &str| encoding_rs::Encoding::for_label(label.as_bytes());
    let own = || {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(ENCODING_WITHIN)]).to_ascii_lowercase();
        let (_, value) = head.split_once("charset=")?;
        let value = value.trim_start_matches(['"', '\'']);
        named(&value[..value.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(value.len())])
    };
    let encoding = charset.and_then(named).or_else(|| is_html.then(own).flatten()).unwrap_or(encoding_rs::UTF_8);
    encoding.decode(bytes).0.into_owned()
}
