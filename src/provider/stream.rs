//! From a connection to the events of an answer, for every wire format.
//!
//! Owns the reading of a body and the end of a stream. Leaves what the bytes mean to [`Feed`]. Invariants: an answer that
//! breaks off is an error; dropping the stream drops the connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures::{Stream, StreamExt};
use reqwest::Response;
use tokio::time::Sleep;

use super::feed::StreamProgress;
use super::http::Http;
use super::{EventStream, Feed, ProviderError, StreamEvent};

/// How long a server that has finished its answer may keep the stream open.
const LINGER: Duration = Duration::from_secs(1);

/// Returns the events of an answer. On failure, returns what a document says that is no answer.
pub(super) async fn events(http: Http, answer: Response, mut feed: Feed) -> Result<EventStream, ProviderError> {
    let body = http.stream_of(answer, &mut feed).await?.map(|answer| Box::pin(answer.bytes_stream()));
    Ok(Box::pin(Answer { body, http, feed, linger: None, failure: None }))
}

/// Returns the events of an answer that came without a stream.
pub(super) fn of_events(mut feed: Feed) -> EventStream {
    let events: Vec<StreamEvent> = std::iter::from_fn(|| feed.next_event()).collect();
    futures::stream::iter(events).map(Ok).boxed()
}

struct Answer<S> {
    /// The connection; gone once the answer is over.
    body: Option<Pin<Box<S>>>,
    http: Http,
    feed: Feed,
    linger: Option<Pin<Box<Sleep>>>,
    /// What ended the answer; returned after the events that came before it.
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
                    if result.is_err() || self.feed.is_complete() {
                        self.close(result);
                    }
                    return Poll::Ready(());
                }
                Some(Err(error)) => {
                    let broken = self.feed.failed(self.http.broken(&error));
                    let is_open = self.feed.progress() == StreamProgress::Open;
                    self.close(if is_open { Err(broken) } else { Ok(()) });
                }
                None => self.close(Ok(())),
            }
        }
        Poll::Ready(())
    }

    /// Waits for a stopped answer to close; forever if it goes on.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.feed.progress() != StreamProgress::Stopped {
            return Poll::Pending;
        }
        let linger = self.linger.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        linger.as_mut().poll(context)
    }

    fn close(&mut self, result: Result<(), ProviderError>) {
        let body = self.body.take();
        if self.feed.is_complete()
            && !self.feed.was_cut_off()
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
