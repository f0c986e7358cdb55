//! An agent's tool calls as events tell them: a cell for each, from its start to its end.
//!
//! Owns the cells of calls. Leaves their lines to the views. Invariant: a call is in flight from its start to its end.

use std::time::{Duration, Instant};

use super::{AgentView, TAIL_CAP, lines_before};
use crate::app::agents::cells::{CellKind, ToolCell, ToolState, clean_view};
use crate::app::state::Phase;
use crate::message::{ToolResult, reveal_line, sanitize, sanitize_line};
use crate::tool::ToolView;

impl AgentView {
    pub(super) fn tool_started(&mut self, call_id: &str, name: &str, title: &str, now: Instant) {
        self.tools = self.tools.saturating_add(1);
        let cell = self.cells.push(CellKind::Tool(Box::new(ToolCell {
            call_id: call_id.to_owned(),
            name: sanitize_line(name).into_owned(),
            title: reveal_line(title).into_owned(),
            state: ToolState::Running { since: now },
            summary: String::new(),
            tail: String::new(),
            lines_before: 0,
            view: None,
        })));
        self.running.push((call_id.to_owned(), cell));
        self.enter(Phase::Tool, now);
    }

    pub(super) fn tool_progress(&mut self, call_id: &str, tail: &str) {
        let from = tail.ceil_char_boundary(tail.len().saturating_sub(TAIL_CAP));
        self.change_tool(call_id, |tool| tool.tail = sanitize(&tail[from..]).into_owned());
    }

    pub(super) fn tool_ended(&mut self, result: &ToolResult, summary: &str, view: Option<&ToolView>, now: Instant) {
        let view = view.cloned().map(clean_view);
        if let Some(ToolView::Todos { items }) = &view {
            self.todos.clone_from(items);
        }
        let before = match &view {
            Some(ToolView::Output { text }) => lines_before(&result.joined_text(), text),
            _ => 0,
        };
        self.change_tool(&result.call_id, |tool| {
            tool.lines_before = before;
            tool.state = match tool.state {
                _ if result.is_error => ToolState::Failed,
                ToolState::Running { since } => ToolState::Done { took: now.saturating_duration_since(since) },
                _ => ToolState::Done { took: Duration::ZERO },
            };
            tool.summary = sanitize_line(summary).into_owned();
            tool.tail = String::new();
            tool.view = view;
        });
        self.running.retain(|(id, _)| *id != result.call_id);
        if self.running.is_empty() {
            self.enter(Phase::Thinking, now);
        }
    }

    /// Shows what a hook has made of a call.
    pub(super) fn tool_changed(&mut self, call_id: &str, title: &str) {
        let title = format!("{} (changed by hook)", reveal_line(title));
        self.change_tool(call_id, |tool| tool.title = title);
    }

    pub(super) fn change_tool(&mut self, call_id: &str, change: impl FnOnce(&mut ToolCell)) {
        let Some(cell) = self.running.iter().find(|(id, _)| id == call_id).map(|(_, cell)| *cell) else { return };
        if self.cells.get(cell).is_some_and(|cell| matches!(cell.kind, CellKind::Tool(_))) {
            self.cells.change(cell, |kind| {
                if let CellKind::Tool(tool) = kind {
                    change(tool);
                }
            });
        }
    }
}
