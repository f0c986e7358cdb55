//! The user's own status line: when its command is told of the session, and where its rows stand.

use belvedere::agent::SessionEvent;
use belvedere::app::{Effect, Event, StatusLineFacts};
use belvedere::permission::PermissionMode;

use crate::screens::stage::Stage;

fn told(effects: &[Effect]) -> Vec<StatusLineFacts> {
    let facts = |effect: &Effect| match effect {
        Effect::RunStatusLine(facts) => Some(facts.clone()),
        _ => None,
    };
    effects.iter().filter_map(facts).collect()
}

fn stage(height: u16) -> Stage {
    Stage::with_setup(80, height, |setup| setup.has_status_command = true).with_model()
}

#[test]
fn the_command_is_told_of_what_has_changed_one_run_at_a_time() {
    let mut stage = stage(24);
    assert_eq!(told(&stage.effects).len(), 1, "a first run is under way");
    assert_eq!(told(&stage.effects)[0].model, "", "which knows no model yet");
    let facts = told(&stage.event(Event::StatusLineWritten(Vec::new())));
    let named = [facts[0].model_id.as_str(), facts[0].model.as_str()];
    assert_eq!((named, facts[0].window), (["demo-1", "sonnet"], Some(200_000)));
    assert_eq!(told(&stage.event(Event::StatusLineWritten(vec!["one".to_owned()]))), [], "nothing is new");
    assert_eq!(told(&stage.keys("hello")), [], "nothing that it is told");
    stage.session(SessionEvent::ModeChanged { mode: PermissionMode::Plan });
    assert_eq!(told(&stage.effects).last().unwrap().mode, PermissionMode::Plan);
    let mut without = Stage::new(80, 24).with_model();
    without.keys("hello");
    assert_eq!(told(&without.effects), []);
}

#[test]
fn its_rows_stand_below_the_composer_as_far_as_there_is_room() {
    let rows: Vec<String> = ["first row", "second row", "third row"].map(str::to_owned).to_vec();
    for (height, shown) in [(8, 0), (15, 1), (24, 2), (50, 3)] {
        let mut stage = stage(height);
        stage.event(Event::StatusLineWritten(rows.clone()));
        let text = stage.text();
        let seen = rows.iter().filter(|row| text.contains(row.as_str())).count();
        assert_eq!(seen, shown, "{height} rows: {text}");
        let last = text.lines().last().unwrap_or_default();
        assert!(last.contains("sonnet"), "{last}");
    }
}
