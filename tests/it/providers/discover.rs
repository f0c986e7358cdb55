//! Local servers, found on ports that a test chose.

use std::time::Duration;

use belvedere::provider::choice::Endpoint;
use belvedere::provider::discover::{LocalEndpoint, find_local_server};

use super::server::{Piece, Reply, Server};

/// Long, because a test must not depend on how busy the machine is; the tests do not use it up.
const BUDGET: Duration = Duration::from_secs(20);

fn at(name: &str, base: &str) -> LocalEndpoint {
    LocalEndpoint { name: name.to_owned(), base: format!("{base}/v1").parse().expect("a base"), key: None }
}

async fn listing(body: &str) -> Server {
    Server::start(Reply::new(200, "application/json", body)).await
}

#[tokio::test]
async fn the_first_server_in_order_that_has_a_model_is_taken() {
    let page = Server::start(Reply::new(200, "text/html", "<html>It works</html>")).await;
    let other = listing(r#"{"data": [{"id": 7}], "items": []}"#).await;
    let shop = listing(r#"{"object": "basket", "data": [{"id": "shoe"}]}"#).await;
    let empty = listing(r#"{"object": "list", "data": null}"#).await;
    let locked = Server::start(Reply::new(401, "application/json", "{}")).await;
    let vectors = listing(r#"{"object":"list","data":[{"id":"nomic-embed-text"}]}"#).await;
    let good = listing(r#"{"object":"list","data":[{"id":"bge-m3"},{"id":"qwen3:latest","object":"model","owned_by":"me"},{"id":"b"}]}"#).await;
    let last = listing(r#"{"object":"list","data":[{"id":"z"}]}"#).await;
    let mut endpoints: Vec<_> =
        [&page, &other, &shop, &empty, &locked, &vectors].iter().map(|server| at("wrong", &server.base)).collect();
    endpoints.extend([at("ollama", &good.base), at("llamacpp", &last.base)]);

    let found = find_local_server(&endpoints, None, BUDGET).await.expect("a server");
    assert_eq!(good.seen()[0].path, "/v1/models");
    let endpoint = Endpoint::from(found);
    assert_eq!((endpoint.provider.as_str(), endpoint.model.as_str()), ("ollama", "qwen3:latest"));

    for (wanted, expected) in [("qwen3", Some("qwen3:latest")), ("z", Some("z")), ("shoe", None)] {
        let found = find_local_server(&endpoints, Some(wanted), BUDGET).await.map(|server| server.model);
        assert_eq!(found.as_deref(), expected, "{wanted}");
    }
}

#[tokio::test]
async fn a_server_that_keeps_silent_costs_no_more_than_the_budget() {
    let silent = Server::start(Reply::new(200, "application/json", "{").then(Piece::Stall)).await;
    let endpoints = [at("ollama", &silent.base)];
    assert_eq!(find_local_server(&endpoints, None, Duration::from_millis(200)).await, None);
    assert_eq!(find_local_server(&[], None, BUDGET).await, None);
}
