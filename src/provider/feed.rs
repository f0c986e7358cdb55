//! From the bytes of an answer to its events, without a connection, for every wire format.
//!
//! Owns the pipe from parser to decoder, the merging of small pieces, the size of a reply, and what a broken event means.
//! Leaves the meaning of one event to the [`Decode`] of each format. Invariants: the events do not depend on how the
//! bytes were cut, but for where a run of text is divided; an answer that breaks off is an error; whatever a server
//! sends, the events of one reply hold no more than [`ReplySize`] allows, and a reply that would grow past it ends as one
//! that was cut off.

use std::collections::VecDeque;

use super::{ErrorKind, ProviderError, Service, StopReason, StreamEvent};
use crate::network::sse::{self, EVENT_CAP, Parser, TooLarge};

/// Bytes of text, reasoning and tool input for each token that was asked for. A token is four bytes on average.
const BYTES_PER_TOKEN: usize = 16;
const SMALLEST_REPLY: usize = 1 << 20;
const LARGEST_REPLY: usize = 64 << 20;
/// Bytes of the stream, decompressed, for each byte of the reply: a token comes in an event of some hundred bytes.
const WIRE_FACTOR: usize = 32;
/// What a part of a reply, such as a tool call, takes of its size besides its text.
const PART_COST: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplySize {
    /// Bytes of text, reasoning and tool input, each part counting as 256 more.
    pub content: usize,
    /// Bytes of the stream that are read, after decompression.
    pub wire: usize,
}

impl ReplySize {
    /// Returns the size of a reply for which so many tokens were asked.
    #[must_use]
    pub fn of_tokens(max_output_tokens: u32) -> Self {
        let asked = usize::try_from(max_output_tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
        let content = asked.clamp(SMALLEST_REPLY, LARGEST_REPLY);
        Self { content, wire: content * WIRE_FACTOR }
    }
}

/// How far a decoder has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamProgress {
    Open,
    /// The model has stopped; token counts may follow.
    Stopped,
    /// Nothing of interest can follow.
    Complete,
}

/// Turns the events of one wire format into stream events.
pub(super) trait Decode: Send {
    /// Reads the data of one event, which is not blank.
    fn event(&mut self, data: &str, out: &mut Queue) -> Result<StreamProgress, ProviderError>;

    /// Completes an answer that has stopped: called once, after the last event.
    fn finish(&mut self, out: &mut Queue);

    /// Takes a reply that the service has refused as the model wrote it. Returns `false` if it is none to go on with.
    fn take_refused(&mut self, _reply: &str, _out: &mut Queue) -> bool {
        false
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    Text,
    Thinking,
    Input(usize),
}

/// Events that are ready. Neighbouring pieces of text are merged, so that a burst costs one event; what would make the
/// reply too large is left out.
#[derive(Debug)]
pub(super) struct Queue {
    events: VecDeque<StreamEvent>,
    /// What the reply may still take.
    room: usize,
    is_full: bool,
    run: Option<Run>,
}

impl Queue {
    fn new(room: usize) -> Self {
        Self { events: VecDeque::new(), room, is_full: false, run: None }
    }

    pub(super) fn text(&mut self, more: &str) {
        let more = self.admit(Run::Text, more);
        match self.events.back_mut() {
            _ if more.is_empty() => {}
            Some(StreamEvent::Text(text)) => text.push_str(more),
            _ => self.events.push_back(StreamEvent::Text(more.to_owned())),
        }
    }

    pub(super) fn thinking(&mut self, more: &str) {
        let more = self.admit(Run::Thinking, more);
        match self.events.back_mut() {
            _ if more.is_empty() => {}
            Some(StreamEvent::Thinking(text)) => text.push_str(more),
            _ => self.events.push_back(StreamEvent::Thinking(more.to_owned())),
        }
    }

    pub(super) fn input(&mut self, call: usize, more: &str) {
        let more = self.admit(Run::Input(call), more);
        match self.events.back_mut() {
            _ if more.is_empty() => {}
            Some(StreamEvent::ToolCallDelta { index, json }) if *index == call => json.push_str(more),
            _ => self.events.push_back(StreamEvent::ToolCallDelta { index: call, json: more.to_owned() }),
        }
    }

    /// Adds an event that is no piece of a text.
    pub(super) fn push(&mut self, event: StreamEvent) {
        let fits = match &event {
            StreamEvent::ToolCallStart { id, name, .. } => self.charge_part(id.len() + name.len()),
            StreamEvent::RedactedThinking(data) => self.charge_part(data.len()),
            StreamEvent::Served(step) => self.charge_part(step.size()),
            _ => true,
        };
        if fits {
            self.events.push_back(event);
        }
    }

    /// Takes room for a part that is kept until it is complete, or returns `false` if there is none left.
    pub(super) fn charge_part(&mut self, bytes: usize) -> bool {
        self.run = None;
        self.charge(bytes.saturating_add(PART_COST))
    }

    /// Takes room for more of such a part, or returns `false` if there is none left.
    pub(super) fn charge(&mut self, bytes: usize) -> bool {
        let left = self.room.checked_sub(bytes);
        self.is_full |= left.is_none();
        self.room = left.unwrap_or(0);
        left.is_some()
    }

    /// Returns as much of a piece as there is room for.
    fn admit<'a>(&mut self, run: Run, more: &'a str) -> &'a str {
        if more.is_empty() || (self.run != Some(run) && !self.charge_part(0)) {
            return "";
        }
        self.run = Some(run);
        let end = more.floor_char_boundary(self.room);
        self.is_full |= end < more.len();
        self.room = if self.is_full { 0 } else { self.room - end };
        &more[..end]
    }
}

/// A decoder without a connection: bytes in, events out.
pub struct Feed {
    parser: Parser,
    reader: Reader,
    /// Bytes of the stream that may still be read.
    wire_room: usize,
}

struct Reader {
    decode: Box<dyn Decode>,
    service: Service,
    queue: Queue,
    progress: StreamProgress,
    /// Whether an event of the format was read.
    has_begun: bool,
}

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
        let size = ReplySize::of_tokens(0);
        let (queue, progress) = (Queue::new(size.content), StreamProgress::Open);
        let reader = Reader { decode, service, queue, progress, has_begun: false };
        Self { parser: Parser::default(), reader, wire_room: size.wire }
    }

    /// Bounds the reply; without it the smallest bound holds. To be called before the first bytes.
    #[must_use]
    pub fn bounded(mut self, size: ReplySize) -> Self {
        self.reader.queue = Queue::new(size.content);
        self.wire_room = size.wire;
        self
    }

    /// Takes the next bytes of the answer. Bytes after its end are passed over. On failure, returns what the service
    /// reported in the stream, or a protocol error.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        if self.is_complete() {
            return Ok(());
        }
        let Self { parser, reader, wire_room } = self;
        let within = &bytes[..bytes.len().min(*wire_room)];
        *wire_room -= within.len();
        let result = parser.push(within, |event| reader.take(event));
        if let Err(error) = reader.settle(result) {
            return reader.salvage(error);
        }
        if within.len() < bytes.len() {
            reader.cut_off();
        }
        Ok(())
    }

    /// Takes a whole answer that came as one document, from a server that does not stream. On failure, returns what the
    /// service reported, or a protocol error if the document is no answer.
    pub fn document(&mut self, json: &[u8]) -> Result<(), ProviderError> {
        let reader = &mut self.reader;
        if json.len() > EVENT_CAP {
            return reader.settle(Err(Fail::TooLarge));
        }
        let result = reader.take(sse::SseEvent { name: "", data: &String::from_utf8_lossy(json) });
        if let Err(error) = reader.settle(result) {
            return reader.salvage(error);
        }
        match reader.progress {
            StreamProgress::Open => {
                Err(reader.service.error(ErrorKind::Protocol, "a document that is not a model response"))
            }
            StreamProgress::Stopped | StreamProgress::Complete => self.end(),
        }
    }

    /// Takes a refusal in the place of the answer. Returns it if there is no reply of the model in it.
    pub(super) fn refused(&mut self, error: ProviderError) -> Result<(), ProviderError> {
        self.reader.salvage(error)
    }

    /// Ends the answer: the connection has closed. Returns a transient error if the model had not stopped.
    pub fn end(&mut self) -> Result<(), ProviderError> {
        if self.is_complete() {
            return Ok(());
        }
        let Self { parser, reader, .. } = self;
        let result = parser.finish(|event| reader.take(event));
        // Half an event at the end is no broken server but a broken connection.
        if let Err(error) = reader.settle(result)
            && !matches!(error.kind, ErrorKind::Protocol | ErrorKind::Interrupted)
        {
            return Err(error);
        }
        match reader.progress {
            StreamProgress::Open => Err(reader.service.error(ErrorKind::Interrupted, "the response ended early")),
            StreamProgress::Stopped | StreamProgress::Complete => {
                reader.complete();
                Ok(())
            }
        }
    }

    pub fn next_event(&mut self) -> Option<StreamEvent> {
        self.reader.queue.events.pop_front()
    }

    /// Returns `true` once nothing of interest can follow.
    pub fn is_complete(&self) -> bool {
        self.reader.progress == StreamProgress::Complete
    }

    pub(super) fn progress(&self) -> StreamProgress {
        self.reader.progress
    }

    /// Returns `true` if the reply was ended here because it grew too large: the server may go on for ever.
    pub(super) fn was_cut_off(&self) -> bool {
        self.is_complete() && (self.reader.queue.is_full || self.wire_room == 0)
    }

    /// Returns the error of a connection that failed, which has another meaning in the middle of an answer.
    pub(super) fn failed(&self, error: ProviderError) -> ProviderError {
        if self.reader.has_begun { error.in_mid_answer() } else { error }
    }
}

impl Reader {
    fn take(&mut self, event: sse::SseEvent<'_>) -> Result<(), Fail> {
        let (data, is_error) = (event.data.trim(), event.name == "error");
        if self.progress == StreamProgress::Complete || data.is_empty() || (!is_error && is_chatter(data)) {
            return Ok(());
        }
        if is_error && data != "[DONE]" {
            return Err(Fail::Provider(self.service.stream_error(data)));
        }
        let now = self.decode.event(data, &mut self.queue).map_err(|error| Fail::Provider(self.damaged(error)))?;
        self.has_begun = true;
        if now == StreamProgress::Complete {
            self.complete();
        } else if self.queue.is_full {
            self.cut_off();
        } else if now == StreamProgress::Stopped {
            // A late event, such as a token count, does not take a stop back.
            self.progress = now;
        }
        Ok(())
    }

    /// Returns the error of an event that cannot be read. A server that has spoken its API so far does not change it: the
    /// bytes were damaged on the way.
    fn damaged(&self, error: ProviderError) -> ProviderError {
        if self.has_begun && error.kind == ErrorKind::Protocol { error.in_mid_answer() } else { error }
    }

    /// Ends the answer as if it had reached the cap on output.
    fn cut_off(&mut self) {
        if self.progress == StreamProgress::Open {
            self.queue.is_full = true;
        }
        self.complete();
    }

    /// Goes on with what the model wrote, where the service has refused that.
    fn salvage(&mut self, error: ProviderError) -> Result<(), ProviderError> {
        match &error.refused_reply {
            Some(reply) if self.decode.take_refused(reply, &mut self.queue) => {
                self.complete();
                Ok(())
            }
            _ => Err(error),
        }
    }

    fn complete(&mut self) {
        if self.progress == StreamProgress::Complete {
            return;
        }
        self.progress = StreamProgress::Complete;
        self.decode.finish(&mut self.queue);
        if self.queue.is_full
            && let Some(StreamEvent::Stop(reason)) = self.queue.events.back_mut()
        {
            *reason = StopReason::MaxTokens;
        }
    }

    fn settle(&self, result: Result<(), Fail>) -> Result<(), ProviderError> {
        result.map_err(|fail| match fail {
            Fail::TooLarge => self.damaged(self.service.error(ErrorKind::Protocol, &TooLarge.to_string())),
            Fail::Provider(error) => error,
        })
    }
}

/// Returns `true` for words that some gateways send to keep a connection open. What holds a bracket may be a broken event.
fn is_chatter(data: &str) -> bool {
    !data.contains(['{', '}', '[', ']', '<', '"'])
}
