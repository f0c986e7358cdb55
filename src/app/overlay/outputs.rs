//! Whole outputs of tool calls, summaries, and whole messages that are shown in part.
//!
//! Owns which of them can be opened and the text that is open. Leaves reading the log to `tui`. Invariant: what the log
//! does not hold is shown as far as it is known, and it is said that this is not all.

use super::list::{ListCell, ListEntry, ListPopup, ListStyle, OUTPUTS, cell};
use super::popup::Popup;
use crate::app::input::Handled;
use crate::app::{AgentView, App, CellId, CellKind, Effect, Focus, LogMatch, LogNews, LogRequest, LogSpan, ToolState};
use crate::message::{AgentId, sanitize};
use crate::tool::ToolView;

/// Most outputs to choose from.
const MAX_ENTRIES: usize = 200;
/// Lines from which on a message is worth a view of its own.
const LONG_MESSAGE: usize = 12;

/// What can be opened.
struct Source<'a> {
    title: String,
    /// What came of it, in a few words.
    summary: String,
    text: &'a str,
    /// The call whose output is in the log.
    call_id: Option<&'a str>,
}

impl Source<'_> {
    fn opened(self) -> Popup {
        let call_id = self.call_id.map(str::to_owned);
        Popup::Output { title: self.title, text: self.text.to_owned(), call_id, scroll: 0 }
    }
}

/// Returns what can be opened of an agent, newest first.
fn sources(agent: &AgentView) -> impl Iterator<Item = Source<'_>> {
    agent.cells.iter().rev().filter_map(|(_, cell)| of_cell(&cell.kind)).take(MAX_ENTRIES)
}

fn of_cell(kind: &CellKind) -> Option<Source<'_>> {
    match kind {
        CellKind::Tool(tool) if matches!(tool.state, ToolState::Done { .. } | ToolState::Failed) => {
            let text = match &tool.view {
                Some(ToolView::Output { text }) => text.as_str(),
                _ => "",
            };
            let title = format!("{} {}", tool.name, tool.title);
            // That of a command of the user's own is all here.
            let call_id = Some(tool.call_id.as_str()).filter(|id| !id.is_empty());
            Some(Source { title, summary: tool.summary.clone(), text, call_id })
        }
        CellKind::Compacted { words, text } => Some(Source {
            title: "summary of the conversation".to_owned(),
            summary: words.clone(),
            text,
            call_id: None,
        }),
        CellKind::User { text } if text.lines().count() > LONG_MESSAGE => {
            let first = text.lines().next().unwrap_or_default();
            let summary = format!("{} lines", text.lines().count());
            Some(Source { title: format!("message: {first}"), summary, text, call_id: None })
        }
        _ => None,
    }
}

fn looked_at(app: &App) -> Option<&AgentView> {
    app.agents.get(app.view.scrolled())
}

/// Opens the large paste in the message, while one writes; else the list of outputs of the agent that is looked at.
pub(in crate::app) fn open(app: &mut App) -> Handled {
    if app.view.focus() == Focus::Composer && !app.overlay.is_open() {
        let Some((label, text)) = app.messages.composer().pasted() else { return Handled::Ignored };
        let (title, text) = (label.to_owned(), text.to_owned());
        app.overlay.open(Popup::Output { title, text, call_id: None, scroll: 0 });
        return Handled::Consumed;
    }
    if looked_at(app).is_some_and(|agent| sources(agent).next().is_some()) {
        app.overlay.open(Popup::list(&OUTPUTS));
    } else {
        app.out.inform("no output to open yet");
    }
    Handled::Consumed
}

pub(in crate::app) fn entries(app: &App, query: &str, _: u16) -> Vec<ListEntry> {
    let Some(agent) = looked_at(app) else { return Vec::new() };
    let row = |(_, source): (usize, Source<'_>)| {
        let title = ListCell { gives_way: true, ..cell(source.title, ListStyle::Text) };
        let id = format!("{:?}", source.call_id);
        ListEntry::new(id, vec![title, cell(format!("  {}", source.summary), ListStyle::Muted)])
    };
    matching(agent, query).map(row).collect()
}

fn matching<'a>(agent: &'a AgentView, query: &str) -> impl Iterator<Item = (usize, Source<'a>)> {
    let query = query.to_lowercase();
    sources(agent).enumerate().filter(move |(_, source)| source.title.to_lowercase().contains(&query))
}

/// Shows the chosen one: at once what is known of it, and all of it when it is read.
pub(in crate::app) fn accept(app: &mut App, list: &ListPopup) {
    let Some(agent) = looked_at(app) else { return };
    let id = agent.id;
    let opened = matching(agent, list.query.text()).nth(list.chosen).map(|(_, source)| source.opened());
    if let Some(opened) = opened {
        show(app, id, opened);
    }
}

/// Opens what stands in this cell of an agent's transcript, if it can be opened.
pub(in crate::app) fn open_cell(app: &mut App, id: AgentId, cell: CellId) {
    let agent = app.agents.get(id);
    let source = agent.and_then(|agent| of_cell(&app.view.story(agent).get(cell)?.kind));
    if let Some(opened) = source.map(Source::opened) {
        show(app, id, opened);
    }
}

fn show(app: &mut App, agent: AgentId, opened: Popup) {
    if let Popup::Output { call_id: Some(call_id), .. } = &opened {
        let name = app.agents.get(agent).unwrap_or(app.agents.main()).name.clone();
        app.out.push(Effect::ReadLog(LogRequest { agent, name, span: LogSpan::Output(call_id.clone()) }));
    }
    app.overlay.open(opened);
}

/// Takes in an output that was read from the log.
pub(in crate::app) fn read(app: &mut App, news: LogNews) {
    let LogSpan::Output(read) = &news.span else { return };
    let Some(Popup::Output { text, call_id: Some(call_id), .. }) = app.overlay.popup_mut() else { return };
    if call_id != read {
        return;
    }
    match news.found {
        LogMatch::Output(whole) => *text = sanitize(&whole).into_owned(),
        _ if text.is_empty() => "This output is not in the session log.".clone_into(text),
        _ => text.insert_str(0, "(only the end; the rest is not in the session log)\n"),
    }
}
