//! What every view needs in order to draw: colours, signs, the present, and small shared pieces of text.
//!
//! Owns the spelling of durations, counts and states. Invariant: a counter has a fixed width, so that nothing moves
//! while it counts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::gallery::Gallery;
use super::highlight::Highlighter;
use super::theme::{Glyphs, Theme};
use super::wrap::{fit, pad, width};
use crate::agent::RunMode;
use crate::app::layout::Regions;
use crate::app::{AgentState, AgentView, App, Severity, StateSign, WorktreeState, WorktreeView};
use crate::message::format::tokens;
use crate::message::{AgentId, Usage};

/// Widest type that has a column of its own.
const WIDEST_TYPE: usize = 18;
/// Columns that descriptions have before types stand behind them: one looks for what an agent does.
const SHORTEST_DESCRIPTION: usize = 24;

#[derive(Clone, Copy)]
pub(super) struct RenderContext<'a> {
    pub app: &'a App,
    pub theme: &'a Theme,
    pub glyphs: &'a Glyphs,
    pub highlighter: &'a Highlighter,
    pub gallery: &'a Gallery,
    /// Where everything stands in this frame.
    pub regions: &'a Regions,
}

impl RenderContext<'_> {
    /// Returns `true` if this frame shows an agent's pane, or its title.
    pub(super) fn is_in_sight(&self, agent: AgentId) -> bool {
        self.regions.pane(agent).is_some()
    }

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
        self.felt(state.row().severity)
    }

    /// Returns counts with their words, as many as fit: `3 running · 1 queued`.
    pub(super) fn counts(
        &self,
        parts: impl Iterator<Item = (usize, &'static str, Severity)>,
        columns: usize,
    ) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let mut left = columns;
        for (count, word, severity) in parts {
            let text = format!("{count} {word}");
            let gap = if spans.is_empty() { 0 } else { 3 };
            if width(&text) + gap > left {
                break;
            }
            left -= width(&text) + gap;
            if gap > 0 {
                spans.push(Span::styled(format!(" {} ", self.glyphs.neutral), self.theme.faint));
            }
            spans.push(Span::styled(text, self.felt(severity)));
        }
        spans
    }

    /// Returns the style of a severity.
    fn felt(&self, severity: Severity) -> Style {
        match severity {
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

    /// Returns how many columns the types of agents get behind descriptions: as many as the widest wants, or none
    /// where descriptions need them.
    pub(super) fn type_columns(&self, room: usize) -> usize {
        let widest = self.app.agents().widest_type().min(WIDEST_TYPE) + 2;
        if room >= SHORTEST_DESCRIPTION + widest { widest } else { 0 }
    }

    /// Returns an agent's type in its colour, in so many columns.
    pub(super) fn type_of(&self, agent: &AgentView, columns: usize) -> Span<'static> {
        let kind = if agent.agent_type.is_empty() { &agent.name } else { &agent.agent_type };
        let kind = if columns > 0 { pad(kind, columns) } else { String::new() };
        Span::styled(kind, self.agent(agent))
    }

    /// Returns an agent's description in at most so many columns, and the mark of one whose parent does not wait for
    /// it: a sign, and a word where there is room for it.
    pub(super) fn description(&self, agent: &AgentView, room: usize) -> (String, String) {
        let sign = format!("  {}", self.glyphs.background);
        if agent.has_ended() || agent.run_mode == RunMode::Foreground || room < width(&sign) {
            return (fit(&self.marked(agent), room), String::new());
        }
        let description = fit(&self.marked(agent), room - width(&sign));
        let word = " background";
        let fits = width(&description) + width(&sign) + width(word) <= room;
        (description, if fits { sign + word } else { sign })
    }

    /// Returns an agent's description, with a mark before it where what it does is not in the project, and the launcher that
    /// runs it somewhere else.
    fn marked(&self, agent: &AgentView) -> String {
        let is_apart = |apart: &&WorktreeView| matches!(apart.state, WorktreeState::InUse | WorktreeState::Kept);
        let sign = agent.worktree.as_ref().filter(is_apart).map(|_| format!("{} ", self.glyphs.apart));
        let place = agent.launcher.as_ref().map(|launcher| format!("on {launcher}: "));
        format!("{}{}{}", sign.unwrap_or_default(), place.unwrap_or_default(), agent.description)
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

/// Spells the tokens of a usage in at most five columns, seven if they are unknown: an estimate without the part that is not certain anyway.
pub(super) fn used_in_short(usage: &Usage) -> String {
    let thousands = |count: u64| tokens(count.saturating_mul(1_000)).replace(".0", "");
    match (usage.mark(), usage.total()) {
        ("", _) | (_, ..10_000) => used(usage),
        ("≥", total) => format!("≥{}", thousands(total / 1_000)),
        (mark, total) => format!("{mark}{}", thousands(total.div_ceil(1_000))),
    }
}

/// Spells the tokens of a usage in at most seven columns, with a sign if they are an estimate or not all.
pub(super) fn used(usage: &Usage) -> String {
    usage.spelled(tokens)
}
