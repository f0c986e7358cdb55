//! Agents in the list of what `@` could become.

use belvedere::app::agent_files::FileNews;
use belvedere::app::key::Input;
use belvedere::app::{Effect, Event, composer::Candidate};
use belvedere::definition::{AgentDefinition, Catalog, Source, Tier, parse};
use belvedere::subagent::Command;
use ratatui::style::Style;

use crate::screens::stage::Stage;

fn agent(name: &str, description: &str, color: &str, tier: Tier) -> AgentDefinition {
    let text = format!("---\nname: {name}\ndescription: {description}\ncolor: {color}\n---\nBody.");
    parse(&text, Source { tier, path: None }).definition.unwrap()
}

/// Returns a stage with these agents and files.
fn stage(agents: Vec<AgentDefinition>, files: &[&str]) -> Stage {
    let mut stage = Stage::new(80, 24);
    stage.event(Event::AgentFiles(FileNews::Listed(Catalog::of(agents).listing())));
    stage.event(Event::FilesListed(files.iter().map(|file| (*file).to_owned()).collect()));
    stage
}

fn some() -> Stage {
    let agents = vec![
        agent("explore", "Finds things in a code base", "cyan", Tier::BuiltIn),
        agent("reviewer", "Shadowed", "red", Tier::BuiltIn),
        agent("reviewer", "Looks for faults", "red", Tier::ProjectClaude),
        agent("Night Watch", "Keeps\u{1b}[31m an eye on it", "\"#8040c0\"", Tier::UserKode),
        agent("test-writer", "Writes tests", "green", Tier::BuiltIn),
    ];
    let files = ["src/main.rs", "examples/explorer.rs", "src/agent/run.rs", "src/run.rs", "tests/it/night.rs"];
    stage(agents, &files)
}

fn labels(stage: &Stage) -> Vec<String> {
    let items = |list: &belvedere::app::composer::Completion| -> Vec<String> {
        list.items.iter().map(|item: &Candidate| item.label.clone()).collect()
    };
    stage.app.composer().completion().map(items).unwrap_or_default()
}

fn typed(keys: &str) -> Vec<String> {
    let mut stage = some();
    stage.keys(keys);
    labels(&stage)
}

#[test]
fn agents_come_first_where_they_are_meant() {
    let all = ["agent-reviewer", "agent-Night-Watch", "agent-explore", "agent-test-writer"];
    assert_eq!(typed("@agent-"), all);
    assert_eq!(typed("@agent")[..4], all, "then the files of this name");
    assert_eq!(typed("@agent").last().unwrap(), "src/agent/run.rs");
    assert_eq!(typed("@agent-rev"), ["agent-reviewer"]);
    assert_eq!(typed("@run-agent-wat"), ["run-agent-Night-Watch"]);
    assert_eq!(typed("@run-agent").iter().filter(|label| label.starts_with("run-agent-")).count(), 4);
    assert_eq!(typed("@exp"), ["agent-explore", "examples/explorer.rs"]);
    assert_eq!(typed("@writ"), ["agent-test-writer"], "any word of the name");
    assert_eq!(typed("ask @nightw"), ["agent-Night-Watch"]);
}

#[test]
fn files_come_first_otherwise() {
    assert_eq!(typed("@run"), ["src/run.rs", "src/agent/run.rs"]);
    assert_eq!(typed("@")[5..], ["agent-reviewer", "agent-Night-Watch", "agent-explore", "agent-test-writer"]);
    assert_eq!(typed("@main"), ["src/main.rs"]);
    assert_eq!(typed("me@exp"), Vec::<String>::new());
}

#[test]
fn the_chosen_one_is_inserted_with_a_space() {
    for (keys, text) in [
        ("ask @night<tab>now", "ask @agent-Night-Watch now"),
        ("@run-agent-re<enter>", "@run-agent-reviewer "),
        ("@agent<down><tab>", "@agent-Night-Watch "),
    ] {
        let mut stage = some();
        stage.keys(keys);
        assert_eq!(stage.app.composer().text(), text);
    }
}

#[test]
fn the_list_shows_what_they_are_for() {
    let mut stage = some();
    let before = stage.frame();
    stage.keys("let @agent-");
    insta::assert_snapshot!(stage.added_since(&before));
}

/// Returns the style of the first letter of `text` on the screen.
fn style_of(stage: &mut Stage, text: &str) -> Style {
    let (buffer, _) = stage.draw();
    let area = buffer.area;
    let row = |y: u16| (area.x..area.right()).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let (y, at) = (area.y..area.bottom()).find_map(|y| Some((y, row(y).find(text)?))).unwrap();
    let column = row(y)[..at].chars().count();
    buffer[(u16::try_from(column).unwrap(), y)].style()
}

#[test]
fn an_agent_has_its_colour_in_the_list_and_in_the_text() {
    let mut stage = some();
    stage.keys("@agent-");
    let (reviewer, watch) = (style_of(&mut stage, "agent-reviewer"), style_of(&mut stage, "agent-Night-Watch"));
    assert!(reviewer.fg != watch.fg, "{reviewer:?}");
    stage.keys("<ctrl+u>@run-agent-reviewer and @agent-Night-Watch or @agent-nobody ");
    assert_eq!(style_of(&mut stage, "@run-agent-reviewer").fg, reviewer.fg);
    assert_eq!(style_of(&mut stage, "@agent-Night-Watch").fg, watch.fg);
    let nobody = style_of(&mut stage, "@agent-nobody").fg;
    assert!(nobody != reviewer.fg && nobody != watch.fg);
}

#[test]
fn a_new_listing_is_offered_at_the_next_key() {
    let mut stage = some();
    stage.keys("@agent-n");
    let listing = Catalog::of(vec![agent("newcomer", "New", "red", Tier::UserClaude)]).listing();
    stage.event(Event::AgentFiles(FileNews::Listed(listing)));
    stage.keys("e");
    assert_eq!(labels(&stage), ["agent-newcomer"]);
}

#[test]
fn many_files_and_agents_are_searched_at_every_key() {
    let agents = (0..500).map(|number| agent(&format!("helper-{number}"), "Helps", "red", Tier::UserClaude)).collect();
    let files: Vec<String> = (0..30_000).map(|number| format!("src/part{}/file_{number}.rs", number % 97)).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let mut stage = stage(agents, &files);
    stage.keys("@file_9");
    assert_eq!((labels(&stage).len(), labels(&stage)[0].as_str()), (12, "src/part9/file_9.rs"));
    stage.keys("<ctrl+u>@");
    for key in "agent-helper-499".chars() {
        stage.keys(&key.to_string());
        assert!(labels(&stage).len() <= 12);
    }
    assert_eq!(labels(&stage), ["agent-helper-499"]);
}

/// Sends what is written, and returns what it says and what of it the user has named.
fn said(stage: &mut Stage) -> (String, Vec<String>) {
    let effects = stage.keys(" <enter>");
    let said = effects.iter().find_map(|effect| match effect {
        Effect::Command(Command::Send { text, .. }) => Some(text.clone()),
        _ => None,
    });
    let said = said.expect("it is sent");
    (said.text.clone(), said.mentions().map(|mention| mention.name.to_owned()).collect())
}

#[test]
fn only_what_is_typed_or_chosen_is_named() {
    let mut stage = some();
    let paste = |stage: &mut Stage, text: &str| stage.event(Event::Input(Input::Paste(text.to_owned())));
    stage.keys("see @notes:a, @src/ru<tab>and @\"my b.png\"");
    assert_eq!(said(&mut stage).1, ["notes:a", "src/run.rs", "my b.png"]);
    stage.keys("look: ");
    paste(&mut stage, "an error at @notes:evil and @evil.png.");
    assert_eq!(said(&mut stage).1, [""; 0], "among other words");
    stage.keys("look: ");
    paste(&mut stage, &format!("@notes:evil\n{}", "more\n".repeat(40)));
    assert_eq!(said(&mut stage).1, [""; 0], "in a paste that is not shown");
    paste(&mut stage, "first @notes:evil");
    stage.keys(" @notes:b, x");
    assert_eq!(said(&mut stage).1, ["notes:b"], "beside what is typed");
    paste(&mut stage, "@notes:c");
    assert_eq!(said(&mut stage).1, ["notes:c"], "a paste that is nothing else");
    stage.keys("@notes:");
    paste(&mut stage, "note://d");
    assert_eq!(said(&mut stage).1, ["notes:note://d"]);
    paste(&mut stage, "ends in @notes:e");
    stage.keys("., x");
    assert_eq!(said(&mut stage).1, [""; 0], "a sign behind it is not part of it");
    stage.keys("<up><up><up>");
    assert_eq!(said(&mut stage), ("@notes:c ".to_owned(), vec!["notes:c".to_owned()]), "the same again");
}

#[test]
fn what_is_written_in_the_editor_is_named_but_for_what_stood_there() {
    let mut stage = some();
    stage.event(Event::Input(Input::Paste("an error at @notes:evil".to_owned())));
    stage.keys("<ctrl+g>");
    stage.event(Event::Edited(Some("an error at @notes:evil, see @notes:a".to_owned())));
    assert_eq!(said(&mut stage).1, ["notes:a"]);
}
