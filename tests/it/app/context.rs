//! What fills a context, and conversations that are compacted, on the screen: by keys and events.

use belvedere::agent::{ContextEvent, ContextPart, ContextUse, EventKind, PartKind};
use belvedere::app::Effect;
use belvedere::message::Usage;
use belvedere::subagent::Command;

use crate::screens::snapshots::check;
use crate::screens::stage::Stage;

fn part(kind: PartKind, agent: Option<&str>, tokens: u64) -> ContextPart {
    ContextPart { kind, agent: agent.map(str::to_owned), file: None, bytes: tokens * 4, tokens }
}

fn measured(tokens: u64) -> EventKind {
    let parts = vec![
        part(PartKind::System, None, 3_000),
        part(PartKind::Tools, None, 12_000),
        part(PartKind::Messages, None, 900),
        part(PartKind::Results, None, tokens - 17_900),
        part(PartKind::Report, Some("explore-1"), 2_000),
    ];
    EventKind::Context(ContextEvent::Measured {
        filled: ContextUse { tokens, window: Some(200_000), reply: 32_000, parts },
    })
}

fn compacting() -> EventKind {
    EventKind::Context(ContextEvent::Compacting { before: 170_000, model: "sonnet".to_owned() })
}

fn compacted(summary: &str) -> EventKind {
    EventKind::Context(ContextEvent::Compacted {
        message: format!("[compacted]\n\n<summary>\n{summary}\n</summary>\n\n<first_message>\ngo\n</first_message>"),
        kept: 2,
        before: 170_000,
        after: 30_000,
        usage: Usage { input: 100_000, output: 1_000, ..Usage::default() },
        cost_usd: Some(0.3),
    })
}

fn compacts(effects: &[Effect], wish: Option<&str>) -> bool {
    let wanted = Command::Compact { wish: wish.map(str::to_owned) };
    effects.iter().any(|effect| matches!(effect, Effect::Command(command) if *command == wanted))
}

fn working() -> Stage {
    let mut stage = Stage::new(110, 30).with_model();
    stage.asks("go");
    stage.says(0, "I will look.");
    stage
}

#[test]
fn the_context_is_shown_part_by_part_and_that_of_each_agent() {
    let mut stage = working();
    stage.keys("/context<enter>");
    assert!(stage.text().contains("nothing sent to the model yet"), "{}", stage.text());
    stage.main(measured(120_000));
    stage.spawns(1, "explore", "Find it");
    stage.starts(1);
    stage.agent(1, measured(40_000));
    stage.keys("/context<enter>");
    let text = stage.text();
    assert!(text.contains("120k of 200k tokens (60%)") && text.contains("report from explore-1"), "{text}");
    stage.keys("<esc>/context 1<enter>");
    assert!(stage.text().contains("explore-1 · context") && stage.text().contains("40.0k of 200k"), "{}", stage.text());
    stage.keys("<esc>/context 9<enter>");
    assert!(stage.text().contains("usage: /context"), "{}", stage.text());
}

#[test]
fn a_conversation_is_compacted_at_the_users_word() {
    let mut stage = Stage::new(110, 30).with_model();
    assert!(!compacts(&stage.keys("/compact<enter>"), None));
    assert!(stage.text().contains("nothing to compact yet"), "{}", stage.text());
    let mut stage = working();
    let wanted = stage.keys("/compact the names in src/auth<enter>");
    assert!(compacts(&wanted, Some("the names in src/auth")), "{wanted:?}");
    assert!(stage.text().contains("will be compacted after the main agent answers"), "{}", stage.text());
    assert!(compacts(&stage.keys("/compact<enter>"), None));
}

#[test]
fn what_was_compacted_stays_above_its_mark_and_the_summary_unfolds() {
    let mut stage = working();
    stage.main(compacting());
    let text = stage.text();
    assert!(text.contains("compacting"), "{text}");
    stage.main(compacted("Wishes: **go**.\n\u{1b}[31mDone: looked."));
    let text = stage.text();
    assert!(text.contains("I will look.") && text.contains("compacted: 170k → 30.0k tokens"), "{text}");
    assert!(!text.contains("Done: looked.") && text.contains("$0.3"), "{text}");
    stage.keys("<f6><tab>");
    let text = stage.text();
    assert!(text.contains("Done: looked.") && !text.contains("first_message"), "{text}");
    // Folded again, it opens in front.
    stage.keys("<tab><enter><enter>");
    let text = stage.text();
    assert!(text.contains("summary of the conversation") && text.contains("Done: looked."), "{text}");
}

#[test]
fn the_popup_and_the_mark_stand_at_every_size() {
    check("context", |width, height| {
        let mut stage = Stage::new(width, height).with_model();
        stage.asks("go");
        stage.main(measured(120_000));
        stage.spawns(1, "explore", "Find it");
        stage.starts(1);
        stage.agent(1, measured(40_000));
        stage.main(compacted("Wishes: go.\nDone: looked."));
        stage.keys("/context<enter>");
        stage.text()
    });
}

#[test]
fn a_failure_is_said_and_changes_nothing_on_the_screen() {
    let mut stage = working();
    stage.main(compacting());
    let usage = Usage::default();
    let reason = "The model wrote no summary.".to_owned();
    stage.main(EventKind::Context(ContextEvent::NotCompacted { reason, usage, cost_usd: None }));
    let text = stage.text();
    assert!(text.contains("not compacted: The model wrote no summary.") && text.contains("thinking"), "{text}");
    stage.main(EventKind::Context(ContextEvent::Trimmed {
        calls: vec!["a".to_owned(), "b".to_owned()],
        keep_chars: 0,
        before: 150_000,
        after: 90_000,
    }));
    assert!(
        stage.text().contains("dropped 2 old tool results to save context: 150k → 90.0k tokens"),
        "{}",
        stage.text()
    );
}

#[test]
fn a_pane_says_so_when_its_context_is_nearly_full() {
    let mut stage = working();
    stage.spawns(1, "explore", "Find it");
    stage.starts(1);
    stage.ends_turn(1, "so far", 150_000);
    assert!(!stage.text().contains("ctx 7"), "the window is not known: {}", stage.text());
    stage.agent(1, EventKind::Context(ContextEvent::Compacting { before: 150_000, model: "haiku".to_owned() }));
    assert!(stage.text().contains("compacting"), "{}", stage.text());
}
