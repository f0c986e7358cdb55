//! Making room in the context before a request is sent: old results are left out, then a model writes a summary.
//!
//! Owns the request for a summary, and what follows from its failure. Leaves what is left out to `context`. Invariants:
//! the conversation changes only together with the event that says so; whatever goes wrong, or is stopped, it is as it was;
//! a request that fits is sent, with a summary or without.

use std::sync::Arc;

use super::{Driver, End, call_ids};
use crate::agent::aside::ask_aside;
use crate::agent::budget::{Reserved, estimator};
use crate::agent::context::summary::{self, Division, PROMPT};
use crate::agent::context::{ContextRoom, parts, trim};
use crate::agent::stream::ModelReply;
use crate::agent::text_calls::is_call;
use crate::agent::turn::Turn;
use crate::agent::{Agent, Cancel};
use crate::agent::{ContextEvent, EventKind};
use crate::message::format::grouped;
use crate::message::{Effort, Message, Transcript, Usage, tagged};
use crate::provider::{ErrorKind, Model, Request, StopReason};

/// Longest summary, in tokens, and the least that a model gets for one.
const SUMMARY_TOKENS: u64 = 8_192;
const LEAST_SUMMARY: u64 = 1_000;
/// How often a request for a summary is sent again, each time with half of the conversation, after it was too long.
const HALVINGS: u32 = 3;

/// What a run knows of its context.
#[derive(Debug, Default)]
pub(super) struct RoomState {
    /// The room, once the service has refused a request that should have fit.
    learned: Option<ContextRoom>,
    /// The size up to which no summary is asked for, because one has failed.
    until: u64,
    /// Whether the present request was already shortened after the service found it too long.
    pub(super) is_second: bool,
    /// The largest request that was answered, in tokens.
    fitted: u64,
    /// Whether a refusal that did not say why was once taken for one of the length.
    was_guessed: bool,
}

/// Tokens of the smallest request that may be too long for a model of which nothing is known.
const LEAST_LONG: u64 = 6_000;

impl RoomState {
    /// Notes that a request of this size was answered.
    pub(super) fn note_answered(&mut self, size: u64) {
        self.fitted = self.fitted.max(size);
    }
}

/// Least size of a request, in tokens, by which it is told whether a server reads all of it, and the least that it reads
/// for a conversation to be kept within that.
const LEAST_ASKED: u64 = 3_000;
const LEAST_CUT: u64 = 8_000;
/// Sizes of contexts are whole numbers of these.
const WINDOW_STEP: u64 = 1_024;

/// Returns `true` if a server that counts so many tokens in a request has not read all of it. A measure is large for most
/// text, so that a smaller count alone says nothing; one that is just the size of a context does.
fn was_cut(asked: u64, read: u64) -> bool {
    let is_far_below = read.saturating_mul(5) < asked.saturating_mul(2);
    let is_full = read.is_multiple_of(WINDOW_STEP) && read.saturating_mul(10) < asked.saturating_mul(9);
    asked >= LEAST_ASKED && read >= WINDOW_STEP && (is_far_below || is_full)
}

/// Why a conversation is made shorter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause<'a> {
    /// It nears the end of the context.
    Near,
    /// The service found it too long.
    TooLong,
    /// The user wants it, and perhaps something kept.
    Asked(Option<&'a str>),
}

impl Driver<'_> {
    /// Shortens the conversation if the request nears the end of the context, and says what fills it.
    pub(super) async fn make_room(&mut self, request: &mut Request, stop: &Cancel) -> Result<(), End> {
        let room = self.room.learned.or_else(|| ContextRoom::of(self.agent));
        let size = self.reservation.measure(request);
        if let Some((room, high)) = room.and_then(|room| Some((room, room.high()?)))
            && size > high
        {
            Box::pin(self.shorten(request, room, Cause::Near, stop)).await?;
        }
        self.emit_filled(request).await;
        Ok(())
    }

    /// Says it if the server has read less of the request than it was sent, and keeps later ones within what it reads.
    pub(super) async fn notice_cut(&mut self, usage: &Usage) {
        let (asked, read) = (self.reservation.asked(), usage.context());
        // What pictures come to is measured far too large for small models.
        let has_pictures =
            || self.transcript.messages().iter().any(|message| !super::request::named(message).is_empty());
        if usage.estimated || !was_cut(asked, read) || !self.agent.provider.is_own_server() || has_pictures() {
            return;
        }
        let known = self.room.learned.or_else(|| ContextRoom::of(self.agent));
        if read >= LEAST_CUT {
            self.room.learned = Some(ContextRoom::learned(known, read, self.agent));
        }
        if let Some((place, advice)) = self.agent.provider.advise_on_cut() {
            let (read, asked) = (grouped(read), grouped(asked));
            let text = format!(
                "{place} read {read} of about {asked} tokens: it cuts long prompts, often the instructions first. {advice}"
            );
            self.run.notify_user(text).await;
        }
    }

    /// Shortens the conversation after the service found the request too long. Returns `false` if there is nothing to
    /// leave out.
    pub(super) async fn make_more_room(&mut self, request: &mut Request, stop: &Cancel) -> Result<bool, End> {
        let size = self.reservation.measure(request);
        let known = self.room.learned.or_else(|| ContextRoom::of(self.agent));
        let room = ContextRoom::learned(known, size, self.agent);
        (self.room.learned, self.room.is_second) = (Some(room), true);
        let before = request.messages.clone();
        Box::pin(self.shorten(request, room, Cause::TooLong, stop)).await?;
        let is_same = before.len() == request.messages.len()
            && before.iter().zip(&request.messages).all(|(one, other)| Arc::ptr_eq(one, other));
        self.emit_filled(request).await;
        Ok(!is_same)
    }

    /// Returns `true` if a request that was refused in words that nobody knows may have been too long: it is larger than
    /// all that were answered, and large beside them or beside the window. This is tried once.
    pub(super) fn may_be_too_long(&mut self, request: &Request) -> bool {
        let size = self.reservation.measure(request);
        let known = [self.room.fitted, self.transcript.counted().map_or(0, |counted| counted.tokens)];
        let beside = ContextRoom::window(self.agent).or_else(|| known.into_iter().max()).unwrap_or_default();
        let is_long =
            size >= LEAST_LONG && size > self.room.fitted && size.saturating_mul(10) > beside.saturating_mul(6);
        is_long && !std::mem::replace(&mut self.room.was_guessed, true)
    }

    /// Puts a summary in the place of the whole conversation, as the user wants.
    pub(super) async fn compact_all(&mut self, wish: Option<&str>) -> End {
        let mut request = self.request(&self.agent.tools).await;
        let room = ContextRoom::of(self.agent).unwrap_or(ContextRoom::assumed(&self.agent.model));
        if !self.transcript.messages().iter().any(|message| matches!(**message, Message::Assistant(_))) {
            self.run.emit(EventKind::Notice { text: "Nothing to compact yet.".to_owned() }).await;
            return End::Compacted;
        }
        match Box::pin(self.shorten(&mut request, room, Cause::Asked(wish), &self.agent.cancel)).await {
            Ok(()) => {
                self.emit_filled(&request).await;
                End::Compacted
            }
            Err(end) => end,
        }
    }

    async fn emit_filled(&self, request: &Request) {
        let tokens = self.reservation.measure(request);
        let filled = parts::measure(request, tokens, ContextRoom::window(self.agent));
        self.run.emit(ContextEvent::Measured { filled }).await;
    }

    /// Leaves old results out; where that is not enough, or not what is asked for, puts a summary in the place of what is
    /// old.
    async fn shorten(
        &mut self,
        request: &mut Request,
        room: ContextRoom,
        cause: Cause<'_>,
        stop: &Cancel,
    ) -> Result<(), End> {
        let scale = Scale { tokens: self.reservation.measure(request), bytes: estimator::by_bytes(request).max(1) };
        let before = scale.tokens;
        let (calls, freed) = trim::old_results(&request.messages, scale.by_bytes(before.saturating_sub(room.low())));
        let trimmed = before.saturating_sub(scale.tokens(freed));
        let trimming = ContextEvent::Trimmed { calls, keep_chars: 0, before, after: trimmed };
        if freed > 0 && trimmed <= room.enough() && !matches!(cause, Cause::Asked(_)) {
            self.change(request, trimming).await;
            return Ok(());
        }
        let plan = Plan::new(request, room, cause, &scale);
        let old = &request.messages[..plan.division.old];
        let size: u64 = old.iter().map(|message| estimator::message(message)).sum();
        let fits = |size: u64| size <= room.room;
        let is_due = match cause {
            Cause::Near => scale.tokens(size) >= room.worthwhile() && (before > self.room.until || !fits(before)),
            Cause::TooLong | Cause::Asked(_) => !old.is_empty(),
        };
        let mut failure = None;
        if is_due {
            let written = match self.before_compacting(cause).await {
                Some(why) => Written::Nothing(format!("blocked by hook: {why}.")),
                None => self.summary(old, &plan, before, stop).await,
            };
            match written {
                Written::Summary { text, usage, cost_usd } => {
                    self.replace(request, &plan, &text, (usage, cost_usd), &scale).await;
                    self.after_compacting(cause, &text).await;
                    request.messages = self.transcript.messages().to_vec();
                    return Ok(());
                }
                Written::Nothing(why) => failure = Some(why),
                Written::Stopped => return Err(End::Stopped),
            }
            self.room.until = before + room.worthwhile();
        }
        match failure {
            Some(why) if matches!(cause, Cause::Asked(_)) => Err(End::Failed(format!("Not compacted: {why}"))),
            _ if cause == Cause::Near && fits(before) => Ok(()),
            Some(why) if freed == 0 || !fits(trimmed) => {
                let advice = super::shorter(self.agent);
                Err(End::Failed(format!("The conversation no longer fits and could not be compacted: {why} {advice}")))
            }
            _ if freed > 0 && !matches!(cause, Cause::Asked(_)) => {
                self.change(request, trimming).await;
                Ok(())
            }
            // There was nothing to leave out: the service decides.
            _ => Ok(()),
        }
    }

    /// Asks a model for a summary of the older part.
    async fn summary(&mut self, old: &[Arc<Message>], plan: &Plan<'_>, before: u64, stop: &Cancel) -> Written {
        let (provider, model) = match &self.agent.summarizer {
            Some(Ok(other)) => other.clone(),
            Some(Err(why)) => {
                let text = format!("{why} {} summarizes instead.", self.agent.model.display);
                self.run.emit(EventKind::Notice { text }).await;
                (self.agent.provider.clone(), self.agent.model.clone())
            }
            None => (self.agent.provider.clone(), self.agent.model.clone()),
        };
        self.run.emit(ContextEvent::Compacting { before, model: model.display.clone() }).await;
        let is_own = Arc::ptr_eq(&model, &self.agent.model);
        let room = if is_own { plan.room } else { ContextRoom::assumed(&model).room };
        let mut bytes = plan.record_bytes(room);
        let mut usage = Usage::default();
        let mut halvings = 0;
        let failure = loop {
            let request = plan.request(old, bytes, &model);
            let (reply, used) = ask_aside(self.run, request, (&*provider, &model), stop).await;
            usage += used;
            match reply {
                Ok(ModelReply::Whole(turn)) => match text_of(&turn, self.agent) {
                    Ok(text) => {
                        let cost_usd = self.count_aside(usage, &model);
                        return Written::Summary { text, usage, cost_usd };
                    }
                    Err(why) => break Some(why),
                },
                Ok(ModelReply::Failed(error, _)) if error.kind == ErrorKind::ContextTooLong && halvings < HALVINGS => {
                    halvings += 1;
                    bytes /= 2;
                }
                Ok(ModelReply::Failed(error, _)) => break Some(error.to_string()),
                Ok(ModelReply::Cut(_)) | Err(Reserved::Stopped) => break None,
                Ok(ModelReply::Spent(_)) | Err(_) => break Some("Too little of the budget is left.".to_owned()),
            }
        };
        let cost_usd = self.count_aside(usage, &model);
        let reason = failure.clone().unwrap_or_else(|| "Stopped.".to_owned());
        self.run.emit(ContextEvent::NotCompacted { reason, usage, cost_usd }).await;
        failure.map_or(Written::Stopped, Written::Nothing)
    }

    /// Counts what a summary took as part of the run, and returns its cost.
    pub(super) fn count_aside(&mut self, usage: Usage, model: &Model) -> Option<f64> {
        let cost_usd = model.price.map(|price| price.cost(&usage));
        self.add_used(usage, cost_usd);
        cost_usd
    }

    /// Puts a summary in the place of the older part.
    async fn replace(
        &mut self,
        request: &mut Request,
        plan: &Plan<'_>,
        text: &str,
        (usage, cost_usd): (Usage, Option<f64>),
        scale: &Scale,
    ) {
        let before = scale.tokens;
        let around = estimator::around(request);
        let sized = |transcript: &Transcript| {
            let messages = transcript.messages().iter().map(|message| estimator::message(message));
            scale.tokens(around + messages.sum::<u64>())
        };
        let mut next = self.transcript.clone();
        if let Some((calls, keep_chars)) = plan.division.cut.clone() {
            trim::trim(&mut next, &calls, keep_chars);
            let after = sized(&next);
            self.change(request, ContextEvent::Trimmed { calls, keep_chars, before, after }).await;
        }
        let old = &request.messages[..plan.division.old];
        let kept = request.messages.len() - old.len();
        let message = summary::message(text, old, kept == 0 && !plan.is_asked, plan.quoted_chars);
        next.compact(message.clone(), kept);
        let after = sized(&next);
        self.ids = call_ids(&next);
        self.change(request, ContextEvent::Compacted { message, kept, before, after, usage, cost_usd }).await;
        self.agent.memory.forget_news();
    }

    /// Changes the conversation as an event says, emits the event, and brings the request up to date.
    async fn change(&mut self, request: &mut Request, event: ContextEvent) {
        event.apply(&mut self.transcript);
        self.reservation.recount(&self.transcript);
        // What the model no longer sees it may find out again.
        self.repetition.forget();
        request.messages = self.transcript.messages().to_vec();
        self.run.emit(event).await;
    }
}

/// Between what the service counts and what bytes tell of the same request.
struct Scale {
    tokens: u64,
    bytes: u64,
}

impl Scale {
    /// Returns the tokens of what the bytes tell.
    fn tokens(&self, by_bytes: u64) -> u64 {
        by_bytes.saturating_mul(self.tokens).div_ceil(self.bytes)
    }

    /// Returns what the bytes tell of so many tokens.
    fn by_bytes(&self, tokens: u64) -> u64 {
        tokens.saturating_mul(self.bytes) / self.tokens.max(1)
    }
}

/// How a conversation becomes a summary and its end.
struct Plan<'a> {
    division: Division,
    wish: Option<&'a str>,
    is_asked: bool,
    room: u64,
    /// Longest summary, in tokens.
    summary_tokens: u64,
    /// Characters of each message that stays word for word.
    quoted_chars: usize,
    /// Tokens that the service counts for 100 of what the bytes tell, at least as many.
    density: u64,
}

impl<'a> Plan<'a> {
    fn new(request: &Request, room: ContextRoom, cause: Cause<'a>, scale: &Scale) -> Self {
        let summary_tokens = (room.room / 8).clamp(LEAST_SUMMARY, SUMMARY_TOKENS);
        let quoted = room.room / 16;
        // What has to fit whatever is kept; a summary may be somewhat longer than the service's count of it.
        let fixed = scale.tokens(estimator::around(request)) + summary_tokens * 3 / 2 + 2 * quoted;
        let tail = room.tail().min(room.room.saturating_sub(fixed));
        let (wish, is_asked) = match cause {
            Cause::Asked(wish) => (wish, true),
            Cause::Near | Cause::TooLong => (None, false),
        };
        let division = summary::divide(&request.messages, if is_asked { None } else { Some(scale.by_bytes(tail)) });
        Self {
            division,
            wish,
            is_asked,
            room: room.room,
            summary_tokens,
            quoted_chars: usize::try_from(scale.by_bytes(quoted)).unwrap_or(usize::MAX),
            density: (scale.tokens * 100 / scale.bytes).max(100),
        }
    }

    /// Returns how many bytes of the conversation a model with this room gets to summarize.
    fn record_bytes(&self, room: u64) -> usize {
        let room = room.saturating_sub(estimator::text(PROMPT)) * 4 / 5;
        usize::try_from(room * estimator::BYTES * 100 / self.density).unwrap_or(usize::MAX)
    }

    fn request(&self, old: &[Arc<Message>], bytes: usize, model: &Model) -> Request {
        Request {
            model: model.id.clone(),
            system: PROMPT.into(),
            messages: vec![Arc::new(Message::user(summary::request(old, bytes, self.wish)))],
            tools: Arc::default(),
            withheld: Arc::default(),
            max_output_tokens: u32::try_from(self.summary_tokens).unwrap_or(u32::MAX).min(model.max_output_tokens),
            effort: model.effort(Effort::Low),
            thinking_tokens: None,
            attachments: Arc::default(),
            waits_long: false,
            search: None,
        }
    }
}

/// What came of asking for a summary.
enum Written {
    Summary {
        text: String,
        usage: Usage,
        cost_usd: Option<f64>,
    },
    /// Why, in a sentence.
    Nothing(String),
    Stopped,
}

/// Returns the summary that a reply holds, or why it holds none.
fn text_of(turn: &Turn, agent: &Agent) -> Result<String, String> {
    let text = turn.message.text();
    let text = tagged(&text, "summary").unwrap_or(&text).trim();
    match turn.stop {
        Some(StopReason::Refusal) => Err("The model declined to write a summary.".to_owned()),
        _ if is_call(text, agent) => Err("The model wrote a tool call in place of a summary.".to_owned()),
        _ if text.is_empty() => Err("The model wrote no summary.".to_owned()),
        _ => Ok(text.to_owned()),
    }
}
