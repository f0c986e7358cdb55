//! In no view does `esc` stop anyone, nor a click that is not on the sign for it.

use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::{Effect, Event};
use belvedere::subagent::{Children, Command};

use crate::screens::stage::{Stage, as_text};
use crate::screens::views::{VIEWS, open};

/// The columns at the end of a pane's title that stop its agent.
const SIGN: u16 = 3;

fn stops(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Command(
            Command::Stop { .. } | Command::StopAll | Command::Interrupt { children: Children::Stop } | Command::Clear
        )
    ) || *effect == Effect::Quit
}

fn alive(stage: &Stage) -> usize {
    stage.app.agents().children().filter(|agent| !agent.has_ended()).count()
}

#[test]
fn esc_stops_nothing_in_any_view() {
    for view in VIEWS {
        let mut stage = open(view, 120, 40, "plain");
        stage.effects.clear();
        let before = alive(&stage);
        for press in 0..20 {
            if press % 4 == 0 {
                stage.draw();
            }
            // Half of them in quick succession, as one key that is held down.
            let effects = if press % 2 == 0 { stage.keys("<esc><esc>") } else { stage.keys("<esc>") };
            assert!(!effects.iter().any(stops), "press {press} in {}: {effects:?}", view.0);
        }
        assert_eq!(alive(&stage), before, "{}", view.0);
    }
}

#[test]
fn a_click_stops_an_agent_only_at_its_sign() {
    for view in VIEWS {
        let mut stage = open(view, 60, 15, "plain");
        let lines: Vec<String> = as_text(&stage.draw().0).lines().map(str::to_owned).collect();
        // A click may lead elsewhere: rows with a sign begin with the view anew, and so does every fifth of the others.
        let (signs, others): (Vec<u16>, Vec<u16>) =
            (0..15).partition(|row| lines.get(usize::from(*row)).is_some_and(|line| line.contains("[x]")));
        let at_once = signs.chunks(1).map(|rows| (rows, true)).chain(others.chunks(5).map(|rows| (rows, false)));
        for (rows, shown) in at_once {
            stage = open(view, 60, 15, "plain");
            stage.draw();
            // Where no sign is, few places do.
            let places =
                rows.iter().flat_map(|row| (0..60).step_by(if shown { 1 } else { 6 }).map(move |at| (*row, at)));
            for (row, column) in places {
                let mut effects = Vec::new();
                for kind in [MouseKind::Press, MouseKind::Release] {
                    effects.extend(stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row }))));
                }
                if effects.iter().any(stops) {
                    let on_sign = stage.app.regions().panes.iter().any(|pane| {
                        let area = pane.area;
                        row == area.y && (area.right().saturating_sub(SIGN)..area.right()).contains(&column)
                    });
                    assert!(on_sign && shown, "{} at {column},{row}: {effects:?}\n{}", view.0, lines.join("\n"));
                }
            }
        }
    }
}
