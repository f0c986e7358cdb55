//! What can go wrong with an answer, and what a server does to make it so.

use serde_json::{Value, json};

use crate::support::{Api, Planned};

/// One fault of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The connection is closed before a byte of the answer.
    HangUp,
    ResetAtOnce,
    SilentHead,
    BadStatusLine,
    Status(u16),
    /// 429 with a short wait.
    RateLimited,
    WebPage,
    WebPageAsStream,
    OtherDocument,
    Empty,
    Redirect,
    GzipGarbage,
    Close,
    Reset,
    /// The chunked body has no end.
    CutChunk,
    /// The body is shorter than its header says.
    ShortBody,
    HalfCharacter,
    /// Half an event, and then the rest as if nothing had happened.
    HalfEvent,
    Silent,
    OnlyPings,
    SaysOverloaded,
    SaysInternal,
    SaysBadRequest,
    NoStop,
    /// Events that say nothing new come twice.
    Twice,
    /// A tool call comes twice, with the same place and id.
    SameCallTwice,
    Unknown,
    BadBytes,
    ByteByByte,
    ResetAfterStop,
    GarbageAfterStop,
    BrokenInput,
    UnknownTool,
    /// The cap on output tokens is reached in the middle.
    OutputLimit,
    EndlessLine,
    EndlessText,
    EndlessInput,
}

/// What a server does next; at the end it closes the connection.
#[derive(Debug)]
pub(super) enum Act {
    Send(Vec<u8>),
    ByteByByte(Vec<u8>),
    /// Until the client goes away.
    Forever(Vec<u8>),
    /// Now and then, until the client goes away.
    Beat(Vec<u8>),
    Stall,
    Reset,
}

/// What of a planned answer the client has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Nothing,
    Whole,
    /// Its end, but none of its calls as it was planned.
    NoCall,
}

pub(super) struct Play {
    pub(super) acts: Vec<Act>,
    pub(super) delivery: Delivery,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n";

/// Returns what a server does that delivers the answer.
pub(super) fn sound(api: Api, plan: &Planned) -> Play {
    whole(stream("", api.events(plan).concat()))
}

impl Fault {
    /// Returns what a server does with an answer that breaks, if it breaks in the middle, before event `cut`.
    pub(super) fn play(self, api: Api, plan: &Planned, cut: usize) -> Play {
        let events = api.events(plan);
        let begun = events[..cut].concat();
        // Words without end are cut off as by the limit on output, and a call that was whole before is run.
        let has_call = plan.calls.first().is_some_and(|(_, input)| begun.contains(&quoted(&input.to_string())));
        let delivery = if self == Self::EndlessText && has_call { Delivery::Whole } else { Delivery::Nothing };
        self.before_the_answer()
            .map(nothing)
            .or_else(|| self.broken_off(api, &begun).map(|acts| Play { acts, delivery }))
            .or_else(|| self.strange(api, &events, cut).map(whole))
            .unwrap_or_else(|| self.wrong_calls(api, plan, events, cut))
    }

    /// Returns `true` if words of the answer have come before it breaks off for good.
    pub(super) fn comes_after_words(self) -> bool {
        use Fault as F;
        matches!(
            self,
            F::Close
                | F::Reset
                | F::CutChunk
                | F::ShortBody
                | F::HalfCharacter
                | F::HalfEvent
                | F::Silent
                | F::OnlyPings
        ) || matches!(self, F::SaysOverloaded | F::SaysInternal | F::SaysBadRequest | F::NoStop | F::EndlessLine)
    }

    pub(super) fn comes_before_an_answer(self) -> bool {
        self.before_the_answer().is_some()
    }

    fn before_the_answer(self) -> Option<Vec<Act>> {
        let page = "<!doctype html><html><h1>Welcome</h1></html>";
        let reply = |status: &str, headers: &str, body: &str| {
            let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
            vec![Act::Send(format!("{head}{headers}\r\n{body}").into_bytes())]
        };
        Some(match self {
            Self::HangUp => vec![],
            Self::ResetAtOnce => vec![Act::Reset],
            Self::SilentHead => vec![Act::Stall],
            Self::BadStatusLine => vec![Act::Send(b"HELLO, WHO IS THERE\r\n\r\n".to_vec())],
            Self::Status(status) => {
                let body = json!({"type": "error", "error": {"type": error_type(status), "message": "not this time"}});
                reply(&format!("{status} No"), "content-type: application/json\r\n", &body.to_string())
            }
            Self::RateLimited => reply("429 No", "retry-after-ms: 20\r\n", "slow down"),
            Self::WebPage => reply("200 OK", "content-type: text/html\r\n", page),
            Self::WebPageAsStream => reply("200 OK", "content-type: text/event-stream\r\n", page),
            Self::OtherDocument => reply("200 OK", "content-type: application/json\r\n", r#"{"ok":true}"#),
            Self::Empty => reply("200 OK", "content-type: text/event-stream\r\n", ""),
            Self::Redirect => reply("307 Elsewhere", "location: http://127.0.0.2:9/login\r\n", ""),
            Self::GzipGarbage => {
                reply("200 OK", "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n", "no gzip at all")
            }
            _ => return None,
        })
    }

    /// Returns what becomes of an answer of which only the beginning is sent.
    fn broken_off(self, api: Api, begun: &str) -> Option<Vec<Act>> {
        let and = |act: Act| vec![stream("", begun), act];
        let then = |more: &[u8]| vec![stream("", [begun.as_bytes(), more].concat())];
        let says = |kind: &str| {
            let error = json!({"type": "error", "error": {"type": kind, "message": "not this time"}});
            then(api.event(&error).as_bytes())
        };
        let next = said(api, "grün");
        let half_character = next.find('ü').unwrap() + 1;
        Some(match self {
            Self::Close => then(&next.as_bytes()[..next.len() / 2]),
            Self::Reset => and(Act::Reset),
            Self::CutChunk => {
                vec![stream("transfer-encoding: chunked\r\n", format!("{:x}\r\n{begun}\r\n", begun.len()))]
            }
            Self::ShortBody => vec![stream(&format!("content-length: {}\r\n", begun.len() + 100), begun)],
            Self::HalfCharacter => then(&next.as_bytes()[..half_character]),
            Self::HalfEvent => {
                let half = format!("{}\n\n", &next.trim_end()[..next.len() - 8]);
                then(format!("{half}{next}").as_bytes())
            }
            Self::Silent => and(Act::Stall),
            Self::OnlyPings => and(Act::Beat(ping(api).into_bytes())),
            Self::SaysOverloaded => says("overloaded_error"),
            Self::SaysInternal => says("api_error"),
            Self::SaysBadRequest => says("invalid_request_error"),
            Self::EndlessLine => and(Act::Forever(vec![b'x'; 1 << 16])),
            Self::EndlessText => and(Act::Forever(said(api, &"more and more ".repeat(2_000)).into_bytes())),
            _ => return None,
        })
    }

    /// Returns how an answer is sent that is whole, but odd.
    fn strange(self, api: Api, events: &[String], cut: usize) -> Option<Act> {
        let all = events.concat();
        Some(match self {
            Self::Twice => {
                let is_empty =
                    |event: &str| !["\"index\"", "content\"", "tool_calls"].iter().any(|word| event.contains(word));
                let twice = |event: &String| if is_empty(event) { event.repeat(2) } else { event.clone() };
                stream("", events.iter().map(twice).collect::<String>())
            }
            Self::Unknown => stream(
                "",
                [&events[..cut].concat(), &unknown(api), &events[cut..].concat()].map(String::as_str).concat(),
            ),
            Self::BadBytes => {
                // In a word, where they are replaced.
                let text = said(api, "#").into_bytes();
                let at = text.iter().position(|byte| *byte == b'#').unwrap();
                let bad = [&text[..at], &[0xff, 0xfe, 0xc3], &text[at + 1..]].concat();
                stream("", [events[..cut].concat().as_bytes(), &bad, events[cut..].concat().as_bytes()].concat())
            }
            Self::ByteByByte => Act::ByteByByte(format!("{HEAD}\r\n{all}").into_bytes()),
            Self::GarbageAfterStop => stream("", all + "data: {\"half\n\n<html>\n\n"),
            _ => return None,
        })
    }

    fn wrong_calls(self, api: Api, plan: &Planned, mut events: Vec<String>, cut: usize) -> Play {
        let input = plan.calls.first().map(|(_, input)| input.to_string());
        let Some(input) = input.filter(|_| !matches!(self, Self::NoStop | Self::ResetAfterStop)) else {
            return self.wrong_end(api, events, cut);
        };
        let swap = |events: &[String], new: &str| events.concat().replace(&quoted(&input), &quoted(new));
        let half = &input[..input.len() / 2];
        let stop = match api {
            Api::Anthropic => ("\"tool_use\"},\"usage\"", "\"max_tokens\"},\"usage\""),
            Api::Chat => ("\"tool_calls\"}", "\"length\"}"),
        };
        let text = match self {
            Self::SameCallTwice => {
                let of_call = |event: &&String| event.contains("\"index\":1") || event.contains("\"tool_calls\":[");
                let call: String = events.iter().filter(of_call).cloned().collect();
                events.insert(events.len() - 2, call);
                // In the chat API the second is more input of the first: the same again, which is no other call.
                return Play { acts: vec![stream("", events.concat())], delivery: Delivery::Whole };
            }
            Self::BrokenInput => swap(&events, half),
            Self::UnknownTool => events.concat().replace("\"name\":\"Bash\"", "\"name\":\"Bosh\""),
            Self::OutputLimit => swap(&events, half).replace(stop.0, stop.1),
            Self::EndlessInput => {
                // The stream stops in the middle of the call's input, which then goes on for ever.
                let call = events.iter().position(|event| event.contains(&quoted(&input))).unwrap();
                let begun = events[..call].concat() + &events[call].replace(&quoted(&input), &quoted(half));
                let more = events[call]
                    .replace(&quoted(&input), &quoted(&"x".repeat(1 << 14)))
                    .replace("\"name\":\"Bash\",", "")
                    .replace("\"id\":\"call_0\",", "");
                let acts = vec![stream("", begun), Act::Forever(more.into_bytes())];
                return Play { acts, delivery: Delivery::NoCall };
            }
            _ => unreachable!("{self:?} is none of them"),
        };
        Play { acts: vec![stream("", text)], delivery: Delivery::NoCall }
    }

    /// Returns what becomes of an answer without calls, or whose end is what is wrong.
    fn wrong_end(self, api: Api, mut events: Vec<String>, cut: usize) -> Play {
        let all = events.concat();
        match self {
            Self::NoStop => {
                events.truncate(events.len() - 2);
                nothing(vec![stream("", events.concat())])
            }
            Self::ResetAfterStop => Play { acts: vec![stream("", all), Act::Reset], delivery: Delivery::Whole },
            Self::OutputLimit => {
                let text = all.replace("\"end_turn\"", "\"max_tokens\"").replace("\"stop\"", "\"length\"");
                nothing(vec![stream("", text)])
            }
            Self::EndlessInput => Self::EndlessText.play_cut(api, &events, cut),
            _ => whole(stream("", all)),
        }
    }

    fn play_cut(self, api: Api, events: &[String], cut: usize) -> Play {
        nothing(self.broken_off(api, &events[..cut].concat()).unwrap_or_default())
    }
}

fn nothing(acts: Vec<Act>) -> Play {
    Play { acts, delivery: Delivery::Nothing }
}

fn whole(act: Act) -> Play {
    Play { acts: vec![act], delivery: Delivery::Whole }
}

fn stream(headers: &str, body: impl AsRef<[u8]>) -> Act {
    Act::Send([format!("{HEAD}{headers}\r\n").as_bytes(), body.as_ref()].concat())
}

/// Returns the input of a call as it stands in the stream, where it is a string of JSON.
fn quoted(input: &str) -> String {
    Value::from(input).to_string()
}

/// An event with more text of the first block.
fn said(api: Api, text: &str) -> String {
    api.event(&match api {
        Api::Anthropic => {
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }
        Api::Chat => json!({"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]}),
    })
}

fn ping(api: Api) -> String {
    match api {
        Api::Anthropic => api.event(&json!({"type": "ping"})),
        Api::Chat => ": keep-alive\n\n".to_owned(),
    }
}

/// Events, blocks, deltas and fields that no description of the API knows.
fn unknown(api: Api) -> String {
    let events = match api {
        Api::Anthropic => vec![
            json!({"type": "weather", "index": "x", "message": "hello", "delta": {"text": ["a"]}}),
            json!({"type": "content_block_start", "index": 90, "content_block": {"type": "hologram", "data": [1, 2]}}),
            json!({"type": "content_block_delta", "index": 90, "delta": {"type": "hologram_delta", "text": "no text"}}),
            json!({"type": "content_block_stop", "index": 90}),
        ],
        Api::Chat => vec![
            json!({"object": "weather", "choices": []}),
            json!({"choices": [{"index": 0, "delta": {"hologram": [1, 2]}, "finish_reason": null, "mood": {}}]}),
            json!({"choices": "none", "usage": "much"}),
        ],
    };
    events.iter().map(|event| api.event(event)).collect()
}

fn error_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
