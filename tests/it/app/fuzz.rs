//! Anything in any order: events of agents, keys, the mouse and changes of size, thrown by dice.

use std::collections::BTreeSet;

use belvedere::agent::{EventKind, RunMode, Status, ToolEvent, TurnEvent};
use belvedere::app::key::{Input, Key, Mouse, MouseKind};
use belvedere::app::{Effect, Event, Phase};
use belvedere::message::{AgentId, sanitize_line};
use belvedere::permission::ApprovalId;
use belvedere::subagent::Command;

use super::layout::assert_sound;
use crate::screens::stage::{Stage, as_text};
use crate::support::Dice;

const THROWS: u32 = 20_000;
/// Throws between two frames: drawing is what takes long in a test.
const DRAWN: u32 = 90;
const KEYS: &str = "<enter> <esc> <tab> <shift+tab> <up> <down> <left> <right> <pageup> <pagedown> <home> <end> <f1> <f6> \
    <backspace> <delete> <alt+1> <alt+3> <alt+9> <alt+y> <alt+a> <alt+n> <alt+enter> <ctrl+a> <ctrl+e> <ctrl+j> <ctrl+k> \
    <ctrl+l> <ctrl+o> <ctrl+p> <ctrl+r> <ctrl+u> <ctrl+w> <ctrl+y> <ctrl+x> <ctrl+c> x m i w r b y n p e a t h j k l g G \
    / @ ? + - 1 5 9 é 漢 <space>";
const WORDS: [&str; 14] = [
    "plain words and more of them ",
    "\n\n# Head\n\n- a list\n- of two\n\n",
    "```rust\nfn main() { let open = 1;\n",
    "\n```\n",
    "| a | b |\n|---|---|\n| 1 | 漢字 |\n\n",
    "漢字かな交じり文 ",
    "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{1b}[2J",
    "\u{202e}reversed\u{202c} \u{200f}\u{feff}",
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪 e\u{301}\u{302}\u{303} ",
    "\t\ttabs\there\r\nand\rreturns ",
    "مرحبا بالعالم שלום ",
    "\u{0}\u{1}\u{8}\u{7f}\u{9b}31m ",
    "a_word_without_any_place_to_break_it_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on",
    "",
];

fn words(dice: &mut Dice) -> &'static str {
    let at = dice.roll(u64::try_from(WORDS.len()).unwrap());
    WORDS[usize::try_from(at).unwrap()]
}

/// Something happens to some agent, possible or not.
fn event(stage: &mut Stage, dice: &mut Dice, ended: &mut BTreeSet<u32>) {
    let agent = u32::try_from(dice.roll(14)).unwrap();
    let call = format!("call-{}", dice.roll(5));
    match dice.roll(24) {
        0 | 1 => stage.spawns(agent.max(1), words(dice), words(dice)),
        2 | 3 => stage.starts(agent),
        4 => stage.calls(agent, &call, "Read", words(dice), words(dice)),
        5 => stage.tool_ends(agent, &call, words(dice), None),
        6 => stage.wants_to_run(agent, &call, words(dice)),
        7 => stage.ends_turn(agent, words(dice), 1_000),
        8 if dice.roll(4) == 0 => {
            let statuses = [Status::Completed, Status::Cancelled, Status::Failed, Status::TimedOut, Status::Empty];
            let known = stage.app.agents().get(AgentId(agent)).is_some();
            stage.ends(agent, *dice.pick(&statuses), words(dice), Some(words(dice)));
            if known && agent > 0 {
                ended.insert(agent);
            }
        }
        9 => {
            let id = ApprovalId { agent: AgentId(agent), call_id: call, number: 0 };
            stage.agent(agent, EventKind::Tool(ToolEvent::ApprovalResolved { id, answer: None, by_grant: false }));
        }
        10 => {
            let reason = words(dice).to_owned();
            stage.agent(
                agent,
                EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 3_000, rate_limited: true, reason }),
            );
        }
        11 => drop(stage.agent(agent, EventKind::Turn(TurnEvent::Thinking { text: words(dice).to_owned() }))),
        12 => drop(
            stage.agent(agent, EventKind::Tool(ToolEvent::Progress { call_id: call, tail: words(dice).to_owned() })),
        ),
        13 => stage.asks(words(dice)),
        14 if dice.roll(8) == 0 => {
            let run = u32::try_from(dice.roll(40)).unwrap();
            let later = |stage: &Stage| stage.app.agents().get(AgentId(agent)).is_some_and(|view| view.run < run);
            if later(stage) {
                ended.remove(&agent);
            }
            stage.agent(agent, EventKind::Resumed { run, run_mode: RunMode::Background });
        }
        15 => {
            let run_mode = *dice.pick(&[RunMode::Foreground, RunMode::Background]);
            stage.agent(agent, EventKind::Moved { run_mode });
            stage.agent(agent, EventKind::LastTurn { why: Status::WrappedUp });
            stage.agent(agent, EventKind::Notice { text: words(dice).to_owned() });
        }
        _ => stage.says(agent, words(dice)),
    }
}

/// Someone plays with keyboard and mouse.
fn input(stage: &mut Stage, dice: &mut Dice, keys: &[Key]) {
    let size = stage.app.size();
    let input = match dice.roll(12) {
        0 => {
            let kinds =
                [MouseKind::Press, MouseKind::Drag, MouseKind::Release, MouseKind::WheelUp, MouseKind::WheelDown];
            let column = u16::try_from(dice.roll(u64::from(size.width) + 3)).unwrap();
            let row = u16::try_from(dice.roll(u64::from(size.height) + 3)).unwrap();
            Input::Mouse(Mouse { kind: *dice.pick(&kinds), column, row })
        }
        1 => Input::Paste(words(dice).repeat(1 + usize::try_from(dice.roll(40)).unwrap())),
        2 => dice.pick(&[Input::FocusLost, Input::FocusGained]).clone(),
        _ => Input::Key(*dice.pick(keys)),
    };
    let is_esc = input == Input::Key(Key::parse_sequence("<esc>").unwrap()[0]);
    let effects = stage.event(Event::Input(input));
    // The second one, within its time, interrupts the main agent while no subagent runs.
    let stops = |effect: &Effect| matches!(effect, Effect::Command(Command::Stop { .. } | Command::StopAll));
    assert!(!is_esc || !effects.iter().any(stops), "esc stops: {effects:?}");
}

#[test]
fn tens_of_thousands_of_throws_break_nothing() {
    let mut dice = Dice::new(0x00be_11ed);
    let mut stage = Stage::new(100, 30).with_model();
    let keys: Vec<Key> = KEYS.split_whitespace().flat_map(|key| Key::parse_sequence(key).unwrap()).collect();
    let mut ended = BTreeSet::new();
    for throw in 0..THROWS {
        match dice.roll(10) {
            0..=5 => event(&mut stage, &mut dice, &mut ended),
            6..=8 => input(&mut stage, &mut dice, &keys),
            _ => drop(stage.wait(dice.roll(2_000))),
        }
        if dice.roll(400) == 0 {
            let (widest, highest) = if dice.roll(3) == 0 { (12, 6) } else { (220, 70) };
            let (width, height) = (1 + dice.roll(widest), 1 + dice.roll(highest));
            stage.resize(u16::try_from(width).unwrap(), u16::try_from(height).unwrap());
        }
        if throw % DRAWN == 0 {
            assert_sound(stage.app.size(), &stage.app.regions());
            let (buffer, _) = stage.draw();
            let text = as_text(&buffer);
            assert!(text.lines().all(|line| sanitize_line(line) == line), "hostile text reached the screen:\n{text}");
            stage.effects.clear();
        }
        if stage.app.agents().children().next().is_none() {
            // The conversation was cleared.
            ended.clear();
        }
    }
    assert!(!ended.is_empty());
    for agent in ended {
        let phase = stage.app.agents().get(AgentId(agent)).map(|agent| agent.phase);
        assert!(matches!(phase, Some(Phase::Ended(_))), "the end of agent {agent} is lost: {phase:?}");
    }
}

#[test]
fn every_popup_fits_every_size() {
    let openings = ["<ctrl+p>", "<ctrl+p>zzz", "<f1>", "/theme<enter>", "/cost<enter>", "/model<enter>", "<alt+1>p"]
        .into_iter()
        .chain(["<alt+1><enter>/", "<alt+1><alt+1>", "<f6>e", "<esc>", "/", "@", "<ctrl+r>"]);
    for keys in openings {
        let mut stage = Stage::new(80, 24).with_model();
        stage.asks("Look.");
        stage.spawns(1, "explore", "look closely");
        stage.starts(1);
        stage.wants_to_run(1, "call", "make");
        stage.keys(keys);
        for (width, height) in
            [1, 2, 3, 4, 6, 8, 11, 14, 40, 200].into_iter().flat_map(|width| (1..=8).map(move |height| (width, height)))
        {
            stage.resize(width, height);
            stage.draw();
        }
    }
}
