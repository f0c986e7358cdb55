//! Pictures in the message that is being written: from the clipboard, and as the path of a file.

use belvedere::app::composer::pictures::{PictureNews, PictureSource};
use belvedere::app::key::Input;
use belvedere::app::{Effect, Event};
use belvedere::subagent::Command;

use crate::screens::stage::{Region, Stage};

fn attached(stage: &mut Stage, number: u32) {
    stage.event(Event::Picture(PictureNews::Attached { number, words: "640×480 png".to_owned() }));
}

fn paste(stage: &mut Stage, text: &str) -> Vec<Effect> {
    stage.event(Event::Input(Input::Paste(text.to_owned())))
}

#[test]
fn a_picture_from_the_clipboard_is_a_mark_that_goes_whole() {
    let mut stage = Stage::new(100, 20).with_model();
    assert!(stage.keys("look at <ctrl+v>").contains(&Effect::AttachPicture(PictureSource::Clipboard)));
    attached(&mut stage, 1);
    assert!(stage.region(Region::Composer).contains("look at [Image #1]"), "{}", stage.text());
    assert_eq!(stage.app.flash().unwrap().text, "image #1: 640×480 png");
    assert_eq!(stage.app.composer().pasted(), None, "there is no text to show");
    stage.keys("<backspace><backspace>");
    assert_eq!(stage.app.composer().text(), "look at ");
    attached(&mut stage, 2);
    let sent = stage.keys("please<enter>");
    let is_sent = |effect: &Effect| matches!(effect, Effect::Command(Command::Send { text, .. }) if text == "look at [Image #2] please");
    assert!(sent.iter().any(is_sent), "{sent:?}");
    stage.keys("<up>");
    assert_eq!(stage.app.composer().text(), "look at [Image #2] please", "the history has it");
    stage.keys("<home><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><delete>");
    assert_eq!(stage.app.composer().text(), "look at  please", "from before it, too");
}

#[test]
fn a_path_that_is_dropped_is_a_picture_if_one_lies_there() {
    let mut stage = Stage::new(100, 20).with_model();
    let file = |path: &str, pasted: &str| {
        Effect::AttachPicture(PictureSource::File { path: path.to_owned(), pasted: pasted.to_owned() })
    };
    for (pasted, path) in [
        ("/tmp/a.PNG", "/tmp/a.PNG"),
        ("'/tmp/my picture.jpg'", "/tmp/my picture.jpg"),
        ("/tmp/my\\ picture.webp ", "/tmp/my picture.webp"),
        ("file:///tmp/my%20picture.gif", "/tmp/my picture.gif"),
        ("~/shot.jpeg", "~/shot.jpeg"),
    ] {
        assert_eq!(paste(&mut stage, pasted), [file(path, pasted)], "{pasted}");
        assert!(stage.app.composer().is_empty());
    }
    assert!(paste(&mut stage, "").contains(&Effect::AttachPicture(PictureSource::Clipboard)));
    for text in ["logo.png", "see /tmp/a.png", "/tmp/a.txt"] {
        assert!(paste(&mut stage, text).is_empty(), "{text}");
        stage.keys("<ctrl+c>");
    }
    let news = |why: Option<&str>| PictureNews::Text { pasted: "/tmp/a.png".to_owned(), why: why.map(str::to_owned) };
    stage.event(Event::Picture(news(Some("/tmp/a.png is no file"))));
    assert_eq!(stage.app.composer().text(), "/tmp/a.png");
    assert_eq!(stage.app.flash().unwrap().text, "not attached: /tmp/a.png is no file");
}
