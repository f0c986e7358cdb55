//! The effort of a definition on its way to the request.

use std::sync::Arc;

use belvedere::definition::Catalog;
use belvedere::message::Effort;
use belvedere::provider::Model;
use belvedere::subagent::{Connection, connected};
use serde_json::json;

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
