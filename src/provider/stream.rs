//! From the bytes of an answer to its events, for every wire format.
//!
//! Owns the pipe from body to parser to decoder, the merging of small pieces, and the end of a stream. Leaves the
//! meaning of one event to the [`Decode`] of each format. Invariants: the events do not depend on how the bytes were
//! cut, but for where a run of text is divided; an answer that breaks off is an error; dropping the stream drops the
//! connection.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::{Stream, StreamExt};
use reqwest::Response;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tokio::time::Sleep;

use super::http::Http;
use super::service::Fault;
use super::sse::{self, Parser, TooLarge};
use super::{EventStream, ProviderError, Service, StreamEvent};

/// How long a server that has finished its answer may keep the stream open.
const LINGER: Duration = Duration::from_secs(1);

/// How far a decoder has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// The answer goes on.
    Open,
    /// The model has stopped; token counts may follow.
    Stopped,
    /// Nothing of interest can follow.
    Complete,
}

/// Turns the events of one wire format into stream events.
pub(super) trait Decode: Send {
    /// Takes one event.
    fn event(&mut self, event: sse::Event<'_>, out: &mut Queue) -> Result<Progress, ProviderError>;

    /// Completes an answer that has stopped: called once, after the last event.
    fn finish(&mut self, out: &mut Queue);
}

/// Events that are ready. Neighbouring pieces of text are merged, so that a burst costs one event.
#[derive(Debug, Default)]
pub(super) struct Queue(VecDeque<StreamEvent>);

impl Queue {
    pub(super) fn text(&mut self, more: &str) {
        match self.0.back_mut() {
            _ if more.is_empty() => {}
            Some(StreamEvent::Text(text)) => text.push_str(more),
            _ => self.0.push_back(StreamEvent::Text(more.to_owned())),
        }
    }

    pub(super) fn thinking(&mut self, more: &str) {
        match self.0.back_mut() {
            _ if more.is_empty() => {}
            Some(StreamEvent::Thinking(text)) => text.push_str(more),
            _ => self.0.push_back(StreamEvent::Thinking(more.to_owned())),
        }
    }

    pub(super) fn input(&mut self, call: usize, more: &str) {
        match self.0.back_mut() {
            _ if more.is_empty() => {}
            Some(StreamEvent::ToolCallDelta { index, json }) if *index == call => json.push_str(more),
            _ => self.0.push_back(StreamEvent::ToolCallDelta { index: call, json: more.to_owned() }),
        }
    }

    pub(super) fn push(&mut self, event: StreamEvent) {
        self.0.push_back(event);
    }
}

/// A decoder without a connection: bytes in, events out.
pub struct Feed {
    parser: Parser,
    decode: Box<dyn Decode>,
    service: Service,
    queue: Queue,
    progress: Progress,
}

/// What can go wrong inside a push.
enum Fail {
    TooLarge,
    Provider(ProviderError),
}

impl From<TooLarge> for Fail {
    fn from(_: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl Feed {
    pub(super) fn new(service: Service, decode: Box<dyn Decode>) -> Self {
        Self { parser: Parser::default(), decode, service, queue: Queue::default(), progress: Progress::Open }
    }

    /// Takes the next bytes of the answer. Bytes after its end are passed over.
    ///
    /// # Errors
    /// Returns what the service reported in the stream, or a protocol error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        let Self { parser, decode, queue, progress, .. } = self;
        let result = parser.push(bytes, |event| step(decode.as_mut(), queue, progress, event));
        self.settle(result)
    }

    /// Ends the answer: the connection has closed.
    ///
    /// # Errors
    /// Returns a network error if the model had not stopped.
    pub fn end(&mut self) -> Result<(), ProviderError> {
        if self.progress == Progress::Complete {
            return Ok(());
        }
        let Self { parser, decode, queue, progress, .. } = self;
        let result = parser.finish(|event| step(decode.as_mut(), queue, progress, event));
        match self.settle(result) {
            // Half an event at the end is no broken server but a broken connection.
            Ok(()) | Err(ProviderError::Protocol { .. }) => {}
            Err(error) => return Err(error),
        }
        match self.progress {
            Progress::Open => Err(self.service.error(Fault::Network, "the answer ended early")),
            Progress::Stopped => {
                self.progress = Progress::Complete;
                self.decode.finish(&mut self.queue);
                Ok(())
            }
            Progress::Complete => Ok(()),
        }
    }

    /// Returns the next event that is ready.
    pub fn next_event(&mut self) -> Option<StreamEvent> {
        self.queue.0.pop_front()
    }

    fn settle(&self, result: Result<(), Fail>) -> Result<(), ProviderError> {
        result.map_err(|fail| match fail {
            Fail::TooLarge => self.service.error(Fault::Protocol, &TooLarge.to_string()),
            Fail::Provider(error) => error,
        })
    }
}

fn step(
    decode: &mut dyn Decode,
    queue: &mut Queue,
    progress: &mut Progress,
    event: sse::Event<'_>,
) -> Result<(), Fail> {
    if *progress == Progress::Complete {
        return Ok(());
    }
    let now = decode.event(event, queue).map_err(Fail::Provider)?;
    if now == Progress::Complete {
        decode.finish(queue);
    }
    // A late event, such as a token count, does not take a stop back.
    if now != Progress::Open {
        *progress = now;
    }
    Ok(())
}

/// Returns the events of an answer.
pub(super) fn events(http: Http, answer: Response, feed: Feed) -> EventStream {
    Box::pin(Answer { body: Some(Box::pin(answer.bytes_stream())), http, feed, linger: None, failure: None })
}

/// An answer under way.
struct Answer<S> {
    /// The connection; gone once the answer is over.
    body: Option<Pin<Box<S>>>,
    http: Http,
    feed: Feed,
    linger: Option<Pin<Box<Sleep>>>,
    /// What ended the answer; told after the events that came before it.
    failure: Option<ProviderError>,
}

impl<S, B> Answer<S>
where
    S: Stream<Item = Result<B, reqwest::Error>> + Send + 'static,
    B: AsRef<[u8]> + Send,
{
    /// Reads on until there is an event or the answer is over.
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while let Some(body) = &mut self.body {
            let chunk = match body.poll_next_unpin(context) {
                Poll::Ready(chunk) => chunk,
                Poll::Pending => {
                    ready!(self.poll_linger(context));
                    self.close(Ok(()));
                    return Poll::Ready(());
                }
            };
            match chunk {
                Some(Ok(bytes)) => {
                    let result = self.feed.push(bytes.as_ref());
                    if result.is_err() || self.feed.progress == Progress::Complete {
                        self.close(result);
                    }
                    return Poll::Ready(());
                }
                Some(Err(fault)) => {
                    let broken = self.http.broken(&fault);
                    self.close(if self.feed.progress == Progress::Open { Err(broken) } else { Ok(()) });
                }
                None => self.close(Ok(())),
            }
        }
        Poll::Ready(())
    }

    /// Waits for a stopped answer to close; forever for one that goes on.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.feed.progress != Progress::Stopped {
            return Poll::Pending;
        }
        let linger = self.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        linger.as_mut().poll(context)
    }

    fn close(&mut self, result: Result<(), ProviderError>) {
        let body = self.body.take();
        if self.feed.progress == Progress::Complete
            && let Some(mut body) = body
        {
            // Only a body that was read to its end leaves a connection that the next request can use.
            tokio::spawn(async move {
                let rest = async { while let Some(Ok(_)) = body.next().await {} };
                let _ = tokio::time::timeout(LINGER, rest).await;
            });
        }
        self.failure = result.and_then(|()| self.feed.end()).err();
    }
}

impl<S, B> Stream for Answer<S>
where
    S: Stream<Item = Result<B, reqwest::Error>> + Send + 'static,
    B: AsRef<[u8]> + Send,
{
    type Item = Result<StreamEvent, ProviderError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.feed.next_event() {
                return Poll::Ready(Some(Ok(event)));
            }
            if self.body.is_none() {
                return Poll::Ready(self.failure.take().map(Err));
            }
            ready!(self.poll_body(context));
        }
    }
}

/// A string of an answer, borrowed where the JSON has no escapes in it.
///
/// Lenient, because servers are: a number counts as its digits, a list of parts as their text, and null and everything
/// else as nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor).map(Text)
    }
}

struct TextVisitor;

/// One part of a text that is sent as a list.
#[derive(serde::Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Cow::Borrowed(""))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(""))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Part<'de>>()? {
            text.push_str(part.text.as_deref().unwrap_or_default());
        }
        Ok(Cow::Owned(text))
    }
}
