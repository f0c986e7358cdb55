//! Each fault by itself: what comes of an answer that breaks once, and of one that breaks each time.

use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{EventKind, LastWords, Outcome, Status, ToolEvent, TurnEvent};
use belvedere::message::AgentId;
use belvedere::permission::PermissionMode;

use super::Remote;
use super::clock::Work;
use super::fault::Fault;
use super::server::{Choose, MARKS, Server};
use crate::support::{Api, Parts, Session};

/// What the main agent says before its call.
const SAID: &str = "First I look for größere Dinge.";

/// What comes of an answer that breaks once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The run goes on as if nothing had been.
    None,
    /// It is asked for again, which is shown with these words.
    Again(&'static str),
    /// The model hears what was wrong with its call, and goes on.
    Mended,
    /// The run ends, with these words.
    Ends(&'static str),
}

use Effect::{Again, Ends, Mended};
use Fault::Status as Code;

/// Each fault, what it does if it strikes once, and the end of a run whose every answer has it.
pub(super) const TABLE: &[(Fault, Effect, &str)] = &[
    (Fault::HangUp, Again("hung up"), "Gave up after 6 attempts: try again later. Check the network"),
    (Fault::ResetAtOnce, Again("reset"), "Gave up after 6 attempts: try again later. Check the network"),
    (Fault::SilentHead, Ends("Ask again"), "Ask again"),
    (Fault::BadStatusLine, Ends("Start the base URL with https://"), "Start the base URL with https://"),
    (Code(400), Ends("refused the request (not this time)"), "refused the request (not this time)"),
    (Code(401), Ends("_API_KEY"), "_API_KEY"),
    (Code(403), Ends("_API_KEY"), "_API_KEY"),
    (Code(404), Ends("Check --model and the base URL."), "Check --model and the base URL."),
    // The conversation is shortened first.
    (Code(413), Effect::None, "Start a new one with /clear"),
    (Code(429), Again("Rate limited"), "attempts: try again later, or use another model."),
    (Fault::RateLimited, Again("Rate limited"), "attempts: try again later, or use another model."),
    (Code(500), Again("HTTP 500"), "Gave up after 3 attempts: try again later, or use another model. Check the log"),
    (Code(503), Again("is overloaded"), "Gave up after 6 attempts: try again later, or use another model."),
    (Code(529), Again("is overloaded"), "Gave up after 6 attempts: try again later, or use another model."),
    (Fault::WebPage, Ends("Check that the base URL is"), "Check that the base URL is"),
    (Fault::WebPageAsStream, Again("ended early"), "Gave up after 6 attempts: check the network"),
    (Fault::OtherDocument, Ends("Check that the base URL is"), "Check that the base URL is"),
    (Fault::Empty, Again("ended early"), "Gave up after 6 attempts: check the network"),
    (Fault::Redirect, Ends("redirects to http://127.0.0.2:9/login"), "Check --model and the base URL."),
    (Fault::GzipGarbage, Again("gzip"), "Gave up after 6 attempts: try again later. Check the network"),
    (Fault::Close, Again("ended early"), "Gave up after 6 attempts: check the network"),
    (Fault::Reset, Again("reset"), "Gave up after 6 attempts: check the network"),
    (Fault::CutChunk, Again("connection lost"), "Gave up after 6 attempts: check the network"),
    (Fault::ShortBody, Again("connection lost"), "Gave up after 6 attempts: check the network"),
    (Fault::HalfCharacter, Again("ended early"), "Gave up after 6 attempts: check the network"),
    (Fault::HalfEvent, Again("unreadable"), "Gave up after 6 attempts: check the network"),
    (Fault::Silent, Ends("Ask again"), "Ask again"),
    (Fault::OnlyPings, Ends("Ask again"), "Ask again"),
    (Fault::SaysOverloaded, Again("is overloaded"), "Gave up after 6 attempts: try again later, or use another model."),
    (Fault::SaysInternal, Again("server error"), "Gave up after 3 attempts: try again later, or use another model."),
    (Fault::SaysBadRequest, Ends("refused the request (not this time)"), "refused the request (not this time)"),
    (Fault::NoStop, Again("ended early"), "Gave up after 6 attempts: check the network"),
    (Fault::Twice, Effect::None, ""),
    (Fault::SameCallTwice, Effect::None, ""),
    (Fault::Unknown, Effect::None, ""),
    (Fault::BadBytes, Effect::None, ""),
    (Fault::ByteByByte, Effect::None, ""),
    (Fault::ResetAfterStop, Effect::None, ""),
    (Fault::GarbageAfterStop, Effect::None, ""),
    (Fault::BrokenInput, Mended, ""),
    (Fault::UnknownTool, Mended, ""),
    (Fault::OutputLimit, Mended, "Ask for less at once."),
    (Fault::EndlessLine, Again("larger than 16 MiB"), "Gave up after 6 attempts: check the network"),
    (Fault::EndlessText, Effect::None, "Ask for less at once."),
    (Fault::EndlessInput, Mended, "Ask for less at once."),
];

/// The most requests that a run sends whose every answer is broken.
const MOST_REQUESTS: usize = 30;

/// What has happened.
struct Run {
    outcome: Outcome,
    /// Of the main agent, in order.
    events: Vec<EventKind>,
    server: Server,
    /// Lines that its calls have written.
    marks: Vec<usize>,
}

impl Run {
    async fn of(api: Api, choose: Choose) -> Self {
        let work = Arc::<Work>::default();
        let _clock = work.drive_clock();
        let server = Server::start(api, 1, work.clone(), choose).await;
        let mut parts = Parts::new(Remote::connect(api, &server.base));
        parts.mode = PermissionMode::BypassPermissions;
        parts.main_limits.idle_timeout = Some(Duration::from_mins(1));
        parts.listeners = vec![work.listener()];
        let mut session = Session::start(parts);
        let outcome = session.ask("go").await;
        let marks = marks(&session.root());
        let log = session.quit().await;
        let events = log.iter().filter(|event| event.agent == AgentId::MAIN).map(|event| event.kind.clone()).collect();
        Self { outcome, events, server, marks }
    }

    fn retries(&self) -> Vec<&str> {
        let reasons = self.events.iter().filter_map(|event| match event {
            EventKind::Turn(TurnEvent::Retrying { reason, .. }) => Some(reason.as_str()),
            _ => None,
        });
        reasons.collect()
    }

    /// Returns the texts of its turns.
    fn said(&self) -> Vec<String> {
        let turns = self.events.iter().filter_map(|event| match event {
            EventKind::Turn(TurnEvent::Ended { message, .. }) => Some(message.text()),
            _ => None,
        });
        turns.collect()
    }

    fn tool_errors(&self) -> usize {
        let is_error =
            |event: &&EventKind| matches!(event, EventKind::Tool(ToolEvent::Ended { result, .. }) if result.is_error);
        self.events.iter().filter(is_error).count()
    }

    /// Checks that the run ended with these words, and that what had been said is kept and marked as cut.
    fn ended_with(&self, words: &str, fault: Fault, what: &str) {
        let Outcome { status, reason, text, words: last, .. } = &self.outcome;
        let reason = reason.as_deref().unwrap_or_default();
        assert!(matches!(status, Status::Failed | Status::TimedOut) && reason.contains(words), "{what}: {reason}");
        assert_eq!(*last, LastWords::Partial, "{what}");
        if fault.comes_after_words() {
            let stop = self.events.iter().rev().find_map(|event| match event {
                EventKind::Turn(TurnEvent::Ended { stop, .. }) => Some(stop),
                _ => None,
            });
            assert_eq!((text.as_str(), stop), (SAID, Some(&None)), "{what}");
        }
    }

    /// What holds whatever went wrong.
    fn check(&self, what: &str) {
        let ended = self.events.iter().position(|event| matches!(event, EventKind::Ended { .. }));
        assert_eq!(ended, Some(self.events.len() - 1), "{what}: one end, and nothing after it: {:#?}", self.events);
        let count = |pick: fn(&EventKind) -> bool| self.events.iter().filter(|event| pick(event)).count();
        let started = count(|event| matches!(event, EventKind::Tool(ToolEvent::Started { .. })));
        let finished = count(|event| matches!(event, EventKind::Tool(ToolEvent::Ended { .. })));
        assert_eq!(started, finished, "{what}");
        let truth = self.server.truth();
        let delivered: Vec<usize> = truth.calls.iter().filter(|(_, whole)| **whole).map(|(mark, _)| *mark).collect();
        assert_eq!(self.marks, delivered, "{what}: each call that was delivered runs once, and no other does");
        let is_answered = truth.answered.contains(&super::server::Asker::Main);
        assert_eq!(self.outcome.status == Status::Completed, is_answered, "{what}: {:?}", self.outcome);
    }
}

/// Returns the marks in a project, in order.
pub(super) fn marks(root: &std::path::Path) -> Vec<usize> {
    let text = std::fs::read_to_string(root.join(MARKS)).unwrap_or_default();
    let mut marks: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    marks.sort_unstable();
    marks
}

/// Returns the event before which a fault strikes: what was said has come, the call not yet.
fn after_words(api: Api) -> usize {
    match api {
        Api::Anthropic => 4,
        Api::Chat => 2,
    }
}

async fn each_once(api: Api) {
    for (fault, effect, _) in TABLE {
        let what = format!("{api:?} {fault:?}");
        let mut count = 0;
        let choose: Choose = Box::new(move |_, _| {
            count += 1;
            (count == 1).then_some((*fault, after_words(api)))
        });
        let run = Run::of(api, choose).await;
        run.check(&what);
        let (retries, outcome) = (run.retries(), &run.outcome);
        match effect {
            Again(words) => {
                assert!(retries.len() == 1 && retries[0].contains(words), "{what}: {retries:?}");
                assert_eq!(run.said(), [SAID, &outcome.text], "{what}: nothing is left of the broken answer");
            }
            Ends(words) => {
                assert!(retries.is_empty(), "{what}: {retries:?}");
                run.ended_with(words, *fault, &what);
            }
            Effect::None | Mended => {
                assert_eq!((retries.len(), outcome.status), (0, Status::Completed), "{what}: {retries:?}");
                // What it hears of a call that could not run is an error.
                assert_eq!(run.tool_errors(), usize::from(*effect == Mended), "{what}");
            }
        }
    }
}

async fn each_for_ever(api: Api) {
    for (fault, _, words) in TABLE.iter().filter(|(.., words)| !words.is_empty()) {
        // Until an answer begins, and until a line ends, both APIs are alike, and six attempts take their time.
        if api == Api::Chat && (fault.comes_before_an_answer() || *fault == Fault::EndlessLine) {
            continue;
        }
        let what = format!("{api:?} {fault:?} for ever");
        let run = Run::of(api, Box::new(move |_, _| Some((*fault, after_words(api))))).await;
        run.check(&what);
        run.ended_with(words, *fault, &what);
        let requests = run.server.truth().asked.len();
        assert!(requests <= MOST_REQUESTS, "{what}: {requests} requests");
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_of_the_messages_api_has_its_outcome() {
    each_once(Api::Anthropic).await;
}

#[tokio::test(start_paused = true)]
async fn each_fault_of_chat_completions_has_its_outcome() {
    each_once(Api::Chat).await;
}

#[tokio::test(start_paused = true)]
async fn the_messages_api_broken_for_ever_ends_in_words_that_help() {
    each_for_ever(Api::Anthropic).await;
}

#[tokio::test(start_paused = true)]
async fn chat_completions_broken_for_ever_end_in_words_that_help() {
    each_for_ever(Api::Chat).await;
}

/// Which of the words of a connection are about TLS depends on whether it had worked without.
#[tokio::test(start_paused = true)]
async fn a_strange_status_line_after_an_answer_is_no_question_of_tls() {
    let choose: Choose = Box::new(|asked, _| (asked.results == 1).then_some((Fault::BadStatusLine, 1)));
    let run = Run::of(Api::Anthropic, choose).await;
    let reason = run.outcome.reason.as_deref().unwrap();
    assert!(reason.contains("connection") && !reason.contains("TLS."), "{reason}");
}

/// Nobody listens, and whoever asks is told so after a few attempts.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_ends_in_words_that_help() {
    let work = Arc::<Work>::default();
    let _clock = work.drive_clock();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut session = Session::start(Parts::new(Api::Anthropic.connect(&format!("http://127.0.0.1:{port}"))));
    let outcome = session.ask("go").await;
    let reason = outcome.reason.unwrap();
    assert!(reason.contains("refused") && reason.contains("Gave up after 6 attempts"), "{reason}");
    assert!(reason.ends_with("Check the network and the base URL."), "{reason}");
}

/// What is refused for good is no matter of attempts, whatever had failed before.
#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_failure_says_nothing_of_attempts() {
    let mut count = 0;
    let choose: Choose = Box::new(move |_, _| {
        count += 1;
        Some((if count == 1 { Fault::HangUp } else { Code(401) }, 0))
    });
    let run = Run::of(Api::Anthropic, choose).await;
    let reason = run.outcome.reason.as_deref().unwrap();
    assert_eq!(run.retries().len(), 1);
    assert!(reason.contains("_API_KEY") && !reason.contains("attempts"), "{reason}");
}
