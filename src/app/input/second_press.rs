//! Keys that do what they mean at the second press: interrupt, clear, quit.
//!
//! Owns what each asks before. Leaves how long a second press is waited for to the outbox. Invariant: one press stops
//! nothing but a command of the user's own.

use super::keymap::Context;
use crate::app::overlay::rewind;
use crate::app::{Action, App, Armed, Effect, Focus, commands};
use crate::message::AgentId;
use crate::subagent::{Children, Command};

/// Interrupts the main agent at the second press; the subagents that it waits for go on.
pub(super) fn interrupt(app: &mut App) {
    if app.messages.let_go() {
        app.edited();
        return app.out.inform("not sent; the text is still here");
    }
    if commands::stop_own(app) {
        return;
    }
    if app.target().is_some() {
        app.out.disarm();
        app.set_target(None);
        if app.view.full().is_some() {
            app.view.set_focus(Focus::Agents);
        }
        return;
    }
    let scroll = &mut app.view.pane_mut(AgentId::MAIN).scroll;
    if scroll.is_held() {
        scroll.follow();
        return;
    }
    if app.agents.main().phase.is_at_rest() {
        clear_at_second_press(app);
        return;
    }
    let waited = app.agents.waited_for().next().is_some();
    if app.out.take_armed(Armed::Interrupt) {
        app.out.send(Command::Interrupt { children: Children::Keep });
        app.out.inform(if waited {
            "interrupting the main agent; its subagents keep running and report later"
        } else {
            "interrupting"
        });
        return;
    }
    let key = |action| app.keymap().chord_of(Context::Composer, action).unwrap_or_default();
    let (again, all) = (key(Action::Interrupt), key(Action::StopAll));
    let text = if waited {
        format!("{again} again interrupts, subagents keep running · {all} stops all")
    } else {
        format!("{again} again interrupts the main agent")
    };
    app.out.arm(Armed::Interrupt, &text);
}

/// Clears what is being written. In vi mode `esc` is pressed too often to mean that.
fn clear_at_second_press(app: &mut App) {
    let composer = app.messages.composer();
    if composer.vi_mode().is_some() {
        return;
    }
    let key = app.keymap().chord_of(Context::Composer, Action::Interrupt).unwrap_or_default();
    if composer.is_empty() {
        if app.out.take_armed(Armed::Rewind) {
            rewind::open(app);
        } else if !app.agents.main().cells.is_empty() {
            app.out.arm(Armed::Rewind, &format!("{key} again goes back to an earlier message"));
        }
        return;
    }
    if app.out.take_armed(Armed::ClearText) {
        clear_text(app);
    } else {
        app.out.arm(Armed::ClearText, &format!("{key} again clears the text"));
    }
}

fn clear_text(app: &mut App) {
    let discarded = app.messages.composer_mut().discard();
    app.out.push(Effect::SaveHistory(discarded));
    app.edited();
    app.out.inform("cleared · ctrl+_ or up brings it back");
}

pub(super) fn clear_or_quit(app: &mut App, action: Action) {
    if app.overlay.close().is_some() || app.agent_files.close() {
        return;
    }
    if !app.messages.composer().is_empty() {
        clear_text(app);
    } else if !commands::stop_own(app) {
        quit_at_second_press(app, action);
    }
}

fn quit_at_second_press(app: &mut App, action: Action) {
    if app.out.take_armed(Armed::Quit) {
        app.quit();
    } else {
        let key = app.keymap().chord_of(Context::Composer, action).unwrap_or_default();
        let stopped = Some(app.running_words()).filter(|_| app.is_busy());
        let stops = stopped.map(|words| format!(" and stops {words}")).unwrap_or_default();
        app.out.arm(Armed::Quit, &format!("{key} again quits{stops}"));
    }
}
