//! Hooks that are an address: what happens is sent there, and the answer read as what a command prints.
//!
//! Owns the request and its bounds. Leaves what answers mean to `hook`. Source: the reference of Claude Code's hooks.
//! Invariants: headers go to the address that is written and nowhere else, and only where settings let them; they hold no
//! variable that the hook does not name, and a project's no key of a service.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use tokio::time::timeout;

use crate::config::HttpHookLists;
use crate::hook::{HookExit, HookProcess, HookRequest};
use crate::network::{TlsFiles, root_cause, with_certificates, without_certificates};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of an answer that count.
const MAX_ANSWER: usize = 1 << 20;

/// What settings say of requests.
#[derive(Debug, Clone)]
pub(super) struct HttpHookMeans {
    /// Which addresses and variables they let be used.
    pub(super) lists: HttpHookLists,
    /// The variables that hold keys of services.
    pub(super) keys: Vec<String>,
}

/// Sends what happens, and returns the answer as the end of a program.
pub(super) async fn exit_of(request: &HookRequest, process: HookProcess, means: &HttpHookMeans) -> HookExit {
    let HookProcess { handler, input, stop, .. } = process;
    let url = match Url::parse(&request.url) {
        Ok(url) if means.lists.allow_url(&url) => url,
        Ok(_) => return HookExit::Unjudged(format!("`allowedHttpHookUrls` does not allow {}", request.url)),
        Err(error) => return HookExit::Unjudged(error.to_string()),
    };
    let headers = match headers(request, handler.source.is_projects, means) {
        Ok(headers) => headers,
        Err(why) => return HookExit::Unjudged(why),
    };
    let sending = timeout(handler.timeout, send(url, headers, input));
    tokio::select! {
        biased;
        () = stop.cancelled() => HookExit::Stopped,
        sent = sending => match sent {
            Ok(Ok(stdout)) => HookExit::Exited { code: Some(0), stdout, stderr: String::new() },
            Ok(Err(why)) => HookExit::Failed(why),
            Err(_) => HookExit::TimedOut,
        },
    }
}

async fn send(url: Url, headers: HeaderMap, body: Vec<u8>) -> Result<String, String> {
    let is_secure = url.scheme() == "https";
    // On a thread: certificates are read from the disk.
    let making = move || {
        let settings = || Client::builder().redirect(Policy::none()).connect_timeout(CONNECT_TIMEOUT);
        if is_secure { with_certificates(&TlsFiles::default(), settings) } else { without_certificates(settings()) }
    };
    let client = tokio::task::spawn_blocking(making).await.map_err(|error| error.to_string())?;
    let client = client.map_err(|error| error.to_string())?;
    let sending = client.post(url).headers(headers).header(CONTENT_TYPE, "application/json").body(body).send();
    let mut answer = sending.await.map_err(|error| root_cause(&error).to_string())?;
    if !answer.status().is_success() {
        return Err(format!("it answered {}", answer.status()));
    }
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| root_cause(&error).to_string())? {
        if text.len() + chunk.len() > MAX_ANSWER {
            return Err(format!("its answer is longer than {MAX_ANSWER} bytes"));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn headers(request: &HookRequest, is_projects: bool, means: &HttpHookMeans) -> Result<HeaderMap, String> {
    let may_hold = |name: &str| match () {
        () if is_projects && means.keys.iter().any(|key| key == name) => {
            Err(format!("{name} holds the key of a service; put the hook into your own settings"))
        }
        () => Ok(request.variables.iter().any(|known| known == name) && means.lists.allow_variable(name)),
    };
    let mut headers = HeaderMap::new();
    for (name, value) in &request.headers {
        let header = HeaderName::try_from(name).map_err(|_| format!("`{name}` is no name of a header"))?;
        let value = filled(value, may_hold)?;
        // It may be a secret.
        let mut value = HeaderValue::try_from(value).map_err(|_| format!("the value of the header {name} is none"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Fills in the variables of a text that may be. What others would hold stays empty.
fn filled(text: &str, may_hold: impl Fn(&str) -> Result<bool, String>) -> Result<String, String> {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = match part.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some(named) => named,
            None => part.split_at(part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len())),
        };
        if name.is_empty() {
            filled.push('$');
        } else if may_hold(name)? {
            filled.push_str(&std::env::var(name).unwrap_or_default());
        }
        filled.push_str(rest);
    }
    Ok(filled)
}
