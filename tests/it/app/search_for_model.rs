//! What the screen says while a model is looked for, and when none can answer.

use belvedere::agent::SessionEvent;

use crate::screens::stage::Stage;

#[test]
fn the_status_line_says_where_a_model_is_looked_for_and_that_there_is_none() {
    let mut stage = Stage::new(140, 40);
    assert!(stage.text().contains("looking for a model…"), "{}", stage.text());
    stage.session(SessionEvent::ModelSearch { place: "127.0.0.1:4000".to_owned() });
    assert!(stage.text().contains("looking for a model at 127.0.0.1:4000…"), "{}", stage.text());
    stage.keys("a draft meanwhile");
    let reason = "127.0.0.1:4000 answered 401: set OPENAI_API_KEY.".to_owned();
    stage.session(SessionEvent::NoModel { reason: reason.clone() });
    let text = stage.text();
    assert!(text.contains("a draft meanwhile") && text.contains(&reason), "{text}");
    assert!(text.contains("no model") && !text.contains("looking for a model"), "{text}");
    stage.keys("<ctrl+u>/model<enter>");
    let text = stage.text();
    assert!(text.contains("No model connected.") && !text.contains("Still looking"), "{text}");
}
