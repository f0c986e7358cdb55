//! The timeline: spans as folds over events in whatever order, its cursor, and where `enter` leads.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use belvedere::agent::{EventKind, SessionEvent, Status};
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::timeline::{SpanKind, TimelineWindow};
use belvedere::app::{Effect, Event, Focus};
use belvedere::message::AgentId;
use belvedere::subagent::{Children, Command};
use belvedere::tui::view::theme::{ColorDepth, Glyphs, Theme};
use proptest::prelude::*;

use super::agents::{Life, any_kind};
use crate::screens::scenes;
use crate::screens::stage::{Stage, tool_started};

fn window(stage: &Stage) -> TimelineWindow {
    stage.app.timeline().expect("the timeline is open")
}

/// Returns the letters of an agent's spans in their order.
fn letters(stage: &Stage, agent: u32) -> String {
    stage.app.track(AgentId(agent)).unwrap().spans().iter().map(|span| span.kind.row().letter).collect()
}

/// Returns the line that says what happened under the cursor.
fn words(stage: &mut Stage) -> String {
    let row = window(stage).words.y;
    stage.text().lines().nth(usize::from(row)).unwrap_or_default().to_owned()
}

/// Returns whether effects ask the agents for anything.
fn is_quiet(effects: &[Effect]) -> bool {
    !effects.iter().any(|effect| matches!(effect, Effect::Command(_)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spans_are_in_order_and_open_exactly_while_the_agent_lives(
        events in prop::collection::vec((0_u32..5, any_kind(), 0_u64..90_000), 1..80),
        (width, height) in (1_u16..140, 1_u16..50),
        keys in "[hjklgGf+-]{0,12}",
    ) {
        let mut stage = Stage::new(width, height);
        let begun = stage.app.now();
        let mut lives: HashMap<u32, Life> = HashMap::new();
        // Who was dead from when until when.
        let mut dead: Vec<(u32, Instant, Option<Instant>)> = Vec::new();
        for (at, (agent, kind, pause)) in events.iter().enumerate() {
            stage.wait(*pause);
            stage.agent(*agent, kind.clone());
            if *agent > 0 {
                let life = lives.entry(*agent).or_default();
                let was_dead = life.ended.is_some();
                life.hears(kind);
                let now = stage.app.now();
                match (was_dead, life.ended.is_some()) {
                    (false, true) => dead.push((*agent, now, None)),
                    (true, false) => {
                        let (.., back) = dead.iter_mut().rfind(|(id, ..)| id == agent).unwrap();
                        *back = Some(now);
                    }
                    _ => {}
                }
            }
            if at == 20 {
                stage.keys("/timeline<enter>");
            }
            if at > 20 && at % 8 == 0 {
                stage.keys(&keys);
                stage.draw();
            }
        }
        stage.draw();
        for agent in (0..5).filter_map(|id| stage.app.agents().get(AgentId(id))) {
            let Some(track) = stage.app.track(agent.id) else { continue };
            let dead = dead.iter().filter(|(id, ..)| *id == agent.id.0);
            let mut last = begun;
            for (at, span) in track.spans().iter().enumerate() {
                prop_assert!(last <= span.from, "spans overlap");
                prop_assert!(span.to.is_some() || at + 1 == track.spans().len(), "an open span within");
                last = span.to.unwrap_or(span.from);
                prop_assert!(span.from <= last && last <= stage.app.now());
                let lies_within = |(_, died, back): &(u32, Instant, Option<Instant>)| {
                    last > *died && back.is_none_or(|back| span.from < back)
                };
                prop_assert!(!dead.clone().any(lies_within), "after an end");
            }
            prop_assert_eq!(track.is_open(), agent.is_active(), "{:?}", agent.phase);
            let marks = track.spans().iter().filter(|span| span.ended.is_some()).count();
            // Runs without any length share a mark.
            let ends = lives.get(&agent.id.0).map_or(0, |life| life.ends);
            prop_assert!(agent.id.is_main() || marks <= ends && (marks > 0) == (ends > 0), "{} of {}", marks, ends);
        }
    }
}

#[test]
fn an_agents_life_is_told_in_letters() {
    let stage = scenes::timeline(120, 40);
    assert_eq!(letters(&stage, 1), "tTtTt");
    assert_eq!(letters(&stage, 2), "tA");
    assert_eq!(letters(&stage, 5), "tRWSW");
    assert_eq!(letters(&stage, 6), "q");
    assert!(letters(&stage, 0).ends_with("wSw"), "{}", letters(&stage, 0));
    let ended = |agent: u32| stage.app.track(AgentId(agent)).unwrap().spans().last().unwrap().ended;
    assert_eq!(
        [ended(1), ended(2), ended(3), ended(6)],
        [Some(Status::Completed), Some(Status::Cancelled), Some(Status::Failed), None]
    );
}

#[test]
fn late_and_repeated_events_add_no_span() {
    let mut stage = scenes::timeline(120, 40);
    let before = letters(&stage, 1);
    stage.wait(5_000);
    stage.agent(1, EventKind::Started);
    stage.agent(1, tool_started("late", "Read", "x"));
    stage.ends(1, Status::Failed, "", None);
    assert_eq!(letters(&stage, 1), before);
}

#[test]
fn silence_shows_while_it_lasts_and_stays_when_it_is_over() {
    let mut stage = Stage::new(100, 24);
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    stage.wait(70_000);
    stage.keys("/timeline<enter>j");
    let said = words(&mut stage);
    assert!(said.contains("S 11s so far  stalled"), "{said}");
    stage.says(1, "back");
    assert_eq!(letters(&stage, 1), "tSW");
    stage.wait(1_000);
    assert!(words(&mut stage).contains("writing"));
}

#[test]
fn the_cursor_says_what_was_done_and_enter_goes_there() {
    let mut stage = scenes::timeline(120, 24);
    assert_eq!(stage.app.focus(), Focus::Timeline);
    stage.keys("j<home>");
    assert!(words(&mut stage).contains("explore-1  starts at 00:03"), "{}", words(&mut stage));
    stage.keys("<right><right><right><right>");
    assert!(
        words(&mut stage).contains("T 9.0s  Grep \"verify_password\" → 14 hits in 6 files"),
        "{}",
        words(&mut stage)
    );
    stage.keys("<enter>");
    let text = stage.text();
    assert_eq!((stage.app.focus(), stage.app.focused_agent()), (Focus::Agents, Some(AgentId(1))));
    let cell = stage.app.track(AgentId(1)).unwrap().spans()[1].cell;
    assert!(text.contains("Grep \"verify_password\""), "{text}");
    assert_eq!(cell, 0);
    stage.keys("<esc>");
    assert_eq!(stage.app.focus(), Focus::Timeline, "back where it came from");
    assert!(words(&mut stage).contains("Grep"), "the cursor has not moved");
    stage.keys("<esc>");
    assert_eq!((stage.app.focus(), stage.app.timeline()), (Focus::Composer, None));
}

#[test]
fn enter_scrolls_to_the_cell_of_the_moment() {
    let mut stage = Stage::new(100, 24);
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    for number in 0..100 {
        stage.wait(1_000);
        stage.agent(1, tool_started(&format!("c{number}"), "Read", &format!("file-{number}.rs")));
        stage.wait(1_000);
        stage.tool_ends(1, &format!("c{number}"), "1 line", None);
    }
    stage.keys("/timeline<enter>j<home>");
    for _ in 0..4 {
        stage.keys("<right>");
    }
    let said = words(&mut stage);
    let file = said.split_whitespace().find(|word| word.starts_with("file-")).expect("a file is read").to_owned();
    stage.keys("<enter>");
    let text = stage.text();
    // Behind the title and the head.
    assert!(text.lines().nth(2).unwrap().contains(&file), "{said}\n{text}");
    assert!(stage.app.pane(AgentId(1)).scroll.at.is_some());
}

#[test]
fn it_follows_the_present_until_the_cursor_is_moved() {
    let mut stage = scenes::timeline(80, 24);
    let before = window(&stage);
    assert_eq!(before.cursor, before.last);
    stage.wait(20_000);
    let after = window(&stage);
    assert!(after.last > before.last && after.cursor == after.last);
    stage.keys("<left><left>");
    let put = window(&stage).time_of(window(&stage).cursor).0;
    stage.wait(30_000);
    let (from, to) = window(&stage).time_of(window(&stage).cursor);
    assert!(from <= put && put < to, "the moment stays, whatever the scale");
    stage.keys("<end>");
    assert_eq!(window(&stage).cursor, window(&stage).last);
}

#[test]
fn zoom_keeps_the_moment_and_goes_no_wider_than_everything() {
    let mut stage = scenes::timeline(80, 24);
    stage.keys("<home><right><right><right><right><right>");
    let whole = window(&stage);
    let moment = whole.since(whole.cursor);
    stage.keys("++");
    let close = window(&stage);
    assert!(close.column_length() < whole.column_length());
    assert!(moment.abs_diff(close.since(close.cursor)) < whole.column_length());
    assert!((close.first..close.first + u64::from(close.bars.width)).contains(&close.cursor));
    stage.keys("-----");
    assert_eq!(window(&stage).column_length(), whole.column_length());
    stage.keys("+++f");
    assert_eq!(window(&stage).column_length(), whole.column_length());
}

#[test]
fn the_cursor_and_the_chosen_row_are_visible_at_every_size() {
    for (width, height) in [(1, 1), (8, 3), (20, 6), (60, 15), (80, 24), (400, 120)] {
        let mut stage = scenes::timeline(width, height);
        for keys in ["<down>", "<pageup>", "+", "+", "<shift+left>", "<down><down><down>", "<pagedown>", "<home>", "G"]
        {
            stage.keys(keys);
            stage.draw();
            let now = window(&stage);
            let room = u64::from(now.bars.width.max(1));
            assert!((now.first..now.first + room).contains(&now.cursor), "{keys} at {width}x{height}");
            let shown = now.rows.is_empty() || now.rows.iter().any(|row| row.agent == now.chosen);
            assert!(shown, "{keys} at {width}x{height}");
        }
    }
}

/// Interrupts the main agent; the subagents that it waits for go on.
const KEPT: Effect = Effect::Command(Command::Interrupt { children: Children::Keep });

#[test]
fn twenty_times_esc_stops_nothing() {
    let mut stage = scenes::timeline(100, 30);
    assert!(is_quiet(&stage.keys("<left><enter>")));
    for press in 0..20 {
        let mut effects = stage.event(Event::Input(Input::Key("<esc>".parse().unwrap())));
        // One leads back to the message; there the first asks, and the second interrupts the main agent alone.
        effects.retain(|effect| press < 2 || *effect != KEPT);
        assert!(is_quiet(&effects), "press {press}: {effects:?}");
    }
    assert_eq!(stage.app.agents().running().count(), 3);
}

#[test]
fn nested_agents_stand_below_their_parents() {
    let mut stage = Stage::new(100, 24);
    stage.asks("go");
    for agent in 1..=2 {
        stage.spawns(agent, "explore", "Find");
        stage.starts(agent);
    }
    stage.agent(3, super::agents::spawn(1, "c"));
    stage.wait(5_000);
    stage.keys("/timeline<enter>");
    let rows: Vec<(u32, u16)> = window(&stage).rows.iter().map(|row| (row.agent.0, row.depth)).collect();
    assert_eq!(rows, [(0, 0), (1, 0), (3, 1), (2, 0)]);
}

#[test]
fn thousands_of_steps_are_kept_in_part_and_in_order() {
    let mut stage = Stage::new(120, 30);
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    for number in 0..12_000 {
        stage.wait(500);
        stage.agent(1, tool_started("c", "Read", &format!("file-{number}.rs")));
        stage.wait(500);
        stage.tool_ends(1, "c", "", None);
    }
    let track = stage.app.track(AgentId(1)).unwrap();
    assert!(track.spans().len() <= 4_001, "{}", track.spans().len());
    assert!(track.spans().windows(2).all(|pair| pair[0].to == Some(pair[1].from)), "no time is lost");
    assert!(track.spans().iter().filter(|span| span.kind == SpanKind::Tool).all(|span| !span.label.is_empty()));
    stage.keys("/timeline<enter>j<home>");
    assert!(words(&mut stage).contains("explore-1  T"), "{}", words(&mut stage));
}

#[test]
fn a_new_conversation_has_a_new_timeline() {
    let mut stage = scenes::timeline(100, 30);
    stage.keys("<esc>/clear<enter><enter>/timeline<enter>");
    assert_eq!(stage.app.timeline(), None);
    assert!(stage.text().contains("nothing has happened yet"));
    let mut stage = scenes::timeline(100, 30);
    stage.session(SessionEvent::Cleared);
    assert_eq!((stage.app.timeline(), stage.app.focus()), (None, Focus::Composer));
    stage.text();
}

#[test]
fn a_click_puts_the_cursor_and_the_wheel_zooms() {
    let mut stage = scenes::timeline(100, 30);
    let mouse = |stage: &mut Stage, kind, column, row| {
        assert!(is_quiet(&stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row })))));
    };
    let before = window(&stage);
    mouse(&mut stage, MouseKind::Press, before.bars.x + 7, before.bars.y + 2);
    let clicked = window(&stage);
    assert_eq!((clicked.cursor, clicked.chosen), (before.first + 7, AgentId(2)));
    mouse(&mut stage, MouseKind::WheelUp, before.bars.x, before.bars.y);
    assert!(window(&stage).column_length() < before.column_length());
    mouse(&mut stage, MouseKind::WheelDown, before.bars.x, before.bars.y);
    assert_eq!(window(&stage).column_length(), before.column_length());
}

#[test]
fn a_question_is_answered_without_leaving() {
    let mut stage = scenes::timeline(100, 30);
    stage.wants_to_run(5, "b", "make");
    stage.keys("<f6><f6>");
    assert_eq!(stage.app.focus(), Focus::Approvals);
    assert!(!is_quiet(&stage.keys("y")));
    assert_eq!(stage.app.focus(), Focus::Timeline);
    assert!(stage.text().contains("timeline  "));
}

#[test]
fn nothing_ticks_while_nothing_runs() {
    let mut stage = scenes::ended(100, 30);
    stage.keys("/timeline<enter>");
    stage.draw();
    stage.wait(10_000);
    stage.draw();
    assert_eq!(stage.app.next_wakeup(), None);
    let before = window(&stage);
    stage.wait(60_000);
    assert_eq!(window(&stage), before);
}

#[test]
fn only_columns_change_the_frame() {
    let mut stage = Stage::new(100, 30);
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    stage.says(1, "the first ");
    stage.ends(0, Status::Completed, "", None);
    stage.keys("/timeline<enter>");
    stage.draw();
    stage.wait(10_000);
    let next = stage.app.next_wakeup().expect("one agent runs");
    assert!(next - stage.app.now() <= Duration::from_secs(1));
    assert!(next - stage.app.now() > Duration::from_millis(120) || stage.app.now() + Duration::from_secs(1) > next);
    stage.draw();
    stage.says(1, "words");
    assert!(!stage.app.is_dirty(), "words are not on screen");
}

#[test]
fn a_poor_terminal_tells_the_kinds_apart() {
    let mut stage = scenes::timeline(80, 24);
    stage.theme(Theme::load("dark", ColorDepth::None).unwrap().with_glyphs(Glyphs::ASCII));
    let text = stage.text();
    assert!(text.chars().all(|c| c.is_ascii() || "设置".contains(c)), "{text}");
    let row = |name: &str| text.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(row("explore-1").contains("t-T####t--Tt---+"), "{text}");
    assert!(row("plan-2").contains("t-A???") && row("设置").contains("R~~~"), "{text}");
    assert!(row("search-6").contains("q....") && row("review-4").contains("S!!!"), "{text}");
}

#[test]
fn a_wide_title_shows_how_busy_the_agent_was() {
    let mut stage = Stage::new(200, 30);
    stage.keys("/layout below<enter>");
    stage.asks("go");
    stage.spawns(1, "explore", "Find");
    stage.starts(1);
    for _ in 0..10 {
        stage.says(1, "word ");
    }
    stage.wait(12_000);
    stage.says(1, "word ");
    let title = |stage: &mut Stage| {
        let text = stage.text();
        text.lines().find(|line| line.starts_with("▾ 1 Find")).unwrap().to_owned()
    };
    assert!(title(&mut stage).contains("▃  ▁"), "{}", title(&mut stage));
    stage.wait(59_000);
    assert!(!title(&mut stage).contains('▃'), "{}", title(&mut stage));
    stage.resize(70, 30);
    assert!(!title(&mut stage).contains('▁'));
}
