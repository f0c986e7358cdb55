//! `belvedere agents` and other subcommands, with the real binary, as a shell runs them.

mod check;
mod config;
mod doctor;
mod form;
mod import;
mod new;
mod odd_files;
mod shell;
mod show;
mod tiers;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A home and, in it, a project; both are empty but for what a test writes.
struct Bench {
    folder: TempDir,
    /// Further variables of the environment.
    env: Vec<(&'static str, PathBuf)>,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap(), env: Vec::new() };
        std::fs::create_dir_all(bench.path("shop/.git")).unwrap();
        bench
    }

    /// Returns a path below the home.
    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Writes an agent's file into a folder of agents.
    fn agent(&self, folder: &str, name: &str, description: &str) -> PathBuf {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nYou are {name}.\n");
        self.file(&format!("{folder}/{name}.md"), &text)
    }

    fn command(&self, cwd: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_belvedere"));
        command
            .args(args)
            .current_dir(self.path(cwd))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.path(""))
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    fn run(&self, cwd: &str, args: &[&str]) -> Ran {
        Ran::of(&self.command(cwd, args).output().unwrap())
    }
}

/// What came of a run.
#[derive(Debug)]
struct Ran {
    status: i32,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let ran = Self { status: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) };
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        ran
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Returns those of the agents in a JSON list that have this name.
fn called<'a>(list: &'a Value, name: &str) -> Vec<&'a Value> {
    list.as_array().unwrap().iter().filter(|agent| agent["name"] == name).collect()
}

/// Returns a path as JSON has it.
fn json_path(path: &Path) -> Value {
    path.to_str().unwrap().into()
}
