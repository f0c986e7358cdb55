//! An agent's tool calls as events tell them: a cell for each, from its start to its end.
//!
//! Owns the cells of calls. Leaves their lines to the views. Invariant: a call is in flight from its start to its end.

use std::time::{Duration, Instant};

use super::{AgentView, TAIL_CAP, lines_before};
use crate::agent::{ToolEvent, changed_words};
use crate::app::agents::cells::{CellKind, ToolCell, ToolState, clean_view};
use crate::app::state::Phase;
use crate::message::format::counted;
use crate::message::{ResultPart, ToolResult, reveal_line, sanitize, sanitize_line};
use crate::tool::{CommandEvent, ToolView};

/// Bytes kept of what a command of the user's own prints.
const OWN_CAP: usize = 32 * 1024;

impl AgentView {
    /// Takes in what happens to a call.
    pub(super) fn tool_event(&mut self, event: &ToolEvent, now: Instant) {
        match event {
            ToolEvent::Started { call, title } => self.tool_started(&call.id, &call.name, title, now),
            ToolEvent::Progress { call_id, tail } => self.tool_progress(call_id, tail),
            ToolEvent::Changed { call, title, by_program } => self.tool_changed(&call.id, title, *by_program),
            ToolEvent::Ended { result, summary, view, .. } => {
                self.tool_ended(result, summary, view.as_ref(), now);
            }
            ToolEvent::ApprovalRequested { request } => {
                self.change_tool(&request.id.call_id, |tool| tool.state = ToolState::Asking);
            }
            ToolEvent::ApprovalResolved { id, .. } => {
                self.change_tool(&id.call_id, |tool| tool.state = ToolState::Running { since: now });
            }
            ToolEvent::Refused { .. } | ToolEvent::TakenDown { .. } => {}
        }
    }

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
            pictures: Vec::new(),
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
        let picture = |part: &ResultPart| if let ResultPart::Attached { number } = part { Some(*number) } else { None };
        let pictures = result.content.iter().filter_map(picture).collect();
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
            tool.pictures = pictures;
        });
        self.running.retain(|(id, _)| *id != result.call_id);
        if self.running.is_empty() {
            self.enter(Phase::Thinking, now);
        }
    }

    /// Shows what a hook has made of a call, or what its program says of it now.
    pub(super) fn tool_changed(&mut self, call_id: &str, title: &str, by_program: bool) {
        let title = changed_words(title, by_program);
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

    /// Takes in what happens to a command of the user's own, which has a cell like a call's.
    pub(super) fn command_event(&mut self, event: &CommandEvent, now: Instant) {
        match event {
            CommandEvent::Started { command_id, command, by_user: true } => {
                let cell = self.cells.push(CellKind::Tool(Box::new(ToolCell {
                    call_id: String::new(),
                    name: "!".to_owned(),
                    title: reveal_line(command).into_owned(),
                    state: ToolState::Running { since: now },
                    summary: String::new(),
                    tail: String::new(),
                    lines_before: 0,
                    view: None,
                    pictures: Vec::new(),
                })));
                self.own_commands.push((command_id.clone(), cell));
            }
            CommandEvent::Started { .. } | CommandEvent::Matched { .. } => {}
            CommandEvent::Output { command_id, text } => self.change_own(command_id, |tool| {
                tool.tail.push_str(&sanitize(text));
                let from = tool.tail.ceil_char_boundary(tool.tail.len().saturating_sub(OWN_CAP));
                tool.tail.drain(..from);
            }),
            CommandEvent::Ended { command_id, how, is_error, tail, lines, .. } => {
                self.change_own(command_id, |tool| {
                    let printed = std::mem::take(&mut tool.tail);
                    let text = if printed.is_empty() { sanitize(tail).into_owned() } else { printed };
                    tool.state = match tool.state {
                        _ if *is_error => ToolState::Failed,
                        ToolState::Running { since } => ToolState::Done { took: now.saturating_duration_since(since) },
                        _ => ToolState::Done { took: Duration::ZERO },
                    };
                    tool.summary = format!("{}, {}", sanitize_line(how), counted(*lines, "line"));
                    tool.lines_before = lines.saturating_sub(text.lines().count());
                    tool.view = Some(ToolView::Output { text });
                });
                self.own_commands.retain(|(id, _)| id != command_id);
            }
        }
    }

    /// Notes that the commands of the user's own that ran ended with an earlier run of the program.
    pub(in crate::app) fn cut_off_commands(&mut self) {
        for (_, cell) in std::mem::take(&mut self.own_commands) {
            self.cells.change(cell, |kind| {
                if let CellKind::Tool(tool) = kind {
                    tool.state = ToolState::CutOff;
                }
            });
        }
    }

    fn change_own(&mut self, id: &str, change: impl FnOnce(&mut ToolCell)) {
        let Some(cell) = self.own_commands.iter().find(|(own, _)| own == id).map(|(_, cell)| *cell) else { return };
        self.cells.change(cell, |kind| {
            if let CellKind::Tool(tool) = kind {
                change(tool);
            }
        });
    }
}
