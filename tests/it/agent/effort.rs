//! Efforts on their way to the request: of a definition, of the settings, of the user in mid-session.

use std::sync::Arc;

use belvedere::agent::SessionEvent;
use belvedere::definition::{AgentDefinition, Catalog};
use belvedere::message::{Effort, EffortWish};
use belvedere::provider::Model;
use belvedere::subagent::{Command, Connection, SessionEffort, connected};
use serde_json::json;

use super::strangers::of_project;
use super::{agent, defined, reply, script};
use crate::support::{Parts, Session, model};

#[tokio::test]
async fn a_model_is_told_as_much_as_it_knows() {
    for (most, expected) in
        [(None, None), (Some(Effort::High), Some(Effort::High)), (Some(Effort::Max), Some(Effort::XHigh))]
    {
        let provider = script(&[
            reply(json!({"task": "go", "turn": 0}), vec![agent("thinker", "thinking")]),
            reply(json!({}), vec![json!({"say": "done"})]),
        ]);
        let mut thinker = defined("name: thinker");
        thinker.effort = Some(Effort::XHigh);
        let mut parts = Parts::new(provider.clone());
        parts.catalog = Catalog::of(vec![thinker]);
        let model = Model { max_effort: most, ..model() };
        parts.connecting = Some(connected(Connection { provider: provider.clone(), model: Arc::new(model) }));
        let mut session = Session::start(parts);
        session.ask("go").await;
        session.quit().await;
        let efforts: Vec<_> = provider.requests().iter().map(|request| request.effort).collect();
        assert_eq!(efforts, [None, expected, None], "the main agent asks for none");
    }
}

/// What is known of the models that answer.
fn model_that(takes: Option<Effort>, is_effort_known: bool) -> Model {
    Model { max_effort: takes, is_effort_known, ..model() }
}

/// Runs a main agent and one of this definition, and returns the efforts of the requests: the main agent's, the other's.
async fn efforts(
    effort: SessionEffort,
    model: Model,
    definition: AgentDefinition,
) -> (Option<Effort>, Option<Effort>, Vec<Option<u32>>) {
    let name = definition.name.clone();
    let provider = script(&[
        reply(json!({"task": "go", "turn": 0}), vec![agent(&name, "thinking")]),
        reply(json!({}), vec![json!({"say": "done"})]),
    ]);
    let mut parts = Parts::new(provider.clone());
    (parts.effort, parts.model, parts.catalog) = (effort, model, Catalog::of(vec![definition]));
    let mut session = Session::start(parts);
    session.ask("go").await;
    session.quit().await;
    let requests = provider.requests();
    (requests[0].effort, requests[1].effort, requests.iter().map(|request| request.thinking_tokens).collect())
}

fn said(level: Effort, is_explicit: bool) -> EffortWish {
    EffortWish { level, is_explicit }
}

#[tokio::test]
async fn the_session_says_it_where_no_file_does_and_a_project_goes_no_further() {
    use Effort::{High, Low, Max, Medium};
    let takes_all = || model_that(Some(Max), true);
    let usual = |level| SessionEffort::new(Some(said(level, true)), None, Some(2_000));
    let plain = || defined("name: thinker");
    let (main, child, tokens) = efforts(usual(Medium), takes_all(), plain()).await;
    assert_eq!((main, child), (Some(Medium), Some(Medium)));
    assert_eq!(tokens, [Some(2_000); 3]);
    let own = defined("name: thinker\neffort: max");
    assert_eq!(efforts(usual(Low), takes_all(), own).await.1, Some(Max), "the user's own file says it");
    for (session, expected) in [(SessionEffort::default(), High), (usual(Low), Low), (usual(Max), Max)] {
        let strange = of_project("name: thinker\neffort: max");
        assert_eq!(efforts(session, takes_all(), strange).await.1, Some(expected));
    }
}

#[tokio::test]
async fn a_model_of_which_nobody_knows_is_told_only_what_the_user_says_to_this_program() {
    let by = |is_explicit| SessionEffort::new(Some(said(Effort::Max, is_explicit)), None, None);
    let plain = || defined("name: thinker");
    let (main, child, _) = efforts(by(true), model_that(None, false), plain()).await;
    assert_eq!((main, child), (Some(Effort::High), Some(Effort::High)), "what all know that take an effort");
    assert_eq!(efforts(by(false), model_that(None, false), plain()).await.0, None);
    assert_eq!(efforts(by(true), model_that(None, true), plain()).await.0, None, "it is known to take none");
    let flag = SessionEffort::new(Some(said(Effort::Low, false)), Some(Effort::Medium), None);
    assert_eq!(efforts(flag, model_that(None, false), plain()).await.0, Some(Effort::Medium));
    let of_file =
        efforts(SessionEffort::default(), model_that(None, false), defined("name: thinker\neffort: low")).await;
    assert_eq!(of_file.1, None);
}

#[tokio::test]
async fn the_user_changes_it_in_mid_session_and_is_told_what_the_model_takes() {
    let provider = script(&[reply(json!({}), vec![json!({"say": "done"})])]);
    let mut parts = Parts::new(provider.clone());
    parts.effort = SessionEffort::new(Some(said(Effort::Low, true)), None, None);
    parts.model = model_that(Some(Effort::High), true);
    let mut session = Session::start(parts);
    let chosen = |event: &SessionEvent| match event {
        SessionEvent::EffortChosen { wish, sent } => Some((*wish, *sent)),
        _ => None,
    };
    assert_eq!(session.wait_session(chosen).await, (Some(Effort::Low), Some(Effort::Low)));
    for (choice, wish, sent) in
        [(Some(Effort::Max), Some(Effort::Max), Some(Effort::High)), (None, Some(Effort::Low), Some(Effort::Low))]
    {
        session.send(Command::SetEffort(choice));
        assert_eq!(session.wait_session(chosen).await, (wish, sent));
        session.ask("go").await;
        assert_eq!(provider.requests().last().unwrap().effort, sent);
    }
    session.quit().await;
}
