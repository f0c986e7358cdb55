//! Tokens, cost and budget on the screen, by keys and events.

use belvedere::agent::{EventKind, SessionEvent, TurnEvent};
use belvedere::app::Effect;
use belvedere::message::{AssistantMessage, BudgetLimit, Dollars, Usage};
use belvedere::subagent::Command;

use crate::screens::snapshots::check;
use crate::screens::stage::Stage;

fn turn(input: u64, cost_usd: Option<f64>) -> EventKind {
    let usage = Usage { input, output: 100, ..Usage::default() };
    EventKind::Turn(TurnEvent::Ended {
        message: AssistantMessage::default(),
        usage,
        cost_usd,
        stop: None,
        latency_ms: None,
    })
}

/// A main agent with a known price and one subagent with an unknown one.
fn two(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.asks("go");
    stage.main(turn(20_000, Some(0.21)));
    stage.spawns(1, "explore", "Find it");
    stage.starts(1);
    stage.agent(1, turn(9_900, None));
    stage
}

fn set(effects: &[Effect]) -> Option<BudgetLimit> {
    effects.iter().find_map(|effect| match effect {
        Effect::Command(Command::SetBudget(limit)) => Some(*limit),
        _ => None,
    })
}

#[test]
fn a_price_that_is_not_known_is_never_shown_as_nothing() {
    let mut stage = two(140, 40);
    let text = stage.text();
    assert!(text.contains("30.1k tok $0.21+?"), "{text}");
    stage.keys("/cost<enter>");
    let text = stage.text();
    assert!(text.contains("$0.2100 + unknown"), "{text}");
    let child = text.lines().find(|line| line.contains("  explore-1 ")).unwrap();
    assert!(child.contains("unknown") && !child.contains("$0.0"), "{child}");
}

#[test]
fn the_table_of_costs_is_live() {
    let mut stage = two(140, 40);
    stage.keys("/cost<enter>");
    assert!(stage.text().contains("10.0k"));
    stage.agent(1, turn(5_000, Some(0.5)));
    assert!(stage.app.is_dirty());
    let text = stage.text();
    assert!(text.contains("15.1k") && text.contains("$0.7100 + unknown"), "{text}");
}

#[test]
fn the_budget_is_set_raised_and_lifted_by_words() {
    let mut stage = two(140, 40);
    assert_eq!(set(&stage.keys("/budget 500k<enter>")), Some(BudgetLimit { tokens: Some(500_000), usd: None }));
    assert_eq!(
        set(&stage.keys("/budget $2<enter>")),
        Some(BudgetLimit { tokens: None, usd: Some(Dollars::from(2.0)) }),
        "what the engine has not told is not in force"
    );
    stage.session(SessionEvent::BudgetChanged { limit: BudgetLimit { tokens: Some(500_000), usd: None } });
    assert_eq!(set(&stage.keys("/budget +100k<enter>")).unwrap().tokens, Some(130_100));
    assert_eq!(set(&stage.keys("/budget off<enter>")), Some(BudgetLimit::default()));
    assert_eq!(set(&stage.keys("/budget much<enter>")), None);
    assert!(stage.text().contains("not a number of tokens"));
    stage.wait(10_000);
    stage.keys("/budget<enter>");
    assert!(stage.text().contains("30,100 of 500,000 tokens spent"), "{}", stage.text());
}

#[test]
fn what_is_left_stands_in_the_status_line() {
    let mut stage = two(140, 40);
    stage.session(SessionEvent::BudgetChanged { limit: BudgetLimit { tokens: Some(35_000), usd: None } });
    assert!(stage.text().contains("4.9k tok left"), "{}", stage.text());
    stage.agent(1, turn(9_000, None));
    assert!(stage.text().contains("0 tok left"));
    stage.session(SessionEvent::BudgetChanged { limit: BudgetLimit::default() });
    assert!(!stage.text().contains("left"));
}

#[test]
fn a_cleared_conversation_is_paid_for_to_its_end() {
    let mut stage = two(140, 40);
    stage.keys("/clear<enter><enter>");
    stage.session(SessionEvent::Cleared);
    stage.agent(1, turn(1_000, Some(0.1)));
    let spent = stage.app.agents().spent();
    assert_eq!((spent.usage.total(), spent.unpriced), (31_200, 10_000));
    stage.keys("/cost<enter>");
    assert!(stage.text().contains("before /clear"));
}

#[test]
fn an_estimate_is_marked_wherever_it_is_shown() {
    let mut stage = two(140, 40);
    let usage = Usage { input: 5_300, output: 100, estimated: true, ..Usage::default() };
    let message = AssistantMessage::default();
    stage.main(EventKind::Turn(TurnEvent::Ended {
        message,
        usage,
        cost_usd: Some(0.02),
        stop: None,
        latency_ms: None,
    }));
    stage.session(SessionEvent::BudgetChanged { limit: BudgetLimit { tokens: Some(50_000), usd: None } });
    let text = stage.text();
    assert!(text.contains("~35.5k tok ~$0.23+?") && text.contains("~14.5k tok left"), "{text}");
    stage.keys("/budget<enter>");
    assert!(stage.text().contains("~35,500 of 50,000 tokens spent"), "{}", stage.text());
    stage.keys("/cost<enter>");
    let text = stage.text();
    assert!(text.contains("~$0.2300 + unknown") && text.contains("~ marks an estimate"), "{text}");
    let child = text.lines().find(|line| line.contains("  explore-1 ")).unwrap();
    assert!(child.contains("10.0k") && !child.contains('~'), "what was counted is exact: {child}");
}

#[test]
fn what_a_program_does_not_say_is_unknown_wherever_it_is_shown() {
    let mut stage = two(200, 50);
    stage.spawns(2, "codex", "Look");
    stage.starts(2);
    let unknown = Usage { unknown: true, ..Usage::default() };
    stage.agent(2, EventKind::Aside { usage: unknown, cost_usd: None });
    stage.session(SessionEvent::BudgetChanged { limit: BudgetLimit { tokens: Some(50_000), usd: None } });
    let text = stage.text();
    let title = text.lines().find(|line| line.contains("Look")).unwrap();
    assert!(title.contains("unknown") && !title.contains("tok"), "{title}");
    assert!(text.contains("≥30.1k tok $0.21+?") && text.contains("≤19.9k tok left"), "{text}");
    stage.keys("/budget<enter>");
    let words = "≥30,100 of 50,000 tokens spent; what other programs used and did not say is not counted";
    assert!(stage.text().contains(words), "{}", stage.text());
    stage.keys("/cost<enter>");
    let text = stage.text();
    assert!(text.contains("≥ marks a sum without what another agent program used"), "{text}");
    let row = text.lines().find(|line| line.contains("  codex-2 ")).unwrap();
    assert!(row.contains("unknown") && !row.contains(" 0 "), "{row}");
    // What its context holds is the least that it has used.
    stage.keys("<esc>");
    stage.agent(2, EventKind::Aside { usage: Usage { input: 17_900, ..unknown }, cost_usd: None });
    let title = stage.text().lines().find(|line| line.contains("Look")).unwrap().to_owned();
    assert!(title.contains("≥17k"), "{title}");
}

#[test]
fn costs_at_the_sizes_people_have() {
    check("cost", |width, height| {
        let mut stage = two(width, height);
        stage.session(SessionEvent::BudgetChanged {
            limit: BudgetLimit { tokens: Some(36_000), usd: Some(Dollars::from(2.5)) },
        });
        stage.spawns(2, "code", "Change it");
        let before = stage.frame();
        stage.keys("/cost<enter>");
        stage.added_since(&before)
    });
}
