//! Servers over the network: streamable HTTP, and the server-sent events that came before it.
//!
//! Owns the client, its headers and where requests may go. Leaves streamable HTTP itself to the crate `rmcp`. Invariant:
//! headers, which may hold tokens, go to the origin that is configured and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::auth::{AuthError, AuthorizationManager};
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::sync::{Mutex, mpsc};
use tokio::task::AbortHandle;

use crate::network::sse::{Parser, TooLarge};
use crate::network::{TlsFiles, root_cause, with_certificates, without_certificates};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
const MAX_REDIRECTS: usize = 5;
/// Messages that may wait for us.
const CAPACITY: usize = 64;
/// Bytes of one answer, or of one event.
const MAX_MESSAGE: usize = 16 << 20;
/// Bytes of a refusal that are read.
const MAX_REFUSAL: usize = 16 << 10;

/// Makes a client that follows redirects only where they keep the request and lead to the same origin.
async fn client(url: &Url) -> Result<Client, String> {
    let is_secure = url.scheme() == "https";
    let settings = || {
        let policy = Policy::custom(|attempt| {
            let keeps = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            let first = attempt.previous().first();
            let is_same = first.is_some_and(|first| first.origin() == attempt.url().origin());
            if keeps && is_same && attempt.previous().len() <= MAX_REDIRECTS {
                attempt.follow()
            } else {
                attempt.stop()
            }
        });
        Client::builder().redirect(policy).connect_timeout(CONNECT_TIMEOUT)
    };
    // On a thread: certificates are read from the disk.
    let making = move || {
        if is_secure { with_certificates(&TlsFiles::default(), settings) } else { without_certificates(settings()) }
    };
    let made = tokio::task::spawn_blocking(making).await.map_err(|error| error.to_string())?;
    made.map_err(|error| error.to_string())
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let header = HeaderName::try_from(name).map_err(|_| format!("`{name}` is no name of a header"))?;
        // The value may be a secret.
        let mut value = HeaderValue::try_from(value).map_err(|_| format!("the value of the header {name} is none"))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Returns a way to a server that speaks streamable HTTP, through what is made of our client.
pub(super) async fn streamable<C: StreamableHttpClient + Send + 'static>(
    url: &str,
    pairs: &[(String, String)],
    through: impl FnOnce(Client) -> C,
) -> Result<StreamableHttpClientTransport<C>, String> {
    let place = Url::parse(url).map_err(|error| error.to_string())?;
    let headers = headers(pairs)?;
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(headers.into_iter().filter_map(|(name, value)| Some((name?, value))).collect())
        .max_sse_event_size(MAX_MESSAGE)
        .max_json_response_size(MAX_MESSAGE)
        .max_error_response_size(MAX_REFUSAL)
        .reinit_on_expired_session(true);
    Ok(StreamableHttpClientTransport::with_client(through(client(&place).await?), config))
}

#[derive(Debug, thiserror::Error)]
pub(super) enum SseError {
    #[error("the server wants you to sign in")]
    SignIn,
    #[error("{0}")]
    Failed(String),
}

impl SseError {
    /// Returns what an answer says is wrong, if it is no success.
    fn of(answer: &Response) -> Result<(), Self> {
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::UNAUTHORIZED => Err(Self::SignIn),
            status => Err(Self::Failed(format!("the server answers {status}"))),
        }
    }
}

impl From<String> for SseError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// The user's sign-in at a server, which is renewed when it has run out.
#[derive(Clone)]
struct SseTokens(Arc<Mutex<AuthorizationManager>>);

impl SseTokens {
    /// Returns the request with the token.
    async fn added(tokens: Option<Self>, request: RequestBuilder) -> Result<RequestBuilder, SseError> {
        let Some(Self(manager)) = tokens else { return Ok(request) };
        match manager.lock().await.get_access_token().await {
            Ok(token) => Ok(request.bearer_auth(token)),
            Err(AuthError::AuthorizationRequired) => Err(SseError::SignIn),
            Err(error) => Err(SseError::Failed(root_cause(&error).to_string())),
        }
    }
}

/// A way to a server that answers in a stream of events, and is told things by requests.
pub(super) struct SseTransport {
    client: Client,
    endpoint: Arc<Url>,
    headers: HeaderMap,
    tokens: Option<SseTokens>,
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    reading: AbortHandle,
}

impl SseTransport {
    /// Opens the stream, and waits for the event that says where requests go. `sign_in` adds the user's token, if there is
    /// one.
    pub(super) async fn open(
        url: &str,
        pairs: &[(String, String)],
        sign_in: Option<AuthorizationManager>,
    ) -> Result<Self, SseError> {
        let place = Url::parse(url).map_err(|error| error.to_string())?;
        let (client, headers) = (client(&place).await?, headers(pairs)?);
        let tokens = sign_in.map(|manager| SseTokens(Arc::new(Mutex::new(manager))));
        let asking = client.get(place.clone()).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let answer = SseTokens::added(tokens.clone(), asking).await?.send().await;
        let answer = answer.map_err(|error| root_cause(&error).to_string())?;
        SseError::of(&answer)?;
        let (endpoints, mut said) = mpsc::channel(1);
        let (messages, incoming) = mpsc::channel(CAPACITY);
        let reading = tokio::spawn(read(answer, endpoints, messages)).abort_handle();
        let endpoint = said.recv().await;
        let endpoint =
            endpoint.ok_or_else(|| "the server's stream has ended before it said where requests go".to_owned())?;
        let endpoint = place.join(&endpoint).map_err(|error| format!("the server names no address: {error}"))?;
        if endpoint.origin() != place.origin() {
            reading.abort();
            return Err(format!(
                "the server wants requests at another origin, {}",
                endpoint.origin().ascii_serialization()
            )
            .into());
        }
        Ok(Self { client, endpoint: Arc::new(endpoint), headers, tokens, incoming, reading })
    }
}

/// Hands on what a stream says until it ends.
async fn read(answer: Response, endpoints: mpsc::Sender<String>, messages: mpsc::Sender<RxJsonRpcMessage<RoleClient>>) {
    let mut parser = Parser::default();
    let mut stream = answer.bytes_stream();
    while let Some(Ok(bytes)) = stream.next().await {
        let mut events: Vec<(String, String)> = Vec::new();
        let taken = parser.push::<TooLarge>(&bytes, |event| {
            events.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        });
        if taken.is_err() {
            return;
        }
        for (name, data) in events {
            match name.as_str() {
                // Said once. What comes later has nobody who waits for it.
                "endpoint" => drop(endpoints.try_send(data)),
                "" | "message" => match serde_json::from_str(&data) {
                    Ok(message) => {
                        if messages.send(message).await.is_err() {
                            return;
                        }
                    }
                    Err(error) => tracing::debug!(%error, "an event that is no message"),
                },
                _ => {}
            }
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let request = self.client.post((*self.endpoint).clone()).headers(self.headers.clone());
        let tokens = self.tokens.clone();
        async move {
            let body = serde_json::to_vec(&item).map_err(|error| error.to_string())?;
            let request = SseTokens::added(tokens, request.header(CONTENT_TYPE, "application/json").body(body)).await?;
            let answer = request.send().await.map_err(|error| root_cause(&error).to_string())?;
            SseError::of(&answer)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.reading.abort();
        Ok(())
    }
}

impl Drop for SseTransport {
    fn drop(&mut self) {
        self.reading.abort();
    }
}
