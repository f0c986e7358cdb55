//! Signing in to a server: one that registers its clients, asks the browser, and takes a token for renewal once.

use std::collections::HashMap;
use std::convert::Infallible;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use belvedere::mcp::{McpConfig, McpError, McpServers, McpSetup, McpSources, McpState, McpWay, SignIns};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{answer, config};
use crate::support::serve;

const HOW: &str = "to sign in: /mcp login web (in a shell: belvedere mcp login web)";

#[derive(Default)]
struct Held {
    address: String,
    /// Where users are sent, if that is not here.
    elsewhere: Option<String>,
    /// What the browser's answer is exchanged for has to fit to.
    challenge: String,
    /// How often tokens were given.
    given: usize,
    /// Seconds that a token is good for.
    lifetime: u64,
    is_revoked: bool,
    refuses: bool,
    /// Where answers of the older kind of server go.
    stream: Option<mpsc::UnboundedSender<String>>,
    /// What was sent to `/mcp` and `/sse` to say who asks.
    seen: Vec<String>,
}

#[derive(Clone, Default)]
struct Service(Arc<Mutex<Held>>);

impl Service {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap()
    }

    async fn start() -> (Self, String) {
        let service = Self::default();
        let address = format!("http://{}", serve(service.router()).await);
        service.held().address.clone_from(&address);
        service.held().lifetime = 3600;
        (service, format!("{address}/mcp"))
    }

    fn router(&self) -> Router {
        Router::new()
            .route("/mcp", post(asked))
            .route("/sse", get(stream))
            .route("/messages", post(told))
            .route("/.well-known/oauth-protected-resource/mcp", get(resource))
            .route("/.well-known/oauth-protected-resource/sse", get(resource_of_stream))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(self.clone())
    }
}

fn known(service: &Service, headers: &HeaderMap, end: &str) -> Result<(), Response> {
    let who = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
    let mut held = service.held();
    let good = format!("Bearer access-{}-canary", held.given);
    let is_good = who == good && !held.is_revoked;
    held.seen.push(who);
    if !is_good {
        let challenge =
            format!("Bearer resource_metadata=\"{}/.well-known/oauth-protected-resource/{end}\"", held.address);
        return Err((StatusCode::UNAUTHORIZED, [("www-authenticate", challenge)]).into_response());
    }
    Ok(())
}

async fn asked(State(service): State<Service>, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    if let Err(refused) = known(&service, &headers, "mcp") {
        return refused;
    }
    match answer("tools 1", &message) {
        Some(result) => Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response(),
        None => StatusCode::ACCEPTED.into_response(),
    }
}

/// The stream of the older kind of server.
async fn stream(State(service): State<Service>, headers: HeaderMap) -> Response {
    if let Err(refused) = known(&service, &headers, "sse") {
        return refused;
    }
    let (sender, mut said) = mpsc::unbounded_channel();
    sender.send("event: endpoint\ndata: /messages?session=1\n\n".to_owned()).unwrap();
    service.held().stream = Some(sender);
    let stream = futures::stream::poll_fn(move |context| {
        said.poll_recv(context).map(|text| text.map(|text| Ok::<_, Infallible>(Bytes::from(text))))
    });
    ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
}

async fn told(State(service): State<Service>, headers: HeaderMap, Json(message): Json<Value>) -> Response {
    if let Err(refused) = known(&service, &headers, "sse") {
        return refused;
    }
    if let Some(result) = answer("tools 1", &message) {
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        service.held().stream.as_ref().unwrap().send(format!("event: message\ndata: {answer}\n\n")).unwrap();
    }
    StatusCode::ACCEPTED.into_response()
}

async fn resource_of_stream(State(service): State<Service>) -> Json<Value> {
    let address = service.held().address.clone();
    Json(json!({"resource": format!("{address}/sse"), "authorization_servers": [address]}))
}

async fn resource(State(service): State<Service>) -> Json<Value> {
    let address = service.held().address.clone();
    Json(json!({"resource": format!("{address}/mcp"), "authorization_servers": [address]}))
}

async fn metadata(State(service): State<Service>) -> Json<Value> {
    let address = service.held().address.clone();
    let authorize = service.held().elsewhere.clone().unwrap_or_else(|| format!("{address}/authorize"));
    Json(json!({
        "issuer": address,
        "authorization_endpoint": authorize,
        "token_endpoint": format!("{address}/token"),
        "registration_endpoint": format!("{address}/register"),
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "scopes_supported": ["read"],
    }))
}

async fn register(Json(wanted): Json<Value>) -> (StatusCode, Json<Value>) {
    assert_eq!(wanted["client_name"], "Belvedere");
    let answer = json!({"client_id": "client-1", "redirect_uris": wanted["redirect_uris"]});
    (StatusCode::CREATED, Json(answer))
}

fn fields(form: &str) -> HashMap<String, String> {
    reqwest::Url::parse(&format!("http://form/?{form}")).unwrap().query_pairs().into_owned().collect()
}

async fn authorize(State(service): State<Service>, RawQuery(query): RawQuery) -> Response {
    let fields = fields(&query.unwrap());
    let mut held = service.held();
    assert_eq!((fields["client_id"].as_str(), fields["code_challenge_method"].as_str()), ("client-1", "S256"));
    assert!(["mcp", "sse"].iter().any(|end| fields["resource"] == format!("{}/{end}", held.address)));
    held.challenge.clone_from(&fields["code_challenge"]);
    let (back, state) = (&fields["redirect_uri"], &fields["state"]);
    let end = if held.refuses { "error=access_denied&error_description=Not%20today" } else { "code=the-code" };
    (StatusCode::FOUND, [("location", format!("{back}?{end}&state={state}"))]).into_response()
}

async fn token(State(service): State<Service>, form: String) -> Response {
    let fields = fields(&form);
    let mut held = service.held();
    let fits = match fields["grant_type"].as_str() {
        "authorization_code" => {
            let hash = digest(&SHA256, fields["code_verifier"].as_bytes());
            fields["code"] == "the-code" && URL_SAFE_NO_PAD.encode(hash) == held.challenge
        }
        _ => fields["refresh_token"] == format!("refresh-{}-canary", held.given) && !held.is_revoked,
    };
    if !fits {
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant"}))).into_response();
    }
    held.given += 1;
    held.is_revoked = false;
    let given = held.given;
    Json(json!({
        "access_token": format!("access-{given}-canary"),
        "refresh_token": format!("refresh-{given}-canary"),
        "token_type": "Bearer",
        "expires_in": held.lifetime,
    }))
    .into_response()
}

fn web(url: &str) -> McpConfig {
    McpConfig { way: McpWay::Http { url: url.to_owned(), headers: Vec::new() }, ..config("web", "") }
}

/// What was said of tokens, so that they are masked.
type Learned = Arc<Mutex<Vec<String>>>;

fn servers(folder: &Path, config: McpConfig) -> (McpServers, Learned) {
    let learned = Learned::default();
    let told = learned.clone();
    let servers = McpServers::new(McpSetup {
        program: None,
        head_start: Duration::ZERO,
        sources: McpSources::default(),
        sign_ins: SignIns {
            folder: Some(folder.join("sign-ins").into()),
            learn: Some(Arc::new(move |token| told.lock().unwrap().push(token.to_owned()))),
            open_browser: None,
        },
        launch: Arc::new(|_| panic!("it is no program")),
    });
    servers.set(vec![config]);
    (servers, learned)
}

/// Waits until the state of the one server is such.
async fn until(servers: &McpServers, is_meant: impl Fn(&McpState) -> bool) -> McpState {
    let mut changes = servers.changes();
    let waiting = async {
        loop {
            let state = servers.states().remove(0).1;
            if is_meant(&state) {
                return state;
            }
            changes.changed().await.unwrap();
        }
    };
    let reached = tokio::time::timeout(Duration::from_mins(1), waiting).await;
    reached.unwrap_or_else(|_| panic!("it is {:?}", servers.states()))
}

fn browser() -> reqwest::Client {
    reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

/// Goes where a user is sent to, and returns where the browser is sent back to.
async fn sent_back(servers: &McpServers) -> String {
    assert!(servers.login("web").unwrap());
    let McpState::SigningIn(address) = until(servers, |state| matches!(state, McpState::SigningIn(_))).await else {
        unreachable!()
    };
    let answer = browser().get(address).send().await.unwrap();
    answer.headers()["location"].to_str().unwrap().to_owned()
}

async fn signed_in(servers: &McpServers) {
    let back = sent_back(servers).await;
    let page = browser().get(back).send().await.unwrap();
    assert_eq!(page.status(), 200);
    until(servers, |state| *state == McpState::Connected).await;
}

fn is_sign_in(state: &McpState) -> bool {
    matches!(state, McpState::SignIn(_))
}

#[tokio::test]
async fn the_user_signs_in_once_and_tokens_are_renewed() {
    let (service, url) = Service::start().await;
    let folder = tempfile::tempdir().unwrap();
    let (first, learned) = servers(folder.path(), web(&url));
    let state = until(&first, |state| *state != McpState::Starting).await;
    assert_eq!(state, McpState::SignIn(HOW.to_owned()));
    let back = sent_back(&first).await;
    // A page of somebody else finds out the port, but not what it has to repeat.
    let stranger = back.split_once("&state=").unwrap().0;
    for wrong in [format!("{stranger}&state=guess"), stranger.to_owned(), back.replace("/callback", "/other")] {
        assert_eq!(browser().get(wrong).send().await.unwrap().status(), 404);
    }
    let page = browser().get(back).send().await.unwrap();
    assert!(page.text().await.unwrap().contains("You are signed in"));
    until(&first, |state| *state == McpState::Connected).await;
    assert_eq!(first.facts()[0].tools, ["mcp__web__echo", "mcp__web__write_0"]);
    for token in ["access-1-canary", "refresh-1-canary"] {
        assert!(learned.lock().unwrap().iter().any(|learned| learned == token), "{token} is not masked");
    }
    first.end().await;

    let kept = folder.path().join("sign-ins");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let file = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap().path();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    // The next session asks nobody; a server elsewhere learns nothing of it.
    let (other, elsewhere) = Service::start().await;
    let (strange, _) = servers(folder.path(), web(&elsewhere));
    until(&strange, is_sign_in).await;
    assert!(other.held().seen.iter().all(String::is_empty));
    let (second, _) = servers(folder.path(), web(&url));
    until(&second, |state| *state == McpState::Connected).await;
    second.end().await;

    // One that has run out is renewed, and each token for renewal is used once.
    let text = std::fs::read_to_string(&file).unwrap();
    let mut record: Value = serde_json::from_str(&text).unwrap();
    record["credentials"]["token_received_at"] = json!(1);
    std::fs::write(&file, record.to_string()).unwrap();
    let (third, _) = servers(folder.path(), web(&url));
    until(&third, |state| *state == McpState::Connected).await;
    assert_eq!(service.held().given, 2);
    assert!(third.call(("web", "echo"), Map::new(), &CancellationToken::new()).await.is_ok());
    third.end().await;

    // What the service takes back while it is in use is asked for anew, and so is what nobody can read.
    let (fourth, _) = servers(folder.path(), web(&url));
    until(&fourth, |state| *state == McpState::Connected).await;
    service.held().is_revoked = true;
    let asked = fourth.call(("web", "echo"), Map::new(), &CancellationToken::new()).await;
    assert_eq!(asked, Err(McpError::SignIn));
    until(&fourth, is_sign_in).await;
    signed_in(&fourth).await;
    fourth.end().await;
    std::fs::write(&file, "{").unwrap();
    let (fifth, _) = servers(folder.path(), web(&url));
    until(&fifth, is_sign_in).await;
}

#[tokio::test]
async fn a_server_of_the_older_kind_is_signed_in_to_as_well() {
    let (service, url) = Service::start().await;
    let folder = tempfile::tempdir().unwrap();
    let old =
        McpConfig { way: McpWay::Sse { url: url.replace("/mcp", "/sse"), headers: Vec::new() }, ..config("web", "") };
    let (first, _) = servers(folder.path(), old.clone());
    assert_eq!(until(&first, |state| *state != McpState::Starting).await, McpState::SignIn(HOW.to_owned()));
    signed_in(&first).await;
    assert!(first.call(("web", "echo"), Map::new(), &CancellationToken::new()).await.is_ok());
    first.end().await;

    service.held().seen.clear();
    let (second, _) = servers(folder.path(), old);
    until(&second, |state| *state == McpState::Connected).await;
    let seen = service.held().seen.clone();
    // Finding out where users sign in takes no token.
    let mut tokens = seen.iter().filter(|who| !who.is_empty()).peekable();
    assert!(tokens.peek().is_some() && tokens.all(|who| who == "Bearer access-1-canary"), "{seen:?}");
    service.held().is_revoked = true;
    let asked = second.call(("web", "echo"), Map::new(), &CancellationToken::new()).await;
    assert_eq!(asked, Err(McpError::SignIn));
    until(&second, is_sign_in).await;
}

#[tokio::test]
async fn a_refusal_is_named_and_a_way_of_ones_own_stays_ones_own() {
    let (service, url) = Service::start().await;
    service.held().refuses = true;
    let folder = tempfile::tempdir().unwrap();
    let (refused, _) = servers(folder.path(), web(&url));
    until(&refused, is_sign_in).await;
    let page = browser().get(sent_back(&refused).await).send().await.unwrap();
    assert_eq!(page.status(), 400);
    let McpState::SignIn(why) = until(&refused, is_sign_in).await else { unreachable!() };
    assert_eq!(why, format!("the server refuses: access_denied: Not today · {HOW}"));

    let headers = vec![("authorization".to_owned(), "Bearer mine".to_owned())];
    let own = McpConfig { way: McpWay::Http { url, headers }, ..config("web", "") };
    let (own, _) = servers(folder.path(), own);
    let state = until(&own, |state| *state != McpState::Starting).await;
    assert_eq!(state, McpState::Waiting("the server wants you to sign in".to_owned()));
    assert!(!own.login("web").unwrap());
}

/// Returns the address of this machine in its network, if it has one.
fn own_address() -> Option<std::net::IpAddr> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent.
    socket.connect("192.0.2.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_loopback() && !address.is_unspecified())
}

#[tokio::test]
async fn a_server_elsewhere_sends_no_browser_to_this_machine() {
    let Some(address) = own_address() else { return };
    let listener = tokio::net::TcpListener::bind((address, 0)).await.unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    let service = Service::default();
    let router = service.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    service.held().address.clone_from(&place);
    let folder = tempfile::tempdir().unwrap();
    for elsewhere in [
        "http://127.0.0.1:8080/authorize",
        "https://localhost/authorize",
        "http://[::1]:9/a",
        "http://127.1/a",
        "http://2130706433/a",
        "http://[::ffff:127.0.0.1]/a",
        "http://me.localhost/a",
        "http://0.0.0.0:1/a",
    ] {
        service.held().elsewhere = Some(elsewhere.to_owned());
        let (servers, _) = servers(folder.path(), web(&format!("{place}/mcp")));
        until(&servers, is_sign_in).await;
        assert!(servers.login("web").unwrap());
        let is_refused = |state: &McpState| matches!(state, McpState::SignIn(why) if why != HOW);
        let McpState::SignIn(why) = until(&servers, is_refused).await else { unreachable!() };
        assert!(why.contains("which is") && why.contains("this machine"), "{elsewhere}: {why}");
    }
}

#[tokio::test]
async fn in_a_shell_the_address_that_the_browser_ended_at_can_be_pasted() {
    let (service, url) = Service::start().await;
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/belvedere");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.toml"), format!("[mcp_servers.web]\nurl = \"{url}\"\n")).unwrap();
    let belvedere = |act: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belvedere"));
        command.args(["mcp", act, "web"]).current_dir(home.path()).env_clear().env("HOME", home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        command
    };
    let mut signing_in = belvedere("login").spawn().unwrap();
    let mut said = BufReader::new(signing_in.stdout.take().unwrap()).lines();
    let address = loop {
        let line = said.next_line().await.unwrap().expect("it names the address");
        if line.starts_with("http") {
            break line;
        }
    };
    let answer = browser().get(address).send().await.unwrap();
    let back = answer.headers()["location"].to_str().unwrap();
    signing_in.stdin.take().unwrap().write_all(format!("{back}\n").as_bytes()).await.unwrap();
    assert!(signing_in.wait().await.unwrap().success());
    let mut rest = Vec::new();
    while let Some(line) = said.next_line().await.unwrap() {
        rest.push(line);
    }
    assert_eq!(rest.last().map(String::as_str), Some("Signed in to web."));
    assert_eq!(service.held().given, 1);
    for (act, expected) in [
        ("test", "web: connected  2 tools"),
        ("logout", "Signed out of web.\n"),
        ("logout", "Nobody is signed in to web.\n"),
        ("test", "web: sign in"),
    ] {
        let output = belvedere(act).output().await.unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with(expected), "{act}: {said}");
    }
}
