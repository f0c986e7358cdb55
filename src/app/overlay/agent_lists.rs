//! The agents of the session, to choose the one that a command is about which names none.
//!
//! Owns which of them is chosen first. Leaves what is done with it to `command`. Invariant: no row moves while a list is
//! open, whatever the agents do meanwhile: each has them all.

use super::list::{AGENTS, ListKind};
use super::popup::Popup;
use crate::app::{AgentView, App, ListPopup};

pub(in crate::app) static STOP: ListKind = ListKind {
    title: |_| "stop an agent".to_owned(),
    accept_word: Some("stop"),
    accept: |app, list| run(app, list, "cancel"),
    ..AGENTS
};

pub(in crate::app) static WRAP_UP: ListKind = ListKind {
    title: |_| "wrap up an agent".to_owned(),
    accept_word: Some("wrap up"),
    accept: |app, list| run(app, list, "wrapup"),
    ..AGENTS
};

pub(in crate::app) static BACKGROUND: ListKind = ListKind {
    title: |_| "background or foreground".to_owned(),
    accept_word: Some("move"),
    accept: |app, list| run(app, list, "background"),
    ..AGENTS
};

pub(in crate::app) static RESUME: ListKind = ListKind {
    title: |_| "resume an agent".to_owned(),
    accept_word: Some("resume"),
    accept: |app, list| run(app, list, "resume"),
    ..AGENTS
};

/// Opens a list with the first agent chosen that fits, or says that none does.
pub(in crate::app) fn open(app: &mut App, kind: &'static ListKind, fits: fn(&AgentView) -> bool) {
    match app.agents.children().position(fits) {
        Some(first) => app.overlay.open(Popup::List(ListPopup::new(kind, first))),
        None => app.out.inform(format!("no agent to {}", kind.accept_word.unwrap_or_default())),
    }
}

/// Carries out a command with the chosen agent.
fn run(app: &mut App, list: &ListPopup, command: &str) {
    let chosen = app.agents.children().nth(list.chosen).map(|agent| agent.id);
    if let Some(id) = chosen {
        app.run_slash(&format!("{command} {id}"));
    }
}
