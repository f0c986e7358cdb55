//! Agents below agents, as people see them.

use belvedere::agent::Status;
use belvedere::message::AgentId;

use super::snapshots::check_region;
use super::stage::{Region, Stage};

/// Two agents of the main agent; four levels below the first.
pub(crate) fn nested(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("Move the session to JWT");
    let agents = [
        (0, 1, "general-purpose", "Move the session"),
        (0, 2, "plan", "Design the migration"),
        (1, 3, "explore", "Find auth files"),
        (1, 4, "code", "Write the tokens"),
        (4, 5, "explore", "Read the claims"),
        (4, 6, "test-writer", "Write token tests"),
        (6, 7, "search-specialist", "Look for fixtures"),
        (7, 8, "explore", "Read the fixtures"),
    ];
    for (parent, agent, kind, title) in agents {
        stage.spawns_below(parent, agent, kind, title);
        stage.starts(agent);
        stage.wait(1_000);
    }
    stage.says(2, "Three steps, the cookie stays for a week.");
    stage.calls(5, "g5", "Grep", "\"struct Claims\"", "1 hit in 1 file");
    stage.calls(8, "r8", "Read", "tests/fixtures/keys.rs", "31 lines");
    stage.says(8, "There is one key pair, made for the old session.");
    stage.ends(3, Status::Completed, "<summary>Four files take part in signing in.</summary>", None);
    stage
}

#[test]
fn nested_agents() {
    check_region("nested", Region::Agents, nested);
}

#[test]
fn a_folded_parent_says_what_is_below_it() {
    check_region("nested-folded", Region::Agents, |width, height| {
        let mut stage = nested(width, height);
        stage.wants_to_run(5, "b5", "cargo test --no-run");
        stage.keys("<alt+1><space>");
        stage
    });
}

#[test]
fn a_nested_title_shows_number_description_and_state_at_any_width() {
    for width in 30..=130 {
        let mut stage = nested(width, 40);
        stage.keys("/layout rail<enter>");
        let text = stage.text();
        let regions = stage.app.regions();
        let rows: Vec<&str> = text.lines().collect();
        for pane in &regions.panes {
            let agent = stage.app.agents().get(pane.agent).unwrap();
            let row = rows[usize::from(pane.area.y)];
            let title: String = agent.description.chars().take(4).collect();
            let state = stage.app.state_of(agent).word_within(9);
            assert!(row.contains(&format!("{} {title}", pane.agent)), "number or description at {width}: {row}");
            assert!(row.contains(&state), "{state} at {width}: {row}");
        }
        assert_eq!(regions.panes.len(), 8, "at {width}");
    }
}

#[test]
fn a_body_stands_below_its_own_title() {
    let mut stage = nested(140, 60);
    let (buffer, _) = {
        stage.draw();
        stage.draw()
    };
    let mut seen = 0;
    for pane in stage.app.regions().panes.iter().filter(|pane| pane.area.height > 1) {
        let indent = pane.descent.columns();
        let before = (pane.area.x..pane.area.x + indent).map(|x| buffer[(x, pane.area.y + 1)].symbol());
        assert!(before.collect::<String>().trim().is_empty());
        assert_eq!(buffer[(pane.area.x + indent, pane.area.y + 1)].symbol(), "▎", "agent {}", pane.agent);
        seen += usize::from(indent > 0);
    }
    assert!(seen > 2);
}

#[test]
fn the_full_view_of_a_parent_shows_its_children_and_what_all_used() {
    let mut stage = nested(160, 40);
    stage.keys("<alt+4><enter>");
    let text = stage.text();
    assert!(text.contains("◆ Read the claims"), "{text}");
    assert!(text.contains("◆ Write token tests"), "{text}");
    assert!(!text.contains("Look for fixtures"), "what is deeper belongs to its own parent: {text}");
    stage.ends(5, Status::Completed, "<summary>Claims has two fields.</summary>", None);
    let text = stage.text();
    assert!(text.contains("Claims has two fields."), "{text}");
    let spent = stage.app.spent_below(stage.app.agents().get(AgentId(4)).unwrap()).unwrap();
    assert_eq!((spent.0, spent.1.usage.total()), (4, 20_914));
    assert!(text.contains("with its 4 subagents: 20.9k tokens $0.02"), "{text}");
}
