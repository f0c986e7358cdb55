//! Something else than a file in the place of a small one: every command ends, and says which file it is.

use std::fs::File;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Bench, Ran};

/// What lies in the place of a file.
const KINDS: [&str; 6] = ["a pipe", "a device", "a folder", "a gigabyte", "a socket", "a link to itself"];
/// How long a command may take before it counts as one that never ends.
const LIMIT: Duration = Duration::from_mins(1);

fn put(kind: &str, path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "a pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "a device" => symlink("/dev/zero", path).unwrap(),
        "a folder" => std::fs::create_dir(path).unwrap(),
        "a gigabyte" => File::create(path).unwrap().set_len(1 << 30).unwrap(),
        // The path may be longer than a socket's can be.
        "a socket" => {
            let short = tempfile::tempdir().unwrap();
            drop(UnixListener::bind(short.path().join("s")).unwrap());
            std::fs::rename(short.path().join("s"), path).unwrap();
        }
        _ => symlink(path, path).unwrap(),
    }
}

impl Bench {
    /// Runs a command that has to end.
    fn ends(&self, args: &[&str]) -> Ran {
        let mut command = self.command("shop", args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begun.elapsed() > LIMIT {
                child.kill().unwrap();
                panic!("{args:?} does not end");
            }
            std::thread::yield_now();
        }
        Ran::of(&child.wait_with_output().unwrap())
    }
}

#[test]
fn whatever_lies_in_the_place_of_a_configuration_is_named_and_nothing_waits_for_it() {
    let places = [".config/belvedere/config.toml", "shop/.belvedere/config.toml", ".claude/settings.json"];
    for (at, kind) in KINDS.into_iter().enumerate() {
        let place = places[at % places.len()];
        let bench = Bench::new();
        put(kind, &bench.path(place));
        let name = Path::new(place).file_name().unwrap().to_str().unwrap();
        for args in [&["config", "get"][..], &["config", "get", "model"], &["permissions", "check", "Bash(git push)"]] {
            let ran = bench.ends(args);
            let said = format!("{}{}", ran.out, ran.err);
            assert!(
                said.contains(name) && said.contains("The file is skipped"),
                "{kind} at {place}: {args:?}: {ran:?}"
            );
        }
        let ran = bench.ends(&["doctor"]);
        assert!(ran.status == 1 && ran.out.contains(name), "{kind} at {place}: {ran:?}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_not_written_anew() {
    for kind in KINDS {
        let bench = Bench::new();
        let path = bench.path(".config/belvedere/config.toml");
        put(kind, &path);
        let before = path.symlink_metadata().unwrap();
        let ran = bench.ends(&["config", "set", "model", "offline"]);
        assert!(ran.status == 2 && ran.err.contains("The file is skipped"), "{kind}: {ran:?}");
        bench.file(".codex/config.toml", "model_reasoning_effort = \"high\"\n");
        bench.file(".claude/settings.json", "{\"effortLevel\": \"high\"}");
        let ran = bench.ends(&["import", "--yes"]);
        let after = path.symlink_metadata().unwrap();
        assert_eq!((before.file_type(), before.len()), (after.file_type(), after.len()), "{kind}: {ran:?}");
    }
}

#[test]
fn what_the_program_keeps_may_be_anything_too() {
    let bench = Bench::new();
    bench.file("shop/.claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(make)\"]}}");
    // What is kept of the project lies where an answer puts it.
    let ran = bench.ends(&["-p", "hello", "--model", "offline", "--trust"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let state = bench.path(".local/state/belvedere");
    let below = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let of_project = below(&state.join("sessions")).remove(0);
    let folder = state.join("projects").join(of_project.file_name().unwrap());
    let sessions = below(&of_project);
    for name in ["trust.toml", "permissions.toml"] {
        for kind in ["a device", "a gigabyte", "a pipe"] {
            let path = folder.join(name);
            if path.symlink_metadata().is_ok() {
                std::fs::remove_file(&path).unwrap();
            }
            put(kind, &path);
            for args in [&["doctor"][..], &["permissions"], &["-p", "hello", "--model", "offline"]] {
                bench.ends(args);
            }
        }
    }
    for session in sessions.into_iter().take(1) {
        for name in ["meta.json", "main.jsonl"] {
            std::fs::remove_file(session.join(name)).unwrap();
            put("a pipe", &session.join(name));
            for args in [&["-p", "more", "-c", "--model", "offline"][..], &["export"]] {
                bench.ends(args);
            }
        }
    }
}
