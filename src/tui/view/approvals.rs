//! The open question: who asks, what would happen, and the keys that answer.
//!
//! Owns the drawing of one question. Leaves the queue to `app`. Invariant: the keys are visible whatever the length
//! of the details.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::diff::diff_lines;
use super::look::Look;
use super::pane_strip::rule;
use super::wrap::{fit_line, wrap_indented};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::{Drawn, Focus};
use crate::permission::{AccessKind, ApprovalRequest, Preview};

/// Lines of a diff that can be scrolled through.
const DIFF_LINES: usize = 400;

/// Draws the first question.
pub(super) fn draw(look: &Look<'_>, area: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let Some(request) = look.app.approvals().top().filter(|_| !area.is_empty()) else { return };
    if area.height == 1 {
        let mut spans = heading(request, look);
        spans.push(Span::styled(format!("  {}", request.title.lines().next().unwrap_or_default()), look.theme.text));
        buf.set_line(area.x, area.y, &fit_line(&Line::from(spans), usize::from(area.width)), area.width);
        return;
    }
    let count = look.app.approvals().len();
    let mut words = heading(request, look);
    if count > 1 {
        words.push(Span::styled(format!("  1 of {count}"), look.theme.muted));
    }
    rule(Rect { height: 1, ..area }, words, Focus::Approvals, look, buf);
    let body = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(1), height: area.height - 2 };
    let details = details(request, body.width.saturating_sub(1), look);
    let end = details.len().saturating_sub(usize::from(body.height));
    let from = look.app.approvals().scroll.min(end);
    for (line, y) in details.iter().skip(from).zip(body.y..body.bottom()) {
        buf.set_line(body.x, y, line, body.width);
    }
    let unseen = details.len().saturating_sub(from + usize::from(body.height));
    if look.app.popup().is_none() {
        drawn.popup_end = end;
    }
    let keys = keys(request, unseen, look);
    buf.set_line(
        area.x + 1,
        area.bottom() - 1,
        &fit_line(&keys, usize::from(area.width.saturating_sub(2))),
        area.width,
    );
}

/// Returns who asks for what.
fn heading(request: &ApprovalRequest, look: &Look<'_>) -> Vec<Span<'static>> {
    let theme = look.theme;
    let verb = match request.access.kind {
        AccessKind::Execute { .. } => "wants to run",
        AccessKind::Write { .. } => "wants to change",
        AccessKind::Read { .. } => "wants to read",
        AccessKind::Nothing => "wants to use",
    };
    vec![
        Span::styled(format!("{} ", look.glyphs.attention), theme.warning),
        Span::styled(look.app.agents().lineage(request.id.agent), theme.approval),
        Span::styled(format!(" {verb}  "), theme.text),
        Span::styled(request.access.tool.clone(), theme.tool),
    ]
}

/// Returns what would happen, in full.
fn details(request: &ApprovalRequest, columns: u16, look: &Look<'_>) -> Vec<Line<'static>> {
    let theme = look.theme;
    let indent = Line::from("  ");
    let mut lines: Vec<Line<'static>> = Vec::new();
    let shell = matches!(request.access.kind, AccessKind::Execute { .. });
    let sign = if shell { Line::from(Span::styled("$ ", theme.faint)) } else { indent.clone() };
    for (at, row) in request.title.lines().enumerate() {
        let first = if at == 0 { &sign } else { &indent };
        lines.extend(wrap_indented(&Line::styled(row.to_owned(), theme.title), columns.max(4), first, &indent));
    }
    match &request.preview {
        Some(Preview::Diff(diff)) => {
            lines.extend(diff_lines(diff, columns.saturating_sub(2).max(1), theme, DIFF_LINES).into_iter().map(
                |line| {
                    let mut line = line;
                    line.spans.insert(0, Span::raw("  "));
                    line
                },
            ));
        }
        Some(Preview::Note { text }) => {
            let text = Line::styled(text.clone(), theme.muted);
            lines.extend(wrap_indented(&text, columns.max(4), &indent, &indent));
        }
        None => {}
    }
    lines
}

/// Returns the line of keys, and what "always" would allow.
fn keys(request: &ApprovalRequest, unseen: usize, look: &Look<'_>) -> Line<'static> {
    let theme = look.theme;
    let focused = look.app.focus() == Focus::Approvals;
    let context = if focused { Context::Approvals } else { Context::Global };
    let chord = |action| look.app.keymap().chord_of(context, action);
    let mut spans = Vec::new();
    let mut add = |chord: Option<String>, word: String| {
        if let Some(chord) = chord {
            spans.push(Span::styled(chord, theme.accent));
            spans.push(Span::styled(format!(" {word}   "), theme.text));
        }
    };
    add(chord(Action::ApproveOnce), "once".to_owned());
    if request.grant.is_some() {
        add(chord(Action::ApproveAlways), "always".to_owned());
    }
    add(chord(Action::Deny), "no".to_owned());
    if focused {
        add(chord(Action::DenyWithComment), "no, because …".to_owned());
    } else {
        add(look.app.keymap().chord_of(Context::Global, Action::FocusNext), "more".to_owned());
    }
    if unseen > 0 {
        let chord = look.app.keymap().chord_of(Context::Approvals, Action::ShowAll).filter(|_| focused);
        let text = format!("{}{unseen} more lines   ", chord.map(|chord| format!("{chord} ")).unwrap_or_default());
        spans.push(Span::styled(text, theme.warning));
    }
    if let Some(grant) = &request.grant {
        let grant = crate::message::plain_line(&grant.to_string()).into_owned();
        spans.push(Span::styled(format!("always: {}", super::wrap::fit(&grant, 60)), theme.muted));
    }
    Line::from(spans)
}
