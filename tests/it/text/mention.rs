//! Names with an `@` in what the user says.

use belvedere::message::{Mention, UserText, mentions};

fn names<'a>(found: impl Iterator<Item = Mention<'a>>) -> Vec<&'a str> {
    found.map(|mention| mention.name).collect()
}

#[test]
fn names_stand_alone_and_end_with_their_word() {
    let text = "see @a.png, (@\"my b.png\") me@c.png @ @, @notes:note://x?y=1. '@d' @\"open";
    assert_eq!(names(mentions(text)), ["a.png", "my b.png", "notes:note://x?y=1", "d", "\"open"]);
    for mention in mentions(text) {
        assert!(text[..mention.end].trim_end_matches('"').ends_with(mention.name), "{mention:?}");
    }
    assert_eq!(mentions(&format!("@{}", "@x".repeat(100_000))).count(), 0);
}

#[test]
fn only_what_the_user_has_named_is_named() {
    let said = UserText::naming("@a and @b".to_owned(), ["a".to_owned()].into(), false);
    assert_eq!((names(said.mentions()), names(said.others())), (vec!["a"], vec!["b"]));
    assert_eq!(said.calling(), None);
    assert_eq!(UserText::from("@a").mentions().count(), 0);
    let typed = UserText::typed("/x @a");
    assert_eq!((typed.mentions().count(), typed.calling()), (1, Some("/x @a")));
}
