//! Finds a model server on this machine.
//!
//! Owns the default ports and the judgement whether an answer comes from a model server. Leaves what to do with the
//! find to `choice`. Invariant: all addresses are asked at once, within one budget, and an unrelated web server on one
//! of the ports does not count.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesOrdered;
use reqwest::Url;
use serde::Deserialize;

use super::http::{Auth, Http};
use super::{Secret, Service};

/// How long to look for servers on this machine.
pub const BUDGET: Duration = Duration::from_millis(200);
/// Longest list of models that is read.
const LIST_CAP: usize = 1024 * 1024;

/// An address where a server may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEndpoint {
    /// Name of the server, such as `ollama`.
    pub name: String,
    /// Address of its API, such as `http://127.0.0.1:11434/v1`.
    pub base: Url,
    /// Its key, if it wants one.
    pub key: Option<Secret>,
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalServer {
    /// Where.
    pub endpoint: LocalEndpoint,
    /// The model to use.
    pub model: String,
}

/// Returns the default addresses, the preferred one first. `ollama_host` is what `OLLAMA_HOST` says, if anything.
#[must_use]
pub fn local_endpoints(ollama_host: Option<&str>) -> Vec<LocalEndpoint> {
    let ports = [("ollama", 11434), ("lmstudio", 1234), ("llamacpp", 8080)];
    let mut endpoints: Vec<LocalEndpoint> =
        ports.into_iter().filter_map(|(name, port)| endpoint(name, &format!("http://127.0.0.1:{port}/v1"))).collect();
    if let (Some(base), Some(ollama)) = (ollama_host.and_then(ollama_base), endpoints.first_mut()) {
        ollama.base = base;
    }
    endpoints
}

/// Reads `OLLAMA_HOST` as Ollama does: `host`, `host:port`, `:port` or an address with a scheme, whose default port then
/// is that of the scheme. A server that listens everywhere is asked on this machine.
fn ollama_base(host: &str) -> Option<Url> {
    let host = host.trim().trim_matches(['"', '\'']);
    let (scheme, rest) = host.split_once("://").map_or((None, host), |(scheme, rest)| (Some(scheme), rest));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let authority = match authority {
        bare if bare.parse::<std::net::Ipv6Addr>().is_ok() => format!("[{bare}]"),
        port if port.is_empty() || port.starts_with(':') => format!("127.0.0.1{port}"),
        other => other.to_owned(),
    };
    let has_port = authority.rsplit(']').next().is_some_and(|end| end.contains(':'));
    let mut url: Url = format!("{}://{authority}", scheme.unwrap_or("http")).parse().ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    if scheme.is_none() && !has_port {
        url.set_port(Some(11434)).ok()?;
    }
    match url.host_str() {
        Some("0.0.0.0") => url.set_host(Some("127.0.0.1")).ok()?,
        Some("[::]") => url.set_host(Some("[::1]")).ok()?,
        _ => {}
    }
    url.set_path(&format!("{}/v1", path.trim_end_matches('/')));
    Some(url)
}

fn endpoint(name: &str, base: &str) -> Option<LocalEndpoint> {
    Some(LocalEndpoint { name: name.to_owned(), base: base.parse().ok()?, key: None })
}

/// Asks all endpoints at once and returns the first, in their order, that has a model.
///
/// With `wanted`, only a server that has this model counts; otherwise its first model that writes text is taken.
pub async fn find_local_server(
    endpoints: &[LocalEndpoint],
    wanted: Option<&str>,
    budget: Duration,
) -> Option<LocalServer> {
    let deadline = tokio::time::Instant::now() + budget;
    let mut answers: FuturesOrdered<_> = endpoints
        .iter()
        .map(|endpoint| async move {
            let models = tokio::time::timeout_at(deadline, models_of(endpoint)).await.ok().flatten()?;
            let model = match wanted {
                Some(wanted) => models.into_iter().find(|id| is_same_model(id, wanted))?,
                None => models.into_iter().find(|id| writes_text(id))?,
            };
            Some(LocalServer { endpoint: endpoint.clone(), model })
        })
        .collect();
    while let Some(answer) = answers.next().await {
        if answer.is_some() {
            return answer;
        }
    }
    None
}

/// The list of models as the API has it.
#[derive(Deserialize)]
struct Listing {
    object: String,
    /// Ollama sends null where there is none.
    data: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

async fn models_of(endpoint: &LocalEndpoint) -> Option<Vec<String>> {
    let service =
        Service { name: endpoint.name.clone(), key_variable: "OPENAI_API_KEY".to_owned(), key: endpoint.key.clone() };
    let auth = endpoint.key.clone().map_or(Auth::None, Auth::Bearer);
    let body = Http::new(service, endpoint.base.clone(), auth).get("/models", LIST_CAP).await.ok()?;
    let listing: Listing = serde_json::from_slice(&body).ok()?;
    (listing.object == "list").then(|| listing.data.unwrap_or_default().into_iter().map(|model| model.id).collect())
}

/// Ollama lists `qwen3:latest` for what people call `qwen3`.
fn is_same_model(id: &str, wanted: &str) -> bool {
    id == wanted || id.strip_suffix(":latest") == Some(wanted)
}

/// Tells by its name whether a model writes text, and not vectors, speech or rankings.
fn writes_text(id: &str) -> bool {
    let id = id.to_lowercase();
    let others = ["embed", "bge-", "minilm", "gte-", "e5-", "rerank", "whisper", "tts", "clip"];
    !id.is_empty() && !others.iter().any(|word| id.contains(word))
}
