//! The rows of commands in the background, commands of the user's own, and messages that are handed on.

use belvedere::agent::EventKind;
use belvedere::app::key::{Input, Mouse, MouseKind};
use belvedere::app::{Effect, Event, Focus, Popup};
use belvedere::subagent::Command;
use belvedere::tool::{CommandEvent, EndedBy};

use crate::screens::stage::Stage;

fn started(id: &str, line: &str, by_user: bool) -> EventKind {
    CommandEvent::Started { command_id: id.to_owned(), command: line.to_owned(), by_user }.into()
}

fn printed(id: &str, text: &str) -> EventKind {
    CommandEvent::Output { command_id: id.to_owned(), text: text.to_owned() }.into()
}

fn ended(id: &str, how: &str, ended_by: EndedBy) -> EventKind {
    CommandEvent::Ended {
        command_id: id.to_owned(),
        how: how.to_owned(),
        is_error: how != "exit 0",
        ended_by,
        tail: "the end".to_owned(),
        lines: 7,
    }
    .into()
}

fn stops(id: &str) -> Effect {
    Effect::Command(Command::StopCommand { id: id.to_owned() })
}

fn two_commands(width: u16, height: u16) -> Stage {
    let mut stage = Stage::new(width, height).with_model();
    stage.main(started("bash_1", "npm run dev -- --port 3000", false));
    stage.main(started("bash_2", "cargo watch -x check", false));
    stage.main(printed("bash_1", "  VITE ready in 320 ms\n\n  Local: http://localhost:3000/\n"));
    stage.main(printed("bash_2", "Finished `dev` profile\n"));
    stage.wait(64_000);
    stage
}

#[test]
fn each_command_has_a_row_with_its_state_its_time_and_its_last_line() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut stage = two_commands(width, height);
        let area = stage.app.regions().commands;
        assert_eq!(area.height, 3);
        let text = stage.text();
        let rows: Vec<&str> = text.lines().skip(usize::from(area.y)).take(3).collect();
        assert!(rows[0].contains("commands  2 running"), "{text}");
        for part in ["bash_1", "npm run dev", "Local: http://loc", "running", "1m04s"] {
            assert!(rows[1].contains(part), "no {part} in {text}");
        }
        assert!(rows[2].contains("Finished `dev` profile"), "{text}");
    }
}

#[test]
fn a_row_is_chosen_opened_and_stopped_by_keys() {
    let mut stage = two_commands(100, 30);
    stage.keys("<down>");
    assert_eq!(stage.app.focus(), Focus::Commands);
    stage.keys("j");
    assert_eq!(stage.keys("x"), [stops("bash_2")]);
    assert!(stage.text().contains("stopping"), "{}", stage.text());
    stage.keys("k<enter>");
    assert!(matches!(stage.app.popup(), Some(Popup::CommandOutput { id, .. }) if id == "bash_1"));
    assert!(stage.text().contains("VITE ready in 320 ms"), "{}", stage.text());
    stage.main(printed("bash_1", &"a line\n".repeat(200)));
    stage.main(printed("bash_1", "the newest line\n"));
    assert!(stage.text().contains("the newest line"), "it follows what comes: {}", stage.text());
    stage.keys("<up>");
    stage.main(printed("bash_1", "one more line\n"));
    assert!(!stage.text().contains("one more line"), "who scrolls stays: {}", stage.text());
    stage.keys("<esc><esc>");
    assert_eq!(stage.app.focus(), Focus::Composer);
    stage.main(ended("bash_2", "stopped", EndedBy::User));
    stage.main(ended("bash_1", "exit 1", EndedBy::Itself));
    assert!(stage.text().contains("2 ended") && stage.text().contains("exit 1"), "{}", stage.text());
    stage.keys("next<enter>");
    stage.main(EventKind::UserMessage { text: "next".to_owned(), by: belvedere::agent::Author::User, id: None });
    assert!(stage.app.commands().is_empty() && stage.app.regions().commands.is_empty());
}

#[test]
fn a_click_chooses_a_row_and_the_next_one_opens_or_stops_it_while_one_writes() {
    let mut stage = two_commands(100, 30);
    stage.keys("a draft");
    stage.draw();
    let area = stage.app.regions().commands;
    let mut press = |column, row| {
        stage.draw();
        stage.event(Event::Input(Input::Mouse(Mouse { kind: MouseKind::Press, column, row })))
    };
    assert_eq!(press(area.right() - 1, area.y + 2), [], "the sign does not stand there yet");
    assert_eq!(press(area.right() - 1, area.y + 2), [stops("bash_2")]);
    press(area.x + 10, area.y + 1);
    press(area.x + 10, area.y + 1);
    assert!(matches!(stage.app.popup(), Some(Popup::CommandOutput { id, .. }) if id == "bash_1"));
    stage.keys("<esc>");
    assert_eq!((stage.app.focus(), stage.app.composer().text().as_str()), (Focus::Composer, "a draft"));
}

#[test]
fn what_runs_is_named_before_it_ends_and_a_slash_command_stops_it() {
    let mut stage = two_commands(100, 30);
    stage.keys("<c-c>".replace("<c-c>", "<ctrl+c>").as_str());
    assert!(stage.text().contains("2 background commands"), "{}", stage.text());
    assert_eq!(stage.keys("/cancel bash_1<enter>").first(), Some(&stops("bash_1")));
    assert!(stage.keys("<ctrl+x><ctrl+x>").contains(&Effect::Command(Command::StopAll)));
}

#[test]
fn a_command_of_the_users_own_streams_in_the_conversation_and_esc_stops_it() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("!make test");
    assert!(stage.text().contains("→ your shell"), "{}", stage.text());
    let run = Effect::Command(Command::RunForUser { line: "make test".to_owned() });
    assert!(stage.keys("<enter>").contains(&run));
    assert!(stage.app.composer().is_empty() && !stage.text().contains("your shell"));
    stage.main(started("bash_1", "make test", true));
    stage.main(printed("bash_1", "12 tests passed\n"));
    assert!(stage.text().contains("! make test") && stage.text().contains("12 tests passed"), "{}", stage.text());
    assert!(stage.app.commands().is_empty(), "it has no row besides");
    assert!(stage.keys("<esc>").contains(&Effect::Command(Command::StopUserCommands)));
    assert!(stage.keys("<ctrl+c>").contains(&Effect::Command(Command::StopUserCommands)));
    stage.main(ended("bash_1", "stopped", EndedBy::User));
    assert!(stage.text().contains("stopped, 7 lines"), "{}", stage.text());
    stage.keys(" !important<enter>");
    assert_eq!(stage.sent(" !important").len(), 1, "a message that begins with a space is a message");
}

#[test]
fn a_paste_that_is_not_shown_runs_nothing() {
    let mut stage = Stage::new(100, 30).with_model();
    let paste = |text: &str| Event::Input(Input::Paste(text.to_owned()));
    let text = format!("!touch evil\n{}", "more\n".repeat(40));
    stage.event(paste(&text));
    assert!(!stage.text().contains("your shell"), "{}", stage.text());
    let effects = stage.keys("<enter>");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Command(Command::RunForUser { .. }))), "{effects:?}");
    assert_eq!(stage.sent(text.trim_end()).len(), 1, "it is a message");
    let long = "words ".repeat(300);
    for text in [format!("/compact {long}"), format!("/mcp__notes__review {long}"), format!("{long} &")] {
        stage.event(paste(&text));
        let effects = stage.keys("<enter>");
        let commands = effects.iter().filter(|effect| matches!(effect, Effect::Command(_)));
        assert!(commands.clone().all(|effect| matches!(effect, Effect::Command(Command::Send { .. }))), "{effects:?}");
        assert_eq!(commands.count(), 1, "it is a message: {effects:?}");
    }
    stage.keys("!");
    stage.event(paste(&text));
    let effects = stage.keys("<enter>");
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Command(_))), "{effects:?}");
    assert!(stage.text().contains("only as you see it"), "{}", stage.text());
}

#[test]
fn an_and_sign_as_the_last_word_hands_the_message_on_and_says_so_before() {
    let mut stage = Stage::new(100, 30).with_model();
    for prose in ["salt & pepper", "R&D", "cats and dogs&", "&"] {
        stage.keys(prose);
        assert!(!stage.text().contains("background agent"), "{prose}: {}", stage.text());
        stage.keys("<enter>");
        assert_eq!(stage.sent(prose).len(), 1, "{prose}");
    }
    stage.keys("fix the tests &");
    assert!(stage.text().contains("→ background agent"), "{}", stage.text());
    let hands_on = Effect::Command(Command::HandOff { task: "fix the tests".into() });
    assert!(stage.keys("<enter>").contains(&hands_on));
    assert!(stage.app.composer().is_empty());
}
