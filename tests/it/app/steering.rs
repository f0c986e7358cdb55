//! Messages to one subagent, by key and by event.

use belvedere::agent::{Author, EventKind, RunMode, Status};
use belvedere::app::{Effect, Event, Focus};
use belvedere::message::{AgentId, MessageId};
use belvedere::subagent::Command;

use crate::screens::stage::{Region, Stage};

/// Two subagents running, and one that has ended.
fn at_work() -> Stage {
    let mut stage = Stage::new(80, 24).with_model();
    stage.asks("look around");
    stage.spawns(1, "explore", "Find the parser");
    stage.spawns(2, "reviewer", "Review the tests");
    stage.spawns(3, "explore", "Count the files");
    for agent in 1..=3 {
        stage.starts(agent);
        stage.says(agent, "Looking.");
    }
    stage.ends(3, Status::Completed, "<summary>12 files</summary>", None);
    stage
}

fn told(effects: &[Effect]) -> Vec<(u32, &str)> {
    let of = |effect| match effect {
        &Effect::Command(Command::Message { agent, ref text, .. }) => Some((agent.0, text.text.as_str())),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

fn sent(effects: &[Effect]) -> Vec<&str> {
    let of = |effect| match effect {
        &Effect::Command(Command::Send { ref text, .. }) => Some(text.text.as_str()),
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

fn resumed(effects: &[Effect]) -> Vec<(u32, &str)> {
    let of = |effect| match effect {
        &Effect::Command(Command::Resume { agent, message: Some((_, ref text)) }) => {
            Some((agent.0, text.text.as_str()))
        }
        _ => None,
    };
    effects.iter().filter_map(of).collect()
}

fn reads(stage: &mut Stage, agent: u32, text: &str) {
    stage.agent(agent, EventKind::UserMessage { text: text.to_owned(), by: Author::User, id: None });
}

fn target(stage: &Stage) -> Option<u32> {
    stage.app.target().map(|agent| agent.id.0)
}

#[test]
fn m_and_i_write_to_the_chosen_agent() {
    for keys in ["<alt+2>m", "<alt+2>i", "<alt+2><enter>m"] {
        let mut stage = at_work();
        stage.keys(keys);
        assert_eq!((target(&stage), stage.app.focus()), (Some(2), Focus::Composer), "{keys}");
        let effects = stage.keys("look at utf8.rs<enter>");
        assert_eq!((told(&effects), sent(&effects)), (vec![(2, "look at utf8.rs")], vec![]), "{keys}");
        assert_eq!(stage.app.unread(AgentId(2)), ["look at utf8.rs"]);
        assert_eq!(target(&stage), Some(2), "and so is the next one");
        reads(&mut stage, 2, "look at utf8.rs");
        assert!(stage.app.unread(AgentId(2)).is_empty());
        stage.keys("<esc>");
        assert_eq!(target(&stage), None);
        let back = if keys.contains("enter") { Focus::Agents } else { Focus::Composer };
        assert_eq!(stage.app.focus(), back, "{keys}");
    }
}

#[test]
fn each_has_a_draft_of_its_own() {
    let mut stage = at_work();
    stage.keys("for main");
    stage.keys("<alt+1>mfor one");
    stage.keys("<alt+2>m");
    assert_eq!(stage.app.composer().text(), "");
    let paste = "line\n".repeat(40);
    stage.event(Event::Input(belvedere::app::key::Input::Paste(paste.clone())));
    stage.keys("<esc>");
    assert_eq!(stage.app.composer().text(), "for main");
    stage.keys("<alt+1>m");
    assert_eq!(stage.app.composer().text(), "for one");
    stage.keys("<alt+2>m");
    assert_eq!(stage.app.composer().text(), "[pasted 40 lines]");
    assert_eq!(told(&stage.keys("<enter>")), [(2, paste.trim_end())]);
}

#[test]
fn esc_never_interrupts_while_it_leads_back_to_the_main_agent() {
    let mut stage = at_work();
    stage.keys("<alt+1>mhalf");
    let effects = stage.keys("<esc>");
    assert!(effects.iter().all(|effect| !matches!(effect, Effect::Command(_))));
    assert!(stage.app.popup().is_none());
    stage.keys("<alt+1>m");
    assert_eq!(stage.app.composer().text(), "half", "nothing is lost");
}

#[test]
fn up_takes_back_what_was_not_read() {
    let mut stage = at_work();
    stage.keys("to main<enter>");
    stage.keys("<alt+1>mone<enter>two<enter>");
    let effects = stage.keys("<up>");
    assert!(effects.contains(&Effect::Command(Command::Untell { agent: AgentId(1), id: MessageId(3) })));
    assert_eq!(stage.app.composer().text(), "two", "the newest, and no other");
    assert_eq!(stage.app.unread(AgentId(1)), ["one"]);
    stage.keys("<ctrl+c><esc><up>");
    assert_eq!(stage.app.composer().text(), "to main", "the main agent's queue is its own");
}

#[test]
fn an_address_sends_past_the_main_agent() {
    for (text, to) in [("@2 look here", 2), ("@reviewer-2 look here", 2), ("@Explore-1\nlook here", 1)] {
        let mut stage = at_work();
        stage.event(Event::Input(belvedere::app::key::Input::Paste(text.to_owned())));
        let effects = stage.keys("<enter>");
        assert_eq!((told(&effects), sent(&effects)), (vec![(to, "look here")], vec![]), "{text}");
        assert_eq!(target(&stage), None, "the composer stays the main agent's");
    }
}

#[test]
fn what_is_no_address_goes_to_the_main_agent() {
    for text in
        ["@agent-explore look", "@run-agent-explore-1 look", "see @2 and @explore-1", "@src/main.rs what?", " @9 x"]
    {
        let mut stage = at_work();
        stage.event(Event::Input(belvedere::app::key::Input::Paste(text.to_owned())));
        let effects = stage.keys("<enter>");
        assert_eq!((told(&effects), sent(&effects)), (vec![], vec![text]), "{text}");
    }
}

#[test]
fn a_wrong_address_keeps_the_text() {
    let mut stage = at_work();
    stage.keys("@9 look");
    let effects = stage.keys("<enter><enter>");
    assert_eq!((told(&effects), sent(&effects)), (vec![], vec![]));
    assert_eq!(stage.app.composer().text(), "@9 look");
    assert!(stage.app.flash().unwrap().text.contains("no agent 9"), "{:?}", stage.app.flash());
}

#[test]
fn an_address_alone_chooses_whom_to_write_to() {
    let mut stage = at_work();
    stage.keys("@2 <enter>");
    assert_eq!((target(&stage), stage.app.composer().text()), (Some(2), String::new()));
}

#[test]
fn a_message_to_an_ended_agent_resumes_it() {
    for keys in ["<alt+3>mlook at expiry<enter>", "@3 look at expiry<enter>", "@explore-3 look at expiry<enter>"] {
        let mut stage = at_work();
        let effects = stage.keys(keys);
        assert_eq!((told(&effects), sent(&effects), resumed(&effects)), (vec![], vec![], vec![(3, "look at expiry")]));
        assert_eq!(stage.app.unread(AgentId(3)), ["look at expiry"], "{keys}");
        let back = if keys.starts_with('@') { "" } else { "<esc>" };
        let effects = stage.keys(&format!("{back}@3 and at the tests<enter>"));
        assert_eq!((told(&effects), resumed(&effects)), (vec![(3, "and at the tests")], vec![]), "it is resumed once");
        stage.agent(3, EventKind::Resumed { run: 2, run_mode: RunMode::Background });
        reads(&mut stage, 3, "look at expiry");
        assert_eq!(stage.app.unread(AgentId(3)), ["and at the tests"]);
        stage.ends(3, Status::Completed, "", None);
        stage.keys("<alt+3>m");
        assert_eq!(stage.app.composer().text(), "and at the tests", "what it never read comes back");
    }
}

#[test]
fn with_its_end_the_composer_is_the_main_agents_again() {
    let mut stage = at_work();
    stage.keys("for main<alt+1>m");
    stage.ends(1, Status::Completed, "done", None);
    assert_eq!((target(&stage), stage.app.composer().text().as_str()), (None, "for main"));
    assert!(stage.app.flash().unwrap().text.contains("explore-1 has ended"));
}

#[test]
fn what_is_written_for_an_agent_that_ends_stays_in_sight_and_resumes_it() {
    let mut stage = at_work();
    stage.keys("for main<alt+1>mhalf a thought");
    stage.ends(1, Status::Completed, "done", None);
    assert_eq!(stage.app.composer().text(), "half a thought");
    assert!(stage.app.flash().unwrap().text.contains("enter resumes it"), "{:?}", stage.app.flash());
    assert!(stage.text().contains("resume → explore-1 half a thought"), "{}", stage.text());
    let effects = stage.keys("<enter>");
    assert_eq!((told(&effects), sent(&effects), resumed(&effects)), (vec![], vec![], vec![(1, "half a thought")]));
    stage.keys("<esc>");
    assert_eq!((target(&stage), stage.app.composer().text().as_str()), (None, "for main"));
}

#[test]
fn what_was_never_read_comes_back() {
    let mut stage = at_work();
    stage.keys("<alt+1>mfirst<enter>");
    stage.keys("<esc>@2 second<enter>");
    stage.ends(1, Status::Completed, "done", None);
    assert_eq!(stage.app.composer().text(), "");
    assert!(stage.app.flash().unwrap().text.contains("before it read your message"));
    stage.keys("<alt+1>m");
    assert_eq!(stage.app.composer().text(), "first");
    stage.keys("<esc><alt+2>m");
    stage.ends(2, Status::Failed, "", Some("it broke"));
    assert_eq!(stage.app.composer().text(), "second", "also while it is being written to");
}

#[test]
fn a_message_before_the_start_is_no_task() {
    let mut stage = Stage::new(80, 24).with_model();
    stage.asks("go");
    stage.spawns(1, "explore", "Find it");
    let prompt = stage.app.agents().get(AgentId(1)).unwrap().prompt.clone();
    stage.keys("@1 early bird<enter>");
    reads(&mut stage, 1, &prompt);
    stage.agent(1, EventKind::Started);
    reads(&mut stage, 1, "early bird");
    assert!(stage.app.unread(AgentId(1)).is_empty());
    let shown = stage.text();
    assert!(shown.contains("early bird") && !shown.contains("WHAT: look closely"), "{shown}");
}

#[test]
fn the_editor_gives_its_text_to_whom_it_was_opened_for() {
    let mut stage = at_work();
    stage.keys("for main<alt+1>m");
    assert!(stage.keys("<ctrl+g>").contains(&Effect::EditText(String::new())));
    stage.keys("<esc>");
    stage.event(Event::Edited(Some("a long letter".to_owned())));
    assert_eq!((target(&stage), stage.app.composer().text().as_str()), (Some(1), "a long letter"));
    stage.keys("<esc>");
    assert_eq!(stage.app.composer().text(), "for main");
}

#[test]
fn clearing_forgets_whom_was_written_to() {
    let mut stage = at_work();
    stage.keys("<alt+1>mdraft<alt+2>m/clear<enter><enter>");
    assert_eq!((target(&stage), stage.app.composer().text()), (None, String::new()));
    assert!(stage.effects.contains(&Effect::Command(Command::Clear)));
}

#[test]
fn agents_are_offered_at_the_start_of_a_message() {
    let labels = |keys: &str| -> Vec<String> {
        let mut stage = at_work();
        stage.event(Event::FilesListed(vec!["explain.md".to_owned(), "src/2.rs".to_owned()]));
        stage.keys(keys);
        let list = stage.app.composer().completion();
        list.map(|list| list.items.iter().map(|item| item.label.clone()).collect()).unwrap_or_default()
    };
    assert_eq!(labels("@"), ["explore-1", "reviewer-2", "explore-3", "src/2.rs", "explain.md"]);
    assert_eq!(labels("@exp"), ["explore-1", "explore-3", "explain.md"]);
    assert_eq!(labels("@2"), ["2", "src/2.rs"]);
    assert_eq!(labels("@3"), ["3"], "it has ended, and can be resumed");
    assert_eq!(labels("see @exp"), ["explain.md"]);
    assert_eq!(labels("@agent-"), Vec::<String>::new());
    let mut stage = at_work();
    let effects = stage.keys("@rev<tab>the lexer too<enter>");
    assert_eq!(told(&effects), [(2, "the lexer too")]);
}

#[test]
fn the_screen_says_whom_it_writes_to_and_what_waits() {
    let mut stage = at_work();
    stage.keys("<alt+1>mlook at utf8.rs<enter>and at the tests<enter>then");
    insta::assert_snapshot!(stage.region(Region::Composer));
    reads(&mut stage, 1, "look at utf8.rs");
    stage.keys("<esc>");
    insta::assert_snapshot!("the_screen_says_what_was_read", stage.region(Region::Composer));
    stage.keys("<alt+1><enter>m");
    insta::assert_snapshot!("a_message_in_full_view", stage.region(Region::Composer));
}

#[test]
fn whom_one_writes_to_keeps_a_pane() {
    let mut stage = Stage::new(80, 26).with_model();
    stage.asks("look around");
    for agent in 1..=6 {
        stage.spawns(agent, "explore", "Find it");
        stage.starts(agent);
        stage.says(agent, &format!("Words of {agent}."));
    }
    stage.keys("<alt+6>m");
    assert!(stage.text().contains("Words of 6."), "{}", stage.text());
}

#[test]
fn a_megabyte_reaches_one_agent_whole() {
    let mut stage = at_work();
    let paste = "0123456789abcdef".repeat(65536);
    stage.keys("<alt+1>msee ");
    stage.event(Event::Input(belvedere::app::key::Input::Paste(paste.clone())));
    assert_eq!(stage.app.composer().text(), "see [pasted 1,048,576 characters]");
    assert_eq!(told(&stage.keys("<enter>")), [(1, format!("see {paste}").as_str())]);
    assert!(stage.text().contains("queued  see 0123"));
    stage.keys("<up>");
    assert_eq!(stage.app.composer().expanded().len(), paste.len() + 4, "and comes back whole");
}

#[test]
fn every_command_is_offered_with_what_it_does() {
    let mut stage = at_work();
    stage.keys("<alt+1>m/t");
    let shown = stage.text();
    assert!(shown.contains("/theme") && shown.contains("choose a theme"), "{shown}");
}

#[test]
fn what_was_sent_to_one_agent_is_found_again() {
    let mut stage = at_work();
    stage.keys("<alt+1>mlook at utf8.rs<enter>");
    assert!(stage.effects.contains(&Effect::SaveHistory("look at utf8.rs".to_owned())));
    stage.keys("<esc><ctrl+r>utf8<enter>");
    assert_eq!((target(&stage), stage.app.composer().text().as_str()), (None, "look at utf8.rs"));
}

#[test]
fn pasting_in_full_view_does_not_leave_the_agent_that_is_written_to() {
    let mut stage = at_work();
    stage.keys("<alt+1><enter>m");
    stage.event(Event::Input(belvedere::app::key::Input::Paste("some text".to_owned())));
    assert_eq!((target(&stage), stage.app.focused_agent()), (Some(1), Some(AgentId(1))));
    assert_eq!(stage.app.composer().text(), "some text");
}

#[test]
fn a_message_that_was_read_as_it_was_taken_back_is_named() {
    let mut stage = at_work();
    stage.keys("<alt+1>mlook here<enter><up>");
    reads(&mut stage, 1, "look here");
    assert!(stage.app.flash().unwrap().text.contains("has already read it"), "{:?}", stage.app.flash());
    assert_eq!(stage.app.composer().text(), "", "it is not sent twice by mistake");
}
