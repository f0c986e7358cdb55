//! A hundred children at once, with events that come late, twice and out of order.

use belvedere::agent::{EventKind, Status};
use belvedere::app::StateGroup;
use belvedere::message::AgentId;

use crate::screens::stage::Stage;
use crate::support::Dice;

const CHILDREN: u32 = 100;
/// Rounds in which every child says or does one thing: a quarter of a minute at 20 a second.
const ROUNDS: u32 = 300;

#[test]
fn a_storm_of_a_hundred_children_keeps_its_bounds() {
    let mut stage = Stage::new(200, 60).with_model();
    let mut dice = Dice::new(0x5eed);
    stage.asks("Look at everything at once.");
    for child in 1..=CHILDREN {
        stage.spawns(child, "explore", "look closely");
        stage.starts(child);
    }
    for round in 0..ROUNDS {
        for child in 1..=CHILDREN {
            let id = format!("call-{child}-{}", round / 7);
            match dice.roll(24) {
                0 => stage.calls(child, &id, "Read", "src/main.rs", "120 lines"),
                1 => stage.tool_ends(child, &id, "ended twice", None),
                2 => stage.ends_turn(child, "what was said", 1_000),
                3 => stage.wants_to_run(child, &id, "make"),
                4 => drop(stage.agent(child, EventKind::Started)),
                5 => stage.says(child, "\n\n```rust\nfn main() {}\n```\n\n"),
                6 if round > ROUNDS / 2 => stage.ends(child, Status::Completed, "a report", None),
                _ => stage.says(child, "some more words of this and that "),
            }
        }
        stage.wait(50);
        if round % 4 == 0 {
            stage.draw();
        }
    }
    for child in 1..=CHILDREN {
        stage.ends(child, Status::Completed, "a report", None);
        stage.says(child, "too late");
    }
    stage.wait(60_000);
    stage.draw();
    let tally = stage.app.tally(stage.app.agents().children());
    assert_eq!((tally.total(), tally.of(StateGroup::Done)), (CHILDREN as usize, CHILDREN as usize));
    assert!(stage.app.approvals().is_empty(), "ended agents still ask");
    for child in 1..=CHILDREN {
        let agent = stage.app.agents().get(AgentId(child)).unwrap();
        assert!(agent.cells.bytes() <= 256 * 1024, "agent {child} keeps {} bytes", agent.cells.bytes());
        assert_eq!(agent.report(), Some("a report"));
    }
    assert!(stage.laid_out() < 60 * 8, "{} cells", stage.laid_out());
}

#[test]
fn ended_agents_ask_for_no_frame() {
    let mut stage = Stage::new(200, 60).with_model();
    stage.asks("Look.");
    for child in 1..=5 {
        stage.spawns(child, "explore", "look closely");
        stage.starts(child);
        stage.ends(child, Status::Completed, "a report", None);
    }
    stage.ends_turn(0, "All done.", 1_000);
    stage.ends(0, Status::Completed, "All done.", None);
    for _ in 0..8 {
        stage.draw();
        stage.wait(10_000);
    }
    stage.draw();
    assert!(!stage.app.is_dirty());
    assert_eq!(stage.app.next_wakeup(), None);
}
