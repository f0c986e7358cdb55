//! Keys: one spelling each, one meaning each.

use belvedere::app::action::Action;
use belvedere::app::key::{Input, Key, KeyCode, Mods};
use belvedere::app::keymap::{Context, Keymap, Lookup, spell};
use belvedere::tui::input::translate;
use crossterm::event::{Event, KeyCode as Code, KeyEvent, KeyModifiers};

fn keys(text: &str) -> Vec<Key> {
    Key::parse_sequence(text).unwrap()
}

#[test]
fn chords_are_read_and_written() {
    for text in ["ctrl+x", "alt+1", "shift+enter", "f6", "space", "esc", "pageup", "alt++", "+", "G", "?", "ctrl+alt+k"]
    {
        assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
    }
    assert_eq!("<enter>".parse::<Key>().unwrap(), Key::plain(KeyCode::Enter));
    assert_eq!("shift+g".parse::<Key>().unwrap(), "G".parse().unwrap());
    assert_eq!("Ctrl+X".parse::<Key>().unwrap(), Key::new(KeyCode::Char('x'), Mods::CTRL));
    for wrong in ["", "hyper+x", "enterr", "f99", "ctrl+"] {
        assert!(wrong.parse::<Key>().is_err(), "{wrong:?}");
    }
    assert_eq!(keys("a<lt><ctrl+x>").len(), 3);
}

#[test]
fn the_terminals_keys_become_ours() {
    let key = |code, mods| translate(Event::Key(KeyEvent::new(code, mods)));
    let ours = |text: &str| Some(Input::Key(text.parse().unwrap()));
    assert_eq!(key(Code::Char('A'), KeyModifiers::SHIFT), ours("A"));
    assert_eq!(key(Code::BackTab, KeyModifiers::SHIFT), ours("shift+tab"));
    assert_eq!(key(Code::Char('J'), KeyModifiers::CONTROL), ours("ctrl+j"));
    assert_eq!(key(Code::Enter, KeyModifiers::ALT), ours("alt+enter"));
    assert_eq!(translate(Event::Paste("a\r\nb\rc".into())), Some(Input::Paste("a\nb\nc".into())));
}

#[test]
fn the_builtin_keys_have_no_conflict_and_no_unknown_name() {
    let mut keymap = Keymap::builtin();
    let problems = keymap.apply(include_str!("../../../assets/keymap.toml")).unwrap();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(keymap, Keymap::builtin());
    for action in Action::all() {
        assert_eq!(Action::from_name(action.name()), Some(action));
        assert!(!action.description().is_empty(), "{action:?}");
        assert!(keymap.rows().iter().any(|row| row.action == action), "{} has no key", action.name());
    }
}

#[test]
fn the_keys_of_the_screen_mean_what_they_should() {
    let keymap = Keymap::builtin();
    for (context, chord, action) in [
        (Context::Agents, "x", Action::Stop),
        (Context::Agents, "<space>", Action::Fold),
        (Context::Agents, "3", Action::FocusAgent(3)),
        (Context::Composer, "<alt+3>", Action::FocusAgent(3)),
        (Context::Composer, "<alt+y>", Action::ApproveOnce),
        (Context::Composer, "<ctrl+x><ctrl+x>", Action::StopAll),
        (Context::Composer, "<down>", Action::IntoAgents),
        (Context::Composer, "<f6>", Action::FocusNext),
        (Context::Composer, "<ctrl+j>", Action::Newline),
        (Context::Approvals, "y", Action::ApproveOnce),
        (Context::AgentFull, "N", Action::SearchPrevious),
        (Context::Popup, "<ctrl+c>", Action::ClearOrQuit),
    ] {
        assert_eq!(keymap.lookup(context, &keys(chord)), Lookup::Action(action), "{chord} in {context:?}");
    }
    assert_eq!(keymap.lookup(Context::Agents, &keys("<ctrl+x>")), Lookup::Pending(Action::StopAll));
    assert_eq!(keymap.lookup(Context::Composer, &keys("x")), Lookup::None);
    assert_eq!(keymap.lookup(Context::Agents, &[]), Lookup::None);
}

#[test]
fn a_users_file_rebinds_and_is_told_what_is_wrong() {
    let mut keymap = Keymap::builtin();
    let file =
        "[agents]\nstop = \"d\"\nfold = [\"x\", \"ctrl+s x\"]\nfly = [\"f\"]\nfull = 3\n[moon]\n[global]\nhelp = []\n";
    let problems = keymap.apply(file).unwrap();
    assert_eq!(keymap.lookup(Context::Agents, &keys("d")), Lookup::Action(Action::Stop));
    assert_eq!(keymap.lookup(Context::Agents, &keys("x")), Lookup::Action(Action::Fold));
    assert_eq!(keymap.lookup(Context::Agents, &keys("<ctrl+s>")), Lookup::Pending(Action::Fold));
    assert_eq!(keymap.lookup(Context::Composer, &keys("<f1>")), Lookup::None);
    assert_eq!(problems.len(), 3, "{problems:?}");
    let clash = keymap.apply("[agents]\ngrow = [\"d\"]\n").unwrap();
    assert_eq!(clash, ["keymap: [agents] d is bound to both stop and grow; using grow, and stop has no key there"]);
    assert!(Keymap::builtin().apply("[agents").is_err());
}

#[test]
fn help_and_hints_come_from_the_table() {
    let keymap = Keymap::builtin();
    assert!(keymap.hints(Context::Agents).contains(&("x".to_owned(), Action::Stop, "stop")));
    assert!(keymap.markdown_table().contains("| composer | `shift+enter` `alt+enter` `ctrl+j` | insert a new line |"));
    assert_eq!(keymap.chord_of(Context::Composer, Action::StopAll).as_deref(), Some("ctrl+x ctrl+x"));
    assert_eq!(spell(&Key::parse_chords("ctrl+x ctrl+x").unwrap()), "ctrl+x ctrl+x");
}

#[test]
fn a_key_that_would_hide_another_or_a_letter_is_told() {
    let errors = |text: &str| Keymap::builtin().apply(text).unwrap();
    let hidden = errors("[agents]\ngrow = [\"ctrl+x\"]");
    let words = "keymap: [agents] ctrl+x is bound to grow, so ctrl+x ctrl+x (stop-all) does not work there";
    assert_eq!(hidden, [words]);
    let letter = errors("[global]\nhelp = [\"h\"]");
    assert!(letter.len() == 1 && letter[0].contains("'h' is needed for typing"), "{letter:?}");
    assert_eq!(errors("[agents]\nstop = [\"X\", \"X\"]"), Vec::<String>::new());
    assert_eq!(errors("[agents]\nhelp = [\"f1\"]"), Vec::<String>::new(), "contexts may have meanings of their own");
}
