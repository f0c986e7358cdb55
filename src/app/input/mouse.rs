//! What the mouse does: on the popup in front, in the view of all agents, and on what lies behind.
//!
//! Owns the meaning of clicks, drags and turns of the wheel. Leaves what stands where to `pointer`. Invariant: no click and
//! no selection takes the keyboard away from someone who writes.

use ratatui::layout::Position;

use super::key::{Mouse, MouseKind};
use crate::app::layout::Regions;
use crate::app::view::pointer::{Dragging, HitTarget, PanePart, share_at};
use crate::app::{Action, App, Focus, Motion, commands, overlay};
use crate::message::AgentId;

/// Lines that one turn of the wheel moves.
const WHEEL: i32 = 3;

pub(in crate::app) fn on_mouse(app: &mut App, mouse: Mouse) {
    if mouse.kind == MouseKind::Press {
        app.before_other_input(false);
        app.out.offer();
    }
    let at = Position { x: mouse.column, y: mouse.row };
    let in_list = mouse.kind == MouseKind::Press && overlay::actions::press(app, at);
    if !in_list && !mouse_in_agent_files(app, mouse) {
        mouse_behind(app, mouse.kind, at);
    }
    app.out.withdraw_offer();
}

/// Gives an act of the mouse to the view of all agents, or to the popup before it. Returns `true` if one is open.
fn mouse_in_agent_files(app: &mut App, mouse: Mouse) -> bool {
    let Some(layout) = app.agent_files().map(|view| app.agent_files_layout(view)) else { return false };
    if !app.overlay.is_open() {
        app.agent_files.on_mouse(mouse, &layout, app.overlay.end());
        return true;
    }
    mouse.kind == MouseKind::Press && app.overlay.close().is_some()
}

fn mouse_behind(app: &mut App, kind: MouseKind, at: Position) {
    let regions = app.regions();
    match kind {
        MouseKind::WheelUp => wheel(app, &regions, at, -WHEEL),
        MouseKind::WheelDown => wheel(app, &regions, at, WHEEL),
        MouseKind::Press => press(app, &regions, at),
        MouseKind::Drag => drag(app, &regions, at),
        MouseKind::Release => {
            if let Dragging::Text { agent, opens } = app.pointer.release() {
                app.view.end_selection(agent, opens);
            }
        }
    }
}

fn wheel(app: &mut App, regions: &Regions, at: Position, lines: i32) {
    let (end, step) = (app.overlay.end(), isize::try_from(lines).unwrap_or(0));
    if app.overlay.wizard_is_open() {
        app.overlay.wizard_mut().wheel(lines, end);
        return;
    }
    if let Some(popup) = app.overlay.popup_mut() {
        if let Some(scroll) = popup.scroll() {
            *scroll = scroll.saturating_add_signed(step).min(end);
        }
        return;
    }
    let scrolled = match app.pointer.target(regions, at) {
        HitTarget::Timeline => {
            app.act(if lines < 0 { Action::ZoomIn } else { Action::ZoomOut });
            return;
        }
        HitTarget::Approvals(_) => return app.approvals.scroll_by(step, end),
        HitTarget::Pane(pane, _) => pane.agent,
        HitTarget::Conversation => AgentId::MAIN,
        HitTarget::Filed | HitTarget::Nothing | HitTarget::Border | HitTarget::Composer | HitTarget::Command(..) => {
            return;
        }
    };
    app.view.request_scroll(&app.agents, scrolled, Motion::Lines(lines), &mut app.out);
}

fn press(app: &mut App, regions: &Regions, at: Position) {
    if app.overlay.close().is_some() {
        // What lies behind was covered, and is not what was meant.
        return;
    }
    app.view.clear_selection();
    let clicked = app.view.take_clicked();
    let unit = app.pointer.click(at, app.out.now());
    match app.pointer.target(regions, at) {
        HitTarget::Nothing | HitTarget::Approvals(None) => {}
        HitTarget::Border => app.pointer.drag(Dragging::Border),
        HitTarget::Composer => app.view.set_focus(Focus::Composer),
        HitTarget::Approvals(Some(Action::FocusNext)) => app.view.set_focus(Focus::Approvals),
        HitTarget::Approvals(Some(action)) => {
            app.act(action);
        }
        HitTarget::Conversation => {
            app.view.set_focus(Focus::Composer);
            app.pointer.drag(Dragging::Text { agent: AgentId::MAIN, opens: true });
            app.view.begin_selection(AgentId::MAIN, at, unit);
        }
        HitTarget::Filed => app.view.toggle_filed(),
        HitTarget::Command(row, at_end) => commands::press(app, row, at_end),
        HitTarget::Timeline => {
            if let Some(now) = app.timeline() {
                app.seek_to(&now, at.x);
                app.timeline.point_at(&now, at.x, at.y);
            }
        }
        HitTarget::Pane(pane, part) => {
            let agent = pane.agent;
            let was_chosen = app.view.focused_agent().or(clicked) == Some(agent);
            if app.view.focus() != Focus::Agents {
                app.view.set_focus(Focus::Composer);
                app.view.click(agent);
            }
            app.view.choose(Some(agent));
            let running = app.agents.get(agent).is_some_and(|agent| !agent.has_ended());
            match part {
                PanePart::Body => {
                    // The first click only chooses the pane.
                    app.pointer.drag(Dragging::Text { agent, opens: was_chosen });
                    app.view.begin_selection(agent, at, unit);
                }
                // The sign stands on the chosen title only.
                PanePart::Stop if running && was_chosen && app.playback.is_none() => {
                    app.requests.stop(agent, &app.agents, &mut app.out);
                }
                PanePart::Fold => app.view.toggle_fold(agent, pane.size, &app.agents),
                PanePart::Stop | PanePart::Title if was_chosen && app.view.full().is_some() => {
                    app.view.set_full(None);
                    app.view.set_focus(Focus::Composer);
                }
                PanePart::Stop | PanePart::Title if was_chosen => app.view.open_full(agent),
                PanePart::Stop | PanePart::Title => {}
            }
        }
    }
}

fn drag(app: &mut App, regions: &Regions, at: Position) {
    match app.pointer.dragging() {
        Dragging::Text { agent, .. } => {
            let area = regions.pane(agent).map_or(regions.conversation, |pane| pane.area);
            let edges = (area.y + u16::from(!agent.is_main()), area.bottom());
            app.view.grow_selection(agent, at, edges, &app.agents, &mut app.out);
        }
        Dragging::Border if !app.view.size().is_empty() => {
            app.view.drag_border(share_at(regions, app.view.size(), at));
        }
        Dragging::Border | Dragging::Nothing => {}
    }
}
