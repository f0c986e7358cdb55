//! Canaries: secrets in the environment, settings, files, output, answers, errors and panics, searched for afterwards in
//! every file that the program wrote and in everything that it showed.
//!
//! What the program cannot know is left out: a secret in a file that has no known shape, and which it does not use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use belvedere::session::Secrets;
use serde_json::{Value, json};

use super::keys::{ModelServer, Step, calls, says};
use super::{Bench, text};
use crate::pty::terminal::Terminal;

/// Of the service that is asked, from a command.
const FETCHED: &str = "canary-of-the-command-4711";
/// Of another service, in the settings.
const WRITTEN: &str = "canary-of-the-settings-4712";
/// Of a third one, in the environment.
const SET: &str = "canary-of-the-environment-4713";
const RANDOM: &str = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
/// What all canaries of a known shape have in common.
const SHAPED: &str = "F6g7H8i9J0";
/// What shows that there was something to see.
const HARMLESS: &str = "a harmless word";

/// Returns a token that begins so. None stands in the source.
fn token(begin: &str) -> String {
    [begin, RANDOM].concat()
}

/// Files that the test itself wrote.
const OWN_FILES: [&str; 4] = ["config.toml", "key", "leak.env", "id_test"];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.at_home("key", FETCHED);
    bench.settings(&format!(
        "[providers.openai]\napi_key_command = \"cat key\"\n[providers.deepseek]\napi_key = \"{WRITTEN}\"\n"
    ));
    bench.file("leak.env", &format!("{HARMLESS}\nGH={}\nOWN={SET}\n", token("ghp_")));
    bench.file("id_test", &format!("-----BEGIN PRIVATE KEY-----\n{RANDOM}\n{RANDOM}\n-----END PRIVATE KEY-----\n"));
    bench
}

fn environment<'a>(base: &'a str, home: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("OPENAI_BASE_URL", base),
        ("ANTHROPIC_API_KEY", SET),
        ("HOME", home),
        ("BELVEDERE_LOG", "trace"),
        ("RUST_BACKTRACE", "1"),
    ]
}

/// What the model does: it reads the files, runs a command, and repeats all it can.
fn steps() -> Vec<Step> {
    // The tokens come into being when the command runs.
    let command = "printenv > given; cat given; cat ~/.config/belvedere/config.toml ~/key leak.env id_test; \
                   x=$(sed -n s/GH=ghp_//p leak.env); printf 'xoxb-%s\n' $x >&2; printf 'npm_%s\n' $x";
    let answer = [
        format!("It was {HARMLESS}: {FETCHED}, {}", &SET[..9]),
        format!("{} and sk-ant-{}", &SET[9..], &RANDOM[..8]),
        format!("{}, AIza{}.", &RANDOM[8..], &RANDOM[..35]),
    ];
    let read = |path: &str| calls("Read", &json!({"file_path": path}));
    let task = format!("WHAT: explain {} and {SET}. WHERE: here. RETURN: a word.", token("ghp_"));
    let child = json!({"description": "look", "subagent_type": "explore", "prompt": task});
    vec![
        (FETCHED, read("leak.env")),
        (FETCHED, read("id_test")),
        (FETCHED, calls("Bash", &json!({"command": command, "description": format!("uses {}", token("gsk_"))}))),
        (FETCHED, calls("Agent", &child)),
        (FETCHED, says(&[&format!("<summary>The child found {} and {SET}.</summary>", token("npm_"))])),
        (FETCHED, says(&answer.each_ref().map(String::as_str))),
    ]
}

fn failing() -> Vec<Step> {
    let words = format!("{HARMLESS}: {FETCHED}, {SET}, {}", token("glpat-"));
    vec![(FETCHED, vec![json!({"error": {"message": words, "type": "invalid_request_error"}})])]
}

/// Fails if a canary is in a text.
fn search(place: &str, text: &str) {
    for canary in [FETCHED, WRITTEN, SET, SHAPED] {
        assert!(!text.contains(canary), "{canary} in {place}:\n{text}");
    }
}

/// Searches every file below the home and the project but those of the test, and returns all of their text.
fn search_files(bench: &Bench) -> String {
    let mut paths: Vec<PathBuf> = [&bench.home, &bench.project].map(|folder| folder.path().to_owned()).into();
    let mut all = String::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if !OWN_FILES.iter().any(|name| path.file_name() == Some(OsStr::new(name))) {
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default()).into_owned();
            search(&path.display().to_string(), &text);
            search("the name of a file", &path.display().to_string());
            all += &text;
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_canary_is_in_what_p_prints_or_in_a_file() {
    for format in ["text", "json", "stream-json", "events"] {
        for (steps, code) in [(steps(), 0), (failing(), 1)] {
            let (bench, server) = (bench(), ModelServer::start(steps).await);
            let flags = ["-p", "go", "--model", "openai/tiny", "--allowedTools", "Bash", "--output-format", format];
            let home = bench.home.path().to_str().unwrap().to_owned();
            let mut command = bench.command(&flags);
            command.envs(environment(&server.base, &home));
            let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
            let shown = text(&output.stdout) + &text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{shown}");
            search(format, &shown);
            assert!(shown.contains(HARMLESS) && shown.contains("***"), "{shown}");
            let kept = search_files(&bench);
            assert!(kept.contains(HARMLESS) && kept.contains("***") && kept.contains("TRACE"), "{kept}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_canary_is_in_the_lines_of_plain_or_in_an_export() {
    let (bench, server) = (bench(), ModelServer::start([steps(), failing()].concat()).await);
    let home = bench.home.path().to_str().unwrap().to_owned();
    let mut command = bench.command(&["--plain", "--model", "openai/tiny", "--allowedTools", "Bash"]);
    command.envs(environment(&server.base, &home));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = move || {
        let mut child = command.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"go\nand once more\n").unwrap();
        child.wait_with_output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let shown = text(&output.stdout) + &text(&output.stderr);
    search("--plain", &shown);
    assert_eq!(shown.matches(HARMLESS).count(), 2, "the answer and the error: {shown}");
    for format in ["md", "html", "json"] {
        let mut command = bench.command(&["export", "--format", format]);
        let output = command.envs(environment(&server.base, &home)).output().unwrap();
        let exported = std::fs::read_to_string(text(&output.stdout).trim()).unwrap();
        search(format, &exported);
        assert!(exported.contains(HARMLESS) && exported.contains("***"), "{exported}");
    }
    search_files(&bench);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_canary_is_on_the_screen() {
    let asked = json!({"command": format!("echo {}; printenv; cat leak.env", token("ghp_"))});
    let mut all = vec![(FETCHED, calls("Bash", &asked))];
    all.extend(steps().into_iter().filter(|(_, deltas)| !is_call_of(deltas, "Bash")));
    all.extend(failing());
    let (bench, server) = (bench(), ModelServer::start(all).await);
    let home = bench.home.path().to_str().unwrap().to_owned();
    let env = environment(&server.base, &home);
    let (written, screens) = tokio::task::block_in_place(|| on_a_screen(bench.project.path(), &env));
    for screen in &screens {
        search("the screen", screen);
    }
    search("what the terminal was sent", &String::from_utf8_lossy(&written));
    assert!(screens[0].contains("echo ghp_***q7R8; printenv; cat leak.env"), "{}", screens[0]);
    let kept = search_files(&bench);
    assert!(kept.contains(HARMLESS) && kept.contains("TRACE"));
}

/// Asks twice on a terminal, answers a question, and returns what the terminal was sent and some screens.
fn on_a_screen(project: &Path, env: &[(&str, &str)]) -> (Vec<u8>, Vec<String>) {
    let terminal = Terminal::start(160, 50, &["--model", "openai/tiny"], project, env);
    terminal.shows("tiny");
    terminal.send("go\r");
    let question = terminal.shows("echo ghp_");
    terminal.answers("\x1by", |screen| !screen.contains("allow"));
    let answer = terminal.wait("the answer", |screen| screen.contains("It was a harmless word"));
    terminal.send("and once more\r");
    let error = terminal.shows("refused the request");
    let written = terminal.written();
    terminal.send("/quit\r");
    terminal.ended();
    (written, vec![question, answer, error])
}

fn is_call_of(deltas: &[Value], tool: &str) -> bool {
    deltas[0]["tool_calls"][0]["function"]["name"] == tool
}

#[test]
fn no_canary_is_in_the_report_of_a_panic() {
    let name = "headless::canaries::panics_with_canaries";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"]);
    for trace in ["0", "1"] {
        let output = command.env("RUST_BACKTRACE", trace).output().unwrap();
        let said = text(&output.stderr);
        search("a panic", &said);
        assert!(said.contains("panicked at tests/it/headless/canaries.rs:"), "{said}");
        assert!(said.contains("\na harmless word: *** and ***"), "{said}");
        assert_eq!(said.contains("stack backtrace:"), trace == "1", "{said}");
    }
}

#[test]
#[ignore = "run by the test above in a process of its own"]
fn panics_with_canaries() {
    let secrets = Secrets::default();
    belvedere::headless::report_panics(secrets.clone());
    secrets.learn([SET]);
    panic!("{HARMLESS}: {SET} and {}", token("ghp_"));
}
