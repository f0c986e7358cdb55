//! What is kept of an agent stays below a cap, however much it says.

use belvedere::message::AgentId;

use crate::screens::stage::Stage;

/// Bytes of text that the screen keeps of one subagent: its cap, and one event more.
const CAP: usize = 256 * 1024 + 64 * 1024;
/// Bytes that it says: six times its cap.
const SAID: usize = 2 << 20;

fn kept(stage: &Stage, agent: u32) -> usize {
    stage.app.agents().get(AgentId(agent)).unwrap().cells.bytes()
}

fn stage() -> Stage {
    let mut stage = Stage::new(120, 40);
    stage.asks("Work.");
    stage.spawns(1, "explore", "talk without end");
    stage.starts(1);
    stage
}

#[test]
fn a_child_that_streams_without_end_is_kept_in_part() {
    // In one text; in one line; in one block of code; in many cells.
    for piece in ["A paragraph of some words.\n\n", "words without end ", "let x = 1;\n"] {
        let mut stage = stage();
        stage.says(1, "```rust\n");
        let piece = piece.repeat(16 * 1024 / piece.len());
        for at in 0..SAID / piece.len() {
            stage.says(1, &piece);
            assert!(kept(&stage, 1) <= CAP);
            if at % 10 == 0 {
                stage.draw();
            }
        }
        stage.draw();
    }
}

#[test]
fn a_child_that_calls_tools_without_end_is_kept_in_part() {
    let mut stage = stage();
    let summary = "x".repeat(1_000);
    for call in 0..SAID / 1_000 {
        stage.calls(1, &format!("call-{call}"), "Bash", "make", &summary);
        assert!(kept(&stage, 1) <= CAP);
    }
    stage.draw();
    let cells = &stage.app.agents().get(AgentId(1)).unwrap().cells;
    assert!(cells.is_cut());
    assert!(cells.end() - cells.first() < 1_000, "{} cells", cells.end() - cells.first());
}

#[test]
fn cells_without_text_are_kept_in_part_too() {
    let mut stage = stage();
    for call in 0..40_000 {
        stage.calls(1, &call.to_string(), "Read", "a", "");
    }
    let cells = &stage.app.agents().get(AgentId(1)).unwrap().cells;
    assert!(cells.end() - cells.first() < 10_000, "{} cells", cells.end() - cells.first());
}

#[test]
fn what_is_laid_out_of_a_long_child_is_no_more_than_it_keeps() {
    let mut stage = stage();
    for line in 0..5_000 {
        stage.says(1, &format!("Line {line} of a very long report.\n"));
        if line % 500 == 0 {
            stage.draw();
        }
    }
    stage.draw();
    assert!(stage.laid_out() <= 8, "{} cells", stage.laid_out());
}
