//! A program that is killed in the middle of eight children, two of them with a child of their own, one in a worktree, one
//! waiting for an answer: everything that was finished is there at the next start, nothing is said to run, and what is
//! resumed ends as it would have.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::model::{CHILDREN, done};
use super::{Bench, err, until};
use crate::support::Dice;

/// Kills in a usual run; the variable asks for another number.
const KILLS: u64 = 4;
const VARIABLE: &str = "BELVEDERE_KILLS";
/// No run takes so long.
const LONGEST: Duration = Duration::from_mins(2);
/// A whole run takes about so long.
const WHOLE_MS: u64 = 700;

#[test]
fn a_killed_session_goes_on() {
    let kills = std::env::var(VARIABLE).ok().and_then(|count| count.parse().ok()).unwrap_or(KILLS);
    let mut dice = Dice::new(13);
    for _ in 0..kills {
        let after = Duration::from_millis(dice.roll(WHOLE_MS));
        let bench = Bench::new();
        let finished = killed(&bench, after);
        if finished.is_empty() {
            continue;
        }
        goes_on(&bench, &finished, after);
    }
}

/// Kills a run after so long, and returns the calls whose results were saved, by agent.
fn killed(bench: &Bench, after: Duration) -> BTreeSet<String> {
    let mut program = bench.command(&["--plain"]);
    let mut program = program.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    program.stdin.as_mut().unwrap().write_all(b"send them out\n").unwrap();
    until("the model is asked", || !bench.model.requests().is_empty());
    std::thread::sleep(after);
    program.kill().unwrap();
    program.wait().unwrap();
    let Some(session) = bench.sessions().pop() else { return BTreeSet::new() };
    events(&session).into_iter().map(|event| event.to_string()).collect()
}

fn events(session: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(session).unwrap().map(|entry| entry.unwrap().path());
    let files =
        files.filter(|path| path.extension().is_some_and(|end| end == "jsonl") && !path.ends_with("index.jsonl"));
    let texts: Vec<String> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let mut events: Vec<Value> =
        texts.iter().flat_map(|text| text.lines()).filter_map(|line| serde_json::from_str(line).ok()).collect();
    events.sort_by_key(|event: &Value| event["seq"].as_u64().unwrap());
    events
}

fn goes_on(bench: &Bench, finished: &BTreeSet<String>, after: Duration) {
    let mut program = bench.command(&["--plain", "-c", "--allowedTools", "Bash(touch asked)"]);
    let mut program = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = program.stdin.take();
    input.as_mut().unwrap().write_all(b"/resume all\n").unwrap();
    let (ended, waits) = mpsc::channel::<()>();
    let pid = Pid::from_raw(i32::try_from(program.id()).unwrap());
    // One that waits for what never comes fails with what it has said.
    std::thread::spawn(move || {
        if waits.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            kill(pid, Signal::SIGKILL).unwrap();
        }
    });
    let mut said = String::new();
    for line in BufReader::new(program.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        said.push_str(&line);
        said.push('\n');
        if line.contains("ALL DONE") || line.contains("nothing to resume") {
            // The end of the input is the end of the program.
            drop(input.take());
        }
    }
    drop(ended);
    let output = program.wait_with_output().unwrap();
    assert!(output.status.success(), "after {after:?}: {said}\n{}", err(&output));
    let session = bench.sessions().pop().unwrap();
    let events = events(&session);
    let again: BTreeSet<String> = events.iter().map(ToString::to_string).collect();
    assert!(finished.is_subset(&again), "after {after:?}");
    each_run_ended_once(&events, after);
    if said.contains("ALL DONE") {
        let last = bench.model.requests().into_iter().rfind(|request| request.contains("send them out")).unwrap();
        for number in 0..CHILDREN {
            assert!(last.contains(&done(&number.to_string())), "after {after:?}: child {number}\n{said}");
        }
    }
}

/// Every run has one end, every call one result, and no number stands twice.
fn each_run_ended_once(events: &[Value], after: Duration) {
    let (mut open, mut calls): (BTreeMap<String, i32>, BTreeMap<String, i32>) = (BTreeMap::new(), BTreeMap::new());
    let mut numbers = BTreeSet::new();
    for event in events {
        assert!(numbers.insert(event["seq"].as_u64().unwrap()), "after {after:?}: {event} has the number of another");
        let agent = event["agent"].to_string();
        match event["event"].as_str().unwrap() {
            "spawned" | "resumed" => *open.entry(agent).or_default() += 1,
            "ended" if event["agent"] != 0 => *open.entry(agent).or_default() -= 1,
            "tool_started" => *calls.entry(format!("{agent} {}", event["call"]["id"])).or_default() += 1,
            "tool_ended" => *calls.entry(format!("{agent} {}", event["result"]["call_id"])).or_default() -= 1,
            _ => {}
        }
    }
    let uneven = |(name, count): (&String, &i32)| (*count != 0).then(|| format!("{name}: {count}"));
    assert_eq!(open.iter().filter_map(uneven).collect::<Vec<_>>(), Vec::<String>::new(), "after {after:?}");
    assert_eq!(calls.iter().filter_map(uneven).collect::<Vec<_>>(), Vec::<String>::new(), "after {after:?}");
}
