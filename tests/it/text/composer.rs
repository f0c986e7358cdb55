//! The text being written, driven by keys.

use belvedere::app::composer::{Candidate, Composer, History, PROMPT_WIDTH};
use belvedere::app::files::FileIndex;
use belvedere::app::key::Key;
use belvedere::tui::files::{append_history, list_files, load_history};
use proptest::prelude::*;

fn press(composer: &mut Composer, keys: &str) {
    for key in Key::parse_sequence(keys).unwrap() {
        composer.handle_key(&key);
    }
}

fn after(keys: &str) -> String {
    let mut composer = Composer::new(History::default());
    press(&mut composer, keys);
    composer.text()
}

#[test]
fn the_keys_of_emacs_edit() {
    assert_eq!(after("hello<ctrl+a>X<ctrl+e>Y"), "XhelloY");
    assert_eq!(after("hello<ctrl+b><ctrl+b><ctrl+k>"), "hel");
    assert_eq!(after("hello<left><left><ctrl+u>"), "lo");
    assert_eq!(after("one two<ctrl+w>"), "one ");
    assert_eq!(after("one two<ctrl+w><ctrl+a><ctrl+y>"), "twoone ");
    assert_eq!(after("one two<alt+b>X"), "one Xtwo");
    assert_eq!(after("one two<home><alt+f>X"), "oneX two");
    assert_eq!(after("one two<home><alt+d>"), " two");
    assert_eq!(after("abc<ctrl+h><backspace>"), "a");
    assert_eq!(after("abc<home><ctrl+d><delete>"), "c");
    assert_eq!(after("one<ctrl+w><ctrl+_>"), "one");
    let unused: Key = "ctrl+q".parse().unwrap();
    assert!(!Composer::default().handle_key(&unused));
}

#[test]
fn a_grapheme_is_one_step() {
    for grapheme in ["👩‍👩‍👧‍👦", "e\u{301}", "👍🏽", "日"] {
        let mut composer = Composer::default();
        composer.insert(&format!("a{grapheme}b"));
        press(&mut composer, "<left><backspace>");
        assert_eq!(composer.text(), "ab");
        composer.set_text(&format!("a{grapheme}b"));
        press(&mut composer, "<left><left>X<right><delete>");
        assert_eq!(composer.text(), format!("aX{grapheme}"));
    }
}

#[test]
fn a_large_paste_is_a_chip_until_it_is_sent() {
    let mut composer = Composer::default();
    let paste = "line\n".repeat(1234);
    press(&mut composer, "see ");
    composer.paste(&paste);
    press(&mut composer, " and ");
    composer.paste(&paste);
    assert_eq!(composer.text(), "see [pasted 1,234 lines] and [pasted 1,234 lines #2]");
    press(&mut composer, "<left>");
    press(&mut composer, "!");
    assert_eq!(composer.text(), "see [pasted 1,234 lines] and ![pasted 1,234 lines #2]", "a chip is one step");
    press(&mut composer, "<end><backspace>");
    assert_eq!(composer.text(), "see [pasted 1,234 lines] and !", "and goes as one");
    let sent = composer.take();
    assert_eq!(sent, format!("see {} and !", paste.trim_end()));
    assert!(composer.is_empty());
}

#[test]
fn what_limits_a_chip() {
    let chip = |text: &str| {
        let mut composer = Composer::default();
        composer.paste(text);
        composer.text() != text
    };
    assert!(!chip(&"x".repeat(1000)));
    assert!(chip(&"x".repeat(1001)));
    assert!(!chip(&["l"; 10].join("\n")));
    assert!(chip(&["l"; 11].join("\n")));
}

#[test]
fn a_megabyte_is_pasted_as_a_chip_and_sent_whole() {
    let mut composer = Composer::default();
    let paste = "0123456789abcdef".repeat(65536);
    composer.paste(&paste);
    press(&mut composer, "x");
    assert_eq!(composer.text(), "[pasted 1,048,576 characters]x");
    assert_eq!(composer.take().len(), paste.len() + 1);
}

#[test]
fn a_chip_is_never_entered() {
    let mut composer = Composer::default();
    composer.paste(&"l\n".repeat(20));
    composer.newline();
    press(&mut composer, "abcdef<up>X");
    assert_eq!(composer.text(), "X[pasted 20 lines]\nabcdef");
}

#[test]
fn hostile_pastes_are_cleaned() {
    let mut composer = Composer::default();
    composer.paste("a\x1b[31mb\u{202e}\0c\r\nd");
    assert_eq!(composer.text(), "ab⍰c\nd");
}

#[test]
fn the_history_keeps_the_draft() {
    let mut history = History::default();
    for text in ["first", "second", "first", ""] {
        history.push(text);
    }
    assert_eq!(history.entries(), ["second", "first"]);
    let mut composer = Composer::new(history);
    press(&mut composer, "draft<up>");
    assert_eq!(composer.text(), "first");
    press(&mut composer, "<up><up>");
    assert_eq!(composer.text(), "second");
    press(&mut composer, "<down><down>");
    assert_eq!(composer.text(), "draft");
    let down: Key = "down".parse().unwrap();
    assert!(!composer.handle_key(&down), "there is nothing further down");
    press(&mut composer, "<up>!");
    assert_eq!(composer.take(), "first!");
    assert_eq!(composer.history().entries().last().unwrap(), "first!");
}

#[test]
fn up_moves_within_the_text_first() {
    let mut history = History::default();
    history.push("old");
    let mut composer = Composer::new(history);
    composer.insert("one\ntwo");
    assert!(composer.at_last_row() && !composer.at_first_row());
    press(&mut composer, "<up>X");
    assert_eq!(composer.text(), "oneX\ntwo");
    press(&mut composer, "<up>");
    assert_eq!(composer.text(), "old");
    // Rows of the soft wrap count, not lines.
    composer.set_text("aaaa bbbb cccc");
    composer.set_width(PROMPT_WIDTH + 5);
    assert_eq!(composer.height(PROMPT_WIDTH + 5), 3);
    press(&mut composer, "<up>X");
    assert_eq!(composer.text(), "aaaa bbbbX cccc");
}

#[test]
fn the_history_file_survives_what_others_wrote_into_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/history.jsonl");
    assert!(load_history(&path).unwrap().entries().is_empty());
    append_history(&path, "one\ntwo", str::to_owned).unwrap();
    append_history(&path, "  ", str::to_owned).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.extend_from_slice(b"not json\n\xff\xfe\n");
    std::fs::write(&path, bytes).unwrap();
    append_history(&path, "three", |_| "masked".to_owned()).unwrap();
    assert_eq!(load_history(&path).unwrap().entries(), ["one\ntwo", "masked"]);
    let many: String = (0..1500).map(|number| History::line(&format!("m{number}"))).collect();
    let history = History::parse(&many);
    assert_eq!((history.entries().len(), history.entries()[0].as_str()), (1000, "m500"));
}

#[test]
fn the_history_is_searched() {
    let mut history = History::default();
    for text in ["fix the login", "add tests", "Fix the logout"] {
        history.push(text);
    }
    let mut composer = Composer::new(history);
    let found = |composer: &Composer| {
        composer
            .search()
            .and_then(|search| search.matches(composer.history()).nth(search.chosen()).map(str::to_owned))
            .unwrap_or_default()
    };
    composer.start_search();
    assert_eq!(found(&composer), "Fix the logout", "the newest one at once");
    press(&mut composer, "fix");
    assert_eq!(found(&composer), "Fix the logout");
    press(&mut composer, "<ctrl+r>");
    assert_eq!(found(&composer), "fix the login");
    press(&mut composer, "<ctrl+r>");
    assert_eq!(found(&composer), "fix the login", "the oldest match stays");
    press(&mut composer, "<enter>");
    assert_eq!(composer.text(), "fix the login");
    composer.start_search();
    press(&mut composer, "zzz<esc>");
    assert!(!composer.is_choosing());
    assert_eq!(composer.text(), "fix the login");
}

fn commands() -> Vec<Candidate> {
    ["/help", "/agents", "/layout"].map(|label| Candidate { label: label.to_owned(), detail: String::new() }).to_vec()
}

fn complete(composer: &mut Composer, files: &mut FileIndex, keys: &str) -> Vec<String> {
    press(composer, keys);
    composer.refresh_completion(files, &commands());
    composer.completion().map(|list| list.items.iter().map(|item| item.label.clone()).collect()).unwrap_or_default()
}

#[test]
fn files_and_commands_are_completed() {
    let mut files = FileIndex::default();
    files.set(["src/main.rs", "src/lib.rs", "tests/main.rs", "README.md"].map(str::to_owned).to_vec());
    let mut composer = Composer::default();
    assert_eq!(complete(&mut composer, &mut files, "see @li"), ["src/lib.rs"]);
    assert!(composer.is_choosing());
    assert_eq!(complete(&mut composer, &mut files, "<tab>"), Vec::<String>::new());
    assert_eq!(composer.text(), "see @src/lib.rs ");
    assert_eq!(complete(&mut composer, &mut files, "@main"), ["src/main.rs", "tests/main.rs"]);
    assert_eq!(complete(&mut composer, &mut files, "<down>").len(), 2);
    press(&mut composer, "<enter>");
    assert_eq!(composer.text(), "see @src/lib.rs @tests/main.rs ");
    composer.clear();
    assert_eq!(complete(&mut composer, &mut files, "/la"), ["/layout"]);
    assert_eq!(complete(&mut composer, &mut files, "<esc>"), Vec::<String>::new());
    assert_eq!(complete(&mut composer, &mut files, "y"), ["/layout"], "more text opens it again");
    composer.clear();
    assert_eq!(complete(&mut composer, &mut files, "say /he"), Vec::<String>::new());
    assert_eq!(complete(&mut composer, &mut files, " me@li"), Vec::<String>::new());
}

#[test]
fn a_narrowed_search_finds_what_a_fresh_one_does() {
    let paths: Vec<String> = (0..500).map(|number| format!("src/part{}/file_{number}.rs", number % 7)).collect();
    let mut narrowed = FileIndex::default();
    narrowed.set(paths.clone());
    for query in ["f", "fi", "fi4", "fi42", "fi4", "part3", "part3x", "", "4$"] {
        let mut fresh = FileIndex::default();
        fresh.set(paths.clone());
        assert_eq!(narrowed.search(query, 8), fresh.search(query, 8), "{query:?}");
    }
}

#[test]
fn the_projects_files_are_listed_without_ignored_ones() {
    let folder = tempfile::tempdir().unwrap();
    for path in [".git/config", ".gitignore", "src/main.rs", "target/out", ".github/ci.yml"] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "target\n").unwrap();
    }
    assert_eq!(list_files(folder.path()), [".github/ci.yml", ".gitignore", "src/main.rs"]);
}

proptest! {
    #[test]
    fn any_keys_leave_a_composer_that_can_be_drawn(keys in prop::collection::vec(prop::sample::select(vec![
        "a", "日", "👩‍👩‍👧‍👦", " ", "\n", "<left>", "<right>", "<up>", "<down>", "<backspace>", "<delete>", "<ctrl+w>", "<ctrl+k>",
        "<ctrl+u>", "<ctrl+y>", "<alt+b>", "<alt+f>", "<alt+d>", "<home>", "<end>", "<ctrl+_>", "PASTE",
    ]), 0..60), width in 1_u16..20, height in 1_u16..5) {
        let mut composer = Composer::default();
        composer.set_width(width);
        for key in keys {
            match key {
                "\n" => composer.newline(),
                "PASTE" => composer.paste(&"p\n".repeat(12)),
                key if key.starts_with('<') => press(&mut composer, key),
                text => composer.insert(text),
            }
            let view = composer.view(width, height);
            let room = usize::from(width.saturating_sub(PROMPT_WIDTH).max(2));
            prop_assert!(view.rows.len() <= usize::from(height));
            prop_assert!(usize::from(view.cursor.1) < view.rows.len());
            prop_assert!(usize::from(view.cursor.0) <= room, "{view:?}");
            prop_assert!(composer.height(width) >= 1);
        }
    }
}
