//! JSON-RPC, one message a line.
//!
//! Owns reading lines of any size within bounded memory, telling requests from answers, and the form of what is written.
//! Leaves what a method means to others. Invariants: a line that cannot be understood becomes an error for the client and
//! nothing else; what is written is one line and is JSON.

use std::io;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};
use tokio::sync::mpsc;

use super::schema::{Error, RequestId};

/// Bytes of the longest message that is read: one with images, which come in base64.
pub(super) const MAX_LINE: usize = 32 << 20;

/// What a client has sent.
#[derive(Debug)]
pub(super) enum Incoming {
    Request {
        id: RequestId,
        method: String,
        params: Params,
    },
    Notification {
        method: String,
        params: Params,
    },
    /// The answer to a request of ours.
    Answer {
        id: RequestId,
        result: Result<Box<RawValue>, Error>,
    },
    /// It makes no sense; the error is the answer to it.
    Unclear {
        id: RequestId,
        error: Error,
    },
}

/// The parameters of a method, as they came.
#[derive(Debug, Default)]
pub(super) struct Params(Option<Box<RawValue>>);

impl Params {
    /// Reads them. Returns what is wrong with them as the answer to the request.
    pub(super) fn read<'de, T: Deserialize<'de>>(&'de self) -> Result<T, Error> {
        let text = self.0.as_deref().map_or("{}", RawValue::get);
        serde_json::from_str(text).map_err(|error| invalid(error.to_string()))
    }
}

/// Returns the error for parameters that make no sense.
pub(super) fn invalid(why: impl Into<String>) -> Error {
    saying(Error::invalid_params(), why)
}

/// Returns an error with these words.
pub(super) fn saying(mut error: Error, why: impl Into<String>) -> Error {
    error.message = why.into();
    error
}

/// Any message of JSON-RPC.
#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: Option<&'a str>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    #[serde(default, deserialize_with = "present_whole")]
    result: Option<Box<RawValue>>,
    error: Option<Error>,
}

/// Reads a member that may be there and be `null`.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn present_whole<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Reads one line.
pub(super) fn parse(line: &[u8]) -> Incoming {
    let unclear = |id, error: Error, why: &str| {
        let message = format!("{}: {why}", error.message);
        Incoming::Unclear { id, error: saying(error, message) }
    };
    // An array could pass for the members in their order.
    let is_object = line.trim_ascii_start().starts_with(b"{");
    let read = if is_object {
        serde_json::from_slice::<Envelope<'_>>(line).map(Some)
    } else {
        serde_json::from_slice::<IgnoredAny>(line).map(|_| None)
    };
    let envelope = match read {
        Ok(Some(envelope)) => envelope,
        Ok(None) => return unclear(RequestId::Null, Error::invalid_request(), "a message is an object"),
        Err(error) if error.is_data() => {
            return unclear(RequestId::Null, Error::invalid_request(), &error.to_string());
        }
        Err(error) => return unclear(RequestId::Null, Error::parse_error(), &error.to_string()),
    };
    let id = envelope.id.map(|id| serde_json::from_str::<RequestId>(id.get()));
    let Ok(id) = id.transpose() else {
        return unclear(RequestId::Null, Error::invalid_request(), "an id is a whole number or a text");
    };
    if envelope.jsonrpc != Some("2.0") {
        return unclear(id.unwrap_or(RequestId::Null), Error::invalid_request(), "`jsonrpc` has to be \"2.0\"");
    }
    let params = Params(envelope.params);
    match (envelope.method, id, envelope.result, envelope.error) {
        (Some(method), Some(id), None, None) => Incoming::Request { id, method, params },
        (Some(method), None, None, None) => Incoming::Notification { method, params },
        (None, Some(id), Some(result), None) => Incoming::Answer { id, result: Ok(result) },
        (None, Some(id), None, Some(error)) => Incoming::Answer { id, result: Err(error) },
        (_, id, ..) => unclear(id.unwrap_or(RequestId::Null), Error::invalid_request(), "neither request nor answer"),
    }
}

/// Reads messages up to the end of the input, or until nobody wants them any more.
///
/// # Errors
/// Returns an error if the input breaks.
pub(super) async fn read(mut input: impl AsyncBufRead + Unpin, messages: mpsc::Sender<Incoming>) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let piece = match input.fill_buf().await {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let (end, read) = match memchr::memchr(b'\n', piece) {
            Some(at) => (Some(at), at + 1),
            None => (None, piece.len()),
        };
        let is_over = piece.is_empty();
        if !is_too_long {
            line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        }
        input.consume(read);
        if line.len() > MAX_LINE {
            (line, is_too_long) = (Vec::new(), true);
        }
        if end.is_none() && !is_over {
            continue;
        }
        let message = if is_too_long {
            let why = format!("a message has at most {} MB", MAX_LINE >> 20);
            Some(Incoming::Unclear { id: RequestId::Null, error: saying(Error::invalid_request(), why) })
        } else {
            (!line.trim_ascii().is_empty()).then(|| parse(&line))
        };
        if let Some(message) = message
            && messages.send(message).await.is_err()
        {
            return Ok(());
        }
        if is_over {
            return Ok(());
        }
        line.clear();
        line.shrink_to(64 << 10);
        is_too_long = false;
    }
}

#[derive(Serialize)]
struct Sent<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<P>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Error>,
}

impl<P> Default for Sent<'_, P> {
    fn default() -> Self {
        Self { jsonrpc: "2.0", id: None, method: None, params: None, result: None, error: None }
    }
}

/// Returns the line of a request.
pub(super) fn request(id: &RequestId, method: &str, params: impl Serialize) -> String {
    line(&Sent { id: Some(id), method: Some(method), params: Some(params), ..Sent::default() })
}

pub(super) fn notification(method: &str, params: impl Serialize) -> String {
    line(&Sent { method: Some(method), params: Some(params), ..Sent::default() })
}

/// Returns the line of an answer.
pub(super) fn answer<T: Serialize>(id: &RequestId, result: Result<T, Error>) -> String {
    match result {
        Ok(result) => line(&Sent { id: Some(id), result: Some(result), ..Sent::default() }),
        Err(error) => line(&Sent::<()> { id: Some(id), error: Some(&error), ..Sent::default() }),
    }
}

fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_else(|error| {
        // Nothing that is sent has keys that are no text; a client that waits is not told more.
        tracing::error!(%error, "a message cannot be written");
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"Internal error"}}"#.to_owned()
    })
}
