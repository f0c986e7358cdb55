//! Agents below agents: their order, folds that hide them, moving among them, and stopping with what is below.

use belvedere::agent::Status;
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::layout::Descent;
use belvedere::app::panes::PaneSize;
use belvedere::app::{AgentState, Effect, Event};
use belvedere::message::AgentId;
use belvedere::subagent::Command;
use proptest::prelude::*;

use super::agents::spawn;
use crate::screens::nested::nested;
use crate::screens::stage::Stage;

fn order(stage: &Stage) -> Vec<u32> {
    stage.app.agents().children().map(|agent| agent.id.0).collect()
}

fn shown(stage: &Stage) -> Vec<u32> {
    stage.app.regions().panes.iter().map(|pane| pane.agent.0).collect()
}

fn click(stage: &mut Stage, column: u16, row: u16) -> Vec<Effect> {
    stage.event(Event::Input(Input::Mouse(Mouse { kind: MouseKind::Press, column, row })))
}

fn said(stage: &Stage) -> String {
    stage.app.flash().map(|flash| flash.text.clone()).unwrap_or_default()
}

#[test]
fn a_parent_stands_before_all_below_it_in_every_view() {
    let mut stage = nested(120, 60);
    assert_eq!(order(&stage), [1, 3, 4, 5, 6, 7, 8, 2]);
    assert_eq!(shown(&stage), [1, 3, 4, 5, 6, 7, 8, 2]);
    stage.keys("/tasks<enter>");
    let text = stage.text();
    let at = |name: &str| text.find(name).unwrap();
    assert!(at("    test-writer-6") < at("      search-specialist-7"), "{text}");
    assert!(at("explore-8") < at("plan-2"), "{text}");
    stage.keys("<down><down><enter>");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(4)), "the third row is the third agent");
    stage.keys("<esc><esc>/timeline<enter>");
    let rows: Vec<(u32, u16)> = stage.app.timeline().unwrap().rows.iter().map(|row| (row.agent.0, row.depth)).collect();
    assert_eq!(rows, [(0, 0), (1, 0), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (8, 4), (2, 0)]);
}

#[test]
fn an_order_of_events_that_cannot_be_changes_nothing_but_places() {
    let mut stage = Stage::new(120, 60);
    stage.asks("go");
    for (parent, agent) in [(2, 3), (7, 5), (5, 7), (4, 4), (90, 6)] {
        stage.agent(agent, spawn(parent, "call"));
    }
    assert_eq!(order(&stage), [3, 4, 5, 7, 6]);
    stage.agent(2, spawn(0, "call"));
    assert_eq!(order(&stage), [2, 3, 4, 5, 7, 6], "the child stands below it as soon as it is known");
    stage.text();
    (2..=7).for_each(|agent| stage.ends(agent, Status::Completed, "done", None));
    stage.keys("/clear<enter><enter>");
    stage.asks("anew");
    stage.agent(100, spawn(2, "call"));
    assert_eq!(order(&stage), [100]);
    assert!(matches!(stage.app.regions().panes[0].descent, Descent::Indent(0)));
}

#[test]
fn a_fold_hides_what_is_below_and_brings_it_back_as_it_was() {
    let mut stage = nested(120, 60);
    stage.keys("<alt+6>-");
    stage.keys("<alt+5>+");
    let before: Vec<(u32, PaneSize)> = stage.app.regions().panes.iter().map(|pane| (pane.agent.0, pane.size)).collect();
    stage.keys("<alt+4><space>");
    assert_eq!(shown(&stage), [1, 3, 4, 2]);
    let text = stage.text();
    assert!(text.lines().any(|line| line.contains("▸ 4 Write") && line.contains("+4 ")), "{text}");
    stage.keys("<alt+1><space>");
    assert_eq!(shown(&stage), [1, 2]);
    assert!(stage.text().contains("▸ 1 Move the s"), "{}", stage.text());
    assert!(stage.text().contains("+6 ⠋"), "those who work count before those who wait: {}", stage.text());
    stage.keys("<space>");
    assert_eq!(shown(&stage), [1, 3, 4, 2], "the inner fold is as it was");
    stage.keys("<alt+4><space>");
    let mut after = stage.app.regions();
    after.panes.sort_by_key(|pane| before.iter().position(|(agent, _)| *agent == pane.agent.0));
    let sizes: Vec<(u32, PaneSize)> = after.panes.iter().map(|pane| (pane.agent.0, pane.size)).collect();
    assert_eq!(sizes.iter().map(|pane| pane.0).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7, 8, 2]);
    assert!(sizes.contains(&(6, PaneSize::Peek)) && before.contains(&(6, PaneSize::Peek)));
}

#[test]
fn the_mark_of_an_indented_title_folds_and_its_cross_stops() {
    let mut stage = nested(120, 60);
    let pane = *stage.app.regions().pane(AgentId(6)).unwrap();
    assert_eq!(pane.descent, Descent::Indent(4));
    click(&mut stage, pane.area.x + 4, pane.area.y);
    assert_eq!(shown(&stage), [1, 3, 4, 5, 6, 2]);
    let pane = *stage.app.regions().pane(AgentId(6)).unwrap();
    let effects = click(&mut stage, pane.area.right() - 1, pane.area.y);
    assert_eq!(effects, [Effect::Command(Command::Stop { agent: AgentId(6) })]);
    assert_eq!(said(&stage), "stopping test-writer-6 and its 2 subagents");
}

#[test]
fn who_needs_the_user_or_is_looked_at_is_never_hidden() {
    for (width, height) in [(200, 50), (120, 40), (80, 24), (60, 15)] {
        let mut stage = nested(width, height);
        stage.keys("<alt+1><space><esc>");
        assert_eq!(shown(&stage), [1, 2], "{width}x{height}");
        stage.wants_to_run(8, "b8", "cargo test");
        assert_eq!(shown(&stage), [1, 8, 2], "{width}x{height}");
        let text = stage.text();
        assert!(text.contains("└7 "), "its parent is named at {width}x{height}: {text}");
        assert!(text.contains("for you") && text.contains("explore-8 wants to run"), "{width}x{height}: {text}");
        assert!(text.contains("+5 ⚠"), "{width}x{height}: {text}");
        stage.keys("<alt+y>");
        assert!(stage.effects.iter().any(|effect| matches!(
            effect, Effect::Command(Command::Answer { id, .. }) if id.agent == AgentId(8))));
        assert_eq!(shown(&stage), [1, 2]);
        stage.keys("<alt+5>");
        assert_eq!(shown(&stage), [1, 5, 2], "who has the focus is seen");
        stage.keys("<alt+2>");
        assert_eq!(shown(&stage), [1, 2], "{width}x{height} {}", stage.text());
    }
}

#[test]
fn the_most_urgent_state_below_stands_in_the_title() {
    let mut stage = nested(120, 40);
    stage.keys("<alt+1><space><esc>");
    let word = |stage: &Stage| stage.app.folded_away(AgentId(1)).map(|folded| folded.word()).unwrap();
    assert_eq!(word(&stage), "running");
    let limited = belvedere::agent::EventKind::Turn(belvedere::agent::TurnEvent::Retrying {
        attempt: 2,
        wait_ms: 90_000,
        rate_limited: true,
        reason: "busy".to_owned(),
    });
    stage.wait(61_000);
    assert!(word(&stage).starts_with("stalled"));
    stage.agent(5, limited);
    assert!(word(&stage).starts_with("limited"));
    stage.wants_to_run(8, "b8", "make");
    assert_eq!(word(&stage), "Bash?");
    for agent in [8, 7, 6, 5, 4] {
        stage.ends(agent, Status::Completed, "<summary>done</summary>", None);
    }
    assert_eq!(word(&stage), "done");
}

#[test]
fn arrows_go_through_the_tree() {
    let mut stage = nested(120, 60);
    let mut seen = Vec::new();
    stage.keys("<alt+1>");
    for _ in 0..8 {
        seen.push(stage.app.focused_agent().unwrap().0);
        stage.keys("j");
    }
    assert_eq!(seen, [1, 3, 4, 5, 6, 7, 8, 2]);
    stage.keys("<alt+8>");
    let up: Vec<u32> = (0..4)
        .map(|_| {
            stage.keys("<left>");
            stage.app.focused_agent().unwrap().0
        })
        .collect();
    assert_eq!(up, [7, 6, 4, 1]);
    stage.keys("<space>j");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(2)), "what is hidden is passed over");
}

#[test]
fn a_number_shows_who_is_hidden_and_left_leads_back_to_who_is_seen() {
    for (width, height) in [(200, 50), (120, 60), (60, 15)] {
        let mut stage = nested(width, height);
        stage.keys("<alt+4><space><alt+8>");
        assert!(shown(&stage).contains(&8) && !shown(&stage).contains(&7), "{width}x{height}");
        assert_eq!(stage.app.focused_agent(), Some(AgentId(8)));
        stage.keys("<alt+8>");
        let size = stage.app.regions().pane(AgentId(8)).unwrap().size;
        assert_eq!(size, PaneSize::Full, "again: on the whole screen");
        stage.keys("<esc><left>");
        assert_eq!(stage.app.focused_agent(), Some(AgentId(4)), "{width}x{height}");
        assert!(!shown(&stage).contains(&8), "the fold is as it was");
        stage.keys("<left>");
        assert_eq!(stage.app.focused_agent(), Some(AgentId(1)));
    }
}

#[test]
fn a_branch_stays_in_its_column() {
    let mut stage = nested(200, 50);
    let regions = stage.app.regions();
    assert_eq!(stage.columns(), 2);
    let x = |agent: u32| regions.pane(AgentId(agent)).unwrap().area.x;
    assert!([3, 4, 5, 6, 7, 8].iter().all(|agent| x(*agent) == x(1)) && x(2) > x(1));
    stage.keys("<alt+1><right>");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(2)));
    stage.keys("<left>");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(1)));
    stage.keys("<down>");
    assert_eq!(stage.app.focused_agent(), Some(AgentId(3)));
}

#[test]
fn stopping_a_parent_says_how_many_stop_with_it() {
    let mut stage = nested(120, 40);
    let effects = stage.keys("<alt+4>x");
    assert!(effects.contains(&Effect::Command(Command::Stop { agent: AgentId(4) })));
    assert_eq!(said(&stage), "stopping code-4 and its 4 subagents");
    stage.keys("<esc>/cancel 1<enter>");
    assert_eq!(said(&stage), "stopping general-purpose-1 and its 5 subagents", "who has ended is not counted");
    stage.keys("/cancel 8<enter>");
    assert_eq!(said(&stage), "stopping explore-8");
}

#[test]
fn who_waits_for_agents_is_neither_thinking_nor_stalled() {
    let mut stage = nested(120, 40);
    for _ in 0..5 {
        stage.wait(30_000);
        stage.says(8, "More. ");
    }
    let state = |stage: &Stage, agent: u32| stage.app.state_of(stage.app.agents().get(AgentId(agent)).unwrap());
    for agent in [1, 4, 6, 7] {
        assert_eq!(state(&stage, agent), AgentState::Waiting, "agent {agent}");
    }
    assert_eq!(state(&stage, 8), AgentState::Writing { report: false });
    assert!(matches!(state(&stage, 2), AgentState::Stalled { .. }));
    let text = stage.text();
    assert!(text.contains("5 running · 2 stalled · 1 done"), "every depth is counted: {text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_is_shown_soundly(
        spawns in prop::collection::vec((0_u32..60, 1_u32..60), 1..60),
        folds in prop::collection::vec(1_u32..60, 0..6),
        asking in 1_u32..60,
        (width, height) in (24_u16..260, 10_u16..70),
    ) {
        let mut stage = Stage::new(width, height);
        stage.asks("go");
        for (parent, agent) in spawns {
            stage.spawns_below(parent, agent, "explore", "Look");
            stage.starts(agent);
        }
        let all = order(&stage);
        let mut sorted = all.clone();
        sorted.sort_unstable();
        sorted.dedup();
        prop_assert_eq!(sorted.len(), all.len(), "everyone stands once");
        prop_assert_eq!(all.len(), stage.app.agents().len());
        for node in stage.app.agents().order().all() {
            if let Some(parent) = node.parent {
                let below = stage.app.agents().order().below(parent);
                prop_assert!(below.iter().any(|other| other.agent == node.agent));
            }
        }
        let fold = |stage: &mut Stage, agent: u32| {
            if stage.app.agents().get(AgentId(agent)).is_some() {
                let pane = stage.app.regions().pane(AgentId(agent)).map(|pane| pane.area);
                if let Some(area) = pane {
                    click(stage, area.x, area.y);
                }
            }
        };
        for agent in folds {
            fold(&mut stage, agent);
        }
        if stage.app.agents().get(AgentId(asking)).is_some() {
            stage.wants_to_run(asking, "b", "make");
            let regions = stage.app.regions();
            prop_assert!(regions.pane(AgentId(asking)).is_some() || regions.panes.len() < 2, "who asks is not seen");
        }
        super::layout::assert_sound(stage.app.size(), &stage.app.regions());
        stage.text();
    }
}
