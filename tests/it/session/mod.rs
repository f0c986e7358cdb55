//! What is kept of a session, and what happens when it cannot be kept.

mod events;
mod pictures;
mod resume;
mod tokens;

use std::path::{Path, PathBuf};
use std::{fs, sync::Arc, sync::Mutex};

use belvedere::agent::{AgentEvent, EventKind, LogEvent, TurnEvent};
use belvedere::message::{AgentId, Diagnostic};
use belvedere::session::{Record, Secrets, Store, Writer, log, read};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tempfile::TempDir;

const KEY: &str = "sk-ant-0123\"456\\789";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    agent: String,
    text: String,
}

fn line(agent: &str, text: &str) -> Line {
    Line { agent: agent.to_owned(), text: text.to_owned() }
}

fn store(state: &Path) -> Store {
    let started = "2026-11-21T06:30:00.5Z".parse().unwrap();
    Store::new(state, Path::new("/src/shop"), started, Secrets::new([KEY, "short", ""]))
}

/// Keeps these lines and returns the errors that were reported.
async fn keep(store: &Store, lines: &[Line]) -> Vec<Diagnostic> {
    let (errors, last) = keep_to_the_end(store, lines).await;
    assert_eq!(last, None, "all of it is kept");
    errors
}

/// Keeps these lines and returns the errors that were reported meanwhile, and what is wrong in the end.
async fn keep_to_the_end(store: &Store, lines: &[Line]) -> (Vec<Diagnostic>, Option<String>) {
    let errors: Arc<Mutex<Vec<Diagnostic>>> = Arc::default();
    let reported = Arc::clone(&errors);
    let route = |line: &Line| (line.agent != "nobody").then(|| line.agent.as_str().into());
    let on_error = move |error| reported.lock().unwrap().push(error);
    let (sender, writer) = Writer::spawn(store.clone(), json!({"project": "/src/shop", "key": KEY}), route, on_error);
    for line in lines {
        sender.send(line.clone()).await.unwrap();
    }
    drop(sender);
    let last = writer.finish().await;
    (errors.lock().unwrap().clone(), last)
}

fn texts(path: &Path) -> Vec<String> {
    read::<Line>(path).unwrap().map(|record| record.map_or_else(|error| error.to_string(), |it| it.body.text)).collect()
}

#[tokio::test]
async fn each_agent_has_its_file_and_every_record_its_number() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    assert!(!store.dir().exists(), "nothing is made before there is something to keep");
    let lines = [line("main", "one"), line("explore-1", "two"), line("nobody", "left out"), line("main", "three")];
    assert!(keep(&store, &lines).await.is_empty());
    let main: Vec<Record<Line>> = read(&store.path_of("main")).unwrap().map(Result::unwrap).collect();
    assert_eq!(main[1], Record { v: 1, seq: 3, body: line("main", "three") });
    assert_eq!(texts(&store.path_of("main")), ["one", "three"]);
    assert_eq!(texts(&store.path_of("explore-1")), ["two"]);
    let first = fs::read_to_string(store.path_of("main")).unwrap();
    assert!(first.starts_with("{\"v\":1,\"seq\":1,\"agent\":\"main\",\"text\":\"one\"}\n"), "{first}");
    assert!(fs::read_to_string(store.dir().join("meta.json")).unwrap().contains("\"/src/shop\""));
    let folder = store.dir().strip_prefix(state.path()).unwrap().to_str().unwrap().to_owned();
    assert!(folder.starts_with("sessions/shop-") && folder.contains("/2026-11-21T06-30-00Z-"), "{folder}");
}

#[tokio::test]
async fn records_are_on_disk_while_the_session_goes_on() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let (sender, writer) = Writer::spawn(store.clone(), json!({}), |_: &Line| Some("main".into()), |_| ());
    let mut handled = writer.handled();
    for round in 1..=3 {
        sender.send(line("main", &round.to_string())).await.unwrap();
        handled.wait_for(|handled| *handled == round).await.unwrap();
        assert_eq!(texts(&store.path_of("main")).len() as u64, round);
    }
}

#[tokio::test]
async fn many_agents_and_records_arrive_in_order() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let lines: Vec<Line> =
        (0..5_000).map(|number: u32| line(&format!("explore-{}", number % 100), &number.to_string())).collect();
    assert!(keep(&store, &lines).await.is_empty());
    let expected: Vec<String> = (0..50).map(|step| (step * 100 + 7).to_string()).collect();
    assert_eq!(texts(&store.path_of("explore-7")), expected);
}

#[tokio::test]
async fn the_events_of_an_agent_come_back_as_they_were() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let kind =
        EventKind::Turn(TurnEvent::Retrying { attempt: 2, wait_ms: 500, rate_limited: true, reason: "busy".into() });
    let event =
        Arc::new(LogEvent::Agent(AgentEvent { agent: AgentId(3), at: "2026-11-21T06:30:00Z".parse().unwrap(), kind }));
    let (sender, writer) = Writer::spawn(store.clone(), json!({}), |_: &Arc<LogEvent>| Some("plan-3".into()), |_| ());
    sender.send(Arc::clone(&event)).await.unwrap();
    drop(sender);
    writer.finish().await;
    let records: Vec<Record<LogEvent>> = read(&store.path_of("plan-3")).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.iter().map(|record| &record.body).collect::<Vec<_>>(), [&*event]);
}

#[tokio::test]
async fn secrets_reach_no_file() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let lines = [line("main", &format!("export KEY={KEY}; short")), line(KEY, "\u{1}"), line("main", "\"seq\":1")];
    assert!(keep(&store, &lines).await.is_empty());
    store.save_report("main", &format!("The key is {KEY}.")).unwrap();
    assert_eq!(texts(&store.path_of("main")), ["export KEY=***; short", "\"seq\":1"]);
    for path in files(store.dir()) {
        let text = fs::read_to_string(path).unwrap();
        assert!(!text.contains("0123") && !text.contains("789"), "{text}");
    }
    assert_eq!(format!("{:?}", Secrets::new([KEY])), "Secrets(1)");
    // A secret of digits alone must not turn a number into something that is not JSON.
    let digits = Secrets::new(["12345678"]);
    let store = Store::new(state.path(), Path::new("/"), "2026-11-21T06:30:00Z".parse().unwrap(), digits);
    let (sender, writer) = Writer::spawn(store.clone(), json!({}), |_: &serde_json::Value| Some("main".into()), |_| ());
    sender.send(json!({"tokens": 12_345_678, "text": "12345678"})).await.unwrap();
    drop(sender);
    writer.finish().await;
    let kept: Vec<Record<serde_json::Value>> = read(&store.path_of("main")).unwrap().map(Result::unwrap).collect();
    assert_eq!(kept[0].body, json!({"tokens": 12_345_678, "text": "***"}));
}

#[tokio::test]
async fn a_name_cannot_lead_out_of_the_folder() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    for name in ["../../evil", "/etc/passwd", "..", "", "a\\b\0c", &"ü".repeat(500)] {
        let path = store.path_of(name);
        assert_eq!(path.parent(), Some(store.dir()), "{name:?}");
        assert!(keep(&store, &[line(name, "kept")]).await.is_empty(), "{name:?}");
        assert!(path.is_file(), "{name:?}");
    }
    let report = store.save_report("../explore-1", "whole").unwrap();
    assert_eq!(report.parent(), Some(store.reports_dir().as_path()));
    assert_eq!(fs::read_to_string(report).unwrap(), "whole");
}

#[test]
fn a_torn_last_line_costs_that_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let whole = r#"{"v":1,"seq":1,"agent":"main","text":"ä"}"#;
    let later = r#"{"v":2,"seq":9,"something":"else"}"#;
    fs::write(&path, format!("{whole}\n\n{later}\nnoise\n{whole}\n{}", &whole[..20])).unwrap();
    let found = texts(&path);
    assert_eq!((found[0].as_str(), found[3].as_str(), found.len()), ("ä", "ä", 5));
    assert!(found[1].contains("main.jsonl:3: this record was written by a newer version (2;"), "{}", found[1]);
    assert!(found[2].contains("main.jsonl:4: not a record"), "{}", found[2]);
    assert!(found[4].contains("main.jsonl:6: the last record is incomplete"), "{}", found[4]);
    // Wherever a crash cuts a character or a record, the one before it survives.
    for cut in 0..=whole.len() {
        fs::write(&path, [whole.as_bytes(), b"\n", &whole.as_bytes()[..cut]].concat()).unwrap();
        assert_eq!(texts(&path)[0], "ä");
    }
    assert!(read::<Line>(&folder.path().join("none.jsonl")).unwrap_err().to_string().contains("cannot be read"));
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_reported_and_nothing_stops() {
    let state = tempfile::tempdir().unwrap();
    let blocked = state.path().join("file");
    fs::write(&blocked, "").unwrap();
    let store = store(&blocked);
    let lines: Vec<Line> = (0..3_000).map(|number| line("main", &format!("{number}"))).collect();
    let (errors, last) = keep_to_the_end(&store, &lines).await;
    assert_eq!(errors.len(), 1, "once: {errors:?}");
    assert!(errors[0].message.contains("cannot be created") && errors[0].message.contains("Work continues"));
    let last = last.expect("who is left hears of it at the end");
    assert!(last.contains("3000 of its records are lost"), "{last}");
    assert!(store.save_report("main", "text").is_err());
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn what_a_full_disk_did_not_take_is_written_once_there_is_room() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    fs::create_dir_all(store.dir()).unwrap();
    std::os::unix::fs::symlink("/dev/full", store.path_of("main")).unwrap();
    let (sent, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let (sender, writer) = Writer::spawn(
        store.clone(),
        json!({}),
        |line: &Line| Some(line.agent.as_str().into()),
        move |error| sent.send(error).unwrap(),
    );
    sender.send(line("main", "held")).await.unwrap();
    assert!(errors.recv().await.unwrap().message.contains("main.jsonl cannot be written"));
    // Room again, but the last line may have been cut anywhere.
    writer.handled().wait_for(|handled| *handled == 1).await.unwrap();
    fs::remove_file(store.path_of("main")).unwrap();
    fs::write(store.path_of("main"), "{\"v\":1,\"se").unwrap();
    for name in ["main", "explore-1"] {
        sender.send(line(name, "kept")).await.unwrap();
    }
    drop(sender);
    writer.finish().await;
    assert_eq!(texts(&store.path_of("main"))[1..], ["held", "kept"]);
    assert_eq!(texts(&store.path_of("explore-1")), ["kept"]);
    assert!(errors.recv().await.unwrap().message.contains("is saved again"));
    assert!(errors.recv().await.is_none());
}

#[tokio::test]
async fn a_fault_is_reported_each_time_it_begins() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let (sent, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let on_error = move |error: Diagnostic| sent.send(error.message).unwrap();
    let (sender, writer) = Writer::spawn(store.clone(), json!({}), |_: &Line| Some("main".into()), on_error);
    let mut handled = writer.handled();
    let mut send = async |count: u64| {
        sender.send(line("main", &count.to_string())).await.unwrap();
        handled.wait_for(|handled| *handled == count).await.unwrap();
    };
    for round in 0..2 {
        // A folder lies where the file should be.
        fs::create_dir_all(store.path_of("main")).unwrap();
        send(round * 2 + 1).await;
        fs::remove_dir(store.path_of("main")).unwrap();
        send(round * 2 + 2).await;
        assert!(errors.recv().await.unwrap().contains("main.jsonl cannot be opened"));
        assert!(errors.recv().await.unwrap().contains("saved again, with what waited in memory"));
        assert_eq!(texts(&store.path_of("main")), [(round * 2 + 1).to_string(), (round * 2 + 2).to_string()]);
        fs::remove_file(store.path_of("main")).unwrap();
    }
}

#[tokio::test]
async fn a_deleted_folder_is_made_anew_and_said() {
    let state = tempfile::tempdir().unwrap();
    let store = store(&state.path().join("state"));
    let (sent, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let on_error = move |error: Diagnostic| sent.send(error.message).unwrap();
    let (sender, writer) = Writer::spawn(
        store.clone(),
        json!({"project": "/p"}),
        |line: &Line| Some(line.agent.as_str().into()),
        on_error,
    );
    let mut handled = writer.handled();
    for round in 1..=3 {
        sender.send(line("main", &round.to_string())).await.unwrap();
        sender.send(line("explore-1", &round.to_string())).await.unwrap();
        handled.wait_for(|handled| *handled == round * 2).await.unwrap();
        for agent in ["main", "explore-1"] {
            assert_eq!(texts(&store.path_of(agent)), [round.to_string()]);
        }
        assert!(store.dir().join("meta.json").is_file());
        if round > 1 {
            assert!(errors.recv().await.unwrap().contains("was deleted; it has been recreated"));
        }
        fs::remove_dir_all(state.path().join("state")).unwrap();
    }
    drop(sender);
    writer.finish().await;
    assert!(errors.recv().await.is_none());
}

#[tokio::test]
async fn what_waits_for_the_disk_is_bounded_and_what_is_lost_is_counted() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    fs::create_dir_all(store.path_of("main")).unwrap();
    let (sent, mut errors) = tokio::sync::mpsc::unbounded_channel();
    let on_error = move |error: Diagnostic| sent.send(error.message).unwrap();
    let (sender, writer) = Writer::spawn(store.clone(), json!({}), |_: &Line| Some("main".into()), on_error);
    let mut handled = writer.handled();
    let large = "7".repeat(1 << 20);
    for count in 1..=20 {
        sender.send(line("main", &large)).await.unwrap();
        handled.wait_for(|handled| *handled == count).await.unwrap();
    }
    fs::remove_dir(store.path_of("main")).unwrap();
    sender.send(line("main", "small")).await.unwrap();
    drop(sender);
    writer.finish().await;
    assert!(errors.recv().await.unwrap().contains("cannot be opened"));
    assert!(errors.recv().await.unwrap().contains("5 of its records did not fit into memory and are lost"));
    assert_eq!(texts(&store.path_of("main")).len(), 16);
}

#[test]
fn an_export_is_a_new_file_of_the_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let token = &tokens::tokens()[3];
    let export = |text: &str, place: Option<&Path>| {
        store.export("talk-1.md", place, |out| out.write_all(store.mask(text).as_bytes()))
    };
    let path = export(&format!("a {KEY} and a {token}\n"), None).unwrap();
    assert_eq!(path.parent(), Some(state.path().join("exports").as_path()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "a *** and a ***\n");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let named = state.path().join("talk.md");
    assert_eq!(export("text", Some(&named)).unwrap(), named);
    assert!(export("other", Some(&named)).unwrap_err().to_string().contains("talk.md cannot be made"));
    assert_eq!(fs::read_to_string(&named).unwrap(), "text", "nothing is written over");
    // A link that somebody put there is not written through.
    std::os::unix::fs::symlink(state.path().join("target"), state.path().join("link.md")).unwrap();
    assert!(export("text", Some(&state.path().join("link.md"))).is_err());
    assert!(!state.path().join("target").exists());
    let folder = export("text", Some(state.path())).unwrap();
    assert_eq!(folder, state.path().join("talk-1.md"));
    // Nothing is left of one that fails.
    let broken = state.path().join("broken.md");
    let failed =
        store.export("x", Some(&broken), |out| out.write_all(b"half").and(Err(std::io::ErrorKind::Other.into())));
    assert!(failed.unwrap_err().to_string().contains("broken.md cannot be written") && !broken.exists());
}

#[tokio::test]
async fn signs_that_are_not_seen_are_escaped_in_records() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let hostile = "\u{7f}\u{9b}31m\u{202e}\u{2028}\u{feff}é中";
    assert!(keep(&store, &[line("main", hostile)]).await.is_empty());
    assert_eq!(texts(&store.path_of("main")), [hostile]);
    let written = fs::read_to_string(store.path_of("main")).unwrap();
    assert!(written.contains(r"\u007f\u009b31m\u202e\u2028\ufeffé中"), "{written}");
}

#[tokio::test]
#[cfg(unix)]
async fn files_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let state = tempfile::tempdir().unwrap();
    let home = state.path().join("state/belvedere");
    let store = store(&home);
    keep(&store, &[line("main", "kept")]).await;
    store.save_report("main", "text").unwrap();
    logged(&home, Some("info"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in store.dir().ancestors().take_while(|folder| *folder != state.path()) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    assert_eq!(mode(&store.reports_dir()), 0o700);
    for path in files(store.dir()) {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!(mode(&log::path(&home)), 0o600);
}

/// Returns all files of a folder and of those below it.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Logs two lines to `state` and returns what the file then holds.
fn logged(state: &Path, directives: Option<&str>) -> Option<String> {
    let (subscriber, guard) = log::subscriber(state, directives, Secrets::new([KEY]));
    tracing::subscriber::with_default(subscriber, || {
        tracing::info!("a detail");
        tracing::error!("bad key {KEY}");
    });
    drop(guard);
    fs::read_to_string(log::path(state)).ok()
}

#[test]
fn the_log_is_a_file_that_appears_when_there_is_something_to_say() {
    let state = tempfile::tempdir().unwrap();
    let fresh = |name: &str| -> PathBuf { state.path().join(name) };
    assert_eq!(logged(&fresh("off"), Some("off")), None);
    let usual = logged(&fresh("usual"), None).unwrap();
    assert!(usual.contains("ERROR") && usual.contains("bad key ***") && !usual.contains("a detail"), "{usual}");
    assert!(logged(&fresh("more"), Some("info")).unwrap().contains("a detail"));
    let bad = logged(&fresh("bad"), Some("no=such=level,,,")).unwrap();
    assert!(bad.contains("bad key") && !bad.contains('\u{1b}'), "{bad}");
}

#[test]
fn a_full_log_is_set_aside() {
    let state: TempDir = tempfile::tempdir().unwrap();
    fs::write(log::path(state.path()), vec![b'x'; (4 << 20) + 1]).unwrap();
    logged(state.path(), None);
    let now = logged(state.path(), Some("info")).unwrap();
    assert!(now.len() < 1_000, "{}", now.len());
    assert!(state.path().join("belvedere.log.1").is_file());
}

#[test]
fn names_that_begin_alike_have_files_of_their_own() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let long = "an-agent-whose-author-wanted-its-name-to-say-everything";
    assert_ne!(store.path_of(&format!("{long}-1")), store.path_of(&format!("{long}-2")));
    assert_eq!(store.path_of("explore-1").file_name().unwrap(), "explore-1.jsonl");
}

#[test]
fn a_session_is_named_by_its_resolved_path() {
    let state = tempfile::tempdir().unwrap();
    let real = state.path().canonicalize().unwrap().join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, state.path().join("link")).unwrap();
    let store = store(&state.path().join("link/not/yet"));
    assert!(store.dir().starts_with(real.join("not/yet")), "{}", store.dir().display());
}

#[test]
fn transcripts_do_not_lie_where_reports_are_read() {
    let state = tempfile::tempdir().unwrap();
    let store = store(state.path());
    let report = store.save_report("explore-1", "found").unwrap();
    assert!(report.starts_with(store.reports_dir()));
    assert!(!store.path_of("explore-1").starts_with(store.reports_dir()));
}

#[test]
fn an_event_with_a_path_that_is_not_unicode_can_be_written() {
    use std::os::unix::ffi::OsStrExt as _;
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(b"/src/caf\xe9/a.rs"));
    let kind = belvedere::tool::ChangeKind::Created;
    let change = belvedere::tool::FileChange { path: path.clone(), kind, versions: None };
    assert!(serde_json::to_string(&change).unwrap().contains("/a.rs"));
    let files = belvedere::agent::FileTally { created: vec![path.clone()], modified: Vec::new() };
    assert!(serde_json::to_string(&files).unwrap().contains("/a.rs"));
    let access = belvedere::permission::Access::new("Read", belvedere::permission::AccessKind::Read { path });
    assert!(serde_json::to_string(&access).unwrap().contains("/a.rs"));
}
