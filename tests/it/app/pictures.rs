//! Pictures in the message that is being written: from the clipboard, and as the path of a file.

use belvedere::app::composer::pictures::{PictureNews, PictureSource};
use belvedere::app::key::Input;
use belvedere::app::{Effect, Event};
use belvedere::subagent::Command;

use crate::screens::stage::{Region, Stage};

fn news(stage: &mut Stage, place: u32, news: PictureNews) -> Vec<Effect> {
    stage.event(Event::Picture { place, news })
}

fn attached(stage: &mut Stage, place: u32, number: u32) -> Vec<Effect> {
    news(stage, place, PictureNews::Attached { number, words: "640×480 png".to_owned() })
}

/// Returns the messages to the main agent among effects.
fn sent(effects: &[Effect]) -> Vec<&str> {
    let text = |effect| match effect {
        &Effect::Command(Command::Send { ref text, .. }) => Some(text.text.as_str()),
        _ => None,
    };
    effects.iter().filter_map(text).collect()
}

fn clipboard(place: u32) -> Effect {
    Effect::AttachPicture { source: PictureSource::Clipboard, place }
}

fn paste(stage: &mut Stage, text: &str) -> Vec<Effect> {
    stage.event(Event::Input(Input::Paste(text.to_owned())))
}

#[test]
fn a_picture_from_the_clipboard_is_a_mark_that_goes_whole() {
    let mut stage = Stage::new(100, 20).with_model();
    assert!(stage.keys("look at <ctrl+v>").contains(&clipboard(1)));
    assert_eq!(stage.app.composer().text(), "look at [attaching…]");
    attached(&mut stage, 1, 1);
    assert!(stage.region(Region::Composer).contains("look at [Image #1]"), "{}", stage.text());
    assert_eq!(stage.app.flash().unwrap().text, "image #1: 640×480 png");
    assert_eq!(stage.app.composer().pasted(), None, "there is no text to show");
    stage.keys("<backspace><backspace>");
    assert_eq!(stage.app.composer().text(), "look at ");
    stage.keys("<ctrl+v>");
    attached(&mut stage, 1, 2);
    assert_eq!(sent(&stage.keys("please<enter>")), ["look at [Image #2] please"]);
    stage.keys("<up>");
    assert_eq!(stage.app.composer().text(), "look at [Image #2] please", "the history has it");
    stage.keys("<home><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><ctrl+f><delete>");
    assert_eq!(stage.app.composer().text(), "look at  please", "from before it, too");
}

#[test]
fn a_path_that_is_dropped_is_a_picture_if_one_lies_there() {
    let mut stage = Stage::new(100, 20).with_model();
    let file = |path: &str, pasted: &str| {
        let source = PictureSource::File { path: path.to_owned(), pasted: pasted.to_owned() };
        Effect::AttachPicture { source, place: 1 }
    };
    for (pasted, path) in [
        ("/tmp/a.PNG", "/tmp/a.PNG"),
        ("'/tmp/my picture.jpg'", "/tmp/my picture.jpg"),
        ("/tmp/my\\ picture.webp ", "/tmp/my picture.webp"),
        ("file:///tmp/my%20picture.gif", "/tmp/my picture.gif"),
        ("~/shot.jpeg", "~/shot.jpeg"),
    ] {
        assert_eq!(paste(&mut stage, pasted), [file(path, pasted)], "{pasted}");
        news(&mut stage, 1, PictureNews::Nothing { why: "no image there".to_owned() });
        assert!(stage.app.composer().is_empty());
    }
    assert!(paste(&mut stage, "").contains(&clipboard(1)));
    news(&mut stage, 1, PictureNews::Nothing { why: "holds no image".to_owned() });
    for text in ["logo.png", "see /tmp/a.png", "/tmp/a.txt"] {
        assert!(paste(&mut stage, text).is_empty(), "{text}");
        stage.keys("<ctrl+c>");
    }
    paste(&mut stage, "/tmp/a.png");
    news(&mut stage, 1, text("/tmp/a.png", Some("/tmp/a.png is no file")));
    assert_eq!(stage.app.composer().text(), "/tmp/a.png");
    assert_eq!(stage.app.flash().unwrap().text, "not attached: /tmp/a.png is no file");
}

fn text(pasted: &str, why: Option<&str>) -> PictureNews {
    PictureNews::Text { pasted: pasted.to_owned(), why: why.map(str::to_owned) }
}

#[test]
fn a_message_waits_for_its_pictures() {
    let mut stage = Stage::new(100, 20).with_model();
    assert_eq!(sent(&stage.keys("see <ctrl+v> and <ctrl+v>!<enter>")), [""; 0], "they are still being read");
    assert_eq!(stage.app.composer().text(), "see [attaching…] and [attaching… 2]!");
    let shown = stage.region(Region::Composer);
    assert!(shown.contains("→ once attached") && shown.contains("esc keeps it here"), "{shown}");
    assert_eq!(sent(&attached(&mut stage, 2, 1)), [""; 0]);
    assert_eq!(sent(&attached(&mut stage, 1, 2)), ["see [Image #2]  and [Image #1] !"]);
    assert!(stage.app.composer().is_empty());
    // A path that is no picture is a text, and sent as one.
    paste(&mut stage, "/tmp/a.png");
    assert_eq!(sent(&stage.keys(" is gone<enter>")), [""; 0]);
    assert_eq!(sent(&news(&mut stage, 1, text("/tmp/a.png", None))), ["/tmp/a.png is gone"]);
}

#[test]
fn a_message_whose_picture_fails_or_that_is_taken_back_or_changed_stays_where_it_is() {
    let mut stage = Stage::new(100, 20).with_model();
    stage.keys("see <ctrl+v><enter>");
    let nothing = PictureNews::Nothing { why: "the clipboard holds no image".to_owned() };
    assert_eq!(sent(&news(&mut stage, 1, nothing)), [""; 0]);
    assert_eq!(stage.app.composer().text(), "see ");
    assert_eq!(stage.app.flash().unwrap().text, "the clipboard holds no image");
    paste(&mut stage, "/tmp/a.png");
    stage.keys("<enter>");
    let why = Some("/tmp/a.png cannot be attached: this session is not saved");
    assert_eq!(sent(&news(&mut stage, 1, text("/tmp/a.png", why))), [""; 0]);
    assert_eq!(stage.app.composer().text(), "see /tmp/a.png", "no text is lost");
    stage.keys("<ctrl+c>see <ctrl+v><enter><esc>");
    assert!(stage.text().contains("not sent; the text is still here"), "{}", stage.text());
    assert_eq!(sent(&attached(&mut stage, 1, 3)), [""; 0]);
    assert_eq!(stage.app.composer().text(), "see [Image #3] ");
    stage.keys("<ctrl+v><enter>x");
    assert_eq!(sent(&attached(&mut stage, 1, 4)), [""; 0], "it was changed since");
    assert_eq!(stage.app.composer().text(), "see [Image #3] [Image #4] x");
    stage.keys("<ctrl+c><ctrl+v><backspace>");
    attached(&mut stage, 1, 5);
    assert!(stage.app.composer().is_empty(), "what was taken out stays out");
}

#[test]
fn a_picture_goes_where_it_was_pasted_whoever_is_written_to_meanwhile() {
    let mut stage = Stage::new(100, 24).with_model();
    stage.asks("go");
    stage.spawns(1, "code", "Write it");
    stage.starts(1);
    stage.keys("see <ctrl+v>");
    stage.keys("<f6>1m");
    assert!(stage.app.target().is_some(), "{}", stage.text());
    stage.keys("hello");
    attached(&mut stage, 1, 1);
    assert_eq!(stage.app.composer().text(), "hello");
    stage.keys("<ctrl+c><esc>");
    assert_eq!(stage.app.composer().text(), "see [Image #1] ", "{}", stage.text());
}
