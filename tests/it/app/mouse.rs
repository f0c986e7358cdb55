//! What the mouse does.

use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::{Effect, Event, Focus};
use belvedere::message::AgentId;
use belvedere::subagent::Command;

use crate::screens::scenes;
use crate::screens::stage::Stage;

fn mouse(stage: &mut Stage, kind: MouseKind, column: u16, row: u16) -> Vec<Effect> {
    stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row })))
}

#[test]
fn a_click_focuses_folds_and_stops() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.draw();
    let title = stage.app.regions().pane(AgentId(2)).unwrap().area;
    mouse(&mut stage, MouseKind::Press, title.x + 10, title.y + 1);
    assert_eq!((stage.app.focus(), stage.app.focused_agent()), (Focus::Agents, Some(AgentId(2))));
    let effects = mouse(&mut stage, MouseKind::Press, title.right() - 1, title.y);
    assert_eq!(effects, [Effect::Engine(Command::Stop { agent: AgentId(2) })]);
    mouse(&mut stage, MouseKind::Press, title.x, title.y);
    assert_eq!(stage.app.regions().pane(AgentId(2)).unwrap().area.height, 1);
}

#[test]
fn the_wheel_moves_what_is_under_the_pointer() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.says(1, &"more\n\n".repeat(50));
    stage.draw();
    let pane = stage.app.regions().pane(AgentId(1)).unwrap().area;
    mouse(&mut stage, MouseKind::WheelUp, pane.x + 5, pane.y + 2);
    stage.draw();
    assert!(stage.app.pane(AgentId(1)).scroll.at.is_some());
    assert_eq!(stage.app.pane(AgentId::MAIN).scroll.at, None);
    assert_eq!(stage.app.focus(), Focus::Composer, "looking is not choosing");
}

#[test]
fn the_border_can_be_dragged() {
    let mut stage = scenes::eight_agents(120, 40);
    let divider = stage.app.regions().divider;
    mouse(&mut stage, MouseKind::Press, divider.x, 5);
    mouse(&mut stage, MouseKind::Drag, 80, 5);
    mouse(&mut stage, MouseKind::Release, 80, 5);
    assert!(stage.app.regions().divider.x.abs_diff(80) <= 2);
}
