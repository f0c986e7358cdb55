//! Background, wrap up and resume: what their keys ask for, and what the events that answer change.

use belvedere::agent::{Author, EventKind, RunMode, Status, TurnEvent};
use belvedere::app::{AgentState, CellKind, Effect, Event, Focus, Phase, StateGroup};
use belvedere::message::{AgentId, MessageId};
use belvedere::subagent::{Children, Command};

use crate::screens::stage::{Region, Stage};

/// Two at work, the third has done what it was sent for, the fourth was stopped, the fifth waits for its turn.
fn five() -> Stage {
    let mut stage = Stage::new(100, 30).with_model();
    stage.asks("look around");
    for (agent, task) in (1..).zip(["Find the parser", "Review the tests", "Count files", "Read the docs", "Sum up"]) {
        stage.spawns(agent, "explore", task);
    }
    for agent in 1..=4 {
        stage.starts(agent);
        stage.says(agent, "Looking.");
    }
    stage.ends(3, Status::Completed, "<summary>12 files</summary>", None);
    stage.ends(4, Status::Cancelled, "Half done.", Some("stopped by the user"));
    stage
}

fn commands(effects: &[Effect]) -> Vec<Command> {
    let of = |effect: &Effect| match effect {
        Effect::Command(command) => Some(command.clone()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

fn moves(agent: u32, run_mode: RunMode) -> Vec<Command> {
    vec![Command::Move { agent: AgentId(agent), run_mode }]
}

fn resume(agent: u32, text: Option<&str>) -> Vec<Command> {
    vec![Command::Resume { agent: AgentId(agent), message: text.map(|text| (MessageId(1), text.into())) }]
}

fn flash(stage: &Stage) -> &str {
    stage.app.flash().map_or("", |flash| flash.text.as_str())
}

fn resumes(stage: &mut Stage, agent: u32, run: u32) {
    stage.agent(agent, EventKind::Resumed { run, run_mode: RunMode::Background });
}

fn word(stage: &Stage, agent: u32) -> String {
    stage.app.state_of(stage.app.agents().get(AgentId(agent)).unwrap()).word()
}

#[test]
fn b_moves_an_agent_to_the_background_and_back_whatever_it_does() {
    for keys in ["<alt+1>", "<alt+2>", "<alt+5>", "<alt+1><alt+1>"] {
        let mut stage = five();
        stage.wants_to_run(2, "b", "make");
        let id = stage.keys(keys);
        assert_eq!(commands(&id), []);
        let agent = stage.app.focused_agent().unwrap().0;
        assert_eq!(commands(&stage.keys("b")), moves(agent, RunMode::Background), "{keys}");
        assert_eq!(
            flash(&stage),
            format!("explore-{agent} moved to the background; its report will arrive as a message")
        );
        stage.agent(agent, EventKind::Moved { run_mode: RunMode::Background });
        assert_eq!(commands(&stage.keys("b")), moves(agent, RunMode::Foreground), "{keys}");
        assert_eq!(flash(&stage), format!("main is waiting for explore-{agent} again"));
        // The engine has not answered yet: a third press means the background again.
        assert_eq!(commands(&stage.keys("b")), moves(agent, RunMode::Background), "{keys}");
    }
}

#[test]
fn what_runs_in_the_background_says_so_wherever_it_stands() {
    let mut stage = five();
    stage.agent(1, EventKind::Moved { run_mode: RunMode::Background });
    let text = stage.text();
    assert_eq!(text.matches("Find the parser  ◇ background").count(), 1, "{text}");
    assert_eq!(stage.region(Region::Agents).matches("Find the parser  ◇ background").count(), 1);
    stage.keys("/layout hidden<enter>");
    assert!(stage.text().contains("Find the parser  ◇ background"), "in the conversation while it has no pane");
    stage.keys("/layout auto<enter>");
    stage.agent(1, EventKind::Moved { run_mode: RunMode::Foreground });
    assert!(!stage.text().contains('◇'));
    stage.agent(1, EventKind::Moved { run_mode: RunMode::Background });
    stage.ends(1, Status::Completed, "<summary>done</summary>", None);
    assert!(!stage.text().contains('◇'), "it has ended");
}

#[test]
fn nobody_waits_for_an_agent_while_the_main_agent_is_idle() {
    let mut stage = five();
    stage.agent(1, EventKind::Moved { run_mode: RunMode::Background });
    stage.ends(0, Status::Completed, "", None);
    assert_eq!(commands(&stage.keys("<alt+1>b")), []);
    assert_eq!(flash(&stage), "main is idle; it gets explore-1's report anyway");
}

#[test]
fn an_ended_agent_is_neither_moved_nor_wrapped_up() {
    let mut stage = five();
    assert_eq!(commands(&stage.keys("<alt+3>bw")), []);
    assert_eq!(flash(&stage), "explore-3 has already ended");
}

#[test]
fn w_asks_once_for_a_report() {
    let mut stage = five();
    let asked = [Command::WrapUp { agent: AgentId(1) }];
    assert_eq!(commands(&stage.keys("<alt+1>w")), asked);
    assert_eq!(flash(&stage), "explore-1 is wrapping up");
    assert_eq!(commands(&stage.keys("w")), []);
    assert_eq!(flash(&stage), "explore-1 is already wrapping up; x stops it now");
    assert_eq!(word(&stage, 1), "writing", "only the engine says when");
    stage.agent(1, EventKind::LastTurn { why: Status::WrappedUp });
    stage.agent(1, EventKind::Turn(TurnEvent::Started { turn: 2 }));
    assert_eq!(word(&stage, 1), "wrapping up");
    assert_eq!(commands(&stage.keys("w")), []);
    assert_eq!(flash(&stage), "explore-1 is already writing its report");
    assert!(stage.text().contains("wrapping up"));
    stage.ends(1, Status::WrappedUp, "<summary>Half of it.</summary>", None);
    assert_eq!(word(&stage, 1), "wrapped up");
    assert!(stage.text().contains("wrapped up"));
}

#[test]
fn the_last_turn_at_a_limit_is_called_so() {
    let mut stage = five();
    stage.agent(2, EventKind::LastTurn { why: Status::TurnLimit });
    assert_eq!(word(&stage, 2), "last turn");
    stage.wait(61_000);
    assert!(word(&stage, 2).starts_with("stalled"), "silence is still called by its name");
}

#[test]
fn one_that_waits_for_its_turn_ends_without_having_begun() {
    let mut stage = five();
    assert_eq!(commands(&stage.keys("<alt+5>w")), [Command::WrapUp { agent: AgentId(5) }]);
    assert_eq!(flash(&stage), "explore-5 will not start");
}

#[test]
fn r_has_one_that_was_cut_short_go_on_at_once() {
    let mut stage = five();
    assert_eq!(commands(&stage.keys("<alt+4>r")), resume(4, None));
    assert_eq!(word(&stage, 4), "resuming");
    assert!(stage.text().contains("resuming"));
    assert_eq!(commands(&stage.keys("r")), []);
    assert_eq!(flash(&stage), "explore-4 is already resuming");
    resumes(&mut stage, 4, 2);
    assert_eq!(word(&stage, 4), "queued");
    stage.starts(4);
    assert_eq!(word(&stage, 4), "thinking");
    assert_eq!(commands(&stage.keys("r")), []);
    assert_eq!(flash(&stage), "explore-4 is still running; m messages it");
}

#[test]
fn r_on_one_that_is_done_asks_what_is_next() {
    let mut stage = five();
    assert_eq!(commands(&stage.keys("<alt+3>r")), []);
    assert_eq!(flash(&stage), "say what explore-3 should do next");
    assert_eq!((stage.app.target().map(|agent| agent.id.0), stage.app.focus()), (Some(3), Focus::Composer));
    assert!(stage.text().contains("resume → explore-3 What should it do next?"), "{}", stage.text());
    assert_eq!(commands(&stage.keys("count the lines<enter>")), resume(3, Some("count the lines")));
    assert!(stage.text().contains("queued  count the lines"), "{}", stage.text());
    resumes(&mut stage, 3, 2);
    stage.agent(3, EventKind::UserMessage { text: "count the lines".to_owned(), by: Author::User, id: None });
    assert!(stage.app.unread(AgentId(3)).is_empty());
    stage.keys("<esc><alt+3><enter>");
    assert!(stage.text().contains("› count the lines"), "{}", stage.text());
}

#[test]
fn a_resumed_agent_goes_on_below_its_report_and_counts_on() {
    let mut stage = five();
    stage.draw();
    stage.wait(4_000);
    assert!(stage.text().contains("▸ 3 Count files"), "its pane has folded: {}", stage.text());
    let before = stage.app.agents().get(AgentId(3)).unwrap().spent.usage.total();
    stage.wait(60_000);
    resumes(&mut stage, 3, 2);
    stage.keys("<alt+3><enter>");
    stage.agent(3, EventKind::Started);
    stage.agent(3, EventKind::Turn(TurnEvent::Started { turn: 1 }));
    stage.calls(3, "c", "Glob", "**/*.rs", "40 files");
    stage.wait(2_000);
    let text = stage.text();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in\n{text}"));
    assert!(at("12 files") < at("── run 2 · resumed 12:00 ──") && at("── run 2") < at("Glob"), "{text}");
    let view = stage.app.agents().get(AgentId(3)).unwrap();
    assert_eq!((view.tools, view.tools_of_run(), view.run), (9, 1, 2));
    assert_eq!(view.elapsed(stage.app.now()).as_millis(), 7_100, "5.1 s of the first run and 2 s of the second");
    stage.ends(3, Status::Completed, "<summary>400 lines</summary>", None);
    let view = stage.app.agents().get(AgentId(3)).unwrap();
    assert_eq!(view.spent.usage.total(), 2 * before);
    assert_eq!(view.elapsed(stage.app.now()).as_millis(), 10_200);
    assert_eq!(view.tools, 16);
    stage.keys("<esc><esc>");
    let text = stage.text();
    assert!(text.contains("▾ 3 Count files"), "its second report is news: {text}");
    stage.wait(4_000);
    assert!(stage.text().contains("▸ 3 Count files"), "and then folds again");
}

#[test]
fn the_former_summary_stays_until_there_is_a_new_one() {
    let mut stage = five();
    stage.keys("/layout hidden<enter>");
    assert!(stage.text().contains("12 files"));
    resumes(&mut stage, 3, 2);
    stage.starts(3);
    assert!(stage.text().contains("12 files"));
    stage.ends(3, Status::Completed, "<summary>400 lines</summary>", None);
    let text = stage.text();
    assert!(text.contains("400 lines") && !text.contains("12 files"), "{text}");
}

#[test]
fn what_comes_late_or_twice_brings_nobody_back() {
    let mut stage = five();
    resumes(&mut stage, 3, 1);
    assert_eq!(word(&stage, 3), "done");
    resumes(&mut stage, 3, 2);
    stage.ends(3, Status::Failed, "", Some("it broke"));
    resumes(&mut stage, 3, 2);
    stage.starts(3);
    stage.says(3, "late words");
    assert_eq!(word(&stage, 3), "failed");
    resumes(&mut stage, 3, 3);
    assert_eq!(word(&stage, 3), "queued");
    resumes(&mut stage, 0, 7);
    assert!(stage.app.agents().main().is_active());
}

#[test]
fn questions_and_stops_are_heard_again_after_a_second_start() {
    let mut stage = five();
    resumes(&mut stage, 4, 2);
    stage.starts(4);
    stage.wants_to_run(4, "make", "make");
    assert_eq!(stage.app.approvals().of(AgentId(4)), 1);
    assert_eq!(commands(&stage.keys("<alt+4>x")), [Command::Stop { agent: AgentId(4) }]);
    stage.ends(4, Status::Cancelled, "", None);
    assert_eq!(stage.app.approvals().of(AgentId(4)), 0);
    assert_eq!(stage.app.tally(stage.app.agents().children()).of(StateGroup::Stopped), 1);
}

#[test]
fn what_cannot_be_resumed_says_why_and_the_message_comes_back() {
    let mut stage = five();
    stage.keys("@3 count again<enter>");
    assert_eq!(word(&stage, 3), "resuming");
    stage.agent(3, EventKind::Notice { text: "its transcript cannot be read".to_owned() });
    assert_eq!((word(&stage, 3).as_str(), flash(&stage)), ("done", "explore-3: its transcript cannot be read"));
    stage.keys("<alt+3>m");
    assert_eq!(stage.app.composer().text(), "count again");
    let view = stage.app.agents().get(AgentId(3)).unwrap();
    assert!(!view.cells.iter().any(|(_, cell)| matches!(cell.kind, CellKind::Notice { .. })), "the dead stay dead");
}

#[test]
fn a_draft_is_not_sent_by_resuming() {
    let mut stage = five();
    stage.keys("<alt+4>mand mind the tests<esc>");
    assert_eq!(commands(&stage.keys("<alt+4>r")), resume(4, None));
    assert_eq!(flash(&stage), "explore-4 resumed; your message to it is still unsent (m)");
    stage.keys("m");
    assert_eq!(stage.app.composer().text(), "and mind the tests");
}

#[test]
fn what_waits_for_an_agent_is_taken_back_also_while_it_is_resumed() {
    let mut stage = five();
    stage.keys("<alt+3>mone<enter>two<enter>");
    let effects = stage.keys("<up>");
    assert_eq!(commands(&effects), [Command::Untell { agent: AgentId(3), id: MessageId(2) }]);
    assert_eq!((stage.app.composer().text().as_str(), stage.app.unread(AgentId(3))), ("two", vec!["one"]));
    resumes(&mut stage, 3, 2);
    stage.agent(3, EventKind::UserMessage { text: "one".to_owned(), by: Author::User, id: None });
    assert_eq!(stage.app.composer().text(), "two");
    stage.agent(3, EventKind::UserMessage { text: "two".to_owned(), by: Author::User, id: None });
    assert_eq!(stage.app.composer().text(), "", "it had been read already");
    stage.keys("two<enter>");
    stage.keys("<esc><alt+3>bw");
    assert_eq!(stage.app.unread(AgentId(3)), ["two"], "neither act touches what waits");
}

#[test]
fn others_speak_without_touching_what_the_user_has_queued() {
    let mut stage = five();
    stage.keys("report now<enter>");
    stage.keys("<alt+1>mreport now<enter><esc>");
    let says = |stage: &mut Stage, agent: u32, by: Author| {
        stage.agent(agent, EventKind::UserMessage { text: "report now".to_owned(), by, id: None });
    };
    let both = Author::Subagents(vec![AgentId(3), AgentId(4)]);
    for by in [Author::Program, Author::Parent, both] {
        says(&mut stage, 0, by.clone());
        says(&mut stage, 1, by);
    }
    assert_eq!((stage.app.queued().len(), stage.app.unread(AgentId(1)).len()), (1, 1));
    says(&mut stage, 0, Author::Subagents(vec![AgentId(3)]));
    stage.keys("/layout hidden<enter>");
    let text = stage.text();
    assert!(text.contains("· report now"), "{text}");
    assert!(text.contains("◆ reports from explore-3, explore-4 arrived"), "{text}");
    assert!(text.contains("◆ report from explore-3 arrived"), "{text}");
    assert!(!text.contains("› report now"), "the user has not said it yet: {text}");
    stage.keys("<alt+1><alt+1>");
    assert!(stage.text().contains("↓ main: report now"), "{}", stage.text());
}

#[test]
fn with_none_but_background_agents_an_interrupt_is_as_without_any() {
    let mut stage = five();
    for agent in [1, 2, 5] {
        stage.agent(agent, EventKind::Moved { run_mode: RunMode::Background });
    }
    // Whom one in the background waits for is no concern of the main agent.
    stage.agent(6, super::agents::spawn(1, "below"));
    stage.keys("<esc>");
    assert_eq!(flash(&stage), "esc again interrupts the main agent");
    assert_eq!(commands(&stage.keys("<esc>")), [Command::Interrupt { children: Children::Keep }]);
}

#[test]
fn slash_commands_do_the_same() {
    let mut stage = five();
    assert_eq!(commands(&stage.keys("/background 1<enter>")), moves(1, RunMode::Background));
    assert_eq!(commands(&stage.keys("/wrapup explore-2<enter>")), [Command::WrapUp { agent: AgentId(2) }]);
    assert_eq!(commands(&stage.keys("/resume 4<enter>")), resume(4, None));
    assert_eq!(commands(&stage.keys("/resume 3 count the lines<enter>")), resume(3, Some("count the lines")));
    assert_eq!(commands(&stage.keys("/wrapup 9<enter>")), []);
    assert!(flash(&stage).contains("usage: /wrapup N"), "{}", flash(&stage));
    let mut stage = five();
    stage.keys("/resume 3<enter>");
    assert_eq!((stage.app.target().map(|agent| agent.id.0), stage.app.composer().text()), (Some(3), String::new()));
    stage.keys("<esc>");
    assert_eq!(stage.app.composer().text(), "", "the command is no draft");
}

#[test]
fn a_timeline_has_a_gap_between_two_runs() {
    let mut stage = five();
    stage.wait(30_000);
    resumes(&mut stage, 3, 2);
    stage.starts(3);
    stage.wait(30_000);
    stage.ends(3, Status::Completed, "<summary>400 lines</summary>", None);
    let track = stage.app.track(AgentId(3)).unwrap();
    let ends: Vec<_> = track.spans().iter().filter(|span| span.ended.is_some()).collect();
    assert_eq!(ends.len(), 2);
    let (first, last) = (ends[0].to.unwrap(), ends[1].from);
    assert!(last.duration_since(first).as_secs() >= 30);
    stage.keys("<alt+3>t<left><left><left><left>");
    stage.keys("<home>");
    for _ in 0..20 {
        stage.keys("<right>");
    }
    assert!(stage.text().contains("ended: done"), "{}", stage.text());
}

#[test]
fn clearing_forgets_what_was_asked() {
    let mut stage = five();
    stage.keys("<alt+4>r");
    stage.keys("/clear<enter>");
    stage.asks("new");
    stage.spawns(9, "explore", "Fresh");
    let view = stage.app.agents().get(AgentId(9)).unwrap();
    assert_eq!((view.phase, stage.app.state_of(view)), (Phase::Queued, AgentState::Queued));
    stage.event(Event::Refresh);
}

#[test]
fn the_line_for_all_agents_of_a_message_goes_with_the_last_of_them() {
    let mut stage = Stage::new(120, 40).with_model();
    stage.asks("Look everywhere");
    for agent in 1..=3 {
        stage.spawns(agent, "explore", "Look");
        stage.starts(agent);
    }
    assert!(stage.text().contains("3 agents · 3 running"), "{}", stage.text());
    for (agent, words) in [(1, "2 running · 1 done"), (3, "1 running · 2 done")] {
        stage.ends(agent, Status::Completed, "<summary>Found.</summary>", None);
        assert!(stage.text().contains(words), "{}", stage.text());
    }
    stage.ends(2, Status::Completed, "<summary>Found.</summary>", None);
    assert!(!stage.text().contains("3 agents"), "{}", stage.text());
}
