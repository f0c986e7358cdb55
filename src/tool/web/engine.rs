//! A search that the user has set up: SearXNG, or Brave.
//!
//! Owns their requests and answers. Leaves what becomes of the hits to `search`, and the key to whoever fetches it.
//! Invariants: nothing is followed elsewhere; an answer is read up to a bound; no error holds a key.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;

use super::search::SearchQuery;
use crate::message::{SearchEngineKind, SearchHit, SearchSettings, Secret};
use crate::network::{TlsFiles, root_cause, with_certificates, without_certificates};

const TIME_LIMIT: Duration = Duration::from_secs(20);
/// Bytes of an answer, unpacked.
const MAX_ANSWER: usize = 2 << 20;
const BRAVE: &str = "https://api.search.brave.com/res/v1/web/search";
/// Hits to ask for; some are left out after that.
const ASKED_FOR: &str = "20";

/// Fetches the key of a search engine. On failure, returns why, in words without a secret.
pub type FetchSecret = Arc<dyn Fn() -> BoxFuture<'static, Result<Secret, String>> + Send + Sync>;

/// Where searches go that no model's service does itself.
#[derive(Clone)]
pub struct SearchEngine {
    kind: SearchEngineKind,
    /// What is asked.
    url: Url,
    key: Option<FetchSecret>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearxngAnswer {
    results: Vec<SearxngHit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearxngHit {
    url: String,
    title: String,
    content: Option<String>,
    #[serde(rename = "publishedDate")]
    published: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BraveAnswer {
    web: Option<BraveResults>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BraveResults {
    results: Vec<BraveHit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct BraveHit {
    url: String,
    title: String,
    description: Option<String>,
    age: Option<String>,
}

impl SearchEngine {
    /// Returns `None` if the settings name no address.
    #[must_use]
    pub fn new(settings: &SearchSettings, key: Option<FetchSecret>) -> Option<Self> {
        let mut url = match (settings.engine, &settings.url) {
            (_, Some(url)) => url.clone(),
            (SearchEngineKind::Brave, None) => Url::parse(BRAVE).ok()?,
            (SearchEngineKind::Searxng, None) => return None,
        };
        if settings.engine == SearchEngineKind::Searxng {
            let path = url.path().trim_end_matches('/');
            let path = format!("{}/search", path.strip_suffix("/search").unwrap_or(path));
            url.set_path(&path);
        }
        Some(Self { kind: settings.engine, url, key })
    }

    /// Returns what people call it: the host that is asked.
    pub(super) fn name(&self) -> String {
        let port = self.url.port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}{port}", self.url.host_str().unwrap_or_default())
    }

    /// Returns what is found; the error is for the model.
    pub(super) async fn find(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, String> {
        let late = |_| format!("{} did not answer within {} seconds.", self.name(), TIME_LIMIT.as_secs());
        tokio::time::timeout(TIME_LIMIT, self.ask(query)).await.map_err(late)?
    }

    async fn ask(&self, query: &SearchQuery) -> Result<Vec<SearchHit>, String> {
        let mut url = self.url.clone();
        let words = query.with_sites();
        let (name, value) = match self.kind {
            SearchEngineKind::Searxng => ("format", "json"),
            SearchEngineKind::Brave => ("count", ASKED_FOR),
        };
        url.query_pairs_mut().append_pair("q", &words).append_pair(name, value);
        let key = match &self.key {
            Some(key) => Some(key().await.map_err(|why| format!("The key of {} cannot be had: {why}.", self.name()))?),
            None => None,
        };
        let mut request = self.client().await?.get(url);
        request = request.header(USER_AGENT, concat!("belvedere/", env!("CARGO_PKG_VERSION")));
        request = request.header(ACCEPT, "application/json");
        if let Some(key) = &key {
            request = match self.kind {
                SearchEngineKind::Brave => request.header("X-Subscription-Token", key.expose()),
                SearchEngineKind::Searxng => request.bearer_auth(key.expose()),
            };
        }
        let broken = |error: reqwest::Error| format!("{}: {}.", self.name(), root_cause(&error));
        let mut answer = request.send().await.map_err(broken)?;
        if !answer.status().is_success() {
            return Err(self.refused(answer.status()));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(broken)? {
            if bytes.len() + chunk.len() > MAX_ANSWER {
                return Err(format!("{} answers with more than {MAX_ANSWER} bytes.", self.name()));
            }
            bytes.extend_from_slice(&chunk);
        }
        self.read(&bytes).map_err(|error| format!("{} answers with something else: {error}.", self.name()))
    }

    fn refused(&self, status: StatusCode) -> String {
        let name = self.name();
        match (self.kind, status) {
            (SearchEngineKind::Searxng, StatusCode::FORBIDDEN) => format!(
                "{name} answers {status}: it has no JSON. The user can add `json` to `search.formats` in its settings.yml."
            ),
            (
                SearchEngineKind::Brave,
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::UNPROCESSABLE_ENTITY,
            ) => {
                format!("{name} answers {status}: it wants a key. The user can set BRAVE_API_KEY.")
            }
            (_, StatusCode::TOO_MANY_REQUESTS) => format!("{name} answers {status}: search less often."),
            _ => format!("{name} answers {status}."),
        }
    }

    fn read(&self, json: &[u8]) -> Result<Vec<SearchHit>, serde_json::Error> {
        let hits: Vec<SearchHit> = match self.kind {
            SearchEngineKind::Searxng => {
                let answer: SearxngAnswer = serde_json::from_slice(json)?;
                let hit = |hit: SearxngHit| SearchHit {
                    url: hit.url,
                    title: hit.title,
                    age: hit.published,
                    excerpt: hit.content,
                };
                answer.results.into_iter().map(hit).collect()
            }
            SearchEngineKind::Brave => {
                let answer: BraveAnswer = serde_json::from_slice(json)?;
                let hit = |hit: BraveHit| SearchHit {
                    url: hit.url,
                    title: hit.title,
                    age: hit.age,
                    excerpt: hit.description,
                };
                answer.web.unwrap_or_default().results.into_iter().map(hit).collect()
            }
        };
        Ok(hits)
    }

    async fn client(&self) -> Result<Client, String> {
        let is_plain = self.url.scheme() == "http";
        let settings = || Client::builder().redirect(Policy::none()).gzip(true);
        let build = move || {
            if is_plain { without_certificates(settings()) } else { with_certificates(&TlsFiles::default(), settings) }
        };
        let built = tokio::task::spawn_blocking(build).await.map_err(|error| error.to_string())?;
        built.map_err(|error| format!("{error}."))
    }
}

impl fmt::Debug for SearchEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SearchEngine({})", self.name())
    }
}
