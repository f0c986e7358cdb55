//! What every view needs in order to draw: colours, signs, the present, and small shared pieces of text.
//!
//! Owns the spelling of durations, counts and states. Invariant: a counter has a fixed width, so that nothing moves
//! while it counts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::highlight::Highlighter;
use super::theme::{Glyphs, Theme};
use super::wrap::{fit, pad, width};
use crate::agent::RunMode;
use crate::app::{AgentState, AgentView, App, Severity, StateSign, WorktreeState, WorktreeView};
use crate::message::Usage;
use crate::message::format::tokens;

/// Widest type that descriptions of other agents make room for.
const ALIGNED_TYPE: usize = 18;
/// Columns left for a description before descriptions stand in line.
const ALIGNED_TITLE: usize = 28;
/// Columns a type keeps beside a long description.
const SHORTEST_TYPE: usize = 5;

#[derive(Clone, Copy)]
pub(super) struct RenderContext<'a> {
    pub app: &'a App,
    pub theme: &'a Theme,
    pub glyphs: &'a Glyphs,
    pub highlighter: &'a Highlighter,
}

impl RenderContext<'_> {
    pub(super) fn spinner(&self) -> &'static str {
        let frames = self.glyphs.spinner;
        frames[self.app.spinner_frame() % frames.len().max(1)]
    }

    pub(super) fn glyph(&self, state: &AgentState) -> &'static str {
        let glyphs = self.glyphs;
        match state.row().sign {
            StateSign::Spinner => self.spinner(),
            StateSign::Neutral => glyphs.neutral,
            StateSign::Queued => glyphs.queued,
            StateSign::Attention => glyphs.attention,
            StateSign::Stopped => glyphs.stopped,
            StateSign::Done => glyphs.done,
            StateSign::Failed => glyphs.failed,
        }
    }

    pub(super) fn severity(&self, state: &AgentState) -> Style {
        match state.row().severity {
            Severity::Neutral => self.theme.muted,
            Severity::Busy => self.theme.accent,
            Severity::Attention => self.theme.warning,
            Severity::Good => self.theme.success,
            Severity::Bad => self.theme.error,
        }
    }

    pub(super) fn agent(&self, agent: &AgentView) -> Style {
        self.theme.agent(agent.color.as_deref(), &agent.agent_type)
    }

    pub(super) fn chord(&self, chord: &str) -> String {
        arrows(chord, self.glyphs)
    }

    /// Returns an agent's type and what stands behind it, its description, in `room` columns at most. Descriptions
    /// stand in line with each other where there is room for that; where there is little, the type gives way first,
    /// because it also has a colour. What follows is the mark of one whose parent does not wait for it: a sign, and a
    /// word where there is room for it.
    pub(super) fn title(&self, agent: &AgentView, room: usize) -> (String, String, String) {
        let sign = format!("  {}", self.glyphs.background);
        if agent.has_ended() || agent.run_mode == RunMode::Foreground || room < SHORTEST_TYPE + width(&sign) {
            let (kind, description) = self.plain_title(agent, room, 0);
            return (kind, description, String::new());
        }
        let (kind, description) = self.plain_title(agent, room, width(&sign));
        let word = " background";
        let fits = width(&kind) + width(&description) + width(&sign) + width(word) <= room;
        (kind, description, if fits { sign + word } else { sign })
    }

    /// Returns type and description, which leave `kept` of the columns to what follows.
    fn plain_title(&self, agent: &AgentView, room: usize, kept: usize) -> (String, String) {
        let kind = if agent.agent_type.is_empty() { &agent.name } else { &agent.agent_type };
        let widest = self.app.agents().widest_type().min(ALIGNED_TYPE);
        let columns = if widest + 2 + ALIGNED_TITLE <= room {
            widest
        } else {
            let left = room.saturating_sub(width(&agent.description) + 2 + kept);
            width(kind).min(left.max(SHORTEST_TYPE))
        };
        let kind = pad(kind, columns.min(room - kept));
        let left = room.saturating_sub(width(&kind) + 2 + kept);
        let description = if left == 0 { String::new() } else { format!("  {}", fit(&self.marked(agent), left)) };
        (kind, description)
    }

    /// Returns an agent's description, with a mark before it where what it does is not in the project.
    fn marked(&self, agent: &AgentView) -> String {
        let is_apart = |apart: &&WorktreeView| matches!(apart.state, WorktreeState::InUse | WorktreeState::Kept);
        match agent.worktree.as_ref().filter(is_apart) {
            Some(_) => format!("{} {}", self.glyphs.apart, agent.description),
            None => agent.description.clone(),
        }
    }

    /// Returns chords and their short words as spans, as many as fit.
    pub(super) fn hints(&self, hints: &[(String, &str)], columns: usize) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let mut left = columns;
        for (chord, word) in hints {
            let gap = if spans.is_empty() { 0 } else { 2 };
            let chord = self.chord(chord);
            let needed = width(&chord) + 1 + width(word) + gap;
            if needed > left {
                break;
            }
            left -= needed;
            spans.push(Span::styled(format!("{}{chord}", " ".repeat(gap)), self.theme.text));
            spans.push(Span::styled(format!(" {word}"), self.theme.muted));
        }
        spans
    }
}

/// Draws lines from the top of an area, as far as there is room, and returns the area below.
pub(super) fn put_lines<'a>(lines: impl IntoIterator<Item = &'a Line<'a>>, area: Rect, buf: &mut Buffer) -> Rect {
    let mut left = area;
    for (line, y) in lines.into_iter().zip(area.y..area.bottom()) {
        buf.set_line(area.x, y, line, area.width);
        left = Rect { y: y + 1, height: area.bottom() - y - 1, ..area };
    }
    left
}

/// Spells the arrows among the keys of a chord as arrows.
fn arrows(chord: &str, glyphs: &Glyphs) -> String {
    if *glyphs == Glyphs::ASCII {
        return chord.to_owned();
    }
    let key = |key: &str| {
        let (mods, name) = key.rfind('+').map_or(("", key), |at| key.split_at(at + 1));
        let arrow = match name {
            "up" => glyphs.up,
            "down" => glyphs.down,
            "left" => glyphs.left,
            "right" => glyphs.right,
            _ => return key.to_owned(),
        };
        format!("{mods}{arrow}")
    };
    chord.split(' ').map(key).collect::<Vec<_>>().join(" ")
}

/// Spells the tokens of a usage in at most six columns, with a sign if they are an estimate.
pub(super) fn used(usage: &Usage) -> String {
    format!("{}{}", usage.mark(), tokens(usage.total()))
}
