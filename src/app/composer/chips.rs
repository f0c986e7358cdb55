//! Large pastes, shown as a short label.
//!
//! Owns the pasted texts and their labels. Invariant: no two chips of a text have the same label.

use crate::message::format::grouped;
use crate::message::{picture_mark, picture_numbers, sanitize};

/// A paste of more characters than this becomes a chip.
const MAX_CHARS: usize = 1_000;
/// A paste of more lines than this becomes a chip.
const MAX_LINES: usize = 10;

#[derive(Debug, Default)]
pub(super) struct Chips {
    /// Label and pasted text.
    chips: Vec<(String, String)>,
}

impl Chips {
    /// Keeps a text that is too large to be edited and returns the label that stands for it.
    pub(super) fn add(&mut self, text: &str) -> Option<String> {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1;
        let chars = if text.len() <= MAX_CHARS { text.len() } else { text.chars().count() };
        if chars <= MAX_CHARS && lines <= MAX_LINES {
            for number in picture_numbers(text) {
                self.add_picture(number);
            }
            return None;
        }
        let size = if lines > 1 {
            format!("{} lines", grouped(lines as u64))
        } else {
            format!("{} characters", grouped(chars as u64))
        };
        let mut label = format!("[pasted {size}]");
        let mut copy = 2;
        while self.chips.iter().any(|(known, _)| *known == label) {
            label = format!("[pasted {size} #{copy}]");
            copy += 1;
        }
        self.chips.push((label.clone(), sanitize(text).into_owned()));
        Some(label)
    }

    /// Returns the mark of a picture, which stands for itself.
    pub(super) fn add_picture(&mut self, number: u32) -> String {
        let mark = picture_mark(number);
        if self.chips.iter().all(|(known, _)| *known != mark) {
            self.chips.push((mark.clone(), mark.clone()));
        }
        mark
    }

    /// Keeps a text under a label that is given.
    pub(super) fn add_as(&mut self, label: &str, text: &str) {
        self.chips.retain(|(known, _)| known != label);
        self.chips.push((label.to_owned(), sanitize(text).into_owned()));
    }

    pub(super) fn clear(&mut self) {
        self.chips.clear();
    }

    /// Returns a text with every label replaced by what it stands for.
    pub(super) fn expand(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((at, label, pasted)) = self.first_in(rest) {
            out.push_str(&rest[..at]);
            out.push_str(pasted);
            rest = &rest[at + label.len()..];
        }
        out.push_str(rest);
        out
    }

    fn first_in(&self, text: &str) -> Option<(usize, &str, &str)> {
        self.chips
            .iter()
            .filter_map(|(label, pasted)| Some((text.find(label.as_str())?, label.as_str(), pasted.as_str())))
            .min_by_key(|(at, ..)| *at)
    }

    /// Returns the byte ranges of the labels in a line.
    pub(super) fn ranges(&self, line: &str) -> Vec<std::ops::Range<usize>> {
        let mut ranges = Vec::new();
        let mut from = 0;
        while let Some((at, label, _)) = self.first_in(&line[from..]) {
            ranges.push(from + at..from + at + label.len());
            from += at + label.len();
        }
        ranges
    }

    /// Returns the labels of texts: the mark of a picture hides nothing.
    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let chips = self.chips.iter().map(|(label, pasted)| (label.as_str(), pasted.as_str()));
        chips.filter(|(label, pasted)| label != pasted)
    }

    /// Returns the label between two texts, at the end of one or the start of the other, and what it stands for.
    pub(super) fn at(&self, before: &str, after: &str) -> Option<(&str, &str)> {
        self.texts().find(|(label, _)| before.ends_with(label) || after.starts_with(label))
    }

    /// Returns the last label in a text, and what it stands for.
    pub(super) fn last_in(&self, text: &str) -> Option<(&str, &str)> {
        self.texts().filter_map(|chip| Some((text.rfind(chip.0)?, chip))).max().map(|(_, chip)| chip)
    }

    /// Returns the characters of the label that a text ends with.
    pub(super) fn ending(&self, text: &str) -> Option<usize> {
        self.chips.iter().find(|(label, _)| text.ends_with(label.as_str())).map(|(label, _)| label.chars().count())
    }

    /// Returns the characters of the label that a text begins with.
    pub(super) fn starting(&self, text: &str) -> Option<usize> {
        self.chips.iter().find(|(label, _)| text.starts_with(label.as_str())).map(|(label, _)| label.chars().count())
    }
}
