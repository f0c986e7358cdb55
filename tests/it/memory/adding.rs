//! Adding lines to memory files, on the disk and from the screen.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use belvedere::app::{Effect, Event};
use belvedere::memory::{ListedMemory, MemoryAnswer, MemoryOwner, MemoryRequest};
use belvedere::subagent::Command;

use super::{Place, put};
use crate::screens::stage::Stage;

fn read(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.path(path)).unwrap()
}

fn takers(place: &Place) -> Vec<(String, bool)> {
    let listed = place.reader("").list().into_iter().filter(|listed| listed.takes_lines);
    listed.map(|listed| (listed.shown, listed.chars.is_some())).collect()
}

#[test]
fn a_line_goes_to_the_end_and_changes_nothing_else() {
    let place = Place::with(&[("AGENTS.md", "# Rules\r\n\r\n- old"), ("~/.claude/CLAUDE.md", "Mine\n")]);
    let reader = place.reader("");
    std::fs::set_permissions(place.path("AGENTS.md"), std::fs::Permissions::from_mode(0o664)).unwrap();
    let (shown, written) = reader.add_line(&place.path("AGENTS.md"), " use tabs ").unwrap();
    assert_eq!((shown.as_str(), written.text), ("AGENTS.md", read(&place, "AGENTS.md")));
    assert_eq!(read(&place, "AGENTS.md"), "# Rules\r\n\r\n- old\r\n- use tabs\r\n");
    assert_eq!(place.path("AGENTS.md").metadata().unwrap().permissions().mode() & 0o777, 0o664);
    reader.add_line(&place.path("~/.claude/CLAUDE.md"), "- a list").unwrap();
    assert_eq!(read(&place, "~/.claude/CLAUDE.md"), "Mine\n- a list\n");
    reader.add_line(&place.path("CLAUDE.local.md"), "new").unwrap();
    assert_eq!(read(&place, "CLAUDE.local.md"), "- new\n");
    let left: Vec<_> = std::fs::read_dir(&place.project).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn lines_go_to_the_file_that_is_there() {
    let expected = |path: &str, is_there| (path.to_owned(), is_there);
    let own = || [expected("CLAUDE.local.md", false), expected("~/.claude/CLAUDE.md", false)];
    for (files, project) in [
        (&[][..], expected("AGENTS.md", false)),
        (&[("AGENTS.md", "a")], expected("AGENTS.md", true)),
        (&[("CLAUDE.md", "a")], expected("CLAUDE.md", true)),
        (&[(".claude/CLAUDE.md", "a")], expected(".claude/CLAUDE.md", true)),
    ] {
        let place = Place::with(files);
        assert_eq!(takers(&place), [vec![project], own().to_vec()].concat());
    }
}

#[test]
fn no_link_of_a_project_leads_a_line_elsewhere() {
    let place = Place::with(&[("~/.bashrc", "alias\n"), ("docs/CLAUDE.md", "inside\n"), ("big.md", "x")]);
    symlink(place.path("~/.bashrc"), place.path("CLAUDE.local.md")).unwrap();
    symlink("docs/CLAUDE.md", place.path("CLAUDE.md")).unwrap();
    let reader = place.reader("");
    let why = reader.add_line(&place.path("CLAUDE.local.md"), "evil").unwrap_err();
    assert!(why.ends_with("leads out of the project."), "{why}");
    assert_eq!(read(&place, "~/.bashrc"), "alias\n");
    reader.add_line(&place.path("CLAUDE.md"), "kept").unwrap();
    assert_eq!(read(&place, "docs/CLAUDE.md"), "inside\n- kept\n");
    assert!(place.path("CLAUDE.md").is_symlink());
    assert!(reader.add_line(&place.path("big.md"), "no").is_err(), "it is no memory file");
    assert!(reader.prepare_edit(&place.path("big.md")).is_err());
    put(&place.path("~/.claude/CLAUDE.md"), b"caf\xe9");
    assert!(reader.add_line(&place.path("~/.claude/CLAUDE.md"), "no").is_err());
    assert_eq!(std::fs::read(place.path("~/.claude/CLAUDE.md")).unwrap(), b"caf\xe9");
}

fn listed() -> Event {
    let one = |shown: &str, owner, chars, takes_lines| ListedMemory {
        path: format!("/src/shop/{shown}").into(),
        shown: shown.to_owned(),
        owner,
        chars,
        takes_lines,
    };
    Event::Memory(MemoryAnswer::Listed(vec![
        one("home.md", MemoryOwner::User, Some(5), true),
        one("docs/style.md", MemoryOwner::Project, Some(1_200), false),
        one("AGENTS.md", MemoryOwner::Project, Some(310), true),
        one("CLAUDE.local.md", MemoryOwner::Local, None, true),
    ]))
}

fn sends(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| matches!(effect, Effect::Command(Command::Send { .. })))
}

#[test]
fn a_line_is_shown_before_it_goes_anywhere() {
    let mut stage = Stage::new(100, 30).with_model();
    let effects = stage.keys("#use tabs<enter>");
    assert!(effects.contains(&Effect::Memory(MemoryRequest::List)) && !sends(&effects), "{effects:?}");
    assert!(!sends(&stage.keys("<enter>")), "nothing is known yet");
    stage.keys("<esc>");
    assert_eq!(stage.app.composer().expanded(), "#use tabs", "the text is still there");
    stage.keys("<enter>");
    stage.event(listed());
    let text = stage.text();
    for words in
        ["add to memory", "- use tabs", "AGENTS.md", "310 characters", "CLAUDE.local.md", "send it as a message"]
    {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(!text.contains("docs/style.md"), "{text}");
    let effects = stage.keys("<down><enter>");
    let add = MemoryRequest::Add { path: "/src/shop/CLAUDE.local.md".into(), line: "use tabs".to_owned() };
    assert!(effects.contains(&Effect::Memory(add)) && !sends(&effects), "{effects:?}");
    assert_eq!(stage.app.composer().expanded(), "");
    stage.event(Event::Memory(MemoryAnswer::Changed("CLAUDE.local.md".to_owned())));
    assert!(stage.text().contains("CLAUDE.local.md changed: in force with your next message"), "{}", stage.text());
}

#[test]
fn what_is_no_line_for_memory_is_sent() {
    let mut stage = Stage::new(100, 30).with_model();
    stage.keys("# A heading<enter>");
    stage.event(listed());
    let effects = stage.keys("<down><down><down><enter>");
    assert!(sends(&effects), "{effects:?}");
    for text in [" #12 is open<enter>", "##<enter>"] {
        assert!(sends(&stage.keys(text)), "{text}");
    }
    stage.event(Event::Input(belvedere::app::key::Input::Paste("# Title\n\nWords".to_owned())));
    assert!(sends(&stage.keys("<enter>")));
}

#[test]
fn the_list_opens_the_chosen_file() {
    let mut stage = Stage::new(100, 30).with_model();
    assert!(stage.keys("/memory<enter>").contains(&Effect::Memory(MemoryRequest::List)));
    stage.event(listed());
    assert!(stage.text().contains("the project's, checked in"), "{}", stage.text());
    let effects = stage.keys("<down><down><enter>");
    assert!(effects.contains(&Effect::Memory(MemoryRequest::Edit("/src/shop/AGENTS.md".into()))), "{effects:?}");
}

#[test]
fn init_asks_the_main_agent_for_the_file() {
    let mut stage = Stage::new(100, 30).with_model();
    let effects = stage.keys("/init<enter>");
    let asks = |effect: &Effect| matches!(effect, Effect::Command(Command::Send { text, .. }) if text.text.contains("AGENTS.md"));
    assert!(effects.iter().any(asks), "{effects:?}");
}
