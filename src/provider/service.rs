//! Whom a request goes to: its name, its key, and how its failures become typed errors.
//!
//! Owns keys and the words of servers. Leaves transport to `http`. Invariant: no message that leaves here holds a key,
//! a control character, or more than [`DETAIL_CHARS`] characters of what a server said.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::connect::Advice;
use super::http::is_on_own_network;
use super::key::{FetchedKey, KeySource};
use super::length::is_about_length;
use super::table::is_home;
use super::{ErrorKind, ProviderError, Transport};
use crate::message::format::words_of;
use crate::message::{ProviderRow, Secret};

/// Longest detail of an error, in characters.
pub const DETAIL_CHARS: usize = 300;
/// Most details of an error that are read, and parts of each.
const MAX_DETAILS: usize = 16;
/// Least length of a key that is blotted out. Shorter ones, such as `test`, are no secret but parts of words.
const LEAST_SECRET: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// A key, in the header that the row names.
    Key(Secret),
    /// A token, as `Authorization: Bearer`.
    Token(Secret),
    /// A key that is fetched when a request needs it.
    Fetched(KeySource),
    /// None, for a server that needs none or a gateway that adds its own.
    None,
}

impl Credential {
    /// Returns the key or the token, as far as it is known without fetching it.
    pub(super) fn known(&self) -> Option<Secret> {
        match self {
            Self::Key(secret) | Self::Token(secret) => Some(secret.clone()),
            Self::Fetched(source) => source.known(),
            Self::None => None,
        }
    }

    /// Returns `true` if a request can be sent without fetching a key.
    pub(super) fn is_at_hand(&self) -> bool {
        !matches!(self, Self::Fetched(source) if source.known().is_none())
    }
}

/// Whom a request goes to, and what errors say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub(super) row: Arc<ProviderRow>,
    pub(super) credential: Credential,
    pub(super) transport: Arc<Transport>,
    /// What errors call it: its name, or where it is.
    shown: String,
    /// Whether it is known by its name alone.
    is_at_home: bool,
    /// Whether it runs on the user's own machine or network.
    is_own: bool,
}

impl Service {
    /// Returns a service that is known by its name.
    #[must_use]
    pub fn new(row: Arc<ProviderRow>, credential: Credential) -> Self {
        Self { shown: row.name.clone(), row, credential, transport: Arc::default(), is_at_home: true, is_own: false }
    }

    /// Returns the service that is reached so.
    #[must_use]
    pub fn over(self, transport: Arc<Transport>) -> Self {
        Self { transport, ..self }
    }

    /// Returns the service as errors show it that come from this address.
    pub(super) fn at(self, base: &Url) -> Self {
        let (name, place) = (&self.row.name, place(base));
        let is_at_home = is_home(&self.row, base);
        let shown = match () {
            () if is_at_home => name.clone(),
            // Who answers there is somebody else.
            () if self.row.url_env.is_some() => place,
            () => format!("{name} at {place}"),
        };
        Self { shown, is_at_home, is_own: is_on_own_network(base), ..self }
    }

    /// Returns what a request is sent with, which is fetched if need be. Returns an error if there is no way to get it.
    pub(super) async fn key(&self) -> Result<Option<FetchedKey>, ProviderError> {
        let Credential::Fetched(source) = &self.credential else {
            return Ok(self.credential.known().map(FetchedKey::at_hand));
        };
        source.fetch().await.map(Some).map_err(|words| ProviderError {
            advice: format!("Check {}, or set {}.", source.place(), self.row.key_hint()),
            ..self.error(ErrorKind::MissingKey, &words)
        })
    }

    /// Notes that the service has refused a key. Returns `true` if another one may be had.
    pub(super) fn forget(&self, key: Option<&FetchedKey>) -> bool {
        match (&self.credential, key) {
            (Credential::Fetched(source), Some(key)) => source.forget(key),
            _ => false,
        }
    }

    /// Returns the headers that a request with this key carries. Returns an error if the key cannot be sent.
    pub(super) fn headers(&self, key: Option<&FetchedKey>) -> Result<HeaderMap, ProviderError> {
        let mut headers = self.transport.headers.clone();
        let (Some(key), Some(name)) = (key, self.key_header()) else { return Ok(headers) };
        let bearer = if name.eq_ignore_ascii_case("authorization") { "Bearer " } else { "" };
        let value = HeaderValue::from_str(&format!("{bearer}{}", key.secret.expose()));
        let (Ok(name), Ok(mut value)) = (HeaderName::from_bytes(name.as_bytes()), value) else {
            let words = "the key contains an invalid character, such as a line break";
            return Err(self.error(ErrorKind::Authentication, words));
        };
        value.set_sensitive(true);
        let is_token_too = matches!(&self.credential, Credential::Fetched(source) if source.is_token_too());
        if is_token_too && !headers.contains_key(AUTHORIZATION) {
            let token = HeaderValue::from_str(&format!("Bearer {}", key.secret.expose()));
            headers.extend(token.ok().map(|mut token| {
                token.set_sensitive(true);
                (AUTHORIZATION, token)
            }));
        }
        headers.insert(name, value);
        Ok(headers)
    }

    /// Returns the header that the key or the token goes into; `None` if there is none.
    pub(super) fn key_header(&self) -> Option<&str> {
        match &self.credential {
            Credential::None => None,
            Credential::Token(_) => Some("authorization"),
            Credential::Key(_) | Credential::Fetched(_) => Some(self.row.key_header()),
        }
    }

    /// Returns what to set so that another key is sent.
    pub(super) fn key_hint(&self) -> String {
        match (&self.credential, &self.row.token_env) {
            (Credential::Token(_), Some(variable)) => variable.clone(),
            (Credential::Fetched(source), _) => source.place().to_owned(),
            _ => self.row.key_hint(),
        }
    }

    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns `true` if errors call it by its name, which does not say where it is.
    pub(super) fn is_at_home(&self) -> bool {
        self.is_at_home
    }

    /// Returns the error of this kind, with the service's words made fit to be shown.
    pub(super) fn error(&self, kind: ErrorKind, words: &str) -> ProviderError {
        self.error_after(kind, words, None)
    }

    /// The same, for a service that said how long to wait.
    fn error_after(&self, kind: ErrorKind, words: &str, wait: Option<Duration>) -> ProviderError {
        let error = ProviderError::new(kind, &self.shown, self.clean(words)).after(wait);
        let (kind, advice) = match kind {
            ErrorKind::Authentication if self.credential == Credential::None && !self.transport.has_key() => {
                (ErrorKind::MissingKey, format!("Set {}.", self.key_hint()))
            }
            ErrorKind::Authentication => (kind, format!("Check {} and its access to this model.", self.key_hint())),
            ErrorKind::Internal if self.is_own => (kind, format!("Check the log of {}.", self.shown)),
            _ => return error,
        };
        ProviderError { kind, advice, ..error }
    }

    /// Returns the error for a connection that cannot be secure.
    pub(super) fn tls_error(&self, (detail, advice): Advice) -> ProviderError {
        ProviderError { advice, ..self.error(ErrorKind::Tls, &detail) }
    }

    /// Returns the error for the answer to a request for `path` whose status is not a success.
    pub(super) fn refusal(&self, status: u16, path: &str, headers: &HeaderMap, body: &str) -> ProviderError {
        let said = Said::read(body);
        let kind = kind_of_status(status, &said);
        let words = match said.message.as_str() {
            "" => format!("HTTP {status}"),
            message if kind == ErrorKind::Internal => format!("HTTP {status}: {message}"),
            message => message.to_owned(),
        };
        let words = if status == 404 && !self.is_at_home { format!("{path}: {words}") } else { words };
        let error = self.error_after(kind, &words, wait_of(headers).or(said.wait));
        said.attached_to(error)
    }

    /// Returns the error for an error object that arrived inside a stream or with a status of success.
    pub(super) fn stream_error(&self, body: &str) -> ProviderError {
        let said = Said::read(body);
        let words = if said.message.is_empty() { body } else { &said.message };
        let kind = match said.status {
            Some(status) => kind_of_status(status, &said),
            None => kind_of_words(&said),
        };
        let wait = said.wait;
        let words = words.to_owned();
        said.attached_to(self.error_after(kind, &words, wait))
    }

    /// Makes a server's words fit to be shown: keys blotted out, one line, bounded.
    fn clean(&self, words: &str) -> String {
        let key = self.credential.known();
        let secrets = key.iter().map(Secret::expose).chain(self.transport.secrets());
        let clean = secrets
            .filter(|secret| secret.len() >= LEAST_SECRET)
            .fold(words.to_owned(), |words, secret| words.replace(secret, "***"));
        words_of(&clean, DETAIL_CHARS)
    }
}

/// What an error body says, whichever of the usual shapes it has.
#[derive(Default)]
struct Said {
    message: String,
    /// `type`, `code`, Google's `status` and the reasons in its details, in lower case.
    kind: String,
    /// A code that is an HTTP status.
    status: Option<u16>,
    /// How long Google's details ask to wait.
    wait: Option<Duration>,
    /// What the model wrote, where that was refused.
    reply: Option<String>,
}

impl Said {
    fn read(body: &str) -> Self {
        let body = body.trim();
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(mut items)) if !items.is_empty() => Self::of(&items.swap_remove(0)),
            Ok(value) => Self::of(&value),
            // A proxy's web page says nothing a user can act on.
            Err(_) if body.starts_with('<') => Self::default(),
            Err(_) => Self { message: body.to_owned(), ..Self::default() },
        }
    }

    fn of(value: &Value) -> Self {
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let message = match error {
            Value::String(message) => message.clone(),
            _ => ["message", "detail", "msg"].into_iter().map(text).find(|text| !text.is_empty()).map_or_else(
                || {
                    if matches!(error, Value::Object(map) if !map.is_empty()) {
                        error.to_string()
                    } else {
                        String::new()
                    }
                },
                str::to_owned,
            ),
        };
        let code = error.get("code");
        let status = code
            .and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()))
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..600).contains(code));
        let mut kind = format!("{} {} {}", text("type"), text("code"), text("status")).to_lowercase();
        let mut wait = None;
        for detail in error.get("details").and_then(Value::as_array).into_iter().flatten().take(MAX_DETAILS) {
            wait = wait.or_else(|| retry_delay(detail));
            for reason in reasons(detail) {
                kind.push(' ');
                kind.extend(reason.chars().take(DETAIL_CHARS).flat_map(char::to_lowercase));
            }
        }
        let is_reply = kind.contains("tool_use_failed") || kind.contains("output_parse_failed");
        let reply = is_reply.then(|| text("failed_generation").to_owned());
        Self { message, kind, status, wait, reply }
    }

    /// Returns the error with what the model wrote, if it is about that. Asked again, it may write something better.
    fn attached_to(self, error: ProviderError) -> ProviderError {
        match self.reply {
            Some(reply) => {
                let kind = if error.kind == ErrorKind::BadRequest { ErrorKind::Interrupted } else { error.kind };
                ProviderError { kind, refused_reply: Some(reply.into()), ..error }
            }
            None => error,
        }
    }

    fn is_about_load(&self) -> bool {
        self.kind.contains("overloaded") || self.message.to_lowercase().contains("overloaded")
    }

    /// Returns `true` if the service says that it has no such model.
    fn is_about_model(&self) -> bool {
        let words = self.message.to_lowercase();
        let missing = ["invalid model", "unknown model", "no such model", "model not found", "valid model id"];
        let lacks = ["does not exist", "not found", "is not available", "is not supported here"];
        self.kind.contains("model_not_found")
            || missing.iter().any(|word| words.contains(word))
            || words.starts_with("model ") && lacks.iter().any(|word| words.contains(word))
            || words.contains("the model ") && lacks[..2].iter().any(|word| words.contains(word))
    }

    fn is_about_length(&self) -> bool {
        is_about_length(&self.kind, &self.message.to_lowercase())
    }
}

/// Returns host and port of an address; the scheme's own port goes without saying.
pub(super) fn place(base: &Url) -> String {
    let host = base.host_str().unwrap_or_default();
    base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn kind_of_status(status: u16, said: &Said) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Authentication,
        _ if said.kind.contains("api_key_invalid") => ErrorKind::Authentication,
        // No wait mends an empty account, or a day that is used up.
        429 if ["quota", "billing", "perday"].iter().any(|word| said.kind.contains(word)) => ErrorKind::BadRequest,
        429 => ErrorKind::RateLimit,
        404 => ErrorKind::NotFound,
        413 => ErrorKind::ContextTooLong,
        _ if said.is_about_length() => ErrorKind::ContextTooLong,
        501 | 505 => ErrorKind::BadRequest,
        408 | 425 | 503 | 529 => ErrorKind::Overloaded,
        500.. if said.is_about_load() => ErrorKind::Overloaded,
        500.. => ErrorKind::Internal,
        _ if said.is_about_model() => ErrorKind::NotFound,
        _ => ErrorKind::BadRequest,
    }
}

fn kind_of_words(said: &Said) -> ErrorKind {
    let is = |words: &[&str]| words.iter().any(|word| said.kind.contains(word));
    if said.is_about_length() || is(&["request_too_large"]) {
        ErrorKind::ContextTooLong
    } else if is(&["authentication", "permission", "invalid_api_key", "unauthenticated", "api_key_invalid"]) {
        ErrorKind::Authentication
    } else if is(&["insufficient_quota", "billing"]) {
        ErrorKind::BadRequest
    } else if is(&["rate_limit", "resource_exhausted"]) {
        ErrorKind::RateLimit
    } else if said.is_about_load() || is(&["unavailable"]) {
        ErrorKind::Overloaded
    } else if is(&["api_error", "server_error", "timeout"]) {
        ErrorKind::Internal
    } else if is(&["not_found"]) || said.is_about_model() {
        ErrorKind::NotFound
    } else {
        ErrorKind::BadRequest
    }
}

/// Returns the wait that a detail of Google's errors asks for (`google.rpc.RetryInfo`): seconds such as `34.5s`.
fn retry_delay(detail: &Value) -> Option<Duration> {
    let seconds = detail.get("retryDelay")?.as_str()?.strip_suffix('s')?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// Returns the reasons that such a detail names: of an error (`ErrorInfo`), and which limits were passed (`QuotaFailure`).
fn reasons(detail: &Value) -> impl Iterator<Item = &str> {
    let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten().take(MAX_DETAILS);
    let limits =
        violations.filter_map(|violation| violation.get("quotaId")?.as_str()).filter(|id| id.contains("PerDay"));
    detail.get("reason").and_then(Value::as_str).into_iter().chain(limits)
}

/// Reads how long a server asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110 §10.2.3).
fn wait_of(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(wait / 1000.0).ok();
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp());
    // Measured by the server's own clock where it tells it: ours may be wrong.
    let now = text("date").and_then(date).unwrap_or_else(jiff::Timestamp::now);
    let seconds = date(after)?.as_second().saturating_sub(now.as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}
