//! The sessions to go on with.
//!
//! Owns the list and the words of its rows. Leaves finding and opening sessions to the front end. Invariant: no session is
//! left for another one while anything runs.

use crate::app::command::cost_words;
use crate::app::lists::{self, ListCell, ListEntry, ListStyle, age, cell};
use crate::app::{App, Effect, ListPopup, Popup};
use crate::message::format::counted;
use crate::message::sanitize_line;
use crate::session::SessionSummary;

/// What can be chosen, the latest first; `None` until it was listed.
#[derive(Debug, Default)]
pub(in crate::app) struct SessionChoices {
    sessions: Option<Vec<SessionSummary>>,
}

impl SessionChoices {
    pub(in crate::app) fn listed(&mut self, sessions: Vec<SessionSummary>) {
        self.sessions = Some(sessions);
    }

    fn matching<'a>(&'a self, query: &str) -> impl Iterator<Item = &'a SessionSummary> {
        let words = query.to_lowercase();
        self.sessions.iter().flatten().filter(move |session| session.contains(&words))
    }
}

/// Opens the list of sessions, and looks for them.
pub(in crate::app) fn open(app: &mut App) {
    app.out.push(Effect::ListSessions);
    app.overlay.open(Popup::List(ListPopup::new(&lists::SESSIONS, 0)));
}

/// Returns the rows of the sessions that match a query.
pub(in crate::app) fn entries(app: &App, query: &str, columns: u16) -> Vec<ListEntry> {
    let row = |session: &SessionSummary| {
        let mark = match (session.is_open, session.is_interrupted) {
            (true, _) => "open",
            (false, true) => "interrupted",
            (false, false) => "",
        };
        let folder = session.folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = sanitize_line(&folder).into_owned();
        let mut cells = vec![cell(age(session.age.as_secs()), ListStyle::Muted).wide(10)];
        if columns >= 70 {
            let agents = if session.agents == 0 { String::new() } else { counted(session.agents, "agent") };
            let cost = session.spent.cost_usd.filter(|cost| *cost > 0.0).map(|_| cost_words(&session.spent));
            cells.push(cell(folder, ListStyle::Faint).wide(14));
            cells.push(cell(format!(" {agents}"), ListStyle::Muted).wide(12));
            cells.push(cell(cost.unwrap_or_default(), ListStyle::Muted).wide(10));
            cells.push(cell(mark, ListStyle::Accent).wide(12));
        } else if !mark.is_empty() {
            cells.push(cell(format!("{mark} "), ListStyle::Accent));
        }
        cells.push(ListCell { gives_way: true, ..cell(session.title.clone(), ListStyle::Text) });
        ListEntry::new(session.id.clone(), cells)
    };
    app.sessions.matching(query).map(row).collect()
}

/// Says how the chosen session ended.
pub(in crate::app) fn head(app: &App) -> String {
    let list = app.overlay.list();
    let chosen = list.and_then(|list| app.sessions.matching(list.query.text()).nth(list.chosen));
    match (&app.sessions.sessions, chosen) {
        (None, _) => "looking …".to_owned(),
        (Some(_), Some(session)) => format!("{}: {}", session.short_id(), session.last_words),
        (Some(_), None) => String::new(),
    }
}

/// Goes on with the chosen session, in place of the present one.
pub(in crate::app) fn accept(app: &mut App, list: &ListPopup) {
    let Some(session) = app.sessions.matching(list.query.text()).nth(list.chosen) else { return };
    if session.is_open {
        app.out.warn("that session is this one, or is open elsewhere");
    } else if app.agents.is_busy() {
        app.out.warn(format!("still running: {}; wait or stop, then choose again", app.agents.running_words()));
    } else {
        let id = session.id.clone();
        app.out.push(Effect::OpenSession(id));
    }
}
