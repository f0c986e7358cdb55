//! The open question: who asks, what would happen, why it is asked, and the keys that answer.
//!
//! Owns the drawing of one question, and which of its rows a frame showed. Leaves the queue and the record of what was seen
//! to `app`. Invariants: the keys are visible whatever the length of the details, and what an answer would allow stands
//! before them; a row counts as shown only if all of its columns were.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::diff::whole_diff;
use super::pane_strip::rule;
use super::render_context::{RenderContext, put_lines};
use super::wrap::{fit_line, indented, spans_width, width};
use crate::app::action::Action;
use crate::app::keymap::Context;
use crate::app::question::{
    MAX_NOTE_ROWS, MIN_COLUMNS, NOTE_INDENT, QuestionSeen, choices, is_said, shown_line, word_row_ends,
};
use crate::app::terms::{question_terms, question_verb};
use crate::app::{Drawn, Expanded, Focus};
use crate::message::shown_name;
use crate::permission::{AccessKind, ApprovalId, ApprovalRequest, Preview};

/// Rows of an act that stand before the reasons where not all have room.
const ACT_ROWS: usize = 3;

/// The rows of the question that was drawn last, which may be twenty thousand.
#[derive(Default)]
pub(super) struct QuestionRows {
    /// The question, how often reports were edited, what answers allow, and the width they are of.
    of: Option<(ApprovalId, usize, String, u16)>,
    rows: Vec<Row>,
}

impl QuestionRows {
    fn of(&mut self, request: &ApprovalRequest, columns: u16, ctx: &RenderContext<'_>) -> &[Row] {
        let edits = ctx.app.approvals().edits();
        let terms = question_terms(ctx.app, request);
        let is_same = self.of.as_ref().is_some_and(|(id, edit, of, width)| {
            *id == request.id && *edit == edits && *of == terms && *width == columns
        });
        if !is_same {
            self.rows = details(request, &terms, columns, ctx);
            self.of = Some((request.id.clone(), edits, terms, columns));
        }
        &self.rows
    }
}

/// Draws the question that is shown, and notes what of it can be seen.
pub(super) fn draw(kept: &mut QuestionRows, ctx: &RenderContext<'_>, area: Rect, buf: &mut Buffer, drawn: &mut Drawn) {
    let Some(request) = ctx.app.approvals().shown() else {
        *kept = QuestionRows::default();
        return;
    };
    if area.is_empty() {
        return;
    }
    let rows = kept.of(request, area.width.saturating_sub(2), ctx);
    let height = area.height.saturating_sub(2);
    let body = Rect { x: area.x + 1, y: area.y + 1, width: area.width.saturating_sub(1), height };
    let view = Part::of(rows, usize::from(height), area, ctx);
    if area.height == 1 {
        let mut spans = heading(request, usize::from(area.width) / 2, ctx);
        spans.push(Span::styled(format!("  {}", request.title.lines().next().unwrap_or_default()), ctx.theme.text));
        buf.set_line(area.x, area.y, &fit_line(&Line::from(spans), usize::from(area.width)), area.width);
    } else {
        draw_frame(request, area, ctx, buf);
        put_lines(&view.lines(rows, ctx), body, buf);
        let row = Rect { x: area.x + 1, y: area.bottom() - 1, width: area.width.saturating_sub(2), height: 1 };
        draw_keys(request, &view, row, ctx, buf, drawn);
    }
    if ctx.app.popup().is_none() {
        drawn.popup_end = view.end;
    }
    drawn.question = Some(view.seen(request, area.width));
}

/// Draws the frame of a question: who asks, and its place among the others.
fn draw_frame(request: &ApprovalRequest, area: Rect, ctx: &RenderContext<'_>, buf: &mut Buffer) {
    let (place, count) = (ctx.app.approvals().place() + 1, ctx.app.approvals().len());
    let mut words = heading(request, usize::from(area.width).saturating_sub(16), ctx);
    if count > 1 {
        words.push(Span::styled(format!("  {place} of {count}"), ctx.theme.muted));
    }
    rule(Rect { height: 1, ..area }, words, Focus::Approvals, ctx, buf);
}

struct Row {
    line: Line<'static>,
    part: RowPart,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowPart {
    /// What would be done.
    Act,
    /// What answers would allow, and why it is asked.
    Terms,
    /// What only stands around it.
    Aside,
}

impl Row {
    fn act(line: Line<'static>) -> Self {
        Self { line, part: RowPart::Act }
    }

    fn aside(line: Line<'static>) -> Self {
        Self { line, part: RowPart::Aside }
    }

    /// Returns `true` if a yes is about it.
    fn counts(&self) -> bool {
        self.part != RowPart::Aside
    }
}

/// What of the details is on the screen.
struct Part {
    shown: Vec<usize>,
    /// Those of them of which no column is cut.
    whole: Vec<usize>,
    /// Before which of them a row says how many are left out, and how many.
    gap: Option<(usize, usize)>,
    /// How many rows of what would be done were never on the screen, and the first of them.
    unseen: usize,
    next: usize,
    /// How many rows are left out, or stand below.
    hidden: usize,
    /// Last row that can come first.
    end: usize,
    has_room: bool,
}

impl Part {
    /// Chooses the rows: in brief those of what would be done, of too many the first and the last.
    fn of(rows: &[Row], height: usize, area: Rect, ctx: &RenderContext<'_>) -> Self {
        let end = rows.len().saturating_sub(height);
        let approvals = ctx.app.approvals();
        let (shown, gap) = match approvals.expanded() {
            Expanded::Yes => {
                let from = approvals.scroll().min(end);
                ((from..rows.len().min(from + height)).collect(), None)
            }
            Expanded::No => brief(rows, height),
        };
        let has_room = height > 0 && area.width >= MIN_COLUMNS;
        let fits =
            |at: &usize| has_room && spans_width(&rows[*at].line.spans) <= usize::from(area.width.saturating_sub(1));
        let whole: Vec<usize> = shown.iter().copied().filter(fits).collect();
        let seen = approvals.seen();
        let is_seen =
            |at: &usize| whole.binary_search(at).is_ok() || seen.is_some_and(|seen| seen.contains(*at, area.width));
        let mut unseen = (0..rows.len()).filter(|at| rows[*at].counts() && !is_seen(at)).peekable();
        let next = unseen.peek().copied().unwrap_or(0).min(end);
        let unseen = unseen.count();
        let hidden = match (approvals.expanded(), shown.last()) {
            (Expanded::Yes, Some(last)) => rows.len() - last - 1,
            _ => rows.len() - shown.len(),
        };
        Self { shown, whole, gap, unseen, next, hidden, end, has_room }
    }

    fn lines(&self, rows: &[Row], ctx: &RenderContext<'_>) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (place, at) in self.shown.iter().enumerate() {
            if let Some((_, count)) = self.gap.filter(|(before, _)| *before == place) {
                let words = format!("  {} {}", ctx.glyphs.ellipsis, more_lines(count));
                lines.push(Line::styled(words, ctx.theme.warning));
            }
            lines.push(rows[*at].line.clone());
        }
        lines
    }

    fn seen(self, request: &ApprovalRequest, columns: u16) -> QuestionSeen {
        let rows = self.whole.into_iter().map(|at| at..at + 1).collect();
        let Self { unseen, next, has_room, .. } = self;
        QuestionSeen { id: request.id.clone(), columns, rows, unseen, next, has_room }
    }
}

/// Chooses the rows of a question in brief, and the place of the row that counts those between its head and its tail.
fn brief(rows: &[Row], height: usize) -> (Vec<usize>, Option<(usize, usize)>) {
    if rows.len() <= height {
        return ((0..rows.len()).collect(), None);
    }
    let of = |part| (0..rows.len()).filter(move |at| rows[*at].part == part);
    let (acts, terms): (Vec<usize>, Vec<usize>) = (of(RowPart::Act).collect(), of(RowPart::Terms).collect());
    if acts.len() + terms.len() <= height {
        let asides = of(RowPart::Aside).take(height - acts.len() - terms.len());
        let mut shown: Vec<usize> = acts.iter().chain(&terms).copied().chain(asides).collect();
        shown.sort_unstable();
        return (shown, None);
    }
    // Where there is little room, what is asked comes before why.
    let is_wide = height >= terms.len() + ACT_ROWS.min(acts.len());
    let (height, terms) = if is_wide { (height - terms.len(), terms) } else { (height, Vec::new()) };
    if acts.len() <= height {
        return ([acts, terms].concat(), None);
    }
    if height < 3 {
        return (acts[..height].to_vec(), None);
    }
    let head = height / 2;
    let tail = height - 1 - head;
    let left_out = acts.len() - head - tail;
    ([&acts[..head], &acts[acts.len() - tail..], &terms].concat(), Some((head, left_out)))
}

fn more_lines(count: usize) -> String {
    format!("{count} more {}", if count == 1 { "line" } else { "lines" })
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
fn heading(request: &ApprovalRequest, columns: usize, ctx: &RenderContext<'_>) -> Vec<Span<'static>> {
    let theme = ctx.theme;
    let verb = question_verb(ctx.app, request);
    let what = match &request.access.kind {
        AccessKind::Reach { host, .. } => host.to_string(),
        AccessKind::Start { agent, .. } => shown_name(agent).into_owned(),
        _ if request.is_of_plan() || request.questions().is_some() => String::new(),
        _ => request.access.tool.clone(),
    };
    let taken = width(verb) + width(&what) + 5;
    let who = way(&ctx.app.agents().lineage(request.id.agent), columns.saturating_sub(taken));
    vec![
        Span::styled(format!("{} ", ctx.glyphs.attention), theme.warning),
        Span::styled(who, theme.approval),
        Span::styled(format!(" {verb}"), if verb.ends_with(':') { theme.warning } else { theme.text }),
        Span::raw(match () {
            () if what.is_empty() => "",
            () if verb.ends_with(':') => " ",
            () => "  ",
        }),
        Span::styled(what, theme.tool),
    ]
}

/// Returns what would happen, in full, in rows of so many columns.
fn details(request: &ApprovalRequest, terms: &str, columns: u16, ctx: &RenderContext<'_>) -> Vec<Row> {
    let theme = ctx.theme;
    let room = usize::from(columns.saturating_sub(2).max(1));
    let sign = match request.access.kind {
        AccessKind::Execute { .. } | AccessKind::Reach { .. } => "$ ",
        _ => "  ",
    };
    let mut rows: Vec<Row> = Vec::new();
    let title = if request.is_of_plan() { "" } else { request.title.as_str() };
    for text in title.lines() {
        for part in broken(text, room) {
            let before = Span::styled(if rows.is_empty() { sign } else { "  " }, theme.faint);
            rows.push(Row::act(Line::from(vec![before, Span::styled(part, theme.title)])));
        }
    }
    match &request.preview {
        Some(Preview::Diff(diff)) => {
            let changes = whole_diff(diff, columns.saturating_sub(2).max(1), theme).into_iter();
            let part = |changes| if changes { RowPart::Act } else { RowPart::Aside };
            rows.extend(changes.map(|row| Row { line: indented(row.line, 2), part: part(row.changes) }));
        }
        Some(Preview::Note { text }) if is_said(request) => {
            // A mark on each row: what the model says must not pass for a row of the question.
            let parts = broken(text, usize::from(columns).saturating_sub(NOTE_INDENT));
            let cut = parts.len() > MAX_NOTE_ROWS;
            for (at, part) in parts.into_iter().take(MAX_NOTE_ROWS).enumerate() {
                let label = if at == 0 { "  says " } else { "       " };
                let end = if cut && at + 1 == MAX_NOTE_ROWS { ctx.glyphs.ellipsis } else { "" };
                let words =
                    Span::styled(format!("{}{end}", part.trim_end()), theme.muted.add_modifier(Modifier::ITALIC));
                let bar = Span::styled(format!("{label}{} ", ctx.glyphs.quote), theme.faint);
                rows.push(Row::aside(Line::from(vec![bar, words])));
            }
        }
        Some(Preview::Note { text }) => {
            let lines = broken(text, room).into_iter();
            rows.extend(lines.map(|part| Row::act(Line::styled(format!("  {part}"), theme.muted))));
        }
        Some(Preview::Questions { questions }) => {
            for part in questions.iter().flat_map(|question| broken(&choices(question), room)) {
                rows.push(Row::aside(Line::styled(format!("  {part}"), theme.muted)));
            }
        }
        Some(Preview::Report { text } | Preview::Plan { text }) => {
            let lines = text.lines().flat_map(|line| broken(line, room));
            rows.extend(lines.map(|part| Row::act(Line::styled(format!("  {part}"), theme.text))));
        }
        None => {}
    }
    // What an answer would allow, and why it is asked, is part of what is answered.
    let terms = terms.lines().flat_map(|line| broken(line, room));
    rows.extend(terms.map(|part| {
        let line = Line::styled(format!("  {part}"), theme.muted);
        Row { line, part: RowPart::Terms }
    }));
    rows
}

/// Returns a line of text in rows, with every character of it.
fn broken(text: &str, columns: usize) -> Vec<String> {
    let text = shown_line(text);
    let mut from = 0;
    let cut = |end: usize| {
        let row = text[from..end].to_owned();
        from = end;
        row
    };
    word_row_ends(&text, columns).into_iter().map(cut).collect()
}

/// Draws the line of keys, and notes where each answer stands, for the mouse. While something is hidden, the key for a yes
/// shows it.
fn draw_keys(
    request: &ApprovalRequest,
    view: &Part,
    row: Rect,
    ctx: &RenderContext<'_>,
    buf: &mut Buffer,
    drawn: &mut Drawn,
) {
    let theme = ctx.theme;
    let focused = ctx.app.focus() == Focus::Approvals;
    let context = if focused { Context::Approvals } else { Context::Global };
    let show = format!("show {}", more_lines(view.unseen));
    let more = more_lines(view.hidden);
    let (is_plan, asks) = (request.is_of_plan(), request.questions().is_some());
    let [yes, always, no, comment] = match () {
        () if is_plan => ["yes, ask", "accept edits", "keep planning", "with comment"],
        () if asks => ["answer", "", "no answer", "with comment"],
        () if request.is_of_report() => ["send", "session", "withhold", "with reason"],
        () => ["once", "session", "deny", "with reason"],
    };
    let wanted: &[(Action, &str)] = &[
        (Action::ApproveOnce, if view.unseen > 0 && !asks { &show } else { yes }),
        (Action::ApproveAlways, always),
        (Action::ApproveProject, "project"),
        (Action::Deny, no),
        (Action::DenyWithComment, comment),
        (Action::Editor, "edit"),
        (Action::FocusNext, "more"),
        (Action::ShowAll, &more),
        (Action::NextQuestion, "next"),
        (Action::ApproveEveryone, "all agents"),
    ];
    let mut spans = Vec::new();
    let mut column = 0;
    if !view.has_room {
        let words = "enlarge the terminal to allow  ";
        column = u16::try_from(width(words)).unwrap_or(u16::MAX);
        spans.push(Span::styled(words, theme.warning));
    }
    for (action, word) in wanted {
        let fits = match action {
            Action::ApproveOnce => view.has_room || asks,
            Action::ApproveAlways if is_plan => view.unseen == 0,
            Action::ApproveAlways | Action::ApproveEveryone | Action::ApproveProject => {
                request.grant.is_some() && view.unseen == 0
            }
            Action::FocusNext => !focused,
            Action::Editor => focused && (is_plan || request.is_of_report()),
            Action::ShowAll => view.hidden > 0 && view.unseen == 0,
            Action::NextQuestion => ctx.app.approvals().len() > 1,
            _ => true,
        };
        let chord = ctx.app.keymap().chord_of(context, *action);
        let Some(chord) = chord.or_else(|| (*action == Action::ShowAll).then(String::new)).filter(|_| fits) else {
            continue;
        };
        let shows = *action == Action::ShowAll || *action == Action::ApproveOnce && view.unseen > 0;
        let style = if shows { theme.warning } else { theme.text };
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
