//! The rows of a question at a width, and which of them have been on the screen.
//!
//! Owns how many rows the details of a question take, where its text breaks, and the record of what was seen. Leaves
//! drawing to the views, which break text here too. Invariant: a question counts as seen only once every row of what
//! would be done has stood on the screen at one width, as a drawn frame reported.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use crate::app::diff_rows::{count_rows, start_of};
use crate::message::columns::grapheme_width;
use crate::message::reveal_line;
use crate::permission::{AccessKind, ApprovalId, ApprovalRequest, Preview, UserQuestion};

/// Rows that the model's own words on a command may take.
pub const MAX_NOTE_ROWS: usize = 3;
/// Characters kept of them.
pub(in crate::app) const MAX_NOTE: usize = 1_000;
/// Columns before them, for who says so and the bar that marks each row as said.
pub const NOTE_INDENT: usize = 7;
/// Narrowest question that can be allowed: below, not even its heading says what is asked.
pub const MIN_COLUMNS: u16 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionSeen {
    pub id: ApprovalId,
    /// The width at which its rows are counted.
    pub columns: u16,
    /// The rows that stood on the screen whole.
    pub rows: Vec<Range<usize>>,
    /// How many rows of what would be done have never done so.
    pub unseen: usize,
    /// The first of them.
    pub next: usize,
    /// Whether the screen can show a row at all.
    pub has_room: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenRows {
    columns: u16,
    /// Apart from each other and ascending.
    rows: Vec<Range<usize>>,
    complete: bool,
}

impl SeenRows {
    /// Returns `true` if all of what would be done has been on the screen.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns `true` if a row has been on the screen at this width.
    pub fn contains(&self, row: usize, columns: u16) -> bool {
        self.complete || self.columns == columns && self.rows.iter().any(|rows| rows.contains(&row))
    }

    /// Takes in what a frame showed. At another width the rows are others, and counting begins anew.
    pub(in crate::app) fn add(&mut self, shown: &QuestionSeen) {
        if self.columns != shown.columns {
            self.columns = shown.columns;
            self.rows.clear();
        }
        self.rows.extend(shown.rows.iter().filter(|rows| !rows.is_empty()).cloned());
        self.rows.sort_unstable_by_key(|rows| rows.start);
        self.rows.dedup_by(|later, earlier| {
            let joined = later.start <= earlier.end;
            if joined {
                earlier.end = earlier.end.max(later.end);
            }
            joined
        });
        self.complete |= shown.unseen == 0 && shown.has_room;
    }
}

/// Returns `true` if the question's note is what the model says about a command, and not the program.
pub fn is_said(request: &ApprovalRequest) -> bool {
    matches!(request.access.kind, AccessKind::Execute { .. })
}

/// Returns where each row of a text ends, broken behind a space where there is one. Every character is in a row, spaces
/// too.
pub fn word_row_ends(text: &str, columns: usize) -> Vec<usize> {
    let columns = columns.max(1);
    let mut ends = Vec::new();
    // The last place behind a space in this row, and the columns from there on.
    let (mut start, mut gap, mut behind, mut used) = (0, 0, 0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme_width(grapheme);
        if used + wide > columns && used > 0 {
            let end = if gap > start { gap } else { at };
            used = if gap > start { behind } else { 0 };
            ends.push(end);
            start = end;
            if used + wide > columns && used > 0 {
                ends.push(at);
                (start, used) = (at, 0);
            }
        }
        used += wide;
        behind += wide;
        if grapheme == " " {
            (gap, behind) = (at + 1, 0);
        }
    }
    ends.push(text.len());
    ends
}

/// Returns a text as it stands in a question: the words of the model or the act itself.
pub fn shown_line(text: &str) -> String {
    text.replace('\t', "    ")
}

/// Returns how many rows a text takes, no further than about `most`.
fn text_rows(text: &str, columns: usize, most: usize) -> usize {
    let mut rows = 0;
    for line in text.lines() {
        if rows >= most {
            break;
        }
        rows += word_row_ends(&shown_line(start_of(line, columns, most - rows)), columns).len();
    }
    rows
}

/// Returns what a question of the model offers, in a line.
pub fn choices(question: &UserQuestion) -> String {
    let labels: Vec<_> = question.options.iter().map(|option| reveal_line(&option.label)).collect();
    format!("{}: {}", reveal_line(&question.header), labels.join(" · "))
}

/// Returns how many rows the details of a question would like where there is room for `most`: all of them, else those
/// of what would be done. `terms` is what answers allow, and why it is asked.
pub(in crate::app) fn wanted_rows(request: &ApprovalRequest, terms: &str, columns: usize, most: usize) -> usize {
    let title = if request.is_of_plan() { 0 } else { text_rows(&request.title, columns, most).max(1) };
    let title = title + text_rows(terms, columns, most);
    let left = most.saturating_sub(title);
    let (all, act) = match &request.preview {
        Some(Preview::Diff(diff)) => count_rows(diff, columns, left + 1),
        Some(Preview::Note { text }) if is_said(request) => {
            let columns = (columns + 2).saturating_sub(NOTE_INDENT);
            (text_rows(text, columns, MAX_NOTE_ROWS).min(MAX_NOTE_ROWS), 0)
        }
        Some(Preview::Questions { questions }) => {
            (questions.iter().map(|question| text_rows(&choices(question), columns, left)).sum(), 0)
        }
        Some(Preview::Note { text } | Preview::Report { text } | Preview::Plan { text }) => {
            let rows = text_rows(text, columns, left);
            (rows, rows)
        }
        None => (0, 0),
    };
    if title + all <= most { title + all } else { (title + act).min(most) }
}
