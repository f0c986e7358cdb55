//! Separates reasoning from answer where a server sends both as one text.
//!
//! Models begin with `<think>…</think>` or one of its relatives; a server without a parser for it passes the tags on.
//! [`Think`] reads a reply as it comes, [`split_thoughts`] looks at one that is whole, for what shows only then: a closing
//! tag whose beginning the server's template had written, and blocks after the first. Invariants: a text about the tags
//! stays as it is; what [`Think`] puts out does not depend on where the text was cut; at most a tag's length, and a bounded
//! number of blanks before the first, are held back.

use super::feed::Queue;
use crate::message::{CodeBlocks, is_quoted};

/// What begins reasoning, and what ends it.
const TAGS: [(&str, &str); 11] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
];
/// What stands before the answer itself where a server passes on gpt-oss's channels, and behind it.
const FINAL_HEADS: [&str; 2] = ["<|start|>assistant<|channel|>final<|message|>", "<|channel|>final<|message|>"];
const FINAL_ENDS: [&str; 2] = ["<|return|>", "<|end|>"];
/// Most blanks before a tag; behind more of them it is a part of the answer.
const MAX_INDENT: usize = 256;

/// How far an answer has come.
enum Place {
    /// Nothing but blanks, or the start of a tag; `is_after` if reasoning came before.
    Start {
        is_after: bool,
    },
    /// Reasoning, up to this tag.
    Thinking(&'static str),
    Answer,
}

pub(super) struct Think {
    place: Place,
    held: String,
}

impl Default for Think {
    fn default() -> Self {
        Self { place: Place::Start { is_after: false }, held: String::new() }
    }
}

impl Think {
    pub(super) fn text(&mut self, more: &str, out: &mut Queue) {
        match self.place {
            _ if more.is_empty() => {}
            Place::Answer => out.text(more),
            Place::Start { is_after } => {
                self.held.push_str(more);
                if is_after {
                    self.held.drain(..self.held.len() - self.held.trim_start().len());
                }
                let begun = self.held.trim_start();
                let opened = TAGS.iter().find_map(|(open, close)| Some((begun.strip_prefix(open)?, *close)));
                if self.held.len() - begun.len() > MAX_INDENT {
                    self.place = Place::Answer;
                    out.text(&std::mem::take(&mut self.held));
                } else if let Some((thoughts, close)) = opened {
                    let thoughts = thoughts.to_owned();
                    self.held.clear();
                    self.place = Place::Thinking(close);
                    self.text(&thoughts, out);
                } else if !TAGS.iter().any(|(open, _)| open.starts_with(begun)) {
                    self.place = Place::Answer;
                    out.text(&std::mem::take(&mut self.held));
                }
            }
            Place::Thinking(close) => {
                self.held.push_str(more);
                if let Some(end) = self.held.find(close) {
                    out.thinking(&self.held[..end]);
                    let answer = self.held.split_off(end + close.len());
                    self.held.clear();
                    self.place = Place::Start { is_after: true };
                    self.text(&answer, out);
                } else {
                    let (held, close) = (self.held.as_bytes(), close.as_bytes());
                    let tag = (1..close.len()).rev().find(|len| held.ends_with(&close[..*len])).unwrap_or(0);
                    let held = self.held.split_off(self.held.len() - tag);
                    out.thinking(&std::mem::replace(&mut self.held, held));
                }
            }
        }
    }

    /// Lets go of what was held back: something else follows, or nothing.
    pub(super) fn flush(&mut self, out: &mut Queue) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Thinking(_) => out.thinking(&held),
            _ => out.text(&held),
        }
    }
}

/// A piece of a reply's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextPiece<'a> {
    Thought(&'a str),
    Said(&'a str),
}

/// Splits the text of a whole reply into what was thought and what was said. `has_thought` is whether reasoning came before
/// it, so that a later block is no text about tags.
pub fn split_thoughts(text: &str, mut has_thought: bool) -> Vec<TextPiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    if let Some(end) = lone_end(rest) {
        pieces.push(TextPiece::Thought(&rest[..end.start]));
        (rest, has_thought) = (rest[end.end..].trim_start(), true);
    }
    while let Some(block) = has_thought.then(|| later_block(rest)).flatten() {
        pieces.push(TextPiece::Said(&rest[..block.whole.start]));
        pieces.push(TextPiece::Thought(&rest[block.body]));
        rest = rest[block.whole.end..].trim_start();
    }
    pieces.push(TextPiece::Said(without_channel(rest)));
    pieces.retain(|piece| match piece {
        TextPiece::Thought(text) | TextPiece::Said(text) => !text.trim().is_empty(),
    });
    pieces
}

/// Takes off what marks the channel of the answer.
fn without_channel(text: &str) -> &str {
    let Some(answer) = FINAL_HEADS.iter().find_map(|head| text.trim_start().strip_prefix(head)) else { return text };
    FINAL_ENDS.iter().find_map(|end| answer.trim_end().strip_suffix(end)).unwrap_or(answer)
}

/// Returns where a closing tag stands that no opening one comes before, and that is not spoken of.
fn lone_end(text: &str) -> Option<std::ops::Range<usize>> {
    let closers = || TAGS.iter().filter(|(_, close)| *close != "<|end|>");
    if !closers().any(|(_, close)| text.contains(close)) {
        return None;
    }
    let mut code = CodeBlocks::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !code.take_line(line) {
            for (open, close) in closers() {
                if let Some(at) = line.find(close)
                    && ends_thoughts(line, at, close)
                {
                    let at = start + at;
                    return (!text[..at].contains(open)).then_some(at..at + close.len());
                }
            }
        }
        start += line.len();
    }
    None
}

/// Returns `true` if a closing tag stands as models write it: alone, at the end of a line, or between two sentences.
fn ends_thoughts(line: &str, at: usize, close: &str) -> bool {
    let (before, after) = (&line[..at], &line[at + close.len()..]);
    let is_last = after.trim().is_empty();
    let is_first = before.trim().is_empty() || before.ends_with(['.', '!', '?', ')', '。', '！', '？']);
    let is_joined = after.chars().next().is_some_and(|c| !c.is_whitespace() && !"`\"'”’.,;:)".contains(c));
    !is_quoted(line, at) && (is_last || is_first && is_joined)
}

struct ThoughtBlock {
    whole: std::ops::Range<usize>,
    body: std::ops::Range<usize>,
}

/// Returns the first block of reasoning that begins a line and is closed.
fn later_block(text: &str) -> Option<ThoughtBlock> {
    let mut code = CodeBlocks::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !code.take_line(line) {
            let begun = start + line.len() - line.trim_start().len();
            for (open, close) in TAGS {
                if text[begun..].starts_with(open)
                    && let body = begun + open.len()
                    && let Some(len) = text[body..].find(close)
                {
                    return Some(ThoughtBlock { whole: begun..body + len + close.len(), body: body..body + len });
                }
            }
        }
        start += line.len();
    }
    None
}
