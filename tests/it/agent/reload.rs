//! Files of agents that change while agents work.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use belvedere::agent::{EventKind, Status, ToolEvent};
use belvedere::definition::{
    AgentDirs, Catalog, KnownNames, Library, Means, Parsed, Roots, Source, Tier, WatchedFiles, Watcher, parse,
};
use belvedere::message::{AgentId, Message};
use belvedere::permission::Answer;
use belvedere::provider::Request;
use belvedere::provider::scripted::Scripted;
use belvedere::subagent::Command;
use serde_json::json;
use tokio::time::timeout;

use crate::support::{Parts, Session};

/// How long a test waits for something that has to happen.
const TIMEOUT: Duration = Duration::from_mins(1);

fn write(path: &Path, words: &str) {
    let text = format!("---\nname: scout\ndescription: {words}\n---\nYou are of {words}.");
    std::fs::write(path.with_extension("new"), text).unwrap();
    std::fs::rename(path.with_extension("new"), path).unwrap();
}

fn delegate(name: &str) -> serde_json::Value {
    let prompt = format!("WHAT: the work called {name}. WHERE: here. RETURN: a word.");
    json!({"call": "Agent", "input": {"description": name, "subagent_type": "scout", "prompt": prompt}})
}

fn offer(request: &Request) -> Option<&str> {
    request.tools.iter().find(|tool| tool.name == "Agent").map(|tool| tool.description.as_str())
}

#[tokio::test]
async fn the_next_request_offers_what_is_new_and_a_running_child_keeps_what_it_began_with() {
    let root = tempfile::tempdir().unwrap();
    let project = root.path();
    let dirs = AgentDirs::new(&Roots {
        home: None,
        claude: None,
        kode: None,
        cwd: project,
        project: Some(project),
        owner: belvedere::permission::Owner::new(nix::unistd::geteuid().as_raw(), None),
    });
    let file = project.join(".kode/agents/a.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    write(&file, "state one");
    let library = Arc::new(Library::new(dirs, Vec::new(), KnownNames::default()));
    library.reload();
    library.changes().await;
    let files = WatchedFiles { library: library.clone(), skills: Arc::default(), plugins: Arc::default() };
    let _watcher = Watcher::start(files, Means::Events);
    let make = json!({"call": "Write", "input": {"file_path": "made.txt", "content": "x"}});
    let lines = [
        json!({"when": {"task": "go", "turn": 0}, "steps": [delegate("first")]}),
        json!({"when": {"task": "called first", "turn": 0}, "steps": [make]}),
        json!({"when": {"task": "called first", "turn": 1}, "steps": [{"say": "<summary>first</summary>"}]}),
        json!({"when": {"task": "go", "turn": 1}, "steps": [delegate("second")]}),
        json!({"when": {"task": "called second"}, "steps": [{"say": "<summary>second</summary>"}]}),
        json!({"when": {"task": "go", "turn": 2}, "steps": [{"say": "done"}]}),
    ];
    let script = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    let provider = Arc::new(Scripted::from_jsonl(&script).unwrap());
    let mut session = Session::start(Parts { catalog: library.catalog().clone(), ..Parts::new(provider.clone()) });
    session.say("go");
    let asked = session
        .wait(|event| match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { request }) => Some(request.clone()),
            _ => None,
        })
        .await;
    write(&file, "state two");
    let changes = timeout(TIMEOUT, library.changes()).await.expect("no change is noticed");
    assert_eq!(changes.changed, ["scout"]);
    session.send(Command::Answer { id: asked.id, answer: Answer::Once });
    assert_eq!(session.ended(AgentId::MAIN).await.status, Status::Completed);
    session.quit().await;
    let requests = provider.requests();
    let children: Vec<&Request> = requests.iter().filter(|request| offer(request).is_none()).collect();
    let prompts: Vec<bool> = children.iter().map(|request| request.system.contains("You are of state two.")).collect();
    assert_eq!(prompts, [false, false, true], "the first keeps what it began with, the second has what is new");
    assert!(children[..2].iter().all(|request| request.system.contains("You are of state one.")));
    let of_main: Vec<&Request> = requests.iter().filter(|request| offer(request).is_some()).collect();
    assert!(of_main.iter().all(|request| offer(request).is_some_and(|offer| offer.contains("- scout: state one "))));
    let news = "\n- scout: state two (Tools: all)";
    let told: Vec<usize> = of_main.iter().map(|request| words(request).matches(news).count()).collect();
    assert_eq!(told, [0, 1, 1], "it is said once, in a message: what was sent before stays as it was");
}

/// All that the user, or the program, says in a request.
fn words(request: &Request) -> String {
    let texts = request.messages.iter().filter_map(|message| match message.as_ref() {
        Message::User { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the requests of two messages to a main agent, between which the catalog is replaced and `between` is sent.
async fn requests_around(before: Vec<Parsed>, after: Vec<Parsed>, between: Option<Command>) -> Vec<Request> {
    let script = json!({"when": {}, "steps": [{"say": "done"}]}).to_string();
    let provider = Arc::new(Scripted::from_jsonl(&script).unwrap());
    let catalog = Catalog::builtin();
    catalog.replace(before);
    let mut session = Session::start(Parts { catalog: catalog.clone(), ..Parts::new(provider.clone()) });
    session.ask("go").await;
    catalog.replace(after);
    if let Some(command) = between {
        session.send(command);
    }
    session.ask("go on").await;
    session.quit().await;
    provider.requests()
}

fn agents(count: usize, words: &str) -> Vec<Parsed> {
    let text = |number| format!("---\nname: agent-{number}\ndescription: {words}\n---\nWork.");
    (0..count).map(|number| parse(&text(number), Source { tier: Tier::UserClaude, path: None })).collect()
}

#[tokio::test]
async fn what_has_gone_is_said_and_what_stays_is_not() {
    let requests = requests_around(agents(3, "Works"), agents(2, "Works"), None).await;
    assert_eq!(offer(&requests[0]), offer(&requests[1]));
    assert!(
        words(&requests[1]).ends_with("available agents have changed: 1 removed.\n\nRemoved: agent-2"),
        "{}",
        words(&requests[1])
    );
    let requests = requests_around(agents(3, "Works"), agents(3, "Works"), None).await;
    assert_eq!((offer(&requests[0]), words(&requests[1]).as_str()), (offer(&requests[1]), "go\ngo on"));
}

#[tokio::test]
async fn a_new_conversation_and_a_long_change_make_the_offer_anew() {
    let cleared = requests_around(agents(1, "Works"), agents(1, "Plays"), Some(Command::Clear)).await;
    let long = requests_around(agents(50, "Works"), agents(50, &"Plays ".repeat(20)), None).await;
    for requests in [&cleared, &long] {
        let after = offer(&requests[1]).unwrap();
        assert!(after.contains("- agent-0: Plays") && !after.contains("- agent-0: Works"), "{after}");
        assert!(!words(&requests[1]).contains("have changed"), "{}", words(&requests[1]));
    }
}
