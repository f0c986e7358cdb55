//! Agents as folds over events, in whatever order these come.

use belvedere::agent::{
    Author, Bounds, EventKind, FileTally, Hold, LastWords, Outcome, RunMode, SessionEvent, Spawn, Status, StopCause,
    ToolEvent, TurnEvent,
};
use belvedere::app::{AgentState, Cell, CellId, CellKind, Phase};
use belvedere::message::{AgentId, AssistantMessage, Block, ToolResult, Usage};
use belvedere::permission::{Answer, ApprovalId};
use belvedere::tui::view::theme::{ColorDepth, Theme};
use proptest::prelude::*;

use crate::screens::scenes;
use crate::screens::stage::{Stage, request, tool_started};

fn outcome(status: Status) -> Outcome {
    Outcome {
        status,
        text: "<summary>done</summary>".to_owned(),
        words: words(status),
        reason: None,
        turns: 1,
        tool_calls: 1,
        usage: Usage { input: 10, output: 5, ..Usage::default() },
        cost_usd: None,
        elapsed_ms: 10,
        tools_run: std::collections::BTreeMap::new(),
        files: FileTally::default(),
        doubt: None,
    }
}

pub(super) fn spawn(parent: u32, call: &str) -> EventKind {
    EventKind::Spawned(Spawn {
        parent: AgentId(parent),
        call_id: call.to_owned(),
        name: "explore-1".to_owned(),
        agent_type: "explore".to_owned(),
        color: None,
        description: "Find".to_owned(),
        prompt: "Find it".to_owned(),
        model: "m".to_owned(),
        tools: Vec::new(),
        bounds: Bounds::default(),
        run_mode: RunMode::Foreground,
        options: Box::default(),
    })
}

fn run_mode() -> impl Strategy<Value = RunMode> {
    prop::sample::select(vec![RunMode::Foreground, RunMode::Background])
}

pub(super) fn any_kind() -> impl Strategy<Value = EventKind> {
    let call = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        (0_u32..5, call.clone()).prop_map(|(parent, call)| spawn(parent, call)),
        Just(EventKind::Started),
        Just(EventKind::UserMessage { text: "go\u{1b}[31m on".to_owned(), by: Author::User, id: None }),
        (0_u32..3).prop_map(|turn| EventKind::Turn(TurnEvent::Started { turn })),
        ".{0,12}".prop_map(|text| EventKind::Turn(TurnEvent::Text { text })),
        ".{0,12}".prop_map(|text| EventKind::Turn(TurnEvent::Thinking { text })),
        any::<bool>().prop_map(|rate_limited| EventKind::Turn(TurnEvent::Retrying {
            attempt: 2,
            wait_ms: 900,
            rate_limited,
            reason: "busy".to_owned()
        })),
        (prop::sample::select(vec![Hold::RateLimit, Hold::Budget]), prop::option::of(0_u64..4_000), 0_u32..3)
            .prop_map(|(why, wait_ms, ahead)| EventKind::Held { why, wait_ms, ahead }),
        ".{0,12}".prop_map(|text| EventKind::Turn(TurnEvent::Ended {
            message: AssistantMessage::new(vec![Block::Text { text }]),
            usage: Usage::default(),
            cost_usd: None,
            stop: None,
            latency_ms: None,
        })),
        call.clone().prop_map(|call| tool_started(call, "Grep", "x")),
        call.clone().prop_map(|call| tool_started(call, "Agent", "x")),
        (call.clone(), ".{0,12}")
            .prop_map(|(call, tail)| EventKind::Tool(ToolEvent::Progress { call_id: call.to_owned(), tail })),
        (call.clone(), any::<bool>()).prop_map(|(call, is_error)| EventKind::Tool(ToolEvent::Ended {
            result: ToolResult { is_error, ..ToolResult::text(call, "r") },
            summary: "s".to_owned(),
            view: None,
            changes: Vec::new(),
        })),
        (0_u32..5, call.clone()).prop_map(|(agent, call)| EventKind::Tool(ToolEvent::ApprovalRequested {
            request: request(agent, call, "make")
        })),
        (0_u32..5, call).prop_map(|(agent, call)| EventKind::Tool(ToolEvent::ApprovalResolved {
            id: ApprovalId { agent: AgentId(agent), call_id: call.to_owned(), number: 0 },
            answer: Some(Answer::Once),
            by_grant: false,
        })),
        Just(EventKind::Stopping { cause: StopCause::User }),
        (0_u32..6, run_mode()).prop_map(|(run, run_mode)| EventKind::Resumed { run, run_mode }),
        run_mode().prop_map(|run_mode| EventKind::Moved { run_mode }),
        prop::sample::select(vec![Status::WrappedUp, Status::TurnLimit]).prop_map(|why| EventKind::LastTurn { why }),
        prop::sample::select(vec![Author::Parent, Author::Program, Author::Subagents(vec![AgentId(1), AgentId(9)])])
            .prop_map(|by| EventKind::UserMessage { text: "go\u{1b}[31m on\nnow".to_owned(), by, id: None }),
        prop::sample::select(vec![Status::Completed, Status::Failed, Status::Cancelled, Status::Empty])
            .prop_map(|status| EventKind::Ended { outcome: outcome(status) }),
        Just(EventKind::Notice { text: "n".to_owned() }),
    ]
}

/// What must be so of an agent, told by the rules alone.
#[derive(Debug)]
pub(super) struct Life {
    pub run: u32,
    pub ended: Option<Status>,
    pub ends: usize,
}

impl Default for Life {
    fn default() -> Self {
        Self { run: 1, ended: None, ends: 0 }
    }
}

impl Life {
    pub(super) fn hears(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Ended { outcome } if self.ended.is_none() => {
                self.ended = Some(outcome.status);
                self.ends += 1;
            }
            EventKind::Resumed { run, .. } if *run > self.run => {
                self.run = *run;
                self.ended = None;
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_events_is_borne_and_the_dead_stay_dead_but_for_a_later_run(
        events in prop::collection::vec((0_u32..5, any_kind(), 0_u64..40_000), 1..80),
        (width, height) in (1_u16..140, 1_u16..50),
    ) {
        let mut stage = Stage::new(width, height);
        let mut lives = std::collections::HashMap::new();
        for (at, (agent, kind, pause)) in events.iter().enumerate() {
            stage.wait(*pause);
            stage.agent(*agent, kind.clone());
            if *agent > 0 {
                lives.entry(*agent).or_insert_with(Life::default).hears(kind);
            }
            if at % 16 == 0 {
                stage.draw();
            }
        }
        stage.draw();
        for (agent, life) in lives {
            let view = stage.app.agents().get(AgentId(agent)).unwrap();
            let ended = match view.phase {
                Phase::Ended(status) => Some(status),
                _ => None,
            };
            prop_assert_eq!((view.run, ended), (life.run, life.ended), "agent {}", agent);
            prop_assert_eq!(view.has_ended(), life.ended.is_some());
            let reports = view.cells.iter().filter(|(_, cell)| matches!(cell.kind, CellKind::Report { .. })).count();
            prop_assert_eq!(reports, life.ends);
            prop_assert!(view.spent.usage.total() >= 15 * life.ends as u64);
            if view.has_ended() {
                prop_assert_eq!(stage.app.approvals().of(AgentId(agent)), 0);
                prop_assert_eq!(view.spent.usage.total(), 15 * life.ends as u64);
            }
        }
    }
}

#[test]
fn deltas_are_replaced_by_the_whole_reply() {
    let mut stage = Stage::new(100, 30);
    stage.asks("hi");
    stage.says(0, "Hel");
    stage.says(0, "lo");
    stage.ends_turn(0, "Hello", 10);
    let texts = |stage: &Stage| -> Vec<String> {
        let cells = stage.app.agents().main().cells.iter();
        cells
            .filter_map(|(_, cell)| match &cell.kind {
                CellKind::Text { text } => Some(text.clone()),
                _ => None,
            })
            .collect()
    };
    assert_eq!(texts(&stage), ["Hello"]);
    stage.main(EventKind::Turn(TurnEvent::Started { turn: 2 }));
    stage.says(0, "gone wro");
    stage.main(EventKind::Turn(TurnEvent::Retrying {
        attempt: 2,
        wait_ms: 5_000,
        rate_limited: true,
        reason: "slow".to_owned(),
    }));
    assert!(stage.text().contains("retrying in 5s (attempt 2): slow"));
    let text = stage.text();
    assert!(text.contains("gone wro") && text.contains("cut off, retrying (attempt 2)"), "{text}");
    stage.says(0, "right");
    stage.ends_turn(0, "right!", 10);
    assert_eq!(texts(&stage), ["Hello", "right!"]);
    assert!(!stage.text().contains("attempt 2") && !stage.text().contains("gone wro"));
}

#[test]
fn a_reply_that_breaks_off_keeps_what_it_said_dimmed_and_marked() {
    let mut stage = Stage::new(100, 24).with_model();
    stage.asks("go");
    let breaks = |stage: &mut Stage, said: &str, attempt| {
        stage.says(0, said);
        let reason = "The response from anthropic was cut off (unexpected end).".to_owned();
        let retrying = TurnEvent::Retrying { attempt, wait_ms: 3_000, rate_limited: false, reason };
        stage.main(EventKind::Turn(retrying));
    };
    breaks(&mut stage, "This will be cut off in the mid", 2);
    let text = stage.text();
    assert!(text.contains("This will be cut off in the mid"), "{text}");
    assert!(text.contains("cut off, retrying (2 of 6)"), "{text}");
    let (frame, _) = stage.draw();
    let (x, y) = at(&frame, "This will be");
    let faint = Theme::load("dark", ColorDepth::TrueColor).unwrap().faint;
    assert_eq!(frame[(x, y)].fg, faint.fg.unwrap());
    // Without a word in between, it is still the same that broke off.
    breaks(&mut stage, "", 3);
    assert!(stage.text().contains("cut off, retrying (3 of 6)"), "{}", stage.text());
    breaks(&mut stage, "Another try", 4);
    let text = stage.text();
    assert!(text.contains("Another try") && !text.contains("This will be"), "only the last one is kept\n{text}");
    stage.ends(0, Status::Failed, "", Some("The answer broke off six times."));
    let text = stage.text();
    assert!(text.contains("Another try") && !text.contains("cut off, retrying"), "{text}");
}

fn at(frame: &ratatui::buffer::Buffer, text: &str) -> (u16, u16) {
    let rows = crate::screens::stage::as_text(frame);
    let found = rows.lines().zip(0..).find_map(|(row, y)| Some((row.find(text)?, y))).unwrap();
    (
        u16::try_from(rows.lines().nth(found.1).unwrap()[..found.0].chars().count()).unwrap(),
        u16::try_from(found.1).unwrap(),
    )
}

#[test]
fn nothing_of_a_child_appears_in_the_conversation_but_its_summary() {
    let mut stage = Stage::new(120, 40);
    stage.asks("go");
    stage.spawns(1, "explore", "Find things");
    stage.starts(1);
    stage.calls(1, "c", "Grep", "canary-title", "canary-summary");
    stage.says(1, "canary-text");
    stage.agent(1, EventKind::Turn(TurnEvent::Thinking { text: "canary-thought".to_owned() }));
    stage.ends(1, Status::Completed, "<summary>the short of it</summary><findings>canary-findings</findings>", None);
    stage.keys("/layout hidden<enter>");
    let text = stage.text();
    assert!(text.contains("the short of it"));
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn silence_is_called_by_its_name() {
    let mut stage = Stage::new(120, 40);
    stage.asks("go");
    stage.spawns(1, "explore", "Find things");
    stage.starts(1);
    stage.wait(61_000);
    let state = stage.app.state_of(stage.app.agents().get(AgentId(1)).unwrap());
    assert!(matches!(state, AgentState::Stalled { .. }));
    assert!(stage.text().contains("stalled 61s"));
}

#[test]
fn hostile_text_reaches_no_cell() {
    let mut stage = Stage::new(120, 40);
    let evil = "a\u{1b}[2Jb\u{202e}c\u{7}d\r\ne";
    stage.asks(evil);
    stage.says(0, evil);
    stage.calls(0, "c", "Bash\u{1b}]0;x\u{7}", evil, evil);
    stage.spawns(1, evil, evil);
    stage.starts(1);
    stage.ends(1, Status::Failed, evil, Some(evil));
    stage.wants_to_run(0, "b", evil);
    let (buffer, _) = stage.draw();
    for cell in buffer.content() {
        let bad = cell.symbol().chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!bad, "{:?}", cell.symbol());
    }
}

#[test]
fn a_pane_folds_only_after_its_report_was_seen() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.text();
    assert!(stage.text().contains("▾ 4 Check the tests"));
    stage.wait(4_000);
    assert!(stage.text().contains("▸ 4 Check the tests"));
}

#[test]
fn a_cleared_conversation_is_not_raised_from_the_dead() {
    let mut stage = scenes::eight_agents(120, 40);
    for agent in [1, 2, 3, 5, 7, 8] {
        stage.ends(agent, Status::Completed, "done", None);
    }
    stage.keys("/clear<enter><enter>");
    stage.says(1, "late words");
    stage.ends(2, Status::Cancelled, "", None);
    assert!(stage.app.agents().is_empty());
    stage.asks("new");
    stage.spawns(9, "explore", "Fresh");
    assert_eq!(stage.app.agents().len(), 1);
}

#[test]
fn what_a_cleared_conversation_stopped_is_silent_until_it_is_resumed() {
    let mut stage = scenes::eight_agents(120, 40);
    // It is heard of before it is known who it is.
    stage.agent(9, EventKind::Started);
    stage.spawns_below(3, 10, "explore", "Look further");
    stage.keys("/clear<enter><enter>");
    let kept = |stage: &Stage| stage.app.agents().children().map(|agent| agent.id.0).collect::<Vec<_>>();
    let rows = |stage: &Stage| stage.app.agents().main().cells.iter().count();
    let all = [1, 2, 3, 10, 5, 7, 8, 9];
    assert_eq!((kept(&stage), rows(&stage)), (all.to_vec(), 0));
    stage.agent(9, spawn(0, "call-9"));
    stage.says(1, "late words");
    stage.wants_to_run(2, "late", "make");
    assert!(stage.app.approvals().is_empty(), "whom the user has stopped asks nothing");
    for agent in all {
        stage.ends(agent, Status::Cancelled, "", None);
    }
    stage.session(SessionEvent::Cleared);
    stage.says(4, "later words");
    stage.agent(6, EventKind::Resumed { run: 2, run_mode: RunMode::Background });
    for agent in all {
        let before = stage.app.agents().get(AgentId(agent)).unwrap().cells.iter().count();
        stage.starts(agent);
        stage.says(agent, "later words");
        stage.agent(agent, spawn(0, "again"));
        stage.wants_to_run(agent, "later", "make");
        let agent = stage.app.agents().get(AgentId(agent)).unwrap();
        assert_eq!((agent.phase, agent.cells.iter().count()), (Phase::Ended(Status::Cancelled), before));
    }
    assert_eq!((kept(&stage), rows(&stage)), (all.to_vec(), 0), "nothing rises again");
    assert!(stage.app.approvals().is_empty());
    stage.agent(2, EventKind::Resumed { run: 2, run_mode: RunMode::Background });
    stage.wants_to_run(2, "now", "make");
    assert_eq!(stage.app.approvals().len(), 1, "whoever was resumed asks again");
    stage.keys("/clear<enter><enter>");
    assert_eq!(kept(&stage), [2], "what ended before the next clearing goes with it");
    stage.ends(10, Status::Cancelled, "", None);
    stage.says(1, "last words");
    assert_eq!((kept(&stage), rows(&stage)), (vec![2], 0));
}

#[test]
fn the_line_of_a_child_follows_it_through_a_cleared_conversation() {
    let mut stage = Stage::new(120, 40);
    stage.asks("go");
    stage.spawns(1, "explore", "Find things");
    stage.starts(1);
    stage.spawns_below(1, 2, "explore", "Look further");
    stage.starts(2);
    stage.keys("/clear<enter><enter>");
    stage.ends(2, Status::Cancelled, "", None);
    stage.ends(1, Status::Cancelled, "", None);
    stage.session(SessionEvent::Cleared);
    stage.keys("<alt+1><alt+1>");
    let stopped = stage.text();
    assert!(!stopped.contains("done"), "{stopped}");
    stage.agent(2, EventKind::Resumed { run: 2, run_mode: RunMode::Background });
    stage.ends(2, Status::Completed, "<summary>Four files.</summary>", None);
    let done = stage.text();
    assert!(done.contains("Four files."), "{done}");
}

#[test]
fn the_tags_of_a_report_never_show_while_it_streams() {
    let report = "I looked.\n<summary>\nFour files.\n</summary>\n<findings>\n- `a < b` in `x.rs`\n- a <summary> within\n\
                  </findings>\n<answer>Yes.</answer>\n<sum";
    for size in 1..20 {
        let mut stage = Stage::new(120, 40);
        stage.asks("go");
        stage.spawns(1, "explore", "Find things");
        stage.starts(1);
        let letters: Vec<char> = report.chars().collect();
        for piece in letters.chunks(size) {
            stage.says(1, &piece.iter().collect::<String>());
        }
        let streamed = stage.text();
        assert!(!streamed.contains("<findings>") && !streamed.contains("</"), "{streamed}");
        assert!(streamed.contains("• a < b in x.rs"), "a list is a list: {streamed}");
        assert!(streamed.contains("a <summary> within"), "what is no tag stays: {streamed}");
        stage.ends_turn(1, report, 10);
        stage.ends(1, Status::Completed, report, None);
        let texts = stage.app.agents().get(AgentId(1)).unwrap().cells.iter();
        let shown = texts.filter(|(_, cell)| matches!(cell.kind, CellKind::Text { .. } | CellKind::Report { .. }));
        assert_eq!(shown.count(), 1, "the report takes the place of the text it was");
    }
}

#[test]
fn the_line_above_the_composer_tells_work_from_waiting() {
    let mut stage = Stage::new(120, 40);
    stage.asks("go");
    for agent in 1..=3 {
        stage.spawns(agent, "explore", "Find things");
    }
    stage.starts(1);
    stage.starts(2);
    stage.wants_to_run(2, "b", "make");
    let text = stage.text();
    assert!(text.contains("agents  1 running · 1 waiting for you · 1 queued  "), "{text}");
    assert!(text.contains("agents  1 running · 1 waiting for you · 1 queued ──"), "{text}");
    stage.ends(1, Status::Completed, "<summary>done</summary>", None);
    stage.ends(3, Status::Cancelled, "", None);
    assert!(stage.text().contains("⚠ agents  1 waiting for you"), "{}", stage.text());
}

#[test]
fn a_long_silence_is_told_in_few_letters() {
    let mut stage = Stage::new(200, 50);
    stage.asks("go");
    for agent in 1..=2 {
        stage.spawns(agent, "explore", "Find things");
        stage.starts(agent);
    }
    stage.wait(125_000);
    let state = stage.app.state_of(stage.app.agents().get(AgentId(1)).unwrap());
    assert_eq!((state.word().as_str(), state.word_within(9).as_str()), ("stalled 2m model", "stalled"));
    assert_eq!(state.word_within(11), "stalled 2m");
}

/// Which words an agent has left behind that ended so.
fn words(status: Status) -> LastWords {
    match status {
        Status::TimedOut | Status::Budget | Status::Cancelled | Status::Failed => LastWords::Partial,
        _ => LastWords::Report,
    }
}

#[test]
fn a_reply_that_was_cut_off_says_so_at_its_end() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("tell me all");
    stage.says(0, "It begins well and");
    let message = AssistantMessage::new(vec![Block::Text { text: "It begins well and".to_owned() }]);
    let usage = Usage { input: 10, output: 5, ..Usage::default() };
    stage.main(EventKind::Turn(TurnEvent::Ended { message, usage, cost_usd: None, stop: None, latency_ms: None }));
    let text = stage.text();
    let (said, mark) = (text.find("It begins well and"), text.find("cut off: the reply"));
    assert!(said.is_some() && said < mark, "{text}");
}

#[test]
fn why_an_agent_was_cut_off_stands_below_what_it_said_last() {
    for is_earlier_step in [false, true] {
        let mut stage = Stage::new(100, 30).with_model();
        stage.asks("go");
        stage.spawns(1, "explore", "Look around");
        stage.starts(1);
        stage.says(1, "Words of a step.");
        if is_earlier_step {
            stage.agent(1, tool_started("c", "LS", "."));
        }
        let outcome = Outcome {
            text: "Words of a step.".to_owned(),
            words: LastWords::Partial,
            reason: Some("Stopped by the user.".to_owned()),
            ..outcome(Status::Cancelled)
        };
        stage.agent(1, EventKind::Ended { outcome });
        let cells: Vec<String> = stage.app.agents().get(AgentId(1)).unwrap().cells.iter().map(said).collect();
        let pane = cells.join("\n");
        assert_eq!(pane.matches("Words of a step.").count(), 1, "{pane}");
        assert!(pane.ends_with("*Stopped by the user.*"), "{pane}");
    }
}

fn said((_, cell): (CellId, &Cell)) -> String {
    match &cell.kind {
        CellKind::Text { text } | CellKind::Report { text } => text.clone(),
        _ => String::new(),
    }
}
