//! Separates reasoning from answer where a server sends both as one text.
//!
//! Models such as DeepSeek's and Qwen's begin with `<think>…</think>`; a server without a parser for it passes the tags
//! on. Invariants: only a tag that begins the answer counts, so a text about the tags stays as it is; what comes out does
//! not depend on where the text was cut; at most a tag's length, and a bounded number of blanks before the first, are
//! held back.

use super::feed::Queue;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
/// Most blanks before a tag; behind more of them it is a part of the answer.
const MAX_INDENT: usize = 256;

/// How far an answer has come.
#[derive(Default)]
enum Place {
    /// Nothing but blanks, or the start of a tag.
    #[default]
    Start,
    Thinking,
    /// Past the closing tag and the blanks behind it.
    Between,
    Answer,
}

#[derive(Default)]
pub(super) struct Think {
    place: Place,
    held: String,
}

impl Think {
    pub(super) fn text(&mut self, more: &str, out: &mut Queue) {
        match self.place {
            _ if more.is_empty() => {}
            Place::Answer => out.text(more),
            Place::Between => {
                let answer = more.trim_start();
                if !answer.is_empty() {
                    self.place = Place::Answer;
                    out.text(answer);
                }
            }
            Place::Start => {
                self.held.push_str(more);
                let begun = self.held.trim_start();
                if self.held.len() - begun.len() > MAX_INDENT {
                    self.place = Place::Answer;
                    out.text(&std::mem::take(&mut self.held));
                } else if let Some(thoughts) = begun.strip_prefix(OPEN) {
                    let thoughts = thoughts.to_owned();
                    self.held.clear();
                    self.place = Place::Thinking;
                    self.text(&thoughts, out);
                } else if !OPEN.starts_with(begun) {
                    self.place = Place::Answer;
                    out.text(&std::mem::take(&mut self.held));
                }
            }
            Place::Thinking => {
                self.held.push_str(more);
                if let Some(end) = self.held.find(CLOSE) {
                    out.thinking(&self.held[..end]);
                    let answer = self.held.split_off(end + CLOSE.len());
                    self.held.clear();
                    self.place = Place::Between;
                    self.text(&answer, out);
                } else {
                    let tag = (1..CLOSE.len()).rev().find(|len| self.held.ends_with(&CLOSE[..*len])).unwrap_or(0);
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
            Place::Thinking => out.thinking(&held),
            _ => out.text(&held),
        }
    }
}
