//! The session of lines: the real binary over pipes and on a terminal.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Bench;
use crate::pty::terminal::Terminal;

/// How long a line may take that a test waits for.
const LIMIT_MS: u16 = 60_000;

/// A session whose other end is a program.
pub(super) struct Session {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Everything read so far.
    seen: String,
}

impl Session {
    pub(super) fn start(bench: &Bench, args: &[&str]) -> Self {
        Self::start_with(bench, args, &[])
    }

    pub(super) fn start_with(bench: &Bench, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = bench.command(args);
        command.envs(env.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, seen: String::new() }
    }

    pub(super) fn offline(bench: &Bench) -> Self {
        Self::start(bench, &["--plain", "--model", "offline"])
    }

    pub(super) fn line(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(format!("{text}\n").as_bytes()).unwrap();
    }

    /// Reads up to a line that holds this.
    pub(super) fn until(&mut self, text: &str) -> String {
        self.until_any(&[text])
    }

    pub(super) fn until_any(&mut self, texts: &[&str]) -> String {
        loop {
            let mut line = String::new();
            assert!(self.comes(), "no {texts:?} within {LIMIT_MS} ms in:\n{}", self.seen);
            let read = self.output.read_line(&mut line).unwrap();
            assert!(read > 0, "no {texts:?} in:\n{}", self.seen);
            self.seen.push_str(&line);
            if texts.iter().any(|text| line.contains(text)) {
                return line;
            }
        }
    }

    /// Waits for what is written, or the end; returns `false` if nothing comes.
    fn comes(&self) -> bool {
        let mut ready = [PollFd::new(self.output.get_ref().as_fd(), PollFlags::POLLIN)];
        !self.output.buffer().is_empty() || poll(&mut ready, LIMIT_MS).unwrap() > 0
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.child.id()).unwrap()), signal).unwrap();
    }

    /// Ends the input, and returns the exit status and all that was written.
    pub(super) fn end(mut self) -> (i32, String) {
        drop(self.input.take());
        std::io::Read::read_to_string(&mut self.output, &mut self.seen).unwrap();
        assert!(!self.seen.contains('\x1b'), "{}", self.seen);
        (self.child.wait().unwrap().code().unwrap(), self.seen)
    }
}

#[test]
fn a_question_is_answered_in_lines_and_the_end_of_the_input_ends_the_program() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.line("where is verify_password defined?");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    for line in [
        "model: offline",
        "you: where is verify_password defined?",
        "search-specialist-1: started: Where is verify_password defined",
    ] {
        assert!(out.lines().any(|found| found == line), "no {line:?} in:\n{out}");
    }
    assert!(out.lines().any(|line| line.starts_with("main: The function") && line.contains("src/lib.rs:4")), "{out}");
    assert!(out.lines().any(|line| line.starts_with("search-specialist-1: done (")), "{out}");
    assert!(out.lines().any(|line| line == "search-specialist-1: Read src/lib.rs - 6 lines"), "{out}");
}

#[test]
fn an_approval_is_one_line_and_its_answer_is_a_letter() {
    let bench = Bench::new();
    let made = bench.project.path().join("made.txt");
    let mut session = Session::offline(&bench);
    session.line("run `touch made.txt`");
    let question = session.until(" asks: ");
    assert_eq!(
        question,
        "main asks: Bash touch made.txt? [y]es once, [a]lways this session, [w] for all agents, or [p]roject Bash(touch made.txt), [n]o, [s]how\n"
    );
    session.line("perhaps");
    session.until("answer the question first");
    session.line("!touch made.txt");
    session.until("not run: a command of your own is typed by itself");
    session.line("n not today");
    session.until("not today");
    assert!(!made.exists());
    session.line("run `touch made.txt`");
    session.until(" asks: ");
    session.line("y");
    session.until("main: Bash touch made.txt - ");
    assert!(made.exists());
    assert_eq!(session.end().0, 0);
}

#[test]
fn a_yes_typed_ahead_answers_nothing_and_after_the_input_everything_is_refused() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.line("y");
    session.line("run `touch made.txt`");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("nothing to approve") && out.contains("denied: end of input"), "{out}");
    assert!(!bench.project.path().join("made.txt").exists());
}

#[test]
fn the_agent_files_are_listed_with_what_is_wrong() {
    let bench = Bench::new();
    let head = |name: &str, more: &str| format!("---\nname: {name}\ndescription: Is {name}\n{more}\n---\nBody.\n");
    bench.file(".claude/agents/seer.md", &head("seer", "model: wibble-9"));
    bench.file(".claude/agents/helper.md", &head("helper", "tools: codebase, usages"));
    bench.file(".claude/agents/explore.md", &head("explore", "model: haiku"));
    let mut session = Session::start(&bench, &["--plain", "--trust", "--model", "offline"]);
    session.line("/agents");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    for line in [
        "  explore (built-in): shadowed by one of project (.claude)",
        "  explore (project (.claude)): Is explore",
        "  seer (project (.claude)): Is seer",
        "  helper (project (.claude)): cannot be used",
    ] {
        assert!(out.lines().any(|found| found == line), "no {line:?} in:\n{out}");
    }
    for fault in ["    ! line 4: unknown model `wibble-9`", "    ! line 4: cannot run: none of its"] {
        assert!(out.lines().any(|found| found.starts_with(fault)), "no {fault:?} in:\n{out}");
    }
}

#[test]
fn a_command_is_told_as_it_runs() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.line("run `touch made.txt #\rls -la\u{8}`");
    let question = session.until(" asks: ");
    assert!(question.contains("touch made.txt #␍ls -la␈? [y]es once"), "{question}");
    assert!(question.contains("[p]roject Bash(touch made.txt #␍ls -la␈)"), "{question}");
    session.line("y");
    session.until("main: Bash touch made.txt #␍ls -la␈ - ");
    assert_eq!(session.end().0, 0);
}

#[test]
fn what_someone_says_does_not_pass_for_a_line_of_the_program() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.line("hello\\");
    session.line("main asks: Bash rm x? [y]es once, [n]o\\");
    session.line("you: y");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("you: hello\n  main asks: Bash rm x? [y]es once, [n]o\n  you: y\n"), "{out}");
}

#[test]
fn a_change_is_told_with_its_question() {
    let bench = Bench::new();
    let mut session = Session::start(&bench, &["demo", "--plain"]);
    session.until("code-4 asks: ");
    let before = session.seen.lines().rev().skip(1).take_while(|line| line.starts_with("  + ")).count();
    assert!(before > 3, "{}", session.seen);
    session.line("n");
    session.line("/cancel all");
    assert_eq!(session.end().0, 0);
}

#[test]
fn one_agent_is_stopped_by_its_number_and_then_all() {
    let bench = Bench::new();
    let mut session = Session::start(&bench, &["demo", "--plain"]);
    session.until("docs-writer-8: started");
    session.line("/tasks");
    session.until("2 explore-2: ");
    session.line("/stop 2");
    session.until("explore-2: cancelled");
    session.line("/stop 2");
    session.until("no agent 2 is running");
    session.line("/cancel all");
    session.until("explore-1: cancelled");
    session.until("main: cancelled");
    session.line("/nonsense");
    session.until("no command /nonsense");
    session.line("/help");
    session.until("/cancel all stops every agent");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
}

#[test]
fn the_demonstration_asks_twice_and_is_left_while_it_plays() {
    let bench = Bench::new();
    let mut session = Session::start(&bench, &["demo", "--plain"]);
    let question = session.until(" asks: ");
    assert!(question.starts_with("code-4 asks: "), "{question}");
    session.line("s");
    session.until("+ ");
    session.line("y");
    session.until("asks: Bash cargo test");
    session.line("y");
    session.until("code-4: Bash cargo test");
    session.line("/quit");
    session.until("/quit again stops them and quits");
    session.line("/quit");
    let (code, out) = session.end();
    assert_eq!(code, 0, "{out}");
}

#[test]
fn an_interrupt_stops_the_answer_and_a_second_one_leaves() {
    let bench = Bench::new();
    let mut session = Session::start(&bench, &["demo", "--plain"]);
    session.until("docs-writer-8: started");
    session.signal(Signal::SIGINT);
    session.until("interrupting the main agent; its subagents keep running; ctrl-c again quits");
    session.signal(Signal::SIGINT);
    assert_eq!(session.child.wait().unwrap().code(), Some(130));
    let mut session = Session::start(&bench, &["demo", "--plain"]);
    session.until("model: demo");
    session.signal(Signal::SIGTERM);
    assert_eq!(session.child.wait().unwrap().code(), Some(143));
}

#[test]
fn a_reader_that_goes_away_ends_it() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.until("model: offline");
    let Session { mut child, input, output, .. } = session;
    drop(output);
    input.unwrap().write_all(b"explain this repository\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(141));
}

#[test]
fn on_a_terminal_nothing_but_text_is_written() {
    let bench = Bench::new();
    let home = bench.home.path().to_str().unwrap();
    let env = [("HOME", home), ("COLORTERM", "truecolor")];
    let terminal = Terminal::start(100, 40, &["--plain", "--model", "offline"], bench.project.path(), &env);
    terminal.shows("> ");
    terminal.send("where is \\\rverify_password defined?\r");
    terminal.shows("main: The function");
    terminal.send("run `touch made.txt`\r");
    terminal.shows("main asks: Bash touch made.txt?");
    terminal.answers("n\r", |screen| screen.contains("was not run"));
    let written = terminal.written();
    assert!(!written.contains(&0x1b), "{}", String::from_utf8_lossy(&written).escape_debug());
    terminal.send("\x03");
    terminal.shows("ctrl-c again quits");
    terminal.send("\x03");
    assert_eq!(terminal.ended().exit_code(), 130);
}

#[test]
fn a_paste_of_several_lines_gives_up_no_guard() {
    let bench = Bench::new();
    bench.file(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(curl:*)"]}}"#);
    let env = [("HOME", bench.home.path().to_str().unwrap())];
    let terminal = Terminal::start(100, 40, &["--plain", "--model", "offline"], bench.project.path(), &env);
    terminal.shows("not used until you trust it");
    terminal.send("/sandbox off\r/tasks\r/trust yes\r/sandbox off\r/trust\r");
    let shown = terminal.shows("not trusted: none of it is used");
    assert_eq!(shown.matches("not done: type this command by itself").count(), 3, "{shown}");
    terminal.send("\x04");
    assert_eq!(terminal.ended().exit_code(), 0);
}

#[test]
fn what_is_allowed_for_the_project_is_allowed_at_the_next_start() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.line("run `touch made.txt`");
    session.until(" asks: ");
    session.line("p");
    session.until("main: Bash touch made.txt - ");
    assert_eq!(session.end().0, 0);
    std::fs::remove_file(bench.project.path().join("made.txt")).unwrap();

    let mut session = Session::offline(&bench);
    session.line("run `touch made.txt`");
    session.until("main: Bash touch made.txt - ");
    assert!(!session.seen.contains(" asks: "), "{}", session.seen);
    session.line("run `touch other.txt`");
    session.until(" asks: ");
    session.line("n");
    assert_eq!(session.end().0, 0);
    assert!(!bench.project.path().join("other.txt").exists());

    let out = bench.ask("run `touch made.txt`", &[]);
    assert!(out.status.success() && bench.project.path().join("made.txt").exists(), "also without anyone to ask");
    let inside: Vec<_> = names_below(bench.project.path());
    assert!(!inside.iter().any(|name| name.contains("permissions")), "nothing of it lies in the project: {inside:?}");
}

fn names_below(top: &std::path::Path) -> Vec<String> {
    std::fs::read_dir(top)
        .unwrap()
        .map(Result::unwrap)
        .flat_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let below = if entry.path().is_dir() { names_below(&entry.path()) } else { Vec::new() };
            std::iter::once(name).chain(below)
        })
        .collect()
}

#[test]
fn the_budget_and_the_cost_are_shown_and_changed_in_words() {
    let bench = Bench::new();
    let mut session = Session::start(&bench, &["demo", "--plain"]);
    session.until("explore-1: done");
    session.line("/budget");
    session.until("no budget; set one with /budget 500k or /budget $2");
    session.line("/budget much");
    session.until("not a number of tokens");
    session.line("/budget 900m");
    let told = session.until("of 900,000,000 tokens spent");
    assert!(told.starts_with("budget: ") && !told.starts_with("budget: 0 of"), "{told}");
    // The engine takes the limit a moment after the answer; what it costs is told until then as it was.
    let all = loop {
        session.line("/cost");
        let all = session.until("all agents: ");
        if session.seen.matches("budget: ").count() > 1 {
            break all;
        }
    };
    assert!(all.contains(" from the cache), cost $"), "{all}");
    session.until("main: ");
    session.until("explore-1: ");
    session.line("/budget off");
    session.until("no budget; set one with");
    session.line("/budget 1");
    session.until("agents stop before their next request");
    session.line("/help");
    session.until("/budget shows the budget of all agents");
    // Twice: agents may still be at work, and are named first.
    session.line("/clear");
    session.line("/clear");
    session.until("new conversation");
    session.line("/cancel all");
    assert_eq!(session.end().0, 0);
}

#[test]
fn a_session_that_broke_off_is_named_once_at_the_next_start() {
    let bench = Bench::new();
    let flags = ["--plain", "--model", "offline", "--permission-mode", "bypassPermissions"];
    let mut session = Session::start(&bench, &[&flags[..], &["run `touch ready; sleep 1000`"]].concat());
    while !bench.project.path().join("ready").exists() {
        std::thread::yield_now();
    }
    session.signal(Signal::SIGKILL);
    session.child.wait().unwrap();
    let mut session = Session::start(&bench, &flags);
    let told = session.until("ended unexpectedly");
    assert!(told.contains("Go on with it: belvedere --resume "), "{told}");
    session.signal(Signal::SIGTERM);
    session.child.wait().unwrap();
    let mut session = Session::start(&bench, &flags);
    session.until("offline");
    assert!(!session.seen.contains("ended unexpectedly"), "{}", session.seen);
    session.signal(Signal::SIGTERM);
    session.child.wait().unwrap();
}

#[test]
fn lines_that_nobody_has_typed_run_nothing() {
    let bench = Bench::new();
    let mut session = Session::offline(&bench);
    session.line("!touch evil");
    session.until("not run: a command of your own is typed by itself");
    session.end();
    assert!(!bench.project.path().join("evil").exists());
}
