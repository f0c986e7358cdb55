//! Local servers, found on ports that a test chose.

use std::time::Duration;

use belvedere::provider::Credential;
use belvedere::provider::choice::{Endpoint, ModelChoice, ModelPreferences, choose, connect};
use belvedere::provider::discover::{Why, find_local_server};
use belvedere::provider::rate_limiter::RateLimiters;

use super::server::{Piece, Reply, Server};
use super::{key, row};

/// Long, because a test must not depend on how busy the machine is; the tests do not use it up.
const BUDGET: Duration = Duration::from_secs(20);

fn at(name: &str, base: &str) -> Endpoint {
    Endpoint {
        provider: row(name),
        base: format!("{base}/v1").parse().expect("a base"),
        credential: Credential::None,
        transport: std::sync::Arc::default(),
        is_named: false,
    }
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
        [&page, &other, &shop, &empty, &locked, &vectors].iter().map(|server| at("lmstudio", &server.base)).collect();
    endpoints.extend([at("ollama", &good.base), at("llamacpp", &last.base)]);

    let found = find_local_server(&endpoints, None, BUDGET).await.expect("a server");
    assert_eq!(good.seen()[0].path, "/v1/models");
    assert_eq!((found.endpoint.provider.name.as_str(), found.model.as_str()), ("ollama", "qwen3:latest"));

    for (wanted, expected) in [("qwen3", Some("qwen3:latest")), ("z", Some("z")), ("shoe", None)] {
        let found = find_local_server(&endpoints, Some(wanted), BUDGET).await.ok().map(|server| server.model);
        assert_eq!(found.as_deref(), expected, "{wanted}");
    }
}

#[tokio::test]
async fn a_server_that_keeps_silent_costs_no_more_than_the_budget() {
    let silent = Server::start(Reply::new(200, "application/json", "{").then(Piece::Stall)).await;
    let endpoints = [at("ollama", &silent.base)];
    let misses = find_local_server(&endpoints, None, Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(misses[0].why, Why::Late);
    assert!(find_local_server(&[], None, BUDGET).await.is_err());
}

/// Asks a server that the user named, and returns what is said of it.
async fn said(reply: Reply, sent_key: Option<&str>, wanted: Option<&str>) -> String {
    let server = Server::start(reply).await;
    let mut endpoint = at("openai", &server.base);
    (endpoint.is_named, endpoint.credential) = (true, sent_key.map_or(Credential::None, key));
    let misses = find_local_server(&[endpoint], wanted, Duration::from_millis(200)).await.unwrap_err();
    let sent = server.seen()[0].headers.get("authorization").map(|value| value.to_str().expect("text").to_owned());
    assert_eq!(sent, sent_key.map(|key| format!("Bearer {key}")));
    misses[0].words(wanted).replace(server.base.trim_start_matches("http://"), "HOST")
}

#[tokio::test]
async fn what_keeps_a_named_server_from_use_is_said_with_what_to_do() {
    let json = |status, body: &str| Reply::new(status, "application/json", body);
    let list = r#"{"object":"list","data":[{"id":"tiny"},{"id":"mid"}]}"#;
    for (reply, key, wanted, words) in [
        (json(401, "{}"), None, None, "HOST answered 401: set OPENAI_API_KEY."),
        (json(401, "{}"), Some("wrong-key"), None, "HOST answered 401: check OPENAI_API_KEY."),
        (
            json(404, "{}"),
            None,
            None,
            "HOST does not list its models (404 for /v1/models): name one with --model openai/NAME.",
        ),
        (json(503, "{}"), None, None, "HOST is still loading its model (503): try again in a moment."),
        (
            json(500, r#"{"error":{"message":"no db"}}"#),
            None,
            None,
            "HOST had a server error (HTTP 500: no db). Check the log of HOST. To use it without listing its \
             models, name one with --model openai/NAME.",
        ),
        (
            Reply::new(200, "text/html", "<html>"),
            None,
            None,
            "HOST did not answer with a list of models: check the address, or name one with --model openai/NAME.",
        ),
        (json(200, list), Some("local-key"), Some("qwen3"), "HOST has no model qwen3; it has tiny, mid."),
    ] {
        assert_eq!(said(reply, key, wanted).await, words);
    }
}

#[tokio::test]
async fn a_server_that_is_only_guessed_gets_no_key_and_says_what_it_wants() {
    let locked = Server::start(Reply::new(401, "application/json", "{}")).await;
    let mut endpoint = at("llamacpp", &locked.base);
    endpoint.credential = key("local-secret");
    let misses = find_local_server(&[endpoint], None, BUDGET).await.unwrap_err();
    assert!(!locked.seen()[0].headers.contains_key("authorization"));
    assert!(misses[0].is_server());
    let words = misses[0].words(None);
    assert!(words.contains("answered 401: set LLAMACPP_API_KEY and start with --model llamacpp."), "{words}");
    // A shop that wants a login is told of too, but nobody is there where nothing answers.
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let nobody = at("ollama", &format!("http://127.0.0.1:{port}"));
    assert!(!find_local_server(&[nobody], None, BUDGET).await.unwrap_err()[0].is_server());
}

#[tokio::test]
async fn each_list_says_how_much_its_models_hold() {
    use belvedere::provider::offer::offered;
    use belvedere::provider::table::{ProviderEnv, ProviderTable};

    let gemini = listing(
        r#"{"models":[{"name":"models/gemini-9","inputTokenLimit":777000,"supportedGenerationMethods":["generateContent"]},
            {"name":"models/aqa","inputTokenLimit":7168,"supportedGenerationMethods":["generateAnswer"]},
            {"name":"models/gemini-9-image"},{"name":"models/odd","inputTokenLimit":[1]}]}"#,
    )
    .await;
    let open = listing(
        r#"{"object":"list","data":[{"id":"a","max_model_len":32768},{"id":"b","context_window":"8192"},
            {"id":"c","context_length":1},{"id":"d","context_length":-5},{"id":"e"}]}"#,
    )
    .await;
    let set = [
        ("GOOGLE_GEMINI_BASE_URL", gemini.base.clone()),
        ("GOOGLE_API_KEY", "g".to_owned()),
        ("OPENAI_BASE_URL", format!("{}/v1", open.base)),
    ];
    let env = ProviderEnv::new(ProviderTable::default(), |variable| {
        set.iter().find(|(name, _)| *name == variable).map(|(_, value)| value.clone())
    });
    let all = offered(&env).await;
    let of = |provider: &str| -> Vec<(String, Option<u64>)> {
        let own = all.iter().filter(|model| model.provider == provider && model.is_listed);
        own.map(|model| (model.id.clone(), model.context_window)).collect()
    };
    let named = |list: &[(&str, Option<u64>)]| -> Vec<(String, Option<u64>)> {
        list.iter().map(|(id, window)| ((*id).to_owned(), *window)).collect()
    };
    assert_eq!(of("gemini"), named(&[("gemini-9", Some(777_000)), ("odd", None)]));
    assert_eq!(gemini.seen()[0].query.as_deref(), Some("pageSize=1000"));
    assert_eq!(gemini.seen()[0].headers["x-goog-api-key"], "g");
    let windows = [("a", Some(32_768)), ("b", Some(8_192)), ("c", None), ("d", None), ("e", None)];
    assert_eq!(of("openai"), named(&windows));
    assert!(
        !open.seen()[0].headers.contains_key("x-goog-api-key") && !open.seen()[0].headers.contains_key("authorization")
    );

    // One of them that is named later holds what was listed.
    let chosen = |name: &str| {
        let wishes = ModelPreferences { flag: Some(name.to_owned()), env: env.clone(), ..ModelPreferences::default() };
        let Ok(ModelChoice::Connect(chosen)) = choose(&wishes) else { panic!("{name}") };
        connect(chosen, &RateLimiters::default()).1.context_window
    };
    assert_eq!(
        (chosen("openai/a"), chosen("openai/e"), chosen("gemini/gemini-9")),
        (Some(32_768), None, Some(777_000))
    );

    // A server that is used holds as much as it says.
    let endpoint = Endpoint { is_named: true, ..at("lmstudio", &open.base) };
    let found = find_local_server(&[endpoint], None, BUDGET).await.expect("a server");
    assert_eq!(connect(found, &RateLimiters::default()).1.context_window, Some(32_768));
}
