//! The open question: who asks, what would happen, why it is asked, and the keys that answer.
//!
//! Owns the drawing of one question. Leaves the queue to `app`. Invariant: the keys are visible whatever the length
//! of the details, and what an answer would allow stands before them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::diff::whole_diff;
use super::look::Look;
use super::pane_strip::rule;
use super::wrap::{fit_line, width, wrap_indented};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::{Drawn, Focus};
use crate::message::plain_line;
use crate::permission::{AccessKind, ApprovalRequest, Grant, Preview};

/// Draws the question that is shown.
pub(super) fn draw(look: &Look<'_>, area: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let Some(request) = look.app.approvals().shown().filter(|_| !area.is_empty()) else { return };
    if area.height == 1 {
        let mut spans = heading(request, usize::from(area.width) / 2, look);
        spans.push(Span::styled(format!("  {}", request.title.lines().next().unwrap_or_default()), look.theme.text));
        buf.set_line(area.x, area.y, &fit_line(&Line::from(spans), usize::from(area.width)), area.width);
        return;
    }
    let (place, count) = (look.app.approvals().place() + 1, look.app.approvals().len());
    // The frame of a rule, and the place of the question.
    let mut words = heading(request, usize::from(area.width).saturating_sub(16), look);
    if count > 1 {
        words.push(Span::styled(format!("  {place} of {count}"), look.theme.muted));
    }
    rule(Rect { height: 1, ..area }, words, Focus::Approvals, look, buf);
    let inside = usize::from(area.width.saturating_sub(2));
    // Where there is one row for it, what is asked comes before why.
    let reasons = u16::from(area.height > 3);
    let height = area.height - 2 - reasons;
    let body = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(1), height };
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
    let why = Line::styled(format!("  {}", terms(request, look)), look.theme.muted);
    if reasons > 0 {
        buf.set_line(area.x + 1, body.bottom(), &fit_line(&why, inside), area.width);
    }
    let row = Rect { x: area.x + 1, y: area.bottom() - 1, width: area.width.saturating_sub(2), height: 1 };
    draw_keys(request, unseen, row, look, buf, drawn);
}

/// Returns the way down to an agent in so many columns: of a longer one, names in the middle are left out.
fn way(lineage: &str, columns: usize) -> String {
    const STEP: &str = " › ";
    if width(lineage) <= columns {
        return lineage.to_owned();
    }
    let names: Vec<&str> = lineage.split(STEP).collect();
    let first = names.first().copied().unwrap_or_default();
    let shortened = |from: usize| format!("{first}{STEP}…{STEP}{}", names[from..].join(STEP));
    let last = names.len().saturating_sub(1);
    let fitting = (2..=last).map(shortened).find(|text| width(text) <= columns);
    fitting.unwrap_or_else(|| names[last].to_owned())
}

/// Returns who asks for what, the way down to the agent shortened to fit into so many columns.
fn heading(request: &ApprovalRequest, columns: usize, look: &Look<'_>) -> Vec<Span<'static>> {
    let theme = look.theme;
    let verb = match request.access.kind {
        AccessKind::Execute { .. } => "wants to run",
        AccessKind::Write { .. } => "wants to change",
        AccessKind::Read { .. } => "wants to read",
        AccessKind::Nothing => "wants to use",
    };
    let taken = width(verb) + width(&request.access.tool) + 5;
    let who = way(&look.app.agents().lineage(request.id.agent), columns.saturating_sub(taken));
    vec![
        Span::styled(format!("{} ", look.glyphs.attention), theme.warning),
        Span::styled(who, theme.approval),
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
            lines.extend(whole_diff(diff, columns.saturating_sub(2).max(1), theme).into_iter().map(|mut line| {
                line.spans.insert(0, Span::raw("  "));
                line
            }));
        }
        Some(Preview::Note { text }) => {
            let text = Line::styled(text.clone(), theme.muted);
            lines.extend(wrap_indented(&text, columns.max(4), &indent, &indent));
        }
        None => {}
    }
    lines
}

/// Returns what the wider answers would allow, and why it is asked.
fn terms(request: &ApprovalRequest, look: &Look<'_>) -> String {
    let context = if look.app.focus() == Focus::Approvals { Context::Approvals } else { Context::Global };
    let chords: Vec<String> = [Action::ApproveAlways, Action::ApproveProject]
        .into_iter()
        .filter_map(|action| look.app.keymap().chord_of(context, action))
        .collect();
    let allows = match &request.grant {
        None => "can only be allowed once".to_owned(),
        Some(grant) => format!("{}: {}", chords.join(", "), covered(grant)),
    };
    // What a yes would allow comes first: it is not cut where there is little room.
    if request.reason.is_empty() { allows } else { format!("{allows} · {}", request.reason) }
}

/// Says what a grant covers.
fn covered(grant: &Grant) -> String {
    match grant {
        Grant::Tool(name) => format!("every use of {}", plain_line(name)),
        Grant::Command(_) => "exactly this command".to_owned(),
        Grant::Prefix(prefix) => format!("commands that begin with {}", plain_line(prefix)),
        Grant::Edits => "every edit of the project's files".to_owned(),
        Grant::Below(top) => format!("reading {} and what is below", plain_line(&top.to_string_lossy())),
    }
}

/// Draws the line of keys, and notes where each answer stands, for the mouse.
fn draw_keys(
    request: &ApprovalRequest,
    unseen: usize,
    row: Rect,
    look: &Look<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) {
    let theme = look.theme;
    let focused = look.app.focus() == Focus::Approvals;
    let context = if focused { Context::Approvals } else { Context::Global };
    let more = format!("{unseen} more {}", if unseen == 1 { "line" } else { "lines" });
    let wanted: &[(Action, &str)] = &[
        (Action::ApproveOnce, "once"),
        (Action::ApproveAlways, "session"),
        (Action::ApproveProject, "project"),
        (Action::Deny, "no"),
        (Action::DenyWithComment, "no, because"),
        (Action::FocusNext, "more"),
        (Action::ShowAll, &more),
        (Action::NextQuestion, "next"),
    ];
    let mut spans = Vec::new();
    let mut column = 0;
    for (action, word) in wanted {
        let fits = match action {
            Action::ApproveAlways | Action::ApproveProject => request.grant.is_some(),
            Action::FocusNext => !focused,
            Action::ShowAll => unseen > 0,
            Action::NextQuestion => look.app.approvals().len() > 1,
            _ => true,
        };
        let chord = look.app.keymap().chord_of(context, *action);
        let Some(chord) = chord.or_else(|| (*action == Action::ShowAll).then(String::new)).filter(|_| fits) else {
            continue;
        };
        let style = if *action == Action::ShowAll { theme.warning } else { theme.text };
        let text = if chord.is_empty() { (*word).to_owned() } else { format!(" {word}") };
        let columns = u16::try_from(width(&chord) + width(&text)).unwrap_or(u16::MAX);
        let place = Rect { x: row.x.saturating_add(column), y: row.y, width: columns, height: 1 };
        if place.right() <= row.right() {
            drawn.answers.push((place, *action));
        }
        column = column.saturating_add(columns + 2);
        spans.extend([Span::styled(chord, theme.accent), Span::styled(text, style), Span::raw("  ")]);
    }
    buf.set_line(row.x, row.y, &fit_line(&Line::from(spans), usize::from(row.width)), row.width);
}
