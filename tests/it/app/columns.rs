//! Panes below a conversation that leaves rows blank, where agents stand beside it.

use std::collections::HashMap;

use belvedere::agent::Status;
use belvedere::message::AgentId;
use proptest::prelude::*;

use super::layout::assert_sound;
use crate::screens::scenes;
use crate::screens::stage::Stage;

/// Returns the agents whose panes stand below the conversation.
fn below(stage: &Stage) -> Vec<u32> {
    let regions = stage.app.regions();
    regions.panes.iter().filter(|pane| pane.area.x < regions.divider.x).map(|pane| pane.agent.0).collect()
}

#[test]
fn a_short_conversation_leaves_its_rows_to_the_latest_agents() {
    for (width, height) in [(120, 40), (160, 50)] {
        let mut stage = scenes::at_work(8, width, height);
        insta::assert_snapshot!(format!("columns-{width}x{height}"), stage.text());
        let (regions, below) = (stage.app.regions(), below(&stage));
        assert!(below.len() >= 2 && below.ends_with(&[8]) && below.is_sorted(), "{below:?}");
        assert!(regions.panes.iter().all(|pane| pane.area.height >= 4), "{:?}", regions.panes);
        assert_eq!((regions.panes.len(), regions.unseen), (8, 0));
    }
}

#[test]
fn few_agents_stand_beside_the_conversation_only() {
    for (count, width, height) in [(1, 120, 40), (3, 120, 40), (4, 200, 60), (8, 200, 60), (3, 100, 30)] {
        let mut stage = scenes::at_work(count, width, height);
        stage.frame();
        assert!(below(&stage).is_empty(), "{count} at {width}x{height}");
    }
}

#[test]
fn a_pane_gives_way_only_to_the_conversation() {
    let mut stage = scenes::at_work(8, 120, 40);
    stage.frame();
    let first = below(&stage);
    for agent in 1..=6 {
        stage.says(agent, "More text.\n\nAnd more.\n\nAnd more.");
        stage.frame();
        stage.ends(agent, Status::Completed, "<summary>It is there.</summary>", None);
        stage.wait(10_000);
        stage.frame();
    }
    assert!(first.iter().all(|agent| below(&stage).contains(agent)) || below(&stage).len() < first.len());
    let before = below(&stage);
    for line in 0..60 {
        stage.says(0, &format!("\n\nThought {line}."));
        stage.frame();
        let now = below(&stage);
        assert!(now.iter().all(|agent| before.contains(agent)), "{now:?} after {before:?}");
    }
    assert!(below(&stage).is_empty(), "the conversation has its column");
    assert!(stage.app.regions().below_head.is_empty());
    assert_eq!(stage.app.regions().panes.len(), 8);
}

#[test]
fn arrows_lead_across_the_columns() {
    let mut stage = scenes::at_work(8, 120, 40);
    stage.frame();
    let below = below(&stage);
    let last = *below.last().unwrap();
    stage.keys(&format!("<alt+{last}>"));
    stage.frame();
    let pane = stage.app.regions().pane(AgentId(last)).unwrap().area;
    assert!(pane.height >= 6 && pane.bottom() <= stage.app.regions().rule.y, "the chosen one is open: {pane:?}");
    stage.keys("<right>");
    let beside = stage.app.focused_agent().unwrap();
    assert!(!below.contains(&beside.0), "{beside:?}");
    stage.keys("<left>");
    assert!(below.contains(&stage.app.focused_agent().unwrap().0));
    stage.keys("<left>");
    assert!(below.contains(&stage.app.focused_agent().unwrap().0), "there is nothing further on");
}

#[derive(Debug, Clone)]
enum Step {
    Spawn,
    Say(u32),
    End(u32),
    Talk(usize),
    Focus(u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Spawn),
        2 => (1_u32..12).prop_map(Step::Say),
        1 => (1_u32..12).prop_map(Step::End),
        1 => (1_usize..6).prop_map(Step::Talk),
        1 => (1_u32..9).prop_map(Step::Focus),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn panes_keep_their_columns_until_the_conversation_needs_the_rows(
        (width, height) in (120_u16..199, 24_u16..60),
        steps in prop::collection::vec(step(), 1..30),
    ) {
        let mut stage = Stage::new(width, height).with_model();
        stage.asks("go");
        let (mut agents, mut places) = (0, HashMap::new());
        for step in steps {
            let is_talk = matches!(step, Step::Talk(_));
            match step {
                Step::Spawn => {
                    agents += 1;
                    stage.spawns(agents, "explore", "Look");
                    stage.starts(agents);
                }
                Step::Say(agent) if agent <= agents => stage.says(agent, "A word.\n\n"),
                Step::End(agent) if agent <= agents => {
                    stage.ends(agent, Status::Completed, "<summary>Done.</summary>", None);
                    stage.wait(9_000);
                }
                Step::Talk(lines) => stage.says(0, &"A thought.\n\n".repeat(lines)),
                Step::Focus(agent) if agent <= agents => drop(stage.keys(&format!("<alt+{agent}><esc>"))),
                _ => {}
            }
            // A pane may open before it is known what the conversation leaves.
            stage.frame();
            stage.frame();
            let regions = stage.app.regions();
            assert_sound(stage.app.size(), &regions);
            for pane in &regions.panes {
                let before = places.insert(pane.agent, pane.area.x);
                // An end adds its summary to the conversation, too.
                let gives_way = before == Some(0) && pane.area.x > 0;
                let stays = before.is_none_or(|before| before == pane.area.x);
                prop_assert!(stays || gives_way, "{:?} moved from {before:?} to {}", pane.agent, pane.area.x);
                prop_assert!(stays || is_talk || regions.below_head.is_empty() || regions.conversation.height > 2);
            }
        }
    }
}
