//! What follows from a whole reply, pure: its calls are run, it is asked for again or for more, or it is the end.
//!
//! Owns what counts as no answer, and how often a model is asked again. Leaves carrying it out to `driver`. Invariant: a
//! reply that is empty, a mere thought, a call that arrived as text, or a step that was only announced is asked for again a
//! bounded number of times, and never the end of a run that counts as complete.

use super::turn::Turn;
use crate::message::ToolCall;
use crate::message::format::grouped;
use crate::provider::StopReason;

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Run these calls and send their results.
    Tools(Vec<ToolCall>),
    /// Send the conversation again so that the model goes on, with these words if any.
    Continue(Option<String>),
    /// Send it again, with these words if any: the reply is no part of an answer.
    Again(Option<String>),
    Finish,
    /// The conversation fills the model's context.
    Full,
    /// The run cannot go on; the text says why.
    Fail(String),
}

/// What has to be known of a run beside the reply.
#[derive(Debug, Clone, Default)]
pub struct StepFacts<'a> {
    /// Whether tools were offered.
    pub has_tools: bool,
    /// The answer so far: the reply, and those that it continues.
    pub answer: &'a str,
    /// Whether it has something else to wait for, so that it need not say anything.
    pub is_waiting: bool,
    /// The limit on the output of the reply.
    pub output_tokens: u32,
}

/// How often a reply may be cut off by the output cap before the run counts as failed.
pub const MAX_CONTINUATIONS: u32 = 3;

/// Words for a model whose reply filled the output cap.
const GO_ON: &str = "Go on exactly where it stopped.";
/// The same if it has only thought.
const THINK_LESS: &str = "You had only thought until then. Think less, and answer or call a tool now.";
/// The same if it has repeated itself.
const STOP_REPEATING: &str = "It repeated itself. Do not go on with it: answer in a few words, or call a tool.";
/// Words for a model whose call was cut off.
const IN_PARTS: &str = "Do not send the call again as it was. Write a long file in parts: the first with Write, the \
                        others with Edit, each well below the limit.";
const AS_TEXT: &str = "Your tool call arrived as text, and nothing was run. Make it as a tool call, do not write it out. \
                       If you only meant to show it, answer in words, with the markup in a code block.";
const NO_ANSWER: &str = "Your last reply held no answer. Call a tool, or write your answer now.";
const NOT_TAKEN: &str = "You announced a step and ended your reply without taking it. Call the tool now. If the work is \
                         done, write your final answer.";
/// What to do about a server that passes calls on as text.
const NO_PARSER: &str = "The server passed a tool call on as text, and nothing was run. Start it so that it reads tool \
                         calls: llama.cpp with --jinja, vLLM with --enable-auto-tool-choice --tool-call-parser NAME, \
                         SGLang with --tool-call-parser NAME, Ollama with a model whose template knows tools. Or choose \
                         another model.";
const NEVER_TAKEN: &str = "The model announced a step and did not take it, also when asked to. Ask again, or choose another \
                           model.";

/// What a model was asked again for in a run.
#[derive(Debug, Default)]
pub struct Tries {
    /// Replies in a row that were cut off, or paused.
    continuations: u32,
    /// Replies in a row that held nothing.
    silences: u32,
    /// Calls in a row that arrived as text.
    text_calls: u32,
    /// Whether a step was announced in this run and not taken.
    has_announced: bool,
    /// Whether it was in the reply before.
    just_announced: bool,
}

impl Tries {
    /// Decides what follows from a reply, and counts it.
    pub fn step(&mut self, turn: &Turn, facts: &StepFacts<'_>) -> Step {
        let calls: Vec<ToolCall> = turn.message.tool_calls().cloned().collect();
        // What was begun before a refusal was not meant to be done; and of a call that is cut off again and again there is
        // nothing to mend.
        let is_hopeless = turn.has_only_cut_calls() && self.continuations >= MAX_CONTINUATIONS;
        if !calls.is_empty() && turn.stop != Some(StopReason::Refusal) && !is_hopeless {
            let continuations = if turn.has_only_cut_calls() { self.continuations + 1 } else { 0 };
            *self = Self { continuations, has_announced: self.has_announced, ..Self::default() };
            return Step::Tools(calls);
        }
        match &turn.stop {
            Some(StopReason::MaxTokens | StopReason::PauseTurn) if self.continuations >= MAX_CONTINUATIONS => {
                let times = self.continuations + 1;
                Step::Fail(format!(
                    "The reply was cut off {times} times by the output token limit. Ask for less at once."
                ))
            }
            Some(StopReason::PauseTurn) => {
                self.continuations += 1;
                Step::Continue(None)
            }
            Some(StopReason::MaxTokens) => {
                self.continuations += 1;
                cut(turn, facts)
            }
            Some(StopReason::Refusal) => Step::Fail("The model declined to answer. Rephrase the request.".to_owned()),
            Some(StopReason::ContextWindow) => Step::Full,
            Some(StopReason::Other(reason)) if turn.message.is_empty() => {
                Step::Fail(format!("The model stopped without an answer ({reason})."))
            }
            _ => self.ended(turn, facts),
        }
    }

    /// Decides what follows from a reply without calls that came to its own end.
    fn ended(&mut self, turn: &Turn, facts: &StepFacts<'_>) -> Step {
        let was_announced = std::mem::take(&mut self.just_announced);
        if turn.has_unclear_call {
            self.text_calls += 1;
            return if self.text_calls > 1 { Step::Fail(NO_PARSER.to_owned()) } else { again(AS_TEXT) };
        }
        if facts.is_waiting {
            return Step::Finish;
        }
        if facts.answer.trim().is_empty() {
            self.silences += 1;
            return match self.silences {
                // Another reply to the same request may be better.
                1 if turn.message.is_empty() => Step::Again(None),
                1 | 2 => again(NO_ANSWER),
                _ => Step::Finish,
            };
        }
        if facts.has_tools && is_announcement(facts.answer) {
            if was_announced {
                return Step::Fail(NEVER_TAKEN.to_owned());
            }
            if !std::mem::replace(&mut self.has_announced, true) {
                self.just_announced = true;
                return again(NOT_TAKEN);
            }
        }
        Step::Finish
    }
}

/// Decides what follows from a reply without calls that the output cap has cut off.
fn cut(turn: &Turn, facts: &StepFacts<'_>) -> Step {
    let cut = format!("Your reply was cut off by the limit of {} output tokens.", grouped(facts.output_tokens.into()));
    if turn.has_unclear_call {
        Step::Again(Some(format!("{cut} {IN_PARTS}")))
    } else if turn.message.is_empty() {
        Step::Continue(Some(format!("{cut} {THINK_LESS}")))
    } else if repeats_itself(facts.answer) {
        Step::Again(Some(format!("{cut} {STOP_REPEATING}")))
    } else {
        Step::Continue(Some(format!("{cut} {GO_ON}")))
    }
}

fn again(words: &str) -> Step {
    Step::Again(Some(words.to_owned()))
}

/// Returns what a model reads of a call that was cut off with its reply, of which so many bytes arrived.
pub(super) fn cut_call_words(arrived: usize, output_tokens: u32) -> String {
    /// From here on the reply is larger than any limit on tokens allows.
    const TOO_LONG: usize = 1 << 20;
    if arrived >= TOO_LONG {
        return format!("Not run: this call is too long. More than 1 MB arrived, and the rest was cut off. {IN_PARTS}");
    }
    let limit = grouped(output_tokens.into());
    format!("Not run: the limit of {limit} output tokens cut your reply off inside this call. {IN_PARTS}")
}

/// Longest text that only announces a step, in characters.
const LONGEST_ANNOUNCEMENT: usize = 300;

/// How a sentence begins that announces a step, and what may stand before and behind that.
const FIRST_WORDS: [&str; 8] =
    ["let me ", "let's ", "i'll ", "i will ", "i'm going to ", "i am going to ", "i need to ", "we'll "];
const CONNECTIVES: [&str; 14] = [
    "now ",
    "now, ",
    "first, ",
    "next, ",
    "then ",
    "then, ",
    "okay, ",
    "ok, ",
    "sure, ",
    "sure! ",
    "great, ",
    "alright, ",
    "so ",
    "to start, ",
];
const ADVERBS: [&str; 9] =
    ["now ", "first ", "then ", "also ", "just ", "quickly ", "go ahead and ", "start by ", "begin by "];
const STEPS: [&str; 46] = [
    "add",
    "analyse",
    "analyze",
    "apply",
    "begin",
    "build",
    "call",
    "change",
    "check",
    "continue",
    "create",
    "delegate",
    "edit",
    "examine",
    "explore",
    "fetch",
    "find",
    "fix",
    "gather",
    "get",
    "grep",
    "implement",
    "inspect",
    "install",
    "investigate",
    "launch",
    "list",
    "load",
    "locate",
    "look",
    "make",
    "modify",
    "open",
    "proceed",
    "read",
    "review",
    "run",
    "scan",
    "search",
    "see",
    "start",
    "take",
    "test",
    "update",
    "view",
    "write",
];
/// Words that make a sentence wait for somebody, or ask.
const CONDITIONS: [&str; 6] = [" if ", " once ", " when ", " you", " unless ", "?"];

/// Returns `true` if a text says what is done next and nothing else.
pub(super) fn is_announcement(text: &str) -> bool {
    let text = text.trim().replace('’', "'").to_lowercase();
    if text.is_empty() || text.chars().count() > LONGEST_ANNOUNCEMENT || text.contains("```") {
        return false;
    }
    if text.ends_with([':', '：']) {
        return true;
    }
    let sentences = || {
        text.split(['\n'])
            .flat_map(|line| line.split_inclusive(['.', '!', '…']))
            .map(str::trim)
            .filter(|sentence| !sentence.is_empty())
    };
    // Within names of files a dot ends no sentence.
    let whole = sentences().all(|sentence| announces(sentence) || sentence.split_whitespace().count() <= 3);
    whole && sentences().any(announces)
}

fn announces(sentence: &str) -> bool {
    let rest = CONNECTIVES.iter().find_map(|word| sentence.strip_prefix(word)).unwrap_or(sentence);
    let Some(mut rest) = FIRST_WORDS.iter().find_map(|words| rest.strip_prefix(words)) else { return false };
    while let Some(after) = ADVERBS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = after;
    }
    let verb = rest.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let is_step = STEPS.contains(&verb) || verb.strip_suffix("ing").is_some_and(|stem| STEPS.contains(&stem));
    is_step && !CONDITIONS.iter().any(|word| rest.contains(word))
}

/// Returns `true` if the end of a text is one passage, again and again.
fn repeats_itself(text: &str) -> bool {
    const LONGEST_PASSAGE: usize = 400;
    const LEAST_REPEATED: usize = 2_000;
    let bytes = text.as_bytes();
    let Some(tail) = bytes.len().checked_sub(LEAST_REPEATED).map(|from| &bytes[from..]) else { return false };
    (1..=LONGEST_PASSAGE).any(|period| tail[period..] == tail[..tail.len() - period])
}
