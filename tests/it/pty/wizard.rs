//! Agents made on the screen, by keys alone, at the usual size.

use super::Home;
use super::terminal::Terminal;

const BACK_TAB: &str = "\x1b[Z";

fn start(home: &Home) -> (Terminal, tempfile::TempDir) {
    let project = tempfile::tempdir().unwrap();
    std::fs::write(project.path().join("lib.rs"), "//! A shop.\n").unwrap();
    let terminal = home.start_in(project.path(), (80, 24), &["--model", "offline"]);
    terminal.shows("offline");
    terminal.send("/agents new\r");
    terminal.shows("1 of 9");
    (terminal, project)
}

/// Opens the wizard again and types a name: what it says tells whether the next offer has that agent.
fn is_in_force(terminal: &Terminal, name: &str) {
    terminal.send("/agents new\r");
    terminal.shows("1 of 9");
    terminal.send("\r");
    terminal.shows("2 of 9");
    terminal.send("\r");
    terminal.shows("3 of 9");
    terminal.send(name);
    terminal.shows("already exists");
}

#[test]
fn an_agent_is_made_by_hand_and_can_be_used() {
    let home = Home::new();
    let (terminal, project) = start(&home);
    for (keys, next) in [
        ("\r", "2 of 9"),
        ("\r", "3 of 9"),
        ("shop-keeper\r", "4 of 9"),
        ("Use it in the shop: always.\r", "5 of 9"),
        ("You keep the shop.\r", "9 of 9"),
        ("6", "6 of 9"),
        (BACK_TAB, "5 of 9"),
        ("\r", "9 of 9"),
        ("6", "6 of 9"),
        ("\x1b[B\r", "9 of 9"),
    ] {
        terminal.send(keys);
        terminal.shows(next);
    }
    terminal.shows("Use it in the shop: always.");
    terminal.send("\r");
    terminal.shows("@agent-shop-keeper is ready");
    let text = std::fs::read_to_string(project.path().join(".claude/agents/shop-keeper.md")).unwrap();
    let expected = "---\nname: \"shop-keeper\"\ndescription: \"Use it in the shop: always.\"\n\
                    tools: [\"Read\", \"Grep\", \"Glob\", \"LS\", \"Symbols\"]\n---\n\nYou keep the shop.\n";
    assert_eq!(text, expected);
    is_in_force(&terminal, "shop-keeper");
}

#[test]
fn a_draft_that_no_model_can_write_is_gone_on_with_by_hand() {
    let home = Home::new();
    let (terminal, _project) = start(&home);
    terminal.send("\x1b[B\r");
    terminal.shows("What should the agent do?");
    terminal.send("reviews the price lists\r");
    terminal.shows("2 of 9");
    terminal.shows("No draft: ");
    terminal.send("\r");
    terminal.shows("3 of 9");
}
