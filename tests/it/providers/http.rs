//! Transport: statuses, waits, connections and keys, against a server on loopback.

use std::time::Duration;

use belvedere::message::{
    AssistantMessage, Block, Effort, Message, ResultPart, Secret, ToolCall, ToolInput, ToolResult,
};
use belvedere::provider::{
    Credential, ErrorKind, EventStream, Feature, Http, Provider, ProviderError, Request, Service, StopReason,
    StreamEvent,
};
use futures::StreamExt;

use super::server::{Piece, Reply, Server, break_off, close_after_each};
use super::{fixture, fold, key, request, row};

const KEY: &str = "sk-secret-1234";

fn claude(base: &str) -> Http {
    claude_with(base, key(KEY))
}

fn claude_with(base: &str, credential: Credential) -> Http {
    Http::new(Service::new(row("anthropic"), credential), &base.parse().expect("a base"))
}

fn gpt(base: &str) -> Http {
    Http::new(Service::new(row("ollama"), Credential::None), &base.parse().expect("a base"))
}

async fn ask(provider: &dyn Provider) -> Result<EventStream, ProviderError> {
    provider.stream(request(vec![Message::user("Hi")], &["Read"])).await
}

pub(super) async fn refusal(reply: Reply) -> ProviderError {
    let server = Server::start(reply).await;
    ask(&claude(&server.base)).await.err().expect("a refusal")
}

/// Returns the words of an error with `HOST` for where the server was.
fn placeless(error: &ProviderError) -> String {
    let words = error.to_string();
    let Some((_, rest)) = words.split_once("127.0.0.1:") else { return words };
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    words.replace(&format!("127.0.0.1:{port}"), "HOST")
}

#[tokio::test]
async fn a_server_that_says_in_its_answer_that_it_wants_a_certificate_is_understood() {
    let page = "<html><head><title>400 No required SSL certificate was sent</title></head></html>";
    let error = refusal(Reply::new(400, "text/html", page)).await;
    assert_eq!(error.kind, ErrorKind::Tls);
    let words =
        "the server demands a client certificate. Set `client_cert` and `client_key` of `[providers.anthropic]`";
    assert!(error.to_string().contains(words), "{error}");
}

#[tokio::test]
async fn a_request_to_anthropic_has_its_address_and_headers() {
    for suffix in ["", "/", "/v1", "/v1/"] {
        let server = Server::start(Reply::events(fixture("anthropic_tools.sse"))).await;
        let stream = ask(&claude(&format!("{}{suffix}", server.base))).await.expect("an answer");
        let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
        assert_eq!(fold(events).calls.len(), 2);
        let seen = &server.seen()[0];
        assert_eq!(seen.path, "/v1/messages");
        assert_eq!(seen.headers["x-api-key"], KEY);
        assert_eq!(seen.headers["anthropic-version"], "2023-06-01");
        assert_eq!(seen.headers["user-agent"], concat!("belvedere/", env!("CARGO_PKG_VERSION")));
        assert!(!seen.headers.contains_key("authorization"));
        assert!(seen.body.starts_with(r#"{"model":"m","max_tokens":100,"stream":true"#), "{}", seen.body);
    }
}

#[tokio::test]
async fn a_token_is_sent_as_a_bearer() {
    let server = Server::start(Reply::events(fixture("anthropic_text.sse"))).await;
    let token = Credential::Token(Secret::new(" tok \n").expect("a token"));
    drop(ask(&claude_with(&server.base, token)).await.expect("an answer"));
    let seen = &server.seen()[0];
    assert_eq!(seen.headers["authorization"], "Bearer tok");
    assert!(!seen.headers.contains_key("x-api-key"));
}

#[tokio::test]
async fn a_local_server_needs_no_key_and_no_path() {
    for (suffix, path) in
        [("", "/v1/chat/completions"), ("/v1/", "/v1/chat/completions"), ("/api", "/api/chat/completions")]
    {
        let server = Server::start(Reply::events(fixture("openai_text.sse"))).await;
        let stream = ask(&gpt(&format!("{}{suffix}", server.base))).await.expect("an answer");
        let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
        assert_eq!(fold(events).stop, Some(StopReason::EndTurn));
        let seen = &server.seen()[0];
        assert_eq!(seen.path, path);
        assert!(!seen.headers.contains_key("authorization"));
    }
}

#[tokio::test]
async fn statuses_become_typed_errors() {
    let json = |status, kind: &str, message: &str| {
        let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
        refusal(Reply::new(status, "application/json", body))
    };
    let error = json(401, "authentication_error", "invalid x-api-key").await;
    assert_eq!(
        placeless(&error),
        "HOST rejected the API key (invalid x-api-key). Check ANTHROPIC_API_KEY and its access to this model."
    );
    assert_eq!(json(403, "permission_error", "no").await.kind, ErrorKind::Authentication);
    assert_eq!(json(404, "not_found_error", "model: m").await.kind, ErrorKind::NotFound);
    assert_eq!(json(413, "request_too_large", "big").await.kind, ErrorKind::ContextTooLong);
    for words in ["messages: roles must alternate", "tools.0.name: String is too long", "context_management: unknown"] {
        assert_eq!(json(400, "invalid_request_error", words).await.kind, ErrorKind::BadRequest, "{words}");
    }
    assert_eq!(json(429, "insufficient_quota", "pay").await.kind, ErrorKind::BadRequest);
    assert_eq!(json(429, "billing_error", "pay").await.kind, ErrorKind::BadRequest);
    let slow = json(500, "api_error", "llm runner: context deadline exceeded").await;
    assert_eq!(slow.kind, ErrorKind::Internal, "{slow}");
    for (status, kind) in [(503, "api_error"), (529, "overloaded_error"), (500, "overloaded_error")] {
        let error = json(status, kind, "oh").await;
        assert!(error.kind == ErrorKind::Overloaded && error.is_transient(), "{status} {kind}");
    }
    for status in [500, 502, 504] {
        let error = json(status, "api_error", "no db").await;
        let words = format!("HOST had a server error (HTTP {status}: no db). Check the log of HOST.");
        assert_eq!((placeless(&error), error.is_transient()), (words, true));
    }
}

#[tokio::test]
async fn an_unknown_model_is_not_found_whatever_the_status_and_an_unknown_address_is_named() {
    let words =
        "/chat/completions: Invalid model name passed in model=nope. Call `/v1/models` to view available models";
    for words in [words, "nope is not a valid model ID", "The model `nope` does not exist", "Model not found: nope"] {
        let error =
            refusal(Reply::new(400, "application/json", format!(r#"{{"error":{{"message":"{words}"}}}}"#))).await;
        assert!(error.kind == ErrorKind::NotFound && error.to_string().contains("--model"), "{error}");
    }
    for words in ["tiny doesn't support reasoning.effort", "messages: roles must alternate", "the model refuses"] {
        let error = refusal(Reply::new(400, "text/plain", words)).await;
        assert_eq!(error.kind, ErrorKind::BadRequest, "{error}");
    }
    let error = refusal(Reply::new(404, "text/html", "<html>")).await;
    let words = "HOST has no such model or address (/v1/messages: HTTP 404). Check --model and the base URL.";
    assert_eq!(placeless(&error), words);
}

#[tokio::test]
async fn a_key_that_is_part_of_words_blots_nothing_out() {
    for (key, words, shown) in [
        ("k", "unexpected EOF during chunk size line", "unexpected EOF during chunk size line"),
        ("maximum", "the maximum is 3", "the maximum is 3"),
        (KEY, "the key sk-secret-1234 is bad", "the key *** is bad"),
    ] {
        let server = Server::start(Reply::new(400, "text/plain", words)).await;
        let error = ask(&claude_with(&server.base, super::key(key))).await.err().expect("a refusal");
        assert_eq!(placeless(&error), format!("HOST refused the request ({shown})."));
    }
}

#[tokio::test]
async fn a_local_server_that_wants_a_key_names_its_own_variable() {
    let server = Server::start(Reply::new(401, "text/plain", "Invalid API Key")).await;
    let error = ask(&gpt(&server.base)).await.err().expect("a refusal");
    assert_eq!(placeless(&error), "ollama at HOST needs an API key (Invalid API Key). Set OLLAMA_API_KEY.");
}

#[tokio::test]
async fn waits_are_read_in_every_form() {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    for (name, value, expected) in [
        ("retry-after", "7", Some(Duration::from_secs(7))),
        ("retry-after", "0.5", Some(Duration::from_millis(500))),
        ("retry-after-ms", "1500", Some(Duration::from_millis(1500))),
        ("retry-after", "Wed, 21 Oct 2026 07:28:30 GMT", Some(Duration::from_secs(30))),
        ("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT", Some(Duration::ZERO)),
        ("retry-after", "-3", None),
        ("retry-after", "soon", None),
        ("x-other", "1", None),
    ] {
        let error = refusal(Reply::new(429, "text/plain", "slow down").header(name, value).header("date", date)).await;
        assert_eq!(error.kind, ErrorKind::RateLimit);
        assert_eq!(error.retry_after, expected, "{name}: {value}");
    }
}

#[tokio::test]
async fn the_words_of_a_refusal_are_bounded_and_hold_no_key() {
    // A key that a cut through the words would leave half of.
    let long = format!("{}{KEY}\u{1b}[31m {}", "x".repeat(295), "y".repeat(100_000));
    let error = refusal(Reply::new(400, "text/plain", long)).await;
    let words = format!("{error} {error:?}");
    assert!(words.len() < 1000 && !words.contains("sk-") && !words.contains('\u{1b}'), "{words}");
    let page = refusal(Reply::new(502, "text/html", "<html><h1>Bad gateway</h1>")).await;
    assert!(page.to_string().contains("HTTP 502"), "{page}");
}

#[tokio::test]
async fn a_refusal_that_never_ends_is_still_told() {
    let body = "x".repeat(70 * 1024);
    let error = refusal(Reply::new(400, "text/plain", body).then(Piece::Stall)).await;
    assert_eq!(error.kind, ErrorKind::BadRequest);
}

#[tokio::test]
async fn a_document_in_place_of_a_stream_is_a_protocol_error() {
    for kind in ["text/html; charset=utf-8", "application/json"] {
        let error = refusal(Reply::new(200, kind, "{}")).await;
        assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
    }
    let error = refusal(Reply::new(200, "application/json", vec![b' '; 17 << 20])).await;
    assert!(error.to_string().contains("larger than 16 MiB"), "{error}");
    let error = refusal(Reply::new(200, "application/json", r#"{"error":{"message":"m","code":429}}"#)).await;
    assert_eq!(error.kind, ErrorKind::RateLimit, "{error}");
}

#[tokio::test]
async fn a_whole_answer_in_place_of_a_stream_is_read() {
    let claude_says =
        r#"{"type":"message","content":[{"type":"text","text":"<think>Hm.</think>ok"}],"stop_reason":"end_turn"}"#;
    let gpt_says = r#"{"choices":[{"message":{"content":"<think>Hm.</think>ok"},"finish_reason":"stop"}]}"#;
    let says = |body: &str| Server::start(Reply::new(200, "application/json; charset=utf-8", body));
    let (one, two) = (says(claude_says).await, says(gpt_says).await);
    for stream in [ask(&claude(&one.base)).await, ask(&gpt(&two.base)).await] {
        let events: Vec<_> = stream.expect("an answer").map(|event| event.expect("an event")).collect().await;
        let answer = fold(events);
        assert_eq!((answer.thinking.as_str(), answer.text.as_str()), ("Hm.", "ok"));
        assert_eq!(answer.stop, Some(StopReason::EndTurn));
    }
}

#[tokio::test]
async fn a_compressed_answer_without_end_is_cut_off() {
    // 48 MiB of text in 48 KiB.
    let server = Server::start(
        Reply::events(fixture("anthropic_bomb.sse.gz")).header("content-encoding", "gzip").then(Piece::Stall),
    )
    .await;
    let stream = ask(&claude(&server.base)).await.expect("an answer");
    let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
    let answer = fold(events);
    assert_eq!(answer.stop, Some(StopReason::MaxTokens));
    assert!((1_000_000..=1 << 20).contains(&answer.text.len()), "{}", answer.text.len());
}

#[tokio::test]
async fn a_connection_that_the_server_has_closed_meanwhile_is_replaced_at_once() {
    let (base, asked) = close_after_each(fixture("anthropic_text.sse")).await;
    let provider = claude(&base);
    for _ in 0..20 {
        let stream = ask(&provider).await.expect("no failure is seen");
        assert!(stream.all(|event| std::future::ready(event.is_ok())).await);
    }
    // The server itself saw each of the requests that were answered once, and no more than one lost one for each.
    assert!(asked.load(std::sync::atomic::Ordering::SeqCst) <= 40);
}

#[tokio::test]
async fn a_stream_is_asked_for_plain_and_read_though_a_proxy_compresses_it() {
    let body = fixture("anthropic_text.sse.gz");
    let server = Server::start(Reply::events(body).header("content-encoding", "gzip")).await;
    let stream = ask(&claude(&server.base)).await.expect("an answer");
    let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
    assert_eq!(fold(events).stop, Some(StopReason::EndTurn));
    assert_eq!(server.seen()[0].headers["accept-encoding"], "identity");
}

#[tokio::test]
async fn what_a_model_does_not_take_is_left_out_from_the_second_time_on() {
    let picture = ResultPart::Image { media_type: "image/png".to_owned(), data: "iVBO".to_owned() };
    let shown = Message::ToolResults {
        results: vec![ToolResult { call_id: "c".to_owned(), content: vec![picture], is_error: false }],
    };
    let call = ToolCall { id: "c".to_owned(), name: "Read".to_owned(), input: ToolInput::parse("{}") };
    let looked = Message::Assistant(AssistantMessage::new(vec![Block::ToolCall(call)]));
    let mut asked = request(vec![Message::user("Hi"), looked, shown], &["Read"]);
    asked.model = "claude-opus-5-5".to_owned();
    asked.effort = Some(Effort::High);
    let says =
        |status, words: &str| Reply::new(status, "application/json", format!(r#"{{"error":{{"message":"{words}"}}}}"#));
    let blind = says(500, "image input is not supported - hint: you may need to provide the mmproj");
    let dull = says(400, "UnsupportedParamsError: tiny doesn't support reasoning.effort");
    for (reply, feature, word) in [(blind, Feature::Pictures, "iVBO"), (dull, Feature::Thinking, "\"effort\"")] {
        let server = Server::start(reply).await;
        let (claude, gpt) = (claude(&server.base), gpt(&server.base));
        let providers: [&dyn Provider; 2] = [&claude, &gpt];
        for provider in &providers[..if feature == Feature::Pictures { 2 } else { 1 }] {
            let before = server.seen().len();
            for is_news in [true, false] {
                let error = provider.stream(asked.clone()).await.err().expect("a refusal");
                match &error.unsupported {
                    Some(part) if is_news && part.is_news => {
                        assert_eq!((error.kind, part.feature), (ErrorKind::Unsupported, feature));
                        assert_eq!(part.model, asked.model);
                    }
                    // It did not hold what is refused, so the refusal means something else.
                    part => assert!(!is_news && part.is_none(), "{error:?}"),
                }
            }
            let bodies: Vec<String> = server.seen()[before..].iter().map(|seen| seen.body.clone()).collect();
            assert!(bodies[0].contains(word) && !bodies[1].contains(word), "{bodies:?}");
            assert_eq!(feature == Feature::Pictures, bodies[1].contains("[image omitted: this model accepts none]"));
            // Another model at the same place is asked as before.
            let other = Request { model: "claude-sonnet-5-5".to_owned(), ..asked.clone() };
            drop(provider.stream(other).await);
            assert!(server.seen().last().expect("a request").body.contains(word));
        }
    }
    let large = Server::start(says(400, "image exceeds 5 MB maximum")).await;
    let error = gpt(&large.base).stream(asked).await.err().expect("a refusal");
    assert_eq!(error.kind, ErrorKind::BadRequest, "one picture's size says nothing of others: {error:?}");
}

#[tokio::test]
async fn a_redirect_to_another_host_is_not_followed() {
    let other = Server::start(Reply::events(fixture("anthropic_text.sse"))).await;
    let target = format!("{}/v1/messages", other.base);
    let error = refusal(Reply::new(307, "text/plain", "").header("location", &target)).await;
    assert!(error.to_string().contains("redirects"), "{error}");
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_network_error() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let error = ask(&gpt(&format!("http://127.0.0.1:{port}"))).await.err().expect("nobody listens");
    assert!(error.kind == ErrorKind::Network && error.is_transient(), "{error}");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn tls_is_set_up_on_first_use_and_a_server_without_it_is_named_as_such() {
    let server = Server::start(Reply::events(fixture("anthropic_text.sse"))).await;
    let base = server.base.replace("http://", "https://");
    let error = ask(&claude(&base)).await.err().expect("no TLS there");
    assert!(error.kind == ErrorKind::Tls && !error.is_transient(), "{error}");
    let words = "No secure connection to HOST: the server does not speak TLS. Start the base URL with http://.";
    assert_eq!(placeless(&error), words);
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn a_server_that_wants_tls_is_named_as_such() {
    let page = "<html><h1>400</h1>The plain HTTP request was sent to HTTPS port</html>";
    let error = refusal(Reply::new(400, "text/html", page)).await;
    let words = "No secure connection to HOST: the server speaks only TLS. Start the base URL with https://.";
    assert_eq!((placeless(&error).as_str(), error.is_transient()), (words, false));
}

#[tokio::test]
async fn a_connection_that_breaks_fails_unless_the_model_had_stopped() {
    let base = break_off(fixture("openai_early.sse")).await;
    let events: Vec<_> = ask(&gpt(&base)).await.expect("an answer").collect().await;
    assert_eq!(events[0], Ok(StreamEvent::Text("Half an ans".to_owned())));
    assert!(matches!(events.last(), Some(Err(error)) if error.kind == ErrorKind::Interrupted), "{events:?}");

    let mut whole = fixture("openai_text.sse");
    whole.truncate(whole.len() - b"data: [DONE]\n\n".len());
    let base = break_off(whole).await;
    let events: Vec<_> = ask(&gpt(&base)).await.expect("an answer").collect().await;
    assert_eq!(events.last(), Some(&Ok(StreamEvent::Stop(StopReason::EndTurn))));
}

#[tokio::test]
async fn events_arrive_while_the_server_goes_on_and_dropping_the_stream_hangs_up() {
    let early = fixture("anthropic_early.sse");
    let mut server = Server::start(Reply::events(early).then(Piece::Stall)).await;
    let mut stream = ask(&claude(&server.base)).await.expect("an answer");
    while let Some(event) = stream.next().await {
        if event == Ok(StreamEvent::Text("Half an ans".to_owned())) {
            break;
        }
    }
    drop(stream);
    let gone = server.gone.take().expect("a signal");
    tokio::time::timeout(Duration::from_secs(10), gone).await.expect("hung up").expect("the answer was dropped");
}

#[tokio::test]
async fn eight_requests_are_under_way_at_once() {
    let early = fixture("anthropic_early.sse");
    let server = Server::start(Reply::events(early).then(Piece::Stall)).await;
    let provider = claude(&server.base);
    let answers = futures::future::join_all((0..8).map(|_| ask(&provider))).await;
    assert!(answers.iter().all(Result::is_ok), "none waits for the end of another");
    assert_eq!(server.seen().len(), 8);
}

#[tokio::test]
async fn an_answer_is_over_at_its_end_mark_though_the_server_holds_on() {
    let whole = fixture("openai_text.sse");
    // Without the end mark the server gets a moment to send one.
    let unmarked = whole[..whole.len() - b"data: [DONE]\n\n".len()].to_vec();
    for bytes in [whole, unmarked] {
        let server = Server::start(Reply::events(bytes).then(Piece::Stall)).await;
        let stream = ask(&gpt(&server.base)).await.expect("an answer");
        let events: Vec<_> = stream.map(|event| event.expect("an event")).collect().await;
        assert_eq!(fold(events).stop, Some(StopReason::EndTurn));
    }
}

#[tokio::test]
async fn requests_one_after_the_other_share_a_connection() {
    let server = Server::start(Reply::events(fixture("anthropic_text.sse"))).await;
    let provider = claude(&server.base);
    let mut ports = Vec::new();
    for _ in 0..3 {
        let stream = ask(&provider).await.expect("an answer");
        assert!(stream.all(|event| std::future::ready(event.is_ok())).await);
        ports.push(server.seen().last().expect("a request").peer);
        tokio::task::yield_now().await;
    }
    ports.dedup();
    assert_eq!(ports.len(), 1, "{ports:?}");
}

#[tokio::test]
async fn a_key_that_fits_no_header_is_named() {
    let provider = claude_with("http://127.0.0.1:9", key("sk-se\ncret"));
    let error = ask(&provider).await.err().expect("no request is made");
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert!(!format!("{error} {provider:?}").contains("sk-se"), "{provider:?}");
}
