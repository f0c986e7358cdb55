//! Services that the user has added to the configuration: the real binary before a server of the test.

use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{Bench, text};

/// A request as the server saw it.
pub(super) struct Seen {
    path: String,
    model: String,
    headers: HeaderMap,
    pub(super) body: Value,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

type Log = Arc<Mutex<Vec<Seen>>>;

/// Answers in either wire format, and lists one model.
async fn answer(State(log): State<Log>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (path, model) = (uri.path().to_owned(), request["model"].as_str().unwrap_or_default().to_owned());
    let pass = headers.get("x-pass").map(|value| value.to_str().unwrap().to_owned());
    log.lock().unwrap().push(Seen { path: path.clone(), model, headers, body: request.clone() });
    let events = [("content-type", "text/event-stream")];
    if path.ends_with("/models") {
        return json!({"object": "list", "data": [{"id": "listed"}]}).to_string().into_response();
    }
    if request["model"] == "absent" {
        let error = json!({"error": {"message": "no such model"}}).to_string();
        return (axum::http::StatusCode::NOT_FOUND, error).into_response();
    }
    if request["model"] == "echo" {
        let error = json!({"error": {"message": format!("nobody knows {}", pass.unwrap_or_default())}}).to_string();
        return (axum::http::StatusCode::BAD_REQUEST, error).into_response();
    }
    if path.ends_with("/messages") {
        let message = json!({"type": "message", "content": [{"type": "text", "text": "by messages"}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}});
        return ([("content-type", "application/json")], message.to_string()).into_response();
    }
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "by chat"}, "finish_reason": "stop"}]});
    (events, format!("data: {chunk}\n\ndata: [DONE]\n\n")).into_response()
}

/// In the place of a variable: what the user's settings of Claude Code say.
pub(super) const SETTINGS: &str = "SETTINGS";

/// Asks the binary with these files; `{base}` in them stands for the address of the server.
pub(super) async fn ask(user: &str, project: &str, args: &[&str], env: &[(&str, &str)]) -> (Output, Vec<Seen>) {
    let log = Log::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer).with_state(log.clone());
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let bench = Bench::new();
    bench.at_home(".config/belvedere/config.toml", &user.replace("{base}", &base));
    bench.file(".belvedere/config.toml", &project.replace("{base}", &base));
    if let Some((_, settings)) = env.iter().find(|(name, _)| *name == SETTINGS) {
        bench.at_home(".claude/settings.json", settings);
        bench.file(".claude/settings.json", r#"{"effortLevel": "max", "alwaysThinkingEnabled": true}"#);
    }
    let mut command = bench.command(&[&["-p", "go"], args].concat());
    command.envs(env.iter().map(|(name, value)| (*name, value.replace("{base}", &base))));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    server.abort();
    let seen = std::mem::take(&mut *log.lock().unwrap());
    (output, seen)
}

const CHAT: &str = r#"
    [providers.mine]
    wire = "openai"
    url = "{base}/openai/v1"
    key_env = "MINE_ACCESS"
    model = "tiny"
    headers = { "X-Team" = "shop" }
"#;
const MESSAGES: &str = r#"
    [providers.gate]
    wire = "anthropic"
    url = "{base}/claude"
    key_env = "GATE_ACCESS"
    key_header = "X-Gate-Key"
    headers = { "X-Team" = "shop" }
"#;
const KEYS: [(&str, &str); 2] = [("MINE_ACCESS", "mine-key-12345"), ("GATE_ACCESS", "gate-key-12345")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_of_the_users_own_is_asked_with_its_key_and_its_headers() {
    let both = [CHAT, MESSAGES].concat();
    for (args, path, model, name, key) in [
        (
            &["--model", "mine/large"][..],
            "/openai/v1/chat/completions",
            "large",
            "authorization",
            "Bearer mine-key-12345",
        ),
        (&["--model", "mine"], "/openai/v1/chat/completions", "tiny", "authorization", "Bearer mine-key-12345"),
        (&[], "/openai/v1/chat/completions", "tiny", "authorization", "Bearer mine-key-12345"),
        (&["--model", "Gate/opus-like"], "/claude/v1/messages", "opus-like", "x-gate-key", "gate-key-12345"),
    ] {
        let (output, seen) = ask(&both, "", args, &KEYS).await;
        let [request] = seen.as_slice() else { panic!("{}", text(&output.stderr)) };
        assert_eq!((request.path.as_str(), request.model.as_str()), (path, model));
        assert_eq!((request.header(name), request.header("x-team")), (Some(key), Some("shop")), "{args:?}");
        let other = if name == "authorization" { "gate-key" } else { "mine-key" };
        assert!(!format!("{:?}", request.headers).contains(other), "each key goes to its own service");
        let said = if path.ends_with("messages") { "by messages\n" } else { "by chat\n" };
        assert_eq!(text(&output.stdout), said);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_without_a_key_or_a_model_says_what_to_do_or_is_asked_for_its_models() {
    let (output, seen) = ask(CHAT, "", &["--model", "mine"], &[]).await;
    let said = text(&output.stderr);
    assert!(said.contains("mine needs an API key: set MINE_ACCESS"), "{said}");
    assert!(seen.is_empty());
    let (output, _) = ask(MESSAGES, "", &["--model", "gate"], &KEYS).await;
    assert!(text(&output.stderr).contains("gate needs a model name: --model gate/NAME."));
    let open = "[providers.open]\nwire = \"openai\"\nurl = \"{base}/v1\"\n";
    let (output, seen) = ask(open, "", &["--model", "open"], &[]).await;
    assert_eq!(text(&output.stdout), "by chat\n", "{}", text(&output.stderr));
    assert_eq!(seen.last().map(|seen| seen.model.as_str()), Some("listed"));
    // One of the name of a built-in service stands in its place.
    let moved = "[providers.deepseek]\nwire = \"openai\"\nurl = \"{base}/v1\"\nkey_env = \"MINE_ACCESS\"\n";
    let (_, seen) = ask(moved, "", &["--model", "deepseek/any"], &KEYS).await;
    assert_eq!(seen[0].header("authorization"), Some("Bearer mine-key-12345"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_is_not_there_gives_way_to_the_one_that_is_named_for_that() {
    let both = [CHAT, MESSAGES].concat();
    let flags = ["--model", "mine/absent", "--fallback-model", "mine/absent, gate/spare"];
    let (output, seen) = ask(&both, "", &flags, &KEYS).await;
    let said = text(&output.stderr);
    assert!(said.contains("absent does not answer: spare stands in for this turn."), "{said}");
    assert_eq!(text(&output.stdout), "by messages\n");
    let asked: Vec<(&str, Option<&str>)> =
        seen.iter().map(|seen| (seen.model.as_str(), seen.header("x-gate-key"))).collect();
    assert_eq!(asked, [("absent", None), ("spare", Some("gate-key-12345"))]);
    // A project does not choose who reads the conversation.
    let (output, seen) = ask(&both, "fallback_model = \"gate/spare\"\n", &["--model", "mine/absent"], &KEYS).await;
    let said = text(&output.stderr);
    assert!(said.contains("a project may not set `fallback_model`"), "{said}");
    assert_eq!(seen.len(), 1);
}

#[test]
fn a_key_of_the_users_own_service_stays_out_of_files_and_commands() {
    let user = format!("[tools]\nenvironment = [\"MINE_*\"]\n{CHAT}");
    let prompt = "run `printenv MINE_ACCESS MINE_OTHER; echo mine-key-12345`";
    let flags = ["-p", prompt, "--model", "offline", "--permission-mode", "bypassPermissions"];
    let bench = Bench::new();
    bench.at_home(".config/belvedere/config.toml", &user.replace("{base}", "http://127.0.0.1:9"));
    let output = bench.command(&flags).envs(KEYS).env("MINE_OTHER", "handed on").output().unwrap();
    let said = text(&output.stdout);
    assert!(said.contains("handed on"), "{said} {}", text(&output.stderr));
    let mut folders = vec![bench.home.path().join(".local/state/belvedere/sessions")];
    let mut kept = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                kept += &std::fs::read_to_string(entry).unwrap();
            }
        }
    }
    assert!(kept.contains("handed on") && !kept.contains("mine-key-12345"), "{kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_cannot_add_or_redirect_a_service() {
    let own = CHAT.replace("/openai/v1", "/own/v1");
    let hostile =
        [CHAT, &CHAT.replace("providers.mine", "providers.openai")].concat().replace("/openai/v1", "/evil/v1");
    let env = [KEYS[0], ("OPENAI_API_KEY", "openai-key-12345")];
    let (output, seen) = ask(&own, &hostile, &["--model", "mine"], &env).await;
    let said = text(&output.stderr);
    assert!(said.contains("a project may not set `providers`: it decides who receives your files and keys."), "{said}");
    assert_eq!(text(&output.stdout), "by chat\n");
    assert!(!seen.is_empty() && seen.iter().all(|seen| seen.path.starts_with("/own/")));
    // Without one of the user's own, the name means nothing.
    let (output, seen) = ask("", &hostile, &["--model", "mine/tiny"], &env[..1]).await;
    assert_eq!((output.status.code(), seen.len()), (Some(1), 0), "{}", text(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headers_hold_what_variables_say_and_stay_out_of_all_that_is_shown() {
    // One that authenticates stands in the place of a key.
    let login = "[providers.gate]\nwire = \"anthropic\"\nurl = \"{base}/claude\"\nkey_env = \"GATE_ACCESS\"\n\
                 headers = { Authorization = \"Basic ${LOGIN}\", x-team = \"${TEAM:-shop}\" }\n";
    let (output, seen) = ask(login, "", &["--model", "gate/any"], &[("LOGIN", "bG9naW46aHVzaA")]).await;
    assert_eq!(text(&output.stdout), "by messages\n", "{}", text(&output.stderr));
    assert_eq!(seen[0].header("authorization"), Some("Basic bG9naW46aHVzaA"));
    assert_eq!((seen[0].header("x-team"), seen[0].header("x-api-key")), (Some("shop"), None));
    let (output, seen) = ask(login, "", &["--model", "gate/any"], &[]).await;
    let said = text(&output.stderr);
    let words = "`providers.gate`: the header `authorization` cannot be sent: the variable LOGIN is not set.";
    assert!(said.contains(words), "{said}");
    assert!(seen.is_empty());
    // Not where the key goes.
    let twice = login.replace("key_env", "key_header = \"authorization\"\nkey_env");
    let (output, seen) = ask(&twice, "", &["--model", "gate/any"], &[KEYS[1], ("LOGIN", "bG9naW46aHVzaA")]).await;
    let said = text(&output.stderr);
    assert!(
        said.contains("`providers.gate`: `headers` sets `authorization`, and so does GATE_ACCESS. Remove one of both."),
        "{said}"
    );
    assert!(seen.is_empty() && !said.contains("bG9naW46aHVzaA"));
    // A service that is known needs no row. What its server says of a header is masked, and so is the session's log.
    let known = "[providers.anthropic]\nheaders = { X-Pass = \"hush-hush-12345\" }\n";
    let env = [("ANTHROPIC_BASE_URL", "{base}/claude"), ("ANTHROPIC_API_KEY", "sk-12345678")];
    let (output, seen) = ask(known, "", &["--model", "anthropic/echo"], &env).await;
    assert_eq!(seen[0].header("x-pass"), Some("hush-hush-12345"));
    let said = text(&output.stderr);
    assert!(said.contains("nobody knows ***") && !said.contains("hush-hush"), "{said}");
    let bench = Bench::new();
    bench.at_home(".config/belvedere/config.toml", known);
    for shown in [["config", "get"].as_slice(), &["config", "get", "providers.anthropic.headers"], &["keys"]] {
        let output = bench.command(shown).output().unwrap();
        assert!(!text(&output.stdout).contains("hush-hush") && !text(&output.stderr).contains("hush-hush"));
    }
    // A project sends none.
    let (output, seen) = ask("", known, &["--model", "anthropic/any"], &env).await;
    assert!(text(&output.stderr).contains("a project may not set `providers`"), "{}", text(&output.stderr));
    assert_eq!(seen[0].header("x-pass"), None);
}

/// What the offline model begins an answer with.
const RULES: &str = "offline model";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_header_that_cannot_be_sent_is_an_error_and_no_other_model_answers() {
    let team = "[providers.anthropic]\nheaders = { \"X-Team\" = \"${TEAMX}\" }\n";
    let login = team.replace("X-Team", "Authorization");
    let bad_place = [("ANTHROPIC_API_KEY", "sk-12345678"), ("ANTHROPIC_BASE_URL", "gate.example:80:80")];
    let key = [("ANTHROPIC_API_KEY", "sk-12345678"), ("ANTHROPIC_BASE_URL", "{base}/claude"), ("OPENAI_API_KEY", "k")];
    for (user, env, words) in [
        (team, &key[..], "the header `x-team` cannot be sent: the variable TEAMX is not set"),
        (&login, &key[2..], "the header `authorization` cannot be sent: the variable TEAMX is not set"),
        ("", &bad_place, "ANTHROPIC_BASE_URL is not a URL (gate.example:80:80)"),
        ("", &[("AWS_BEARER_TOKEN_BEDROCK", "b")], "bedrock needs to know where it is: set AWS_REGION"),
        (
            "[providers.ollama]\nheaders = { x-a = \"${TEAMX}\" }\n",
            &[],
            "`providers.ollama`: the header `x-a` cannot be sent",
        ),
    ] {
        let (output, seen) = ask(user, "", &[], env).await;
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), seen.len()), (Some(1), 0), "{words}: {said}");
        assert!(said.contains(words), "{words}: {said}");
        assert_eq!(text(&output.stdout), "");
    }
    // A key that another program may have no place for keeps no other service from answering.
    let (output, seen) = ask(CHAT, "", &[], &[KEYS[0], ("AZURE_OPENAI_API_KEY", "z")]).await;
    assert_eq!((text(&output.stdout).as_str(), seen.len()), ("by chat\n", 1), "{}", text(&output.stderr));
}

#[test]
fn without_a_model_there_is_no_answer_unless_the_offline_model_is_named() {
    let bench = Bench::new();
    for format in ["text", "json", "stream-json", "events"] {
        let output = bench.command(&["-p", "hello", "--output-format", format]).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{format}: {out} {err}");
        assert!(!out.contains(RULES), "{format}: {out}");
        let said = if format == "text" { err } else { out };
        assert!(said.contains("No model connected.") && said.contains("ANTHROPIC_API_KEY"), "{format}: {said}");
        assert!(said.contains("--model offline"), "{format}: {said}");
    }
    for (flags, variable) in [(&["--model", "offline"][..], ""), (&[], "offline")] {
        let mut command = bench.command(&[&["-p", "hello"], flags].concat());
        let output = command.env("BELVEDERE_MODEL", variable).output().unwrap();
        assert!(output.status.success() && text(&output.stdout).contains(RULES), "{}", text(&output.stderr));
    }
}

#[test]
fn a_program_that_drives_a_session_gets_an_error_in_the_place_of_the_offline_models_answer() {
    let bench = Bench::new();
    let mut driven = super::programs::Driven::started(&bench, &[], &[]);
    driven.says("hello");
    let result = driven.result();
    assert_eq!(result["is_error"], true, "{result}");
    assert!(!result.to_string().contains(RULES), "{result}");
    assert_eq!(driven.end(), Some(1));
}
