//! Files of agents saved while the program runs: what the next request offers, and what the log says.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::Home;
use super::terminal::Terminal;

/// The tools and the messages of each request that offers `Agent`.
type Offers = Arc<Mutex<Vec<(Value, String)>>>;

/// Answers each request with one word.
async fn answer(State(offers): State<Offers>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let mut offers = offers.lock().unwrap();
    if request["tools"].to_string().contains("\"Agent\"") {
        offers.push((request["tools"].clone(), request["messages"].to_string()));
    }
    let text = format!("answer-{}", offers.len());
    let chunk = json!({"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    ([("content-type", "text/event-stream")], format!("data: {chunk}\n\ndata: [DONE]\n\n")).into_response()
}

/// A server on loopback, for as long as the test runs.
fn serve() -> (tokio::runtime::Runtime, String, Offers) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let offers = Offers::default();
    let app = Router::new().fallback(answer).with_state(offers.clone());
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, app).await });
    (runtime, base, offers)
}

#[test]
fn a_file_saved_while_the_program_runs_is_offered_in_the_next_request() {
    let (_runtime, base, offers) = serve();
    let home = Home::new();
    let project = home.path().join("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(project.join(".claude/agents")).unwrap();
    let there = "---\nname: keeper\ndescription: was there before\n---\nYou keep.";
    fs::write(project.join(".claude/agents/keeper.md"), there).unwrap();
    let environment = [
        ("HOME", home.path().to_str().unwrap()),
        ("OPENAI_BASE_URL", &base),
        ("BELVEDERE_LOG", "belvedere::definition=debug"),
    ];
    let terminal = Terminal::start(120, 40, &["--trust", "--model", "openai/m"], &project, &environment);
    terminal.shows("ctrl+p actions");
    let mut answers = 0;
    let mut offered = |text: &str| {
        answers += 1;
        terminal.send(text);
        terminal.send("\r");
        terminal.shows(&format!("answer-{answers}"));
        offers.lock().unwrap().last().unwrap().clone()
    };
    let (tools, said) = offered("first");
    let first = format!("{tools} {said}");
    assert!(first.contains("was there before") && !first.contains("scout"), "{first}");
    let screen = terminal.shows("answer-1");
    assert!(!screen.contains("agents: +"), "what the start found is no change:\n{screen}");
    let folders = [home.path(), &project].map(|root| [".claude", ".kode"].map(|name| root.join(name).join("agents")));
    let write = |folder: &Path, name: &str, words: &str| {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("new"), format!("---\nname: {name}\ndescription: {words}\n---\nYou scout.")).unwrap();
        fs::rename(folder.join("new"), folder.join(format!("{name}.md"))).unwrap();
    };
    let mut saved = |at: usize, folder: &Path| {
        let words = format!("is of step {at}");
        write(folder, &format!("scout{at}"), &words);
        terminal.shows(&format!("agents: +scout{at}"));
        let (unchanged, said) = offered(&format!("step {at}"));
        assert_eq!((unchanged == tools, said.matches(&words).count()), (true, 1), "{words}");
    };
    for (at, folder) in folders.iter().flatten().enumerate() {
        saved(at, folder);
    }
    // A busy home costs no reading.
    for number in 0..200 {
        fs::write(home.path().join(format!("busy-{number}")), "").unwrap();
    }
    saved(4, &folders[1][1]);
    terminal.send("\u{3}\u{3}");
    assert!(terminal.ended().success());
    let log = fs::read_to_string(home.path().join(".local/state/belvedere/belvedere.log")).unwrap();
    let in_force: Vec<&str> = log.lines().filter(|line| line.contains("agent files reloaded")).collect();
    assert_eq!(in_force.len(), 5, "{log}");
    assert!(in_force.iter().all(|line| line.contains("took_ms=") && line.contains("age_ms=")), "{log}");
    let readings = log.lines().filter(|line| line.contains("agent files")).count();
    assert!(readings < 25, "{log}");
}
