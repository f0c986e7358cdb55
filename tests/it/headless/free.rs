//! Commands that run without a question, in a project that wants its own programs to run.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Bench, text};

/// Puts programs of the usual names into a folder; each leaves a file behind.
pub(super) fn set_traps(folder: &Path, canary: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for name in ["ls", "date", "git", "bash", "setsid"] {
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\ntouch '{}'\n", canary.display())).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn no_program_of_the_project_is_found_on_the_path() {
    let bench = Bench::new();
    let project = bench.project.path();
    let canary = bench.home.path().join("canary");
    set_traps(&project.join("node_modules/.bin"), &canary);
    set_traps(project, &canary);
    let path = std::env::var("PATH").unwrap();
    let inside = project.join("node_modules/.bin");
    for (first, command) in [(inside.to_str().unwrap(), "ls"), (".", "date"), ("", "ls"), ("node_modules/.bin", "pwd")]
    {
        let mut run = bench.command(&["-p", &format!("run `{command}`"), "--model", "offline"]);
        let output = run.env("PATH", format!("{first}:{path}")).output().unwrap();
        assert!(text(&output.stdout).contains("exit code 0"), "{first}: {}", text(&output.stdout));
        assert!(!canary.exists(), "{first}: {command} ran a program of the project");
    }
    // Where there is no other one, it is asked for.
    let output = bench.command(&["-p", "run `ls`", "--model", "offline"]).env("PATH", &inside).output().unwrap();
    let said = text(&output.stdout);
    assert!(
        said.contains("`ls` was not run. Nobody is there to approve this.") && !said.contains("user said no"),
        "{said}"
    );
    assert!(!canary.exists());
}

#[test]
fn nothing_in_the_environment_runs_with_a_free_command() {
    let bench = Bench::new();
    let canary = bench.home.path().join("canary");
    bench.file("env.sh", &format!("touch '{}'\n", canary.display()));
    let script = bench.project.path().join("env.sh");
    let mut run = bench.command(&["-p", "run `ls`", "--model", "offline"]);
    let function = format!("() {{ touch '{}'; }}", canary.display());
    let output = run.env("BASH_ENV", &script).env("BASH_FUNC_ls%%", function).output().unwrap();
    assert!(text(&output.stdout).contains("env.sh"), "{}", text(&output.stdout));
    assert!(!canary.exists());
}
