//! What the program leaves behind when it ends, however it ends: nothing.

use super::*;

#[test]
fn a_second_interrupt_leaves_no_command_behind() {
    let bench = Bench::new();
    let command = "run `trap '' TERM; echo $$ > pid; mv pid ready; sleep 1000; sleep 1000`";
    let mut child = bench
        .command(&["-p", command, "--model", "offline", "--permission-mode", "bypassPermissions"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let shell = wait_for(&bench.project.path().join("ready"));
    let program = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(program, Signal::SIGINT).unwrap();
    kill(program, Signal::SIGTERM).unwrap();
    assert!(matches!(child.wait().unwrap().code(), Some(130 | 143)));
    let start = std::time::Instant::now();
    while runs(shell) {
        assert!(start.elapsed().as_secs() < 60, "the command goes on");
    }
}

/// Starts the program with a command that leaves processes everywhere, and returns their numbers with it.
fn with_hidden_processes(bench: &Bench, last: &str) -> (std::process::Child, Vec<i32>) {
    let hidden = "setsid -f bash -c 'echo $$ >> pids; exec sleep 1000'; \
                  (setsid bash -c '(echo $BASHPID >> pids; exec sleep 1000) & exit' &); \
                  nohup bash -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 & \
                  bash -c 'echo $$ >> pids; kill -STOP $$' & \
                  while [ \"$(cat pids | wc -l)\" -lt 4 ]; do sleep 0.01; done; mv pids ready";
    let command = format!("run `{hidden}; {last}`");
    let child = bench
        .command(&["-p", &command, "--model", "offline", "--permission-mode", "bypassPermissions"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ready = bench.project.path().join("ready");
    until("the processes are there", || ready.exists());
    let pids = std::fs::read_to_string(ready).unwrap().lines().map(|pid| pid.parse().unwrap()).collect();
    (child, pids)
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed().as_secs() < 60, "{what}: not so");
        std::thread::yield_now();
    }
}

#[test]
fn nothing_outlives_a_program_that_is_killed() {
    let bench = Bench::new();
    let programs: Vec<_> = (0..8)
        .map(|number| {
            let bench = Bench { project: tempfile::tempdir_in(bench.project.path()).unwrap(), ..Bench::new() };
            let signal = if number % 2 == 0 { Signal::SIGKILL } else { Signal::SIGILL };
            (with_hidden_processes(&bench, "sleep 1000"), signal, bench)
        })
        .collect();
    for ((mut child, pids), signal, _bench) in programs {
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        child.wait().unwrap();
        assert_eq!(pids.len(), 4);
        until("all are gone", || !pids.iter().any(|pid| runs(*pid)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_in_the_sandbox_has_no_time_when_the_program_is_killed_and_the_next_start_names_what_came() {
    let bench = Bench::new();
    let temporary = tempfile::tempdir().unwrap();
    let start = |command: &str| {
        let prompt = format!("run `{command}`");
        let mut program = bench.command(&["-p", &prompt, "--model", "offline", "--permission-mode", "default"]);
        program.env_remove("BELVEDERE_SANDBOX_ENABLED").env("TMPDIR", temporary.path());
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        program
    };
    let checked = text(&start("true").output().unwrap().stderr);
    if checked.contains("No sandbox") || checked.contains("denied") {
        return;
    }
    let word = format!("WORD{}", std::process::id());
    let line = format!("trap 'touch .npmrc' TERM; touch ready; while :; do sleep 0.01 {word} || sleep 0.01; done");
    let mut child = start(&line).spawn().unwrap();
    until("it runs", || bench.project.path().join("ready").exists());
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGKILL).unwrap();
    child.wait().unwrap();
    let is_running = || {
        let lines = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
        lines.into_iter().any(|line| String::from_utf8_lossy(&line).contains(&word))
    };
    until("it is gone", || !is_running());
    assert!(!bench.project.path().join(".npmrc").exists(), "it was given time");
    let place = bench.project.path().canonicalize().unwrap().join(".envrc");
    std::fs::write(&place, "").unwrap();
    let said = text(&start("true").output().unwrap().stderr);
    let named =
        format!("Commands ran in the sandbox when Belvedere was killed, and could have made {}.", place.display());
    assert!(said.contains(&named), "{said}");
    let said = text(&start("true").output().unwrap().stderr);
    assert!(!said.contains("was killed"), "it is said once: {said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_command_that_kills_its_supervisor_leaves_nothing_either() {
    let bench = Bench::new();
    let (child, pids) = with_hidden_processes(&bench, "kill -9 $PPID; sleep 1000");
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("the command killed its supervisor"), "{output:?}");
    assert!(!pids.iter().any(|pid| runs(*pid)), "{pids:?}");
}

#[test]
fn a_signal_that_ends_the_program_is_its_status_and_what_happened_is_kept() {
    for (signal, status) in [
        (Signal::SIGQUIT, 131),
        (Signal::SIGABRT, 134),
        (Signal::SIGUSR1, 138),
        (Signal::SIGHUP, 143),
        (Signal::SIGALRM, 142),
    ] {
        let bench = Bench::new();
        let (mut child, pids) = with_hidden_processes(&bench, "sleep 1000");
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(status), "{signal}");
        assert!(!pids.iter().any(|pid| runs(*pid)), "{signal}: {pids:?}");
        let mut kept = Vec::new();
        collect(&bench.home.path().join(".local/state/belvedere/sessions"), &mut kept);
        let main = kept.iter().find(|path| path.ends_with("main.jsonl")).unwrap();
        assert!(std::fs::read_to_string(main).unwrap().contains("\"ended\""), "{signal}");
    }
}

#[test]
fn too_few_threads_and_files_that_may_not_grow_are_errors_and_no_panic() {
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_belvedere");
    let limited = |limit: &str, prompt: &str| {
        Command::new("bash")
            .args(["-c", &format!("ulimit {limit}; exec \"$@\""), "bash", program, "-p", prompt, "--model", "offline"])
            .current_dir(bench.project.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", bench.home.path())
            .env("BELVEDERE_SANDBOX_ENABLED", "false")
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };
    // Whoever runs the tests as root has no limit of processes.
    if std::os::unix::fs::MetadataExt::uid(&bench.home.path().metadata().unwrap()) != 0 {
        for threads in 1..12 {
            let output = limited(&format!("-u {threads}"), "hello");
            let err = text(&output.stderr);
            let is_told = output.status.code() == Some(1) && err.contains("ulimit -u");
            assert!(is_told || threads > 1 && output.status.success(), "{threads}: {err}");
            assert!(!err.contains("panicked"), "{threads}: {err}");
        }
    }
    let output = limited("-f 1", "where is verify_password defined?");
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(text(&output.stdout).contains("src/lib.rs:4"), "{err}");
}

/// Tells whether a process is more than a corpse that its new parent has not buried yet.
fn runs(process: i32) -> bool {
    let state = Command::new("ps").args(["-o", "state=", "-p", &process.to_string()]).output().unwrap();
    let state = text(&state.stdout);
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

#[test]
fn an_interrupt_ends_the_command_that_runs() {
    let bench = Bench::new();
    let command = "run `echo $$ > pid; mv pid ready; sleep 1000`";
    let mut child = bench
        .command(&["-p", command, "--model", "offline", "--permission-mode", "bypassPermissions"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ready = bench.project.path().join("ready");
    let shell = wait_for(&ready);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(kill(Pid::from_raw(shell), None).is_err(), "the command goes on");
}

/// Waits until another program has written a number into a file.
fn wait_for(path: &Path) -> i32 {
    let start = std::time::Instant::now();
    loop {
        if let Ok(number) = std::fs::read_to_string(path) {
            return number.trim().parse().unwrap();
        }
        assert!(start.elapsed().as_secs() < 60, "{} does not appear", path.display());
        std::thread::yield_now();
    }
}
