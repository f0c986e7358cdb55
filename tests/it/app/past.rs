//! The full view of a long-lived agent: what the screen let go of is read back from the session's log.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use belvedere::agent::{AgentEvent, Author, EventKind, Status, ToolEvent, TurnEvent};
use belvedere::app::{Effect, Event, LogMatch, LogNews};
use belvedere::message::{AgentId, AssistantMessage, Block, ToolResult, Usage};
use belvedere::provider::StopReason;
use belvedere::session::{Record, Secrets, Store};
use belvedere::tui::read_log;
use tempfile::TempDir;

use crate::screens::stage::{Stage, tool_started};

const CHILD: u32 = 1;

/// A subagent of so many steps, each a turn with a word and a call, and its log.
struct Long {
    stage: Stage,
    store: Store,
    _state: TempDir,
}

impl Long {
    fn new(steps: u32) -> Self {
        Self::with_output(steps, 0)
    }

    fn with_output(steps: u32, bytes: usize) -> Self {
        let state = tempfile::tempdir().unwrap();
        let started = "2026-11-21T06:30:00Z".parse().unwrap();
        let store = Store::new(state.path(), Path::new("/src/shop"), started, Secrets::default());
        let mut stage = Stage::new(100, 30).with_model();
        stage.spawns(CHILD, "explore", "look closely");
        let mut log = Log::default();
        log.take(
            &mut stage,
            EventKind::UserMessage { text: "The task itself.".to_owned(), by: Author::User, id: None },
        );
        log.take(&mut stage, EventKind::Started);
        for step in 0..steps {
            log.take(&mut stage, EventKind::Turn(TurnEvent::Started { turn: step + 1 }));
            stage.says(CHILD, &format!("Step {step} begins."));
            let message = AssistantMessage::new(vec![Block::Text { text: format!("Step {step} begins.") }]);
            let (usage, stop) = (Usage::default(), Some(StopReason::ToolUse));
            log.take(
                &mut stage,
                EventKind::Turn(TurnEvent::Ended { message, usage, cost_usd: None, stop, latency_ms: None }),
            );
            let id = format!("call-{step}");
            log.take(&mut stage, tool_started(&id, "Read", &format!("src/{step}.rs")));
            let result = ToolResult::text(&id, "x".repeat(bytes));
            let summary = format!("{step} lines");
            log.take(
                &mut stage,
                EventKind::Tool(ToolEvent::Ended { result, summary, view: None, changes: Vec::new() }),
            );
        }
        fs::create_dir_all(store.dir()).unwrap();
        fs::write(store.path_of("explore-1"), log.lines).unwrap();
        Self { stage, store, _state: state }
    }

    fn log(&self) -> std::path::PathBuf {
        self.store.path_of("explore-1")
    }

    /// Presses keys and reads whatever is asked for, until the screen has settled.
    fn keys(&mut self, keys: &str) -> String {
        let mut effects = self.stage.keys(keys);
        loop {
            self.stage.effects.clear();
            self.stage.draw();
            effects.append(&mut self.stage.effects);
            let asked: Vec<_> =
                effects.drain(..).filter_map(|it| if let Effect::ReadLog(it) = it { Some(it) } else { None }).collect();
            if asked.is_empty() {
                return self.stage.text();
            }
            for request in asked {
                let news = read_log(Some(&self.store), &request);
                if let LogMatch::Page(page) = &news.found {
                    assert!(page.cells.len() < 5_000, "{} steps at once", page.cells.len());
                }
                self.stage.event(Event::LogRead(news));
            }
            assert!(self.held() < 25_000, "{} steps are held on the way", self.held());
        }
    }

    /// Returns how many steps could be shown.
    fn held(&self) -> u64 {
        let agent = self.stage.app.agents().get(AgentId(CHILD)).unwrap();
        let story = self.stage.app.story(agent);
        story.end() - story.first()
    }
}

/// A session file.
#[derive(Default)]
struct Log {
    seq: u64,
    lines: String,
}

impl Log {
    fn take(&mut self, stage: &mut Stage, kind: EventKind) {
        self.seq += 1;
        let at = "2026-11-20T12:00:00Z".parse().unwrap();
        let body = AgentEvent { agent: AgentId(CHILD), at, kind: kind.clone() };
        let line = serde_json::to_string(&Record { v: 1, seq: self.seq, body }).unwrap();
        let _ = writeln!(self.lines, "{line}");
        stage.agent(CHILD, kind);
    }
}

/// Returns the numbers of the steps that a frame shows.
fn steps(text: &str) -> Vec<u32> {
    text.lines().filter_map(|row| row.split("Step ").nth(1)?.split(' ').next()?.parse().ok()).collect()
}

#[test]
fn the_whole_transcript_is_there_step_by_step() {
    let mut long = Long::new(2_000);
    let text = long.keys("<alt+1><alt+1>");
    assert!(text.contains("Step 1999 begins"), "{text}");
    assert!(!text.contains("earlier steps"), "{text}");
    let mut seen: Vec<u32> = steps(&text);
    while *seen.first().unwrap() > 0 {
        let shown = steps(&long.keys("<pageup>"));
        let first = *shown.first().unwrap();
        assert!(first < seen[0], "the view is stuck at step {first}");
        assert!(*shown.last().unwrap() + 1 >= seen[0], "steps are missing between {shown:?} and {}", seen[0]);
        assert!(shown.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{shown:?}");
        seen = shown;
    }
    let top = long.keys("<pageup>");
    assert!(!top.contains("The task itself"), "the task is what `p` shows");
}

#[test]
fn what_was_not_read_back_is_read_when_it_is_looked_at() {
    let mut long = Long::new(300);
    long.stage.ends(CHILD, Status::Completed, "<summary>It is in step 7.</summary>", None);
    let ended = long.stage.log.last().unwrap().clone();
    let line = serde_json::to_string(&Record { v: 1, seq: 9_999, body: &*ended }).unwrap();
    let record = fs::read_to_string(long.log()).unwrap();
    fs::write(long.log(), format!("{record}{line}\n")).unwrap();
    let landmarks: Vec<_> = long.stage.log.iter().filter(|event| event.is_landmark()).cloned().collect();
    long.stage = Stage::restored(100, 30, &landmarks, &[CHILD]);
    let text = long.keys("<alt+1><alt+1>");
    assert!(text.contains("It is in step 7.") && text.contains("Step 299 begins"), "{text}");
    assert_eq!(text.matches("It is in step 7.").count(), 1, "{text}");
    assert_eq!(steps(&long.keys("g")).first(), Some(&0));
    assert!(long.keys("G").contains("It is in step 7."));
}

#[test]
fn the_view_stays_put_while_steps_before_it_arrive() {
    let mut long = Long::new(2_000);
    long.stage.keys("<alt+1><alt+1>");
    long.stage.draw();
    long.stage.keys("<pageup>");
    let before = long.stage.text();
    assert_eq!(long.keys("<f12>").lines().nth(5), before.lines().nth(5));
}

#[test]
fn both_ends_of_fifty_thousand_events_are_a_key_away() {
    let mut long = Long::new(14_000);
    assert!(long.keys("<alt+1><alt+1>").contains("Step 13999 begins"));
    let top = long.keys("g");
    assert_eq!(steps(&top).first(), Some(&0), "{top}");
    assert!(long.held() < 20_000, "{}", long.held());
    let mut last = *steps(&top).last().unwrap();
    for _ in 0..200 {
        let shown = steps(&long.keys("<pagedown>"));
        assert!(shown[0] <= last + 1, "steps are missing after {last}: {shown:?}");
        last = *shown.last().unwrap();
    }
    assert!(last > 1_000, "{last}");
    assert!(long.held() < 20_000, "{}", long.held());
    assert!(long.keys("G").contains("Step 13999 begins"));
    assert!(long.keys("<pageup>").contains("Step 1398"));
    long.keys("<esc>");
    let agent = long.stage.app.agents().get(AgentId(CHILD)).unwrap();
    assert_eq!(long.held(), agent.cells.end() - agent.cells.first(), "what was read back goes with the view");
    assert!(agent.cells.bytes() <= 256 * 1024);
}

#[test]
fn going_down_from_the_start_joins_what_was_kept() {
    let mut long = Long::with_output(1_500, 2_000);
    long.keys("<alt+1><alt+1>");
    let mut last = *steps(&long.keys("g")).last().unwrap();
    while last < 1_499 {
        let shown = steps(&long.keys("<pagedown>"));
        assert!(shown[0] <= last + 1, "steps are missing after {last}: {shown:?}");
        assert!(*shown.last().unwrap() > last, "the view is stuck at step {last}");
        last = *shown.last().unwrap();
    }
}

#[test]
fn a_log_that_is_missing_is_said() {
    let mut long = Long::new(2_000);
    fs::remove_file(long.log()).unwrap();
    let text = long.keys("<alt+1><alt+1>");
    assert!(text.contains("earlier steps cannot be read back"), "{text}");
    assert!(text.contains("Step 1999 begins"), "{text}");
}

#[test]
fn a_log_that_was_cut_is_said() {
    let mut long = Long::new(2_000);
    let log = long.log();
    let half = fs::read(&log).unwrap();
    fs::write(&log, &half[..half.len() / 4]).unwrap();
    let text = long.keys("<alt+1><alt+1>");
    assert!(text.contains("earlier steps cannot be read back: the session log is incomplete"), "{text}");
}

#[test]
fn records_that_are_broken_cost_themselves_only() {
    let mut long = Long::new(2_000);
    let log = long.log();
    let text = fs::read_to_string(&log).unwrap().replace("Step 3 begins.\"}", "Step 3 begins.\"");
    fs::write(&log, text).unwrap();
    long.keys("<alt+1><alt+1>");
    let top = long.keys("g");
    assert!(top.contains("session log: not a record of a session"), "{top}");
    assert!(top.contains("Step 2 begins") && top.contains("src/3.rs"), "{top}");
}

#[test]
fn a_session_that_is_not_kept_says_so() {
    let mut long = Long::new(2_000);
    long.stage.keys("<alt+1><alt+1>");
    long.stage.draw();
    let asked =
        long.stage.effects.iter().find_map(|it| if let Effect::ReadLog(it) = it { Some(it.clone()) } else { None });
    let news = read_log(None, &asked.unwrap());
    assert!(matches!(news, LogNews { found: LogMatch::Unkept, .. }));
    long.stage.event(Event::LogRead(news));
    assert!(long.stage.text().contains("earlier steps are in the session log"));
}

#[test]
fn the_output_of_a_call_is_read_whole_from_the_log() {
    let mut long = Long::with_output(50, 900);
    long.keys("<alt+1><alt+1>");
    let text = long.keys("vsrc/7.rs<enter>");
    assert!(text.contains("Read src/7.rs") && text.contains("xxxxxxxx"), "{text}");
    long.keys("<esc>");
    fs::remove_file(long.log()).unwrap();
    let text = long.keys("vsrc/8.rs<enter>");
    assert!(text.contains("This output is not in the session log."), "{text}");
}

#[test]
fn a_search_goes_on_in_the_log() {
    let mut long = Long::new(2_000);
    let text = long.keys("<alt+1><alt+1>/step 10 <enter>");
    assert!(text.contains("Step 10 begins"), "{text}");
    assert!(!text.contains("searching") && !text.contains("no match"), "{text}");
    // A new one begins at the end again, wherever the view stands.
    let text = long.keys("/99 begins<enter>");
    assert!(text.contains("Step 1999 begins") && !text.contains("no match"), "{text}");
    let text = (0..19).map(|_| long.keys("N")).last().unwrap();
    assert!(text.contains("Step 99 begins"), "{text}");
    // And down again, over what the search let go of.
    let text = (0..19).map(|_| long.keys("n")).last().unwrap();
    assert!(text.contains("Step 1999 begins"), "{text}");
    assert!(long.keys("G").contains("Step 1999 begins"));
}

#[test]
fn a_search_through_a_long_log_holds_little_of_it() {
    let mut long = Long::new(6_000);
    let text = long.keys("<alt+1><alt+1>/step 10 <enter>");
    assert!(text.contains("Step 10 begins"), "{text}");
    assert!(long.held() < 9_000, "{}", long.held());
    assert!(long.stage.laid_out() < 9_000, "{}", long.stage.laid_out());
    long.keys("/step 5000 <enter>");
    let text = long.keys("n");
    assert!(text.contains("Step 5000 begins"), "{text}");
    assert!(long.held() < 9_000, "{}", long.held());
}

#[test]
fn a_search_that_finds_nothing_leaves_the_view_where_it_was() {
    let mut long = Long::new(2_000);
    let tail = steps(&long.keys("<alt+1><alt+1>"));
    let text = long.keys("/nowhere<enter>");
    assert!(text.contains("no match"), "{text}");
    assert_eq!(steps(&text), tail);
    let above = steps(&long.keys("<pageup><pageup><pageup>"));
    let text = long.keys("N");
    assert!(text.contains("no match"), "{text}");
    assert_eq!(steps(&text), above);
    let further = steps(&long.keys("<pageup>"));
    assert!(further[0] < above[0] && *further.last().unwrap() + 1 >= above[0], "{further:?} before {above:?}");
}

#[test]
fn escape_ends_a_search_in_the_log() {
    let mut long = Long::new(2_000);
    let tail = steps(&long.keys("<alt+1><alt+1>"));
    // Nothing is read yet of what the search asks for.
    long.stage.keys("/step 10 <enter>");
    let text = long.stage.text();
    assert!(text.contains("searching earlier steps…"), "{text}");
    let text = long.keys("<esc>");
    assert!(!text.contains("searching"), "{text}");
    assert_eq!(steps(&text), tail, "the full view is still there");
}

#[test]
fn a_search_ends_where_the_log_cannot_be_read() {
    let mut long = Long::new(2_000);
    fs::remove_file(long.log()).unwrap();
    let text = long.keys("<alt+1><alt+1>/step 10 <enter>");
    assert!(text.contains("no match"), "{text}");
    assert!(text.contains("Step 1999 begins"), "{text}");
}
