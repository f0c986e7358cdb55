//! Clocks and countdowns, which run as long as the screen may be watched.

use belvedere::agent::{EventKind, TurnEvent};
use belvedere::app::Event;
use belvedere::app::key::Input;

use crate::screens::stage::Stage;

/// Lets the screen draw what is due, and returns after how many milliseconds that was.
fn next_frame(stage: &mut Stage) -> u64 {
    stage.draw();
    let due = stage.app.next_wakeup().expect("a clock is shown");
    let wait = u64::try_from(due.saturating_duration_since(stage.app.now()).as_millis()).unwrap();
    stage.wait(wait + 1);
    assert!(stage.app.is_dirty(), "what ticks is drawn");
    wait
}

#[test]
fn clocks_tick_once_a_second_while_another_window_has_the_focus() {
    let mut stage = Stage::new(100, 24).with_model();
    stage.asks("work");
    stage.event(Event::Input(Input::FocusLost));
    next_frame(&mut stage);
    for second in 1..5 {
        let wait = next_frame(&mut stage);
        assert!((990..=1_000).contains(&wait), "one frame a second, not one in {wait} ms");
        let clock = format!(" {}s", second + 1);
        assert!(stage.text().contains(&clock), "{clock}: {}", stage.text());
    }
}

#[test]
fn a_countdown_goes_on_while_another_window_has_the_focus() {
    let mut stage = Stage::new(120, 30).with_model();
    stage.asks("work");
    stage.spawns(1, "explore", "Look around");
    stage.starts(1);
    stage.event(Event::Input(Input::FocusLost));
    let reason = "Rate limited by anthropic (429).".to_owned();
    stage.agent(1, EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 12_000, rate_limited: true, reason }));
    let mut seen = Vec::new();
    for _ in 0..6 {
        next_frame(&mut stage);
        let text = stage.text();
        seen.extend((1..=12).rev().find(|left| text.contains(&format!("in {left}s"))));
    }
    assert!(seen.windows(2).all(|pair| pair[1] < pair[0]) && seen.len() == 6, "{seen:?}");
}
