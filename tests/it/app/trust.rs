//! The question whether the user trusts what a folder brings.

use belvedere::agent::SessionEvent;
use belvedere::app::Effect;
use belvedere::permission::{BroughtItem, BroughtKind, FolderTrust};
use belvedere::subagent::Command;

use crate::screens::stage::Stage;

fn brings(count: usize, is_trusted: bool) -> SessionEvent {
    let trust = FolderTrust { folder: "/src/shop".to_owned(), brings: items(count), is_trusted, fresh: Vec::new() };
    SessionEvent::FolderTrust { trust }
}

fn items(count: usize) -> Vec<BroughtItem> {
    let rule = |number| BroughtItem::new(BroughtKind::Rule, format!("Bash(make t{number}\u{202e}:*)"));
    let agent = BroughtItem::of_file(BroughtKind::Agent, ".claude/agents/rev`iewer`.md", b"text");
    std::iter::once(agent).chain((1..count).map(rule)).collect()
}

/// Says yes to as many things; no with none.
fn trusts(count: usize) -> Effect {
    let trusted = if count == 0 { Vec::new() } else { items(count) };
    Effect::Command(Command::TrustFolder { trusted })
}

#[test]
fn a_folder_is_trusted_only_by_a_key_that_was_meant() {
    let mut stage = Stage::new(80, 24);
    stage.session(brings(3, false));
    insta::assert_snapshot!("trust-80x24", stage.text());
    assert_eq!([stage.burst("y"), stage.wait(400)].concat(), [], "typed ahead");
    assert!(stage.text().contains("too early"), "{}", stage.text());
    stage.wait(600);
    assert_eq!(stage.keys("y"), [trusts(3)]);
    stage.session(brings(3, true));
    assert!(stage.text().contains("Trusted, in use from now on: "), "{}", stage.text());
}

#[test]
fn what_is_hidden_is_not_trusted() {
    let mut stage = Stage::new(60, 15);
    stage.session(brings(40, false));
    stage.frame();
    stage.wait(600);
    for _ in 0..3 {
        assert_eq!(stage.keys("y"), [], "there is more");
        stage.frame();
        stage.wait(600);
    }
    for _ in 0..20 {
        stage.frame();
        stage.wait(600);
        if stage.keys("y") == [trusts(40)] {
            return;
        }
    }
    panic!("the end is never reached: {}", stage.text());
}

#[test]
fn no_is_kept_and_can_be_changed() {
    let mut stage = Stage::new(80, 24);
    stage.session(brings(2, false));
    stage.wait(600);
    assert_eq!(stage.keys("n"), []);
    assert!(!stage.text().contains("trust this folder?"));
    stage.session(brings(2, false));
    assert!(!stage.text().contains("trust this folder?"), "it is asked once");
    stage.keys("/trust<enter>");
    stage.wait(600);
    assert_eq!(stage.keys("y"), [trusts(2)]);
    stage.session(brings(2, true));
    assert!(stage.keys("/trust no<enter>").contains(&trusts(0)));
}

#[test]
fn a_list_that_changes_under_the_key_is_read_anew() {
    let mut stage = Stage::new(80, 24);
    stage.session(brings(2, false));
    stage.wait(600);
    stage.session(brings(3, false));
    assert_eq!(stage.burst("y"), [], "it has only just come");
    stage.wait(600);
    assert_eq!(stage.keys("y"), [trusts(3)]);
    let fresh = vec![BroughtItem::of_file(BroughtKind::Agent, ".claude/agents/new.md", b"other")];
    let all = [items(3), fresh.clone()].concat();
    let trust = FolderTrust { folder: "/src/shop".to_owned(), brings: all.clone(), is_trusted: true, fresh };
    stage.session(SessionEvent::FolderTrust { trust });
    stage.keys("/trust<enter>");
    insta::assert_snapshot!("trust-fresh-80x24", stage.text());
    stage.wait(600);
    assert_eq!(stage.keys("n"), [], "what was trusted stays so");
    stage.keys("/trust<enter>");
    stage.wait(600);
    assert_eq!(stage.keys("y"), [Effect::Command(Command::TrustFolder { trusted: all })]);
}
