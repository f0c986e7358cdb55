//! The text being written, with the keys of vi.

use belvedere::app::composer::{Composer, History, ViMode};
use belvedere::app::key::Key;
use belvedere::app::{Editing, Effect};
use belvedere::message::MessageId;
use belvedere::subagent::Command;
use proptest::prelude::*;

use crate::screens::stage::Stage;

fn press(composer: &mut Composer, keys: &str) {
    for key in Key::parse_sequence(keys).unwrap() {
        composer.handle_key(&key);
    }
}

/// Types a text, leaves typing, presses keys, and returns the text with `|` where the cursor stands.
fn vi(text: &str, keys: &str) -> String {
    let mut composer = Composer::new(History::default());
    composer.use_vi();
    composer.set_text(text);
    press(&mut composer, "<esc>gg0");
    press(&mut composer, keys);
    if composer.vi_mode() == Some(ViMode::Normal) {
        press(&mut composer, "i");
    }
    press(&mut composer, "|");
    composer.text()
}

#[test]
fn motions_move() {
    for (keys, expected) in [
        ("", "|one two.three\nlast"),
        ("l", "o|ne two.three\nlast"),
        ("w", "one |two.three\nlast"),
        ("ww", "one two|.three\nlast"),
        ("W", "one |two.three\nlast"),
        ("3w", "one two.|three\nlast"),
        ("e", "on|e two.three\nlast"),
        ("wwb", "one |two.three\nlast"),
        ("$", "one two.thre|e\nlast"),
        ("$0", "|one two.three\nlast"),
        ("ft", "one |two.three\nlast"),
        ("2ft", "one two.|three\nlast"),
        ("tt", "one| two.three\nlast"),
        ("$Ft", "one two.|three\nlast"),
        ("G", "one two.three\nlas|t"),
        ("j", "one two.three\n|last"),
        ("Ggg", "|one two.three\nlast"),
        ("100l", "one two.thre|e\nlast"),
    ] {
        assert_eq!(vi("one two.three\nlast", keys), expected, "{keys}");
    }
}

#[test]
fn operators_change() {
    for (keys, expected) in [
        ("x", "|ne two three\nlast"),
        ("3x", "| two three\nlast"),
        ("dw", "|two three\nlast"),
        ("d2w", "|three\nlast"),
        ("de", "| two three\nlast"),
        ("wdiw", "one | three\nlast"),
        ("wdaw", "one |three\nlast"),
        ("wD", "one| \nlast"),
        ("wC!", "one !|\nlast"),
        ("cwfour", "four| two three\nlast"),
        ("dd", "|last"),
        ("jdd", "one two thre|e"),
        ("dj", "|"),
        ("ccnew", "new|\nlast"),
        ("dft", "|wo three\nlast"),
        ("wd0", "|two three\nlast"),
        ("rX", "|Xne two three\nlast"),
        ("~", "O|ne two three\nlast"),
        ("J", "one two three| last"),
        ("onew", "one two three\nnew|\nlast"),
        ("Onew", "new|\none two three\nlast"),
        ("A!", "one two three!|\nlast"),
        ("wi-", "one -|two three\nlast"),
        ("a-", "o-|ne two three\nlast"),
        ("yyp", "one two three\n|one two three\nlast"),
        ("yyjP", "one two three\n|one two three\nlast"),
        ("dwP", "one| two three\nlast"),
        ("xp", "n|oe two three\nlast"),
        ("dwu", "one |two three\nlast"),
        ("d<esc>x", "|ne two three\nlast"),
    ] {
        assert_eq!(vi("one two three\nlast", keys), expected, "{keys}");
    }
}

#[test]
fn keys_mean_what_the_mode_says() {
    let mut stage = Stage::with_setup(80, 24, |setup| setup.editing = Editing::Vi).with_model();
    stage.keys("jump<esc>");
    assert_eq!(stage.app.composer().text(), "jump");
    assert!(stage.text().contains("NORMAL"));
    let effects = stage.keys("0x<enter>");
    assert!(effects.contains(&Effect::Command(Command::Send { id: MessageId(1), text: "ump".into() })), "{effects:?}");
    stage.keys("typed again");
    assert_eq!(stage.app.composer().text(), "typed again", "a new message is begun by typing");
    assert!(!stage.text().contains("NORMAL"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_keys_break_the_text(text in "[a-c .漢\\n👍🏽]{0,30}", keys in "[0-9a-zA-Z~^$ ]{0,30}") {
        let mut composer = Composer::new(History::default());
        composer.use_vi();
        composer.set_text(&text);
        press(&mut composer, "<esc>");
        press(&mut composer, &keys);
        press(&mut composer, "<esc><esc>");
        prop_assert_eq!(composer.vi_mode(), Some(ViMode::Normal));
    }
}
