//! What actions and clicks do in the open popup.
//!
//! Owns moving, taking and leaving, alike for all popups. Leaves what an entry of a list does to its row in `list`.
//! Invariant: what a list does not offer means nothing there.

use ratatui::layout::Position;

use super::popup::Popup;
use super::{question_form, rewind, trust};
use crate::app::agent_files::FileRequest;
use crate::app::input::Handled;
use crate::app::{Action, App, Effect, LineEdit, Motion};

pub(in crate::app) fn act(app: &mut App, action: Action) -> Handled {
    if matches!(app.overlay.popup(), Some(Popup::Questions(_))) {
        return question_form::act(app, action);
    }
    let page = app.overlay.page();
    let step = match action {
        Action::MoveUp | Action::ScrollUp => -1,
        Action::MoveDown | Action::ScrollDown => 1,
        Action::PageUp => -page,
        Action::PageDown => page,
        Action::Top => isize::MIN,
        Action::Bottom => isize::MAX,
        Action::Search => {
            if let Some(Popup::Help { query, .. }) = app.overlay.popup_mut() {
                *query = Some(LineEdit::default());
            }
            return Handled::Consumed;
        }
        Action::Leave => {
            if let Some(Popup::Help { query: query @ Some(_), scroll }) = app.overlay.popup_mut() {
                (*query, *scroll) = (None, 0);
                return Handled::Consumed;
            }
            if let Some(Popup::Search { agent, before, .. }) = app.overlay.close() {
                let state = app.view.pane_mut(agent);
                (state.scroll, state.search) = *before;
            }
            return Handled::Consumed;
        }
        Action::Accept => {
            accept(app);
            return Handled::Consumed;
        }
        Action::Confirm if matches!(app.overlay.popup(), Some(Popup::Trust { .. })) => {
            trust::confirm(app);
            return Handled::Consumed;
        }
        Action::Confirm => {
            if let Some(Popup::DeleteAgent { path, .. }) = app.overlay.close() {
                app.out.push(Effect::AgentFiles(FileRequest::Delete(path)));
            }
            return Handled::Consumed;
        }
        Action::RewindBoth | Action::RewindConversation | Action::RewindFiles => {
            rewind::act(app, action);
            return Handled::Consumed;
        }
        _ => {
            let Some(list) = app.overlay.list() else { return Handled::Ignored };
            let (Some(act), chosen) = (list.act_of(action), list.chosen) else { return Handled::Ignored };
            act(app, chosen);
            return Handled::Consumed;
        }
    };
    let entries = app.overlay.list().map(|list| list.entries(app, u16::MAX).len());
    match (entries, app.overlay.list_mut()) {
        (Some(entries), Some(list)) => {
            list.chosen = list.chosen.saturating_add_signed(step).min(entries.saturating_sub(1));
        }
        _ => app.overlay.scroll(step),
    }
    Handled::Consumed
}

/// Looks at once for what is being typed into a search.
pub(in crate::app) fn typed(app: &mut App) {
    if let Some(Popup::Search { agent, query, before }) = app.overlay.popup() {
        let (agent, text, from) = (*agent, query.text().to_owned(), before.0.clone());
        app.view.drop_seek(&mut app.out);
        app.view.search_typed(agent, &text, &from);
    }
}

/// Takes the chosen entry of the popup, or what was typed into it.
fn accept(app: &mut App) {
    match app.overlay.close() {
        Some(Popup::List(list)) => (list.kind.accept)(app, &list),
        Some(Popup::Comment { id, text }) => {
            app.approvals.deny(id, text.text(), &mut app.out);
            app.leave_empty_regions();
        }
        Some(Popup::Search { agent, query, .. }) if !query.text().is_empty() => {
            app.view.pane_mut(agent).search = Some(query.text().to_owned());
            app.view.request_scroll(&app.agents, agent, Motion::FindLast, &mut app.out);
        }
        Some(Popup::Search { agent, before, .. }) => {
            let state = app.view.pane_mut(agent);
            (state.scroll, state.search) = (before.0, None);
        }
        _ => {}
    }
}

/// Takes the entry of the list in front that was clicked on. Where choosing shows something already, the second
/// click takes it.
pub(in crate::app) fn press(app: &mut App, at: Position) -> bool {
    let hit = app.pointer.entry(at);
    if app.overlay.wizard_is_open() {
        // What is filled in is not left for a click beside it.
        if let Some(entry) = hit {
            app.overlay.wizard_mut().click(entry, app.agent_files.listing(), &mut app.out);
        }
        return true;
    }
    if matches!(app.overlay.popup(), Some(Popup::Questions(_))) {
        // What is chosen is not left for a click beside it.
        if let Some(row) = hit {
            question_form::press(app, row);
        }
        return true;
    }
    let Some(entry) = hit else { return false };
    if let Some(list) = app.overlay.list_mut() {
        let known = std::mem::replace(&mut list.chosen, entry) == entry;
        if known || !list.kind.shows_choice {
            accept(app);
        }
        return true;
    }
    let completes = !app.overlay.is_open() && app.messages.composer().is_choosing();
    if completes {
        app.messages.composer_mut().take_completion(entry);
        app.edited();
    }
    completes
}
