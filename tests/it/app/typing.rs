//! Sentences typed in the wrong place, and letters that are meant.

use belvedere::agent::{EventKind, SessionEvent, Status, ToolEvent};
use belvedere::app::key::{Input, Key, Mouse, MouseKind};
use belvedere::app::{Effect, Event, Focus, LETTER_PAUSE};
use belvedere::message::{AgentId, MessageId};
use belvedere::permission::{ApprovalId, Grant, PermissionMode};
use belvedere::subagent::Command;

use crate::screens::scenes;
use crate::screens::stage::Stage;
use crate::support::Dice;

/// Where keys may go: what is pressed to get there.
const PLACES: [&str; 17] = [
    "",
    "<down>",
    "<alt+2>",
    "<alt+2><alt+2>",
    "<f6>",
    "<f6><f6>",
    "<f6><f6><f6>",
    "/timeline<enter>",
    "<f1>",
    "/cost<enter>",
    "/tasks<enter>",
    "/theme<enter>",
    "/permissions<enter>",
    "/worktrees<enter>",
    "/agents<enter>",
    "/agents<enter><down><enter>",
    "<alt+3>p",
];
const WORDS: [&str; 40] = [
    "and", "back", "check", "do", "explore", "fix", "go", "help", "it", "just", "keep", "look", "make", "next", "open",
    "please", "quit", "run", "stop", "tests", "use", "very", "why", "x", "yes", "zero", "Go", "No", "Next,", "1", "42",
    "plan", "add", "new", "error", "delete", "merge", "hill", "kill", "-",
];

fn sentence(dice: &mut Dice) -> String {
    let count = 2 + dice.roll(5);
    let words: Vec<&str> = (0..count).map(|_| *dice.pick(&WORDS)).collect();
    // One that ends before it has more than two letters is no sentence.
    words.join(" ") + " now"
}

fn press(stage: &mut Stage, letter: char) -> Vec<Effect> {
    let key = if letter == ' ' { "<space>".to_owned() } else { letter.to_string() };
    stage.event(Event::Input(Input::Key(Key::parse_sequence(&key).unwrap()[0])))
}

/// Something happens to an agent meanwhile.
fn happens(stage: &mut Stage, dice: &mut Dice, count: u64) {
    let agent = u32::try_from(1 + dice.roll(8)).unwrap();
    match dice.roll(5) {
        0 => stage.wants_to_run(agent, &format!("q{count}"), "make it"),
        1 => {
            let id = stage.app.approvals().shown().map(|request| request.id.clone());
            let id = id.unwrap_or(ApprovalId { agent: AgentId(1), call_id: String::new(), number: 0 });
            stage.agent(id.agent.0, EventKind::Tool(ToolEvent::ApprovalResolved { id, answer: None, by_grant: false }));
        }
        2 => stage.ends(agent, Status::Completed, "<summary>done</summary>", None),
        3 => stage.says(agent, "more words\n\n"),
        _ => stage.ends_turn(agent, "a turn", 1_000),
    }
}

/// Returns `true` if an effect is more than what every screen does by itself.
fn acts(effect: &Effect) -> bool {
    !matches!(effect, Effect::TellStatus(_) | Effect::Notify(_) | Effect::ListFiles | Effect::ReadLog(_))
}

#[test]
fn hundreds_of_sentences_typed_anywhere_do_nothing_and_are_all_there() {
    let mut dice = Dice::new(0x0007_1913);
    let mut stage = scenes::approval(120, 40);
    for run in 0..400 {
        if run % 50 == 0 {
            stage = scenes::approval(120, 40);
        }
        let place = *dice.pick(&PLACES);
        let text = sentence(&mut dice);
        stage.keys("<ctrl+u>");
        stage.keys(place);
        stage.wait(1_000);
        stage.effects.clear();
        for (count, letter) in (0..).zip(text.chars()) {
            if dice.roll(16) == 0 {
                happens(&mut stage, &mut dice, run * 100 + count);
            }
            press(&mut stage, letter);
            stage.wait(5 + dice.roll(246));
        }
        stage.wait(1_000);
        let done: Vec<&Effect> = stage.effects.iter().filter(|effect| acts(effect)).collect();
        assert!(done.is_empty(), "run {run}, {text:?} after {place:?}: {done:?}");
        assert_eq!(stage.app.composer().text(), text, "run {run}, after {place:?}");
        assert_eq!((stage.app.focus(), stage.app.target().is_none()), (Focus::Composer, true), "{place:?}");
    }
}

#[test]
fn a_box_to_type_in_keeps_what_is_typed_and_does_nothing() {
    for place in ["<ctrl+p>", "<alt+2><alt+2>/", "<f6>e", "/agents<enter>/", "/agents<enter>n"] {
        let mut stage = scenes::approval(120, 40);
        stage.keys(place);
        stage.effects.clear();
        for letter in "next, x marks yes please".chars() {
            press(&mut stage, letter);
            stage.wait(120);
        }
        let done: Vec<&Effect> = stage.effects.iter().filter(|effect| acts(effect)).collect();
        assert!(done.is_empty(), "after {place:?}: {done:?}");
        assert_eq!(stage.app.composer().text(), "", "after {place:?}");
    }
}

fn commands(effects: &[Effect]) -> Vec<Command> {
    let of = |effect: &Effect| match effect {
        Effect::Command(command) => Some(command.clone()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

#[test]
fn a_letter_alone_acts_after_a_moment_and_one_that_is_followed_does_not() {
    let pause = u64::try_from(LETTER_PAUSE.as_millis()).unwrap();
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("<alt+1>");
    stage.effects.clear();
    press(&mut stage, 'x');
    assert!(stage.text().contains("x: stop this agent now …"), "{}", stage.text());
    stage.wait(pause - 1);
    assert_eq!(commands(&stage.effects), []);
    assert!(stage.app.next_wakeup().is_some());
    stage.wait(1);
    assert_eq!(commands(&stage.effects), [Command::Stop { agent: AgentId(1) }]);
    assert!(stage.text().contains("stopping explore-1"));
    stage.effects.clear();

    for (second, text) in [("<esc>", ""), ("<enter>", "x"), ("<backspace>", ""), ("j", "xj")] {
        stage.keys("<ctrl+u><alt+2>");
        press(&mut stage, 'x');
        stage.wait(50);
        stage.event(Event::Input(Input::Key(Key::parse_sequence(second).unwrap()[0])));
        stage.wait(1_000);
        assert_eq!(commands(&stage.effects), [], "{second}");
        assert_eq!(stage.app.composer().text(), text, "{second}");
    }
    assert!(stage.text().contains("typing in the composer · f6 goes back"), "{}", stage.text());
    stage.keys("<ctrl+u><alt+2>");
    press(&mut stage, 'x');
    stage.event(Event::Input(Input::Paste("marks".to_owned())));
    assert_eq!((commands(&stage.effects), stage.app.composer().text()), (vec![], "xmarks".to_owned()));
}

#[test]
fn an_answer_is_for_the_question_that_stood_there_when_its_letter_was_pressed() {
    let mut stage = scenes::approval(120, 40);
    stage.keys("<f6>");
    stage.effects.clear();
    let id = stage.app.approvals().shown().unwrap().id.clone();
    press(&mut stage, 'y');
    stage.agent(id.agent.0, EventKind::Tool(ToolEvent::ApprovalResolved { id, answer: None, by_grant: false }));
    stage.wait(2_000);
    assert_eq!(commands(&stage.effects), []);
    assert!(!stage.app.approvals().is_empty());
}

#[test]
fn a_click_takes_the_keyboard_from_no_message() {
    let click = |stage: &mut Stage, column: u16, row: u16| {
        for kind in [MouseKind::Press, MouseKind::Drag, MouseKind::Release] {
            stage.event(Event::Input(Input::Mouse(Mouse { kind, column, row })));
        }
    };
    let mut stage = scenes::approval(120, 40);
    stage.draw();
    let regions = stage.app.regions();
    let pane = regions.pane(AgentId(2)).unwrap().area;
    let places = [
        (regions.conversation.x + 5, regions.conversation.y + 2),
        (pane.x + 10, pane.y + 1),
        (pane.x + 10, pane.y),
        (regions.approvals.x + 5, regions.approvals.y + 1),
    ];
    let mut text = String::new();
    for (column, row) in places {
        click(&mut stage, column, row);
        for letter in "x gk".chars() {
            stage.wait(1_000);
            press(&mut stage, letter);
        }
        text.push_str("x gk");
        assert_eq!((stage.app.focus(), stage.app.composer().text().as_str()), (Focus::Composer, text.as_str()));
    }
    stage.keys("<ctrl+u>");
    stage.draw();
    let pane = stage.app.regions().pane(AgentId(2)).unwrap().area;
    click(&mut stage, pane.x + 10, pane.y + 1);
    assert_eq!(stage.app.marked_agent(), Some(AgentId(2)));
    assert_eq!(commands(&stage.keys("<down>x")), [Command::Stop { agent: AgentId(2) }], "it is where `down` leads");
}

#[test]
fn one_step_too_far_in_the_history_leads_nowhere() {
    let mut stage = scenes::eight_agents(120, 40);
    stage.keys("first<enter>");
    stage.main(EventKind::UserMessage { text: "first".to_owned(), by: belvedere::agent::Author::User, id: None });
    stage.keys("<up><down><down><down>");
    assert_eq!(stage.app.focus(), Focus::Composer);
    assert!(stage.text().contains("f6 focuses the agents"), "{}", stage.text());
    stage.keys("a<backspace><down>");
    assert_eq!(stage.app.focus(), Focus::Agents, "an edit ends the walk");
}

#[test]
fn a_backslash_at_the_end_goes_on_in_the_next_line() {
    let mut stage = Stage::new(80, 24);
    assert_eq!(commands(&stage.keys("a\\<enter>")), []);
    assert_eq!(stage.app.composer().text(), "a\n");
    assert_eq!(commands(&stage.keys("b\\ c<enter>")), [Command::Send { id: MessageId(1), text: "a\nb\\ c".into() }]);
}

#[test]
fn shift_tab_never_leads_to_a_mode_without_questions() {
    let modes = |stage: &mut Stage| -> Vec<PermissionMode> {
        let next = |_| {
            stage.keys("<shift+tab>");
            stage.app.status().mode
        };
        (0..8).map(next).collect()
    };
    let mut stage = scenes::approval(120, 40);
    assert!(!modes(&mut stage).contains(&PermissionMode::BypassPermissions));
    stage.keys("/mode bypassPermissions<enter>");
    assert_eq!(stage.app.status().mode, PermissionMode::BypassPermissions);
    assert!(stage.text().contains("questions are still waiting for you"), "{}", stage.text());
    assert!(!modes(&mut stage).contains(&PermissionMode::BypassPermissions), "it is left and does not come back");
}

#[test]
fn what_an_answer_allows_besides_is_said_and_stays_in_sight() {
    use belvedere::permission::{ActiveGrant, GrantOrigin, Holder};
    let mut stage = scenes::approval(120, 40);
    assert!(stage.text().contains("for all explore agents"), "{}", stage.text());
    for call in ["u1", "u2"] {
        let mut request = crate::screens::stage::request(2, call, "x");
        request.access.kind = belvedere::permission::AccessKind::Write { path: "/home/me/src/shop/a.rs".into() };
        stage.agent(2, EventKind::Tool(ToolEvent::ApprovalRequested { request }));
    }
    let holder = Holder::Agents { name: "plan".to_owned(), source: "built-in".to_owned() };
    let grants = vec![ActiveGrant { grant: Grant::Edits, origin: GrantOrigin::Session, holder }];
    stage.session(SessionEvent::GrantsChanged { grants });
    for call in ["u1", "u2"] {
        let id = ApprovalId { agent: AgentId(2), call_id: call.to_owned(), number: 0 };
        stage.agent(2, EventKind::Tool(ToolEvent::ApprovalResolved { id, answer: None, by_grant: true }));
    }
    let text = stage.text();
    assert!(text.contains("2 waiting edits allowed too · /permissions") && text.contains("ask +edits"), "{text}");
    stage.keys("/permissions<enter>");
    assert!(stage.text().contains("Edit(project files)  plan agents"), "{}", stage.text());
}
