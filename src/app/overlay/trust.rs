//! The question whether the user trusts what a folder brings.
//!
//! Owns when it is asked and what answers it. Leaves what there is to `permission`, and drawing to the views. Invariant: a
//! key says yes only to what has been seen, and only if it was not typed ahead.

use super::popup::Popup;
use crate::app::App;
use crate::permission::FolderTrust;
use crate::subagent::Command;

/// Takes in what the folder brings; asks at once if that is not trusted.
pub(in crate::app) fn found(app: &mut App, trust: &FolderTrust) {
    let before = app.status.trust.replace(trust.clone());
    // A list that has changed has to be read again.
    if before.as_ref().is_some_and(|before| before.brings != trust.brings)
        && matches!(app.overlay.popup(), Some(Popup::Trust { .. }))
    {
        app.overlay.open(Popup::Trust { scroll: 0, since: app.out.now() });
    }
    match before {
        None if !trust.waiting().is_empty() && !app.overlay.is_open() && app.playback.is_none() => ask(app),
        Some(before) if is_answer(&before, trust) => {
            // It stays in the conversation, below the line that said that it waits.
            let words = if trust.is_trusted { "Trusted, in use from now on" } else { "Not trusted, not used" };
            app.notice(&format!("{words}: {}.", trust.summary()));
        }
        _ => {}
    }
}

/// Returns `true` if the user has said something between the two; what has come or gone is no answer.
fn is_answer(before: &FolderTrust, now: &FolderTrust) -> bool {
    let is_same = before.brings == now.brings;
    before.is_trusted != now.is_trusted || is_same && !before.waiting().is_empty() && now.waiting().is_empty()
}

/// Opens the question, with all that the folder brings.
pub(in crate::app) fn ask(app: &mut App) {
    match &app.status.trust {
        Some(_) => app.overlay.open(Popup::Trust { scroll: 0, since: app.out.now() }),
        None => app.out.inform("this folder brings nothing that needs your trust"),
    }
}

/// Says yes, unless some of it is still hidden or the key came too early.
pub(in crate::app) fn confirm(app: &mut App) {
    let Some(Popup::Trust { scroll, since }) = app.overlay.popup() else { return };
    if *scroll < app.overlay.end() {
        app.overlay.scroll(app.overlay.page());
    } else if !app.approvals.lets_answer(*since) {
        app.out.inform("too early: read it first, then press the key again");
    } else {
        app.overlay.close();
        let trusted = app.status.trust.as_ref().map(|trust| trust.brings.clone()).unwrap_or_default();
        app.out.send(Command::TrustFolder { trusted });
    }
}

/// Says no.
pub(in crate::app) fn refuse(app: &mut App) {
    if app.status.trust.as_ref().is_some_and(|trust| trust.is_trusted) {
        app.out.send(Command::TrustFolder { trusted: Vec::new() });
    }
}
