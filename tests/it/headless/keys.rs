//! Where the keys of services come from: the real binary before a server that looks at what it is sent.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use belvedere::services::keys::KeyCommands;
use belvedere::session::Secrets;
use serde_json::{Value, json};

use super::{Bench, text};

const KEY: &str = "key-of-the-command-4711";
const OTHER: &str = "key-of-another-run-4712";

/// A step of the server: the key that it takes, and what the model then says or calls, delta by delta. An error is sent
/// with status 400.
pub(super) type Step = (&'static str, Vec<Value>);

pub(super) fn says(pieces: &[&str]) -> Vec<Value> {
    pieces.iter().map(|piece| json!({"content": piece})).collect()
}

pub(super) fn calls(name: &str, input: &Value) -> Vec<Value> {
    let function = json!({"name": name, "arguments": input.to_string()});
    vec![json!({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]})]
}

/// A service that takes its steps one by one, and refuses any other key than that of the step with 401.
pub(super) struct ModelServer {
    /// Address for `OPENAI_BASE_URL`.
    pub(super) base: String,
    sent: Arc<Mutex<Vec<String>>>,
}

impl ModelServer {
    pub(super) async fn start(steps: impl IntoIterator<Item = Step>) -> Self {
        let steps: Arc<Mutex<VecDeque<Step>>> = Arc::new(Mutex::new(steps.into_iter().collect()));
        let sent: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = sent.clone();
        let answer = move |headers: HeaderMap| async move {
            let key = headers.get("authorization").map_or("none", |value| value.to_str().unwrap()).to_owned();
            seen.lock().unwrap().push(key.replace("Bearer ", ""));
            let mut steps = steps.lock().unwrap();
            let deltas = steps.front().filter(|(wanted, _)| key.ends_with(wanted)).map(|(_, deltas)| deltas.clone());
            let Some(deltas) = deltas else {
                let said = json!({"error": {"message": format!("invalid key {key}")}});
                return (StatusCode::UNAUTHORIZED, said.to_string()).into_response();
            };
            steps.pop_front();
            if !deltas[0]["error"].is_null() {
                return (StatusCode::BAD_REQUEST, deltas[0].to_string()).into_response();
            }
            let reason = if deltas[0]["tool_calls"].is_null() { "stop" } else { "tool_calls" };
            let chunk = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta}]});
            let events: String = deltas.iter().map(|delta| format!("data: {}\n\n", chunk(delta))).collect();
            let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
            let response: Response =
                ([("content-type", "text/event-stream")], format!("{events}data: {end}\n\ndata: [DONE]\n\n"))
                    .into_response();
            response
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self { base, sent }
    }
}

/// What the binary did: what it printed, and the keys that the server was sent.
struct Asked {
    output: Output,
    sent: Vec<String>,
}

impl Asked {
    fn said(&self) -> String {
        text(&self.output.stdout) + &text(&self.output.stderr)
    }
}

impl Bench {
    /// Lets the user's settings say this, and nobody else read it.
    pub(super) fn settings(&self, toml: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let place = ".config/belvedere/config.toml";
        self.at_home(place, toml);
        std::fs::set_permissions(self.home.path().join(place), std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.home.path().join(path)).unwrap_or_default()
    }

    /// Asks the binary before a server that takes these steps.
    async fn go(&self, steps: impl IntoIterator<Item = Step>, args: &[&str], env: &[(&str, &str)]) -> Asked {
        let server = ModelServer::start(steps).await;
        let mut command = self.command(&[&["-p", "go"], args].concat());
        command.env("OPENAI_BASE_URL", &server.base).envs(env.iter().copied());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let sent = std::mem::take(&mut *server.sent.lock().unwrap());
        Asked { output, sent }
    }
}

const TINY: [&str; 2] = ["--model", "openai/tiny"];
const COMMAND: &str =
    "[providers.openai]\napi_key_command = \"echo run >> runs; pwd > place; printenv > given; cat key\"";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_prints_the_key_of_a_built_in_service_once_and_only_for_it() {
    let bench = Bench::new();
    bench.at_home("key", &format!("  {KEY}\n"));
    bench.settings(COMMAND);
    bench.file("bin/cat", "#!/bin/sh\necho key-of-the-project-666\n");
    let program = bench.project.path().join("bin/cat");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let env = [("PATH", path.as_str()), ("ANTHROPIC_API_KEY", "key-of-anthropic-13"), ("GPG_TTY", "/dev/tty")];
    let run = json!({"command": format!("printenv; echo {KEY}")});
    let steps = [(KEY, calls("Bash", &run)), (KEY, calls("Bash", &run)), (KEY, says(&["All is well."]))];
    let asked = bench.go(steps, &[&TINY[..], &["--allowedTools", "Bash"]].concat(), &env).await;
    assert_eq!(text(&asked.output.stdout), "All is well.\n", "{}", asked.said());
    assert_eq!(asked.sent, [KEY, KEY, KEY], "the program of the project is not run");
    assert_eq!(bench.read("runs"), "run\n", "once in a session");
    assert_eq!(Path::new(bench.read("place").trim()), bench.home.path().canonicalize().unwrap());
    let given = bench.read("given");
    assert!(given.contains("HOME=") && !given.contains("anthropic") && !given.contains("GPG_TTY"), "{given}");
    let kept = kept(&bench.home.path().join(".local"));
    assert!(kept.contains("All is well.") && !kept.contains(KEY), "{kept}");

    // A variable counts more, and another model needs no key of this service.
    let asked = bench.go([(OTHER, says(&["ok"]))], &TINY, &[("OPENAI_API_KEY", OTHER)]).await;
    assert_eq!(asked.sent, [OTHER]);
    let asked = bench.go([], &["--model", "offline"], &[]).await;
    assert!(asked.output.status.success() && asked.sent.is_empty(), "{}", asked.said());
    assert_eq!(bench.read("runs"), "run\n");
}

/// Returns all that is in the files below a folder.
fn kept(folder: &Path) -> String {
    let mut paths: Vec<PathBuf> = vec![folder.to_owned()];
    let mut kept = String::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            kept += &String::from_utf8_lossy(&std::fs::read(path).unwrap());
        }
    }
    kept
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_is_refused_is_fetched_again_once() {
    let bench = Bench::new();
    bench.settings(&format!(
        "[providers.openai]\napi_key_command = \"echo run >> runs; if [ $(wc -l < runs) = 1 ]; then echo {KEY}; else echo {OTHER}; fi\""
    ));
    let read = json!({"file_path": "Cargo.toml"});
    let asked = bench.go([(KEY, calls("Read", &read)), (OTHER, says(&["renewed"]))], &TINY, &[]).await;
    assert_eq!(text(&asked.output.stdout), "renewed\n", "{}", asked.said());
    assert_eq!(asked.sent, [KEY, KEY, OTHER]);

    // One that was fetched for this request and is refused is not asked for again.
    let bench = Bench::new();
    bench.settings(&format!("[providers.openai]\napi_key_command = \"echo run >> runs; echo {KEY}\""));
    let asked = bench.go([("no key", says(&["never"]))], &TINY, &[]).await;
    let said = asked.said();
    assert_eq!((asked.output.status.code(), bench.read("runs").as_str()), (Some(1), "run\n"), "{said}");
    assert!(said.contains("(invalid key Bearer ***)"), "{said}");
    assert!(said.contains("Check `api_key_command` of `[providers.openai]` and its access to this model."), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_without_a_key_says_why_and_what_to_do() {
    let token = ["ghp_", &"a1B2c3D4e5".repeat(4)].concat();
    let fails = format!("echo 'vault: locked' >&2; echo {token} >&2; exit 7");
    for (line, why) in [
        (fails.as_str(), "(the command ended with status 7: vault: locked ***)"),
        ("exit 1", "(the command ended with status 1: it says nothing on standard error)"),
        ("kill -9 $$", "(the command was killed: it says nothing on standard error)"),
        ("true", "(the command printed nothing)"),
        ("printf 'one-long-line\\ntwo'", "(the command printed 2 lines; a key is one line: add | head -n 1)"),
        ("yes", "(the command "),
    ] {
        let bench = Bench::new();
        bench.settings(&format!("[providers.openai]\napi_key_command = {}", json!(line)));
        let asked = bench.go([], &TINY, &[]).await;
        let said = asked.said();
        assert_eq!((asked.output.status.code(), asked.sent.len()), (Some(1), 0), "{line}: {said}");
        assert!(said.contains(why), "{line}: {said}");
        assert!(said.contains("needs an API key") && said.contains("or set OPENAI_API_KEY."), "{line}: {said}");
        assert!(!said.contains("one-long-line") && !said.contains(&token), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_in_the_settings_is_used_where_nothing_else_is_and_never_that_of_a_project() {
    let bench = Bench::new();
    let own = format!("[providers.openai]\napi_key = \"{KEY}\"\n[providers.nobody]\napi_key = \"{OTHER}\"");
    bench.settings(&own);
    bench.file(".belvedere/config.toml", &format!("[providers.openai]\napi_key = \"{OTHER}\""));
    let asked = bench.go([(KEY, says(&[&format!("The key is {KEY}.")]))], &TINY, &[]).await;
    assert_eq!(asked.sent, [KEY]);
    let said = asked.said();
    assert!(said.contains("a project may not set `providers`"), "{said}");
    assert!(said.contains("`providers.nobody`: there is no such service"), "{said}");
    assert!(!kept(&bench.home.path().join(".local")).contains(KEY) && !said.contains(OTHER), "{said}");
    bench.settings(&format!("[providers.openai]\napi_key = \"{KEY}\"\napi_key_command = \"echo {OTHER}\""));
    let asked = bench.go([(OTHER, says(&["ok"]))], &TINY, &[]).await;
    assert_eq!(asked.sent, [OTHER], "a command counts more");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_does_not_end_is_ended_with_all_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let commands = KeyCommands {
        untrusted: Vec::new(),
        home: Some(folder.path().to_owned()),
        withheld: Vec::new(),
        secrets: Secrets::default(),
    };
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    // Whoever is left would hold the pipe open. The clock of the test stands until the command has begun.
    let begun = tokio::task::spawn_blocking(move || std::fs::File::open(pipe).unwrap());
    let run = commands.run("sleep 1000 > pipe & exec sleep 1000 > pipe");
    let (run, begun) = tokio::join!(run, begun);
    assert_eq!(run.unwrap_err(), "the command did not end within 60 s");
    let read = tokio::task::spawn_blocking(move || std::io::read_to_string(begun.unwrap()).unwrap());
    assert_eq!(read.await.unwrap(), "");
}

#[tokio::test]
async fn what_a_command_leaves_running_with_its_output_is_not_waited_for_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let commands = KeyCommands {
        untrusted: Vec::new(),
        home: Some(folder.path().to_owned()),
        withheld: Vec::new(),
        secrets: Secrets::default(),
    };
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let begun = tokio::task::spawn_blocking(move || std::fs::File::open(pipe).unwrap());
    let run = commands.run("exec 3> pipe; sleep 1000 & echo key-4711");
    let (run, begun) = tokio::join!(run, begun);
    assert_eq!(run.unwrap().expose(), "key-4711");
    let read = tokio::task::spawn_blocking(move || std::io::read_to_string(begun.unwrap()).unwrap());
    assert_eq!(read.await.unwrap(), "", "nobody holds the pipe any more");
}
